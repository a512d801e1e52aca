"""fem: meshes, materials, matrices, interfaces, factorisations."""

from fem import mesh_shapes
from fem.additions import PointMass, Spring
from fem.ansys_matrices import read_ansys
from fem.beam import Beam, Section
from fem.errors import (
    ConvergenceError,
    FactorisationError,
    FlexmbError,
    InterfaceError,
    MaterialError,
    MatrixError,
    MeshError,
)
from fem.factorisations.storage import Solver
from fem.interface import Interface
from fem.join import join
from fem.loads import gravity, point_force, pressure
from fem.material import Material
from fem.matrices_io import ImportedMatrices, read_abaqus, read_calculix, read_matrix_market
from fem.mesh import CellBlock, Mesh
from fem.mesh_check import check_mesh, drop_unused_nodes, fix_orientation, merge_nodes
from fem.mesh_io import read_mesh, write_mesh
from fem.model import Model, UnitWarning
from fem.nastran_matrices import read_nastran
from fem.raw_mesh import MeshWarning
from fem.selection import in_box, nearest, on_cylinder, on_plane, on_sphere
from fem.split import split

__all__ = [
    "Beam",
    "CellBlock",
    "ConvergenceError",
    "FactorisationError",
    "FlexmbError",
    "ImportedMatrices",
    "Interface",
    "InterfaceError",
    "Material",
    "MaterialError",
    "MatrixError",
    "Mesh",
    "MeshError",
    "MeshWarning",
    "Model",
    "PointMass",
    "Section",
    "Solver",
    "Spring",
    "UnitWarning",
    "check_mesh",
    "drop_unused_nodes",
    "fix_orientation",
    "gravity",
    "in_box",
    "join",
    "merge_nodes",
    "mesh_shapes",
    "nearest",
    "on_cylinder",
    "on_plane",
    "on_sphere",
    "point_force",
    "pressure",
    "read_abaqus",
    "read_ansys",
    "read_calculix",
    "read_matrix_market",
    "read_mesh",
    "read_nastran",
    "split",
    "write_mesh",
]
