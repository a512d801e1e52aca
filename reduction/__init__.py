"""From a finite element model to a small basis of elastic shapes."""

from fem.renamed import refuse_old_names
from reduction.basis import Basis, check
from reduction.choose import choose
from reduction.error.mode_comparison import ModeComparison, compare_modes
from reduction.error.response_error import ResponseError, response_error
from reduction.exchange.linear_system import LinearSystem, linear_system
from reduction.frequency_response import FrequencyResponse, frequency_response
from reduction.methods.balanced_truncation import balanced_truncation
from reduction.methods.contact_basis import contact_basis
from reduction.methods.craig_bampton import craig_bampton, guyan
from reduction.methods.free_interface import craig_chang, herting
from reduction.methods.gramian import gramian
from reduction.methods.irka import irka
from reduction.methods.krylov import krylov
from reduction.methods.modal import modal
from reduction.registry import METHODS, reduce
from reduction.residual import ResidualCompliance, residual_compliance, residual_displacements
from reduction.second_order import SecondOrder, second_order
from reduction.solutions.statics import prepared
from reduction.solutions.vibration import count_modes
from reduction.strain import strain_modes
from reduction.substructures import reanalyse, synthesise

__all__ = [
    "METHODS",
    "Basis",
    "FrequencyResponse",
    "LinearSystem",
    "ModeComparison",
    "ResidualCompliance",
    "ResponseError",
    "SecondOrder",
    "balanced_truncation",
    "check",
    "choose",
    "compare_modes",
    "contact_basis",
    "count_modes",
    "craig_bampton",
    "craig_chang",
    "frequency_response",
    "gramian",
    "guyan",
    "herting",
    "irka",
    "krylov",
    "linear_system",
    "modal",
    "prepared",
    "reanalyse",
    "reduce",
    "residual_compliance",
    "residual_displacements",
    "response_error",
    "second_order",
    "strain_modes",
    "synthesise",
]

refuse_old_names(__name__)
