"""The laws of continuous contacts between two frames; the elements are those of flexmb/mechanism/contacts/element.py.

Their parameters hold the shapes and the numbers of the normal law and of friction (flexmb/kernels/contact/forces.py).
"""

from typing import Any

import numba
import numpy as np

from flexmb.kernels.contact import forces, shapes
from flexmb.kernels.contact.forces import DAMPING, DEEPEST, EXPONENT, SHAPE_A, SHAPE_B, STIFFNESS
from flexmb.kernels.contact.shapes import MOST

NUMBERS = 19
"""Number of the parameters of all contacts."""
LEAST_SPEED = NUMBERS
"""Further parameter of a contact that remembers the speed of approach: the least speed."""
RESTITUTION = NUMBERS
"""Further parameter of a contact with permanent indentation."""


@numba.njit(cache=True)
def seen_points(relative: Any, p: Any, points: Any) -> int:
    """The contact points of the shapes of the parameters `p`."""
    a, b = SHAPE_A, SHAPE_B
    count = shapes.shape_points(
        int(p[a]), p[a + 1], p[a + 2], p[a + 3], int(p[b]), p[b + 1], p[b + 2], p[b + 3], relative.d, relative.S, points
    )
    for k in range(count):
        if points[k, 6] > p[DEEPEST]:
            raise ValueError("the bodies overlap by more than their size: take smaller steps or a stiffer contact")
    return count


@numba.njit
def contact(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """Elastic and damped contact with friction; the depth of every point has its own force."""
    points = np.empty((MOST, 8))
    energy = 0.0
    for k in range(seen_points(relative, parameters, points)):
        point = points[k]
        normal, stored = forces.normal_force(point, relative.d, relative.v, relative.omega, parameters)
        if point[6] > 0.0:
            energy += stored
            forces.push(point, relative.d, relative.v, relative.omega, normal, parameters, wrench)
    return energy


@numba.njit
def contact_of_each_impact(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, new: Any) -> Any:
    """As `contact`, at one point, with the damping of the speed of approach at the beginning of each impact."""
    points = np.empty((MOST, 8))
    if seen_points(relative, parameters, points) == 0:
        return 0.0
    point = points[0]
    approach, _, _, _ = forces.point_motion(point, relative.d, relative.v, relative.omega)
    if point[6] <= 0.0:
        new[0] = max(approach, 0.0)
        return 0.0
    new[0] = states[0] if states[0] > 0.0 else max(approach, 0.0)  # the latter where a motion begins in contact
    force, energy = forces.elastic_force(point[6], parameters)
    speed = max(new[0], parameters[LEAST_SPEED])
    normal = force * max(1.0 + parameters[DAMPING] * approach / speed, 0.0)
    forces.push(point, relative.d, relative.v, relative.omega, normal, parameters, wrench)
    return energy


@numba.njit
def contact_with_indentation(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, new: Any) -> Any:
    """Loading along `K d^n`, unloading to a permanent indentation, at one point."""
    points = np.empty((MOST, 8))
    new[0] = states[0]
    if seen_points(relative, parameters, points) == 0:
        return 0.0
    point, n = points[0], parameters[EXPONENT]
    deepest = max(states[0], point[6])
    new[0] = deepest
    share = parameters[RESTITUTION] * parameters[RESTITUTION]
    left = point[6] - deepest * (1.0 - share)
    if deepest <= 0.0 or left <= 0.0:
        return 0.0
    normal = parameters[STIFFNESS] * deepest**n * (left / (share * deepest)) ** n
    forces.push(point, relative.d, relative.v, relative.omega, normal, parameters, wrench)
    return normal * left / (n + 1.0)
