"""fem: meshes, materials, matrices, interfaces, factorisations."""

from fem.analysis.natural_modes import NaturalModes, natural_modes
from fem.analysis.static import StaticResult, interface_load, solve_static
from fem.analysis.steps import StepResult, solve_step
from fem.axes.cylindrical import CylindricalAxes
from fem.axes.sides import SideAxes
from fem.beam import Beam, Section, Truss
from fem.dofs.dof_map import DofMap
from fem.drawn_sections.draw import drawn_section
from fem.errors import (
    ConvergenceError,
    FactorisationError,
    FlexmbError,
    FlexmbWarning,
    IllConditionedWarning,
    InterfaceError,
    MaterialError,
    MatrixError,
    MeshError,
    MeshWarning,
    SlowSolverWarning,
    UnitWarning,
)
from fem.exchange.matrices import matrices_of, read_matrices, write_matrices
from fem.files.ansys_matrices import read_ansys
from fem.files.cad import mesh_cad
from fem.files.matrix_files import read_abaqus, read_calculix, read_matrix_market
from fem.files.matrix_record import ImportedMatrices
from fem.files.mesh_files import read_mesh, read_steps, write_mesh
from fem.files.nastran_matrices import read_nastran
from fem.interface import Interface
from fem.join import join
from fem.linear_algebra.factorisations.storage import SolverOptions
from fem.loads import gravity, line_load, point_force, pressure
from fem.lumped_elements import PointMass, Spring
from fem.material import Material
from fem.mesh import structured_meshes
from fem.mesh.check import check_mesh, drop_unused_nodes, fix_orientation, merge_nodes, straighten_cells
from fem.mesh.constraints import Equation, MeanLink, NodeMass, NodeSpring, RigidLink
from fem.mesh.mesh import CellBlock, Mesh
from fem.mesh.selection import in_box, nearest, on_cylinder, on_plane, on_sphere
from fem.mesh.steps import Step
from fem.mesh.surface import Surface
from fem.model import Model
from fem.renamed import refuse_old_names
from fem.sections.beam_table import BeamTable, beam_mass, beam_stiffness
from fem.sections.layup import Ply
from fem.shell import Shell
from fem.split import extract_cells, split

__all__ = [
    "Beam",
    "BeamTable",
    "CellBlock",
    "ConvergenceError",
    "CylindricalAxes",
    "DofMap",
    "Equation",
    "FactorisationError",
    "FlexmbError",
    "FlexmbWarning",
    "IllConditionedWarning",
    "ImportedMatrices",
    "Interface",
    "InterfaceError",
    "Material",
    "MaterialError",
    "MatrixError",
    "MeanLink",
    "Mesh",
    "MeshError",
    "MeshWarning",
    "Model",
    "NaturalModes",
    "NodeMass",
    "NodeSpring",
    "Ply",
    "PointMass",
    "RigidLink",
    "Section",
    "Shell",
    "SideAxes",
    "SlowSolverWarning",
    "SolverOptions",
    "Spring",
    "StaticResult",
    "Step",
    "StepResult",
    "Surface",
    "Truss",
    "UnitWarning",
    "beam_mass",
    "beam_stiffness",
    "check_mesh",
    "drawn_section",
    "drop_unused_nodes",
    "extract_cells",
    "fix_orientation",
    "gravity",
    "in_box",
    "interface_load",
    "join",
    "line_load",
    "matrices_of",
    "merge_nodes",
    "mesh_cad",
    "natural_modes",
    "nearest",
    "on_cylinder",
    "on_plane",
    "on_sphere",
    "point_force",
    "pressure",
    "read_abaqus",
    "read_ansys",
    "read_calculix",
    "read_matrices",
    "read_matrix_market",
    "read_mesh",
    "read_nastran",
    "read_steps",
    "solve_static",
    "solve_step",
    "split",
    "straighten_cells",
    "structured_meshes",
    "write_matrices",
    "write_mesh",
]

refuse_old_names(__name__)
