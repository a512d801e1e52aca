"""The displacement between two configurations, as twists of the bodies and elastic increments: its size and its tangent
operator."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from flexmb.kernels.base.data import CompiledModel
from flexmb.kernels.calls import displacement_between
from flexmb.spatial.blocks import block_diagonal
from flexmb.spatial.layout import elastic_places
from flexmb.spatial.lie import skew


def difference(flat: CompiledModel, a: Float[np.ndarray, "nq"], b: Float[np.ndarray, "nq"]) -> Float[np.ndarray, "nv"]:
    """The displacement `x` (nv,) with `b = a o exp(x)` for two configurations `a` and `b`.

    Per body it holds the twist in body axes, whose rotation is at most half a turn, and the elastic increments.
    """
    x = np.empty(len(flat.weight))
    displacement_between(flat, a, b, x)
    return x


def extent(flat: CompiledModel, x: Float[np.ndarray, "nv"]) -> float:
    """The size of a displacement `x` (nv,): the largest displacement of a mass centre and the largest elastic
    displacement, both divided by the length of the mechanism, or the largest angle if it is larger.

    The result does not depend on the choice of the body frames.
    """
    parts = [np.abs(x * flat.weight)[elastic_places(flat)[0]].max(initial=0.0)]
    for b in range(len(flat.modes)):
        v, phi = np.split(x[flat.v_start[b] : flat.v_start[b] + 6], 2)
        parts += [np.linalg.norm(v + np.cross(phi, flat.s0[b] / flat.mass[b])) * flat.weight[0], np.linalg.norm(phi)]
    return float(max(parts))


def tangent_operator(flat: CompiledModel, x: Float[np.ndarray, "nv"]) -> sp.csr_matrix:
    """The block-diagonal matrix `T` (nv, nv) of all bodies with `exp(x + dx) = exp(x) o exp(T dx)` to first order in
    dx.

    Per body `T = (1 - exp(-ad_x)) / ad_x`, evaluated as a power series; it is the identity for elastic increments.
    """
    blocks = []
    for b, m in enumerate(flat.modes):
        v, phi = (skew(part) for part in np.split(x[flat.v_start[b] : flat.v_start[b] + 6], 2))
        ad = np.block([[phi, v], [np.zeros((3, 3)), phi]])
        T, term = np.eye(6), np.eye(6)
        for k in range(2, 40):
            term = -term @ ad / k
            T = T + term
            if np.abs(term).max() <= 1e-17 * np.abs(T).max():
                break
        blocks += [T, np.eye(m)] if m else [T]
    return block_diagonal(blocks)
