"""Check that a model is one connected part."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from fem.errors import MatrixError
from fem.mesh.mesh import label_of
from fem.model import Model


def require_one_part(model: Model) -> None:
    """Raise MatrixError if the nodes of a model form several unconnected parts; the message gives their sizes and a
    node of each.

    Each rigid interface counts as one piece; average interfaces connect nothing. Cost: one search over the graph of K.
    """
    if len(breadth_first_order(model.K, 0, return_predecessors=False)) == model.ndof:
        return  # without the transpose that the search for components makes
    count, label = connected_components(model.K, directed=False)
    if count == 1:
        return
    n, dofs = 3 * len(model.points), model.dof_map
    if dofs.T is not None:  # a dof belongs with those that it follows
        both = sp.block_array([[None, dofs.T], [dofs.T.T, model.K]])
        count, label = connected_components(both, directed=False)
        label = label[: dofs.size_of_all]
    first = label[:n:3]  # the dofs of a node, and the nodes of a rigid interface, belong together
    joined = [(first, label[1:n:3]), (first, label[2:n:3])]
    joined += [(first[model.rotation_nodes], label[n + k : dofs.start_of_rates : 3]) for k in range(3)]
    joined.append((first[dofs.rates.nodes], label[dofs.start_of_rates : dofs.size_of_all]))
    for interface in model.interfaces.values():
        if interface.kind == "rigid":
            nodes = first[interface.nodes]
            joined.append((nodes, np.full(len(nodes), nodes[0])))
    a, b = (np.concatenate(side) for side in zip(*joined, strict=True))
    _, merged = connected_components(sp.coo_matrix((np.ones(len(a)), (a, b)), shape=(count, count)), directed=False)
    parts, node, size = np.unique(merged[first], return_index=True, return_counts=True)
    if len(parts) > 1:
        largest = np.argsort(-size)[:5]
        shown = ", ".join(f"{size[k]} with node {label_of(model.mesh, int(node[k]))}" for k in largest) + (
            ", ..." if len(parts) > 5 else ""
        )
        raise MatrixError(
            f"Model {model.name!r} falls into {len(parts)} parts that nothing connects (nodes in each: {shown}). Merge "
            "coincident nodes, remove nodes of no element, join the parts by a rigid interface, or make each a body "
            "(fem.extract_cells)."
        )
