"""The smallest basis that meets a tolerance over a band: all families tried on one factorisation, and a table of what each would cost."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from fem.errors import ConvergenceError, MatrixError, unknown_name
from fem.model import Model
from reduction.basis import Basis
from reduction.build import DEFAULT_TOLERANCE, Band, Load, Part, Request, finish, prepare, request
from reduction.methods.craig_bampton import craig_bampton_climb
from reduction.methods.free_interface import craig_chang_climb, herting_climb
from reduction.methods.gramian import gramian_climb, position_gramian
from reduction.methods.krylov import krylov_climb, surrogate_climb
from reduction.methods.modal import modal_climb
from reduction.shape_sequence import Climb, Ladder, smallest

FAMILIES: dict[str, Callable[[Part, Request], Climb]] = {
    "Craig-Chang": lambda part, _: craig_chang_climb(part),
    "Gramian": lambda part, _: gramian_climb(part, position_gramian(part.certified)),
    "Krylov": surrogate_climb,
    "Herting": lambda part, _: herting_climb(part),
    "Craig-Bampton": craig_bampton_climb,
    "modal": modal_climb,
}
"""In the order in which they are tried; of equal sizes the first wins."""


def choose(
    model: Model, attached_to: str | None = None, *,
    band: Band, tol: float = DEFAULT_TOLERANCE, inputs: Sequence[Load] | None = None, methods: Sequence[str] | None = None,
) -> Basis:  # fmt: skip
    """The smallest basis, over several families, whose response to the inputs is within `tol` of the full model's over `band = (0, f)`.

    `methods`: families to try, default all (see `FAMILIES`). All are exact for static loads at the interfaces but "modal". The basis's options hold
    the table of candidates (`candidates`: method, coordinates, seconds); printing the basis shows it. A family is followed only up to the smallest size found before it. `attached_to`, `inputs`: see
    `craig_bampton` and `resolve_inputs`. Cost: one factorisation, the certificate, 5 solves a mode, and, when Krylov wins, a factorisation a shape.

    Raises ConvergenceError when no family meets the tolerance, with the best error of each.

    Raises `MatrixError` without a band, and for a method that does not exist.
    """
    names = list(FAMILIES) if methods is None else list(methods)
    for name in names:
        if name not in FAMILIES:
            raise MatrixError(unknown_name("reduction method", name, FAMILIES))
    if not names:
        raise MatrixError(f"No method to choose from; existing: {', '.join(FAMILIES)}.")
    if band is None:
        raise MatrixError("A choice by error needs a band=(0, f).")
    asked = request(None, band, tol, least=0)
    part = prepare(model, asked, inputs, attached_to)
    rows: list[dict[str, Any]] = []
    made: dict[str, tuple[Ladder, int, int]] = {}
    for name in names:
        if name in ("Craig-Bampton", "Herting") and not model.interfaces:
            continue
        clock = perf_counter()
        limit = min(
            (size for _, size, _ in made.values()), default=10**9
        )  # no family is followed beyond the best so far
        row: dict[str, Any] = {"method": name}
        try:
            steps, count = smallest(part.certified, model, FAMILIES[name](part, asked), tol, limit)
            made[name] = (steps, steps.first.shape[1] + count, count)
            row |= {"coordinates": steps.first.shape[1] + count}
        except ConvergenceError as error:
            row |= {"coordinates": 0, "tried": min(limit, 10**6), "why": str(error)}
        rows.append(row | {"seconds": perf_counter() - clock})
    if not made:
        raise ConvergenceError(
            f"Model {model.name!r}: no method meets {tol:.2g} over (0, {band[1]:.4g}). "
            + " ".join(row["why"] for row in rows)
        )
    best = min(made, key=lambda name: made[name][1])
    steps, _, count = made[best]
    if best == "Krylov":
        steps, count = smallest(part.certified, model, krylov_climb(part, asked), tol)
    basis = finish(part, asked, best, steps, count, attached_to, candidates=rows)
    part.body.release()
    return basis
