"""Continuous laws of the normal force: functions of the depth `d` of an overlap and of its rate `d'`.

The elastic force is `K d^n`: `n = 3/2` for the Hertzian contact of smooth surfaces. Dissipation multiplies it by
`1 + c d'/v`, in which `v` is the speed of approach and the factor `c` depends on the coefficient of restitution `e`
that is wanted. What is reached depends on `c` alone: with the ratio `r` of the speeds after and before,

    (1 + c) / (1 - c r) = exp(c (1 + r))

for every `K`, `n` and mass. Gonthier's factor solves this equation for `r = e`; the others approximate it for `e` near
one, some of them badly elsewhere (`reached_restitution`). The force never pulls.

Sources: Hunt and Crossley (1975); Lankarani and Nikravesh (1990); Gonthier, McPhee, Lange and Piedboeuf (2004); Flores,
Machado, Silva and Martins (2011); Johnson, Contact Mechanics (1985).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import scipy

from fem.errors import unknown_name
from flexmb.errors import LawError

CLOSE = 1e-9
"""Distance of a coefficient of restitution from 1 below which it is 1."""


def reached_restitution(factor: float) -> float:
    """The ratio of the speeds after and before a free impact with the factor `c` of damping.

    Raises `LawError` when the factor is negative or no finite number.
    """
    if not (_is_number(factor) and 0.0 <= factor < math.inf):
        raise LawError(f"A factor of damping is a finite number >= 0; found {factor!r}.")
    if factor <= CLOSE:
        return 1.0
    log = math.log1p(factor)
    highest = min(1.0, 1.0 / factor)

    def left(r: float) -> float:
        return log - math.log1p(-factor * r) - factor * (1.0 + r)

    top = highest * (1 - 1e-15)
    if left(top) < 0.0:  # the root lies between the last two numbers
        return top
    return float(scipy.optimize.brentq(left, 0.0, top, xtol=1e-15))


def _gonthier(e: float) -> float:
    def off(c: float) -> float:
        return reached_restitution(c) - e

    if e >= 1.0 - CLOSE:
        return 0.0
    high = 1.0
    while off(high) > 0.0:
        high *= 2.0
    return float(scipy.optimize.brentq(off, 0.0, high, xtol=1e-15, rtol=1e-14))


FACTORS: dict[str, Callable[[float], float]] = {
    "gonthier": _gonthier,
    "hunt-crossley": lambda e: 1.5 * (1 - e),
    "lankarani-nikravesh": lambda e: 0.75 * (1 - e * e),
    "flores": lambda e: 1.6 * (1 - e) / e,
}
"""The factor `c` of damping by the coefficient of restitution; that of Gonthier is exact."""


@dataclass(frozen=True)
class NormalLaw:
    """A law of the normal force; made by the functions of this file.

    - `stiffness`: force / length^`exponent`; for line contacts `pi E* L`, force / length.
    - `damping`: `c / v`, time / length; with `each_impact` the factor `c`, and `speed` is the least speed of approach.
    - `line`: the difference (bore) or sum of the radii of a line contact, or 0.
    - `restitution`: of permanent indentation, which has no damping; None for other laws.
    """

    title: str
    stiffness: float
    exponent: float = 1.5
    damping: float = 0.0
    line: float = 0.0
    each_impact: bool = False
    speed: float = 0.0
    restitution: float | None = None


@dataclass(frozen=True)
class TurningFriction:
    """Friction of rolling (rolling resistance) and of spinning (torsional or drilling friction): moments against the
    angular velocity across and along the normal.

    - `rolling`, `spinning`: their size per normal force, a length. That of rolling is the distance of the force from
      the middle of the contact, that of spinning of the order of the coefficient of friction times the radius of the
      contact.
    - `speed` (angle/time): the angular velocity at which those of a continuous contact are fully there; below it the
      bodies creep. Exact contacts have none: they roll, or rest.

    Raises `LawError` when a length or the speed is negative, or both lengths are zero.
    """

    rolling: float = 0.0
    spinning: float = 0.0
    speed: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rolling", "spinning"):
            value = getattr(self, name)
            if not (_is_number(value) and 0.0 <= value < math.inf):
                raise LawError(f"The friction of {name} is a length >= 0, a moment over a force; found {value!r}.")
        if not self.rolling + self.spinning > 0.0:
            raise LawError("TurningFriction has a length of rolling, of spinning, or of both; found neither.")
        if not (_is_number(self.speed) and 0.0 <= self.speed < math.inf):
            raise LawError(f"The speed of turning friction must be a number >= 0; found {self.speed!r}.")


def _positive(what: str, **values: float) -> None:
    for name, value in values.items():
        if not (_is_number(value) and 0.0 < value < math.inf):
            raise LawError(f"The {name.replace('_', ' ')} of {what} must be a positive number; found {value!r}.")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _require_restitution(value: float, advice: str = "") -> None:
    if not (_is_number(value) and 0.0 < value <= 1.0):
        raise LawError(f"A coefficient of restitution is above 0 and at most 1; found {value!r}.{advice}")


def _require_poisson(value: float, what: str) -> None:
    if not (_is_number(value) and -1.0 < value <= 0.5):
        raise LawError(f"Poisson's ratio of {what} is above -1 and at most 1/2; found {value!r}.")


def _curvature(radius: float, other: float) -> float:
    """The sum of the curvatures of a sphere of `radius` and of one of radius `other`, a socket if it is negative."""
    if not (_is_number(other) and (other > 0.0 or other < 0.0)):
        raise LawError(
            "The radius of the other surface is positive, infinite for a plane, or negative for a socket; found "
            f"{other!r}."
        )
    curvature = 1.0 / radius + 1.0 / other
    if not curvature > 0.0:
        raise LawError(f"A sphere of radius {radius} does not fit into a socket of radius {-other}.")
    return curvature


def hertz_stiffness(modulus: float, radius: float, other: float = math.inf) -> float:
    """The stiffness `4/3 E* sqrt(R)` of a sphere of `radius` on one of radius `other`; `other` is infinite for a plane
    and negative for a socket. `modulus`: see `effective_modulus`.

    Raises `LawError` when a value is not positive, or the sphere does not fit into the socket.
    """
    _positive("a Hertzian contact", modulus=modulus, radius=radius)
    return 4.0 / 3.0 * modulus * math.sqrt(1.0 / _curvature(radius, other))


def effective_modulus(young: float, poisson: float, other_young: float = math.inf, other_poisson: float = 0.0) -> float:
    """`E*` of two materials: `1/E* = (1 - nu1^2) / E1 + (1 - nu2^2) / E2`; the second is rigid by default.

    Raises `LawError` when a modulus is not positive, or a Poisson's ratio is not above -1 and up to 1/2.
    """
    _positive("a contact", young=young)
    if not (_is_number(other_young) and other_young == math.inf):
        _positive("a contact", other_young=other_young)
    for value in (poisson, other_poisson):
        _require_poisson(value, "a contact")
    return 1.0 / ((1 - poisson**2) / young + (1 - other_poisson**2) / other_young)


def power_law(
    stiffness: float,
    exponent: float = 1.5,
    *,
    restitution: float = 1.0,
    speed: float | None = None,
    factor: str = "gonthier",
    each_impact: bool = False,
) -> NormalLaw:
    """The force `K d^n (1 + c d'/v)`, of the laws of Hertz (without damping), Hunt and Crossley, Lankarani and
    Nikravesh, and Flores.

    - `stiffness` K, `exponent` n >= 1.
    - `restitution` e, the coefficient of restitution, above 0 and up to 1, with the `factor` of damping: "gonthier",
      which reaches it exactly, "hunt-crossley", "lankarani-nikravesh" or "flores".
    - `speed` v: the speed of approach at which the restitution holds; slower impacts lose less. With `each_impact`, the
      speed of each impact, where it is above `speed`: a state of the element, taken at the beginning of the step in
      which the bodies touch, so that the error of the restitution is of the first order in the step.

    Raises `LawError` when a value is out of range or the factor unknown.
    """
    _positive("a contact law", stiffness=stiffness, exponent=exponent)
    if exponent < 1.0:
        raise LawError(f"The exponent of a contact law is at least 1; found {exponent}.")
    advice = " For an impact without rebound, take a small value: the damping of continuous contact is finite."
    _require_restitution(restitution, advice)
    if not isinstance(factor, str) or factor not in FACTORS:
        raise LawError(unknown_name("factor of damping", factor, FACTORS))
    if restitution < 1.0 - CLOSE and speed is None:
        raise LawError(
            "A contact law with a restitution below 1 needs the speed of approach at which it holds, speed=."
        )
    v = 1.0 if speed is None else speed
    _positive("a contact law", speed=v)
    c = 0.0 if restitution >= 1.0 - CLOSE else FACTORS[factor](restitution)
    if each_impact and c > 0.0:
        return NormalLaw("power law", stiffness, exponent, c, each_impact=True, speed=v)
    return NormalLaw("power law", stiffness, exponent, c / v)


def hertz(
    young: float,
    poisson: float,
    radius: float,
    other: float = math.inf,
    *,
    other_young: float = math.inf,
    other_poisson: float = 0.0,
    restitution: float = 1.0,
    speed: float | None = None,
    factor: str = "gonthier",
    each_impact: bool = False,
) -> NormalLaw:
    """Hertz's law of a sphere of `radius` on a plane, on a sphere of radius `other`, or in a socket of radius -`other`:
    `power_law` with the `hertz_stiffness` of the materials.

    - `young`, `poisson`: of the sphere; `other_young`, `other_poisson`: of the other body, rigid by default.
    - `restitution`, `speed`, `factor`, `each_impact`: as of `power_law`.

    Raises `LawError` as `power_law`, `effective_modulus` and `hertz_stiffness`.
    """
    stiffness = hertz_stiffness(effective_modulus(young, poisson, other_young, other_poisson), radius, other)
    return power_law(stiffness, restitution=restitution, speed=speed, factor=factor, each_impact=each_impact)


def elastic_foundation(
    young: float,
    poisson: float,
    thickness: float,
    radius: float,
    other: float = math.inf,
    *,
    restitution: float = 1.0,
    speed: float | None = None,
) -> NormalLaw:
    """A sphere of `radius` on (or, with `other` negative, in a socket of radius -`other` under) an elastic layer of a
    `thickness`, whose pressure is `k d`, `k = E (1 - nu) / ((1 + nu) (1 - 2 nu) h)`: a force `pi R k d^2`.

    Valid for depths that are small against the thickness and the radii; `restitution` and `speed` as in `power_law`.
    Source: Johnson, Contact Mechanics (1985), section 4.3.

    Raises `LawError` as `power_law`, and for a Poisson's ratio that is not below 1/2.
    """
    _positive("an elastic layer", young=young, thickness=thickness, radius=radius)
    if not (_is_number(poisson) and -1.0 < poisson < 0.5):
        raise LawError(f"Poisson's ratio of an elastic layer is above -1 and below 1/2; found {poisson}.")
    k = young * (1 - poisson) / ((1 + poisson) * (1 - 2 * poisson) * thickness)
    return power_law(math.pi * k / _curvature(radius, other), 2.0, restitution=restitution, speed=speed)


def line_contact(modulus: float, length: float, radius_difference: float) -> NormalLaw:
    """Two parallel elastic cylinders: `d = f (log(4 pi E* R / f) - 1) / (pi E*)` with the force `f` per length, `E*` =
    `modulus` and `R` = `radius_difference`, the difference of the radii of bore and shaft.

    Elastic, without damping. Source: Johnson (1985). Raises `LawError` when a value is not positive.
    """
    _positive("a line contact", modulus=modulus, length=length, radius_difference=radius_difference)
    return NormalLaw("line contact", math.pi * modulus * length, line=radius_difference)


def malca(
    modulus: float,
    length: float,
    radius_difference: float,
    *,
    internal: bool = True,
    restitution: float = 1.0,
    speed: float | None = None,
) -> NormalLaw:
    """Cylinders in the explicit form of Malça, Ambrósio and Ramalho (2012), fitted to the line contact of Johnson.

    `(a R + b) L E*/R d^n` with `R` = `radius_difference` (internal) or the sum of the radii (external), **in mm, N and
    MPa**, and `E* = E / (2 (1 - nu^2))`. `R` from 0.05 to 10 mm (internal) or 5 to 500 mm (external). The damping is
    that of Lankarani and Nikravesh. Raises `LawError` when a value is out of range.
    """
    _positive("a contact of cylinders", modulus=modulus, length=length, radius_difference=radius_difference)
    least, most = (0.05, 10.0) if internal else (5.0, 500.0)
    R = radius_difference
    if not least <= R <= most:
        kind = "internal" if internal else "external"
        raise LawError(f"The {kind} contact of cylinders is fitted for radii from {least} to {most} mm; found {R}.")
    if internal:
        y = 1.56 * math.log(1000 * R) ** -0.192 if R < 0.75 else 0.0028 * R + 1.083
        a, b, n = 0.49, 0.10, y * R**-0.005
    else:
        a, b, n = 0.39, 0.85, 1.094
    return power_law(
        (a * R + b) * length * modulus / R, n, restitution=restitution, speed=speed, factor="lankarani-nikravesh"
    )


def permanent_indentation(stiffness: float, restitution: float, exponent: float = 1.5) -> NormalLaw:
    """Loading `K d^n`; unloading `f_m ((d - p) / (m - p))^n` from the deepest `m`, with the force `f_m` there, to the
    permanent indentation `p = m (1 - e^2)`.

    A free impact loses `1 - e^2` of its energy at every speed. The deepest depth is a state of the element: later
    impacts meet the indentation. The law is that of Ma, Menon and Lankarani, with a restitution above 0 and up to 1.
    Raises `LawError` when a value is out of range.
    """
    _positive("a contact law", stiffness=stiffness, exponent=exponent)
    _require_restitution(restitution)
    return NormalLaw("permanent indentation", stiffness, exponent, restitution=restitution)
