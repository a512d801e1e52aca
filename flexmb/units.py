"""Names of units: what a consistent system calls its quantities, and factors to other units for plots.

A name such as "mm-t-s" labels the numbers of a model. No number of a model is converted.
"""

import re
from collections.abc import Mapping, Sequence
from math import inf, isclose, pi
from typing import NamedTuple

from fem.material import UnitSystem
from flexmb.errors import UnitError

ALIASES = {"SI": "m-kg-s", "cgs": "cm-g-s", "MEMS": "um-kg-s"}
"""Other names of systems."""
LENGTHS = {"nm": 1e-9, "um": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1.0, "km": 1e3, "in": 0.0254, "ft": 0.3048}
MASSES = {"mg": 1e-6, "g": 1e-3, "kg": 1.0, "t": 1e3, "lb": 0.45359237, "slug": 14.593902937}
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
FORCES = {"uN": 1e-6, "mN": 1e-3, "N": 1.0, "kN": 1e3, "MN": 1e6, "dyn": 1e-5, "kgf": 9.80665, "lbf": 4.4482216152605}
STRESSES = {"Ba": 0.1, "Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9, "Mbar": 1e11, "psi": 6894.757293168}
ENERGIES = {"pJ": 1e-12, "nJ": 1e-9, "erg": 1e-7, "uJ": 1e-6, "mJ": 1e-3, "J": 1.0, "kJ": 1e3, "MJ": 1e6}
POWERS = {"uW": 1e-6, "mW": 1e-3, "W": 1.0, "kW": 1e3, "MW": 1e6}
FREQUENCIES = {"Hz": 2 * pi, "kHz": 2e3 * pi, "MHz": 2e6 * pi, "cpm": 2 * pi / 60}
"""Units by name, in those of SI; frequencies in rad/s."""
BASE = LENGTHS | MASSES | FORCES | TIMES
ANGLES = {"rad": 1.0, "deg": pi / 180, "rev": 2 * pi}
MOMENTS = {"N m": 1.0, "N mm": 1e-3, "kN m": 1e3, "lbf in": FORCES["lbf"] * 0.0254, "lbf ft": FORCES["lbf"] * 0.3048}
DIMENSIONS: dict[str, tuple[float, float, float]] = {
    "1": (0, 0, 0),
    "angle": (0, 0, 0),
    "time": (0, 0, 1),
    "length": (1, 0, 0),
    "area": (2, 0, 0),
    "velocity": (1, 0, -1),
    "acceleration": (1, 0, -2),
    "angular velocity": (0, 0, -1),
    "angular acceleration": (0, 0, -2),
    "force": (1, 1, -2),
    "moment": (2, 1, -2),
    "energy": (2, 1, -2),
    "power": (2, 1, -3),
    "momentum": (1, 1, -1),
    "angular momentum": (2, 1, -1),
    "stress": (-1, 1, -2),
    "compliance": (0, -1, 2),
    "frequency": (0, 0, -1),
    "growth rate": (0, 0, -1),
    "mass^0.5 length": (1, 0.5, 0),
    "mass^0.5 velocity": (1, 0.5, -1),
}
"""What a number measures, and the exponents of length, mass and time in its unit."""
BY_FORCE = ("moment", "energy", "power", "stress", "compliance")
"""What is written with the unit of force, where that has a name: "N mm"."""
ANGULAR = ("angle", "angular velocity", "angular acceleration")
NEUTRAL = {
    "angle": "rad",
    "angular velocity": "rad per unit of time",
    "frequency": "cycles per unit of time",
    "growth rate": "per unit of time",
}
"""Units in a system without names."""
NAMES = {"force": FORCES, "stress": STRESSES, "energy": ENERGIES, "power": POWERS, "frequency": FREQUENCIES}
"""Units with a name of their own, by what they measure."""
CHOICES: dict[str, Mapping[str, float]] = {
    "angle": ANGLES,
    "time": TIMES,
    "length": LENGTHS,
    "area": {"mm^2": 1e-6, "cm^2": 1e-4, "m^2": 1.0, "in^2": 0.0254**2},
    "velocity": {"mm/s": 1e-3, "m/s": 1.0, "km/h": 1 / 3.6, "in/s": 0.0254, "ft/s": 0.3048},
    "acceleration": {"mm/s^2": 1e-3, "m/s^2": 1.0, "g_n": 9.80665},
    "angular velocity": {"rad/s": 1.0, "deg/s": pi / 180, "rpm": 2 * pi / 60},
    "angular acceleration": {"rad/s^2": 1.0, "deg/s^2": pi / 180},
    "force": FORCES,
    "moment": MOMENTS,
    "energy": ENERGIES,
    "power": POWERS,
    "stress": STRESSES,
    "frequency": FREQUENCIES,
}
"""Units that a plot can show, in those of SI, by what they measure."""


WRITTEN: Mapping[str, tuple[float, tuple[float, float, float]]] = {
    **{name: (size, DIMENSIONS["length"]) for name, size in LENGTHS.items()},
    **{name: (size, (0, 1, 0)) for name, size in MASSES.items()},
    **{name: (size, DIMENSIONS["time"]) for name, size in (TIMES | {"sec": 1.0}).items()},
    **{name: (size, DIMENSIONS["force"]) for name, size in FORCES.items()},
    **{name: (size, DIMENSIONS["stress"]) for name, size in STRESSES.items()},
    **{name: (size, DIMENSIONS["energy"]) for name, size in ENERGIES.items()},
    **{name: (size, DIMENSIONS["power"]) for name, size in POWERS.items()},
    **{name.replace(" ", ""): (size, DIMENSIONS["moment"]) for name, size in MOMENTS.items()},
    **{name: (size, DIMENSIONS["angle"]) for name, size in ANGLES.items()},
    **{name: (size, DIMENSIONS["frequency"]) for name, size in FREQUENCIES.items()},
    "rpm": (2 * pi / 60, DIMENSIONS["angular velocity"]),
    "RPM": (2 * pi / 60, DIMENSIONS["angular velocity"]),
    "rps": (2 * pi, DIMENSIONS["angular velocity"]),
    **dict.fromkeys(("seconds", "second"), (1.0, DIMENSIONS["time"])),
    **dict.fromkeys(("turn", "turns", "revs"), (2 * pi, DIMENSIONS["angle"])),
    **dict.fromkeys(("radian", "radians"), (1.0, DIMENSIONS["angle"])),
    "inch": (LENGTHS["in"], DIMENSIONS["length"]),
    "daN": (10.0, DIMENSIONS["force"]),
    "1": (1.0, DIMENSIONS["1"]),
}
"""Units as titles of columns write them: their sizes in SI, and their exponents of length, mass and time."""
_FACTOR = re.compile(r"([A-Za-z_]+|1)(?:\^?(-?\d))?")
_JOINED = re.compile(r"[*·]|(?<=[A-Za-z])[.-](?=[A-Za-z])")
"""Signs between the factors of a product: "N.m", "in-lbf"."""
_SIGNS = str.maketrans("µμ⁻¹²³", "uu-123")
LETTERS = ("t", "g", "h", "s", "m")
"""Units that may also be the symbol of an argument, as in "speed (t)", where no system of units is known."""
TURNS = ("1/min", "min^-1", "min-1", "r/min", "U/min", "Rpm")
"""Speeds in turns per minute, not radians, as data sheets write them."""


def require_units(units: str | None) -> str | None:
    """The name of a system of units, unchanged, or None. Raises `UnitError` when it has another form."""
    if units is not None:
        _parts(units)
    return units


def named(units: str | None) -> str:
    """The name of a system of units in brackets, for messages; nothing without one."""
    return "" if units is None else f" ({units})"


def _parts(units: str) -> tuple[str, str, str]:
    """The units of length, of mass (or force), and of time."""
    parts = ALIASES.get(units, units).split("-") if isinstance(units, str) else []
    if len(parts) != 3 or not all(part.strip() == part != "" for part in parts):
        raise UnitError(
            'Units are those of length, mass (or force) and time with hyphens between, such as "mm-t-s", "m-kg-s" or '
            f'"in-lbf-s", or one of {", ".join(ALIASES)}; found {units!r}.'
        )
    return parts[0], parts[1], parts[2]


def unit_of(dimension: str, units: str | None = None) -> str:
    """The unit of a dimension: its name in consistent units ("length"), or its symbol in `units` such as "mm-t-s".

    `units` names those of length, mass (or force) and time, with hyphens between; it labels, and converts nothing.
    Units that have a name bear it (N, MPa, mJ). Raises `UnitError` when `units` has another form.
    """
    if units is None:
        return "rad" if dimension == "angle" else dimension
    size = _size(dimension, units)
    for name, known in NAMES.get(dimension, {}).items():
        if size is not None and isclose(size, known, rel_tol=1e-6):
            return name
    force = unit_of("force", units) if dimension in BY_FORCE else None
    return _product(_powers(dimension, units, force if force in FORCES else None), dimension)


def _powers(dimension: str, units: str, force: str | None = None) -> dict[str, float]:
    """The exponents of the units of a system in that of a dimension, with `force` (or that of the system) for mass."""
    length, middle, time = _parts(units)
    by_length, by_mass, by_time = DIMENSIONS[dimension]
    if force or middle in FORCES:
        return {force or middle: by_mass, length: by_length - by_mass, time: by_time + 2 * by_mass}
    return {middle: by_mass, length: by_length, time: by_time}


def _product(powers: Mapping[str, float], dimension: str) -> str:
    """Powers of units as a text: "kg m/s^2", "g/(cm us^2)", "rad/s"."""

    def written(sign: int) -> list[str]:
        return [f"{u}^{abs(p):g}" if abs(p) != 1 else u for u, p in powers.items() if p * sign > 0]

    above, below = (["rad"] if dimension in ANGULAR else []) + written(1), written(-1)
    over = f"({' '.join(below)})" if len(below) > 1 else "".join(below)
    return (" ".join(above) or "1") + (f"/{over}" if over else "")


def _size(dimension: str, units: str | None) -> float | None:
    """A unit of the system in SI, or None when the system is not known."""
    if dimension in ("1", "angle"):
        return 1.0
    if units is None:
        return None
    size = 2 * pi if dimension == "frequency" else 1.0
    for name, power in _powers(dimension, units).items():
        if power and name not in BASE:
            return None
        size *= BASE[name] ** power if power else 1.0
    return size


def unit_system(units: str | None) -> UnitSystem | None:
    """The system with the sizes of its units, for checks of materials; None when it is not known."""
    length, time, stress = (_size(dimension, units) for dimension in ("length", "time", "stress"))
    if units is None or length is None or time is None or stress is None:
        return None
    return UnitSystem(units, length, stress * (time / length) ** 2, stress)


def read_unit(text: str) -> tuple[float, tuple[float, ...]] | None:
    """The size in SI of a unit such as "mm", "N m" or "rad/s", and its exponents of length, mass and time; None for a
    text that is no unit."""
    text = _JOINED.sub(" ", text.translate(_SIGNS)).strip()
    above, *below = ("rpm" if text in TURNS else text).split("/")
    size, exponents = 1.0, [0.0, 0.0, 0.0]
    for sign, part in ((1, above), *((-1, part) for part in below)):
        for word in (words := part.strip(" ()").split()):
            factor = _FACTOR.fullmatch(word)
            if factor is None or factor[1] not in WRITTEN:
                return None
            own, power = WRITTEN[factor[1]], sign * int(factor[2] or 1)
            size *= own[0] ** power
            exponents = [a + power * b for a, b in zip(exponents, own[1], strict=True)]
        if not words:
            return None
    return (size, tuple(exponents)) if 0.0 < size < inf else None


def unit_ratio(text: str, dimension: str, units: str | None) -> float | None:
    """The unit `text` divided by that of a dimension in the system `units`: 0.001 for "mm" and a length in SI.

    Zero if it measures something else; None where the text is no unit or the system is not known. Without a system,
    speeds in turns or degrees have a ratio too: to radians in the same time, which every system has.
    """
    found = read_unit(text)
    if found is None or (units is None and text.strip() in LETTERS):
        return None
    size = _size(dimension, units)
    if size is None and (units is not None or found[1] == DIMENSIONS[dimension]):
        return _ratio_to_radians(found[0]) if units is None and dimension == "angular velocity" else None
    return found[0] / size if size is not None and found[1] == DIMENSIONS[dimension] else 0.0


def _ratio_to_radians(speed: float) -> float | None:
    """An angular velocity in rad/s divided by a radian in a second; None if it is a radian in some unit of time."""
    return None if any(isclose(speed * time, 1.0, rel_tol=1e-9) for time in TIMES.values()) else speed


class Shown(NamedTuple):
    """How a plot shows a quantity: numbers of the model times `factor`, with the unit `symbol` in the label."""

    factor: float
    symbol: str | None

    def label(self, quantity: str) -> str:
        """The label of an axis: "force (N)"."""
        return quantity if self.symbol in (None, "1") else f"{quantity} ({self.symbol})"


def shown_units(units: str | None, unit: str | Sequence[str] | None, *dimensions: str) -> dict[str, Shown]:
    """How a plot shows each of `dimensions`.

    - `units`: the system of the model, such as "mm-t-s", or None.
    - `unit`: one or several units to convert to, such as "deg" or ("kN", "ms"). A frequency is also shown in units of
      angular velocity (rpm, rad/s) when the plot has no angular velocity.

    Raises `UnitError` for a unit that no plotted quantity has, and when the unit of the model is not known.
    """
    wanted = [unit] if isinstance(unit, str) else list(unit or ())
    found: dict[str, Shown] = {}
    used: set[str] = set()
    for dimension in dict.fromkeys(dimensions):
        choices = dict(CHOICES.get(dimension, {}))
        if dimension == "frequency" and "angular velocity" not in dimensions:
            choices |= CHOICES["angular velocity"]
        chosen = next((name for name in wanted if name in choices), None)
        symbol = NEUTRAL.get(dimension) if units is None else unit_of(dimension, units)
        found[dimension] = Shown(1.0, symbol)
        if chosen is not None:
            size = _size(dimension, units)
            if size is None:
                raise UnitError(
                    f'To show {chosen!r}, the units of the model must be known: give units="m-kg-s" or another system '
                    f"of {', '.join((*LENGTHS, *MASSES, *TIMES))}, to the System or to the plot; found {units!r}."
                )
            found[dimension] = Shown(size / choices[chosen], chosen)
            used.add(chosen)
    for name in wanted:
        if name not in used:
            possible = [symbol for dimension in found for symbol in CHOICES.get(dimension, {})]
            raise UnitError(
                f"The plot shows no quantity with the unit {name!r}. Quantities: {', '.join(found)}; possible units: "
                f"{', '.join(possible)}."
            )
    return found
