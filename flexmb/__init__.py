"""flexmb: flexible bodies inside moving mechanisms, with the energy balance as witness."""

import flexmb.neighbours  # noqa: F401 - first: it ends the import where a file of the user has the name of a package of ours

# isort: split
import fem
import reduction
from fem.errors import ConvergenceError, FlexmbError
from flexmb.analyses.compare import Comparison, compare
from flexmb.bodies.body import Body, BodyInterface, flexible_body, rigid_body, uniform_rod
from flexmb.bodies.validity import RangeWarning
from flexmb.equations.initial_conditions import AssemblyWarning
from flexmb.equations.time_features import UnresolvedWarning
from flexmb.integrators.generalised_alpha import RingingReactionsWarning
from flexmb.mechanism import time_functions
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.split import Pieces, split
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.results.ledger import Ledger
from flexmb.results.result import Result
from flexmb.results.verdict import EnergyBalanceWarning, JointDriftWarning, Verdict
from flexmb.simulation.simulate import simulate
from flexmb.spatial import lie
from flexmb.study import Study, every_combination, simulate_many
from flexmb.study.gradients.trust import SensitivityWarning

__all__ = [
    "AssemblyWarning",
    "Body",
    "BodyInterface",
    "Comparison",
    "ConvergenceError",
    "EnergyBalanceWarning",
    "FlexmbError",
    "JointDriftWarning",
    "Ledger",
    "Mechanism",
    "Pieces",
    "RangeWarning",
    "Result",
    "RingingReactionsWarning",
    "SensitivityWarning",
    "State",
    "Study",
    "System",
    "UnresolvedWarning",
    "Verdict",
    "compare",
    "every_combination",
    "fem",
    "flexible_body",
    "lie",
    "reduction",
    "rigid_body",
    "simulate",
    "simulate_many",
    "split",
    "time_functions",
    "uniform_rod",
]
