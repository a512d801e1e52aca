"""`Method`: an integration method with its options, as a frozen record; and the registry that finds methods by name.

A method is one file: a record registered under its name, and the integration that it begins. What is registered appears by itself in `simulate(method="name")`, in the schema of model
files, in the table of docs/time.md and in the contract tests (`tests/flexmb/integrators/test_method_contracts.py`).
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
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
from flexmb.mechanism.mechanism import Mechanism

Coordinates = Literal["absolute", "joint"]
COORDINATES = ("absolute", "joint")


@dataclass(frozen=True, kw_only=True)
class Method:
    """How steps are made. `name` is that of the registry.

    - `step`: fixed time step, in units of time of the model; it is made smaller, by less than one step in the span between two stored times, where it does not divide that span. None: steps adapt.

    Raises `IntegratorError` for a step that is not positive, and for options of other types than their fields: text where a number belongs, a number for True or False.
    """

    name: ClassVar[str] = ""
    order: ClassVar[int] = 0
    """Of the errors of positions, in the step."""
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
        """The bound of steps that adapt, where one was given."""
        return None

    def begin(self, mechanism: Mechanism, start: Start, *, end: float, longest: float, pace: Pace) -> Integrator:
        """A running integration from a consistent start to at most the time `end`, with first steps of at most `longest`. `pace` says where functions of time change.

        Raises `NotImplementedError` for a record that does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} begins no integration.")

    def __str__(self) -> str:
        given = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass(frozen=True, kw_only=True)
class AdaptiveMethod(Method):
    """A method whose steps adapt unless `step` is given.

    - `tolerance`: bound of the local error of positions in a step, relative to the length of the mechanism.
    - `max_step`: the longest step that may adapt. Steps end where a function of time begins or ends to change, and are at most half as long as its shortest feature.
    """

    tolerance: float = 1e-6
    max_step: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.tolerance < 1:
            raise IntegratorError(
                f"tolerance is relative to the length of the mechanism, between 0 and 1; found {self.tolerance}."
            )
        if self.max_step is not None and not self.max_step > 0:
            raise IntegratorError(f"max_step must be positive; found {self.max_step}.")
        if self.step is not None and self.max_step is not None:
            raise IntegratorError(
                f"max_step limits steps that adapt, and step={self.step} fixes them; found max_step={self.max_step}. Leave one of them out."
            )

    @property
    def longest_step(self) -> float | None:
        return self.max_step


def require_coordinates(coordinates: str) -> None:
    """Raises `IntegratorError` for coordinates that do not exist."""
    if coordinates not in COORDINATES:
        raise IntegratorError(f"coordinates are {' or '.join(map(repr, COORDINATES))}; found {coordinates!r}.")


def require_types(record: Method) -> None:
    """Raises `IntegratorError` for numbers, whole numbers, and True or False that are none; options of other types are left to their records."""
    for option, kind in get_type_hints(type(record)).items():
        allowed = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        if option not in {f.name for f in fields(record)} or not set(allowed) <= _TYPES.keys():
            continue
        value = getattr(record, option)
        truth = isinstance(value, bool | np.bool_)
        if not any(truth if one is bool else isinstance(value, _TYPES[one][1]) and not truth for one in allowed):
            raise IntegratorError(
                f"{type(record).__name__}: {option} is {' or '.join(_TYPES[one][0] for one in allowed)}; found {value!r}."
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
    """Class decorator: the method is found by this name from now on.

    Raises `IntegratorError` for a name that is taken and for what is no frozen dataclass.
    """

    def keep(method: M) -> M:
        if not isinstance(name, str) or not name:
            raise IntegratorError(f"A method needs a name; found {name!r}.")
        known = _REGISTERED.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (method.__module__, method.__qualname__):
            raise IntegratorError(f"There is a method {name!r} already: {known.__module__}.{known.__name__}.")
        if not is_dataclass(method) or not issubclass(method, Method):
            raise IntegratorError(f"A method is a frozen dataclass derived from Method; {method!r} is none.")
        if method.__dict__.get("name", name) != name:
            raise IntegratorError(
                f"{method.__name__} is the method {method.name!r} already; derive another one for {name!r}."
            )
        method.name = name
        _REGISTERED[name] = method
        return method

    return keep


def methods() -> Mapping[str, type[Method]]:
    """All methods by name: those of this folder, and those registered elsewhere."""
    _import_folder()
    return dict(sorted(_REGISTERED.items()))


@cache
def _import_folder() -> None:
    """Once: every simulation asks for the methods, and a folder is listed on the disk."""
    folder = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules(importlib.import_module(folder).__path__):
        importlib.import_module(f"{folder}.{module.name}")


def method_of(method: str | Method, options: Mapping[str, Any]) -> Method:
    """The record that `simulate` is asked for: by a record, or by a name and options.

    Raises `IntegratorError` for a name that is not registered, an option that the method does not have, and options beside a record.
    """
    if isinstance(method, Method):
        if options:
            raise IntegratorError(
                f"{', '.join(map(repr, options))}: options belong into the record, such as {type(method).__name__}({', '.join(f'{k}={v!r}' for k, v in options.items())})."
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
        raise IntegratorError(
            f"Method {method!r} has no option {foreign[0]!r}; its options are {', '.join(names)}.{hint}"
        )
    return record(**options)


refuse_old_names(__name__)
