"""Bases from existing bases: several reduced parts joined to one body, and a changed body without a new reduction.

Both are Rayleigh-Ritz steps in the span of existing shapes and the rigid motions of each part. They need no
factorisation and cost a product of M and K with the shapes. Natural frequencies converge from above.
Sources: Craig and Bampton, AIAA J. 6 (1968) 1313-1319 (synthesis); Hutton and Smith, "Modification of flexible body
dynamics using substructures", in Computer-Aided Analysis of Rigid and Flexible Mechanical Systems (NATO ASI 1993), vol.
2, 215-228 (re-analysis in an existing basis).
"""

from collections.abc import Mapping

import numpy as np
from scipy.linalg import null_space

from fem.errors import MatrixError, unknown_name
from fem.interface import rigid_motion
from fem.join import part_dofs
from fem.model import Model
from fem.renamed import renamed
from reduction.basis import TOLERANCE, Basis, deformation, interface_modes
from reduction.error.reference_frame import attach, diagonalise, require_elastic, require_interface
from reduction.solutions.orthonormal import new_directions
from reduction.solutions.statics import orthonormal_rigid_motions


@renamed(attached_to="reference_frame")
def synthesise(
    joined: Model,
    parts: Mapping[str, Model],
    bases: Mapping[str, Basis],
    welds: Mapping[str, tuple[str, ...] | list[str]],
    reference_frame: str | None = None,
) -> Basis:
    """The basis of an assembly from the bases of its parts (component mode synthesis).

    - `joined`, `parts`, `welds`: the result of `fem.join(parts, welds)`, and its arguments.
    - `bases`: the basis of each part, of any method and frame.

    The shapes and rigid motions of the parts are combined such that welded interfaces move together:

        m = sum of (m_part + 6) - 6 (ends of welds - welds) - 6

    After a change of one part only its own basis must be computed again. With Craig-Bampton bases the static response
    to loads at all interfaces is exact.

    Raises MatrixError for bases that do not belong to the parts.
    """
    joined.require_obeyed()
    require_interface(joined, reference_frame)
    missing = [name for name in parts if name not in bases]
    if missing:
        raise MatrixError(unknown_name("basis of a part", missing[0], bases))
    columns, motions, start = [], {}, 0
    dofs = part_dofs(parts)
    for name, part in parts.items():
        basis = bases[name]
        if len(basis.Psi) != part.ndof or set(basis.interface_modes) != set(part.interfaces):
            raise MatrixError(
                f"The basis of part {name!r} has {len(basis.Psi)} dofs and the interfaces "
                f"{list(basis.interface_modes)}; the part has {part.ndof} dofs and {list(part.interfaces)}."
            )
        R = part.rigid_body_modes(part.centre_of_mass)
        local = np.zeros((joined.ndof, 6 + basis.n_modes))
        local[dofs[name]] = np.hstack([R, basis.Psi])
        columns.append(local)
        for key, interface in part.interfaces.items():
            rows = np.hstack([interface.interface_matrix(part).T @ R, basis.interface_modes[key]])
            motions[f"{name} {key}"] = (start, rows, interface.point)
        start += 6 + basis.n_modes
    conditions = []
    for ends in welds.values():
        reference = motions[ends[0]][2]
        placed = [_placed(motions[end], reference, start) for end in ends]
        conditions += [row - placed[0] for row in placed[1:]]
    C = np.vstack(conditions)
    C = C / np.linalg.norm(C, axis=1, keepdims=True)
    V = np.hstack(columns) @ null_space(C)
    return _rayleigh_ritz(
        joined,
        V,
        "component mode synthesis",
        reference_frame,
        {"parts": {k: f"{b.method}, {b.n_modes}" for k, b in bases.items()}},
    )


@renamed(attached_to="reference_frame")
def reanalyse(basis: Basis, model: Model, reference_frame: str | None = None) -> Basis:
    """`basis` for a changed `model` of the same nodes and interfaces: other materials, added masses or springs
    (`Model.with_point_masses`, `Model.with_springs`).

    The result is as accurate as the old shapes can represent the new ones; changes at interfaces are represented by the
    static shapes of the interfaces. Measure the error with `response_error`. Raises MatrixError when the number of dofs
    has changed, and where shapes deform an interface that is rigid now.
    """
    model.require_obeyed()
    require_interface(model, reference_frame)
    if len(basis.Psi) != model.ndof:
        raise MatrixError(
            f"The basis has {len(basis.Psi)} dofs, the changed model {model.name!r} has {model.ndof}; it must keep its "
            "nodes."
        )
    for name, interface in model.interfaces.items():
        if interface.kind == "rigid" and (error := deformation(model, name, np.asarray(basis.Psi))) > TOLERANCE:
            raise MatrixError(
                f"The basis deforms the interface {name!r}, which is rigid in the changed model {model.name!r}, by "
                f"{error:.1e} of its displacements: keep the kinds of interfaces, or reduce the model anew."
            )
    return _rayleigh_ritz(model, np.asarray(basis.Psi), f"{basis.method}, reanalysed", reference_frame, {})


def _placed(motion: tuple[int, np.ndarray, np.ndarray], reference: np.ndarray, size: int) -> np.ndarray:
    """Motion (6, size) of an interface, at the point `reference`, in the coordinates of all parts."""
    start, rows, point = motion
    moved = np.eye(6)
    moved[:3, 3:] = rigid_motion(np.asarray(reference)[None], np.asarray(point))[:, 3:]
    placed = np.zeros((6, size))
    placed[:, start : start + rows.shape[1]] = moved @ rows
    return placed


def _rayleigh_ritz(
    model: Model, V: np.ndarray, method: str, reference_frame: str | None, given: dict[str, object]
) -> Basis:
    """The basis of the span of V and the rigid motions."""
    R, MR = orthonormal_rigid_motions(model)
    elastic, _ = new_directions(model.M, R, MR, V)
    free, values = diagonalise(model, elastic)
    require_elastic(model, R, values)
    Psi, values = (
        (free, values) if reference_frame is None else diagonalise(model, attach(model, reference_frame, free))
    )
    options = {
        "model": model.name,
        "ndof": model.ndof,
        "interfaces": {name: i.kind for name, i in model.interfaces.items()},
    }
    return Basis(Psi, values, method, reference_frame, interface_modes(model, Psi), options | given)
