"""flexmb: flexible bodies inside moving mechanisms, with the energy balance as witness."""

from fem.errors import ConvergenceError, FlexmbError
from fem.renamed import refuse_old_names
from flexmb.analyses.compare import Comparison, compare
from flexmb.bodies.body import Body, BodyInterface, flexible_body, rigid_body, uniform_rod
from flexmb.bodies.validity import RangeWarning
from flexmb.equations.evaluate import (
    Evaluation,
    accelerations,
    constraint_jacobian,
    constraint_values,
    evaluate,
    mass_matrix,
)
from flexmb.equations.initial_conditions import AssemblyWarning
from flexmb.equations.time_features import UnresolvedWarning
from flexmb.integrators.bdf import BDF
from flexmb.integrators.energy_momentum import EnergyMomentum
from flexmb.integrators.explicit import Explicit
from flexmb.integrators.generalised_alpha import HHT, GeneralisedAlpha, RingingReactionsWarning
from flexmb.integrators.method import Method
from flexmb.integrators.radau import Radau
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
    "BDF",
    "HHT",
    "AssemblyWarning",
    "Body",
    "BodyInterface",
    "Comparison",
    "ConvergenceError",
    "EnergyBalanceWarning",
    "EnergyMomentum",
    "Evaluation",
    "Explicit",
    "FlexmbError",
    "GeneralisedAlpha",
    "JointDriftWarning",
    "Ledger",
    "Mechanism",
    "Method",
    "Pieces",
    "Radau",
    "RangeWarning",
    "Result",
    "RingingReactionsWarning",
    "SensitivityWarning",
    "State",
    "Study",
    "System",
    "UnresolvedWarning",
    "Verdict",
    "accelerations",
    "compare",
    "constraint_jacobian",
    "constraint_values",
    "evaluate",
    "every_combination",
    "flexible_body",
    "lie",
    "mass_matrix",
    "rigid_body",
    "simulate",
    "simulate_many",
    "split",
    "time_functions",
    "uniform_rod",
]

refuse_old_names(__name__)
