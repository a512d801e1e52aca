"""Causes of a singular matrix, for the message of a failed factorisation."""

import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

MAX_NAMED = 5


def explain_singularity(A: sp.csr_matrix, equation: int | None) -> str:
    """Where the factorisation met the defect, which defects the matrix itself shows, and the likely causes in a model.

    `equation` is counted from 0; in a model with 3 dofs a node it belongs to node equation // 3. Cost: one graph search
    over A, on failure only.
    """
    where = ""
    if equation is not None:
        where = (
            f"The defect shows at equation {equation} of {A.shape[0]}, counted from 0 (with 3 dofs a node "
            f"and none removed: node {equation // 3}, direction {'xyz'[equation % 3]}). "
        )
    count, label = connected_components(abs(A), directed=False)  # which takes no complex numbers
    parts = ""
    if count > 1:
        first = ", ".join(str(int((label == part).argmax())) for part in range(min(count, MAX_NAMED)))
        more = ", ..." if count > MAX_NAMED else ""
        parts = f"The matrix falls into {count} unconnected parts (first equation of each: {first}{more}). "
    return (
        f"{where}{parts}Likely causes: a body that is free to move (hold it at an interface, or use a method "
        "for free bodies), a part that is not connected to the rest (merge the nodes, or hold it too), a dof "
        "without stiffness (a node of no element, a zero modulus)."
    )
