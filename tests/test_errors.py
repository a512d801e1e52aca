"""Errors and warnings: one hierarchy, one index, all of them within reach of `flexmb`."""

import importlib
import inspect
import pkgutil
import warnings
from pathlib import Path

import pytest

import fem
import fem.errors
import flexmb
import flexmb.errors
import reduction
import validation

INDEX = Path(__file__).parents[1] / "docs" / "api" / "errors.md"
ANSWERED_INSIDE = {"DoesNotFitError", "UnsoundError"}
HOMES = (fem.errors, flexmb.errors)


def found():
    """Classes of errors and warnings that any module of the project defines."""
    for package in (fem, reduction, flexmb, validation):
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if info.name.rpartition(".")[2] == "__main__":
                continue
            module = importlib.import_module(info.name)
            for value in vars(module).values():
                if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__ == info.name:
                    yield value


CLASSES = sorted(set(found()), key=lambda c: c.__name__)


def test_there_are_classes():
    assert len(CLASSES) > 35
    assert len({c.__name__ for c in CLASSES}) == len(CLASSES)


@pytest.mark.parametrize("error", CLASSES, ids=lambda c: c.__name__)
def test_an_error_has_its_place(error):
    """In one of two files, below one of two bases, told in the index, and exported unless it is answered inside."""
    base = flexmb.FlexmbWarning if issubclass(error, Warning) else flexmb.FlexmbError
    assert issubclass(error, base)
    assert error.__module__ in {home.__name__ for home in HOMES}
    entry = (
        f"`{error.__name__}`" if error.__name__ in ANSWERED_INSIDE else f".. autoexception:: flexmb.{error.__name__}\n"
    )
    assert entry in INDEX.read_text(encoding="utf-8")
    assert error is base or "Raised " in error.__doc__, "its documentation says when it is raised"
    if error.__name__ not in ANSWERED_INSIDE:
        assert getattr(flexmb, error.__name__) is error
        assert error.__name__ in flexmb.__all__


def test_what_is_answered_inside_is_not_exported():
    assert ANSWERED_INSIDE.isdisjoint(flexmb.__all__)
    assert {c.__name__ for c in CLASSES} >= ANSWERED_INSIDE


def test_one_kind_of_warning_is_switched_off_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error", flexmb.FlexmbWarning)
        warnings.filterwarnings("ignore", category=flexmb.IllConditionedWarning)
        warnings.warn("is silent", flexmb.IllConditionedWarning, stacklevel=1)
        with pytest.raises(flexmb.UnitWarning):
            warnings.warn("is heard", flexmb.UnitWarning, stacklevel=1)


def test_a_name_is_found_by_a_part_of_it():
    message = fem.errors.unknown_name("law", "tyre", ["drag", "linear-tyre"])
    assert "Did you mean 'linear-tyre'?" in message
    assert "Did you mean" not in fem.errors.unknown_name("law", "", ["drag"])
