"""Force elements along a sum of coordinates: cables over pulleys, belts, elastic relations between joints.

Such an element is one row with further terms, as a relation between joints is; its law acts on the sum, and the
transpose of the gradient of the sum distributes the effort.
"""

from collections.abc import Sequence

import numpy as np

from fem.axes.limits import floats
from flexmb.errors import MechanismError
from flexmb.forces.scalar.expression import Expression, expression
from flexmb.kernels.base.data import DISTANCE
from flexmb.mechanism.attachments import not_below_zero, number
from flexmb.mechanism.mechanism import Row, Term


def cable_row(
    name: str, pairs: Sequence[tuple[int, int]], drawn: Sequence[float], fixed: float, length: float | None, law: int
) -> Row:
    """The row of a cable whose pieces between `pairs` of markers are `drawn` (n,) long, beside pieces of constant
    length `fixed`; its free `length` is by default that drawn."""
    if length is not None and not number(length, f"Cable {name!r}: its length") > 0:
        raise MechanismError(f"Cable {name!r}: its length must be a positive number; found {length!r}.")
    free = float(sum(drawn)) if length is None else float(length) - fixed
    terms = tuple(Term(DISTANCE, pair, 0, 1.0) for pair in pairs[1:])
    return Row(DISTANCE, pairs[0], offset=free, law=law, terms=terms)


def belt_law(name: str, radius: float, stiffness: float, damping: float, preload: float) -> Expression:
    """The moment on a wheel of `radius` from both strands of a belt, of the angle by which it is ahead of the other.

    The strands have the tensions `max(0, preload + stiffness x + damping x')` for their elongations `x` and `-x`.
    Raises `MechanismError` when a number is negative or not finite.
    """
    for what, value in (("stiffness", stiffness), ("damping", damping), ("preload", preload)):
        not_below_zero(value, f"Belt {name!r}: its {what}")
    if stiffness == 0:
        raise MechanismError(f"Belt {name!r}: its strands need a positive stiffness; a rigid belt is a gear.")
    given = {"r": abs(float(radius)), "k": float(stiffness), "T": float(preload)} | (
        {"c": float(damping)} if damping else {}
    )
    moved = "k*r*x + c*r*xdot" if damping else "k*r*x"
    return expression(
        f"-r*(max(T + {moved}, 0) - max(T - ({moved}), 0))",
        stored="(max(T + k*r*x, 0)**2 + max(T - k*r*x, 0)**2)/(2*k)",
        **given,
    )


def belt_factors(name: str, first: str, second: str, radii: Sequence[float], crossed: bool) -> dict[str, float]:
    """The relation between two wheels that a belt without elasticity would hold."""
    sizes = floats(radii)
    if sizes.shape != (2,) or not (np.isfinite(sizes) & (sizes > 0)).all():
        raise MechanismError(f"Belt {name!r}: radii are two positive lengths; found {radii!r}.")
    return {f"{first}:rotation": 1.0, f"{second}:rotation": float(sizes[1] / sizes[0]) * (1.0 if crossed else -1.0)}
