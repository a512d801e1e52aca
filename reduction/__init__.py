"""From a finite element model to a small basis of elastic shapes."""

from reduction.basis import Basis, check
from reduction.craig_bampton import craig_bampton, guyan
from reduction.free_interface import craig_chang, herting
from reduction.modal import modal
from reduction.quality import Report, report
from reduction.response_error import ResponseError, response_error
from reduction.second_order import SecondOrder, second_order
from reduction.strain import strain_rows

__all__ = [
    "Basis",
    "Report",
    "ResponseError",
    "SecondOrder",
    "check",
    "craig_bampton",
    "craig_chang",
    "guyan",
    "herting",
    "modal",
    "report",
    "response_error",
    "second_order",
    "strain_rows",
]
