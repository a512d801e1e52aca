"""`Model`: a part as matrices and interfaces, from a mesh with materials or straight from imported matrices."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.axes.limits import floats
from fem.beam import Beam, Truss
from fem.dofs.dof_map import DofMap
from fem.dofs.warping import Warping
from fem.errors import MaterialError, MatrixError, MeshError, MeshWarning, UnitWarning
from fem.interface import Interface, require_disjoint, resolve, rigid_motion
from fem.linear_algebra.factorisations.storage import SolverOptions
from fem.lumped_elements import Lump, PointMass, Spring, added_stiffness, lumps_of
from fem.material import Material, check_units
from fem.matrices import assembly
from fem.matrices.beam_matrices import Beams, LineMass, Trusses
from fem.matrices.beam_surface import BeamSurface, beam_surface
from fem.matrices.matrix_check import RIGID, checked_free_matrices
from fem.matrices.shell_matrices import Shells
from fem.matrices.shell_surface import PlyStresses, layers, ply_stresses, shell_surface
from fem.matrices.sparsity import Pattern, sparsity
from fem.matrices.stress import at_stress_places, fibre_stresses, nodal_stresses
from fem.mesh.check import (
    warn_of_doubled_cells,
    warn_of_untied_nodes,
    width_in_other_units,
)
from fem.mesh.constraints import Equation, MeanLink, RigidLink
from fem.mesh.mesh import Mesh
from fem.mesh.surface import Surface, require_distinct, surface_of
from fem.mesh.unread import Declared, Unread, materials_of_file, require_obeyed
from fem.renamed import renamed
from fem.sections.beam_table import BeamTable
from fem.shell import Shell
from fem.shown import shown

_MATERIALS = (Material, Beam, BeamTable, Shell, Truss)
VARIES = 0.01
"""Change of the size of sections along a beam, relative to the largest, from which a warning says so."""

AT_NODES = (
    "Masses, springs and dampers at nodes belong to the mesh: dataclasses.replace(mesh, masses=(fem.NodeMass(...),), "
    "springs=(fem.NodeSpring(...),))."
)


def _require(what: str, given: Iterable[Any], *kinds: type) -> None:
    """Raise `MeshError` where one of the things given to a method is of none of `kinds`."""
    for thing in given:
        if not isinstance(thing, kinds):
            wanted = " or ".join(f"fem.{kind.__name__}" for kind in kinds)
            raise MeshError(f"{what} takes {wanted}; found {type(thing).__name__}. {AT_NODES}")


class _Condensed:
    """Matrices over the free dofs, from `mass_of_all` and `stiffness_of_all` over those of all nodes."""

    dofs: DofMap
    lumps: tuple[Lump, ...]
    mass_of_all: Any
    stiffness_of_all: Any

    @cached_property
    def M(self) -> sp.csr_matrix:
        return self.dofs.condense(self.mass_of_all)

    @cached_property
    def K(self) -> sp.csr_matrix:
        return self.dofs.condense(self.stiffness_of_all)

    def _with_lumps(self, M: sp.csr_matrix) -> sp.csr_matrix:
        return sp.csr_matrix(sum((lump.mass_matrix for lump in self.lumps), start=M))


@dataclass(frozen=True, eq=False)
class _Assembly(_Condensed):
    """Matrices of a mesh, made on first use and shared by every model of the part."""

    mesh: Mesh
    materials: assembly.Materials
    material_of: np.ndarray
    dofs: DofMap
    lumps: tuple[Lump, ...] = ()
    added: sp.csr_matrix | None = None
    """Stiffness matrix of the springs that were added at interfaces, over the dofs of all nodes."""

    @cached_property
    def beams(self) -> list[tuple[Beams, np.ndarray]]:
        return assembly.beam_groups(self.mesh, self.materials, self.material_of, self.dofs)

    @cached_property
    def shells(self) -> list[tuple[Shells, np.ndarray]]:
        return assembly.shell_groups(self.mesh, self.materials, self.material_of, self.dofs)

    @cached_property
    def trusses(self) -> list[tuple[Trusses, np.ndarray]]:
        return assembly.truss_groups(self.mesh, self.materials, self.material_of, self.dofs)

    @property
    def turning(self) -> list[tuple[Beams | Shells | Trusses, np.ndarray]]:
        """Beams, shells and trusses, the cells that are no solids: their matrices have the same names."""
        return [*self.beams, *self.shells, *self.trusses]

    @cached_property
    def pattern(self) -> Pattern:
        return sparsity(self.mesh)

    def _forget_pattern_after(self, other: str) -> None:
        """Both matrices made: the memory of the pattern is worth more than the time to make it again."""
        if other in self.__dict__:
            self.__dict__.pop("pattern", None)

    @cached_property
    def solid_mass(self) -> sp.csr_matrix:
        M = assembly.mass(self.mesh, self.pattern, self.materials, self.material_of)
        self._forget_pattern_after("stiffness_of_all")
        if self.mesh.masses:
            lumps = np.zeros(len(self.mesh.points))
            np.add.at(lumps, [m.node for m in self.mesh.masses], [m.mass for m in self.mesh.masses])
            M = (M + sp.diags_array(np.repeat(lumps, 3))).tocsr()
        return M

    @cached_property
    def mass_of_all(self) -> sp.csr_matrix:
        """Mass matrix over the dofs of all nodes."""
        turning = [(b.mass(), dofs) for b, dofs in self.turning]
        return self._with_lumps(assembly.with_turning_cells(self.solid_mass, turning, self.dofs.size_of_all))

    @cached_property
    def stiffness_of_all(self) -> sp.csr_matrix:
        """Stiffness matrix over the dofs of all nodes."""
        solid = assembly.stiffness(self.mesh, self.pattern, self.materials, self.material_of)
        self._forget_pattern_after("solid_mass")
        turning = [(b.stiffness(), dofs) for b, dofs in self.turning]
        K = assembly.with_turning_cells(solid, turning, self.dofs.size_of_all)
        if any(s.stiffness for s in self.mesh.springs):
            K = (K + self._between_nodes("stiffness")).tocsr()
        return K if self.added is None else (K + self.added).tocsr()

    @cached_property
    def D(self) -> sp.csr_matrix | None:
        """Damping matrix of the dampers between nodes over the free dofs, None without any."""
        if not any(s.damping for s in self.mesh.springs):
            return None
        return self.dofs.condense(self._between_nodes("damping"))

    def _between_nodes(self, what: str) -> sp.csr_matrix:
        """The matrix of the springs, or of the dampers, between nodes, over the dofs of all nodes."""
        roots = np.sqrt([getattr(s, what) for s in self.mesh.springs if getattr(s, what)])
        C = sp.diags_array(roots) @ self.motions_of(what)
        return sp.csr_matrix(C.T @ C)

    def motions_of(self, what: str) -> sp.csr_matrix:
        """The motions of the springs with a "stiffness", or a "damping", from the dofs of all nodes, a row for each."""
        found = [s for s in self.mesh.springs if getattr(s, what)]
        label = self.mesh.node_label
        rows = [self.dofs.row(s.nodes, s.components, s.coefficients, s.source, label) for s in found]
        return sp.csr_matrix(sp.vstack([sp.csr_matrix((0, self.dofs.size_of_all)), *rows], format="csr"))


def _dofs_of(
    mesh: Mesh, materials: assembly.Materials, material_of: np.ndarray, bare: np.ndarray | None = None
) -> DofMap:
    unturned = None
    if bare is None and mesh.constraints:
        bare, unturned = mesh.bare_nodes, mesh.unturned_nodes
    rates = Warping.of(mesh, materials, material_of)
    return DofMap.of(mesh.points, mesh.rotation_nodes, mesh.constraints, bare, rates, unturned, mesh.node_label)


@dataclass(frozen=True, eq=False)
class _Imported(_Condensed):
    """Matrices as they were given, over the dofs of all nodes."""

    solid_mass: sp.csr_matrix
    stiffness_of_all: sp.csr_matrix
    damping_of_all: sp.csr_matrix | None
    dofs: DofMap
    lumps: tuple[Lump, ...] = ()

    @cached_property
    def mass_of_all(self) -> sp.csr_matrix:
        return self._with_lumps(self.solid_mass)

    @cached_property
    def D(self) -> sp.csr_matrix | None:
        T, D = self.dofs.T, self.damping_of_all
        return D if T is None or D is None else sp.csr_matrix(T.T @ D @ T)


@shown
@renamed(with_added="with_point_masses with_springs", rigid_modes="rigid_body_modes")
@dataclass(frozen=True, eq=False, init=False)
class Model:
    """A part: nodes, mass and stiffness matrix, interfaces, surfaces. Units: consistent.

        part = fem.Model(mesh, fem.Material.steel()).with_interfaces(big="BIG_END", small="SMALL_END")

    - `M` and `K` (sparse, symmetric, full storage) are assembled on first use and shared by copies with other
      interfaces.
    - Dofs of all nodes: displacements first, `3 * node + component`; then rotations of the nodes of beams,
      `3 n + 3 k + component` for `rotation_nodes[k]`; then rates of twist of beams with `torsion="vlasov"`. The model's
      are those that constraints leave independent, in the same order; `dof_map` holds both.
    - `solver`: options of the factorisations.
    - For a model made from matrices `mesh` is None and `materials` is empty.

    Raises `MaterialError` when a material is not a `fem.Material`, `fem.Beam`, `fem.BeamTable`, `fem.Truss` or
    `fem.Shell`.
    """

    points: Float[np.ndarray, "n 3"]
    interfaces: Mapping[str, Interface]
    surfaces: Mapping[str, Surface]
    mesh: Mesh | None
    materials: assembly.Materials
    name: str
    solver: SolverOptions
    _matrices: _Assembly | _Imported = field(repr=False)

    def __init__(
        self,
        mesh: Mesh,
        material: Any = None,
        name: str | None = None,
    ) -> None:
        """`material`: one for the whole mesh, or a dictionary from cell set to material (each cell in exactly one); a
        `fem.Beam` (material and section) or a `fem.BeamTable` (section matrices) for line cells, a `fem.Truss`
        (material and area) for truss cells, a `fem.Shell` (material and thickness) for triangles and quadrilaterals.
        Default: the materials that the file of the mesh gives to its cells (`mesh.declared`).

        Raises MaterialError for cells without a material or with two. Issues a MeshWarning for cells that occur twice
        and for nodes that ties of the file do not reach, and a UnitWarning when modulus, density and
        size do not belong to one system of units, or a section is wider, or a shell thicker, than the mesh is large.
        The matrices are assembled on first use.
        """
        warn_of_doubled_cells(mesh)
        warn_of_untied_nodes(mesh)
        by_set: Mapping[str, Any] = material if isinstance(material, Mapping) else {"": material}
        wrong = [type(m).__name__ for m in by_set.values() if m is not None and not isinstance(m, _MATERIALS)]
        if wrong:
            raise MaterialError(
                f"Model of mesh {mesh.name!r}: expected fem.Material, fem.Beam, fem.BeamTable, fem.Truss or fem.Shell "
                f"records; found {', '.join(wrong)}."
            )
        materials = tuple(by_set.values())
        if material is None:
            materials, material_of = materials_of_file(mesh)
        elif isinstance(material, Mapping):
            material_of = assembly.material_of_cells(mesh, material)
        else:
            material_of = np.zeros(mesh.cell_count, dtype=int)
        hints: dict[str, None] = {}  # one of each, however many sections have the material
        for m in materials:
            if isinstance(m, BeamTable) or (isinstance(m, Shell) and m.stiffness is not None):
                continue  # no material, whose units could be checked, or one that stands for a stiffness
            hint = check_units(m if isinstance(m, Material) else m.material, mesh.size) or width_in_other_units(mesh, m)
            hints |= {hint: None} if hint else {}
        for hint in hints:
            warnings.warn(hint, UnitWarning, stacklevel=2)
        self._set(
            points=mesh.points,
            interfaces={},
            surfaces={},
            mesh=mesh,
            materials=materials,
            name=name or mesh.name,
            solver=SolverOptions(),
            _matrices=_Assembly(mesh, materials, material_of, _dofs_of(mesh, materials, material_of)),
        )

    def _set(self, **values: Any) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @staticmethod
    def from_matrices(
        M: Any,
        K: Any,
        points: Float[np.ndarray, "n 3"] | None,
        name: str = "imported",
        *,
        dofs: Any = None,
        damping: Any = None,
    ) -> "Model":
        """A model from imported matrices (ndof, ndof) and the coordinates `points` (n, 3) of the nodes.

        - `dofs` (ndof, 2): for every row the node and the component, 0 to 2 displacements, 3 to 5 rotations about the
          axes. By default `3 * node + component`, or `6 * node + component` for matrices of 6 n rows. All nodes have
          displacements, some have rotations; rotations without stiffness and mass are no dofs of the model.
        - `damping` (ndof, ndof): the force on the part is `-D` times the velocity. Its symmetric part damps, its
          antisymmetric part is gyroscopic (wheels that spin in the part, for instance).

        Raises `MatrixError` for wrong shapes, NaN, asymmetry (beyond 1e-8 of the largest entry), a mass that is not
        that of a rigid body in rigid motion, a stiffness or damping that resists rigid motion (a part still supported,
        or coordinates that do not belong to it), and damping that supplies energy. `fem.read_matrices` and its
        neighbours read matrices of other programs.
        """
        if points is None:
            raise MatrixError(
                f"Model {name!r}: matrices need the coordinates of their nodes, and these are not with them. Give "
                "points (n, 3), such as those of a mesh of the part."
            )
        points = floats(points)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise MatrixError(f"Model {name!r}: points must be finite with shape (n, 3); found shape {points.shape}.")
        points.setflags(write=False)
        matrices = _Imported(*checked_free_matrices(M, K, points, name, dofs, damping))
        model = Model.__new__(Model)
        model._set(
            points=points,
            interfaces={},
            surfaces={},
            mesh=None,
            materials=(),
            name=name,
            solver=SolverOptions(),
            _matrices=matrices,
        )
        return model

    @property
    def dof_map(self) -> DofMap:
        """The dofs of the nodes, and how constraints make some of them follow others."""
        return self._matrices.dofs

    @property
    def ndof(self) -> int:
        """Number of independent degrees of freedom: 3 a node, 3 more for each node with rotations, less those that
        constraints eliminate."""
        return self.dof_map.size

    @cached_property
    def unread(self) -> tuple[Unread, ...]:
        """Statements of the mesh file about the part that this model does not obey: keywords of the file, and materials
        that differ from those of the model."""
        if not isinstance(self._matrices, _Assembly):
            return ()
        source, found = self._matrices, []
        first: dict[int, Declared] = {}
        for declared in source.mesh.declared:
            for number in np.unique(source.material_of[declared.cells]):
                given = source.materials[number]
                reason = declared.contradiction(given)
                reason = reason or declared.told_apart(first.setdefault(int(number), declared))
                if reason is not None:
                    found.append(replace(declared.source, text=reason))
        return (*source.mesh.unread, *found)

    def require_obeyed(self) -> None:
        """Raise `MeshError` if the file of the mesh has keywords that are not obeyed and not accepted (`unread`)."""
        require_obeyed(self.name, self.unread)

    @property
    def rotation_nodes(self) -> Int[np.ndarray, " nr"]:
        """Sorted numbers of the nodes that have rotations: those of beams, and references of rigid links."""
        return self.dof_map.rotation_nodes

    def displacements(self, u: Float[np.ndarray, "ndof *k"]) -> Float[np.ndarray, "n 3 *k"]:
        """The displacements of all nodes for the independent ones `u`, without rotations."""
        return self.dof_map.displacements(u)

    @property
    def M(self) -> sp.csr_matrix:
        """Consistent mass matrix (ndof, ndof). Shared: do not write into it."""
        return self._matrices.M

    @property
    def K(self) -> sp.csr_matrix:
        """Stiffness matrix (ndof, ndof) of the free part. Shared: do not write into it."""
        return self._matrices.K

    @property
    def solid_mass(self) -> sp.csr_matrix:
        """Mass matrix (3 n, 3 n) of the nodal displacements without beams, shells and lumps at interfaces; over the
        dofs of all nodes for a model made from matrices."""
        return self._matrices.solid_mass

    @property
    def D(self) -> sp.csr_matrix | None:
        """Damping and gyroscopic matrix (ndof, ndof): that of imported matrices, or of the dampers between the nodes of
        a mesh (`fem.NodeSpring`); None without one."""
        return self._matrices.D

    @property
    def damper_loads(self) -> sp.csr_matrix:
        """The unit forces (ndof, k) of the k dampers between the nodes of a mesh; none for imported matrices."""
        if not isinstance(self._matrices, _Assembly):
            return sp.csr_matrix((self.ndof, 0))
        return sp.csr_matrix(self.dof_map.gather(self._matrices.motions_of("damping").T))

    def line_masses(self, fields: Float[np.ndarray, "ndof k"]) -> list[LineMass]:
        """The mass of beams, trusses, shells and lumps at interfaces, at points, with `fields` there: a record for each
        group of cells and each lump."""
        source, u = self._matrices, self.dof_map.expand(fields)
        cells = source.turning if isinstance(source, _Assembly) else []
        return [*(b.line_mass(u[dofs]) for b, dofs in cells), *(lump.line_mass(u) for lump in source.lumps)]

    def second_moments(
        self, fields: Float[np.ndarray, "ndof m"]
    ) -> tuple[Float[np.ndarray, "3 m m"], Float[np.ndarray, "3 3 m m"]]:
        """Integrals over the mass of beams, shells and lumps of the second-order motion `p_ij` of mass centres and
        directors for pairs of `fields`, and of `X_a (p_ij)_b`."""
        u, m = self.dof_map.expand(fields), fields.shape[1]
        first, moments = np.zeros((3, m, m)), np.zeros((3, 3, m, m))
        source = self._matrices
        for cells, dofs in source.turning if isinstance(source, _Assembly) else []:
            a, b = cells.second_moments(u[dofs])
            first, moments = first + a, moments + b
        for lump in source.lumps:
            both = lump.second_moments(u)
            first, moments = first + both[:3], moments + both[3:].reshape(3, 3, m, m)
        return first, moments

    def moment_loads(self) -> Float[np.ndarray, "ndof 9"]:
        """Forces of the accelerations `X_a e_b` (column 3 a + b), X from the origin of the mesh; their work on u is the
        integral of `X_a u_b` over the mass."""
        return self.dof_map.gather(self.moment_loads_of_all())

    def moment_loads_of_all(self) -> Float[np.ndarray, "n_all 9"]:
        """`moment_loads` over the dofs of all nodes."""
        n, size = len(self.points), self.dof_map.size_of_all
        field = np.einsum("na,bc->ncab", self.points, np.eye(3)).reshape(3 * n, 9)
        source = self._matrices
        if not self.has_elements:  # nodes turn with the field: half its curl, e_a x e_b / 2
            turned = np.cross(np.eye(3)[:, None], np.eye(3)[None]).transpose(2, 0, 1).reshape(3, 9) / 2
            field = np.vstack([field, np.tile(turned, (len(self.rotation_nodes), 1))])
        loads = np.vstack([self.solid_mass @ field, np.zeros((size - self.solid_mass.shape[0], 9))])
        for cells, dofs in source.turning if isinstance(source, _Assembly) else []:
            loads += assembly.gathered(cells.moment_loads(), dofs, size)
        return loads + sum(lump.moment_loads() for lump in source.lumps)

    @property
    def mass_of_all(self) -> sp.csr_matrix:
        """Mass matrix over the dofs of all nodes, before constraints are eliminated. Shared: do not write into it."""
        return self._matrices.mass_of_all

    @property
    def stiffness_of_all(self) -> sp.csr_matrix:
        """Stiffness matrix over the dofs of all nodes, before constraints are eliminated. Shared: do not write into
        it."""
        return self._matrices.stiffness_of_all

    def with_constraints(self, *constraints: Any) -> "Model":
        """The same part with additional linear constraints: `fem.Equation`, `fem.RigidLink`, `fem.MeanLink`.

            frame = fem.Model(mesh, steel).with_constraints(fem.RigidLink(nodes=[4, 5, 6], reference=12))

        A `RigidLink` gives rotations to its reference node. Raises `MatrixError` for a model made from matrices or
        with added masses and springs (add these afterwards), and `MeshError` for constraints on nodes that do not
        exist and for other things.
        """
        _require("Model.with_constraints", constraints, Equation, RigidLink, MeanLink)
        source = self.elements
        return self.on_mesh(replace(source.mesh, constraints=(*source.mesh.constraints, *constraints)))

    def on_mesh(self, mesh: Mesh, bare: Int[np.ndarray, " b"] | None = None) -> "Model":
        """The same part on a mesh with the same cells and other constraints, which may have more nodes.

        `bare`: nodes without cells whose dofs are held at zero where nothing depends on them; default: all. Raises
        `MatrixError` for a model with added masses and springs.
        """
        source = self.elements
        if source.added is not None or source.lumps:
            raise MatrixError(
                f"Model {self.name!r}: constraints and supports of steps are given before point masses and springs are "
                "added at interfaces (with_point_masses, with_springs)."
            )
        copy = Model.__new__(Model)
        copy._set(
            points=mesh.points,
            interfaces={},
            surfaces=self.surfaces,
            mesh=mesh,
            materials=self.materials,
            name=self.name,
            solver=self.solver,
            _matrices=_Assembly(
                mesh,
                source.materials,
                source.material_of,
                _dofs_of(mesh, source.materials, source.material_of, bare),
            ),
        )
        kept = {key: replace(i, rotation_dofs=(), warping_dofs=()) for key, i in self.interfaces.items()}
        return copy.with_interfaces(**kept) if kept else copy

    def require_free(self) -> None:
        """Raises `MatrixError` when constraints hold the part in space, or dampers resist its rigid motion: the bodies
        of a mechanism are free."""
        if self.dof_map.holding:
            shown = "; ".join(self.dof_map.holding[:4]) + ("; ..." if len(self.dof_map.holding) > 4 else "")
            raise MatrixError(
                f"Model {self.name!r} is held in space by {len(self.dof_map.holding)} of its constraints ({shown}): "
                "they resist rigid motion, and the frame of a body moves freely. Leave them out, and join the body to "
                "the ground or to other bodies at interfaces; or check the coordinates and coefficients if they "
                "should not hold it. fem.read_mesh(..., ignore=[...]) leaves out those of a file."
            )

        dampers = self.acting_on_rigid_motion("damping")
        if dampers:
            raise MatrixError(
                f"Model {self.name!r}: {'; '.join(dampers[:4])}{'; ...' if len(dampers) > 4 else ''} damps rigid "
                "motion. The damping of a body acts between its own points: a damper along an axis needs two nodes "
                "at one place or on a line along the axis. Leave out dampers to the ground (those of a file by "
                "fem.read_mesh(..., ignore=[...])), and give them to the system."
            )

    def acting_on_rigid_motion(self, what: str) -> list[str]:
        """The springs (`what` "stiffness") or dampers ("damping") between nodes that act against rigid motion."""
        given = [s for s in self.mesh.springs if getattr(s, what)] if self.mesh is not None else []
        if not given:
            return []
        R = self.rigid_body_modes_of_all(self.points.mean(axis=0))
        R[:, 3:] /= np.abs(R[:, 3:]).max()
        rows = sp.vstack([self.dof_map.row(s.nodes, s.components, s.coefficients, s.source) for s in given], "csr")
        acting = np.abs(rows @ R).max(axis=1) > RIGID * (abs(rows) @ np.abs(R)).max(axis=1)
        return list(dict.fromkeys(s.source for s, acts in zip(given, acting, strict=True) if acts))

    def with_interfaces(self, **interfaces: Any) -> "Model":
        """The same part with named interfaces: set names, selections, node numbers or `fem.Interface` records."""
        made = {key: resolve(self, key, spec) for key, spec in interfaces.items()}
        require_disjoint(made, self.mesh)
        copy = Model.__new__(Model)
        copy._set(**{**self.__dict__, "interfaces": made})
        return copy

    def with_surfaces(self, **surfaces: Any) -> "Model":
        """The same part with named surfaces where other bodies may touch it: `part.with_surfaces(teeth="TEETH")`.

        Each is the name of a set of faces (such as a surface of a deck), of nodes or of cells; a selection or node
        numbers (k,), for the faces of the skin all of whose nodes are among them; or faces (nf, 2), as (cell, face of
        the cell). They change no matrix: a reduction makes shapes for them (`reduction.contact_basis`), and a body has
        their static compliance (docs/flexible-contact.md).

        Raises `MeshError` for unknown sets, surfaces without a face of a solid cell, faces between two cells or in two
        surfaces, and for a model made from matrices.
        """
        if self.mesh is None:
            raise MeshError(
                f"Model {self.name!r} was made from matrices and has no faces, of which surfaces consist. Import the "
                "mesh."
            )
        made = {key: surface_of(self.mesh, key, where, self.name) for key, where in surfaces.items()}
        require_distinct([*made.values()], self.name)
        copy = Model.__new__(Model)
        copy._set(**{**self.__dict__, "surfaces": made})
        return copy

    @renamed(resume="checkpoint")
    def with_solver(
        self, memory: int | str | None = None, backend: str = "auto", scratch: Any = None, checkpoint: Any = None
    ) -> "Model":
        """The same part with options for its factorisations: `part.with_solver(memory="4GiB", checkpoint="run/")`.

        The arguments are those of `fem.SolverOptions`.
        """
        copy = Model.__new__(Model)
        copy._set(**{**self.__dict__, "solver": SolverOptions(memory, backend, scratch, checkpoint)})
        return copy

    def with_point_masses(self, masses: Any) -> "Model":
        """The same part with additional rigid lumps at interfaces: `masses`, a dictionary from interface to
        `fem.PointMass`.

        Raises MeshError for other things, InterfaceError and MatrixError. Cost: a sum of sparse matrices.
        """
        if not isinstance(masses, Mapping):
            raise MeshError(
                "Model.with_point_masses takes a dictionary from names of interfaces to fem.PointMass; found "
                f"{type(masses).__name__}. {AT_NODES}"
            )
        _require("Model.with_point_masses", masses.values(), PointMass)
        return self._with_lumped_elements(masses, ())

    def with_springs(self, springs: Any) -> "Model":
        """The same part with additional springs between its interfaces: a list of `fem.Spring`.

        Geometric stiffness does not include them. Raises MeshError for other things, InterfaceError and MatrixError.
        Cost: a sum of sparse matrices.
        """
        _require("Model.with_springs", springs, Spring)
        return self._with_lumped_elements({}, springs)

    def _with_lumped_elements(self, masses: Mapping[str, PointMass], springs: Sequence[Spring]) -> "Model":
        dK = added_stiffness(self, self.interfaces, springs) if springs else None
        return self.with_lumps(lumps_of(self, self.interfaces, masses), dK)

    @property
    def lumps(self) -> tuple[Lump, ...]:
        """The point masses that were added at interfaces."""
        return self._matrices.lumps

    @property
    def added_stiffness(self) -> sp.csr_matrix | None:
        """Stiffness matrix of the springs that were added to a mesh at interfaces, over the dofs of all nodes; None
        without any."""
        return self.elements.added

    def with_lumps(self, lumps: Sequence[Lump], dK: sp.csr_matrix | None = None) -> "Model":
        """The same part with additional lumps, and an additional stiffness over the dofs of all nodes."""
        source: _Assembly | _Imported = self._matrices
        every = (*source.lumps, *lumps)
        if isinstance(source, _Imported):
            K = source.stiffness_of_all
            K = K if dK is None else sp.csr_matrix(K + dK)
            source = _Imported(source.solid_mass, K, source.damping_of_all, source.dofs, every)
        else:
            added = [K for K in (source.added, dK) if K is not None]
            source = replace(
                source, lumps=every, added=sp.csr_matrix(sum(added[1:], start=added[0])) if added else None
            )
        copy = Model.__new__(Model)
        copy._set(**{**{k: v for k, v in self.__dict__.items() if k != "_rigid_mass"}, "_matrices": source})
        return copy

    def rigid_body_modes(self, about: Any = (0.0, 0.0, 0.0)) -> Float[np.ndarray, "ndof 6"]:
        """Displacements for unit translations along x, y, z and unit rotations about them through `about`."""
        return self.rigid_body_modes_of_all(about)[self.dof_map.independent]

    def rigid_body_modes_of_all(self, about: Any = (0.0, 0.0, 0.0)) -> Float[np.ndarray, "n_all 6"]:
        """`rigid_body_modes` over the dofs of all nodes."""
        moved = rigid_motion(self.points, np.asarray(about, dtype=float))
        turned = np.tile(np.hstack([np.zeros((3, 3)), np.eye(3)]), (len(self.rotation_nodes), 1))
        return np.vstack([moved, turned, np.zeros((len(self.dof_map.rates.nodes), 6))])

    def geometric_stiffness(self, u: Float[np.ndarray, " ndof"], initial_displacement: bool = False) -> sp.csr_matrix:
        """Change (ndof, ndof) of the tangent stiffness with the displacements `u`, to first order.

        The result is the stress part (the classical geometric stiffness), or with `initial_displacement` the complete
        change for a St. Venant-Kirchhoff material (see `fem.matrices.geometric_stiffness`). Cost: about that of
        assembling K.

        Raises `MatrixError` when the initial-displacement part is requested for beams, shells or a part with
        constraints, which do not have it.
        """
        source, dof_map = self.elements, self.dof_map
        whole = dof_map.expand(u)
        if initial_displacement and (source.turning or dof_map.T is not None):
            raise MatrixError(
                f"Model {self.name!r}: beams, shells and parts with constraints have the stress part of the "
                "geometric stiffness only."
            )
        solid = assembly.geometric_stiffness(
            source.mesh,
            source.pattern,
            source.materials,
            source.material_of,
            whole[: 3 * dof_map.nodes].reshape(-1, 3),
            initial_displacement,
        )
        turning = [(b.geometric_stiffness(whole[dofs]), dofs) for b, dofs in source.turning]
        K = dof_map.condense(assembly.with_turning_cells(solid, turning, dof_map.size_of_all))
        if dof_map.T is None:
            return K
        references = np.unique(np.asarray(dof_map.link_references, dtype=np.int64))
        rows = (dof_map.T.tocsr()[dof_map.rotations(references).ravel()]).T.tocsr()
        forces = dof_map.link_moments(source.stiffness_of_all @ whole, references)
        return sp.csr_matrix(K + rows @ sp.block_diag([sp.csr_matrix((0, 0)), *forces], format="csr") @ rows.T)

    def projected_geometric_stiffness(
        self, U: Float[np.ndarray, "ndof p"], V: Float[np.ndarray, "ndof m"]
    ) -> Float[np.ndarray, "p m m"]:
        """`V^T K_G(u) V` for every column u of `U`, K_G the stress part of `geometric_stiffness(u)`, without assembling
        a matrix.

        Cost: about 18 m^2 flops for each quadrature point and field.
        """
        return self._stress_work(U, V) + self._link_work(U, V, None)

    def second_order_work(
        self, U: Float[np.ndarray, "ndof p"], loads: Float[np.ndarray, "n_all p"], V: Float[np.ndarray, "ndof m"]
    ) -> Float[np.ndarray, "p m m"]:
        """`projected_geometric_stiffness(U, V)` of static solutions U under `loads` on the dofs of all nodes, less the
        work of these loads in the second-order motion of rigid links."""
        return self._stress_work(U, V) + self._link_work(U, V, loads)

    def _stress_work(self, U: np.ndarray, V: np.ndarray) -> np.ndarray:
        source, u, v = self.elements, self.dof_map.expand(U), self.dof_map.expand(V)
        n = 3 * len(self.points)
        total = assembly.projected_geometric_stiffness(
            source.mesh,
            source.materials,
            source.material_of,
            u[:n].reshape(-1, 3, u.shape[1]),
            v[:n].reshape(-1, 3, v.shape[1]),
        )
        for cells, dofs in source.turning:
            total += cells.projected_geometric_stiffness(u[dofs], v[dofs])
        return total

    def _link_work(self, U: np.ndarray, V: np.ndarray, loads: np.ndarray | None) -> np.ndarray | float:
        if self.dof_map.T is None:
            return 0.0
        forces = self.stiffness_of_all @ self.dof_map.expand(U)
        return self.dof_map.link_forces(forces if loads is None else forces - loads, V)

    def quadratic_strain_loads(
        self, V: Float[np.ndarray, "ndof m"], pairs: Int[np.ndarray, "p 2"]
    ) -> Float[np.ndarray, "ndof p"]:
        """Loads whose work on any u is `v_i^T K_G(u) v_j`, a column for each of the `pairs` (i, j) of columns of `V`.

        They are the nodal forces of the quadratic part of the Green strain of the displacements V. Cost: about that of
        assembling K, times p / 30.
        """
        source, v = self.elements, self.dof_map.expand(V)
        n = 3 * len(self.points)
        loads = np.zeros((len(v), len(pairs)))
        loads[:n] = assembly.quadratic_strain_loads(
            source.mesh, source.materials, source.material_of, v[:n].reshape(-1, 3, v.shape[1]), pairs
        ).reshape(n, -1)
        for cells, dofs in source.turning:
            loads += assembly.gathered(cells.quadratic_strain_loads(v[dofs], pairs), dofs, len(v))
        if self.dof_map.T is not None:
            loads += self.stiffness_of_all @ self.dof_map.link_motion(V, pairs)
        return self.dof_map.gather(loads)

    def gradients(self, U: Float[np.ndarray, "ndof k"]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Iterate over batches of places (p, 3) and gradients `du_i / dx_j` (p, 3, 3, k) of the
        displacement fields `U` (ndof, k).

        The places are the quadrature points of solid cells, the fibres of beams, and the centres of shell cells at the
        bottom and the top.
        """
        source, u = self.elements, self.dof_map.expand(U)
        yield from assembly.gradients(source.mesh, source.materials, source.material_of, self.displacements(U))
        for cells, dofs in source.turning:
            yield cells.gradients(u[dofs])

    def stresses(self, U: Float[np.ndarray, "ndof k"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes (p,), places (p, 3) and stresses (p, 6, k; xx, yy, zz, xy, yz, zx) of the displacement fields `U`.

        The places are the nodes of the skin of solids, then the fibres of beams at both ends of each cell (and between
        them for Vlasov's torsion and tables), the middles of trusses, and the bottom, middle and top of shells at their
        nodes, of layups also both sides of the faces between plies; their node is -1. Stresses jump between materials:
        a place there occurs once for each of them, the stiffest first. Beams are exact for loads at nodes; a load w
        along a cell of length L, such as its weight, adds a moment of w L^2 / 12 (and along the beam a normal force of
        w L / 2) at its ends, which stresses leave out: divide such beams. Issues a `MeshWarning` for beams with torsion
        by Vlasov whose section has no `fibre_warping`: their stresses leave out those of held warping.
        """
        self._warn_of_stresses_left_out()
        source, u = self.elements, self.dof_map.expand(U)
        mesh = source.mesh
        chosen = np.unique(mesh.nodes_of_faces(mesh.boundary_faces))
        owner, stress = nodal_stresses(mesh, source.materials, source.material_of, chosen, self.displacements(U))
        places, owners, found = [mesh.points[owner]], [owner], [stress]
        for beams, dofs in source.beams:
            x, stress = fibre_stresses(at_stress_places(beams, mesh.points[dofs[:, [0, 6]] // 3]), u[dofs])
            found, places, owners = [*found, stress], [*places, x], [*owners, np.full(len(x), -1)]
        for rods, dofs in source.trusses:
            found, places = [*found, rods.stresses(u[dofs])], [*places, rods.x.mean(axis=1)]
            owners = [*owners, np.full(len(rods.x), -1)]
        for shells, dofs in source.shells:
            x, _, stress, _ = layers(shells, u[dofs], shells.shell.section.levels)
            found, places, owners = [*found, stress], [*places, x], [*owners, np.full(len(x), -1)]
        return np.concatenate(owners), np.concatenate(places), np.concatenate(found)

    def _warn_of_stresses_left_out(self) -> None:
        for m in self.materials:
            if isinstance(m, Beam) and m.torsion == "vlasov" and not m.section.fibre_warping:
                warnings.warn(
                    MeshWarning(
                        f"Model {self.name!r}: beams of {m.name!r} hold their warping, and their section has no "
                        "fibre_warping: stresses leave out those along the beam that this causes. Give "
                        "Section(..., fibre_warping=...), or take fem.drawn_section."
                    ),
                    stacklevel=3,
                )
            if isinstance(m, BeamTable) and any(m.moduli) and np.ptp(m.sizes, axis=0).max() > VARIES * m.sizes.max():
                small, large = (f"{bound(m.sizes, axis=0).max():.4g}" for bound in (np.min, np.max))
                warnings.warn(
                    MeshWarning(
                        f"Model {self.name!r}: the sections of {m.name!r} vary along the beam (radii of gyration from "
                        f"{small} to {large}), and its stresses are those at the fibres of one section, "
                        f"{m.section}. Give sections that vary as pieces, each a table with a section of its own."
                    ),
                    stacklevel=3,
                )

    def ply_stresses(self, U: Float[np.ndarray, "ndof k"]) -> list[PlyStresses]:
        """Stresses of the displacement fields `U` in every ply of shells, at its bottom and its top, in the axes of its
        material: a record for each group of cells of one shell."""
        source, u = self.elements, self.dof_map.expand(U)
        return [ply_stresses(shells, dofs[:, ::6] // 3, u[dofs]) for shells, dofs in source.shells]

    def beam_surfaces(self, U: Float[np.ndarray, "ndof k"]) -> list[BeamSurface]:
        """The surfaces of beams and shells, with the displacements and stresses of the fields `U` there: a record for
        each group of cells."""
        source, u = self.elements, self.dof_map.expand(U)
        found = []
        for beams, dofs in source.beams:
            nodes = dofs[:, [0, 6]] // 3
            found.append(beam_surface(beams, source.mesh.points[nodes], nodes, u[dofs]))
        for shells, dofs in source.shells:
            found.append(shell_surface(shells, dofs[:, ::6] // 3, u[dofs]))
        return found

    @property
    def elements(self) -> _Assembly:
        """Mesh, materials and the material of every cell. Raises MatrixError for a model made from matrices."""
        if not isinstance(self._matrices, _Assembly):
            raise MatrixError(f"Model {self.name!r} was made from matrices; this needs its elements. Import the mesh.")
        return self._matrices

    @property
    def has_elements(self) -> bool:
        """Whether the model was made from a mesh, not from matrices: geometric stiffness and stresses need elements."""
        return isinstance(self._matrices, _Assembly)

    @cached_property
    def _rigid_mass(self) -> np.ndarray:
        R = self.rigid_body_modes_of_all()
        return R.T @ (self.mass_of_all @ R)

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
        return self._rigid_mass[3:, 3:] + self.mass * (np.eye(3) * (d @ d - c @ c) + np.outer(c, c) - np.outer(d, d))

    def __str__(self) -> str:
        aside = 0 if self.mesh is None else len(self.mesh.lump_nodes)
        lines = [f"model {self.name!r}: {len(self.points) - aside} nodes, {self.ndof} dofs"]
        parts = [*self.interfaces.values(), *(str(s).partition("\n")[0] for s in self.surfaces.values())]
        return "\n".join(lines + [f"  {part}" for part in parts])
