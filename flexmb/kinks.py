"""Kinks and jumps of force laws and controllers at a state, where they have no derivative.

Central differences give the mean of both sides at a kink, and a number that their step sets at a jump, without any sign
of it. Here all laws are compared on both sides of a state along one motion of all bodies: where a law is smooth, the
difference of the two slopes falls with the step, and the slopes themselves do not grow.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from flexmb.differences import ROUNDING
from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse, mass_weighted_projection
from flexmb.equations.tangent import forces
from flexmb.kernels.base.data import ANGLE, SPIN, TILT
from flexmb.kernels.calls import displace
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.scales import rate_at
from flexmb.mechanism.state import State

STEPS = 10.0 ** -np.arange(5, 10)
"""Steps on both sides of the state, relative to the length of the mechanism, an angle of one, or its rate."""
UNEQUAL = 1e-3
"""Difference of the slopes on both sides, relative to the larger one, up to which they are equal."""
FALLS, GROWS = 0.5, 2.0
"""Ratios, from a step to a tenth of it, of the difference of slopes, below which it vanishes, and of the slopes, above
which they have no bound. That of a force with the power 3/2 falls to 0.32, a root grows to 3.2."""
CLEAR = 300.0
"""Ratio of a difference to the rounding of forces from which it is believed."""
SAID = 3
"""Number of elements about which a message says more than the name."""
ALONG = 1e-3
"""Part of the motion along a coordinate from which slopes are given per unit of it."""


def kinks(
    e: Equations,
    functions: np.ndarray,
    state: State,
    wdot: np.ndarray,
    multipliers: np.ndarray,
    *,
    over: tuple[str, ...] = ("place", "speed", "state"),
) -> str:
    """What a warning says about the laws that have no derivative at a state of `e`: their elements, the coordinates
    and the slopes on both sides. Empty if there are none, or if those of several elements cancel each other.

    Kinks nearer than 1e-9 of the length of the mechanism count as being at the state. Laws that give their tangent are
    left out: it says which derivative is theirs.

    - `wdot` (nv,), `multipliers` (nj,): accelerations and reactions at the state.
    - `over`: what changes: places, velocities, states of elements and controllers.

    Cost: ten residuals for each of these.
    """
    mechanism, flat = e.mechanism, e.flat
    if not (flat.row_law.any() or (flat.element_tangent == 0).any() or mechanism.controllers):
        return ""
    kept, moved, none = e.states.copy(), np.empty_like(state.q), np.zeros_like(wdot)
    felt = _felt(e, functions, state, wdot, multipliers)
    e.residual(functions, state.q, state.w, wdot, multipliers)
    x, J = _motion(e)
    sizes, rate = _state_sizes(mechanism, kept), rate_at(flat, state.w, wdot)
    sizes *= np.random.default_rng(2).uniform(0.5, 1.0, len(sizes))  # rates of linear laws vanish along their states

    def at(kind: str, h: float) -> np.ndarray:
        displace(flat, state.q, h * x if kind == "place" else none, moved)
        e.states[:] = kept + h * sizes if kind == "state" else kept
        w = state.w + h * rate * x if kind == "speed" else state.w
        e.residual(functions, moved, w, wdot, multipliers)
        return _answers(e)

    middle, slopes = at("", 0.0), {}
    for kind in over:
        if len(kept) if kind == "state" else x.any():
            sides = [[(at(kind, h) - middle) / h, (middle - at(kind, -h)) / h] for h in STEPS]
            slopes[kind] = np.array(sides)  # (steps, 2, outputs)
    at("", 0.0)
    reach = max((float(np.abs(state.q[s : s + 3]).max()) for s in flat.q_start[:-1]), default=0.0) / mechanism.length
    largest = np.max([np.abs(s[0]).max(axis=0) for s in slopes.values()], axis=0, initial=0.0)
    felt = np.append(felt, np.zeros(len(middle) - len(felt)))
    rounding = ROUNDING * (felt + np.abs(middle) + max(reach, 1.0) * largest)
    told: dict[str, str] = {}
    for kind, slope in slopes.items():
        along = J @ x * {"place": 1.0, "speed": rate}.get(kind, 0.0)
        for k, h, bounded in _uncancelled(J, slope, list(_broken(slope, rounding))):
            name, text = _described(mechanism, kind, k, slope[h, :, k], along, bounded)
            told.setdefault(name, f"{name}: {text}")
    return _message(list(told), list(told.values()))


def _state_sizes(mechanism: Mechanism, states: np.ndarray) -> np.ndarray:
    """The sizes (nz,) by which the steps of states are measured: of those at zero, the largest state of their element,
    or one. Those of other elements may be pressures, beside the angle of a filter."""
    sizes = np.abs(states)
    own = [len(force.initial) for force in mechanism.frame_forces]
    own += [len(controller.initial) for controller in mechanism.controllers]
    for part in np.split(sizes, np.cumsum(own)):
        part[part == 0] = part.max(initial=0.0) or 1.0
    return sizes


def _message(names: list[str], texts: list[str]) -> str:
    if not names:
        return ""
    more = f" The same holds for {', '.join(names[SAID:])}." if names[SAID:] else ""
    return (
        "is at a kink or jump of laws, which have no derivative there; a mean of both sides stands for it. "
        f"{'; '.join(texts[:SAID])}.{more} Preload the element to one side, take a state beside the kink, or give a "
        "law with a width: tanh(xdot / v) with a speed v for sign(xdot)."
    )


def _answers(e: Equations) -> np.ndarray:
    """Efforts of force elements without those that commands are or laws give with their tangent, commands, and rates of
    states, at the last state."""
    found, own, first = e.workspace, e.flat.row_command[e.flat.joint_rows :], e.flat.joint_rows
    efforts, driven = found.efforts[first:].copy(), own >= 0
    efforts[driven] -= found.commands[own[driven]]
    efforts[np.add.outer(e.flat.element_row[e.flat.element_tangent != 0] - first, np.arange(6)).ravel()] = 0.0
    return np.concatenate([efforts, found.commands, found.state_rates])


def _felt(e: Equations, functions: np.ndarray, state: State, wdot: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """The magnitude of forces or moments in the mechanism, for each row of force elements (nr,) and each command (nc,),
    that of what acts by it: those of laws may be rounded by as much as these."""
    mechanism, flat = e.mechanism, e.flat
    energy = float((forces(e, functions, state.q, state.w, wdot, multipliers) / flat.weight).max(initial=0.0))
    turning = np.isin(flat.row_kind[flat.joint_rows :], (ANGLE, TILT, SPIN))
    rows = np.where(turning, energy, energy / mechanism.length)
    commands, own = np.zeros(len(e.workspace.commands)), flat.row_command[flat.joint_rows :]
    np.maximum.at(commands, own[own >= 0], rows[own >= 0])
    for load in mechanism.loads:
        unit = mechanism.length * np.linalg.norm(load.wrench[:3]) + np.linalg.norm(load.wrench[3:])
        if load.command >= 0 and unit > 0:
            commands[load.command] = max(commands[load.command], energy / unit)
    return np.concatenate([rows, commands])


def _motion(e: Equations) -> tuple[np.ndarray, sp.csr_matrix]:
    """A motion (nv,) of all bodies that the joints allow, at the last state, of the size of the mechanism, and the
    Jacobian (nr, nv) of the coordinates of force elements."""
    flat, nj = e.flat, e.flat.joint_rows
    rng, J = np.random.default_rng(1), as_sparse(flat, e.workspace.G)
    x = rng.uniform(0.5, 1.0, len(flat.weight)) * rng.choice([-1.0, 1.0], len(flat.weight)) / flat.weight
    if nj:
        metric = [np.diag(flat.weight[a:b] ** 2) for a, b in zip(flat.v_start[:-1], flat.v_start[1:], strict=True)]
        x = x - mass_weighted_projection(J[:nj], J[:nj] @ x, flat, masses=metric)
    size = float((np.abs(x) * flat.weight).max(initial=0.0))
    x = x / size if size > UNEQUAL else np.zeros_like(x)
    return x, J[nj:]


def _broken(slope: np.ndarray, rounding: np.ndarray) -> Iterator[tuple[int, int, bool]]:
    """The outputs without a derivative, by `slope` (steps, 2, n), the slopes ahead and behind: their numbers, those of
    the finest steps that rounding leaves, and whether the slopes have a bound."""
    size, gap = np.abs(slope).max(axis=1), np.abs(slope[:, 0] - slope[:, 1])
    clear = CLEAR * rounding / STEPS[:, None] < UNEQUAL * size
    for k in np.flatnonzero(clear[1:].any(axis=0)).tolist():
        h = int(np.flatnonzero(clear[:, k])[-1])
        grows = size[h, k] > GROWS * size[h - 1, k]
        if grows or (gap[h, k] > UNEQUAL * size[h, k] and gap[h, k] > FALLS * gap[h - 1, k]):
            yield k, h, not grows


def _uncancelled(
    J: sp.csr_matrix, slope: np.ndarray, broken: list[tuple[int, int, bool]]
) -> list[tuple[int, int, bool]]:
    """Without kinks of force elements whose forces on the bodies, all together, have none: those of two cables that
    pull a body from both sides."""
    total, sizes = np.zeros(J.shape[1]), np.zeros(J.shape[1])
    rows = [(k, h) for k, h, bounded in broken if bounded and k < J.shape[0]]
    for k, h in rows:
        own = J[[k]].toarray()[0]
        total += own * (slope[h, 0, k] - slope[h, 1, k])
        sizes += np.abs(own * (slope[h, 0, k] - slope[h, 1, k]))
    return [x for x in broken if x[:2] not in rows] if (np.abs(total) <= UNEQUAL * sizes).all() else broken


def _described(
    mechanism: Mechanism, kind: str, k: int, slopes: np.ndarray, along: np.ndarray, bounded: bool
) -> tuple[str, str]:
    """The name of the element of output `k`, and what is wrong with it, for `slopes` (2,) ahead and behind along the
    motion that changes the coordinates by `along` (nr,)."""
    first = mechanism.joint_rows
    if k >= len(along):
        commands = [(c.name, f"command {x!r}") for c in mechanism.controllers for x in c.call.law.commands]
        states = [(f.name, f"rate of state {x!r}") for f in mechanism.frame_forces for x in f.call.law.states]
        states += [(c.name, f"rate of state {x!r}") for c in mechanism.controllers for x in c.state_names]
        name, of = (commands + states)[k - len(along)]
    else:
        name, rows = next(x for x in mechanism.force_elements.items() if first + k in x[1])
        turning = mechanism.rows[first + k].kind in (ANGLE, TILT, SPIN)
        axis = f" {'about' if turning else 'along'} {'xyz'[rows.index(first + k) % 3]}" if len(rows) == 6 else ""
        of = ("moment" if turning else "force") + axis
    over = {"place": "its coordinate", "speed": "the rate of its coordinate"}.get(kind, "states")
    per, where = "for a motion of the size of the mechanism", ("ahead", "behind")
    if k < len(along) and abs(along[k]) > ALONG * np.abs(along).max():
        per, where = "", (f"where {over} grows", "where it falls")
        slopes = (slopes if along[k] > 0 else slopes[::-1]) / along[k]
    values = " and ".join(f"{x:.4g} {y}" for x, y in zip(slopes, where, strict=True))
    title = (
        f"the slope of its {of} over {over}"
        if bounded
        else f"its {of} jumps over {over}, or is infinitely steep: its slope in small steps"
    )
    return repr(name), f"{title} is {values}{f' ({per})' if per else ''}"
