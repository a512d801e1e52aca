"""The floor of reactions: what rounding of positions makes of them, derived from the recursions of the method."""

from functools import cache

import numpy as np
from scipy.signal import lfilter

from flexmb.integrators.generalised_alpha import coefficients

ROUNDED = 1.5e-15
"""The largest difference of the joint equations of two runs at a time, of lengths and distances from the origin of the world.

A marker is at `r + R p`: about six operations (`r` stored, `R` from its quaternion, three products, their sum), each rounded to 1.1e-16 at most and 1.1e-16/sqrt(3) in the mean
square; two runs differ by 2.2e-16 in the mean square (measured: 2e-16 to 4e-16, rows of flexible bodies the most). Of the thousands of values of a run the largest is less than four times the latter.
"""


@cache
def gain(hht, rho):
    """Root mean square of the accelerations that independent errors of size one of the positions cause, times the square of the step, in generalised-alpha or HHT.

    A method that is held on noisy positions `x_n = h v_n + ...` has accelerations `beta a_(n+1) + (1/2 + gamma - 2 beta) a_n + (1/2 - gamma + beta) a_(n-1) = (x_(n+1) - 2 x_n + x_(n-1)) / h^2`,
    and those of the motion follow by `(1 - alpha_f) vdot_(n+1) + alpha_f vdot_n = (1 - alpha_m) a_(n+1) + alpha_m a_n`: for generalised-alpha a threefold root at `-rho`, which is why the gain
    grows from 18 at `rho` = 0.3 to 1800 at 0.95; measured reactions follow it.
    """
    s, pulse = coefficients(rho, hht=hht), np.eye(1, 4000)[0]
    a = lfilter([1, -2, 1], [s.beta, 0.5 + s.gamma - 2 * s.beta, 0.5 - s.gamma + s.beta], pulse)
    return float(np.linalg.norm(lfilter([1 - s.alpha_m, s.alpha_m], [1 - s.alpha_f, s.alpha_f], a)))


def floor(how, far):
    """The acceleration by which reactions of two runs may differ; `far`: the largest distance from the origin of the world.

    Methods other than generalised-alpha and HHT have none: the accelerations of their reactions solve the equations of motion, and no step divides their rounding.
    """
    if how.integrator not in ("generalised-alpha", "hht"):
        return 0.0
    return gain(how.integrator == "hht", how.rho_inf) * ROUNDED * far / how.step**2
