"""Short journal bearing with a cavitated film."""

import math
from typing import Any

import numpy as np

from flexmb.mechanism.frame_law import law

_ROOTS = np.polynomial.legendre.leggauss(32)
NODES, WEIGHTS = _ROOTS[0].copy(), _ROOTS[1].copy()
"""Gauss points of the film, whose pressure is a smooth function of the angle."""


@law(
    parameters=("viscosity", "radius", "length", "clearance"),
    positive=("radius", "length", "clearance"),
    non_negative=("viscosity",),
)
def journal_bearing(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """The oil film of a short journal bearing about the axis z; frame `a` in the housing, `b` at the middle of the
    shaft.

    The pressure is that of Reynolds' equation without flow along the circumference (length below half the diameter);
    the film carries where it is compressed, over exactly half of the circumference (Guembel's condition). `viscosity`
    (force time/length^2), `radius` and `length` of the bearing and radial `clearance` (lengths). A shaft that touches
    the housing is an error: the film has no stiffness to offer there. The film stores nothing: what it takes is heat,
    which is negative while the turning shaft, whose friction the law does not include, drives a whirl. Source: Ocvirk,
    NACA TN 2808 (1952).
    """
    viscosity, radius, length, clearance = parameters[0], parameters[1], parameters[2], parameters[3]
    x, y, vx, vy = relative.d[0], relative.d[1], relative.v[0], relative.v[1]
    half = 0.5 * relative.omega[2]
    if x * x + y * y >= clearance * clearance:
        raise ValueError("the shaft touches the housing: the eccentricity exceeds the clearance")
    # the film h = c - x cos - y sin closes with the rate a cos + b sin, as seen by the mean of both surfaces
    a, b = vx + half * y, vy - half * x
    size, factor = math.sqrt(a * a + b * b), viscosity * radius * length**3
    if size > 0.0:
        middle = math.atan2(b, a)
        for k in range(len(NODES)):
            angle = middle + 0.5 * math.pi * NODES[k]
            c, s = math.cos(angle), math.sin(angle)
            film = clearance - x * c - y * s
            push = 0.5 * math.pi * WEIGHTS[k] * factor * (a * c + b * s) / film**3
            wrench[0] -= push * c
            wrench[1] -= push * s
    return 0.0
