"""Meshes, supports and solutions of the benchmarks of shells."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import fem
from fem.elements import element
from fem.matrices.assumed_strains import plane_rule, shapes

KINDS = ("quad", "quad8", "quad9", "triangle", "triangle6")
TIED_BUBBLE = {"triangle": 3e-3}
"""Largest error in constant transverse shear of the triangle of three nodes: the mean of the tied shear of its bubble is ten
ninths of that of the bubble, on which the moments act."""
SLOPE = 0.5
"""Shear strain yz of the patch, for a strain xz of one."""
Place = Callable[[np.ndarray, np.ndarray], tuple]


def shell(
    kind: str, divisions: tuple[int, int], place: Place, thickness: float, E: float, nu: float, density: float = 1.0
) -> fem.Model:
    """A shell of `place(a, b)`, a and b over the unit square."""
    mesh = fem.structured_meshes.sheet(kind, (1.0, 1.0), divisions)
    a, b = mesh.points[:, 0], mesh.points[:, 1]
    points = np.stack(np.broadcast_arrays(*place(a, b)), axis=1).astype(float)
    material = fem.Material.isotropic(E, nu, density)
    return fem.Model(replace(mesh, points=points), fem.Shell(material, thickness))


def held(model: fem.Model, nodes: str, components: Sequence[int]) -> np.ndarray:
    """Dofs of a set of nodes: components 0 to 2 translations, 3 to 5 rotations."""
    chosen = model.mesh.nodes(nodes) if model.mesh is not None else np.zeros(0, dtype=np.int64)
    both = np.concatenate([model.dof_map.translations(chosen), model.dof_map.rotations(chosen)], axis=1)
    return np.asarray(both[:, list(components)].ravel())


def symmetric(model: fem.Model, nodes: str, axis: int) -> np.ndarray:
    """Dofs that vanish on a plane of symmetry normal to an axis; the rotation about the normal of the shell is one."""
    return held(model, nodes, [axis, *(3 + k for k in range(3) if k != axis)])


def solve(model: fem.Model, loads: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Displacements under loads (ndof, ...) with the dofs `fixed` at rest."""
    free = np.setdiff1d(np.arange(model.ndof), fixed)
    u = np.zeros(loads.shape)
    scale = sp.diags_array(1 / np.sqrt(model.K.diagonal()[free]))  # as pivots, rotations count like displacements
    u[free] = scale @ sla.splu((scale @ model.K[free][:, free] @ scale).tocsc()).solve(scale @ loads[free])
    return u


def corner(model: fem.Model, a: str, b: str) -> int:
    """The node that two sides share."""
    mesh = model.elements.mesh
    return int(np.intersect1d(mesh.nodes(a), mesh.nodes(b))[0])


def spread(model: fem.Model, nodes: str, component: int) -> np.ndarray:
    """A unit load (ndof,) spread evenly over a side."""
    dofs = held(model, nodes, [component])
    share = np.ones(len(dofs))
    if len(element(model.elements.mesh.cells[0].kind).edges):  # Simpson's rule
        share[1::2] = 2.0
        share /= 1.5
    share[[0, -1]] /= 2
    share /= len(dofs) - 1
    f = np.zeros(model.ndof)
    f[dofs] = share
    return f


def pinched_cylinder(kind: str, n: int) -> float:
    """Deflection under the load over 1.8248e-5, an eighth of the cylinder, n cells a side."""
    angle = np.pi / 2
    model = shell(kind, (n, n), lambda a, b: (300 * b, 300 * np.sin(a * angle), 300 * np.cos(a * angle)), 3.0, 3e6, 0.3)
    load = 3 * corner(model, "x0", "y0") + 2
    f = np.zeros(model.ndof)
    f[load] = -0.25
    fixed = [
        symmetric(model, "x0", 1),
        symmetric(model, "x1", 2),
        symmetric(model, "y0", 0),
        held(model, "y1", (1, 2, 3)),
    ]
    return float(-solve(model, f, np.concatenate(fixed))[load] / 1.8248e-5)


def scordelis_lo(kind: str, n: int) -> float:
    """Deflection of the middle of the free edge over 0.3024, a quarter of the roof, n cells a side."""
    angle = np.deg2rad(40)
    model = shell(
        kind,
        (n, n),
        lambda a, b: (25 * b, 25 * np.sin(a * angle), 25 * np.cos(a * angle)),
        0.25,
        4.32e8,
        0.0,
        density=360.0,
    )
    f = fem.gravity(model, (0, 0, -1.0))
    fixed = [symmetric(model, "x0", 1), symmetric(model, "y0", 0), held(model, "y1", (1, 2))]
    return float(-solve(model, f, np.concatenate(fixed))[3 * corner(model, "x1", "y0") + 2] / 0.3024)


def hemisphere(kind: str, n: int) -> float:
    """Deflection under the loads over 0.0940, a quarter of the hemisphere with a hole of 18 degrees, n cells a side."""
    up, turn = np.deg2rad(72), np.pi / 2
    model = shell(
        kind,
        (n, n),
        lambda a, b: (
            10 * np.cos(up * b) * np.cos(turn * a),
            10 * np.cos(up * b) * np.sin(turn * a),
            10 * np.sin(up * b),
        ),
        0.04,
        6.825e7,
        0.3,
    )
    x, y = 3 * corner(model, "x0", "y0"), 3 * corner(model, "x1", "y0") + 1
    f = np.zeros(model.ndof)
    f[x], f[y] = 1.0, -1.0
    fixed = [symmetric(model, "x0", 1), symmetric(model, "x1", 0), np.array([x + 2])]
    return float(solve(model, f, np.concatenate(fixed))[x] / 0.0940)


def twisted_beam(kind: str, n: int, thickness: float) -> tuple[float, float]:
    """Deflections of the tip of 12 n by 2 n cells under unit forces along its width and across, over the references."""
    turn = np.pi / 2
    model = shell(
        kind,
        (12 * n, 2 * n),
        lambda a, b: (12 * a, 1.1 * (b - 0.5) * np.cos(turn * a), 1.1 * (b - 0.5) * np.sin(turn * a)),
        thickness,
        29e6,
        0.22,
    )
    f = np.column_stack([spread(model, "x1", c) for c in (2, 1)])
    u = solve(model, f, held(model, "x0", range(6)))
    tip = model.elements.mesh.nodes("x1")[n]
    along, across = (5.424e-3, 1.754e-3) if thickness == 0.32 else (5256.0, 1294.0)
    return float(u[3 * tip + 2, 0] / along), float(u[3 * tip + 1, 1] / across)


PATCH = np.array([[0, 0], [0.24, 0], [0.24, 0.12], [0, 0.12], [0.04, 0.02], [0.18, 0.03], [0.16, 0.08], [0.08, 0.08]])
PATCH_CELLS = np.array([[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7], [4, 5, 6, 7]])


def patch(kind: str) -> fem.Model:
    """MacNeal and Harder's patch: a rectangle of five distorted cells of four or nine nodes, or ten triangles; E = 1e6, nu = 0.25, h = 0.001."""
    cells, plane = PATCH_CELLS, PATCH
    shape = element(kind)
    if shape.corners == 3:
        cells = np.stack([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]], axis=1).reshape(-1, 3)
    if len(shape.edges):
        ends = np.sort(np.stack([cells[:, [a, b]] for a, b, _ in shape.edges], axis=1), axis=2)
        edges, middle = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
        plane = np.vstack([PATCH, PATCH[edges].mean(axis=1), PATCH[cells].mean(axis=1)])
        centres = 8 + len(edges) + np.arange(len(cells))
        cells = np.column_stack([cells, 8 + middle.reshape(len(cells), -1), centres])[:, : shape.nodes]
        kept, cells = np.unique(cells, return_inverse=True)
        plane, cells = plane[kept], cells.reshape(-1, shape.nodes)
    points = np.column_stack([plane, np.zeros(len(plane))])
    mesh = fem.Mesh(points, (fem.CellBlock(kind, cells),))
    return fem.Model(mesh, fem.Shell(fem.Material.isotropic(1e6, 0.25, 1.0), 0.001))


def moments_of_shear(model: fem.Model) -> np.ndarray:
    """Loads of the moments on the area that are in equilibrium with the shear forces of `w = x + SLOPE y`, with their work on
    the rotations inside cells."""
    loads = np.zeros(model.dof_map.size_of_all)
    for cells, dofs in model.elements.shells:
        force = cells.shell.section.stiffness[6:, 6:] @ (1.0, SLOPE)  # of shear strains xz, yz in the axes of the mesh
        points, weights = plane_rule(cells.n)
        N, _, bubble, _ = (np.array(values) for values in zip(*(shapes(cells.n, *p) for p in points), strict=True))
        every = slice(0, len(cells.x))
        area = np.linalg.norm(np.cross(*np.moveaxis(cells.bases(every, points)[:, :, :2], 2, 0)), axis=2) * weights
        own = np.zeros((len(dofs), cells.n, 6))
        own[:, :, 3:] = (area @ N)[..., None] * np.array([-force[1], force[0], 0.0])
        inner = np.zeros((len(dofs), cells.bubbles))
        if cells.bubbles:
            inner = (area @ bubble)[:, None] * np.einsum("x,exk->ek", [*force, 0.0], cells.bubble(every)[1])
        both = np.concatenate([own.reshape(len(dofs), -1), inner], axis=1)
        followed = cells.follow(every, np.broadcast_to(np.eye(dofs.shape[1]), (len(dofs), *2 * dofs.shape[1:])))
        np.add.at(loads, dofs, np.einsum("ea,ead->ed", both, followed[:, : both.shape[1]]))
    return loads


def patch_errors(kind: str) -> dict[str, float]:
    """Largest error of the inner nodes, relative to the largest displacement, of exact motions of the outer ones: a membrane
    strain, a curvature, a transverse shear strain. Constant shear forces without bending are in equilibrium with moments on
    the area alone: these act, and the sections of the nodes are held."""
    model = patch(kind)
    x, y, o = model.points.T
    fields = {
        "membrane": ([x + y / 2, y + x / 2, o], [o, o, o], False),
        "bending": ([o, o, (x**2 + x * y + y**2) / 2], [y + x / 2, -(x + y / 2), o], False),
        "transverse shear": ([o, o, x + SLOPE * y], [o, o, o], True),
    }
    outer = np.flatnonzero((x == 0) | (x == 0.24) | (y == 0) | (y == 0.12))
    errors = {}
    for name, (u, theta, sections) in fields.items():
        exact = np.concatenate([np.column_stack(u).ravel(), np.column_stack(theta).ravel()])
        fixed = np.concatenate([model.dof_map.translations(outer).ravel(), model.dof_map.rotations(outer).ravel()])
        if sections:
            fixed = np.union1d(fixed, model.dof_map.rotations(np.arange(len(x)))[:, :2].ravel())
        known = np.where(np.isin(np.arange(model.ndof), fixed), exact, 0.0)
        loads = moments_of_shear(model) if sections else 0.0
        found = known + solve(model, loads - model.K @ known, fixed)
        errors[name] = float(np.abs(found - exact).max() / np.abs(exact).max())
    return errors
