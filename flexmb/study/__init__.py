"""Studies of many variants of one model: run on several processes or a cluster, resumed, tabulated, differentiated."""

from flexmb.study.gradients.adjoint import adjoint_gradient
from flexmb.study.gradients.direct import direct_gradient
from flexmb.study.gradients.sensitivity import Gradient, gradient
from flexmb.study.many import parameter_study
from flexmb.study.parameters import full_factorial
from flexmb.study.peaks import peak_series, peaks
from flexmb.study.table import Study

__all__ = [
    "Gradient",
    "Study",
    "adjoint_gradient",
    "direct_gradient",
    "full_factorial",
    "gradient",
    "parameter_study",
    "peak_series",
    "peaks",
]
