"""flexmb: flexible bodies inside moving mechanisms, with the energy balance as witness.

- `System`: a mechanism of bodies, joints, forces, controllers and loads; `simulate` moves it; `Result` tells of it.
- `rigid_body`, `flexible_body`, `uniform_rod`: bodies; with `fem` and `reduction`, parts and their reduced shapes.
- `flexmb.forces`: springs with a gap, cables, bearings, tyres, hydraulics; `expression`, `table`, `law`: yours.
- `flexmb.controllers`: PID, linear systems, curves; `control_law`: yours.
- `flexmb.contact`: shapes that touch; `flexmb.time_functions`: motions and factors over time.
- `flexmb.linear`: equilibrium, vibrations, steady running, responses; `flexmb.study`: gradients and variants.
- `flexmb.files`: models, bodies and results; `flexmb.plots`: pictures and curves.

Words of the field, such as bump stop, rope, tyre or restart, are in docs/glossary.md.
"""

import flexmb.neighbours

# isort: split
import flexmb.numba_cache  # noqa: F401 - before all that numba compiles

# isort: split
import fem
import reduction
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
from fem.renamed import refuse_old_names
from flexmb import controllers
from flexmb.analyses.compare import Comparison, compare
from flexmb.bodies import solids
from flexmb.bodies.body import Body, BodyInterface, flexible_body, rigid_body, uniform_rod
from flexmb.bodies.shape import Shape
from flexmb.equations.evaluate import (
    Evaluation,
    accelerations,
    constraint_jacobian,
    constraint_values,
    evaluate,
    mass_matrix,
)
from flexmb.errors import (
    AssemblyError,
    AssemblyWarning,
    ChangeError,
    CoarseOutputWarning,
    ContactPlaceWarning,
    ControllerError,
    CrowdedStepWarning,
    CurveError,
    DriverEffortWarning,
    EnergyBalanceWarning,
    EquilibriumError,
    EventError,
    ExpressionError,
    FeedforwardWarning,
    FileError,
    FrictionWarning,
    GimbalLockWarning,
    GltfWarning,
    HistoryError,
    IntegratorError,
    InverseError,
    JointDriftWarning,
    JointError,
    KinematicsError,
    LawError,
    LawRangeWarning,
    LinearError,
    MassRatioWarning,
    MeasureError,
    MechanismError,
    ModelFileError,
    MotionError,
    NegativeHeatWarning,
    OpenGapWarning,
    PeriodicCoefficientsWarning,
    PictureError,
    PreloadWarning,
    RedundantConstraintWarning,
    RingingReactionsWarning,
    RingingStatesWarning,
    SensitivityWarning,
    SmallDeformationWarning,
    StoredMotionWarning,
    StressError,
    StudyError,
    TableError,
    TableRangeWarning,
    TiltError,
    TruncatedShapeWarning,
    TruncatedStressWarning,
    TunnellingWarning,
    UnilateralError,
    UnitError,
    UnresolvedWarning,
    UnsupportedError,
)
from flexmb.forces.scalar.expression import expression
from flexmb.forces.scalar.force_map import force_map, force_map_from_csv
from flexmb.forces.scalar.table import table, table_from_csv
from flexmb.integrators.bdf import BDF
from flexmb.integrators.energy_momentum import EnergyMomentum
from flexmb.integrators.explicit import Explicit
from flexmb.integrators.generalised_alpha import HHT, GeneralisedAlpha
from flexmb.integrators.method import Method
from flexmb.integrators.radau import Radau
from flexmb.mechanism import curves, time_functions
from flexmb.mechanism.control.law import ControlLaw, control_law
from flexmb.mechanism.frame_law import FrameLaw, Relative, law
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.split import SplitBody, split
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.plots.show import show
from flexmb.results.ledger import Ledger
from flexmb.results.result import Result
from flexmb.results.verdict import Verdict
from flexmb.simulation.simulate import simulate
from flexmb.spatial import lie
from flexmb.study import Study, full_factorial, parameter_study
from flexmb.version import __version__

__all__ = [
    "BDF",
    "HHT",
    "AssemblyError",
    "AssemblyWarning",
    "Body",
    "BodyInterface",
    "ChangeError",
    "CoarseOutputWarning",
    "Comparison",
    "ContactPlaceWarning",
    "ControlLaw",
    "ControllerError",
    "ConvergenceError",
    "CrowdedStepWarning",
    "CurveError",
    "DriverEffortWarning",
    "EnergyBalanceWarning",
    "EnergyMomentum",
    "EquilibriumError",
    "Evaluation",
    "EventError",
    "Explicit",
    "ExpressionError",
    "FactorisationError",
    "FeedforwardWarning",
    "FileError",
    "FlexmbError",
    "FlexmbWarning",
    "FrameLaw",
    "FrictionWarning",
    "GeneralisedAlpha",
    "GimbalLockWarning",
    "GltfWarning",
    "HistoryError",
    "IllConditionedWarning",
    "IntegratorError",
    "InterfaceError",
    "InverseError",
    "JointDriftWarning",
    "JointError",
    "KinematicsError",
    "LawError",
    "LawRangeWarning",
    "Ledger",
    "LinearError",
    "MassRatioWarning",
    "MaterialError",
    "MatrixError",
    "MeasureError",
    "Mechanism",
    "MechanismError",
    "MeshError",
    "MeshWarning",
    "Method",
    "ModelFileError",
    "MotionError",
    "NegativeHeatWarning",
    "OpenGapWarning",
    "PeriodicCoefficientsWarning",
    "PictureError",
    "PreloadWarning",
    "Radau",
    "RedundantConstraintWarning",
    "Relative",
    "Result",
    "RingingReactionsWarning",
    "RingingStatesWarning",
    "SensitivityWarning",
    "Shape",
    "SlowSolverWarning",
    "SmallDeformationWarning",
    "SplitBody",
    "State",
    "StoredMotionWarning",
    "StressError",
    "Study",
    "StudyError",
    "System",
    "TableError",
    "TableRangeWarning",
    "TiltError",
    "TruncatedShapeWarning",
    "TruncatedStressWarning",
    "TunnellingWarning",
    "UnilateralError",
    "UnitError",
    "UnitWarning",
    "UnresolvedWarning",
    "UnsupportedError",
    "Verdict",
    "__version__",
    "accelerations",
    "compare",
    "constraint_jacobian",
    "constraint_values",
    "control_law",
    "controllers",
    "curves",
    "evaluate",
    "expression",
    "fem",
    "flexible_body",
    "force_map",
    "force_map_from_csv",
    "full_factorial",
    "law",
    "lie",
    "mass_matrix",
    "parameter_study",
    "reduction",
    "rigid_body",
    "show",
    "simulate",
    "solids",
    "split",
    "table",
    "table_from_csv",
    "time_functions",
    "uniform_rod",
]

refuse_old_names(__name__, at_first_use=("files", "linear"))
