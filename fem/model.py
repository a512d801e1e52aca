"""`Model`: a part as matrices and interfaces, from a mesh with materials or straight from imported matrices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from fem import assembly
from fem.errors import MaterialError, MatrixError
from fem.interface import Interface, require_disjoint, resolve, rigid_motion
from fem.material import Material, unit_suspicion
from fem.mesh import Mesh


class UnitWarning(UserWarning):
    """Modulus, density and size of a part do not fit together."""


class _Once:
    """Matrices made on first use and shared by every model over the same mesh and materials."""

    def __init__(self, M: Callable[[], sp.csr_matrix], K: Callable[[], sp.csr_matrix]) -> None:
        self._M, self._K = M, K

    @cached_property
    def M(self) -> sp.csr_matrix:
        return self._M()

    @cached_property
    def K(self) -> sp.csr_matrix:
        return self._K()


@dataclass(frozen=True, eq=False, init=False)
class Model:
    """A part: nodes, mass and stiffness matrix, interfaces. `dof = 3 * node + component`. Units: consistent.

        part = fem.Model(mesh, fem.Material.steel()).with_interfaces(big="BIG_END", small="SMALL_END")

    `M` and `K` (sparse, symmetric, full storage) are assembled on first use and shared by copies with other interfaces.
    """

    points: Float[np.ndarray, "n 3"]
    interfaces: Mapping[str, Interface]
    mesh: Mesh | None
    materials: tuple[Material, ...]
    name: str
    _matrices: _Once = field(repr=False)
    _cells: tuple[Any, ...] = field(repr=False)

    def __init__(self, mesh: Mesh, material: Material | Mapping[str, Material], name: str | None = None) -> None:
        """`material`: one for the whole mesh, or a dictionary from cell set to material (each cell in exactly one)."""
        import warnings

        if isinstance(material, Material):
            materials, index = (material,), np.zeros(mesh.cell_count, dtype=int)
        else:
            materials, index = tuple(material.values()), assembly.material_of_cells(mesh, dict(material))
        if not all(isinstance(m, Material) for m in materials):
            raise MaterialError(f"Expected fem.Material records; found {[type(m).__name__ for m in materials]}.")
        for m in materials:
            hint = unit_suspicion(m, mesh.size)
            if hint:
                warnings.warn(hint, UnitWarning, stacklevel=2)
        pattern = cached_pattern(mesh)
        self._set(
            points=mesh.points, interfaces={}, mesh=mesh, materials=materials, name=name or mesh.name,
            _matrices=_Once(
                lambda: assembly.mass(mesh, pattern(), list(materials), index),
                lambda: assembly.stiffness(mesh, pattern(), list(materials), index),
            ),
            _cells=(pattern, index),
        )  # fmt: skip

    def _set(self, **values: Any) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @staticmethod
    def from_matrices(M: Any, K: Any, points: Float[np.ndarray, "n 3"], name: str = "imported") -> "Model":
        """A model from imported matrices (3 n, 3 n), three dofs a node, and the coordinates of the nodes.

        Refused with a sentence: wrong shapes, NaN, asymmetry (beyond 1e-8 of the largest entry), a mass that is not
        positive, a stiffness that resists rigid motion (a part still supported, or coordinates that do not belong to it).
        """
        points = np.array(points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise MatrixError(f"Model {name!r}: points must be finite with shape (n, 3); found shape {points.shape}.")
        M, K = (_checked_matrix(A, letter, len(points), name) for A, letter in ((M, "M"), (K, "K")))
        rigid = rigid_motion(points, np.zeros(3))
        total = np.einsum("di,di->i", rigid, M @ rigid)
        if not (total[:3] > 0).all():
            raise MatrixError(
                f"Model {name!r}: M gives the masses {total[:3]} along x, y, z; they must be positive. Are M and K swapped?"
            )
        resisted = np.abs(K @ rigid).max(axis=0) / (np.abs(K).max() * np.abs(rigid).max(axis=0))
        if resisted.max() > 1e-6:
            which = "translation" if resisted[:3].max() > 1e-6 else "rotation"
            raise MatrixError(
                f"Model {name!r}: K resists rigid {which} (relative force {resisted.max():.2g}). A flexible body needs the matrices of the free "
                "part: export K without supports and contacts, and give the coordinates in the order of its nodes."
            )
        model = Model.__new__(Model)
        model._set(
            points=points,
            interfaces={},
            mesh=None,
            materials=(),
            name=name,
            _matrices=_Once(lambda: M, lambda: K),
            _cells=(),
        )
        return model

    @property
    def ndof(self) -> int:
        """Number of degrees of freedom, 3 a node."""
        return 3 * len(self.points)

    @property
    def M(self) -> sp.csr_matrix:
        """Consistent mass matrix (ndof, ndof)."""
        return self._matrices.M

    @property
    def K(self) -> sp.csr_matrix:
        """Stiffness matrix (ndof, ndof)."""
        return self._matrices.K

    def with_interfaces(self, **interfaces: Any) -> "Model":
        """The same part with named interfaces: set names, selections, node numbers or `fem.Interface` records."""
        made = {key: resolve(self, key, spec) for key, spec in interfaces.items()}
        require_disjoint(made)
        copy = Model.__new__(Model)
        copy._set(**{**self.__dict__, "interfaces": made})
        return copy

    def rigid_modes(self, about: Any = (0.0, 0.0, 0.0)) -> Float[np.ndarray, "ndof 6"]:
        """Displacements for unit translations along x, y, z and unit rotations about them through `about`."""
        return rigid_motion(self.points, np.asarray(about, dtype=float))

    def geometric_stiffness(self, u: Float[np.ndarray, " ndof"], initial_displacement: bool = False) -> sp.csr_matrix:
        """Change of the tangent stiffness with the displacements `u`: see `fem.assembly.geometric_stiffness`."""
        if self.mesh is None:
            raise MatrixError(
                f"Model {self.name!r} was made from matrices; geometric stiffness needs its elements. Import the mesh."
            )
        pattern, index = self._cells
        return assembly.geometric_stiffness(
            self.mesh, pattern(), list(self.materials), index, np.reshape(u, (-1, 3)), initial_displacement
        )

    @cached_property
    def _rigid_mass(self) -> np.ndarray:
        R = self.rigid_modes()
        return R.T @ (self.M @ R)

    @property
    def mass(self) -> float:
        """Mass."""
        return float(np.trace(self._rigid_mass[:3, :3]) / 3)

    @property
    def centre_of_mass(self) -> Float[np.ndarray, "3"]:
        """Mass centre in mesh coordinates."""
        S = self._rigid_mass[:3, 3:]
        return np.array([S[1, 2] - S[2, 1], S[2, 0] - S[0, 2], S[0, 1] - S[1, 0]]) / (2 * self.mass)

    def inertia(self, about: Any = None) -> Float[np.ndarray, "3 3"]:
        """Inertia tensor about a point (default: the mass centre), mesh axes."""
        c = self.centre_of_mass
        d = np.zeros(3) if about is None else c - np.asarray(about, dtype=float)
        shift = lambda a: self.mass * (a @ a * np.eye(3) - np.outer(a, a))
        return self._rigid_mass[3:, 3:] - shift(c) + shift(d)

    def __str__(self) -> str:
        lines = [f"model {self.name!r}: {len(self.points)} nodes, {self.ndof} dofs"]
        return "\n".join(lines + [f"  {i}" for i in self.interfaces.values()])


def cached_pattern(mesh: Mesh) -> Callable[[], assembly.Pattern]:
    """The sparsity of a mesh, made when first asked for."""
    made: list[assembly.Pattern] = []

    def pattern() -> assembly.Pattern:
        if not made:
            made.append(assembly.sparsity(mesh))
        return made[0]

    return pattern


def _checked_matrix(A: Any, letter: str, nodes: int, name: str) -> sp.csr_matrix:
    A = sp.csr_matrix(A, dtype=float)
    if A.shape != (3 * nodes, 3 * nodes):
        raise MatrixError(
            f"Model {name!r}: {letter} has shape {A.shape}; {nodes} nodes with 3 dofs each need ({3 * nodes}, {3 * nodes})."
        )
    if not np.isfinite(A.data).all():
        raise MatrixError(f"Model {name!r}: {letter} contains NaN or infinite entries.")
    if not A.nnz:
        raise MatrixError(f"Model {name!r}: {letter} is empty.")
    off = abs(A - A.T)
    if off.nnz and off.max() > 1e-8 * abs(A).max():
        raise MatrixError(
            f"Model {name!r}: {letter} is not symmetric (difference {off.max():.3g}, largest entry {abs(A).max():.3g}). If only one triangle "
            "was exported, complete it: A + A.T - diag(A)."
        )
    return sp.csr_matrix((A + A.T) / 2)
