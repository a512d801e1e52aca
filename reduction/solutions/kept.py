"""The factor of the part that was reduced last, kept for the body that is usually made of it next.

`reduction.prepared` shares a factor deliberately and for as long as the caller likes. Outside of such a block a
reduction leaves its factor here if the memory suffices; the next function that needs the factor of the same model takes
it and releases it. The body leaves it for its pictures if it takes little memory. It is also released when another part
is reduced, and with the model.
"""

import weakref
from dataclasses import dataclass
from typing import Any

import psutil

from fem.linear_algebra.factor import Factor
from fem.model import Model

BRIEFLY = 1 / 4
"""Part of the available memory that a factor may take between a reduction and the body, which follow each other."""
LONG = 1 / 16
"""Part of the memory of the machine that a factor may take for the pictures of a body, which may follow much later."""


@dataclass(frozen=True, eq=False)
class _Kept:
    """The factor of a model, and `rest`, what was computed with it."""

    model: "weakref.ref[Model]"
    factor: Factor
    rest: dict[str, Any]


_kept: list[_Kept] = []


def keep(model: Model, factor: Factor, rest: dict[str, Any], long: bool) -> bool:
    """Keep a factor in the place of the last one; False if it takes too much memory or is on disk."""
    memory = psutil.virtual_memory()
    if factor.record.disk or factor.nbytes > (LONG * memory.total if long else BRIEFLY * memory.available):
        return False
    drop()
    _kept.append(_Kept(weakref.ref(model, lambda _: drop()), factor, rest))
    return True


def take(model: Model) -> dict[str, Any] | None:
    """What was kept of `model`, for the caller to release; a factor of another model is released."""
    try:
        found = _kept.pop()
    except IndexError:
        return None
    if found.model() is model:
        return found.rest
    found.factor.release()
    return None


def drop() -> None:
    """Release what is kept."""
    while _kept:
        _kept.pop().factor.release()
