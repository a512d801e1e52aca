"""`Method`: an integration method with its options, as an immutable record, and the registry of methods.

Each method has a file with a record, registered under its name, and the integrator that it starts. Registered methods
are available in `simulate(method="name")`, in the schema of model files, in the table of docs/time.md and in the
contract tests (`tests/flexmb/integrators/test_method_contracts.py`).
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from fem.renamed import refuse_old_names
from flexmb.equations.initial_conditions import Start
from flexmb.equations.time_features import Pace
from flexmb.errors import IntegratorError
from flexmb.integrators.integrator import Integrator
from flexmb.mechanism.features import Feature
from flexmb.mechanism.mechanism import Mechanism

Coordinates = Literal["absolute", "joint"]
COORDINATES = ("absolute", "joint")


@dataclass(frozen=True, kw_only=True)
class Method:
    """An integration method and its options; `name` is its name in the registry.

    `step`: fixed time step, in units of time of the model. If it does not divide the interval between two stored times,
    it is reduced such that the interval has a whole number of steps. None selects variable steps.

    Raises `IntegratorError` for a step that is not positive, and for an option whose type differs from that of its
    field, such as text for a number or a number for True or False.
    """

    name: ClassVar[str] = ""
    order: ClassVar[int] = 0
    """Order of the errors of positions in the step."""
    includes: ClassVar[frozenset[Feature]] = frozenset()
    """What mechanisms may have (`flexmb.mechanism.features`); everything else is refused by name."""
    step: float | None = None

    def __post_init__(self) -> None:
        require_types(self)
        if self.step is not None and not 0 < self.step < float("inf"):
            raise IntegratorError(f"step must be positive and at most the duration; found {self.step}.")

    @property
    def may_lock(self) -> bool:
        """Whether events may lock coordinates of joints during the integration."""
        return True

    @property
    def longest_step(self) -> float | None:
        """The upper bound of variable steps; None if there is none."""
        return None

    def begin(self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace) -> Integrator:
        """Start an integration from consistent initial conditions.

        - `end`: the last time of the integration.
        - `longest`: upper bound of the first steps.
        - `pace`: limits of the steps by functions of time.

        Raises `NotImplementedError` when the record does not define this method.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define begin().")

    def __str__(self) -> str:
        given = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass(frozen=True, kw_only=True)
class AdaptiveMethod(Method):
    """A method with variable steps, unless `step` is given.

    - `tolerance`: bound of the local error of positions in a step, relative to the length of the mechanism.
    - `max_step`: upper bound of variable steps. Steps end where a function of time changes its character, and are at
      most half as long as its shortest feature.

    Raises `IntegratorError` when an option is out of range, or when `step` is given with `max_step` or `tolerance`,
    which fixed steps do not have.
    """

    tolerance: float = 1e-6
    max_step: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.tolerance < 1:
            raise IntegratorError(
                f"tolerance must be between 0 and 1, relative to the length of the mechanism; found {self.tolerance}."
            )
        if self.max_step is not None and not self.max_step > 0:
            raise IntegratorError(f"max_step must be positive; found {self.max_step}.")
        if self.step is not None and self.max_step is not None:
            raise IntegratorError(
                f"max_step={self.max_step} limits variable steps, and step={self.step} selects fixed steps. Omit one "
                "of them."
            )
        if self.step is not None and self.tolerance != type(self).tolerance:
            newton = ", or give newton_tolerance for the Newton iteration" if hasattr(self, "newton_tolerance") else ""
            raise IntegratorError(
                f"tolerance={self.tolerance} bounds the error of variable steps, and step={self.step} selects fixed "
                f"steps, which do not have it. Omit one of them{newton}."
            )

    @property
    def longest_step(self) -> float | None:
        return self.max_step


def require_coordinates(coordinates: str) -> None:
    """Raises `IntegratorError` for coordinates that do not exist."""
    if coordinates not in COORDINATES:
        raise IntegratorError(f"coordinates must be {' or '.join(map(repr, COORDINATES))}; found {coordinates!r}.")


def require_types(record: Method) -> None:
    """Check the options of a record that are numbers, whole numbers, and True or False; the records check other types.

    Raises `IntegratorError` for an option of another type than its field.
    """
    for option, kind in get_type_hints(type(record)).items():
        allowed = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        if option not in {f.name for f in fields(record)} or not set(allowed) <= _TYPES.keys():
            continue
        value = getattr(record, option)
        truth = isinstance(value, bool | np.bool_)
        if not any(truth if one is bool else isinstance(value, _TYPES[one][1]) and not truth for one in allowed):
            raise IntegratorError(
                f"{type(record).__name__}: {option} is {' or '.join(_TYPES[one][0] for one in allowed)}; "
                f"found {value!r}."
            )


_TYPES: dict[type, tuple[str, type]] = {
    float: ("a number", Real),
    int: ("a whole number", Integral),
    bool: ("True or False", bool),
    type(None): ("None", type(None)),
}
_REGISTERED: dict[str, type[Method]] = {}
M = TypeVar("M", bound=type[Method])


def register(name: str) -> Callable[[M], M]:
    """Class decorator that registers a method under a name.

    Raises `IntegratorError` when the name is taken, or the class is not a dataclass derived from `Method`.
    """

    def keep(method: M) -> M:
        if not isinstance(name, str) or not name:
            raise IntegratorError(f"A method must have a name; found {name!r}.")
        known = _REGISTERED.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (method.__module__, method.__qualname__):
            raise IntegratorError(f"There is a method {name!r} already: {known.__module__}.{known.__name__}.")
        if "__dataclass_fields__" not in vars(method) or not issubclass(method, Method):
            raise IntegratorError(f"A method must be a frozen dataclass derived from Method; found {method!r}.")
        if method.__dict__.get("name", name) != name:
            raise IntegratorError(
                f"{method.__name__} is the method {method.name!r} already; derive another one for {name!r}."
            )
        method.name = name
        _REGISTERED[name] = method
        return method

    return keep


def methods() -> Mapping[str, type[Method]]:
    """All registered methods by name."""
    _import_folder()
    return dict(sorted(_REGISTERED.items()))


@cache
def _import_folder() -> None:
    """Import all modules of this folder; cached, because every simulation looks up its method."""
    folder = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules(importlib.import_module(folder).__path__):
        importlib.import_module(f"{folder}.{module.name}")


def method_of(method: str | Method, options: Mapping[str, Any]) -> Method:
    """The record of a method that is given as a record, or by name and options.

    Raises `IntegratorError` when the name is not registered, the method does not have an option, or options are given
    in addition to a record.
    """
    if isinstance(method, Method):
        if options:
            raise IntegratorError(
                f"{', '.join(map(repr, options))}: give these options in the record, as in "
                f"{type(method).__name__}({', '.join(f'{k}={v!r}' for k, v in options.items())})."
            )
        return method
    known = methods()
    if "integrator" in options:
        raise IntegratorError(f"'integrator' is now called 'method': method={options['integrator']!r}.")
    if not isinstance(method, str) or method not in known:
        raise IntegratorError(f"There is no method {method!r}; existing: {', '.join(known)}.")
    record = known[method]
    names = [f.name for f in fields(record)]
    foreign = [key for key in options if key not in names]
    if foreign:
        having = [n for n, m in known.items() if foreign[0] in [f.name for f in fields(m)]]
        hint = f" It belongs to {', '.join(having)}." if having else ""
        if foreign[0] in ("start", "state", "initial"):
            hint = " The state to start from is the argument initial_state= of simulate."
        raise IntegratorError(
            f"Method {method!r} has no option {foreign[0]!r}; its options are {', '.join(names)}.{hint}"
        )
    return record(**options)


refuse_old_names(__name__)
