"""Natural vibrations: eigenvalues of small motions with bounds of their errors, by dense or sparse methods.

The growth of each motion is decided by its own eigenvalue. The error of an eigenvalue `s` with the right vector `y` and
the left vector `z` is that of `z* (s^2 M + s D + K) y` divided by `z* (2 s M + D) y`, with bounds for every entry of
the matrices; it does not depend on other motions, which may be faster by orders of magnitude.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.linalg import eig, schur

from fem.shown import shown
from flexmb.differences import ROUNDING

HELD = 1e-12
"""Relative compliance of the joint equations in their factorisation with the stiffness, which admits dependent
equations.
"""
SLOW = 1e-5
"""Magnitude, relative to the fastest, of eigenvalues that are computed again among themselves. Computed with the fast
ones, their round-off would be relative to these.
"""
SAME_DIRECTION = 1e-3
"""Relative singular value below which a direction of displacements is dependent on others."""
VECTORS = 1e-11
"""Relative error of an eigenvector by round-off: of slow motions beside others as fast as one over `SLOW`."""
WRONG = 1e-11
"""Residual of an eigenvector, relative to the matrix, that round-off alone does not leave."""
BESIDE = 1e-8
"""Relative distance of the shift from an eigenvalue in the iteration of its vectors."""


class Pencil(NamedTuple):
    """`M x'' + D x' + K x` with bounds of the errors of the entries of `D` and `K`; dense or sparse."""

    M: Any
    D: Any
    K: Any
    D_error: Any
    K_error: Any


@shown
@dataclass(frozen=True, eq=False)
class Vibration:
    """Modes `exp(s t)` of small motions.

    - `eigenvalues` (k,): the complex `s`, per unit of time, by ascending magnitude; the one above the real axis of each
      conjugate pair.
    - `shapes` (nv, k): twists of the bodies (body axes) and elastic coordinates, with the largest entry one.
    - `errors` (k,): bounds of the errors of the eigenvalues.
    - `units`: the names of the units of the model, for plots.
    - `ignorable` (k,): which modes move ignorable coordinates only (`LinearisedModel.ignorable`), such as the place and
      heading of a rolling vehicle. They say nothing on stability. An empty array stands for none.
    - `acceleration`: the largest one of the state itself, per unit of time squared, in radians or lengths of the
      mechanism; zero at rest and in steady motion. Motions slower than its root are `passing`.
    """

    eigenvalues: np.ndarray
    shapes: np.ndarray
    errors: np.ndarray
    units: str | None = None
    ignorable: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    acceleration: float = 0.0

    def __post_init__(self) -> None:
        if not len(self.ignorable):
            object.__setattr__(self, "ignorable", np.zeros(len(self.eigenvalues), bool))

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies (k,) of the damped vibrations, in cycles per unit of time; zero without oscillation."""
        return np.abs(self.eigenvalues.imag) / (2 * np.pi)

    @property
    def damping_ratios(self) -> np.ndarray:
        """Damping (k,) relative to critical damping; negative for motions that grow."""
        size = np.abs(self.eigenvalues)
        return np.divide(-self.eigenvalues.real, size, out=np.zeros(len(size)), where=size > 0)

    @property
    def growing(self) -> np.ndarray:
        """Which motions (k,) grow by more than the error of their eigenvalue."""
        return np.asarray((self.eigenvalues.real > self.errors) & ~self.ignorable)

    @property
    def undecided(self) -> np.ndarray:
        """Which motions (k,) neither grow nor decay by more than the error of their eigenvalue.

        They are undamped, unrestrained, or at a limit of stability.
        """
        return np.asarray((np.abs(self.eigenvalues.real) <= self.errors) & ~self.ignorable)

    @property
    def stable(self) -> bool:
        """Whether no motion grows by more than the error of its eigenvalue."""
        return not self.growing.any()

    @property
    def verdict(self) -> str:
        """ "unstable" if a motion grows, "stable" if every motion decays, otherwise "undecided".

        In the last case no motion grows, but some do not decay either, within the errors of their eigenvalues.
        """
        if not self.stable:
            return "unstable"
        return "undecided" if self.undecided.any() else "stable"

    @property
    def passing(self) -> np.ndarray:
        """Which motions (k,), with eigenvalues beyond their errors, are slower than the state itself departs.

        A state that accelerates by `a` moves by its own size in the time `1 / sqrt(a)`, with which the coefficients
        change. The eigenvalues of slower motions are those of an instant, and say nothing on stability.
        """
        size = np.abs(self.eigenvalues)
        return np.asarray((size**2 < self.acceleration) & (size > self.errors) & ~self.ignorable)

    def of(self, which: np.ndarray) -> "Vibration":
        """A selection of the modes; `which`: their indices, or a mask over all."""
        return replace(
            self,
            eigenvalues=self.eigenvalues[which],
            shapes=self.shapes[:, which],
            errors=self.errors[which],
            ignorable=self.ignorable[which],
        )

    def __str__(self) -> str:
        rows = [f"{'mode':>4}{'frequency':>14}{'damping ratio':>16}{'growth rate':>14}"]
        columns = self.frequencies, self.damping_ratios, self.eigenvalues.real, self.ignorable
        rows += [
            f"{k + 1:4d}{f:14.6g}{z:16.4g}{growth:14.5g}{'  ignorable' if apart else ''}"
            for k, (f, z, growth, apart) in enumerate(zip(*columns, strict=True))
        ]
        return "\n".join([*rows, self._sentence(), *self._instant()])

    def _instant(self) -> list[str]:
        """A line on motions that are slower than the acceleration of the state, if there are any."""
        passing, pace = int(self.passing.sum()), np.sqrt(self.acceleration)
        if not passing:
            return []
        return [
            f"the state accelerates: {passing} motion(s) with eigenvalues below {pace:.3g} per unit of time are those "
            "of this instant, and tell nothing of stability; take linearise(equilibrium(system)) or steady_running"
        ]

    def _sentence(self) -> str:
        growing, undecided = int(self.growing.sum()), int(self.undecided.sum())
        if growing:
            fastest = self.eigenvalues.real.argmax()
            rate = f"{self.eigenvalues.real[fastest]:.4g} (error {self.errors[fastest]:.1g}) per unit of time"
            return f"unstable: {growing} motion(s) grow, the fastest by {rate}"
        if undecided:
            text = f"stable within the errors: {undecided} motion(s) neither grow nor decay"
            largest = self.errors[self.undecided].max()
            if largest > np.abs(self.eigenvalues).max():
                return f"{text}, of which some have eigenvalues that coincide, so that their errors are not known"
            return f"{text} by more than {largest:.1g} per unit of time" if largest > 0 else text
        return "stable"


def all_modes(pencil: Pencil, N: np.ndarray) -> Vibration:
    """All modes of small motions in independent coordinates `N` (nv, nf), by dense methods, O(nf^3)."""
    if not len(pencil.M):
        return Vibration(np.zeros(0, complex), np.zeros((len(N), 0), complex), np.zeros(0))
    L = np.linalg.inv(np.linalg.cholesky(0.5 * (pencil.M + pencil.M.T)))
    values, y, z = _multiscale(np.eye(len(L)), *(L @ X @ L.T for X in (pencil.D, pencil.K)))
    y, z = L.T @ y, L.T @ z
    values, errors = corrected(pencil, values, y, z)
    return ordered(values, N @ y, errors)


def _multiscale(M: np.ndarray, D: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues (k,) on and above the real axis, and right and left vectors (n, k).

    Those of slow motions are computed in the space of these motions, at their own scale.
    """
    n = len(M)
    own_K, own_D = np.linalg.solve(M, K), np.linalg.solve(M, D)
    scale = max(np.sqrt(np.linalg.norm(own_K, 2)), np.linalg.norm(own_D, 2)) or 1.0
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-own_K / scale**2, -own_D / scale]])
    values, left, right = eigenvectors(A)
    upper = values.imag >= 0
    slow = upper & (np.abs(values) <= SLOW)
    fast = upper & ~slow
    y = np.where(np.abs(values) <= 1, right[:n], right[n:])  # the part of [y, s y] that is not small
    z = np.linalg.solve(M.T, left[n:])
    if slow.any() and fast.any():
        Y, Z = _basis(_slow_motions(A)[:n]), _basis(np.linalg.solve(M.T, _slow_motions(A.T)[n:]))
        if Y.shape[1] == Z.shape[1] < n:
            inner, v, u = _multiscale(*(Z.T @ X @ Y for X in (M, D, K)))
            found = np.concatenate([values[fast] * scale, inner])
            return found, np.hstack([y[:, fast], Y @ v]), np.hstack([z[:, fast], Z @ u])
    return values[upper] * scale, y[:, upper], z[:, upper]


def eigenvectors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues (n,), left and right eigenvectors (n, n) of a real matrix.

    LAPACK balances a matrix before its QR algorithm. Where motions are coupled by round-off only, as the rigid ones of
    free bodies with others, it scales them by up to 38 decades, and vectors are wrong. The QZ algorithm does not
    balance, in three times the time.

    Source: James, Langou, Lowery, "On matrix balancing and eigenvector computation", arXiv:1401.5766 (2014).
    """
    values, left, right = eig(A, left=True)
    residual = max(abs(A @ right - right * values).max(), abs(A.T @ left - left * values.conj()).max())
    if residual <= WRONG * np.linalg.norm(A):
        return values, left, right
    values, left, right = eig(A, np.eye(len(A)), left=True)
    return values, left, right


def _slow_motions(A: np.ndarray) -> np.ndarray:
    """A basis of the space of the eigenvalues of magnitude up to `SLOW`."""

    def is_slow(real: complex, imaginary: float = 0.0) -> bool:
        return abs(real + 1j * imaginary) <= SLOW

    _, basis, size = schur(A, output="real", sort=is_slow)
    return np.asarray(basis[:, :size])


def _basis(x: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns of `x`."""
    U, sizes, _ = np.linalg.svd(x, full_matrices=False)
    return np.asarray(U[:, sizes > SAME_DIRECTION * sizes.max(initial=0.0)])


def corrected(pencil: Pencil, values: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (k,) corrected by the Rayleigh quotient of their vectors (n, k), and bounds of their errors.

    The error of the quotient is of second order in that of the vectors, which is round-off. For a motion that nothing
    restrains, whose eigenvalue zero is double, this makes the error that of the fastest eigenvalue times round-off.
    Source: Lancaster, Lambda-matrices and Vibrating Systems (1966), section 5.2.
    """
    M, D, K = pencil[:3]
    c, b, a = (np.einsum("ik,ik->k", z.conj(), X @ y) for X in (K, D, M))
    residual, slope = c + values * (b + values * a), b + 2 * values * a
    root = np.sqrt(slope**2 - 4 * a * residual)
    root = np.where((slope.conj() * root).real < 0, -root, root)
    step = _quotient(-2 * residual, slope + root)
    u, v, size = np.abs(y), np.abs(z), np.abs(values)
    errors = [np.einsum("ik,ik->k", v, X @ u) for X in (pencil.K_error, pencil.D_error, ROUNDING * abs(M))]
    error = errors[0] + size * (errors[1] + size * errors[2])
    error += VECTORS**2 * _of_vectors(pencil, size, y, z)
    found = np.where(np.isfinite(step), values + step, values)
    slope = b + 2 * found * a
    bound = _quotient(2 * error, np.abs(slope) + np.sqrt(np.abs(slope) ** 2 + 4 * np.abs(a) * error))
    return found, np.where(np.isfinite(bound), bound.real, np.inf) + ROUNDING * size


def _of_vectors(pencil: Pencil, size: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """What vectors (n, k) that are wrong by their own size, as the mass matrix measures it, do to the quotient (k,)."""
    mass = pencil.M.diagonal()
    unit = 1 / np.sqrt(mass)
    stiffness, damping = (unit @ (abs(X) @ unit) for X in (pencil.K, pencil.D))
    lengths = [np.sqrt(mass @ np.abs(x) ** 2) for x in (y, z)]
    return np.asarray((stiffness + size * damping) * lengths[0] * lengths[1])


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a / b`, where zero divided by zero is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(a == 0, 0.0, a / b))


def modes_near(pencil: Pencil, G: sp.csr_matrix, count: int, shift: complex) -> Vibration:
    """The `count` modes with eigenvalues nearest to `shift`, by Arnoldi's method for the inverse of the shifted pencil.

    The pencil `M x'' + D x' + K x + G^T l = 0`, `G x = 0` includes the joint equations; its matrices need not be
    symmetric. Cost: one sparse factorisation and about `4 count` solutions, then one factorisation for the error of
    each mode.

    Source: Doan, Geradin, Kill (NATO ASI 1993) solve the same problem by a nonsymmetric Lanczos method; Lehoucq,
    Sorensen, Yang, ARPACK (1998).
    """
    M, D = pencil[:2]
    nv, nj = M.shape[0], G.shape[0]
    factor = _factor(pencil, G, shift)
    both = D + shift * M

    def inverse(z: np.ndarray) -> np.ndarray:
        x, rate = z[:nv], z[nv:]
        y = factor.solve(np.concatenate([-(M @ rate) - both @ x, np.zeros(nj)]))[:nv]
        return np.concatenate([y, shift * y + x])

    apply = spla.LinearOperator((2 * nv, 2 * nv), inverse, dtype=complex)
    wanted = min(2 * count + 2, 2 * nv - 2)
    start = np.random.default_rng(0).normal(size=2 * nv) + 0j
    inverted, vectors = spla.eigs(apply, wanted, v0=inverse(start), ncv=min(2 * nv, max(2 * wanted + 1, 40)))
    real = np.abs(inverted) > 1e-10 * np.abs(inverted).max()  # the others are motions that the joints do not allow
    rough = ordered(shift + 1 / inverted[real], vectors[:nv, real], np.zeros(int(real.sum())))
    nearest = np.sort(np.argsort(np.abs(rough.eigenvalues - shift), kind="stable")[:count])
    y, z = rough.shapes[:, nearest].astype(complex), np.zeros((nv, len(nearest)), complex)
    for k, s in enumerate(rough.eigenvalues[nearest]):
        factor = _factor(pencil, G, s + BESIDE * max(abs(s), abs(shift)))
        y[:, k] = _unit(factor.solve(np.concatenate([y[:, k], np.zeros(nj)]))[:nv])
        z[:, k] = _unit(factor.solve(np.concatenate([y[:, k], np.zeros(nj)]), "H")[:nv])
    values, errors = corrected(pencil, rough.eigenvalues[nearest], y, z)
    return ordered(values, y, errors)


def _unit(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.linalg.norm(x))


def _factor(pencil: Pencil, G: sp.csr_matrix, s: complex) -> spla.SuperLU:
    """The factorisation of `s^2 M + s D + K` bordered by the joint equations."""
    nj = G.shape[0]
    C = (pencil.K + s * pencil.D + s * s * pencil.M).astype(complex).tocsc()
    if not nj:
        return spla.splu(C)
    held = HELD * float(abs(G).max() ** 2 / abs(C).max())
    return spla.splu(sp.bmat([[C, G.T], [G, -held * sp.eye(nj)]], format="csc"))


def ordered(
    values: np.ndarray, shapes: np.ndarray, errors: np.ndarray, ignorable: np.ndarray | None = None
) -> Vibration:
    """The modes on and above the real axis, by magnitude of their eigenvalues."""
    size = np.abs(values)
    upper = np.flatnonzero(values.imag >= -np.maximum(errors, 1e-9 * size))
    order = upper[np.argsort(size[upper], kind="stable")]
    shapes = shapes[:, order]
    largest = np.abs(shapes).argmax(axis=0)
    apart = np.zeros(len(values), bool) if ignorable is None else ignorable
    return Vibration(
        values[order], shapes / shapes[largest, np.arange(len(order))], errors[order], ignorable=apart[order]
    )
