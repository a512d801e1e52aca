"""`ReductionMethod`: a reduction with what it needs and promises, as a record; and the registry that finds reductions
by name.

A reduction is one function from a model to a basis, registered in its file. What is registered appears by itself in
`reduce`, in model files, on the command line (`flexmb reduce --methods`),
in the table of docs/reduction.md and in the contract tests (`tests/reduction/test_reduction_contracts.py`).
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from fem.errors import MatrixError, unknown_name
from fem.linear_algebra.threads import one_openblas_thread
from fem.model import Model
from reduction.basis import Basis
from reduction.build import ReductionContext, SizeSpec
from reduction.shape_sequence import ShapeGenerator

Exact = Literal["nothing", "balanced loads at interfaces", "all loads at interfaces", "all inputs"]
Family = Callable[[ReductionContext, SizeSpec], ShapeGenerator]

_MEANING = {"band": "a band, (0, highest frequency of interest)", "modes": "the number of modes"}


@dataclass(frozen=True)
class ReductionMethod:
    """A reduction; calling it makes a basis.

    - `make(model, ...)`: its options are its arguments, and it needs those without a default. `reference_frame` and
    `inputs` mean the same for all reductions.
    - `coordinates`: how many a basis has; ni interfaces, p inputs.
    - `exact_for`: static loads whose response is exact, up to rigid motion.
    - `cost`, beside one factorisation of the stiffness.
    - `family`: the shapes of the method in order, for `choose` to try them; None: `choose` does not.
    - `needs_inputs`: it refuses a model without interfaces and inputs.
    """

    name: str
    make: Callable[..., Basis]
    coordinates: str
    exact_for: Exact
    cost: str
    family: Family | None = None
    needs_inputs: bool = False

    @cached_property
    def options(self) -> tuple[str, ...]:
        """Names of the options."""
        return tuple(inspect.signature(self.make).parameters)[1:]

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Names of the options without a default."""
        parameters = inspect.signature(self.make).parameters.values()
        return tuple(p.name for p in parameters if p.default is p.empty)[1:]

    def require(self, given: Mapping[str, Any]) -> None:
        """Refuse options that the method does not have, and ask for those that it needs. Raises `MatrixError`."""
        for option in given:
            if option not in self.options:
                having = [r.name for r in METHODS.values() if option in r.options]
                hint = f" It belongs to {', '.join(having)}." if having else ""
                raise MatrixError(
                    f"Reduction by {self.name!r} has no option {option!r}; its options are "
                    f"{', '.join(self.options)}.{hint}"
                )
        lacking = [option for option in self.needs if given.get(option) is None]
        if lacking:
            raise MatrixError(
                f"Reduction by {self.name!r} needs {' and '.join(_MEANING.get(option, option) for option in lacking)}."
            )

    def __call__(self, model: Model, **options: Any) -> Basis:
        model.require_obeyed()
        self.require(options)
        return self.make(model, **options)


_REGISTERED: dict[str, ReductionMethod] = {}


class _Methods(Mapping[str, ReductionMethod]):
    """What is registered, for reading."""

    def __getitem__(self, name: str) -> ReductionMethod:
        return _REGISTERED[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(_REGISTERED))

    def __len__(self) -> int:
        return len(_REGISTERED)


METHODS: Mapping[str, ReductionMethod] = _Methods()
"""All reductions by name."""

F = TypeVar("F", bound=Callable[..., Basis])


def register_reduction(
    name: str,
    *,
    coordinates: str,
    exact_for: Exact,
    cost: str,
    family: Family | None = None,
    needs_inputs: bool = False,
) -> Callable[[F], F]:
    """Decorator of a function `(model, ...) -> Basis` with options `reference_frame` and `inputs`, at least: it is
    found by this name from now on. Arguments: see `ReductionMethod`. Its threads: `fem.linear_algebra.threads`.

    Raises `MatrixError` for a name that is taken, and for a function without these options.
    """

    def keep(make: F) -> F:
        make = one_openblas_thread()(make)
        known = _REGISTERED.get(name)
        if known is not None and _home(known.make) != _home(make):
            raise MatrixError(f"There is a reduction {name!r} already: {'.'.join(_home(known.make))}.")
        record = ReductionMethod(name, make, coordinates, exact_for, cost, family, needs_inputs)
        for option in ("reference_frame", "inputs"):
            if option not in record.options:
                raise MatrixError(f"The reduction {name!r} lacks the option {option!r}, which all reductions have.")
        _REGISTERED[name] = record
        return make

    return keep


def _home(make: Callable[..., Basis]) -> tuple[str, str]:
    """Where a function was defined, which running its file again does not change."""
    return make.__module__, make.__qualname__


def reduction_method(name: str) -> ReductionMethod:
    """The reduction called `name`. Raises `MatrixError` where there is none, with the existing ones."""
    if name not in METHODS:
        raise MatrixError(unknown_name("reduction method", name, METHODS))
    return METHODS[name]
