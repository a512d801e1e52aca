"""The equations of motion of a mechanism for integrators: the compiled residual and its work arrays."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from fem.errors import ConvergenceError
from fem.linear_algebra.threads import threads_for_loops
from flexmb.equations.projection import FAR_APART, as_sparse, independent_rows, on_saddle, spread, velocity_rows
from flexmb.equations.snapshot import Snapshot
from flexmb.errors import MassRatioWarning, MechanismError
from flexmb.kernels.base.data import (
    INACTIVE,
    SECOND_ORDER,
    CompiledModel,
    MarkerKinematics,
    Workspace,
    make_marker_kinematics,
    make_workspace,
)
from flexmb.kernels.base.law_call import require_sound
from flexmb.kernels.base.library import share_loops
from flexmb.kernels.base.sharing import LOOPS, THREADS
from flexmb.kernels.calls import (
    accelerate,
    add_turns,
    angles_at,
    angles_reached,
    answer_over,
    displace,
    exponential_rates,
    friction_bounds,
    friction_change,
    place_markers,
    powers_of,
    residual,
    row_rates,
    solve_joints,
)
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.spatial.blocks import block_diagonal

OPEN = 1e-12
"""Residual of joint equations, relative to their terms, above which they are solved as a saddle point problem if masses
are far apart (`flexmb.equations.projection.on_saddle`)."""

SLIDING, SETTLED = 50, 1e-14
"""Iterations for the reactions of sliding joints, and the change of their friction at the end, relative to the largest
and to that under reactions as large as the loads: reactions of bodies that fall together are round-off."""

MOTION, WORTHWHILE = 30, 300_000
"""Products of numbers for each velocity of a body, beside those of its quadratic inertia, and number of products in an
evaluation from which on several threads take less time than one."""


@dataclass
class Equations:
    """Residual, energies and powers of a mechanism at one state at a time.

    `residual` evaluates a state and stores its matrices in `workspace`. Other methods refer to this state as "the last
    state".

    - `angles` (na,): continuous angles at the end of the last step (see `State`).
    - `expected` (na,): predicted angles at the next state, which select the turn of each angle there.
    - `states` (nz,): states of the force elements and controllers (see `State`) at the evaluated time; if none are
      given, the initial ones.
    - `mistaken`: whether the elimination dropped joint equations that are independent geometrically, because masses are
      too far apart.
    - `samples`: what samples change, as rates of the states of sampled controllers, which are otherwise zero
      (flexmb/equations/state_tangent.py).
    """

    mechanism: Mechanism
    q: np.ndarray
    angles: np.ndarray = field(default_factory=lambda: np.zeros(0))
    states: np.ndarray = field(default_factory=lambda: np.zeros(0))
    samples: Any = None
    flat: CompiledModel = field(init=False)
    kinematics: MarkerKinematics = field(init=False)
    workspace: Workspace = field(init=False)
    expected: np.ndarray = field(init=False)
    mistaken: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.flat = compiled(self.mechanism)
        self.kinematics, self.workspace = make_marker_kinematics(self.flat), make_workspace(self.flat)
        for law in self.mechanism.calls:
            law.forget()
        self.begin(self.q, self.angles, self.states)
        if self.flat.element_tangent.any():
            self._require_tangents()

    def begin(self, q: np.ndarray, angles: np.ndarray, states: np.ndarray) -> None:
        """Take the configuration (nq,), the angles (na,) and the states (nz,) of another instant as those from which
        evaluations go on; `angles` and `states` may be empty, as those of `Equations`."""
        self.q, self.states = q, np.array(states if len(states) else self.mechanism.initial_states)
        self.angles = angles_near(self.mechanism, q, angles)
        self.expected = self.angles.copy()

    def share_loops(self) -> None:
        """Let the cores that nobody else uses share the loops over the bodies, if these are many and elastic.

        Numbers do not depend on the number of threads.
        """
        modes = self.flat.modes
        work = np.sum(self.flat.slices * modes**2 + MOTION * (6 + modes))
        if len(modes) < 2 * THREADS or work < WORTHWHILE:
            return
        threads = threads_for_loops(THREADS)
        if threads > 1:
            share_loops(self.workspace, LOOPS, threads)

    def _require_tangents(self) -> None:
        """Raise `LawError` when a tangent that a law between frames gives is wrong, near the initial motion."""
        initial = self.mechanism.initial
        still, none = np.zeros_like(initial.w), np.zeros(self.flat.joint_rows)
        self.residual(self.mechanism.function_values(initial.t), initial.q, initial.w, still, none)
        self.compare_tangents(initial.t, again=False)

    def compare_tangents(self, t: float, *, again: bool = True) -> None:
        """Compare the tangents that laws between frames give with differences near the last state, at time `t`; unless
        `again`, of each law only once for equal parameters. Raises `LawError` when one is wrong."""
        for k, force in enumerate(self.mechanism.frame_forces):
            if not self.flat.element_tangent[k]:
                continue
            compare = force.call.compare_tangent if again else force.call.require_tangent
            compare(t, self.workspace.seen[k, :18].copy(), np.array(force.numbers), tuple(self.flat.scales))

    def residual(
        self, functions: np.ndarray, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The residual forces (nv,) at a state, in an array that the next call overwrites, and the energies (5,).

        `functions` (nf, 3) holds the functions of time, `q` (nq,), `w` (nv,), `wdot` (nv,) and `multipliers` (nj,) the
        state.
        """
        energies, out = np.zeros(5), self.workspace.unbalanced
        if len(self.states):
            self.workspace.half[0], self.workspace.state_base[:] = 0.0, self.states
            self.workspace.states[self.flat.skin_state :] = self.states[self.flat.skin_state :]
        residual(
            self.flat, q, w, wdot, multipliers, functions, self.expected, self.kinematics, self.workspace, out, energies
        )
        require_sound(self.mechanism.calls)
        return out, energies

    def law_over_time(self, element: int, times: np.ndarray) -> np.ndarray:
        """The wrench of force element number `element` between frames, and the rates of its states or its new states,
        (n, 6 + ns), at `times` (n,), at the last state.

        Raises `LawError` when its law fails.
        """
        force, flat = self.mechanism.frame_forces[element], self.flat
        seen = self.workspace.seen[element, : force.call.seen].copy()
        states, own = self.states, slice(*flat.element_state[element : element + 2])
        if force.call.law.entry is not None:
            found = np.zeros((len(times), 7 + len(states[own])))
            answer_over(flat, element, times, seen, states, found)
            found = np.delete(found, 6, axis=1)
            if np.isfinite(found).all():
                return found
        return force.call.over(times, seen, states[own], np.array(force.numbers))

    def commands_over_time(self, number: int, times: np.ndarray) -> np.ndarray:
        """The commands of controller `number` and the rates of its states (n, nu + nz) at `times` (n,), with the inputs
        and states of the last state.

        Raises `LawError` when its law fails.
        """
        own, flat = self.mechanism.controllers[number], self.flat
        inputs = self.workspace.signals[slice(*flat.control_signal[number : number + 2])]
        states = self.states[slice(*flat.control_state[number : number + 2])]
        return own.call.over(times, inputs, states, np.array(own.parameters))

    def forget_failures(self) -> None:
        """Clear the failures of laws that were evaluated on trial, before a run; interruptions are raised."""
        require_sound(self.mechanism.calls)
        for law in self.mechanism.calls:
            law.forget()

    def expect(self, displacement: np.ndarray | None = None, since: np.ndarray | None = None) -> None:
        """Predict the angles of the next evaluation: those of the last step, or `since` (na,), changed by a
        `displacement` (nv,).

        Whole turns are counted as long as the axes remain aligned during the displacement.
        """
        self.expected[:] = self.angles if since is None else since
        if displacement is not None:
            add_turns(self.flat, displacement, 1.0, self.expected)

    def angles_there(self, functions: np.ndarray) -> np.ndarray:
        """The continuous angles (na,) at the last state."""
        angles = np.empty_like(self.expected)
        angles_reached(self.flat, functions, self.kinematics, self.expected, angles)
        return angles

    def keep_angles(self, functions: np.ndarray) -> None:
        """Store the angles at the last state as those of a completed step."""
        angles_reached(self.flat, functions, self.kinematics, self.expected, self.angles)
        self.expected[:] = self.angles

    def powers(self, functions: np.ndarray, w: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Powers (4,) at the last state: of drivers, of loads, and dissipated by modal damping and by dampers."""
        powers = np.zeros(4)
        powers_of(self.flat, functions, multipliers, w, self.workspace, powers)
        return powers

    def accelerations(self, functions: np.ndarray, q: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations (nv,) and multipliers (nj,) at a state that satisfies the joint equations.

        They solve `M wdot + bias - forces + G^T lambda = 0` together with the second derivative of the joint equations.
        The velocity-dependent part of that derivative is computed by fourth-order differences along the motion.
        `functions` (nf, 3) holds the functions of time at the state. The forces of sliding joints, which depend on the
        multipliers, are found by iteration.

        Raises `ConvergenceError` when friction grows faster with a reaction than the reaction with the friction.
        """
        if self.plain:
            wdot, multipliers = np.empty(len(w)), np.empty(self.flat.joint_rows)
            accelerate(
                self.flat, functions, self.states, q, w, self.expected, self.kinematics, self.workspace, wdot,
                multipliers, np.empty(5),
            )  # fmt: skip
            require_sound(self.mechanism.calls)
            return wdot, multipliers
        wanted, still = self.wanted_accelerations(functions, q, w), np.zeros(len(w))
        multipliers = np.zeros(self.flat.joint_rows)
        bounds, before, least = self.friction_bounds(multipliers), np.zeros(0), 0.0
        for iteration in range(SLIDING):
            unbalanced, _ = self.residual(functions, q, w, still, multipliers)
            if iteration == 0:
                loads = np.full_like(multipliers, np.abs(unbalanced).max(initial=0.0))
                least = self.friction_bounds(loads).max(initial=0.0)
            wdot, change = self._sliding_on(multipliers, *self.on_joints(-unbalanced, wanted))
            multipliers = multipliers + change
            bounds, before = self.friction_bounds(multipliers), bounds
            if np.abs(bounds - before).max(initial=0.0) <= SETTLED * bounds.max(initial=least):
                return wdot, multipliers
        raise ConvergenceError(self._jammed())

    def _sliding_on(
        self, multipliers: np.ndarray, wdot: np.ndarray, change: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations and the `change` (nj,) of `multipliers` (nj,), corrected by the friction that the change
        causes (flexmb/kernels/steps/sliding.py)."""
        flat = self.flat
        directions = self.workspace.sliding_direction.copy()
        sliding = np.flatnonzero(directions)
        if not len(sliding):
            return wdot, change
        G, none = as_sparse(flat, self.workspace.G), np.zeros(flat.joint_rows)
        efforts = G[flat.friction_row[sliding]].toarray()
        responses = [self.on_joints(effort, none) for effort in efforts]
        A, b = np.eye(len(sliding)), np.zeros(len(sliding))
        owners = np.searchsorted(flat.friction_start, sliding, side="right") - 1
        for i, (k, direction) in enumerate(zip(owners.tolist(), directions[sliding], strict=True)):
            b[i] = -direction * friction_change(flat, k, multipliers, change)
            A[i] += [direction * friction_change(flat, k, multipliers, reaction) for _, reaction in responses]
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            raise ConvergenceError(
                f"The friction of {self._sliding()}, or reactions that cause it, are not finite. Reduce preloads and "
                "loads, or use other units."
            )
        for effort, (moved, reaction) in zip(np.linalg.lstsq(A, b)[0], responses, strict=True):
            wdot, change = wdot + effort * moved, change + effort * reaction
        return wdot, change

    def friction_bounds(self, multipliers: np.ndarray) -> np.ndarray:
        """The largest efforts (nf,) of joints with dry friction that slide, for `multipliers` (nj,)."""
        bounds = np.zeros(len(self.flat.friction_speed))
        if len(bounds):
            friction_bounds(self.flat, multipliers, bounds)
        return bounds

    def _sliding(self) -> str:
        """The names of the frictions of joints that slide, and of the mechanism."""
        sliding = [repr(friction.name) for friction in self.mechanism.frictions if friction.direction or friction.speed]
        return f"{', '.join(sliding)} of {self.mechanism.name!r}"

    def _jammed(self) -> str:
        """Why no forces of sliding joints are found."""
        return (
            f"The friction of {self._sliding()} has no limit: it increases the reactions "
            "that cause it by more than it is itself, so that the joint jams while it slides. Reduce the coefficient "
            "of friction, or give the guide a longer span."
        )

    def wanted_accelerations(self, functions: np.ndarray, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The value (nj,) of `G wdot` at which the second derivatives of the joint equations vanish: the second
        derivatives of the drivers minus the velocity-dependent terms."""
        flat, nj, nv = self.flat, self.flat.joint_rows, len(w)
        nr = len(flat.row_kind)
        none, still, rows = np.zeros(nj), np.zeros(nv), np.zeros(nr)
        speed = (np.abs(w) * flat.weight).max(initial=0.0)
        if nj and speed > 0:
            eps, rates = 1e-3 / speed, np.zeros(nr)
            # fourth-order difference of G w along w
            for offset, weight in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):
                moved, shifted = self.displaced(q, offset * eps * w), functions.copy()
                shifted[:, 0] += offset * eps * functions[:, 1]
                self.residual(shifted, moved, w, still, none)
                row_rates(flat, self.workspace.G, w, rates)
                rows[:nj] -= weight / (12 * eps) * rates[:nj]
        driven = flat.row_function[:nj] >= 0
        rows[:nj][driven] += functions[flat.row_function[:nj][driven], 2]
        return rows[:nj]

    def broken_rates(self, functions: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The rates (nj,) of the joint equations for velocities `w` (nv,) at the last state; zero for admissible
        velocities."""
        flat, nj = self.flat, self.flat.joint_rows
        rates = np.zeros(len(flat.row_kind))
        row_rates(flat, self.workspace.G, w, rates)
        driven = flat.row_function[:nj] >= 0
        rates[:nj][driven] -= functions[flat.row_function[:nj][driven], 1]
        return rates[:nj]

    def mass_weighted_projection(self, wanted: np.ndarray) -> np.ndarray:
        """The velocity change or displacement (nv,) of least kinetic energy that changes the joint equations by
        `wanted` (nj,), at the last state."""
        return self.on_joints(np.zeros(len(self.flat.weight)), wanted)[0]

    def on_joints(
        self, force: np.ndarray, wanted: np.ndarray, without: Sequence[int] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """`x` (nv,) and multipliers (nj,) with `M x + G^T multipliers = force` (nv,) and `G x = wanted` (nj,) at the
        last state, ignoring the joint rows `without`."""
        nr, nj = len(self.flat.row_kind), self.flat.joint_rows
        compliance, rows = np.full(nr, INACTIVE), np.zeros(nr)
        compliance[:nj], rows[:nj] = 0.0, wanted
        compliance[list(without)] = INACTIVE
        x, multipliers = np.zeros(len(force)), np.zeros(nr)
        self.workspace.previous_multipliers[:] = 0.0
        dependent, worst = solve_joints(self.flat, self.workspace, compliance, force, rows, x, multipliers)
        if (dependent > 0 or worst > OPEN) and self.spread[0] < FAR_APART:
            active = np.delete(np.arange(nj), list(without))
            G = as_sparse(self.flat, self.workspace.G)[active]
            kept = independent_rows(G, self.flat)
            self.mistaken = self.mistaken or dependent > np.sum(~kept)
            x, multipliers[active] = on_saddle(G, kept, self.masses(), force, wanted[active], self.flat)
        return x, multipliers[:nj]

    @cached_property
    def plain(self) -> bool:
        """Whether accelerations follow from one solution: no joint slides, and masses are not far apart."""
        flat = self.flat
        sliding = flat.friction_direction.any() or flat.friction_speed.any()
        return not sliding and not (flat.joint_rows and self.spread[0] < FAR_APART)

    @cached_property
    def spread(self) -> tuple[float, int, int]:
        """Ratio of the smallest to the largest inertia, and the bodies they belong to
        (`flexmb.equations.projection.spread`)."""
        return spread(self.flat)

    @property
    def far_apart(self) -> str:
        """A sentence on masses that are far apart, with the methods for them; empty if none are, or without joints."""
        if not self.flat.joint_rows or self.spread[0] >= FAR_APART:
            return ""
        ratio, *bodies = self.spread
        light, heavy = (self.mechanism.bodies[b].name for b in bodies)
        return (
            f"The ratio of the inertias of {light!r} and {heavy!r} of {self.mechanism.name!r} is {ratio:.0e} (of "
            "rotations, relative to the mechanism's length squared). Steps that use the inverse of the masses treat "
            "joint equations between such bodies as dependent, and may fail or leave joints open. Use "
            f"method='explicit', or 'radau' while the ratio is above 1e-14, or give {light!r} more mass."
        )

    def warn_far_apart(self) -> None:
        """Warn if masses are so far apart that steps that use the inverse of the mass matrix drop joint equations.

        A residual must have been evaluated before.
        """
        if not (told := self.far_apart):
            return
        self.on_joints(np.zeros(len(self.flat.weight)), np.zeros(self.flat.joint_rows))
        if self.mistaken:
            warnings.warn(told, MassRatioWarning, stacklevel=2)

    def displaced(self, q: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """The configuration (nq,) reached from `q` (nq,) by twists and elastic increments `theta` (nv,)."""
        moved = np.empty_like(q)
        displace(self.flat, q, theta, moved)
        return moved

    def exponential_rates(self, theta: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Rates (nv,) of the exponential coordinates `theta` (nv,) of a configuration that moves with velocities `w`
        (nv,)."""
        out = np.empty_like(w)
        exponential_rates(self.flat.v_start, theta, w, out)
        return out

    def project(
        self, t: float, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocities projected onto the joint equations at time `t`, with least change in the mass
        metric.

        Source: Sofer, Bach, Brauchli, "Dynamics of constrained systems based on mass-orthogonal projections" (NATO ASI
        1993).
        """
        nj = self.flat.joint_rows
        functions = self.mechanism.function_values(t)
        for _ in range(2 if nj else 1):
            self.residual(functions, q, w, wdot, multipliers)
            if nj:
                still, free = np.zeros(len(self.flat.weight)), velocity_rows(self.flat)
                q = self.displaced(q, self.on_joints(still, -self.workspace.values[:nj], free)[0])
        if nj:
            self.residual(functions, q, w, wdot, multipliers)
            w = w - self.mass_weighted_projection(self.broken_rates(functions, w))
        return q, w

    def snapshot(self, t: float, q: np.ndarray, w: np.ndarray, work: np.ndarray) -> Snapshot:
        """The snapshot of a state that satisfies the joint equations; `work` (4,) is the work done so far."""
        functions = self.mechanism.function_values(t)
        wdot, multipliers = self.accelerations(functions, q, w)
        energies = self.residual(functions, q, w, wdot, multipliers)[1]
        return Snapshot(
            t, q, w, wdot, multipliers, work, energies, self.angles_there(functions), states=self.states.copy()
        )

    def masses(self) -> list[np.ndarray]:
        """The mass matrix (6+m, 6+m) of each body at the last state."""
        flat, workspace, masses = self.flat, self.workspace, []
        for b, m in enumerate(flat.modes):
            Mrr, Mre, Mee = workspace.Mrr[b], workspace.Mre[b][:, :m], np.eye(m)
            if flat.slices[b] == SECOND_ORDER and m:
                at_rest = flat.rest_Mre[b][:, :m]
                Mee += Mre.T @ np.linalg.solve(Mrr, Mre) - at_rest.T @ np.linalg.solve(flat.rest_Mrr[b], at_rest)
            masses.append(np.block([[Mrr, Mre], [Mre.T, Mee]]))
        return masses

    def mass(self) -> sp.csr_matrix:
        """The mass matrix (nv, nv) at the last state."""
        return block_diagonal(self.masses())


def angles_near(mechanism: Mechanism, q: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The continuous angles (na,) of a mechanism at `q` (nq,), each within half a turn of `near` (na,).

    An empty `near` stands for zeros. Raises `MechanismError` when `near` is of a wrong size or not finite.
    """
    count = len(mechanism.turning)
    if len(near) not in (0, count):
        raise MechanismError(
            f"A state of {mechanism.name!r} has {count} angles, those of its rotating joints and bushings, or none; "
            f"found {len(near)}. Check that the state belongs to this mechanism."
        )
    angles = np.array(near, dtype=float) if len(near) else np.zeros(count)
    if not np.isfinite(angles).all():
        raise MechanismError(f"The angles of a state of {mechanism.name!r} must be finite; found {angles}.")
    if count:
        flat, kinematics = compiled(mechanism), make_marker_kinematics(compiled(mechanism))
        place_markers(flat, q, kinematics)
        angles_at(flat, kinematics, angles)
    return angles
