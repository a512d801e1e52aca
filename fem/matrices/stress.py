"""Stresses of displacement fields: at the nodes of solids, averaged over their cells, and at the fibres of beams."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.axes.cylindrical import CylindricalAxes
from fem.beam import Beam
from fem.elements import ELEMENTS
from fem.material import Material
from fem.matrices.assembly import Materials, stress_batches
from fem.matrices.beam_matrices import Beams, gauss_rule
from fem.matrices.cell_matrices import VOIGT
from fem.mesh.mesh import Mesh


def nodal_stresses(
    mesh: Mesh,
    materials: Materials,
    material_of: np.ndarray,
    nodes: Int[np.ndarray, "p"],
    U: Float[np.ndarray, "n 3 k"],
) -> tuple[Int[np.ndarray, "s"], Float[np.ndarray, "s 6 k"]]:
    """Nodes of solid cells and the stresses xx, yy, zz, xy, yz, zx of fields there. Stresses jump between materials:
    a node there has those of each of them, the stiffest first.

    In each cell the stresses are extrapolated linearly to the nodes from the stiffness points, where they are most
    accurate; the value at a node is the mean over its cells of one material, weighted by volume. Reference: Hinton,
    Campbell, Local and global smoothing of discontinuous finite element functions (1974).
    """
    place = np.full(len(mesh.points), -1)
    place[nodes] = np.arange(len(nodes))
    at_them = [(place[block.connectivity] >= 0).any(axis=1) for block in mesh.cells]
    material_of = np.where(np.concatenate(at_them), material_of, -1)
    rank = _ranks(materials)
    keys, count = _sides(mesh, rank, material_of, place), len(materials)
    total, weights = np.zeros((len(keys), 6, U.shape[2])), np.zeros(len(keys))
    for shape, connectivity, material, stress, volume in stress_batches(mesh, materials, material_of, U):
        points = shape.stiffness_rule[0]
        linear = len(points) >= 4
        fit, at_nodes = (
            np.column_stack([np.ones(len(x)), x]) if linear else np.ones((len(x), 1))
            for x in (points, shape.coordinates)
        )
        continued = at_nodes @ np.linalg.pinv(fit)  # (nodes of a cell, points)
        here = place[connectivity]
        wanted = here >= 0
        cell, local = np.nonzero(wanted)
        values = np.einsum("pq,pqik->pik", continued[local], stress[cell], optimize=True)
        side = np.searchsorted(keys, here[wanted] * count + rank[material])
        gather = sp.csr_array((volume[cell], (side, np.arange(len(cell)))), shape=(len(keys), len(cell)))
        total += (gather @ values.reshape(len(cell), -1)).reshape(total.shape)
        weights += gather.sum(axis=1)
    return nodes[keys // count], total / weights[:, None, None]


def _ranks(materials: Materials) -> Int[np.ndarray, "m"]:
    """Numbers of materials of solids, the stiffest first; those with the same elasticity and axes have one."""
    solid = [m for m in materials if isinstance(m, Material)]
    order = sorted(range(len(solid)), key=lambda k: -float(np.trace(solid[k].elasticity)))
    seen: dict[tuple[bytes, CylindricalAxes | None], int] = {}
    for k in order:
        seen.setdefault(_kind(solid[k]), len(seen))
    return np.array([seen[_kind(m)] if isinstance(m, Material) else -1 for m in materials])


def _kind(material: Material) -> tuple[bytes, CylindricalAxes | None]:
    return material.elasticity.tobytes(), material.axes


def _sides(
    mesh: Mesh, rank: Int[np.ndarray, "m"], material_of: np.ndarray, place: Int[np.ndarray, "n"]
) -> Int[np.ndarray, "s"]:
    """The pairs of a node, which has a `place` of zero or more, and a material there, as sorted numbers `place` times
    the number of materials plus `rank` of the material."""
    found, first = [np.zeros(0, dtype=np.int64)], 0
    for block in mesh.cells:
        material = material_of[first : first + len(block)]
        first += len(block)
        if block.kind in ELEMENTS:
            here = place[block.connectivity]
            key = here * len(rank) + rank[material][:, None]
            found.append(np.unique(key[(here >= 0) & (material >= 0)[:, None]]))
    return np.unique(np.concatenate(found))


def fibre_stresses(beams: Beams, fields: Float[np.ndarray, "e d k"]) -> tuple[np.ndarray, np.ndarray]:
    """Places (p, 3) of beam fibres and their stresses (p, 6, k) in the axes of the mesh: axial stress of bending and
    extension, mean shear of the section, and that of torsion."""
    x, H = beams.gradients(fields)
    E, G = beams.beam.moduli
    q = beams.x.shape[1]
    axes = np.tile(np.repeat(beams.axes, q, axis=0), (len(x) // (len(beams.axes) * q), 1, 1))  # rows: local axes
    local = np.einsum("pai,pijk,pbj->pabk", axes, 0.5 * (H + H.swapaxes(1, 2)), axes, optimize=True)
    stress = np.zeros_like(local)
    stress[:, 0, 0] = E * local[:, 0, 0]
    for a in (1, 2):
        stress[:, 0, a] = stress[:, a, 0] = 2 * G * local[:, 0, a]
    world = np.einsum("pai,pabk,pbj->pijk", axes, stress, axes, optimize=True)
    return x, np.stack([world[:, i, j] for i, j in VOIGT], axis=1)


def at_stress_places(beams: Beams, ends: Float[np.ndarray, "e 2 3"]) -> Beams:
    """`beams` between the points `ends` at the places where their stresses are given: both ends, where those of bending
    and extension, linear along a beam, are largest; and Gauss points between them where held warping or a table makes
    them vary otherwise."""
    beam = beams.beam
    inner = np.zeros(0)
    if not isinstance(beam, Beam) or beam.torsion == "vlasov":
        inner = gauss_rule(beam, np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))[0]
    places = np.array([0.0, *inner, 1.0])
    return type(beams).of(beam, ends, (places, np.ones(len(places))))


def von_mises(stress: Float[np.ndarray, "*n 6"]) -> Float[np.ndarray, "*n"]:
    """Equivalent stress of von Mises of stresses xx, yy, zz, xy, yz, zx."""
    xx, yy, zz, xy, yz, zx = np.moveaxis(stress, -1, 0)
    return np.asarray(np.sqrt(0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) + 3 * (xy**2 + yz**2 + zx**2)))
