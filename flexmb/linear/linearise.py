"""Linearised equations of motion about a state: matrices, natural frequencies and damping of a whole mechanism."""

import contextlib
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from fem.axes.limits import is_number, is_whole
from fem.errors import FlexmbError
from fem.renamed import refuse_old_names
from fem.shown import shown
from flexmb.differences import ROUNDING
from flexmb.equations.contact.closed_contacts import require_drawn_outside, with_closed_contacts
from flexmb.equations.contact.skins import without_surfaces
from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import accelerations, consistent_state, row_jacobian
from flexmb.equations.state_tangent import StateTangent, state_tangent
from flexmb.equations.tangent import carrying, measured_tangent, require_derivatives
from flexmb.errors import LinearError, PeriodicCoefficientsWarning, SensitivityWarning
from flexmb.kinks import kinks
from flexmb.linear.equilibrium import Equilibrium, included_at_rest
from flexmb.linear.first_order import FirstOrder, Ignorable, first_order, first_order_modes, ignorable
from flexmb.linear.independent import Changing, Independent
from flexmb.linear.joint_motions import joint_names
from flexmb.linear.rest.changes import (
    BEYOND,
    CONSTANT,
    LARGEST,
    UNSTEADY,
    acceleration,
    largest_change,
    later,
    unsteadiness,
)
from flexmb.linear.sampled.at_rest import SamplesAtRest
from flexmb.linear.sampled.period import SampledMotions, sampled_modes, sampled_motions
from flexmb.linear.steady_running import SteadyRunning
from flexmb.linear.touching import Touching, require_closed_points
from flexmb.linear.velocity_freedom import velocity_freedom
from flexmb.linear.vibration import Pencil, Vibration, all_modes, modes_near
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.features import FEATURES, few, refuse
from flexmb.mechanism.locking import at_state, require_no_events
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.scales import rate_at, speed_of
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.simulation.sampling import sampled_controllers, with_first_sample

CONTINUED = 3e-14
"""Relative error, by round-off, of the rate of the independent motions, in units of the mechanism's natural rate;
`OF_SECOND` is that of their second derivative.
"""
OF_SECOND = 1e-12
SUMMED = 3e-14
"""Relative rounding error of products of the matrices with motions and velocities."""
STEADY = 1e-9
"""Relative change of the joint equations, within a thousandth of the mechanism's natural time, below which the motions
that they allow are constant.
"""
SETTLED = 1e-6
"""Speed, relative to the rate of the mechanism, up to which a state is at rest."""
AT_REST = 1e-10
"""Acceleration of a state, relative to the square of its fastest motion, up to which it rests: an equilibrium is found
to 1e-11 of the size of the mechanism."""


@shown
@dataclass(frozen=True, eq=False)
class LinearisedModel:
    """`M x'' + D x' + K x + G^T dlambda = 0`, `G x = 0`, for small displacements `x` (nv,).

    `x` contains the twists of the bodies, in body axes, and increments of the elastic coordinates. Velocities are then
    `w + x' + carried x`, accelerations `wdot + x'' + carried x' + turned x`.

    - `state`, `wdot` (nv,), `multipliers` (nj,): state, accelerations and joint multipliers of the linearisation.
    - `M`, `D`, `K` (nv, nv), `G` (nj, nv): sparse matrices.
    - `D_error`, `K_error`: bounds of the errors of the entries of `D` and `K`.
    - `presses` (np, nv): changes of the forces of flexible surfaces that touch, the last element states, by `x`; their
      effects are in `K`.
    - `states`, `states_error`: with force elements that have states `z` (nz,), the derivatives of their rates, with
      `by_place` those with respect to `x` at constant `x'`, and the forces `states.force z` to add to the first
      equation; bounds of their errors. None without such elements. `state_sizes` (nz,): usual changes of the states.

    Rows of rolling bodies are among those of `G`, for their reactions; their displacements follow
    `x = N y`, `y' = V u + W y` with fewer velocities `u` than displacements `y` (`velocity_freedom.py`).
    """

    mechanism: Mechanism
    state: State
    wdot: Float[np.ndarray, "nv"]
    multipliers: Float[np.ndarray, "nj"]
    M: sp.csr_matrix
    D: sp.csr_matrix
    K: sp.csr_matrix
    G: sp.csr_matrix
    carried: sp.csr_matrix
    turned: sp.csr_matrix
    D_error: sp.csr_matrix
    K_error: sp.csr_matrix
    states: StateTangent | None = None
    states_error: StateTangent | None = None
    presses: Float[np.ndarray, "np nv"] = field(default_factory=lambda: np.zeros((0, 0)))
    state_sizes: Float[np.ndarray, "nz"] = field(default_factory=lambda: np.zeros(0))

    def __str__(self) -> str:
        size = f"{self.M.shape[0]} displacements, {self.G.shape[0]} joint equations"
        return f"{self.mechanism.name!r} linearised at t = {self.state.t:.6g} (time): {size}"

    @cached_property
    def independent(self) -> Independent:
        """The independent coordinates of the small motions."""
        return Independent(self.mechanism, self.state, self.wdot)

    @property
    def N(self) -> Float[np.ndarray, "nv nf"]:
        """Motions (nv, nf) that the joints allow, in independent coordinates: `x = N y`.

        For an open tree the coordinates are those of the joints and the elastic ones (each by recursion, O(bodies));
        for closed loops or driven joints they have orthonormal displacements.
        """
        return self.independent.motions[0]

    @property
    def N_rate(self) -> Float[np.ndarray, "nv nf"]:
        """`dN/dt` along the motion: `x' = N y' + N_rate y`. Zero at rest and in steady motion."""
        return self.independent.motions[1]

    @property
    def N_acceleration(self) -> Float[np.ndarray, "nv nf"]:
        """The second derivative of `N` along the motion: `x'' = N y'' + 2 N_rate y' + N_acceleration y`."""
        return self.independent.motions[2]

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the independent coordinates: "hinge about z", "rod eta 1" for an open tree, else "motion 1", ..."""
        return self.independent.names

    @property
    def degrees_of_freedom(self) -> int:
        """The number of independent motions."""
        return self.N.shape[1]

    @property
    def is_first_order(self) -> bool:
        """Whether element states or rows for velocities (rolling) require equations of first order."""
        return self.states is not None or compiled(self.mechanism).velocity_rows > 0

    def reduced(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`M`, `D`, `K` (nf, nf) in independent coordinates.

        They are those of Lagrange's equations, linearised, also away from rest and steady motion. Raises `LinearError`
        for mechanisms with element states or rows for velocities, whose small motions are not of second order.
        """
        if self.is_first_order:
            raise LinearError(
                f"{self.mechanism.name!r} has states of force elements, or joints that restrict velocities; its small "
                "motions have no matrices M, D and K alone. Use state_matrix()."
            )
        M, D, K = self.along(self.independent.motions)
        return self.N.T @ M, self.N.T @ D, self.N.T @ K

    def along(self, T: Changing) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forces (nv, n) for units of `xi''`, `xi'` and `xi`, for displacements `x = T xi`.

        `T`: a matrix (nv, n) and its first two derivatives along the motion.
        """
        first, rate, second = T
        return (
            self.M @ first,
            self.D @ first + 2 * (self.M @ rate),
            self.K @ first + self.D @ rate + self.M @ second,
        )

    def errors_along(self, T: Changing) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bounds of the errors of `along(T)`."""
        first, rate, second = (np.abs(x) for x in T)
        M, D = SUMMED * abs(self.M), self.D_error + SUMMED * abs(self.D)
        mass, damping = M @ first, D @ first + 2 * (M @ rate)
        stiffness = (self.K_error + SUMMED * abs(self.K)) @ first + D @ rate + M @ second
        if rate.any() or second.any():
            pace, inertia = rate_at(compiled(self.mechanism), self.state.w, self.wdot), abs(self.M) @ first
            damping = damping + CONTINUED * pace * inertia
            stiffness = stiffness + OF_SECOND * pace**2 * inertia
        return mass, damping, stiffness

    @cached_property
    def first_order(self) -> FirstOrder:
        """The equations of first order in `[y, u, z]`: displacements, independent velocities, element states."""
        T = self.independent.motions
        return first_order(self, T, velocity_freedom(self.independent, T, T[0].shape[1]), T[0].shape[1])

    @cached_property
    def _apart(self) -> Ignorable:
        own, seen = self.independent, None if self.sampled is None else self.sampled.seen
        return ignorable(self.first_order, own.in_joints, self.sizes, own.likely_symmetries, seen)

    @property
    def sizes(self) -> Float[np.ndarray, "nf"]:
        """Displacements (nf,), relative to the length of the mechanism or angles, of units of the coordinates."""
        sizes = (np.abs(self.N) * compiled(self.mechanism).weight[:, None]).max(axis=0, initial=0.0)
        return np.where(sizes > 0, sizes, 1.0)

    @property
    def ignorable(self) -> tuple[str, ...]:
        """Names of coordinates that change neither accelerations nor element states, nor samples of controllers, nor do
        their changes.

        Examples are the place and the heading of a rolling vehicle on its plane, and the angles of its wheels. They are
        those of joints, and of bodies without a joint to the ground in the axes of these bodies; where only
        combinations are ignorable, one name stands for each. Empty for mechanisms without element states and rows for
        velocities.
        """
        if not self.is_first_order:
            return ()
        names = joint_names(self.mechanism)
        return tuple(names[k] for k in self._apart.places)

    def _pencil(self) -> Pencil:
        """The matrix pencil in independent coordinates, with bounds of its errors."""
        N = np.abs(self.N)
        mass = N.T @ (abs(self.M) @ N)
        D_error = N.T @ ((self.D_error + ROUNDING * abs(self.D)) @ N)
        K_error = N.T @ ((self.K_error + ROUNDING * abs(self.K)) @ N)
        if self.N_rate.any() or self.N_acceleration.any():
            rate = rate_at(compiled(self.mechanism), self.state.w, self.wdot)
            D_error += CONTINUED * rate * mass + N.T @ (ROUNDING * abs(self.M) @ np.abs(self.N_rate))
            K_error += N.T @ (self.D_error @ np.abs(self.N_rate)) + OF_SECOND * rate**2 * mass
        return Pencil(*self.reduced(), D_error, K_error)

    @cached_property
    def sampled(self) -> SampledMotions | None:
        """The small motions with the samples of sampled controllers; None without any."""
        return sampled_motions(self) if sampled_controllers(self.mechanism) else None

    def period_matrix(self) -> tuple[Float[np.ndarray, "n n"], float]:
        """With sampled controllers: the matrix `A` (n, n) of `X(t + T) = A X(t)`, and the period `T` of the samples.

        `X = [y, u, z]` just before a sample of all controllers: independent displacements and velocities, and the
        states of elements, with the commands that are held. Its eigenvalues are the multipliers of `modes()`. Raises
        `LinearError` without sampled controllers.
        """
        if self.sampled is None:
            raise LinearError(f"{self.mechanism.name!r} has no sampled controllers. Use state_matrix().")
        return self.sampled.over_period()[0], self.sampled.period

    def state_matrix(self) -> Float[np.ndarray, "n n"]:
        """The matrix `A` (2 nf, 2 nf) of `[y, y']' = A [y, y']`.

        With element states `z` or rows for velocities it is that of `[y, u, z]`, with independent velocities `u`:
        `y' = V u + W y`. Raises `LinearError` with sampled controllers, whose motions have the `period_matrix`.
        """
        if self.sampled is not None:
            raise LinearError(
                f"The small motions of {self.mechanism.name!r} are sampled, X(t + T) = A X(t). Use period_matrix()."
            )
        if self.is_first_order:
            return np.linalg.solve(self.first_order.E, self.first_order.F)
        M, D, K = self.reduced()
        n = self.degrees_of_freedom
        return np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])

    def modes(self, count: int | None = None, near: float = 0.0) -> Vibration:
        """All natural vibrations (dense, O(nf^3)), or the `count` modes nearest to the frequency `near`.

        `near`: in cycles per unit of time. Sparse factorisations are used for some modes if the motions that the joints
        allow are constant. Raises `LinearError` when `count` is no whole number of at least 1, or `near` is no finite
        number.
        """
        if count is not None and (not is_whole(count) or count < 1):
            raise LinearError(f"count is a number of modes, at least 1; found {count!r}.")
        if not is_number(near):
            raise LinearError(f"near is a frequency, a finite number; found {near!r}.")
        found = replace(self._modes(count, near), units=self.mechanism.units)
        if len(self.wdot) > LARGEST:
            return found
        speed = speed_of(self.state.w, compiled(self.mechanism).weight)
        fastest = max(float(np.abs(found.eigenvalues).max(initial=0.0)), speed)
        departs = acceleration(self)
        return replace(found, acceleration=departs if departs > AT_REST * fastest**2 else 0.0)

    def _modes(self, count: int | None, near: float) -> Vibration:
        if count is None:
            return self._all_modes()
        if self.is_first_order or 2 * count + 2 > self.M.shape[0] or not self._steady:
            everything = self._all_modes()
            nearest = np.argsort(np.abs(everything.eigenvalues - 2j * np.pi * near), kind="stable")[:count]
            return everything.of(np.sort(nearest))
        return modes_near(Pencil(self.M, self.D, self.K, self.D_error, self.K_error), self.G, count, self._shift(near))

    def _all_modes(self) -> Vibration:
        if self.sampled is not None:
            return sampled_modes(self.sampled, self._apart, self.sizes)
        if self.is_first_order:
            return first_order_modes(self.first_order, self._apart, self.sizes)
        return all_modes(self._pencil(), self.N)

    @property
    def _steady(self) -> bool:
        """Whether the joint equations, in body axes, are constant to second order along the motion."""
        rate = rate_at(compiled(self.mechanism), self.state.w, self.wdot)
        ahead, behind = (self.independent.rows_at(sign * 1e-3 / rate) for sign in (1, -1))
        limit = STEADY * abs(self.G).max() if self.G.nnz else 0.0
        return not self.G.nnz or max(abs(ahead - behind).max(), abs(ahead + behind - 2 * self.G).max()) <= limit

    def _shift(self, near: float) -> complex:
        """A shift beside the frequency `near`, since the matrix has no inverse at an eigenvalue."""
        if near > 0:
            return 2 * np.pi * near * (0.01 + 1j)
        stiffness = compiled(self.mechanism).stiffness
        scale = stiffness.min() if len(stiffness) else abs(self.K).max() / abs(self.M).max()
        return 0.05 * float(np.sqrt(scale)) or 1.0


def linearise(system: System | Mechanism | Equilibrium | SteadyRunning, state: State | None = None) -> LinearisedModel:
    """The linearised equations of motion about a state, by default the consistent initial state.

    About an equilibrium or a steady motion use `linearise(equilibrium(system))`, `linearise(steady_motion(system))` or
    `linearise(steady_running(system))`. About a state that accelerates, slow motions are those of the instant only, of
    which printed modes tell (`Vibration.passing`).

    The stiffness contains the effects of gravity, springs, force laws, loads and joint reactions. For a state in
    motion, `D` and `K` contain gyroscopic and centrifugal terms; they are constant only if the motion is steady in body
    axes, and need not be symmetric. Functions of time keep their values at the time of the state. Away from rest and
    steady motion the matrices are instantaneous; in joint coordinates (`reduced`, `modes`) they are those of the
    linearised equations of Lagrange.

    Exact contacts that touch are joints, as in an equilibrium. Points of flexible surfaces that carry a force remain
    closed, with their residual compliance, and others open. Points that slip with friction, and contacts that touch
    without a force, have no small motions.

    With sampled controllers the small motions are those between samples and the map of a period (`period_matrix`),
    about a state at rest. They are evaluated where they are at the state; a state without their states stands for the
    one after the first sample.

    Raises `MechanismError` for these, for shapes of exact contacts that are inside each other at the state, and for
    what the equations of small motions do not include, `ControllerError` for sampled controllers about a motion or
    without a common period; `LawError` when a law has no values at the state, or right beside it.

    Issues a `SensitivityWarning` where force laws or controllers have a kink or a jump at the state (flexmb/kinks.py);
    the matrices then contain a mean of both sides; and a `PeriodicCoefficientsWarning` where the equations of small
    motions about a steady motion change as it turns, also of a `state` in which the rates of all joints are constant
    (of mechanisms of up to 1500 velocities).

    Accuracy: about 1e-11 (differences of fourth order of the compiled residual), with a bound for every entry.
    """
    found = linearised_at(system, state)
    warn_of_changes(found, steady=isinstance(system, Equilibrium | SteadyRunning) and state is None)
    return found


def warn_of_changes(linear: LinearisedModel, *, steady: bool = True) -> None:
    """Issue a `PeriodicCoefficientsWarning` where the equations of small motions about a steady motion change as it
    turns (flexmb/linear/rest/changes.py).

    `steady`: whether the motion is known to be steady; otherwise it is examined, and one that is not has no warning.
    """
    mechanism, state, flat = linear.mechanism, linear.state, compiled(linear.mechanism)
    moves = speed_of(state.w, flat.weight) > SETTLED * flat.scales[1]
    if not moves or not linear.degrees_of_freedom or mechanism.surface_contacts:
        return
    unsteady = 0.0 if steady else unsteadiness(linear)
    if unsteady > UNSTEADY or (turned := _turned(linear)) is None:
        return
    if not steady:
        unsteady = max(unsteady, unsteadiness(turned))
    change = largest_change(linear, turned) if unsteady <= UNSTEADY else 0.0
    if change > max(CONSTANT, BEYOND * unsteady):
        warnings.warn(
            f"The small motions of {mechanism.name!r} about its steady motion have coefficients that change as it "
            f"turns, by {change:.2g} of their size within a time of {abs(turned.state.t - state.t):.3g}: parts that "
            "turn move parts that do not, or the supports are not the same in all directions. Eigenvalues are then "
            "those of one instant, and tell neither the frequencies nor the stability of the motion. Take the "
            "multipliers of flexmb.linear.periodic_motion(system, period), with the period of one turn.",
            PeriodicCoefficientsWarning,
            stacklevel=3,
        )


def _rounded_accelerations(weight: np.ndarray, M: sp.csr_matrix, K: sp.csr_matrix, wdot: np.ndarray) -> np.ndarray:
    """The accelerations (nv,) of a state at rest if they are no more than rounding of the places, by the stiffest
    direction, leaves of those of an equilibrium; otherwise zero.

    They do not fulfil the joint equations, so that the motions of closed loops would not be those of any motion, and
    rigid motions of the whole would change forces.
    """
    stiffest = float((abs(K) @ (1.0 / weight) / weight).max(initial=0.0))
    rounding = (np.abs(wdot) <= ROUNDING * stiffest * weight / M.diagonal()).all()
    return wdot if rounding else np.zeros_like(wdot)


def _turned(linear: LinearisedModel) -> LinearisedModel | None:
    """The small motions after a turn by a fraction of a radian, or before it where functions of time end at the state;
    None where neither is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for direction in (1, -1):
            with contextlib.suppress(FlexmbError):
                return linearised_at(linear.mechanism, later(linear, direction))
    return None


def linearised_at(
    system: System | Mechanism | Equilibrium | SteadyRunning, state: State | None = None
) -> LinearisedModel:
    """`linearise` without a look at whether coefficients change as a steady motion turns."""
    if isinstance(system, Equilibrium | SteadyRunning):
        mechanism, state = system.mechanism, system.state if state is None else state
    else:
        mechanism = system.build() if isinstance(system, System) else system
        if mechanism.contacts and not mechanism.surface_contacts:
            require_drawn_outside(mechanism, state or mechanism.initial, "Linearisation")
            mechanism, state, _ = with_closed_contacts(mechanism, state or mechanism.initial, "Linearisation")
        refuse(mechanism, "Linearisation", includes=included_at_rest(mechanism))
    if state is None:
        require_no_events(mechanism)
        begin = consistent_state(mechanism)
        if sampled_controllers(mechanism) and not len(begin.state.element_states):
            mechanism = with_first_sample(mechanism, begin, {})
            begin = consistent_state(mechanism)
        state = begin.state
    mechanism, state = at_state(mechanism, state)
    flat = compiled(mechanism)
    moves = speed_of(state.w, flat.weight) > SETTLED * flat.scales[1]
    if moves or flat.velocity_rows:
        about = "about a motion" if moves else "with joints that restrict velocities (rolling, knife edges)"
        refuse(mechanism, f"Linearisation {about}", includes=FEATURES.keys() - {"sampled controllers"})
    functions = mechanism.function_values(state.t)
    wdot, multipliers = accelerations(mechanism, state, functions)
    touching, own = None, state.element_states
    if mechanism.surface_contacts:
        touching = Touching(mechanism, state)
        require_closed_points(touching, state.q)
        own = own[: flat.skin_state]
    e = Equations(without_surfaces(mechanism), state.q, state.angles, own)
    if text := kinks(e, functions, state, wdot, multipliers):
        warnings.warn(
            f"The state about which {mechanism.name!r} is linearised {text}", SensitivityWarning, stacklevel=3
        )
    t, errors = measured_tangent(e, functions, state.q, state.w, wdot, multipliers)
    e.residual(functions, state.q, state.w, wdot, multipliers)
    M = e.mass()
    rounded = _rounded_accelerations(flat.weight, M, t.K, wdot) if not state.w.any() else 0 * wdot
    wdot = wdot - rounded
    carried, turned = carrying(flat, state.w), carrying(flat, wdot)
    K = t.K + t.D @ carried + M @ turned
    K_error = errors.K + abs(M) @ abs(carrying(flat, rounded)) + errors.D @ abs(carried)
    K_error = K_error + ROUNDING * (abs(t.D) @ abs(carried) + abs(M) @ abs(turned))
    G = row_jacobian(mechanism, flat, state.q, functions)[1][: mechanism.joint_rows]
    presses = np.zeros((0, len(wdot)))
    if touching is not None:
        closed = touching.closed(state.q)
        K, K_error = K + sp.csr_matrix(closed.stiffness), K_error + sp.csr_matrix(closed.stiffness_error)
        presses = closed.presses
    states, states_error, sizes = None, None, np.zeros(0)
    if len(e.states):
        if sampled_controllers(mechanism):
            held = SamplesAtRest(mechanism, state.t, wdot)(e, state.q, state.w, multipliers).between()
            e.samples = lambda *_: held
        s, error, sizes = state_tangent(e, functions, state.q, state.w, wdot, multipliers)
        require_derivatives(e, functions, error.by_speed, error.by_place, error.by_state, error.force)
        states = replace(s, by_place=s.by_place + s.by_speed @ carried)
        states_error = replace(error, by_place=error.by_place + error.by_speed @ abs(carried))
    found = LinearisedModel(
        mechanism,
        state,
        wdot,
        multipliers,
        M,
        t.D + M @ carried,
        K,
        G,
        carried,
        turned,
        errors.D,
        K_error,
        states,
        states_error,
        presses,
        sizes,
    )
    if found.sampled is not None and (bent := found.sampled.bent):
        warnings.warn(
            f"The state about which {mechanism.name!r} is linearised is at a kink or jump of the laws of the sampled "
            f"controllers {few(bent)}, which have no derivative there; a mean of both sides stands for it. Take a "
            "state beside the kink, or give a law with a width.",
            SensitivityWarning,
            stacklevel=3,
        )
    return found


refuse_old_names(__name__)
