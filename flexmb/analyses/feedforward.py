"""Feedforward: efforts by which coordinates of a flexible mechanism follow a path to an order, not before it begins.

The elastic coordinates are expanded in powers of `epsilon`, the ratio of the slowest elastic vibration's period to the
time scale of the path. The first term is the deformation under the inertia forces of the rigid motion; each further
term adds those of the deformation before. Each sweep solves, at each time for itself, the equations of motion with the
velocities and accelerations of the motion before: the joints then move by what the deformation leaves of the path.

Source: Gorius, Seifried, Eberhard, Approximate feedforward control of flexible mechanical systems (2012).
"""

import warnings
from collections.abc import Sequence

import numpy as np

from fem.axes.limits import is_number, is_whole
from flexmb.analyses.inverse_dynamics import Inverse, Servo, inverse_of, prepared
from flexmb.analyses.inverse_problem import InverseProblem, within
from flexmb.errors import FeedforwardWarning, InverseError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.simulation.simulate import Progress
from flexmb.spatial.configuration import difference


def feedforward(
    system: System | Mechanism,
    servos: Sequence[Servo],
    actuators: Sequence[str],
    duration: float,
    step: float,
    *,
    order: int = 2,
    after: float = 0.0,
    progress: Progress | None = None,
) -> Inverse:
    """The efforts of `actuators` by which the coordinate of every servo follows its motion to an order.

    Unlike those of `inverse_dynamics`, the efforts do not begin before the motion, and end with it; the error of the
    motion is proportional to `epsilon**(order + 2)`, where `epsilon` is the ratio of the period of the slowest elastic
    vibration to the time scale of the motion.

    - `servos`, `actuators`, `duration`, `step`: as of `inverse_dynamics`. A motion needs `order + 2` continuous
      derivatives (`smooth_step(..., derivatives=order + 2)`).
    - `order`: even; 0 gives the efforts of the undeformed mechanism. Damping in proportion to `1 / epsilon` (a given
      ratio of critical damping) halves the gain of every two orders.
    - `after`: time after the motion in which the mechanism is at rest.
    - `progress`: called with the fraction that is done.

    The result of the returned `Inverse` is the approximate motion; `forward()` shows the motion that the efforts
    cause. Cost: `order / 2 + 2` solutions at each time.

    Raises `InverseError` for input that does not fit, and `ConvergenceError` when the path is out of reach; a
    `FeedforwardWarning` tells that the expansion does not converge.
    """
    if not is_whole(order) or order < 0 or order % 2:
        raise InverseError(f"The order of a feedforward is an even number, 0, 2, 4, ...; found {order}.")
    if not (is_number(after) and after >= 0):
        raise InverseError(f"after must be finite and not negative; found {after}.")
    problem, mechanism = prepared(system, servos, actuators, duration, step, after=after)
    report, passes = progress or (lambda done: None), order // 2 + 2
    motion, changes = problem.at_rest(within(report, 0.0, 1 / passes)), []
    for k in range(1, passes):
        before = motion
        motion = problem.balanced(*problem.rates(before.q), before, within(report, k / passes, (k + 1) / passes))
        changes.append(_change(problem, before.q, motion.q))
    if len(changes) > 1 and changes[-1] > 0.5 * changes[-2] > REACHED:
        warnings.warn(
            f"The expansion of the motion of {mechanism.name!r} does not converge: the last two terms change it by "
            f"{changes[-2]:.2g} and {changes[-1]:.2g} of its length. The motion is too fast for the elastic bodies, or "
            f"it has no {order + 2} continuous derivatives; use a lower order, a smoother motion, a larger step, or "
            "inverse_dynamics.",
            FeedforwardWarning,
            stacklevel=2,
        )
    return inverse_of(problem, mechanism, motion, len(changes))


REACHED = 1e-10
"""Changes of the motion, in lengths of the mechanism or radians, that are round-off."""


def _change(problem: InverseProblem, before: np.ndarray, after: np.ndarray) -> float:
    """The largest change of configurations (nt, nq), in lengths of the mechanism or radians."""
    apart = (np.abs(difference(problem.flat, a, b)) * problem.flat.weight for a, b in zip(before, after, strict=True))
    return float(max(one.max() for one in apart))
