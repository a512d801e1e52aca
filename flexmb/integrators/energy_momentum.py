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
- The joint equations are satisfied at the end of each step.

Sources: Crisfield, Shi, An energy conserving co-rotational procedure (NATO ASI 1993) for the aim; Simo, Wong,
Unconditionally stable algorithms for rigid body dynamics (1991) for rotations; Gonzalez, Time integration and discrete
Hamiltonian systems (1996) for discrete derivatives; Betsch, Uhlar, Energy-momentum conserving integration of multibody
dynamics (2007) for joints.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from fem.errors import ConvergenceError, FlexmbError
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import Start
from flexmb.equations.projection import as_sparse
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.time_features import Pace
from flexmb.errors import IntegratorError
from flexmb.integrators.integrator import Steps
from flexmb.integrators.method import Method, register
from flexmb.integrators.travel import Travel, flying
from flexmb.kernels.base.data import GROUND, SPIN, make_marker_kinematics
from flexmb.kernels.calls import (
    displace,
    element_tangents,
    left_jacobian,
    mean_rows,
    place_markers,
    rotation_exp,
    solve_rows,
)
from flexmb.kernels.steps.coupled import COUPLED
from flexmb.kernels.steps.mean_rows import quadrature
from flexmb.kernels.steps.solve import INACTIVE
from flexmb.mechanism.mechanism import Mechanism, refuse_lines, refuse_velocity_rows
from flexmb.results.result import Statistics
from flexmb.spatial.layout import elastic_places, pose
from flexmb.spatial.lie import skew

ITERATIONS = 60
SLOW = 0.5
"""Contraction rate of the iteration above which its matrix is computed by differences."""
KEEP = 0.1
"""Contraction rate of Newton's method up to which its matrix is kept."""
STALLED = 1e-12
"""Size below which corrections that do not decrease with a new matrix are round-off, in directions of small inertia."""
SHORTEST = 1e-3
"""Damping factor of a correction below which the step fails."""
FARTHEST = 4 * np.pi
"""Largest rotation (rad) of a body in a step."""
DIFFERENCE = 1e-7
"""Difference step of the matrix, relative to the scale of each unknown."""
ROUNDING = 1e-13
"""Size, in lengths of the mechanism or radians, below which corrections that do not decrease are round-off."""
SMALLEST = 1e-16
"""Size of a correction at which the iteration ends in any case."""
BALANCED, MORE = 1e-15, 4
"""Work of the residual forces in a step, relative to the works that balance, that is round-off; and the largest number
of further corrections of a solution, whose corrections are round-off, to reach it. Rounding affects light, soft
directions most; directions with more energy, and the reactions, may converge later with the matrix of an earlier
step."""
EXACT = 1e-15
"""Defect of the mean Jacobian, in lengths of the mechanism or radians, that is rounding. Divided by a small relative
motion it would give an arbitrary force."""
RESTING = 1e-8
"""Relative motion of two markers in a step, in lengths of the mechanism or radians, below which they are at rest. The
defect of the mean Jacobian is proportional to this motion times the square of the rotation in the step."""


class _Balance(NamedTuple):
    """Residual forces (nv,), joint equations (nj,) at the end of a step, and the state and work to accept it."""

    forces: np.ndarray
    closure: np.ndarray
    w: np.ndarray
    q: np.ndarray
    values: np.ndarray
    angles: np.ndarray
    work: np.ndarray
    unbalanced: float  # work of the residual forces, relative to the works that balance

    @property
    def residual(self) -> np.ndarray:
        """The residual (nv + nj,) of the equations of a step."""
        return np.concatenate([self.forces, self.closure])


class _Step(NamedTuple):
    """The size of a step, and the functions of time in its middle and at its end."""

    h: float
    middle: np.ndarray
    after: np.ndarray


@register("energy-momentum")
@dataclass(frozen=True, kw_only=True)
class EnergyMomentum(Method):
    """The energy-momentum scheme: order 2, fixed steps, absolute coordinates.

    It preserves the energy balance, the linear momentum and the angular momentum about a fixed point to round-off, at
    some milliseconds per step. The common mass centre of free bodies that joints, springs or bushings connect deviates
    from a straight line in proportion to the square of the step; the angular momentum about this mass centre, if it
    moves, deviates likewise. Vibration that a step does not resolve keeps its energy.

    Raises `IntegratorError` when no `step` is given.
    """

    order: ClassVar[int] = 2
    samples: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step is None:
            raise IntegratorError("The energy-momentum scheme requires fixed steps; give step=.")

    def begin(
        self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace
    ) -> "EnergyMomentumRun":
        assert self.step is not None
        refuse_velocity_rows(mechanism, "The energy-momentum scheme")
        refuse_lines(mechanism, "The energy-momentum scheme")
        return EnergyMomentumRun(mechanism, start, self.step)


class EnergyMomentumRun:
    """A running integration with fixed steps; see `Integrator`."""

    def __init__(self, mechanism: Mechanism, begin: Start, step: float) -> None:
        state = begin.state
        self.equations = e = Equations(mechanism, state.q, state.angles)
        self.flat, self.step, self.t = e.flat, step, state.t
        self.q, self.w = state.q.copy(), state.w.copy()
        self.multipliers, self.work = begin.multipliers.copy(), np.zeros(4)
        none = tuple(replace(row, law=-1) for row in mechanism.rows[: mechanism.joint_rows])
        bare = replace(mechanism, rows=none, force_elements={}, loads=(), laws=(), gravity=np.zeros(3))
        self._bare = Equations(bare, state.q)
        self._weightless = Equations(replace(mechanism, gravity=np.zeros(3)), state.q, state.angles)
        self._gravity = np.asarray(mechanism.gravity, dtype=float)
        self._travel = Travel(self.flat, self._alone())
        self._steps = Steps()
        self._factored: tuple | None = None
        self._functions = mechanism.function_values(self.t)
        self._values = self._row_values(self.q, self._functions)
        self._elastic, self._elastic_q = elastic_places(self.flat)
        self._kinematics = make_marker_kinematics(self.flat)
        self._length2 = mechanism.length**2

    # interface of an integrator --------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Compile the kernels before the integration is timed."""
        self._take_momenta()
        self._balance(1e-9 * self.w, 1e-9, self._functions, self._functions, self.multipliers)

    def now(self) -> Snapshot:
        """The motion at the end of the last step."""
        return self.equations.snapshot(self.t, self.q, self.w, self.work)

    def statistics(self, cpu: float) -> Statistics:
        """Statistics of the integration, which took `cpu` seconds."""
        return self._steps.statistics(cpu)

    def to(self, target: float) -> Snapshot:
        """Integrate to `target` in equal steps."""
        count = max(1, int(np.ceil((target - self.t) / self.step * (1 - 1e-9))))
        h, start = (target - self.t) / count, self.t
        for k in range(count):
            self._advance(h, target if k == count - 1 else start + (k + 1) * h)
        self._steps.take(count, h)
        return self.now()

    def _alone(self) -> list[list[int]]:
        """Free bodies without gravity, whose steps are computed relative to frames that move with them.

        Joined bodies are excluded, because the relative motion along which their joints act would vanish; gravity is
        excluded, because its work is exact only in frames at rest.
        """
        return [] if self._gravity.any() else [piece for piece in flying(self.flat) if len(piece) == 1]

    # one step --------------------------------------------------------------------------------------------------------

    def _advance(self, h: float, end: float) -> None:
        mechanism, flat = self.equations.mechanism, self.flat
        after, middle = mechanism.function_values(end), mechanism.function_values(0.5 * (self.t + end))
        self._take_momenta()
        D = h * self._slow
        fast = self._elastic[flat.stiffness * h * h > 1]
        D[fast] = 0.0  # vibration that the step does not resolve
        step, n = _Step(h, middle, after), len(D)
        begin = np.concatenate([D, self.multipliers])
        solved = self._iterated(begin, step) if self._factored is None else None
        if solved is None:
            solved = self._newton(begin, step)
        found = self._at(solved, step) if solved is not None else None
        if solved is None or found is None:
            raise self._failed(h)
        self.t, self.q, self.multipliers = end, self._carried(found, h), solved[n:]
        self.w = found.w + self._travel.seen(self._flown, self.q)
        self.work, self._values, self._functions = self.work + found.work, found.values, after
        self.equations.angles[:] = self.equations.expected[:] = self._weightless.angles[:] = found.angles

    def _carried(self, found: _Balance, h: float) -> np.ndarray:
        """The configuration at the end of a step relative to the ground. The mass centres of bodies that nothing holds
        move with their momenta, so that the angular momenta about them are preserved too."""
        travel, p1 = self._travel, self._linear(self._mass(found.q) @ found.w)
        moved = self._centres(found.q) - self._centres(self.q)
        return travel.carried(self._flown + 0.5 * travel.mean(found.q, p1) - moved / h, found.q, h)

    def _linear(self, p: np.ndarray) -> np.ndarray:
        """The linear momenta (nb, 3) of the bodies in body axes."""
        return np.array([p[s : s + 3] for s in self.flat.v_start[:-1]]).reshape(-1, 3)

    def _centres(self, q: np.ndarray) -> np.ndarray:
        """For each unsupported body, the mass centre (nb, 3) of its piece in the world."""
        flat, moments = self.flat, []
        for b, body in enumerate(self.equations.mechanism.bodies):
            at, R = pose(flat, q, b)
            eta = q[flat.q_start[b] + 7 : flat.q_start[b + 1]]
            moments.append(_first_moment(body.invariants, eta) + flat.mass[b] * (R.T @ at))
        return self._travel.mean(q, np.array(moments).reshape(-1, 3))

    def _failed(self, h: float) -> FlexmbError:
        """The error to raise when the equations of a step have no solution, or the error of the user's law that caused
        this."""
        error, e = self._weightless.diverged(self.t, h, self.w), self.equations
        if type(error) is not ConvergenceError:
            return error
        turn = h * max(float(np.linalg.norm(self.w[s + 3 : s + 6])) for s in self.flat.v_start[:-1])
        return ConvergenceError(
            f"The equations of the energy-momentum step of {e.mechanism.name!r} from t = {self.t:.6g}, of size "
            f"{h:.3g}, cannot be solved: a body rotates by {turn:.3g} rad in it; the fastest body is "
            f"{e.fastest_body(self.w)!r}. Tumbling slender bodies, whose inertia about their own axis is small, need "
            "steps of some hundredths of a radian; other likely causes are a driver that "
            "jumps, and joints that lock. Give a smaller step=, or use generalised-alpha."
        )

    def _at(self, z: np.ndarray, step: _Step) -> _Balance | None:
        """The equations at displacement and multipliers `z` (nv + nj,); None if they cannot be evaluated."""
        n = len(self.w)
        turns = [float(np.linalg.norm(z[s + 3 : s + 6])) for s in self.flat.v_start[:-1]]
        if not np.isfinite(z).all() or max(turns, default=0.0) > FARTHEST:
            return None
        try:
            found = self._balance(z[:n], *step, z[n:])
        except np.linalg.LinAlgError:  # the mass matrix of an excessively deformed body
            return None
        return found if np.isfinite(found.forces).all() and np.isfinite(found.closure).all() else None

    def _size(self, x: np.ndarray) -> float:
        """The largest displacement of a correction, in lengths of the mechanism or radians."""
        return float((np.abs(x[: len(self.w)]) * self.flat.weight).max(initial=0.0))

    def _settled(self, size: float, previous: float) -> bool:
        return size <= SMALLEST or (size < self._rounding() and size > 0.3 * previous)

    def _rounding(self) -> float:
        """The size of corrections due to the rounding of positions."""
        return ROUNDING * self._far()

    def _far(self) -> float:
        """Factor of rounding errors by the distance of the bodies from the origin."""
        places = [self.q[k : k + 3] for k in self.flat.q_start[:-1]]
        return 1 + float(np.abs(places).max(initial=0.0)) / self.equations.mechanism.length

    def _iterated(self, z: np.ndarray, step: _Step) -> np.ndarray | None:
        """The solution by iteration with a matrix without gyroscopic terms; None if it converges too slowly."""
        previous, settled = np.inf, 0
        for iteration in range(ITERATIONS):
            found = self._at(z, step)
            if found is None:
                return None
            if settled > MORE or (settled and found.unbalanced <= BALANCED):
                return z
            x = np.concatenate(self._correction(found, step))
            size = self._size(x)
            self._steps.iterations += 1
            if not np.isfinite(size) or (iteration > 3 and size > max(SLOW * previous, self._rounding())):
                return None
            z = z + x
            settled += settled > 0 or self._settled(size, previous)
            previous = size
        return None

    def _newton(self, z: np.ndarray, step: _Step) -> np.ndarray | None:
        """The solution by Newton's method with damping; None if it does not converge.

        The matrix is reused as long as the iteration converges well, also in later steps. Source: Deuflhard, Newton
        Methods for Nonlinear Problems, 2004, section 3.3.
        """
        fresh, mine, more = self._factored is None, False, MORE
        found, part = self._at(z, step), 1.0
        x: np.ndarray | None = None
        for _ in range(ITERATIONS):
            if found is None:
                return None
            if self._factored is None:
                self._factored, fresh, mine, x = self._matrix(z, step), True, True, None
            if x is None:
                x = la.lu_solve(self._factored, -found.residual)
            size, trial = self._size(x), z + part * x
            self._steps.iterations += 1
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
                    return None
            if last is not None:
                z, found, x = last, self._at(last, step), None
                if found is None or more == 0 or found.unbalanced <= BALANCED:
                    return z
                more -= 1
                if not mine:
                    self._factored = None
        return None

    def _correction(self, found: _Balance, step: _Step) -> tuple[np.ndarray, np.ndarray]:
        """Correction of displacement and multipliers with the matrix of generalised-alpha."""
        flat, nj = self.flat, self.flat.joint_rows
        nr = len(flat.row_kind)
        compliance, rows, change = np.full(nr, INACTIVE), np.zeros(nr), np.zeros(nr)
        compliance[:nj], rows[:nj] = 0.0, -found.closure
        stiffness = flat.row_stiffness[nj:] + 2 / step.h * flat.row_damping[nj:]
        compliance[nj:] = np.where(stiffness > 0, 1 / np.where(stiffness > 0, stiffness, 1.0), INACTIVE)
        x, workspace, h = np.zeros(len(found.forces)), self._weightless.workspace, step.h
        if len(flat.element_row):
            element_tangents(flat, step.middle, self._weightless.kinematics, workspace, 2 / h)
            compliance[np.add.outer(flat.element_row, np.arange(6)).ravel()] = COUPLED
        workspace.previous_multipliers[:] = 0.0
        if solve_rows(flat, workspace, 4 / h**2, 2 / h, 1.0, compliance, -2 * found.forces, rows, x, change)[0] < 0:
            raise self.equations.no_mass(self.t)
        return x, 0.5 * change[:nj]

    def _matrix(self, z: np.ndarray, step: _Step) -> tuple:
        """The factorised dense derivative of the equations of a step, by differences."""
        n = len(self.w)
        multipliers = np.abs(z[n:])
        scale = np.concatenate([1 / self.flat.weight, np.maximum(multipliers, multipliers.max(initial=0.0) or 1.0)])
        columns = []
        for k in range(len(z)):
            shift = np.zeros_like(z)
            shift[k] = DIFFERENCE * scale[k]
            high, low = (self._balance(x[:n], *step, x[n:]).residual for x in (z + shift, z - shift))
            columns.append((high - low) / (2 * shift[k]))
        J = np.array(columns).T
        size = np.abs(J[:n, :n]).max()
        # regularisation for dependent equations
        J[n:, n:] -= 1e-14 * np.eye(len(z) - n) * (np.abs(J[n:, :n]).max(initial=0.0) ** 2 / size)
        factored: tuple = la.lu_factor(J)
        return factored

    # the equations of a step -----------------------------------------------------------------------------------------

    def _balance(
        self, D: np.ndarray, h: float, middle: np.ndarray, after: np.ndarray, multipliers: np.ndarray
    ) -> _Balance:
        flat, nj = self.flat, self.flat.joint_rows
        q1, qm = np.empty_like(self.q), np.empty_like(self.q)
        displace(flat, self.q, D, q1)
        displace(flat, self.q, 0.5 * D, qm)
        mean = D / h
        w1 = 2 * mean - self._slow
        e = self._weightless
        e.expect(D)
        values = self._row_values(q1, after)
        angles = e.angles_there(after)
        e.expect(0.5 * D)
        e.residual(middle, qm, mean, np.zeros_like(mean), multipliers)
        loads = e.workspace.loads.copy()
        change = values - self._values
        driven, given = flat.row_function[:nj] >= 0, np.zeros(nj)
        given[driven] = (after - self._functions)[flat.row_function[:nj][driven], 0]
        change[:nj] += given
        G = self._mean_jacobian(D)
        spins = flat.row_kind == SPIN  # these rows have a rate, but no coordinate
        change[spins] = G[spins] @ D
        G += self._along_relative_motion(G, D, change)
        forces = self._inertia(D, h, qm, q1, w1, mean) - self._weight(D, qm, q1)
        work = np.zeros(4)
        elastic = self._elastic
        eta = 0.5 * (self.q + q1)[self._elastic_q]
        stiffness, damping = flat.stiffness, flat.damping
        forces[elastic] += stiffness * eta + damping * mean[elastic]
        effort = np.zeros(len(values) - nj)
        if len(effort):
            stretch = 0.5 * (values + self._values)[nj:] - flat.row_offset[nj:]
            rate = change[nj:] / h
            acts = flat.row_function[nj:] >= 0
            effort[acts] = middle[flat.row_function[nj:][acts], 0]
            effort += self._laws(middle, stretch, rate)
            elements = np.add.outer(flat.element_row, np.arange(6)).ravel()
            effort[elements - nj] = e.workspace.efforts[elements]
            internal = -flat.row_stiffness[nj:] * stretch - flat.row_damping[nj:] * rate
            forces -= G[nj:].T @ (effort + internal)
        reactions = G[:nj].T @ multipliers
        forces += reactions - loads
        balanced = (np.abs(self._momenta) / h + np.abs(reactions) + np.abs(loads)) @ np.abs(D)
        work[0] = -float(multipliers @ given)
        carried = D + h * self._travel.seen(self._flown, qm)
        work[1] = float(loads @ carried + effort @ change[nj:])
        work[2] = h * float(damping @ mean[elastic] ** 2)
        work[3] = float(flat.row_damping[nj:] @ change[nj:] ** 2) / h
        unbalanced = abs(float(forces @ D)) / balanced if balanced > 0 else 0.0
        return _Balance(forces, values[:nj], w1, q1, values, angles, work, unbalanced)

    def _laws(self, middle: np.ndarray, stretch: np.ndarray, rate: np.ndarray) -> np.ndarray:
        mechanism, nj = self.equations.mechanism, self.flat.joint_rows
        t = float(middle[-1, 0])
        return np.array(
            [
                mechanism.laws[row.law](t, float(x), float(v)) if row.law >= 0 else 0.0
                for row, x, v in zip(mechanism.rows[nj:], stretch, rate, strict=True)
            ]
        )

    def _row_values(self, q: np.ndarray, functions: np.ndarray) -> np.ndarray:
        e = self._weightless
        none = np.zeros_like(self.w)
        e.residual(functions, q, none, none, np.zeros(self.flat.joint_rows))
        return e.workspace.values.copy()

    def _mass(self, q: np.ndarray) -> sp.csr_matrix:
        """The mass matrix (nv, nv) at `q` (nq,)."""
        none = np.zeros_like(self.w)
        self._bare.residual(self._functions, q, none, none, np.zeros(self.flat.joint_rows))
        return self._bare.mass()

    def _take_momenta(self) -> None:
        """Set velocities, mass matrix and momenta at the beginning of a step, relative to frames that move with free
        bodies."""
        self._before = self._mass(self.q)
        self._flown = self._travel.mean(self.q, self._linear(self._before @ self.w))
        self._slow = self.w - self._travel.seen(self._flown, self.q)
        self._momenta = self._before @ self._slow

    def _bias(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Velocity-dependent inertia forces (nv,)."""
        none, still = np.zeros_like(w), np.zeros(self.flat.joint_rows)
        moving = self._bare.residual(self._functions, q, w, none, still)[0].copy()
        moving -= self._bare.residual(self._functions, q, none, none, still)[0]
        moving[self._elastic] -= self.flat.damping * w[self._elastic]
        return moving

    def _inertia(
        self, D: np.ndarray, h: float, qm: np.ndarray, q1: np.ndarray, w1: np.ndarray, mean: np.ndarray
    ) -> np.ndarray:
        """Rates of the momenta in the middle axes. From the elastic equations the discrete derivative of the kinetic
        energy with respect to eta is subtracted, with exact work over the step."""
        flat = self.flat
        M1 = self._mass(q1)
        p0, p1 = self._momenta, M1 @ w1
        out = (p1 - p0) / h
        crossed = M1 @ self._slow
        changed = (M1 @ mean - self._before @ mean) / h
        by_place = changed - self._bias(qm, mean)  # of the mean velocities; the change of velocities follows
        half_change = 0.5 * (w1 - self._slow)
        if len(self._elastic):
            reach = 0.5 * h * half_change[self._elastic]
            sides = []
            for sign in (1, -1):
                q = qm.copy()
                q[self._elastic_q] += sign * reach
                sides.append(self._mass(q) @ half_change)
            by_place -= (sides[0] - sides[1]) / h - self._bias(qm, half_change)
        for b, m in enumerate(flat.modes):
            s = flat.v_start[b]
            rigid, soft = slice(s, s + 6), slice(s + 6, s + 6 + m)
            half = _adjoint_exponential(0.5 * D[rigid])
            back = _adjoint_exponential(-0.5 * D[rigid])
            out[rigid] = (back.T @ p1[rigid] - half.T @ p0[rigid]) / h
            if m:
                mine = slice(s, s + 6 + m)
                by_eta = by_place[soft]
                exact = 0.5 * float(crossed[mine] @ w1[mine] - p0[mine] @ w1[mine])
                square = float(D[soft] @ D[soft])
                if square > 0:
                    by_eta = by_eta + D[soft] * (exact - by_eta @ D[soft]) / square
                out[soft] -= by_eta
        return out

    def _weight(self, D: np.ndarray, qm: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Generalised forces (nv,) of gravity, whose work in the step is the change of the potential."""
        flat, out = self.flat, np.zeros_like(D)
        if not self._gravity.any():
            return out
        bodies = self.equations.mechanism.bodies
        place_markers(flat, qm, self._weightless.kinematics)
        for b, body in enumerate(bodies):
            s, m, at = flat.v_start[b], flat.modes[b], flat.q_start[b] + 7
            g = self._weightless.kinematics.attitude[b].T @ self._gravity
            theta = D[s + 3 : s + 6]
            angle = float(np.linalg.norm(theta))
            chord = np.sinc(angle / (2 * np.pi))
            axis = theta / angle if angle > 0 else np.zeros(3)
            inv = body.invariants
            moved = inv.mass * (chord * g + (1 - chord) * axis * (axis @ g))
            out[s : s + 3] = moved
            first, last = (_first_moment(inv, q[at : at + m]) for q in (self.q, q1))
            out[s + 3 : s + 6] = chord * np.cross(0.5 * (first + last), g)
            if m:
                eta = 0.5 * (self.q[at : at + m] + q1[at : at + m])
                turn = np.reshape(rotation_exp(tuple(0.5 * theta)), (3, 3))
                out[s + 6 : s + 6 + m] = (inv.S1 + inv.SG @ eta).T @ (0.5 * (turn + turn.T) @ g)
        return out

    def _mean_jacobian(self, D: np.ndarray) -> np.ndarray:
        """The mean (nr, nv) over the step of the Jacobian of the rows: a discrete derivative, except for the angles of
        joints that open within the step."""
        e, flat = self._weightless, self.flat
        turns = [float(np.linalg.norm(D[s + 3 : s + 6])) for s in flat.v_start[:-1]]
        nodes, weights = quadrature(2 * max(turns, default=0.0))
        mean, scratch = np.zeros_like(e.workspace.G), np.zeros_like(e.workspace.G)
        values, q, moved = np.zeros_like(e.workspace.values), np.empty_like(self.q), np.empty_like(D)
        mean_rows(
            flat,
            self.q,
            D,
            nodes,
            weights,
            self._functions,
            e.angles,
            self._kinematics,
            values,
            q,
            moved,
            scratch,
            mean,
        )
        return as_sparse(flat, mean).toarray()

    def _along_relative_motion(self, G: np.ndarray, D: np.ndarray, change: np.ndarray) -> np.ndarray:
        """The term (nr, nv) that makes the mean Jacobian a discrete derivative: a multiple of the relative motion of
        the markers of each row, with which it vanishes."""
        missing = change - G @ D
        out = np.zeros_like(G)
        done: dict[tuple[int, int], np.ndarray] = {}
        rounding = EXACT * self._far() * (np.abs(G) @ (1 / self.flat.weight))
        for r in np.flatnonzero(np.abs(missing) > rounding):
            pair = (int(self.flat.row_markers[r, 0]), int(self.flat.row_markers[r, 1]))
            if pair not in done:
                done[pair] = self._relative(pair)
            J = done[pair]
            twist = J @ D
            weighted = twist * np.array([1, 1, 1, self._length2, self._length2, self._length2])
            size = float(twist @ weighted)
            out[r] = missing[r] / (size + RESTING**2 * self._length2) * (weighted @ J)
        return out

    def _relative(self, pair: tuple[int, int]) -> np.ndarray:
        """The matrix (6, nv) of the motion of the second marker relative to the first, at the position of the second,
        in world axes, in the middle of the step."""
        kinematics, out = self._weightless.kinematics, np.zeros((6, len(self.w)))
        at = kinematics.position[pair[1]]
        for sign, k in ((-1.0, pair[0]), (1.0, pair[1])):
            b = int(self.flat.marker_body[k])
            if b == GROUND:
                continue
            s, m, R = self.flat.v_start[b], self.flat.modes[b], kinematics.attitude[b]
            arm = R.T @ (at - kinematics.position[k])
            rows = kinematics.rows[k][:, :m] if self.flat.marker_moves[k] else np.zeros((6, m))
            turned = kinematics.tangent[k] @ rows[3:] if m else rows[3:]
            out[:3, s : s + 3] += sign * R
            out[:3, s + 3 : s + 6] += -sign * R @ skew(kinematics.body_point[k] + arm)
            out[:3, s + 6 : s + 6 + m] += sign * R @ (rows[:3] - skew(arm) @ turned)
            out[3:, s + 3 : s + 6] += sign * R
            out[3:, s + 6 : s + 6 + m] += sign * R @ turned
        return out


def _first_moment(inv: object, eta: np.ndarray) -> np.ndarray:
    return np.asarray(inv.s0 + inv.S1 @ eta + 0.5 * inv.SG @ eta @ eta)  # type: ignore[attr-defined]


def _adjoint_exponential(x: np.ndarray) -> np.ndarray:
    """`Ad(exp(x))` (6, 6) for a twist `x` (6,) = [v, omega]."""
    theta = (float(x[3]), float(x[4]), float(x[5]))
    R = np.reshape(rotation_exp(theta), (3, 3))
    shift = np.reshape(left_jacobian(theta), (3, 3)) @ x[:3]
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = R
    out[:3, 3:] = skew(shift) @ R
    return out
