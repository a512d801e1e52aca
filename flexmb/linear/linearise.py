"""Small motions about a state: matrices, natural frequencies and damping of a whole mechanism."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.linalg import eig

from flexmb.initial import accelerations, quiet_start
from flexmb.integrators.equations import Equations
from flexmb.kernels.data import Flat
from flexmb.lie import skew
from flexmb.linear.tangent import allowed_motions, tangent
from flexmb.mechanism import Mechanism, State
from flexmb.system import System


@dataclass(frozen=True, eq=False)
class Vibration:
    """Modes of small motions `exp(s t)`: eigenvalues `s` (k,), complex, of each conjugate pair the one above the real axis, by ascending magnitude; shapes (nv, k), twists of the bodies
    (body axes) and elastic coordinates, the largest entry one."""

    eigenvalues: np.ndarray
    shapes: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """Cycles per unit of time of the damped vibration, zero for motions that only grow or decay."""
        return np.abs(self.eigenvalues.imag) / (2 * np.pi)

    @property
    def damping_ratios(self) -> np.ndarray:
        """Of critical damping; negative where the motion grows."""
        size = np.abs(self.eigenvalues)
        return np.divide(-self.eigenvalues.real, size, out=np.zeros(len(size)), where=size > 0)

    @property
    def stable(self) -> bool:
        """Whether no motion grows, up to round-off."""
        return bool((self.eigenvalues.real <= 1e-7 * np.abs(self.eigenvalues).max(initial=1.0)).all())

    def __str__(self) -> str:
        rows = [f"{'mode':>4}{'frequency':>14}{'damping ratio':>16}"]
        rows += [
            f"{k + 1:4d}{f:14.6g}{z:16.4g}"
            for k, (f, z) in enumerate(zip(self.frequencies, self.damping_ratios, strict=True))
        ]
        return "\n".join([*rows, "stable" if self.stable else "unstable"])


@dataclass(frozen=True, eq=False)
class Linear:
    """`M x'' + D x' + K x + G^T dlambda = 0`, `G x = 0`, for small displacement `x` (nv,): twists of the bodies in body axes, and elastic increments.

    `N` (nv, nf): motions that the joints allow; in these coordinates, `x = N y`, the matrices are `N^T M N` and so on.
    """

    mechanism: Mechanism
    state: State
    M: Float[np.ndarray, "nv nv"]
    D: Float[np.ndarray, "nv nv"]
    K: Float[np.ndarray, "nv nv"]
    G: Float[np.ndarray, "nj nv"]
    N: Float[np.ndarray, "nv nf"]

    @property
    def degrees_of_freedom(self) -> int:
        """Independent motions."""
        return self.N.shape[1]

    def state_matrix(self) -> Float[np.ndarray, "2*nf 2*nf"]:
        """`A` of `[y, y']' = A [y, y']`."""
        M, D, K = (self.N.T @ X @ self.N for X in (self.M, self.D, self.K))
        n = self.degrees_of_freedom
        return np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])

    def modes(self) -> Vibration:
        """All natural vibrations; dense, O(nf^3)."""
        values, vectors = eig(self.state_matrix())
        upper = np.flatnonzero(values.imag >= -1e-9 * np.abs(values).max(initial=1.0))
        order = upper[np.argsort(np.abs(values[upper]), kind="stable")]
        shapes = self.N @ vectors[: self.degrees_of_freedom, order]
        largest = np.abs(shapes).argmax(axis=0)
        return Vibration(values[order], shapes / shapes[largest, np.arange(len(order))])


def linearise(system: System | Mechanism, state: State | None = None) -> Linear:
    """The equations of small motions about a state, by default the consistent start of the mechanism; about an equilibrium, `linearise(system, equilibrium(system).state)`.

    Gravity, springs, laws, loads and the joints' reactions stiffen or soften; gyroscopic and centrifugal terms of a state that moves are in `D` and `K` (which are then constant only where the
    motion is steady in body axes, and need not be symmetric). Functions of time are held at the time of the state.
    Accuracy: 1e-9 (central differences of the compiled residual).
    """
    mechanism = system.build() if isinstance(system, System) else system
    flat = mechanism.flat()
    if state is None:
        state = quiet_start(mechanism).state
    functions = mechanism.function_values(state.t)
    wdot, multipliers = accelerations(mechanism, flat, state, functions)
    e = Equations(mechanism, state.q)
    t = tangent(e, functions, state.q, state.w, wdot, multipliers)
    e.residual(functions, state.q, state.w, wdot, multipliers)
    M, D, G = e.mass(), t.D, t.G.toarray()
    bracket, rate = _bracket(flat, state.w), _bracket(flat, wdot)
    K = t.K + D @ bracket + M @ rate
    N = allowed_motions(G, flat.weight)
    return Linear(mechanism, state, M.toarray(), (D + M @ bracket).toarray(), K.toarray(), G, N)


def _bracket(flat: Flat, w: np.ndarray) -> sp.csr_matrix:
    """`ad_w` (nv, nv): a displacement `x` that is carried along by the velocities `w` changes them by `x' + ad_w x`; zero for elastic coordinates."""
    blocks = []
    for b, m in enumerate(flat.modes):
        s = flat.v_start[b]
        v, omega = skew(w[s : s + 3]), skew(w[s + 3 : s + 6])
        blocks.append(np.pad(np.block([[omega, v], [np.zeros((3, 3)), omega]]), (0, int(m))))
    return sp.csr_matrix(sp.block_diag(blocks))
