"""The equations of motion at a state, evaluated without memory: every function takes a mechanism and a state, and leaves nothing behind.

    M(q) wdot + G(q)^T lambda = f(t, q, w),    G(q) wdot = gamma(t, q, w)                                               (1)

`w` holds velocities in body axes and elastic rates (`flexmb.State`), so that `G` is the Jacobian of the joint equations in displacements of that kind: their rate is `G w` less the rate of
drivers. Forces `f` hold gravity, springs, laws, motors, loads, elastic and damping forces, and the inertia forces that depend on velocities.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from flexmb.equations.evaluation import Equations
from flexmb.equations.initial_conditions import row_jacobian
from flexmb.mechanism.locking import at_state
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System


@dataclass(frozen=True)
class Energies:
    """Energies of a state, in units of the model: kinetic, elastic (strain energy of bodies), of gravity (zero in the origin), of springs."""

    kinetic: float
    elastic: float
    gravity: float
    springs: float

    @property
    def total(self) -> float:
        """Their sum."""
        return self.kinetic + self.elastic + self.gravity + self.springs


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All of (1) at one state.

    - `mass_matrix` (nv, nv), sparse, and `forces` (nv,).
    - `constraint_values` (nj,): what the joint equations lack of being fulfilled, lengths and angles; `constraint_rates` (nj,), their rates; `constraint_jacobian` (nj, nv), sparse.
    - `accelerations` (nv,), rates of `w`, and `multipliers` (nj,), forces and moments of the joint equations, of a state on the joints.
    - `energies`; `angles` (na,) of joints, turns counted.
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
    """All terms of the equations of motion of a mechanism at a state. A state after events needs `result.mechanism`, which has the equations of what they hold; those of its topology are in force.

    Raises `MechanismError` for a state of another mechanism, or one held by events of which the mechanism does not know; `LawError` for a force law that fails.
    """
    e, functions, state = _at(system, state)
    unbalanced, energies = _unaccelerated(e, functions, state)
    forces, mass = -unbalanced, e.mass()
    angles, rates = e.angles_there(functions), e.broken_rates(functions, state.w)
    values, jacobian = _constraints(e, functions, state)
    wdot, multipliers = e.accelerations(functions, state.q, state.w)
    return Evaluation(mass, forces, values, rates, jacobian, wdot, multipliers, Energies(*map(float, energies)), angles)


def mass_matrix(system: System | Mechanism, state: State) -> sp.csr_matrix:
    """The mass matrix (nv, nv) at a state."""
    e, functions, state = _at(system, state)
    _unaccelerated(e, functions, state)
    return e.mass()


def forces(system: System | Mechanism, state: State) -> Float[np.ndarray, "nv"]:
    """The generalised forces (nv,) at a state, `f` in (1): in body axes, and of elastic coordinates."""
    return -_unaccelerated(*_at(system, state))[0]


def accelerations(system: System | Mechanism, state: State) -> tuple[Float[np.ndarray, "nv"], Float[np.ndarray, "nj"]]:
    """The rates (nv,) of the velocities, and the multipliers (nj,) of the joint equations, at a state on the joints."""
    e, functions, state = _at(system, state)
    _unaccelerated(e, functions, state)
    return e.accelerations(functions, state.q, state.w)


def constraint_values(system: System | Mechanism, state: State) -> Float[np.ndarray, "nj"]:
    """What the joint equations (nj,) lack of being fulfilled at a state: lengths, and angles in radians."""
    return _constraints(*_at(system, state))[0]


def constraint_jacobian(system: System | Mechanism, state: State) -> sp.csr_matrix:
    """The Jacobian `G` (nj, nv) of the joint equations at a state: their rates are `G w` less the rates of drivers."""
    return _constraints(*_at(system, state))[1]


def energies(system: System | Mechanism, state: State) -> Energies:
    """The energies of a state."""
    return Energies(*map(float, _unaccelerated(*_at(system, state))[1]))


def _at(system: System | Mechanism, state: State) -> tuple[Equations, np.ndarray, State]:
    """The equations with what is locked, in contact or released at the state."""
    mechanism, state = at_state(system.build() if isinstance(system, System) else system, state)
    return Equations(mechanism, state.q, state.angles), mechanism.function_values(state.t), state


def _unaccelerated(e: Equations, functions: np.ndarray, state: State) -> tuple[np.ndarray, np.ndarray]:
    """What is unbalanced (nv,) without accelerations and multipliers, and energies (4,). Raises `LawError` where a law fails."""
    found = e.residual(functions, state.q, state.w, np.zeros(len(state.w)), np.zeros(e.flat.joint_rows))
    for law in e.mechanism.laws:
        if law.failure is not None:
            raise law.failure
    return found


def _constraints(e: Equations, functions: np.ndarray, state: State) -> tuple[np.ndarray, sp.csr_matrix]:
    """Values (nj,) and Jacobian (nj, nv) of the joint equations."""
    nj = e.flat.joint_rows
    values, jacobian = row_jacobian(e.mechanism, e.flat, state.q, functions, e.angles)
    return values[:nj], jacobian[:nj]
