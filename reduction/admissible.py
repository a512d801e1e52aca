"""Can this model be reduced as one free body?"""

import numpy as np
import scipy.sparse as sp
from fem.model import Model
from scipy.sparse.csgraph import connected_components

from fem.errors import MatrixError

HELD = 1e-6
"""Largest nodal force of a rigid motion, beside the largest diagonal entry of K, that still counts as none."""


def require_free_body(model: Model) -> None:
    """Refuse a model that is held somewhere, falls into parts, or has unusable matrices.

    Rigid motion must meet no elastic force; the parts of K's graph, with each rigid interface taken as one piece, must be
    one. Raises MatrixError that says what was found and what to do. Cost: a few products with K and one graph search.
    """
    for name, A in (("K", model.K), ("M", model.M)):
        if not np.isfinite(A.data).all():
            raise MatrixError(f"Model {model.name!r}: {name} holds NaN or infinite entries; check where it comes from.")
        x, y = np.random.default_rng(0).standard_normal((2, model.ndof))
        Ax, Ay = A @ x, A @ y
        if abs(y @ Ax - x @ Ay) > 1e-8 * np.linalg.norm(Ax) * np.linalg.norm(y):
            raise MatrixError(
                f"Model {model.name!r}: {name} is not symmetric. Give both triangles, and undamped matrices."
            )
    _require_no_support(model)
    _require_one_part(model)


def _require_no_support(model: Model) -> None:
    R = model.rigid_modes(model.points.mean(axis=0))
    R /= np.abs(R).max(axis=0)
    force = np.abs(model.K @ R).max(axis=1)
    worst = int(force.argmax())
    if force[worst] > HELD * model.K.diagonal().max():
        raise MatrixError(
            f"Model {model.name!r} is not a free body: rigid motion meets a force of {force[worst]:.2g} at node {worst // 3}, "
            f"direction {'xyz'[worst % 3]} (largest diagonal entry of K: {model.K.diagonal().max():.2g}). Remove supports and "
            "springs to ground from K (joints hold the body later), and check that the node positions belong to K."
        )


def _require_one_part(model: Model) -> None:
    count, label = connected_components(model.K, directed=False)
    if count == 1:
        return
    first = label[::3]  # the dofs of a node, and the nodes of a rigid interface, belong together
    joined = [(first, label[1::3]), (first, label[2::3])]
    for interface in model.interfaces.values():
        if interface.kind == "rigid":
            nodes = first[interface.nodes]
            joined.append((nodes, np.full(len(nodes), nodes[0])))
    a, b = (np.concatenate(side) for side in zip(*joined, strict=True))
    _, merged = connected_components(sp.coo_matrix((np.ones(len(a)), (a, b)), shape=(count, count)), directed=False)
    parts, node, size = np.unique(merged[first], return_index=True, return_counts=True)
    if len(parts) > 1:
        largest = np.argsort(-size)[:5]
        shown = ", ".join(f"{size[k]} with node {node[k]}" for k in largest) + (", ..." if len(parts) > 5 else "")
        raise MatrixError(
            f"Model {model.name!r} falls into {len(parts)} parts that nothing connects (nodes in each: {shown}). Merge "
            "coincident nodes, remove nodes of no element, join the parts by a rigid interface, or make each a body."
        )
