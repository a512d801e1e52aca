"""Inputs and outputs of small motions: inputs by their names, outputs as functions of a result."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from fem.errors import unknown_name
from fem.renamed import refuse_old_names
from flexmb.differences import broken
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import row_jacobian
from flexmb.equations.tangent import DIFFERENCE
from flexmb.errors import LinearError, SensitivityWarning
from flexmb.kernels.base.data import ANGLE, TRANSLATION
from flexmb.kernels.calls import displace
from flexmb.linear.first_order import FirstOrder, first_order
from flexmb.linear.independent import Changing
from flexmb.linear.velocity_freedom import velocity_freedom
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.elements.motion import row_dof
from flexmb.results.measure import NamedMeasure, measure
from flexmb.results.result import Result, followed_angles, result_of_states

Output = Callable[[Result], np.ndarray]
"""One number for each stored time, which depends on positions, velocities and reactions at that time only, such as
`lambda r: r.position("arm.end")[:, 2]`.
"""
Outs = str | Iterable[str] | Mapping[str, Output | str]
"""Outputs as users give them: measures, by their texts, or functions and measures by names."""

TINY = 1e-6
"""Size of a state, relative to its usual changes, below which these stand for it in differences."""
PART, FINEST = 0.1, 1e-4
"""Largest change of the force of a point of a flexible surface in a difference, relative to it, and the least step for
it, relative to the usual one."""
RESONANT = 1e-12
"""Relative rounding error of the sums of the entries of the matrices of small motions, with that of differences."""
ESTIMATED = 10.0
"""Factor by which an estimate of the norm of an inverse is taken to be below that norm at most."""


def input_names(mechanism: Mechanism) -> list[str]:
    """The names of all inputs: loads (their factor), efforts of motors and springs, motions prescribed in joints."""
    return [*_loads(mechanism), *_efforts(mechanism), *_motions(mechanism)]


def _loads(mechanism: Mechanism) -> dict[str, int]:
    return {load.name: k for k, load in enumerate(mechanism.loads)}


def _efforts(mechanism: Mechanism) -> dict[str, int]:
    single = {name: rows[0] for name, rows in mechanism.force_elements.items() if len(rows) == 1}
    parts = ("x", "y", "z", "rx", "ry", "rz")
    bushings = {
        f"{name}.{parts[i]}": row
        for name, rows in mechanism.force_elements.items()
        if len(rows) == len(parts)
        for i, row in enumerate(rows)
    }
    return single | bushings


def _motions(mechanism: Mechanism) -> dict[str, int]:
    """Joint equations that lock a coordinate, or prescribe it by a function of time."""
    found: dict[str, int] = {}
    for joint in mechanism.joints:
        held = [r for r in joint.rows if mechanism.rows[r].kind in (TRANSLATION, ANGLE)]
        if joint.kind != "prescribed":
            held = [r for r in held if mechanism.rows[r].function >= 0]
        for r in held:
            row = mechanism.rows[r]
            turning = row.kind == ANGLE
            if joint.kind == "prescribed":
                found[f"{joint.name}.{'rotation' if turning else 'xyz'[row.axes[0]]}"] = r
            elif len(held) == 1:
                found[joint.name] = r
            else:
                found[f"{joint.name}.{'rotation' if turning else 'translation'}"] = r
    return found


def named(mechanism: Mechanism, inputs: Iterable[str], outputs: Outs) -> tuple[tuple[str, ...], dict[str, Output]]:
    """The names of inputs, and outputs as functions by their names, of which measures have their own.

    Raises `LinearError` without inputs or outputs and for outputs that are none, `MeasureError` for unknown measures.
    """
    for what, given in (("Inputs", inputs), ("Outputs", outputs)):
        if not np.iterable(given):
            raise LinearError(f"{what} of small motions are one text or a list of texts; found {given!r}.")
    names = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    listed = (outputs,) if isinstance(outputs, str) else outputs
    known = dict(listed) if isinstance(listed, Mapping) else {text: text for text in listed}
    if not names or not known:
        raise LinearError(
            f"Small motions need at least one input and one output; inputs of {mechanism.name!r}: "
            f"{input_names(mechanism)}."
        )
    found: dict[str, Output] = {}
    for name, output in known.items():
        if not isinstance(name, str) or not (isinstance(output, str) or callable(output)):
            raise LinearError(
                "Outputs are measures, such as ['position:rod.end:z'], or functions of a result and measures by their "
                f"names, {{'tip': lambda result: ...}}; found {output!r}{'' if name is output else f' for {name!r}'}."
            )
        found[name] = measure(output) if isinstance(output, str) else output
    return names, found


def resonance(frequency: float) -> LinearError:
    """The error of a frequency at which small motions have no bounded answer."""
    if frequency == 0.0:
        return LinearError(
            "At the frequency 0 there is no response: a motion that nothing restrains has no place to come to rest. "
            "Begin at a small frequency, or restrain it."
        )
    return LinearError(
        f"At the frequency {frequency:.6g} the response is infinite: an undamped motion is in resonance."
    )


def require_restrained(A: np.ndarray, error: np.ndarray, frequency: float = 0.0) -> None:
    """Raise `LinearError` where the matrix `A` (n, n) of small motions at a `frequency` is singular within bounds of
    the errors of its entries, in whatever units: if `|A^-1| error` has an eigenvalue of one or more.

    The eigenvalues are computed only where an estimate of a norm of `|A^-1| error`, in units in which the errors of the
    diagonal are one, does not exclude it.
    """
    if not len(A):
        return
    diagonal = np.diagonal(error)
    if (diagonal > 0).all():
        units = np.outer(root := 1.0 / np.sqrt(diagonal), root)
        scaled, size = units * A, float((units * error).sum(0).max(initial=0.0))
        getrf, gecon = get_lapack_funcs(("getrf", "gecon"), (scaled,))
        factors, _, singular = getrf(scaled)
        if not singular and gecon(factors, size)[0] > ESTIMATED:
            return
    try:
        inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        raise resonance(frequency) from None
    if not np.abs(np.linalg.eigvals(np.abs(inverse) @ error)).max() < 1.0:
        raise resonance(frequency)


def dimensions_of(linear: Any, inputs: Iterable[str], outputs: Mapping[str, Output]) -> dict[str, dict[str, str]]:
    """What a unit of each of the "inputs" and each of the "outputs" measures, keys of `flexmb.units.DIMENSIONS`.

    The factor of a load is a number. Outputs that are functions of the user have no entry.
    """
    mechanism = linear.mechanism
    efforts, motions = _efforts(mechanism), _motions(mechanism)

    def of_input(name: str) -> str:
        if name in _loads(mechanism):
            return "1"
        turning = row_dof(mechanism.rows[(motions | efforts)[name]]).startswith("rotation")
        return ("angle" if turning else "length") if name in motions else ("moment" if turning else "force")

    own = linear.state.element_states if len(linear.state.element_states) else mechanism.initial_states
    sizes = (len(linear.state.w),) * 3 + (len(linear.multipliers), len(own))
    here = _beside(linear, own, tuple(np.zeros((1, n)) for n in sizes))
    seen = {name: o.column(here).dimension for name, o in outputs.items() if isinstance(o, NamedMeasure)}
    return {"inputs": {name: of_input(name) for name in inputs}, "outputs": seen}


@dataclass(frozen=True, eq=False)
class InputOutputModel:
    """Small motions `x = T xi` with `xi = [y, f]` (independent coordinates and imposed motions), and their outputs.

    The outputs are `Z[0] xi + Z[1] xi' + Z[2] xi'' + by_state z + direct u`, with the states `z` of force elements.

    - `inputs`: in the given order; `is_motion` (ni,) marks imposed motions, the others are force-like inputs `u`.
    - `moving`: `T` (nv, nf + nf_imposed) and its first two derivatives along the motion.
    - `force` (nv, nu): generalised force of a unit of each force-like input.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    is_motion: np.ndarray
    moving: Changing
    force: np.ndarray
    Z: tuple[np.ndarray, np.ndarray, np.ndarray]
    by_state: np.ndarray
    direct: np.ndarray

    @property
    def T(self) -> np.ndarray:
        """Displacements (nv, nf + nf_imposed) for units of `xi`."""
        return self.moving[0]


def input_output_model(linear: Any, inputs: Iterable[str], outputs: Mapping[str, Output]) -> InputOutputModel:
    """The model of inputs and outputs of small motions of a `LinearisedModel`.

    Outputs, with joint reactions, are differentiated by central differences (nine digits). Warns with
    `SensitivityWarning` when outputs have a kink or a jump at the state. Raises `LinearError` for unknown inputs and
    invalid outputs.
    """
    mechanism, names = linear.mechanism, tuple(inputs)
    loads, efforts, motions = _loads(mechanism), _efforts(mechanism), _motions(mechanism)
    for name in names:
        if name not in {*loads, *efforts, *motions}:
            raise LinearError(unknown_name("input", name, input_names(mechanism)))
    is_motion = np.array([name in motions for name in names])
    functions = mechanism.function_values(linear.state.t)
    rows = row_jacobian(mechanism, compiled(mechanism), linear.state.q, functions)[1]
    force = [
        _load_force(linear, loads[name]) if name in loads else rows[efforts[name]].toarray().ravel()
        for name in names
        if name not in motions
    ]
    G = linear.G.toarray()
    imposed = np.zeros((len(G), int(is_motion.sum())))
    for k, name in enumerate(n for n in names if n in motions):
        imposed[motions[name], k] = 1.0
    moving = linear.independent.motions
    if imposed.shape[1]:
        carried = linear.independent.carried(imposed[linear.independent.position_rows])
        moving = (
            np.hstack([moving[0], carried[0]]),
            np.hstack([moving[1], carried[1]]),
            np.hstack([moving[2], carried[2]]),
        )
    B = np.array(force).reshape(-1, linear.M.shape[0]).T
    Z, by_state, by_multiplier = _seen(linear, moving, outputs)
    if len(G):
        back = by_multiplier @ np.linalg.pinv(G.T, rcond=1e-9)  # reactions balance the remaining forces
        Z = [z - back @ X for z, X in zip(Z, linear.along(moving)[::-1], strict=True)]
        by_state = by_state if linear.states is None else by_state - back @ linear.states.force
        direct = back @ B
    else:
        direct = np.zeros((len(outputs), B.shape[1]))
    return InputOutputModel(names, tuple(outputs), is_motion, moving, B, (Z[0], Z[1], Z[2]), by_state, direct)


@dataclass(frozen=True, eq=False)
class Outputs:
    """`out = state X + imposed[0] f + imposed[1] f' + imposed[2] f'' + direct u` for equations of first order."""

    model: FirstOrder
    state: np.ndarray
    imposed: np.ndarray
    direct: np.ndarray


def with_outputs(linear: Any, p: InputOutputModel) -> Outputs:
    """Outputs in terms of `X = [y, u, z]` and the inputs, with `xi' = V [u, f'] + W xi` along the motion."""
    nf, n = linear.degrees_of_freedom, p.T.shape[1]
    freedom = velocity_freedom(linear.independent, p.moving, nf)
    model = first_order(linear, p.moving, freedom, nf, p.force)
    V, W, (_, nu, nz) = freedom.V, freedom.W, model.sizes
    size = len(model.F)
    xi = np.hstack([np.eye(n, nf), np.zeros((n, nu + nz))])
    f = np.eye(n)[:, nf:]
    fast = np.zeros((V.shape[1], size))  # [u, f'] for units of X
    fast[:nu, nf : nf + nu] = np.eye(nu)
    f_rate = np.eye(V.shape[1])[:, nu:]
    rates = np.linalg.solve(model.E, np.hstack([model.F, *model.imposed, model.force]))[nf : nf + nu]
    parts = np.split(rates, np.cumsum([size, n - nf, n - nf, n - nf]), axis=1)
    speed, speed_f, speed_rate = V @ fast + W @ xi, W @ f, V @ f_rate
    turned = freedom.W_rate + W @ W
    carried = freedom.V_rate + W @ V
    second = V[:, :nu] @ parts[0] + carried @ fast + turned @ xi
    second_f = V[:, :nu] @ parts[1] + turned @ f
    second_rate = V[:, :nu] @ parts[2] + carried @ f_rate
    second_acceleration = V[:, :nu] @ parts[3] + V @ f_rate
    Z0, Z1, Z2 = p.Z
    state = Z0 @ xi + Z1 @ speed + Z2 @ second
    state[:, nf + nu :] += p.by_state
    imposed = np.stack(
        [Z0 @ f + Z1 @ speed_f + Z2 @ second_f, Z1 @ speed_rate + Z2 @ second_rate, Z2 @ second_acceleration]
    )
    return Outputs(model, state, imposed, p.direct + Z2 @ V[:, :nu] @ parts[4])


def _load_force(linear: Any, number: int) -> np.ndarray:
    """Generalised force (nv,) of a load with the factor one."""
    mechanism = linear.mechanism
    alone = replace(mechanism, loads=(replace(mechanism.loads[number], function=-1, command=-1),))
    e = Equations(alone, linear.state.q, linear.state.angles, linear.state.element_states)
    none = np.zeros(len(linear.state.w))
    e.residual(mechanism.function_values(linear.state.t), linear.state.q, linear.state.w, none, linear.multipliers)
    return e.workspace.loads.copy()


def _seen(
    linear: Any, moving: Changing, outputs: Mapping[str, Output]
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Derivatives of the outputs with respect to `xi`, `xi'`, `xi''` of displacements `T xi`, the states of force
    elements and the multipliers."""
    mechanism, state = linear.mechanism, linear.state
    T, rate, second = moving
    flat, n, nj = compiled(mechanism), T.shape[1], len(linear.multipliers)
    sizes = (np.abs(T) * flat.weight[:, None]).max(axis=0)
    own = state.element_states if len(state.element_states) else mechanism.initial_states
    step = DIFFERENCE / np.where(sizes > 0, sizes, 1.0)
    step = np.minimum(step, np.maximum(_before_parting(own, linear.presses @ T), FINEST * step))
    nz, pressing = len(own), len(linear.presses)
    usual = np.concatenate([linear.state_sizes, np.zeros(pressing)])
    spread = np.where(np.abs(own) > TINY * usual, np.abs(own), usual)
    spread = DIFFERENCE * np.where(spread > 0, spread, np.abs(own).max(initial=0.0) or 1.0)
    zero, still, forces = (np.zeros((n, k)) for k in (len(flat.weight), nj, nz))
    forces[:, nz - pressing :] = (linear.presses @ (T * step)).T
    with_place = rate + linear.carried @ T, second + linear.carried @ rate + linear.turned @ T
    by_place = (T * step).T, (with_place[0] * step).T, (with_place[1] * step).T, still, forces
    by_speed = zero, T.T, (2 * rate + linear.carried @ T).T, still, np.zeros((n, nz))
    by_acceleration = zero, zero, T.T, still, np.zeros((n, nz))
    none = np.zeros((nj, len(flat.weight)))
    by_multiplier = none, none, none, np.eye(nj), np.zeros((nj, nz))
    none = np.zeros((nz - pressing, len(flat.weight)))
    by_state = none, none, none, np.zeros((nz - pressing, nj)), np.diag(spread)[: nz - pressing]
    parts = (by_place, by_speed, by_acceleration, by_multiplier, by_state)
    moves = tuple(np.vstack(part) for part in zip(*parts, strict=True))

    def sides(part: float) -> tuple[np.ndarray, np.ndarray]:
        """The outputs (no, nm) below and above the state in each of the moves (nm)."""
        seen = _beside(linear, own, tuple(np.vstack([-part * x, part * x]) for x in moves))
        table = np.array([_values(name, output, seen) for name, output in outputs.items()]).reshape(len(outputs), -1)
        return table[:, : len(moves[0])], table[:, len(moves[0]) :]

    below, above = sides(1.0)
    here = _beside(linear, own, tuple(np.zeros((1, x.shape[1])) for x in moves))
    middle = np.array([_values(name, output, here)[0] for name, output in outputs.items()], dtype=float)
    if wrong := [name for name, breaks in zip(outputs, broken(middle, sides), strict=True) if breaks]:
        warnings.warn(
            f"The outputs {', '.join(map(repr, wrong))} have a kink or a jump at the state about which "
            f"{mechanism.name!r} is linearised, where they have no derivative: as the largest of several equal "
            "numbers, or a magnitude at zero. Their responses are not reliable. Take components, or single points.",
            SensitivityWarning,
            stacklevel=4,
        )
    change = 0.5 * (above - below)
    Z = [change[:, :n] / step, change[:, n : 2 * n], change[:, 2 * n : 3 * n]]
    return Z, change[:, 3 * n + nj :] / spread[: nz - pressing], change[:, 3 * n : 3 * n + nj]


def _beside(linear: Any, own: np.ndarray, moves: tuple[np.ndarray, ...]) -> Result:
    """The states beside that of a linearised model, by `moves` (n, .): of places, velocities, accelerations and
    multipliers, and of the states of elements, which are its `own` (nz,)."""
    mechanism, state = linear.mechanism, linear.state
    x, w, wdot, multipliers, states = moves
    q = np.empty((len(x), len(state.q)))
    for k in range(len(x)):
        displace(compiled(mechanism), state.q, x[k], q[k])
    return result_of_states(
        mechanism,
        np.full(len(x), state.t),
        q,
        state.w + w,
        linear.wdot + wdot,
        linear.multipliers + multipliers,
        angles=followed_angles(mechanism, q, state.angles),
        element_states=own + states,
    )


def _before_parting(states: np.ndarray, presses: np.ndarray) -> np.ndarray:
    """The steps (n,) of displacements that change the forces of `presses` (np, n), the last of the `states` (nz,) of
    elements, by a part of them, so that points of flexible surfaces that push do not begin to pull."""
    push, change = states[len(states) - len(presses) :][::3], np.abs(presses[::3])
    closed = push > 0.0
    with np.errstate(divide="ignore"):
        return np.asarray((PART * push[closed, None] / change[closed]).min(axis=0, initial=np.inf))


def _values(name: str, output: Output, seen: Result) -> np.ndarray:
    values = np.asarray(output(seen), dtype=float)
    if values.shape != seen.t.shape or not np.isfinite(values).all():
        raise LinearError(
            f"Output {name!r} must be one finite number for each time of a result, of that time alone (no energies, no "
            "derivatives over time), such as "
            f'lambda r: r.position("{seen.mechanism.markers[-1].name}")[:, 0]; found shape {values.shape} for '
            f"{len(seen.t)} times"
            f"{'' if np.isfinite(values).all() else ', with values that are not finite'}."
        )
    return values


refuse_old_names(__name__)
