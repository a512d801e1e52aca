"""First-order change of the tangent stiffness with the displacements: stress part and initial-displacement part.

With the displacement gradient `H` of `u` and the linear stress `sigma = c : H`, the strain energy of a
St. Venant-Kirchhoff material, expanded about the undeformed state, has the second derivative `K + K_G(u) + O(u^2)`,

    K_G(u)[v, w] = int sigma : (grad v^T grad w)                          stress part
                 + int grad v : c : (H^T grad w) + the same with v and w exchanged      initial-displacement part

Both parts together are symmetric in all three arguments, which is the reciprocity behind docs/theory.md, "Geometric
stiffness". The incompatible modes of hex8 follow `u`, `v` and `w` statically; to first order that is the exact
derivative of the condensed tangent as well. Source: Bathe, Finite Element Procedures (1996), section 6.3.
"""

import numpy as np

from fem.matrices.cell_matrices import VOIGT, Cells

PRODUCTS = 2**14
"""Products of gradients, points times pairs of shapes, that are formed at a time."""

POINTS = 128
"""Quadrature points whose products with the shapes are formed at a time, so that they stay in the cache."""


def stress_part(cells: Cells, H: np.ndarray) -> np.ndarray:
    """`int grad_a . sigma grad_b dV` (e, m, m), a scalar for each pair of nodes (and incompatible modes)."""
    e, q, _, m = cells.gradients.shape
    if cells.c.ndim == 6:
        sigma = cells.stress(H[..., None])[..., 0]
    else:
        sigma = (H.reshape(e, q, 9) @ cells.c.reshape(9, 9).T).reshape(e, q, 3, 3)
    turned = (sigma * cells.dV[..., None, None]) @ cells.gradients
    return cells.gradients.reshape(e, 3 * q, m).transpose(0, 2, 1) @ turned.reshape(e, 3 * q, m)


def initial_displacement_part(cells: Cells, H: np.ndarray) -> np.ndarray:
    """Change (e, 3, m, 3, m) of the stiffness by the change of the strain matrix with the displacements."""
    e, q, _, m = cells.gradients.shape
    weighted = H * cells.dV[..., None, None]
    if cells.c.ndim == 6:
        c_H = np.einsum("eqkp,eqilpr->eqkilr", weighted, cells.c, optimize=True)
    else:
        c_H = np.tensordot(weighted, cells.c, axes=(3, 2))  # e, q, k, i, l, r: c_ilpr H_kp
    right = c_H.transpose(0, 1, 4, 2, 3, 5).reshape(e, q, 27, 3) @ cells.gradients  # (l, k, i), b
    left = cells.gradients.reshape(e, 3 * q, m).transpose(0, 2, 1)  # a, (q, l)
    half = (left @ right.reshape(e, 3 * q, 9 * m)).reshape(e, m, 3, 3, m).transpose(0, 3, 1, 2, 4)  # i, a, k, b
    return half + half.transpose(0, 3, 4, 1, 2)


def with_stress(K: np.ndarray, scalar: np.ndarray) -> np.ndarray:
    """`K` (e, 3, m, 3, m) plus `scalar` (e, m, m) on each of the three components."""
    total = K.copy()
    for i in range(3):
        total[:, i, :, i] += scalar
    return total


def quadratic_loads(cells: Cells, H: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Node loads (e, 3 nn, p) whose work on u is `int sigma(u) : (grad v_i^T grad v_j)` for the `pairs` (p, 2) of the
    shapes with the gradients `H` (e, q, 3, 3, m), incompatible modes condensed.

    Cost: 45 p + 300 p nn / 8 flops a point; the products of few pairs at a time stay in the cache.
    """
    operator = _strain_operator(cells)
    e, q = cells.dV.shape
    shapes = np.ascontiguousarray(H.transpose(2, 3, 0, 1, 4))
    loads = np.empty((e, operator.shape[1], len(pairs)))
    few = max(1, PRODUCTS // (e * q))
    for first in range(0, len(pairs), few):
        i, j = pairs[first : first + few].T
        left, right = shapes.take(i, axis=-1), shapes.take(j, axis=-1)
        strain, product = np.empty((e, q, 6, len(i))), np.empty((e, q, len(i)))
        for k, (a, b) in enumerate(VOIGT):
            sides = ((a, b),) if a == b else ((a, b), (b, a))
            total = strain[:, :, k]
            total[...] = 0.0
            for component in range(3):
                for c, d in sides:
                    total += np.multiply(left[component, c], right[component, d], out=product)
        np.matmul(operator, strain.reshape(e, 6 * q, -1), out=loads[..., first : first + few])
    return loads


def _strain_operator(cells: Cells) -> np.ndarray:
    """Node loads (e, 3 nn, 6 q) of strains in the order of `VOIGT` at each point, those of shear twice."""
    e, q = cells.dV.shape
    i, j = np.array(VOIGT).T
    stress = cells.c[..., i, j]  # (3, 3, 6), or (e, q, 3, 3, 6)
    weighted = cells.gradients * cells.dV[..., None, None]
    stresses = "jis" if stress.ndim == 3 else "eqjis"
    operator = np.einsum(f"eqja,{stresses}->eaiqs", weighted, stress, optimize=True)
    if cells.inner is not None:
        inner = operator[:, cells.nodes :].swapaxes(1, 2).reshape(e, -1, 6 * q)
        followed = (cells.inner.transpose(0, 2, 1) @ inner).reshape(e, 3, cells.nodes, q, 6)
        operator = operator[:, : cells.nodes] + followed.swapaxes(1, 2)
    return operator.reshape(e, 3 * cells.nodes, 6 * q)


def projected_stress_part(cells: Cells, fields: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """`int sigma(u) : (grad v^T grad w)` (p, m, m) for gradients of `fields` u (e, q, 3, 3, p) and `shapes` v, w
    (e, q, 3, 3, m).

    Cost: about 18 m^2 flops a point and field, in products of matrices that fit into the cache; no cell matrix is
    formed.
    """
    p, m = fields.shape[-1], shapes.shape[-1]
    H = (fields * cells.dV[..., None, None, None]).reshape(-1, 9, p)
    shapes, c = shapes.reshape(-1, 3, 3, m), cells.c.reshape(-1, 9, 9)
    total = np.zeros((m, p * m))
    for first in range(0, len(H), POINTS):
        few = slice(first, first + POINTS)
        stress = (
            ((c[few] if len(c) > 1 else c) @ H[few]).reshape(-1, 3, 3, p).swapaxes(2, 3).reshape(-1, 3 * p, 3)
        )  # (derivative, field), derivative
        for component in range(3):
            rows = np.ascontiguousarray(shapes[few, component])  # point, derivative, shape
            total += rows.reshape(-1, m).T @ (stress @ rows).reshape(-1, p * m)
    return total.reshape(m, p, m).swapaxes(0, 1)
