"""fem: meshes, materials, matrices, interfaces, factorisations."""

from fem import mesh_shapes
from fem.errors import (
    ConvergenceError,
    FactorisationError,
    FlexmbError,
    InterfaceError,
    MaterialError,
    MatrixError,
    MeshError,
)
from fem.interface import Interface
from fem.material import Material
from fem.mesh import CellBlock, Mesh
from fem.mesh_io import read_mesh, write_mesh
from fem.model import Model

__all__ = [
    "CellBlock",
    "ConvergenceError",
    "FactorisationError",
    "FlexmbError",
    "Interface",
    "InterfaceError",
    "Material",
    "MaterialError",
    "MatrixError",
    "Mesh",
    "MeshError",
    "Model",
    "mesh_shapes",
    "read_mesh",
    "write_mesh",
]
