"""From a finite element model to a small basis of elastic shapes."""

from reduction.balanced_truncation import balanced_truncation
from reduction.basis import Basis, check
from reduction.choose import choose
from reduction.craig_bampton import craig_bampton, guyan
from reduction.free_interface import craig_chang, herting
from reduction.frequency_response import FrequencyResponse, frequency_response
from reduction.gramian import gramian
from reduction.irka import irka
from reduction.krylov import krylov
from reduction.methods import METHODS, reduce
from reduction.modal import modal
from reduction.quality import Report, report
from reduction.response_error import ResponseError, response_error
from reduction.second_order import SecondOrder, second_order
from reduction.strain import strain_rows
from reduction.substructures import reanalyse, synthesise
from reduction.vibration import count_modes

__all__ = [
    "METHODS",
    "Basis",
    "FrequencyResponse",
    "Report",
    "ResponseError",
    "SecondOrder",
    "balanced_truncation",
    "check",
    "choose",
    "count_modes",
    "craig_bampton",
    "craig_chang",
    "frequency_response",
    "gramian",
    "guyan",
    "herting",
    "irka",
    "krylov",
    "modal",
    "reanalyse",
    "reduce",
    "report",
    "response_error",
    "second_order",
    "strain_rows",
    "synthesise",
]
