"""Whether the coefficients of small motions about a steady motion change as it turns.

They do where a part that turns moves against one that does not turn, unless both are the same in all directions about
the axis: blades on a tower, or a shaft in bearings that are softer in one direction. The coefficients at two places of
the motion are compared, in the same coordinates.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from flexmb.differences import ROUNDING
from flexmb.equations.evaluation import Equations, angles_near
from flexmb.linear.first_order import first_order
from flexmb.linear.rest.steady import LATER
from flexmb.linear.velocity_freedom import velocity_freedom
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.scales import speed_of
from flexmb.mechanism.state import State

CONSTANT = 1e-6
"""Change of the coefficients of small motions about a steady motion, relative to inertia, frequencies and rate of
turning, below which they are constant.
"""
UNSTEADY = 1e-3
"""Change of the rates of joints, relative to the speed, in the time of a radian, from which a motion is not steady."""
BEYOND = 100.0
"""Change of coefficients, relative to that of the rates, which it may be due to."""
LARGEST = 1500
"""Largest number of velocities of mechanisms whose states are examined, by dense matrices."""
STEPS = 32
"""Steps to a later place, of second order; their errors are along coordinates that change nothing."""
ERRORS = 10.0
"""Change of coefficients, relative to the bounds of their errors, up to which it may be due to these."""


def acceleration(linear: Any) -> float:
    """The largest acceleration of a coordinate of the joints, in radians or lengths of the mechanism."""
    own = linear.independent
    return float(np.abs(own.joint_rates[1] * own.joint_weight).max(initial=0.0))


def unsteadiness(linear: Any) -> float:
    """The largest acceleration of a coordinate of the joints about a moving state, or rate of a state of an element
    over its usual change, relative to the speed of the mechanism; infinite for large mechanisms, which are not
    examined."""
    mechanism, state, flat = linear.mechanism, linear.state, compiled(linear.mechanism)
    if len(flat.weight) > LARGEST:
        return np.inf
    speed = speed_of(state.w, flat.weight)
    found = acceleration(linear) / speed**2
    if len(linear.state_sizes):
        e = Equations(mechanism, state.q, state.angles, state.element_states)
        e.residual(mechanism.function_values(state.t), state.q, state.w, linear.wdot, linear.multipliers)
        found = max(found, float((np.abs(e.workspace.state_rates) / linear.state_sizes).max(initial=0.0)) / speed)
    return found


def later(linear: Any, direction: int) -> State:
    """The state of a steady motion, whose joints keep their rates, after a turn by a fraction of a radian (`direction`
    1) or before it (-1)."""
    mechanism, state, own = linear.mechanism, linear.state, linear.independent
    after = direction * LATER / speed_of(state.w, compiled(mechanism).weight)
    e, rates = Equations(mechanism, state.q, state.angles, state.element_states), own.joint_rates[0]
    q, h = state.q, after / STEPS
    for _ in range(STEPS):
        middle = e.displaced(q, 0.5 * h * (own.of_joints(q) @ rates))
        q = e.displaced(q, h * (own.of_joints(middle) @ rates))
    none = np.zeros_like(state.w)
    q, w = e.project(state.t + after, q, own.of_joints(q) @ rates, none, np.zeros(mechanism.joint_rows))
    return replace(state, t=state.t + after, q=q, w=w, angles=angles_near(mechanism, q, state.angles))


def largest_change(before: Any, after: Any) -> float:
    """The largest change of the coefficients between two places of a motion, relative to inertia, frequencies and rate
    of turning."""
    flat = compiled(before.mechanism)
    speed = speed_of(before.state.w, flat.weight)
    own, other = before.independent, before.independent.continued(after.state, after.wdot)
    if before.is_first_order:
        return _of_first_order(before, after, speed)
    first = [before.N.T @ A for A in before.along(own.motions)]
    second = [other.motions[0].T @ A for A in after.along(other.motions)]
    M, K = (A + A.T for A in (first[0], first[2]))
    squares, shapes = scipy.linalg.eigh(K, M)
    shapes *= np.sqrt(2.0)  # for unit masses
    pace = np.sqrt(np.abs(squares) + speed**2)
    sizes = [np.ones_like(M), np.sqrt(np.outer(pace, pace)), np.outer(pace, pace)]
    return max(
        float((np.abs(shapes.T @ (b - a) @ shapes) / size).max())
        for a, b, size in zip(first, second, sizes, strict=True)
    )


def _of_first_order(before: Any, after: Any, speed: float) -> float:
    """The same of equations of first order: changes of the rates of `[y, u, z]`, relative to their scales and to the
    speed or the rate itself, beyond the bounds of the errors."""
    flat, own = compiled(before.mechanism), before.independent
    other, count = own.continued(after.state, after.wdot), own.motions[0].shape[1]
    freedom = velocity_freedom(own, own.motions, count)
    same = velocity_freedom(other, other.motions, count, freedom.chosen)
    models = first_order(before, own.motions, freedom, count), first_order(after, other.motions, same, count)
    _, nu, _ = models[0].sizes
    fast = (np.abs(models[0].rates[:, count : count + nu]) * flat.weight[:, None]).max(axis=0, initial=0.0)
    scales = np.concatenate([1 / before.sizes, speed / np.where(fast > 0, fast, 1.0), before.state_sizes])
    relative = scales / scales[:, None]
    A, changed = (np.linalg.solve(model.E, model.F) for model in models)
    error = sum(
        np.abs(np.linalg.inv(model.E)) @ (model.F_error + ROUNDING * np.abs(model.E) @ np.abs(A)) for model in models
    )
    excess = np.maximum(np.abs(changed - A) - ERRORS * error, 0.0) * relative
    return float((excess / np.maximum(np.abs(A) * relative, speed)).max(initial=0.0))
