"""Changes of velocities or positions of least kinetic energy that satisfy linear equations.

The kinetic energy of a velocity change `x` is `x^T M x / 2`. With a root `W` of the inverse mass matrix (`W W^T =
M^-1`, block by block) and `x = W y` it is `|y|^2 / 2`, so that the solution of `J x = target` of least energy is the
solution of `(J W) y = target` of least norm. Another choice of body frame transforms `M`, `J` and `x` together; the
motion is the same. Whether equations are dependent is a property of the geometry and not of the masses, so ranks are
those of `J` in the metric of displacements (`displacement_root`). The drift of joints over a simulation is measured in
flexmb/results/verdict.py (`joint_drift`).
"""

from collections.abc import Sequence

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from fem.errors import MatrixError
from flexmb.kernels.base.data import GROUND, VELOCITY_KINDS, CompiledModel
from flexmb.kernels.base.pointed import remembered
from flexmb.spatial.blocks import block_diagonal

DEPENDENT = 1e-7
"""Singular value of the scaled joint equations, relative to the largest, below which they are taken as dependent."""
NEARLY_DEPENDENT = 1e-11
"""Smallest pivot of `A A^T`, with unit rows, at which they are taken as independent without computing singular values.
In a chain of a thousand hinged bars it is 4e-9."""
REFINEMENTS = 3
"""Iterative refinements of a solution with a factor; each reduces the error by the condition times the precision."""
FAR_APART = 1e-6
"""Ratio of the smallest to the largest inertia of a mechanism below which independent joint equations may appear
dependent in their matrix `J M^-1 J^T`."""


def as_sparse(flat: CompiledModel, G: np.ndarray) -> sp.csr_matrix:
    """The sparse Jacobian (nr, nv) of all rows from the blocks `G` (nt, 2, 6+mmax) of each term for its two bodies."""
    bodies = flat.marker_body[flat.term_markers]
    term, side = np.nonzero(bodies != GROUND)
    first = flat.v_start[bodies[term, side]]
    count = flat.v_start[bodies[term, side] + 1] - first
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    entries = G[np.repeat(term, count), np.repeat(side, count), within]
    places = (np.repeat(flat.term_row[term], count), np.repeat(first, count) + within)
    return sp.csr_matrix((entries, places), shape=(len(flat.row_kind), int(flat.v_start[-1])))


@remembered
def velocity_rows(flat: CompiledModel) -> list[int]:
    """The joint equations that hold for velocities only, and do not restrict positions."""
    return np.flatnonzero(np.isin(flat.row_kind[: flat.joint_rows], VELOCITY_KINDS)).tolist()


@remembered
def masses_at_rest(flat: CompiledModel) -> tuple[np.ndarray, ...]:
    """Mass matrices (6+m, 6+m) of the undeformed bodies."""
    found = []
    for b, m in enumerate(flat.modes):
        Mre = flat.rest_Mre[b][:, :m]
        found.append(np.block([[flat.rest_Mrr[b], Mre], [Mre.T, np.eye(m)]]))
    return tuple(found)


def mass_root(masses: Sequence[np.ndarray], deform: bool) -> sp.csr_matrix:
    """The matrix `W` (nv, n) with `W W^T = M^-1` for the `masses` (6+m, 6+m) of the bodies.

    Without `deform`, the bodies are rigid and the rows of elastic rates are zero. Raises `MatrixError` when a mass
    matrix is not positive definite.
    """
    roots = []
    for b, M in enumerate(masses):
        n = len(M) if deform else 6
        try:
            factor = np.linalg.cholesky(M[:n, :n])
        except np.linalg.LinAlgError:
            raise MatrixError(
                f"The mass matrix of body number {b + 1} of the mechanism is not positive definite: no distribution of "
                "mass has its inertia integrals, "
                "or it is deformed far outside the range of the reduced body."
            ) from None
        root = np.linalg.inv(factor).T  # a general inverse: small, and without the threads of a triangular solve
        roots.append(np.vstack([root, np.zeros((len(M) - n, n))]))
    return _block_diagonal(roots)


@remembered
def displacement_root(flat: CompiledModel) -> sp.csr_matrix:
    """The corresponding root (nv, nv) of a metric without masses: displacements of mass centres, rotations times the
    length of the mechanism, and mean elastic displacements of each body."""
    length, roots = 1.0 / flat.weight[0], []
    for b, m in enumerate(flat.modes):
        root = np.eye(6 + m)
        x, y, z = flat.s0[b] / flat.mass[b]
        root[:3, 3:6] = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) / length  # v = v_c + c x omega
        root[range(3, 6), range(3, 6)] = 1.0 / length
        root[range(6, 6 + m), range(6, 6 + m)] = np.sqrt(flat.mass[b])
        roots.append(root)
    return _block_diagonal(roots)


def _block_diagonal(blocks: Sequence[np.ndarray]) -> sp.csr_matrix:
    """Blocks on the diagonal of a sparse matrix, at a tenth of the time of `scipy.sparse.block_diag`."""
    height, width = (np.array([block.shape[k] for block in blocks], dtype=np.int32) for k in range(2))
    counts = np.repeat(width, height)
    first = np.repeat(np.cumsum(width) - width, height)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    columns = np.arange(ends[-1]) + np.repeat(first - ends[:-1], counts)
    entries = np.concatenate([block.ravel() for block in blocks])
    return sp.csr_matrix((entries, columns.astype(np.int32), ends), shape=(height.sum(), width.sum()))


def scale_rows(A: sp.csr_matrix, factors: np.ndarray) -> sp.csr_matrix:
    """A matrix with its rows multiplied by `factors`."""
    return sp.csr_matrix((A.data * np.repeat(factors, np.diff(A.indptr)), A.indices, A.indptr), shape=A.shape)


def unit_rows(J: sp.csr_matrix, root: sp.csr_matrix) -> tuple[sp.csr_matrix, np.ndarray]:
    """`J root` with rows scaled to unit norm, and the original norms."""
    A = sp.csr_matrix(J @ root)
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    norms = np.sqrt(np.bincount(row, np.square(A.data), A.shape[0]))
    norms[norms == 0] = 1.0
    return scale_rows(A, 1 / norms), norms


def independent(A: sp.csr_matrix) -> spla.SuperLU | None:
    """The factor of `A A^T` for unit rows `A`; None if rows are dependent or nearly dependent."""
    try:
        factor = spla.splu(
            (A @ A.T).tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError:  # exactly singular
        return None
    return factor if np.abs(factor.U.diagonal()).min(initial=1.0) > NEARLY_DEPENDENT else None


def independent_rows(J: sp.csr_matrix, flat: CompiledModel) -> np.ndarray:
    """A mask (nj,) of a maximal set of independent rows of the Jacobian `J` (nj, nv)."""
    kept = np.ones(J.shape[0], dtype=bool)
    A = unit_rows(J, displacement_root(flat))[0]
    if not len(kept) or independent(A) is not None:
        return kept
    R, order = scipy.linalg.qr(A.toarray().T, mode="r", pivoting=True)
    rank = int((np.abs(np.diagonal(R)) > np.sqrt(NEARLY_DEPENDENT)).sum())
    kept[order[rank:]] = False
    return kept


def mass_weighted_projection(
    J: sp.csr_matrix,
    target: np.ndarray,
    flat: CompiledModel,
    deform: bool = True,
    masses: Sequence[np.ndarray] | None = None,
) -> np.ndarray:
    """`x` (nv,) of least kinetic energy with `J x = target`; dependent equations are solved in the least-squares sense.

    - `J` (nj, nv) and `target` (nj,).
    - `deform`: whether elastic coordinates change; if not, the bodies move as rigid bodies.
    - `masses`: mass matrix (6+m, 6+m) of each body, or another metric (default: of the undeformed bodies).
    """
    root = mass_root(masses_at_rest(flat) if masses is None else masses, deform)
    A, norms = unit_rows(J, root)
    factor = independent(A)
    if factor is None:
        return _least_of_dependent(J, target, flat, root)
    wanted = target / norms
    y, rounding = A.T @ factor.solve(wanted), 4e-16 * np.abs(wanted).max(initial=0.0)
    for k in range(REFINEMENTS):
        left = wanted - A @ y
        # at least one refinement, for targets far smaller than the largest
        if k > 0 and (np.abs(left) <= rounding).all():
            break
        y += A.T @ factor.solve(left)
    return np.asarray(root @ y)


def _least_of_dependent(J: sp.csr_matrix, target: np.ndarray, flat: CompiledModel, root: sp.csr_matrix) -> np.ndarray:
    """The projection by singular values: independent combinations of the equations from the geometry alone, then the
    change of least energy that satisfies them."""
    movable = sp.diags((abs(root).sum(axis=1).A1 > 0).astype(float))
    A, norms = unit_rows(J, sp.csr_matrix(movable @ displacement_root(flat)))
    U, s, _ = np.linalg.svd(A.toarray(), full_matrices=False)
    U, s = (x[..., s > DEPENDENT * s.max(initial=0.0)] for x in (U, s))
    B = (U.T / s[:, None]) @ (J @ root / norms[:, None])
    y = np.linalg.lstsq(B, U.T @ (target / norms) / s, rcond=None)[0]
    return np.asarray(root @ y)


@remembered
def spread(flat: CompiledModel) -> tuple[float, int, int]:
    """Ratio of the smallest to the largest inertia of a mechanism, and the indices of the two bodies.

    Moments of inertia about the mass centres are divided by the square of the length of the mechanism.
    """
    root, low, high = displacement_root(flat), [], []
    for b, M in enumerate(masses_at_rest(flat)):
        at = slice(int(flat.v_start[b]), int(flat.v_start[b + 1]))
        W = root[at, at].toarray()
        values = np.linalg.eigvalsh((W.T @ M @ W)[:6, :6])
        low.append(values[0])
        high.append(values[-1])
    return float(min(low) / max(high)), int(np.argmin(low)), int(np.argmax(high))


def on_saddle(
    J: sp.csr_matrix,
    kept: np.ndarray,
    masses: Sequence[np.ndarray],
    force: np.ndarray,
    target: np.ndarray,
    flat: CompiledModel,
) -> tuple[np.ndarray, np.ndarray]:
    """`x` (nv,) and multipliers (nj,) with `M x + J^T multipliers = force` (nv,) and `J x = target` (nj,), for any mass
    ratio.

    The saddle point matrix `[M J^T; J 0]` is factorised without the inverse of `M`, in which heavy bodies are lost
    beside light ones. Lengths are relative to that of the mechanism and masses to the largest, so that the entries of
    joint equations are of order one and elimination starts with them. Only the independent equations `kept` (nj,), a
    mask from `independent_rows`, are used; the multipliers are those of least norm, relative to the inertia on which
    each equation acts.
    """
    root = displacement_root(flat)
    A, norms = unit_rows(J, root)
    M = sp.csr_matrix(root.T @ block_diagonal(masses) @ root)
    largest = M.diagonal().max()
    K = sp.block_array([[M / largest, A[kept].T], [A[kept], None]], format="csc")
    rhs = np.concatenate([root.T @ force / largest, (target / norms)[kept]])
    factor = spla.splu(K)
    y = factor.solve(rhs)
    for _ in range(REFINEMENTS):
        y += factor.solve(rhs - K @ y)
    nv = len(force)
    multipliers = np.zeros(len(target))
    multipliers[kept] = y[nv:] * largest / norms[kept]
    if not kept.all():
        multipliers = _least_multipliers(
            A, norms, kept, block_diagonal(np.linalg.inv(m) for m in masses), J, multipliers
        )
    return np.asarray(root @ y[:nv]), multipliers


def _least_multipliers(
    A: sp.csr_matrix,
    norms: np.ndarray,
    kept: np.ndarray,
    mobility: sp.spmatrix,
    J: sp.csr_matrix,
    multipliers: np.ndarray,
) -> np.ndarray:
    """The multipliers of least norm with the same effect: their component along vanishing combinations of rows is
    removed."""
    combined = np.zeros((int((~kept).sum()), len(kept)))
    combined[:, kept] = -np.linalg.lstsq(A[kept].toarray().T, A[~kept].toarray().T, rcond=None)[0].T
    combined[:, ~kept] = np.eye(len(combined))
    size = np.sqrt(J.multiply(J @ mobility).sum(axis=1).A1)
    null_rows = np.linalg.qr((combined / norms * size).T)[0]
    scaled = multipliers * size
    return np.asarray((scaled - null_rows @ (null_rows.T @ scaled)) / size)
