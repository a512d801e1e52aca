"""flexmb: flexible bodies inside moving mechanisms, with the energy balance as witness."""

from fem.errors import ConvergenceError, FlexmbError
from flexmb import lie, motion
from flexmb.body import Body, BodyInterface, flexible_body, rigid_body, uniform_rod
from flexmb.compare import Comparison, compare
from flexmb.gauge import RangeWarning
from flexmb.mechanism import Mechanism, State
from flexmb.pieces import Pieces, split
from flexmb.result import Ledger, Result
from flexmb.simulate import simulate
from flexmb.study import Study, every_combination, simulate_many
from flexmb.system import System

__all__ = [
    "Body",
    "BodyInterface",
    "Comparison",
    "ConvergenceError",
    "FlexmbError",
    "Ledger",
    "Mechanism",
    "Pieces",
    "RangeWarning",
    "Result",
    "State",
    "Study",
    "System",
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
