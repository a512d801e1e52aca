"""An energy-momentum scheme for floating-frame bodies. For any step, the energy balance closes to the accuracy to which
the equations of the step are solved.

A step moves every body by a constant twist, `g1 = g0 exp(h (w0 + w1) / 2)`, and its elastic coordinates by their mean
rates. The twist is the same in the axes of both ends and of the middle of the step. The balance of momenta in the
middle axes,

    Ad(-D/2)^T p1 - Ad(D/2)^T p0 = h f,    p = M(eta) w,    D = h (w0 + w1) / 2,                                  (1)

therefore preserves the momenta of a free body exactly, and the work on its rigid motion is `D . f = T1 - T0`. Joints,
springs and bushings between free bodies preserve the sum of the linear momenta and of the angular momenta about a fixed
point exactly. The mass centre of such bodies follows the linear momentum to second order only, and so does the angular
momentum about it if the mass centre moves.

- The elastic equations contain a discrete derivative (Gonzalez) of the kinetic energy with respect to eta.
- The wrench of gravity follows from the exact integral of its potential over the step.
- Every joint equation and spring acts along a discrete derivative `Gd` with `Gd D = v1 - v0`: the mean of its Jacobian
  over the step (flexmb/kernels/steps/mean_rows.py), which is a pair of equal and opposite wrenches. For angles of
  joints that open slightly within the step, the defect of this mean is added along the relative motion of the two
  markers.
- The forces of continuous contacts are discrete derivatives of their energies (flexmb/kernels/contact/discrete.py).
- The joint equations are satisfied at the end of each step.
- So are the conditions of unilateral contact of flexible surfaces; their forces in the step are discrete derivatives of
  the strain energy of the residual compliance (`flexmb.equations.contact.pressed`). These steps are not compiled as a
  whole.

Sources: Crisfield, Shi, An energy conserving co-rotational procedure (NATO ASI 1993) for the aim; Simo, Wong,
Unconditionally stable algorithms for rigid body dynamics (1991) for rotations; Gonzalez, Time integration and discrete
Hamiltonian systems (1996) for discrete derivatives; Betsch, Uhlar, Energy-momentum conserving integration of multibody
dynamics (2007) for joints.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg as la

from fem.errors import ConvergenceError, FlexmbError
from flexmb.equations.contact.pressed import PressedNodes, complementary
from flexmb.equations.contact.skins import require_apart
from flexmb.equations.evaluation import Equations
from flexmb.equations.failures import diverged, fastest_body, no_mass
from flexmb.equations.initial_conditions import Start
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.time_features import Pace
from flexmb.errors import IntegratorError, LawError
from flexmb.integrators.integrator import Run, Steps
from flexmb.integrators.method import Method, register
from flexmb.integrators.travel import flying
from flexmb.kernels.base.data import CompiledModel, Workspace, make_marker_kinematics
from flexmb.kernels.base.law_call import require_sound
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.calls import accept_step, balance_step, begin_step, conserve
from flexmb.kernels.steps.conserving import (
    BALANCED,
    KEPT,
    MORE,
    MOST_ITERATIONS,
    NO_MASS,
    ROUNDING,
    SMALLEST,
    ConservingState,
)
from flexmb.kernels.steps.mean_rows import gauss_points
from flexmb.mechanism.contacts.element import is_contact
from flexmb.mechanism.features import Feature, few
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Statistics

KEEP = 0.1
"""Contraction rate of Newton's method up to which its matrix is kept."""
STALLED = 1e-12
"""Size below which corrections that do not decrease with a new matrix are round-off, in directions of small inertia."""
SHORTEST = 1e-3
"""Damping factor of a correction below which the step fails."""
DIFFERENCE = 1e-7
"""Difference step of the matrix, relative to the scale of each unknown."""
LONGEST_BLOCK = 64
"""Largest number of steps for which the functions of time are evaluated in advance."""


class _Balance(NamedTuple):
    """Residual (nv + nj,) of the equations of a step: forces, and joint equations at its end."""

    residual: np.ndarray
    unbalanced: float  # work of the residual forces, relative to the works that balance


class _Step(NamedTuple):
    """The size of a step, and the functions of time at its beginning, in its middle and at its end."""

    h: float
    before: np.ndarray
    middle: np.ndarray
    after: np.ndarray


@register("energy-momentum")
@dataclass(frozen=True, kw_only=True)
class EnergyMomentum(Method):
    """The energy-momentum scheme: order 2, fixed steps, absolute coordinates.

    It preserves the energy balance, the linear momentum and the angular momentum about a fixed point to round-off. The
    steps are compiled; each costs some ten evaluations of the equations of motion. The common mass centre of free
    bodies that joints, springs or bushings connect deviates from a straight line in proportion to the square of the
    step; the angular momentum about this mass centre, if it moves, deviates likewise. Vibration that a step does not
    resolve keeps its energy.

    Raises `IntegratorError` when no `step` is given.
    """

    order: ClassVar[int] = 2
    includes: ClassVar[frozenset[Feature]] = frozenset({"surface contacts"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step is None:
            raise IntegratorError("The energy-momentum scheme requires fixed steps; give step=.")

    def begin(
        self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace
    ) -> "EnergyMomentumRun":
        assert self.step is not None
        return EnergyMomentumRun(mechanism, start, self.step)


class EnergyMomentumRun(Run):
    """A running integration with fixed steps; see `Integrator`."""

    def __init__(self, mechanism: Mechanism, begin: Start, step: float) -> None:
        state = begin.state
        self.equations = e = Equations(mechanism, state.q, state.angles)
        self.flat, self.step, self.t = e.flat, step, state.t
        self._functions = mechanism.function_values(self.t)
        e.residual(self._functions, state.q, np.zeros_like(state.w), np.zeros_like(state.w), begin.multipliers)
        require_apart(e)
        self._pressed = PressedNodes(e) if mechanism.surface_contacts else None
        self._motion = _motion(e, begin, _alone(self.flat))
        self._there = make_marker_kinematics(self.flat)
        self._steps = Steps()
        self._factored: tuple | None = None

    # interface of an integrator --------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Compile the kernels before the integration is timed, unless the library of the package contains them."""
        functions = np.array([self._functions])
        conserve(self.flat, 1.0, functions, self._motion, self.equations.kinematics, self._there, self._workspace)

    def now(self) -> Snapshot:
        """The motion at the end of the last step."""
        self.equations.expect()
        m = self._motion
        return self.equations.snapshot(self.t, m.q, m.w, m.work)

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of the integration, which took `cpu` seconds."""
        self._steps.iterations = int(self._motion.iterations[0])
        return self._steps.statistics(cpu)

    def to(self, target: float) -> Snapshot:
        """Integrate to `target` in equal steps."""
        count = max(1, int(np.ceil((target - self.t) / self.step * (1 - 1e-9))))
        h, start, done = (target - self.t) / count, self.t, 0
        while done < count:
            ends = np.arange(done + 1, min(count, done + LONGEST_BLOCK) + 1)
            times = np.column_stack([start + (ends - 0.5) * h, start + ends * h]).ravel()
            if ends[-1] == count:
                times[-1] = target
            table = np.concatenate([self._functions[None], self.equations.mechanism.function_table(times)])
            try:
                complete = self._run(h, table)
            except FlexmbError:
                raise
            except (RuntimeError, ValueError) as error:  # of compiled functions, which know no names
                named = self._unseen(h, len(ends))
                if named is None:
                    raise
                raise named from error
            done += complete
            if complete:
                self.t, self._functions = float(times[2 * complete - 1]), table[2 * complete]
        self._steps.take(count, h)
        return self.now()

    @property
    def _workspace(self) -> Workspace:
        return self.equations.workspace

    # steps -----------------------------------------------------------------------------------------------------------

    def _run(self, h: float, functions: np.ndarray) -> int:
        """Integrate at most the steps of the table of `functions` (2 n + 1, nf, 3); the number of complete steps."""
        e, m = self.equations, self._motion
        if self._factored is None and self._pressed is None:
            outcome, complete = conserve(self.flat, h, functions, m, e.kinematics, self._there, e.workspace)
            require_sound(e.mechanism.calls)
            if outcome == NO_MASS:
                raise no_mass(e, self.t + complete * h)
            if complete:
                return int(complete)
        begin_step(self.flat, h, functions[0], m, self._there, e.workspace)
        solve = self._newton if self._pressed is None else self._press
        if not solve(np.concatenate([m.D, m.trial]), _Step(h, *functions[:3])):
            raise self._failed(h)
        accept_step(self.flat, h, m, e.workspace)
        return 1

    def _unseen(self, h: float, count: int) -> LawError | None:
        """The error to raise where a contact cannot be evaluated in one of `count` steps; None without contacts."""
        mechanism = self.equations.mechanism
        names = [force.name for force in mechanism.frame_forces if is_contact(force)]
        if not names:
            return None
        return LawError(
            f"A contact of {mechanism.name!r} ({few(names)}) cannot be evaluated between t = {self.t:.6g} and "
            f"{self.t + count * h:.6g}: in a step of {h:.3g} the bodies overlap so far that centres of round shapes "
            "coincide, or that the law has no force. Take smaller steps or a stiffer contact."
        )

    def _failed(self, h: float) -> FlexmbError:
        """The error to raise when the equations of a step have no solution, or the error of the user's law that caused
        this."""
        e, w = self.equations, self._motion.w
        error = diverged(e, self.t, h, w)
        if type(error) is not ConvergenceError:
            return error
        turn = h * max(float(np.linalg.norm(w[s + 3 : s + 6])) for s in self.flat.v_start[:-1])
        return ConvergenceError(
            f"The equations of the energy-momentum step of {e.mechanism.name!r} from t = {self.t:.6g}, of size "
            f"{h:.3g}, cannot be solved: a body rotates by {turn:.3g} rad in it; the fastest body is "
            f"{fastest_body(e, w)!r}. Tumbling slender bodies, whose inertia about their own axis is small, need "
            "steps of some hundredths of a radian; other likely causes are a driver that "
            "jumps, and joints that lock. Give a smaller step=, or use generalised-alpha."
        )

    def _at(self, z: np.ndarray, step: _Step) -> _Balance | None:
        """The equations at displacement and multipliers `z` (nv + nj,); None if they cannot be evaluated."""
        m, n = self._motion, len(self._motion.w)
        m.D[:], m.trial[:] = z[:n], z[n:]
        unbalanced = balance_step(self.flat, *step, m, self.equations.kinematics, self._there, self._workspace)
        require_sound(self.equations.mechanism.calls)
        if not np.isfinite(unbalanced):
            return None
        return _Balance(np.concatenate([m.forces, m.end_values[: len(m.trial)]]), unbalanced)

    def _size(self, x: np.ndarray) -> float:
        """The largest displacement of a correction, in lengths of the mechanism or radians."""
        return float((np.abs(x[: len(self.flat.weight)]) * self.flat.weight).max(initial=0.0))

    def _settled(self, size: float, previous: float) -> bool:
        return size <= SMALLEST or (size < self._rounding() and size > 0.3 * previous)

    def _rounding(self) -> float:
        """The size of corrections due to the rounding of positions, by their distance from the origin."""
        places = [self._motion.q[k : k + 3] for k in self.flat.q_start[:-1]]
        return ROUNDING * (1 + float(np.abs(places).max(initial=0.0)) / self.equations.mechanism.length)

    def _press(self, z: np.ndarray, step: _Step) -> bool:
        """Solve the equations of a step with flexible surfaces that touch, as `_newton`; their forces become those of
        the state.

        The matrix is that without the forces of the nodes; with it, each iteration solves a linear complementarity
        problem for them.
        """
        p, m, e, n = self._pressed, self._motion, self.equations, len(self._motion.w)
        assert p is not None
        begin, forces, previous = p.see(m.q, self._there, p.forces), p.forces.copy(), np.inf
        for _ in range(MOST_ITERATIONS):
            if self._factored is None:
                self._factored, previous = self._matrix(z, step), np.inf
            found = self._at(z, step)
            if found is None:
                return False
            end = p.see(m.end_q, self._there, forces)
            middle = p.see(m.middle_q, e.kinematics, 0.5 * (p.forces + forces))
            push = p.push(begin, middle, end, forces, m.D)
            residual = found.residual
            residual[:n] -= push.forces
            columns = np.vstack([push.slopes, np.zeros((len(z) - n, len(forces)))])
            solved = la.lu_solve(self._factored, np.column_stack([-residual, columns]))
            x, X = solved[:, 0], solved[:, 1:]
            W = end.G @ X[:n] + end.C
            there = complementary(W, end.gap + end.G @ x[:n] - W @ forces, forces)
            if there is None:
                return False
            x, moved = x + X @ (there - forces), np.abs(W @ (there - forces)).max() / e.mechanism.length
            z, forces, size = z + x, there, max(self._size(x), float(moved))
            m.iterations[0] += 1
            if self._settled(size, previous):
                p.forces[:] = forces
                return self._at(z, step) is not None
            if size > KEEP * previous:
                self._factored = None
            previous = size
        return False

    def _newton(self, z: np.ndarray, step: _Step) -> bool:
        """Solve the equations of a step by Newton's method with damping, from displacement and multipliers `z`
        (nv + nj,); whether it converges. The equations are evaluated last at the solution.

        The matrix is reused as long as the iteration converges well, also in later steps. Source: Deuflhard, Newton
        Methods for Nonlinear Problems, 2004, section 3.3.
        """
        fresh, mine, more = self._factored is None, False, MORE
        found, part = self._at(z, step), 1.0
        x: np.ndarray | None = None
        for _ in range(MOST_ITERATIONS):
            if found is None:
                return False
            if self._factored is None:
                self._factored, fresh, mine, x = self._matrix(z, step), True, True, None
            if x is None:
                x = la.lu_solve(self._factored, -found.residual)
            size, trial = self._size(x), z + part * x
            self._motion.iterations[0] += 1
            there = self._at(trial, step)
            following = None if there is None else la.lu_solve(self._factored, -there.residual)
            after = np.inf if following is None else self._size(following)
            last: np.ndarray | None = None
            if following is not None and self._settled(after, size):
                last = trial + following
            elif after <= (1 - 0.25 * part) * size:
                if after > KEEP * size and part == 1.0:
                    self._factored = None
                z, found, x, part = trial, there, following, min(1.0, 2 * part)
                fresh = False
            elif not fresh:
                self._factored = None
            elif size < STALLED:
                last = z + x
            else:
                part *= 0.5
                if part < SHORTEST:
                    return False
            if last is not None:
                z, found, x = last, self._at(last, step), None
                if found is not None and (more == 0 or found.unbalanced <= BALANCED):
                    return True
                more -= 1
                if not mine:
                    self._factored = None
        return False

    def _matrix(self, z: np.ndarray, step: _Step) -> tuple:
        """The factorised dense derivative of the equations of a step, by differences."""
        n = len(self.flat.weight)
        multipliers = np.abs(z[n:])
        scale = np.concatenate([1 / self.flat.weight, np.maximum(multipliers, multipliers.max(initial=0.0) or 1.0)])
        columns = []
        for k in range(len(z)):
            shift = np.zeros_like(z)
            shift[k] = DIFFERENCE * scale[k]
            high, low = (self._at(x, step) for x in (z + shift, z - shift))
            if high is None or low is None:
                raise self._failed(step.h)
            columns.append((high.residual - low.residual) / (2 * shift[k]))
        J = np.array(columns).T
        size = np.abs(J[:n, :n]).max()
        # regularisation for dependent equations
        J[n:, n:] -= 1e-14 * np.eye(len(z) - n) * (np.abs(J[n:, :n]).max(initial=0.0) ** 2 / size)
        factored: tuple = la.lu_factor(J)
        return factored


def _alone(flat: CompiledModel) -> np.ndarray:
    """1 for free bodies without gravity (nb,), whose steps are computed relative to frames that move with them.

    Joined bodies are excluded, because the relative motion along which their joints act would vanish; gravity is
    excluded, because its work is exact only in frames at rest, and so are mechanisms with flexible surfaces that touch.
    """
    alone = np.zeros(len(flat.modes))
    if not len(flat.skin_body) and not flat.gravity.any():
        alone[[piece[0] for piece in flying(flat) if len(piece) == 1]] = 1.0
    return alone


def _motion(equations: Equations, begin: Start, alone: np.ndarray) -> ConservingState:
    """The arrays of a motion at initial conditions; the residual must have been evaluated there."""
    flat, state, values = equations.flat, begin.state, equations.workspace.values
    nb, nq, nv, nr, nj = len(flat.modes), len(state.q), len(state.w), len(flat.row_kind), flat.joint_rows
    mmax, rows, ne = flat.marker_rows.shape[2], equations.workspace.G.shape, len(flat.element_row)
    products = mmax * int(flat.slices.max(initial=0))
    nodes, weights = gauss_points()
    given = {
        "q": state.q.copy(), "w": state.w.copy(), "multipliers": begin.multipliers.copy(), "values": values.copy(),
        "angles": equations.angles, "expected": equations.expected, "alone": alone, "nodes": nodes, "weights": weights,
    }  # fmt: skip
    shapes = {
        "work": 4, "flown": (nb, 3), "slow": nv, "momenta": nv, "Mrr": (nb, 6, 6), "Lrr": (nb, 6, 6),
        "Mre": (nb, 6, mmax), "moment": (nb, 3), "D": nv, "trial": nj, "mean": nv, "middle_q": nq, "end_q": nq,
        "end_w": nv, "end_values": nr, "end_angles": len(equations.angles), "end_work": 4, "end_moment": (nb, 3),
        "forces": nv, "G": rows, "change": nr, "efforts": nr, "rates": nr, "reactions": nv, "moved": nv,
        "moved_q": nq, "moved_values": nr, "begin_G": rows, "end_G": rows, "back": (nb, 12), "row": (2, 6 + mmax),
        "vectors": (6, 6 + mmax), "eta": mmax, "P": (nb, products), "P_slow": (nb, products), "P_D": products,
        "P_there": products, "poses": (ne, 12), "end_poses": (ne, 12),
        "gained": nv, "size": 1, "corrections": (KEPT, nv + nj), "squares": KEPT,
        "there_Mrr": (6, 6), "there_Mre": (6, mmax), "energies": 5, "iterations": 1,
    }  # fmt: skip
    arrays = {name: np.zeros(shape) for name, shape in shapes.items()} | given
    return pointed(ConservingState(**arrays))
