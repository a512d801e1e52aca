"""From a finite element model to a small basis of elastic shapes."""

from reduction.basis import Basis, check
from reduction.craig_bampton import craig_bampton
from reduction.modal import modal
from reduction.quality import Report, report
from reduction.second_order import SecondOrder, second_order
from reduction.strain import strain_rows

__all__ = ["Basis", "Report", "SecondOrder", "check", "craig_bampton", "modal", "report", "second_order", "strain_rows"]
