"""The properties of an element family: nodes, faces, edges, shape functions, quadrature."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np
from jaxtyping import Float

from fem.elements.quadrature import Rule
from fem.errors import MeshError


@dataclass(frozen=True, eq=False)
class Element:
    """An isoparametric solid element on its reference cell.

    - `kind`: meshio name; `coordinates` (nn, 3): reference coordinates of the nodes, corners first (VTK order);
    - `corners`: number of corner nodes; `edges`: (corner, corner, mid node) of the quadratic elements, else empty;
    - `faces`: node numbers of each face, corners first and then mid nodes, normals outward by the right-hand rule;
    - `shape(xi)` (q, nn) and `gradient(xi)` (q, nn, 3): shape functions and their derivatives at `xi` (q, 3);
    - `stiffness_rule`: full integration, exact when the map from the reference cell is affine;
    - `mass_rule`: exact on every straight-sided cell, so that mass, centre and inertia of the mesh are exact there.

    On curved cells both rules leave the usual error of isoparametric elements, of the order of the interpolation.

    What else depends on the kind:

    - `incompatible`: the cell has the three modes 1 - xi_k^2 (`fem.matrices.cell_matrices`);
    - `hourglass`: not zero for cells with one mean gradient, whose other motions have a stiffness of this fraction of
      the Young's modulus (`fem.matrices.cell_matrices`) and whose mass moves with the mean of the nodes;
    - `mirrored`: node order that turns a mirrored cell right;
    - `corner_volume`: volume spanned by the unit edge vectors at a corner of the regular cell, the measure of quality;
    - `cube`: corners of the cells that fill the reference cube, for structured meshes; corner 8 is its middle;
    - `larger`: cells of files whose first nodes are this cell, the others lying inside faces and the cell;
    - `cell`: the cell on which the element lives, as files call it; another element's where only shape functions,
      rules or modes differ. Default: its own, `kind`, with
    - `vtk`, `gmsh`: numbers of the cell there, and `gmsh_order`: Gmsh's place of each node (empty: the same);
    - `abaqus`: type names, "C3D8" also for its variants ("C3D8R"), and `abaqus_faces`: corners of the faces S1, S2,
      ...;
    - `nastran`: cards, and `nastran_order`: the place in the card of each node (empty: the same).
    """

    kind: str
    coordinates: Float[np.ndarray, "nn 3"]
    corners: int
    edges: tuple[tuple[int, int, int], ...]
    faces: tuple[tuple[int, ...], ...]
    shape: Callable[[np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray], np.ndarray]
    stiffness_rule: Rule
    mass_rule: Rule
    _: KW_ONLY
    incompatible: bool = False
    hourglass: float = 0.0
    mirrored: tuple[int, ...]
    corner_volume: float
    cube: tuple[tuple[int, ...], ...] = ()
    larger: tuple[str, ...] = ()
    cell: str = ""
    vtk: int | None = None
    gmsh: int | None = None
    gmsh_order: tuple[int, ...] = ()
    abaqus: tuple[str, ...] = ()
    abaqus_faces: tuple[tuple[int, ...], ...] = ()
    nastran: tuple[str, ...] = ()
    nastran_order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.coordinates)
        for name in ("mirrored", "gmsh_order", "nastran_order"):
            order = getattr(self, name)
            if order and sorted(order) != list(range(n)):
                raise MeshError(f"Element {self.kind!r}: {name} is an order of its {n} nodes; found {order}.")
        if {k for face in self.faces for k in face} - {*range(n)}:
            raise MeshError(f"Element {self.kind!r}: faces are of nodes 0 to {n - 1}; found {self.faces}.")
        if not self.cell:
            object.__setattr__(self, "cell", self.kind)

    @property
    def own_cell(self) -> bool:
        """Whether cells of files with this name are this element."""
        return self.cell == self.kind

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.coordinates)


def polynomial_basis(coordinates: np.ndarray, powers: np.ndarray) -> tuple[Callable, Callable]:
    """Shape functions in the span of the monomials `x^a y^b z^c` (rows of `powers`), one at their own node and zero at
    the others."""
    p = np.asarray(powers)

    def monomials(xi: np.ndarray, drop: int | None = None) -> np.ndarray:
        exponents = p.copy()
        factor = np.ones(len(p))
        if drop is not None:
            factor = p[:, drop].astype(float)
            exponents[:, drop] = np.maximum(p[:, drop] - 1, 0)
        return factor * np.prod(np.asarray(xi)[:, None, :] ** exponents, axis=2)

    coefficients = np.linalg.inv(monomials(coordinates))

    def shape(xi: np.ndarray) -> np.ndarray:
        return monomials(xi) @ coefficients

    def gradient(xi: np.ndarray) -> np.ndarray:
        return np.stack([monomials(xi, k) @ coefficients for k in range(3)], axis=2)

    return shape, gradient


def edges_of(pairs: str, first: int) -> tuple[tuple[int, int, int], ...]:
    """Edges from "01 12 20": corner pairs in the order of their mid nodes, which start at number `first`."""
    return tuple((int(p[0]), int(p[1]), first + k) for k, p in enumerate(pairs.split()))
