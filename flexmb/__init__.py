"""flexmb: flexible bodies inside moving mechanisms, with the energy balance as witness."""

from fem.errors import ConvergenceError, FlexmbError
from flexmb import lie, motion
from flexmb.body import Body, BodyInterface, flexible_body, rigid_body, uniform_rod
from flexmb.compare import Comparison, compare
from flexmb.features import UnresolvedWarning
from flexmb.gauge import RangeWarning
from flexmb.initial import AssemblyWarning
from flexmb.integrators.generalised_alpha import RingingReactionsWarning
from flexmb.ledger import Ledger
from flexmb.mechanism import Mechanism, State
from flexmb.pieces import Pieces, split
from flexmb.result import Result
from flexmb.simulate import simulate
from flexmb.study import Study, every_combination, simulate_many
from flexmb.study.trust import SensitivityWarning
from flexmb.system import System
from flexmb.verdict import EnergyBalanceWarning, JointDriftWarning, Verdict

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
    "flexible_body",
    "lie",
    "motion",
    "rigid_body",
    "simulate",
    "simulate_many",
    "split",
    "uniform_rod",
]
