"""Evaluation of the equations of motion at a state: pure functions of a mechanism and a state.

    M(q) wdot + G(q)^T lambda = f(t, q, w), G(q) wdot = gamma(t, q, w) (1)

The velocities `w` are in body axes and include the elastic rates (`flexmb.State`); `G` is the Jacobian of the joint
equations with respect to the corresponding displacements, so that their rates are `G w` minus the rates of the drivers.
The forces `f` contain gravity, springs, force laws, motors, loads, elastic and damping forces, and velocity-dependent
inertia forces.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import row_jacobian
from flexmb.errors import MechanismError
from flexmb.mechanism.features import SMOOTH, Feature, refuse
from flexmb.mechanism.locking import at_state
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System


@dataclass(frozen=True)
class Energies:
    """Energies of a state in units of the model: kinetic energy, elastic (strain) energy of the bodies, gravitational
    energy (zero at the origin) and energy of the springs and of laws between frames."""

    kinetic: float
    elastic: float
    gravity: float
    springs: float

    @property
    def total(self) -> float:
        """The sum of all energies."""
        return self.kinetic + self.elastic + self.gravity + self.springs


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All terms of the equations of motion (1) at one state.

    - `mass_matrix` (nv, nv), sparse, and `forces` (nv,).
    - `constraint_values` (nj,): residuals of the joint equations, lengths or angles (radians); `constraint_rates`
      (nj,): their rates; `constraint_jacobian` (nj, nv), sparse.
    - `accelerations` (nv,): the rates of `w`; `multipliers` (nj,): forces and moments of the joint equations. Both are
      meaningful for a state that satisfies the joint equations.
    - `energies`; `angles` (na,): continuous angles of the joints (radians).
    """

    mass_matrix: sp.csr_matrix
    forces: Float[np.ndarray, "nv"]
    constraint_values: Float[np.ndarray, "nj"]
    constraint_rates: Float[np.ndarray, "nj"]
    constraint_jacobian: sp.csr_matrix
    accelerations: Float[np.ndarray, "nv"]
    multipliers: Float[np.ndarray, "nj"]
    energies: Energies
    angles: Float[np.ndarray, "na"]


def evaluate(system: System | Mechanism, state: State) -> Evaluation:
    """All terms of the equations of motion of a mechanism at a state.

    A state after events needs `result.mechanism`, which has the equations of all locks and contacts; those that the
    topology of the state names are in force. Raises `MechanismError` for a state of another mechanism or of one with
    other events, and `LawError` when a force law fails.
    """
    e, functions, state = _at(system, state)
    _require_modes(e.mechanism, state)
    unbalanced, energies = _unaccelerated(e, functions, state)
    forces, mass = -unbalanced, e.mass()
    angles, rates = e.angles_there(functions), e.broken_rates(functions, state.w)
    values, jacobian = _constraints(e, functions, state)
    wdot, multipliers = e.accelerations(functions, state.q, state.w)
    return Evaluation(mass, forces, values, rates, jacobian, wdot, multipliers, _energies(energies), angles)


def mass_matrix(system: System | Mechanism, state: State) -> sp.csr_matrix:
    """The mass matrix (nv, nv) at a state. Raises `MechanismError` for a state of another mechanism."""
    e, functions, state = _at(system, state)
    _unaccelerated(e, functions, state)
    return e.mass()


def forces(system: System | Mechanism, state: State) -> Float[np.ndarray, "nv"]:
    """The generalised forces `f` (nv,) of (1) at a state, in body axes and for the elastic coordinates.

    Raises `MechanismError` for a state of another mechanism.
    """
    e, functions, state = _at(system, state)
    _require_modes(e.mechanism, state)
    return -_unaccelerated(e, functions, state)[0]


def accelerations(system: System | Mechanism, state: State) -> tuple[Float[np.ndarray, "nv"], Float[np.ndarray, "nj"]]:
    """The accelerations (nv,) and the multipliers (nj,) at a state that satisfies the joint equations.

    Raises `MechanismError` for a state of another mechanism.
    """
    e, functions, state = _at(system, state)
    _require_modes(e.mechanism, state)
    _unaccelerated(e, functions, state)
    return e.accelerations(functions, state.q, state.w)


def constraint_values(system: System | Mechanism, state: State) -> Float[np.ndarray, "nj"]:
    """The residuals (nj,) of the joint equations at a state: lengths or angles (radians).

    Raises `MechanismError` for a state of another mechanism.
    """
    return _constraints(*_at(system, state))[0]


def constraint_jacobian(system: System | Mechanism, state: State) -> sp.csr_matrix:
    """The Jacobian `G` (nj, nv) of the joint equations at a state: their rates are `G w` minus the rates of the
    drivers.

    Raises `MechanismError` for a state of another mechanism.
    """
    return _constraints(*_at(system, state))[1]


def energies(system: System | Mechanism, state: State) -> Energies:
    """The energies of a state. Raises `MechanismError` for a state of another mechanism."""
    return _energies(_unaccelerated(*_at(system, state))[1])


def _energies(found: np.ndarray) -> Energies:
    kinetic, elastic, gravity, springs, stored = map(float, found)
    return Energies(kinetic, elastic, gravity, springs + stored)


def _at(system: System | Mechanism, state: State) -> tuple[Equations, np.ndarray, State]:
    """The equations with the locks, contacts and releases of the state."""
    mechanism, state = at_state(system.build() if isinstance(system, System) else system, state)
    return Equations(mechanism, state.q, state.angles, state.element_states), mechanism.function_values(state.t), state


def _require_modes(mechanism: Mechanism, state: State) -> None:
    """Raises `MechanismError` when the state does not say which joints with dry friction stick, and which slide."""
    included: frozenset[Feature] = SMOOTH | {
        "new states",
        "sampled controllers",
        "friction that sticks",
        "regularised friction",
        "groups of contacts",
    }
    refuse(mechanism, "The evaluation of forces and accelerations", includes=included)
    known = {*state.topology.sliding, *state.topology.locked}
    if open_ := [f.name for f in mechanism.exact_frictions if not known & {f.name, *f.locks}]:
        raise MechanismError(
            f"The state at t = {state.t:.6g} does not say whether {', '.join(map(repr, open_))} of {mechanism.name!r} "
            "stick or slide, which determines their friction. Use a state of a simulation, such as result.state(0), "
            "with result.mechanism."
        )


def _unaccelerated(e: Equations, functions: np.ndarray, state: State) -> tuple[np.ndarray, np.ndarray]:
    """The residual (nv,) without accelerations and multipliers, and the energies (5,).

    Raises `LawError` when a force law fails.
    """
    found = e.residual(functions, state.q, state.w, np.zeros(len(state.w)), np.zeros(e.flat.joint_rows))
    for law in e.mechanism.calls:
        if law.failure is not None:
            raise law.failure
    return found


def _constraints(e: Equations, functions: np.ndarray, state: State) -> tuple[np.ndarray, sp.csr_matrix]:
    """Values (nj,) and Jacobian (nj, nv) of the joint equations."""
    nj = e.flat.joint_rows
    values, jacobian = row_jacobian(e.mechanism, e.flat, state.q, functions, e.angles)
    return values[:nj], jacobian[:nj]
