"""Small motions about a state: matrices, natural frequencies and damping of a whole mechanism."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from fem.errors import FlexmbError
from flexmb.initial import accelerations, quiet_start
from flexmb.integrators.equations import Equations
from flexmb.linear.equilibrium import Equilibrium
from flexmb.linear.joint_motions import joint_motions
from flexmb.linear.tangent import allowed_motions, carrying, tangent
from flexmb.linear.vibration import Vibration, all_modes, modes_near
from flexmb.mechanism import Mechanism, State
from flexmb.system import System


class LinearError(FlexmbError, ValueError):
    """Small motions cannot be asked for as given."""


@dataclass(frozen=True, eq=False)
class Linear:
    """`M x'' + D x' + K x + G^T dlambda = 0`, `G x = 0`, for small displacement `x` (nv,): twists of the bodies in body axes, and elastic increments.

    Sparse matrices `M`, `D`, `K` (nv, nv), `G` (nj, nv); velocities follow `w + x' + carried x`, accelerations `wdot + x'' + carried x' + turned x`.
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

    @property
    def N(self) -> Float[np.ndarray, "nv nf"]:
        """Motions that the joints allow: in these independent coordinates, `x = N y`, the matrices are `N^T M N` and so on.

        Of an open tree of joints those of its joint coordinates and elastic coordinates (by recursion, O(bodies) each); where loops are closed or joints driven, orthonormal displacements.
        """
        return self._motions[0]

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the independent coordinates: "hinge about z", "rod eta 1" in an open tree, else "motion 1" and so on."""
        return self._motions[1]

    @cached_property
    def _motions(self) -> tuple[np.ndarray, tuple[str, ...]]:
        of_tree = joint_motions(self.mechanism, self.state.q)
        if of_tree is not None:
            return of_tree
        N = allowed_motions(self.G.toarray(), self.mechanism.flat().weight)
        return N, tuple(f"motion {k + 1}" for k in range(N.shape[1]))

    @property
    def degrees_of_freedom(self) -> int:
        """Independent motions."""
        return self.N.shape[1]

    def reduced(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`M`, `D`, `K` (nf, nf) in independent coordinates."""
        M, D, K = (self.N.T @ (X @ self.N) for X in (self.M, self.D, self.K))
        return M, D, K

    def state_matrix(self) -> Float[np.ndarray, "2*nf 2*nf"]:
        """`A` of `[y, y']' = A [y, y']`."""
        M, D, K = self.reduced()
        n = self.degrees_of_freedom
        return np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])

    def modes(self, count: int | None = None, near: float = 0.0) -> Vibration:
        """All natural vibrations, dense, O(nf^3); or the `count` nearest to the frequency `near` (cycles per unit of time), by one sparse factorisation."""
        if count is None:
            return all_modes(self.state_matrix(), self.N)
        if count < 1:
            raise LinearError(f"count is a number of modes, at least 1; found {count}.")
        if 2 * count + 2 > self.M.shape[0]:
            everything = all_modes(self.state_matrix(), self.N)
            nearest = np.sort(np.argsort(np.abs(everything.eigenvalues - 2j * np.pi * near), kind="stable")[:count])
            return Vibration(everything.eigenvalues[nearest], everything.shapes[:, nearest])
        return modes_near(self.M, self.D, self.K, self.G, count, self._shift(near))

    def _shift(self, near: float) -> complex:
        """Beside the frequency `near`, not upon it: at an eigenvalue there is no inverse."""
        if near > 0:
            return 2 * np.pi * near * (0.01 + 1j)
        stiffness = self.mechanism.flat().stiffness
        scale = stiffness.min() if len(stiffness) else abs(self.K).max() / abs(self.M).max()
        return 0.05 * float(np.sqrt(scale)) or 1.0


def linearise(system: System | Mechanism | Equilibrium, state: State | None = None) -> Linear:
    """The equations of small motions about a state, by default the consistent start of the mechanism; about an equilibrium or a steady motion, `linearise(equilibrium(system))`.

    Gravity, springs, laws, loads and the joints' reactions stiffen or soften; gyroscopic and centrifugal terms of a state that moves are in `D` and `K` (which are then constant only where the
    motion is steady in body axes, and need not be symmetric). Functions of time are held at the time of the state.
    Accuracy: 1e-9 (central differences of the compiled residual).
    """
    if isinstance(system, Equilibrium):
        mechanism, state = system.mechanism, system.state if state is None else state
    else:
        mechanism = system.build() if isinstance(system, System) else system
    flat = mechanism.flat()
    if state is None:
        state = quiet_start(mechanism).state
    functions = mechanism.function_values(state.t)
    wdot, multipliers = accelerations(mechanism, state, functions)
    e = Equations(mechanism, state.q)
    t = tangent(e, functions, state.q, state.w, wdot, multipliers)
    e.residual(functions, state.q, state.w, wdot, multipliers)
    carried, turned = carrying(flat, state.w), carrying(flat, wdot)
    M = e.mass()
    K = t.K + t.D @ carried + M @ turned
    return Linear(mechanism, state, wdot, multipliers, M, t.D + M @ carried, K, t.G, carried, turned)
