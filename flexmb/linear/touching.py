"""Flexible surfaces that touch, at rest: the forces of their points in an equilibrium, and the stiffness of the points
that remain closed.

At rest the points satisfy what they satisfy at the end of a step (flexmb/kernels/steps/pressing.py),

    0 <= f_n  _|_  g >= 0,    f_t = -mu f_n s/|s|  or  s = 0,

with the slip s since the motion from the initial state began. An iteration of Newton's method is in two parts. The
first finds the points that touch, stick and slip: the cone problem of all points that carry a force or would overlap,
with the stiffness K of the mechanism without them, in which motions that nothing else restrains get a stiffness that
lets them move within the mechanism. The second takes these points as closed. Their rows H and compliance C then add

    K + H^T C^-1 H

to the stiffness, so that motions that only contacts restrain are as accurate as others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from flexmb.contact.cones import TOLERANCE, Block, Bounded, Coulomb, solve_contacts
from flexmb.contact.least_norm import WITHIN
from flexmb.differences import MEASURED, ROUNDING
from flexmb.equations.contact.skins import SurfacePoints, forces_of_points, look_at_points, see_points
from flexmb.equations.evaluation import Equations
from flexmb.equations.state_tangent import derivative_at_zero
from flexmb.equations.tangent import DIFFERENCE
from flexmb.errors import EquilibriumError, MechanismError, UnilateralError, UnsupportedError
from flexmb.kernels.base.data import GROUND, NO_MATE
from flexmb.kernels.calls import displace
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State

OPEN, STICKS, SLIPS = 0, 1, 2
"""What a point does; points without friction that touch stick, along their normal alone."""
TOUCHES = 1e-9
"""Gap, relative to the length of the mechanism, below which a point without a force touches."""
HARDLY = 1e-3
"""Motion relative to the length of the mechanism, or angle, after which the stiffness of constant forces is kept."""
TANGENTS, SETTLED, LOWER = 60, 1e-12, 0.1
"""Tangents of Hertz's approach in one solution, the change of a force, relative to it, at which it is found, and the
factor of the force of a tangent that lets a point part."""
RIGID = 1e-7
"""Least compliance of a pattern of forces, relative to the largest; errors of frequencies are of this size."""
SLIDES = 5
"""Iterations in which all points slip, and their bodies move freely, after which these slide."""
TIPS = 25
"""Iterations in which points touch that do not hold their bodies, after which these tip or roll. Bodies that settle on
others take up to 10."""
DEEP = 0.05
"""Largest overlap as drawn, relative to the length of the mechanism."""
CHANGES = 50
"""Rounds in which points begin or cease to touch in one iteration."""
FOLLOWED = 2
"""Passes in which forces follow small motions: each leaves the error of the one before times the ratio of the residual
displacements to the radii of curvature, or to the widths of facets."""
FAINT, PART, CLEAR = 1e-3, 0.1, 1e-6
"""Force, relative to the largest, below which it does not follow, the largest part of a force by which it changes in
differences, and the relative error of a stiffness with forces that follow up to which it is taken."""
OVERLAP = 1e-13
"""Overlap relative to the length of the mechanism, and pull relative to the largest force, that are round-off."""


class Held(NamedTuple):
    """Closed points: their `loaded` directions (n,), numbered `3 k + c`, and `rows` (m, n) of these that vanish; the
    forces `loaded = pushes p` (n, m) of one unknown for each row, the derivatives `G` (n, nv) of the loaded directions
    and the compliance `C` (n, n) between them, and the compliance `turning` (m,) of the rows themselves.

    A point that slips has two rows: that of its normal, whose unknown is a force with its friction, and that across the
    slip, because friction turns with the slip: a change across a slip s turns the force by `mu f / s` per unit.
    """

    loaded: np.ndarray
    rows: np.ndarray
    pushes: np.ndarray
    G: np.ndarray
    C: np.ndarray
    turning: np.ndarray

    @property
    def flexing(self) -> np.ndarray:
        """The displacement (m, m) of the rows by the unknowns."""
        return np.asarray(self.rows @ self.C @ self.pushes + np.diag(self.turning))


class Closed(NamedTuple):
    """What closed points do in small motions: they add the `stiffness` (nv, nv), of their constant forces and of their
    rows, which remain zero, with bounds of its errors; `presses` (3 n, nv): the changes of their forces by
    displacements; `parts`: the motions (nv,), 0 or 1, whose columns of the stiffness have each of the errors."""

    stiffness: np.ndarray
    stiffness_error: np.ndarray
    presses: np.ndarray
    parts: tuple[tuple[np.ndarray, "Errors"], ...] = ()

    def errors(self, x: Float[np.ndarray, "nv nf"]) -> Float[np.ndarray, "nf nf"]:
        """Bounds of the errors of `x^T stiffness x`. They are far below those by `stiffness_error` for motions in which
        elastic coordinates and rigid motion leave the points where they are."""
        return np.asarray(sum(errors.bound(x, motions[:, None] * x) for motions, errors in self.parts))


class Errors(NamedTuple):
    """What may be wrong with a stiffness `table + left apart`, where `left = G^T P F^-1` (nv, m), `right = F^-1 apart`
    (m, nv): bounds `table` (nv, nv) and `apart` (m, nv) of the errors of these, `forces` (nv, m) of those of `G^T P`,
    and the size `flexing` (m, m) of F."""

    table: np.ndarray
    left: np.ndarray
    right: np.ndarray
    apart: np.ndarray
    forces: np.ndarray
    flexing: np.ndarray

    def bound(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Bounds of the errors of `x^T stiffness y`."""
        size, other, pushed, moved = np.abs(x).T, np.abs(y), np.abs(x.T @ self.left), np.abs(self.right @ y)
        across = pushed @ (self.apart @ other) + (size @ self.forces) @ moved
        return np.asarray(size @ self.table @ other + across + ROUNDING * pushed @ self.flexing @ moved)


@dataclass(frozen=True, eq=False)
class Motions:
    """Motions `x` (nv, nf) of unit mass that the stiffness does not couple, and their `stiffness` (nf,) > 0."""

    x: np.ndarray
    stiffness: np.ndarray

    def respond(self, force: np.ndarray) -> np.ndarray:
        """The displacement (nv,) or (nv, n) by forces."""
        along = self.x.T @ force
        return np.asarray(self.x @ (along / (self.stiffness if along.ndim == 1 else self.stiffness[:, None])))


class Touching:
    """The points of all flexible surfaces of a mechanism at rest, from the configuration of a `state` on.

    The equations of motion beside them are those of the mechanism without their contacts
    (`flexmb.equations.contact.skins.without_surfaces`).

    - `does` (n,): whether each point is `OPEN`, `STICKS` or `SLIPS`; `friction` (n,): coefficients.
    - `forces` (n, 3): along the normals and across them.
    - `faces`: whether flexible surfaces face each other or meshes.
    """

    def __init__(self, mechanism: Mechanism, state: State) -> None:
        self.equations = Equations(mechanism, state.q, state.angles, state.element_states)
        flat = self.equations.flat
        self.friction = flat.skin_friction[flat.node_skin]
        see_points(self.equations, state.q)
        self._before = self.equations.workspace.skin_seen.copy()
        self._local = flat.skin_local[flat.node_skin] == 1
        self._slid, self._unheld, self._slips = 0, 0, np.zeros(len(self.friction))
        self._sliding = np.zeros(0, dtype=np.int64)
        self.faces = bool((flat.skin_other != NO_MATE).any())
        nv = len(flat.weight)
        self._known = np.full_like(state.q, np.inf), self.forces.copy(), np.zeros((nv, nv))
        self.does = np.where(self.forces[:, 0] > 0.0, np.where(self._at_bounds, SLIPS, STICKS), OPEN)

    @property
    def _at_bounds(self) -> np.ndarray:
        """Whether the friction of each point (n,) is at its bound."""
        push, grip = self.forces[:, 0], np.linalg.norm(self.forces[:, 1:], axis=1)
        return np.asarray((self.friction > 0.0) & (grip >= (1 - WITHIN) * self.friction * push))

    @property
    def slipping(self) -> int:
        """The number of points at the bounds of their friction."""
        return int((self.does == SLIPS).sum())

    @property
    def bodies(self) -> list[int]:
        """The bodies with flexible surfaces that touch, and those of what they touch."""
        flat = self.equations.flat
        return sorted({int(b) for b in (*flat.skin_body, *flat.marker_body[flat.skin_marker])} - {GROUND})

    @property
    def forces(self) -> np.ndarray:
        """The forces (n, 3) of the points, in the states of the equations."""
        return self.equations.states[self.equations.flat.skin_state :].reshape(-1, 3)

    def see(self, q: np.ndarray) -> SurfacePoints:
        """What the points see at `q` (nq,)."""
        seen = see_points(self.equations, q, self._before)
        self.does[~np.isfinite(seen.gap)] = OPEN
        return seen

    def choose(self, seen: SurfacePoints, motions: Motions, free: np.ndarray, exact: bool) -> np.ndarray:
        """Find what the points do; returns the forces (n, 3) that they then have.

        `free` (nv,): the displacement without a change of the forces. `exact`: refuse forces that round-off of large
        `motions` keeps from the tolerance.
        """
        forces, n = self.forces, len(self.forces)
        begun = seen.gap + seen.rows[:, 0] @ free
        taken = np.isfinite(seen.gap) & ((forces[:, 0] > 0.0) | (begun < 0.0))
        if not taken.any():
            self.does[:] = OPEN
            return np.zeros_like(forces)
        near = self._first_guess(begun)
        for _ in range(CHANGES):
            points = np.flatnonzero(taken)
            chosen = np.concatenate([3 * k + np.arange(3 if self.friction[k] > 0 else 1) for k in points])
            G, old = seen.rows.reshape(3 * n, -1)[chosen], forces.ravel()[chosen]
            X = motions.respond(G.T)
            for _ in range(TANGENTS):
                W, b = G @ X + seen.compliance(chosen, near), seen.places.ravel()[chosen] + G @ free
                b[chosen % 3 == 0] += seen.approached(near)[points]
                new = self._solved(points, chosen, 0.5 * (W + W.T), b - W @ old, exact)
                settled = np.abs(new - near)[self._local, 0] <= SETTLED * np.maximum(new, near)[self._local, 0]
                lowered = np.where(new > 0.0, new, LOWER * near)
                near = np.where(self._local[:, None], lowered, new)
                if settled.all():
                    break
            there = begun + seen.rows[:, 0] @ (X @ (new.ravel()[chosen] - old)) + seen.flexed(new - forces)[:, 0]
            more = np.isfinite(seen.gap) & ~taken & (there < 0.0)
            if not more.any():
                break
            taken |= more
        slipped = np.zeros((n, 3))
        slipped.ravel()[chosen] = W @ (new.ravel()[chosen] - old) + b
        push, grip = new[:, 0], np.linalg.norm(new[:, 1:], axis=1)
        slips = (self.friction > 0.0) & (grip >= (1 - WITHIN) * self.friction * push)
        self.does[:] = np.where(push > OVERLAP * push.max(), np.where(slips, SLIPS, STICKS), OPEN)
        self._slips[points] = np.linalg.norm(slipped[points, 1:], axis=1)
        self._sliding = np.flatnonzero(self.does == SLIPS) if not (self.does == STICKS).any() else points[:0]
        return np.asarray(new)

    def _first_guess(self, begun: np.ndarray) -> np.ndarray:
        """Forces (n, 3) of local contacts for the tangents of their approaches, from gaps `begun` (n,)."""
        guess = self.forces.copy()
        for k in np.flatnonzero(self._local & (guess[:, 0] <= 0.0) & (begun < 0.0)):
            guess[k, 0] = self.equations.workspace.skin_soft[k, 0] * (-begun[k]) ** 1.5
        return guess

    def _solved(self, points: np.ndarray, chosen: np.ndarray, W: np.ndarray, b: np.ndarray, exact: bool) -> np.ndarray:
        """The forces (n, 3) of the cone problem of `points`, in the directions `chosen`."""
        laws: list[Block] = [Coulomb(float(mu)) if mu > 0 else Bounded() for mu in self.friction[points]]
        new = np.zeros(self.forces.size)
        try:
            solution = solve_contacts(W, b, laws)
            if exact and solution.residual > TOLERANCE * np.abs(b).max():
                raise UnilateralError(f"Velocities are wrong by {solution.residual:.3g}, as far as round-off permits.")
            new[chosen] = solution.impulses
        except UnilateralError as error:
            raise EquilibriumError(
                f"{self._named(points)} of {self.equations.mechanism.name!r}: no forces at rest satisfy unilateral "
                f"contact and friction. {error}"
            ) from error
        return new.reshape(-1, 3)

    def require_support(self) -> None:
        """Raises `UnsupportedError` when points have touched in many iterations without holding their bodies, which
        move on: because all of them slip, or because the bodies tip or roll. To be called in each such iteration."""
        self._slid += len(self._sliding) > 0
        self._unheld += bool((self.does != OPEN).any())
        if self._slid > SLIDES or self._unheld > TIPS:
            raise UnsupportedError(f"{self.equations.mechanism.name!r} has no equilibrium: {self.hint}")

    @property
    def hint(self) -> str:
        """What to do where no equilibrium is found."""
        if len(self._sliding):
            return (
                f"{self._named(self._sliding)} slide or tip: all of their points slip, and nothing else holds the "
                "bodies. Give them more friction, or support them."
            )
        if self._unheld > TIPS:
            touch = np.flatnonzero(self.does != OPEN)
            slides = not self.friction[touch].any()
            cause = "nothing holds them along surfaces without friction, or the" if slides else "the"
            return (
                f"{self._named(touch)} touch, but their bodies {'slide, ' if slides else ''}tip or roll on: {cause} "
                "resultant of the other forces does not meet the part of the surfaces that faces. Support the bodies, "
                "or start nearer to where they come to rest."
            )
        return "Start nearer to one, or add a spring that restrains it."

    def _named(self, points: np.ndarray) -> str:
        contacts = self.equations.mechanism.surface_contacts
        names = dict.fromkeys(contacts[s].name for s in self.equations.flat.node_skin[points])
        return f"The contacts {', '.join(map(repr, names))}"

    def held(self, seen: SurfacePoints, forces: np.ndarray, does: np.ndarray) -> Held:
        """The points that are closed, as they do by `does` (n,), with friction that slips in the direction of `forces`
        (n, 3)."""
        sides = np.where(self.friction > 0.0, 3, 1)
        loaded: list[int] = []
        turning: list[float] = []
        entries: list[tuple[int, int, float, float]] = []
        for k in np.flatnonzero((does != OPEN) | (self.forces[:, 0] > 0.0)).tolist():
            first, row = len(loaded), len(turning)
            loaded += [3 * k + c for c in range(sides[k])]
            if does[k] == STICKS:
                turning += [0.0] * int(sides[k])
                entries += [(row + c, first + c, 1.0, 1.0) for c in range(sides[k])]
            elif does[k] == SLIPS:
                push, along = float(forces[k, 0]), forces[k, 1:] / np.linalg.norm(forces[k, 1:])
                turning += [0.0, float(self._slips[k]) / (self.friction[k] * push)]
                entries.append((row, first, 1.0, 1.0))
                for c, part, across in ((1, along[0], -along[1]), (2, along[1], along[0])):
                    entries.append((row, first + c, 0.0, float(self.friction[k] * part)))
                    entries.append((row + 1, first + c, float(across), float(across)))
        rows, pushes = (np.zeros((len(turning), len(loaded))) for _ in range(2))
        for i, j, seen_by, pushed in entries:
            rows[i, j], pushes[i, j] = seen_by, pushed
        every = np.array(loaded, dtype=np.int64)
        G = seen.rows.reshape(self.forces.size, -1)[every]
        return Held(every, rows, pushes.T, G, _yielding(seen.compliance(every, forces)), np.array(turning))

    def stiffness(self, q: np.ndarray) -> np.ndarray:
        """The stiffness (nv, nv) of constant forces of the points at `q` (nq,), which turn and wander with the bodies,
        for iterations: that of the last call as long as surfaces that face each other hardly move."""
        at, forces, K = self._known
        near = np.abs(q - at).max() < HARDLY * self.equations.mechanism.length
        if not (self.faces and near and np.abs(self.forces - forces).max() <= 0.1 * np.abs(forces).max()):
            none = np.zeros(0, dtype=np.int64), np.zeros((self.forces.size, len(self.equations.flat.weight)))
            K = self._differences(q, *none, accurate=False)[0]
            self._known = q.copy(), self.forces.copy(), K
        return K

    def closed(self, q: np.ndarray) -> Closed:
        """The points that touch at `q` (nq,), as reactions of small motions in which all of them stick, also those that
        have slipped until the equilibrium.

        A point at the bound of its friction slips on in one direction and sticks in all others, and a motion back and
        forth does both. Friction that follows the normal force both ways, whose stiffness is not symmetric, belongs to
        the iteration towards an equilibrium only; neither its eigenvalues nor those of its symmetric part decide about
        motions.

        Forces move the points by residual displacements, which turn their normals and change what they face. So that
        this counts, forces follow the motions in further passes. Their result is taken for the motions for which its
        error is small: points at edges between facets jump."""
        held = self.held(self.see(q), self.forces, np.where(self.does == OPEN, OPEN, STICKS))
        found = last = self._closed(q, held, np.zeros((self.forces.size, len(self.equations.flat.weight))))
        if not len(held.turning):
            return found
        faint = np.repeat(self.forces[:, 0] < FAINT * self.forces[:, 0].max(), 3)
        for _ in range(FOLLOWED):
            last = self._closed(q, held, np.where(faint[:, None], 0.0, last.presses))
        per_unit = 1.0 / self.equations.flat.weight
        counts = per_unit @ last.stiffness_error <= CLEAR * (per_unit @ np.abs(last.stiffness))
        stiffness, error, presses = (np.where(counts, new, old) for new, old in zip(last[:3], found[:3], strict=True))
        return Closed(stiffness, error, presses, ((counts, last.parts[0][1]), (~counts, found.parts[0][1])))

    def _closed(self, q: np.ndarray, held: Held, followed: np.ndarray) -> Closed:
        """What `held` points do while their forces change by `followed` (3 n, nv) in differences.

        With changes `Y x` of the forces, near those that keep the rows `h` at zero, the error of `dR + G^T C^-1 dh` is
        that of Y times that of the derivatives `-G^T` and `C` of residual R and rows h by the forces.
        """
        nv = len(self.equations.flat.weight)
        table, error = self._differences(q, held.loaded, followed, accurate=True)
        every = np.ones(nv)
        if not len(held.turning):
            none = np.zeros((0, nv))
            alone = Errors(error[:nv], none.T, none, none, none.T, np.zeros((0, 0)))
            return Closed(table[:nv], error[:nv], followed, ((every, alone),))
        flexing = np.linalg.inv(held.flexing)
        apart, wrong = held.rows @ table[nv:], np.abs(held.rows) @ error[nv:]
        left, right = held.G.T @ held.pushes @ flexing, flexing @ apart
        errors = Errors(error[:nv], left, right, wrong, error[nv:].T @ np.abs(held.pushes), np.abs(held.flexing))
        bound = np.abs(left) @ wrong + errors.forces @ np.abs(flexing @ held.rows @ held.G)
        bound += ROUNDING * np.abs(left) @ errors.flexing @ np.abs(right)
        presses = followed.copy()
        presses[held.loaded] -= held.pushes @ right
        return Closed(table[:nv] + left @ apart, error[:nv] + bound, presses, ((every, errors),))

    def _differences(
        self, q: np.ndarray, chosen: np.ndarray, followed: np.ndarray, accurate: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The derivatives (nv + m, nv) of the residual forces of the points and of their positions along the directions
        `chosen` (m,), and bounds of their errors, while their forces change by `followed` (3 n, nv).

        `accurate`: by differences of fourth order, but for surfaces that face each other, whose points jump between
        facets. Steps are short enough for all points to push."""
        e, flat, moved = self.equations, self.equations.flat, np.empty_like(q)
        look_at_points(e, q)
        here, loaded = e.workspace.skin_seen.copy(), np.flatnonzero(self.forces[:, 0] > 0.0)
        nv, forces = len(flat.weight), self.forces.copy()
        value, error = (np.zeros((nv + len(chosen), nv)) for _ in range(2))
        if not len(loaded):
            return value, error
        smooth = accurate and not self.faces
        most = 4 * MEASURED if smooth else 2 * DIFFERENCE

        def at(h: float, column: int, unit: float) -> np.ndarray:
            displace(flat, q, h * unit * np.eye(1, nv, column)[0], moved)
            self.forces[:] = forces + h * unit * followed[:, column].reshape(-1, 3)
            gap, slip = look_at_points(e, moved, here)
            slip[:, 0] = gap
            return np.concatenate([-forces_of_points(e, moved, loaded), slip.ravel()[chosen]])

        for b in self.bodies:
            for column in range(flat.v_start[b], flat.v_start[b + 1]):
                unit = 1.0 / flat.weight[column]
                change = np.abs(followed[::3, column]) * unit * most
                unit *= min(1.0, PART / max((change[loaded] / forces[loaded, 0]).max(), PART))
                along = partial(at, column=column, unit=unit)
                found = derivative_at_zero(along) if smooth else _kinked(along, accurate)
                value[:, column], error[:, column] = (x / unit for x in found)
                error[nv:, column] += ROUNDING / MEASURED * e.mechanism.length / unit
        self.forces[:] = forces
        return value, error


def _yielding(C: np.ndarray) -> np.ndarray:
    """A compliance (n, n) whose least eigenvalues are raised to `RIGID` of the largest: for patterns of forces to which
    the elastic coordinates have the whole response, there is no residual compliance."""
    if not len(C):
        return C
    values, vectors = np.linalg.eigh(C)
    least = RIGID * values[-1]
    return C if values[0] >= least else np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def _kinked(at: Callable[[float], np.ndarray], bounded: bool) -> tuple[np.ndarray, np.ndarray]:
    """The derivative of `at` at zero by central differences; `bounded`: with the change by twice the step as the
    bound of its error."""
    value = (at(DIFFERENCE) - at(-DIFFERENCE)) / (2 * DIFFERENCE)
    if not bounded:
        return value, np.zeros_like(value)
    return value, np.abs((at(2 * DIFFERENCE) - at(-2 * DIFFERENCE)) / (4 * DIFFERENCE) - value)


def require_shallow(touching: Touching, q: np.ndarray) -> None:
    """Raises `MechanismError` when a surface is so deep inside what it touches at `q` (nq,) that a search for an
    equilibrium might leave it on the wrong side."""
    flat, mechanism, gap = touching.equations.flat, touching.equations.mechanism, touching.see(q).gap
    k = int(gap.argmin())
    if gap[k] < -DEEP * mechanism.length:
        contact = mechanism.surface_contacts[flat.node_skin[k]]
        raise MechanismError(
            f"Contact {contact.name!r}: the surface {contact.surface!r} of {mechanism.bodies[contact.body].name!r} is "
            f"drawn {-gap[k]:.4g} deep inside what it touches; an equilibrium begins with at most {DEEP:g} of the "
            f"mechanism, {DEEP * mechanism.length:.3g}. Move the body away, or turn the axis of a plane, which points "
            "away from its body."
        )


def require_closed_points(touching: Touching, q: np.ndarray) -> None:
    """Raises `MechanismError` when a contact of flexible surfaces has no small motions about the state at `q` (nq,):
    because points slip with friction, or touch without a force, so that they hold in one direction only."""
    flat, mechanism, gap = touching.equations.flat, touching.equations.mechanism, touching.see(q).gap
    for s, contact in enumerate(mechanism.surface_contacts):
        own = slice(flat.skin_node[s], flat.skin_node[s + 1])
        if (slips := touching.does[own] == SLIPS).any():
            raise MechanismError(
                f"{int(slips.sum())} points of the contact {contact.name!r} slip at the state, so that their "
                "friction is no reaction, and there are no small motions about it. Take more friction, or none."
            )
        if not (touching.does[own] != OPEN).any() and gap[own].min() <= TOUCHES * mechanism.length:
            raise MechanismError(
                f"The contact {contact.name!r} touches at the state without a force (gap {gap[own].min():.3g}), so "
                "that it holds in one direction only. Linearise about the equilibrium, linearise(equilibrium(system))."
            )
