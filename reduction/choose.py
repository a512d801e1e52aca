"""The smallest basis that meets a tolerance over a band: all families are tried on one factorisation, and a table lists
the size that each of them needs."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from fem.errors import ConvergenceError, MatrixError, unknown_name
from fem.model import Model
from fem.renamed import renamed
from reduction.basis import Basis
from reduction.build import (
    DEFAULT_TOLERANCE,
    Band,
    Load,
    ReductionContext,
    SizeSpec,
    basis_of_shapes,
    reduction_context,
    size_spec,
)
from reduction.method import METHODS, register_reduction
from reduction.methods.contact_basis import contact_shape_generator
from reduction.methods.craig_bampton import craig_bampton_shape_generator
from reduction.methods.free_interface import craig_chang_shape_generator, herting_shape_generator
from reduction.methods.gramian import gramian_shape_generator, position_gramian
from reduction.methods.krylov import krylov_shape_generator, surrogate_shape_generator
from reduction.methods.modal import modal_shape_generator
from reduction.shape_sequence import ShapeGenerator, ShapeSequence, smallest

FAMILIES: dict[str, Callable[[ReductionContext, SizeSpec], ShapeGenerator]] = {
    "Craig-Chang": lambda context, _: craig_chang_shape_generator(context),
    "Gramian": lambda context, _: gramian_shape_generator(context, position_gramian(context.required_reference)),
    "Krylov": surrogate_shape_generator,
    "Herting": lambda context, _: herting_shape_generator(context),
    "Craig-Bampton": craig_bampton_shape_generator,
    "modal": modal_shape_generator,
}
"""In the order in which they are tried; of equal sizes the first wins."""


@register_reduction(
    "choose",
    coordinates="the fewest",
    exact_for="nothing",
    cost="the reference response, 5 solves a mode",
    needs_inputs=True,
)
@renamed(tol="tolerance", attached_to="reference_frame")
def choose(
    model: Model,
    reference_frame: str | None = None,
    *,
    band: Band,
    tolerance: float = DEFAULT_TOLERANCE,
    inputs: Sequence[Load] | None = None,
    methods: Sequence[str] | None = None,
    contacts: Sequence[str] = (),
) -> Basis:
    """Choose the smallest basis, over several families, whose response error over `band = (0, f)` is below `tolerance`.

    - `methods`: families to try, default all (`FAMILIES`, and what is registered with a `family`). All but "modal" are
      exact for static loads at the interfaces.
    - `reference_frame`, `inputs`: see `craig_bampton` and `resolve_inputs`.
    - `contacts`: surfaces of the model whose loads are inputs, too, at any of their nodes, weighted by areas. The error
      is that of the body with its residual compliance, and covers the loads that the search did not look at
      (`reduction.error.contact_loads`). The shapes of `contact_basis` are a family then.

    Each family is followed only up to the smallest size found before it. The option `candidates` of the basis lists
    method, coordinates and seconds of every family, and why one failed; printing the basis shows this table. Cost: one
    factorisation, the reference response, 5 solves a mode and, if Krylov wins, a factorisation for each shape.

    Raises `ConvergenceError` when no family meets the tolerance, with the best error of each, and `MatrixError` without
    a band, for a method that does not exist, or when all families fail.
    """
    of_contact = {"contact": lambda context, _: contact_shape_generator(context)} if contacts else {}
    families = (
        FAMILIES | of_contact | {record.name: record.family for record in METHODS.values() if record.family is not None}
    )
    names = list(families) if methods is None else list(methods)
    for name in names:
        if name not in families:
            raise MatrixError(unknown_name("reduction method", name, families))
    if not names:
        raise MatrixError(f"No method to choose from; existing: {', '.join(families)}.")
    if band is None:
        raise MatrixError("A choice by error needs a band=(0, f).")
    if tolerance is None:
        raise MatrixError("A choice by error needs a tolerance, such as 0.01.")
    spec = size_spec(None, band, tolerance, least=0)
    context = reduction_context(model, spec, inputs, reference_frame, contacts)
    rows: list[dict[str, Any]] = []
    made: dict[str, tuple[ShapeSequence, int, int]] = {}
    failure: MatrixError | None = None
    for name in names:
        if name in ("Craig-Bampton", "Herting") and not model.interfaces:
            continue
        clock = perf_counter()
        limit = min(
            (size for _, size, _ in made.values()), default=10**9
        )  # no family is followed beyond the best so far
        row: dict[str, Any] = {"method": name}
        try:
            sequence, count = smallest(
                context.required_reference, model, families[name](context, spec), tolerance, limit
            )
            made[name] = (sequence, sequence.first.shape[1] + count, count)
            row |= {"coordinates": sequence.first.shape[1] + count}
        except ConvergenceError as error:
            row |= {"coordinates": 0, "tried": min(limit, 10**6), "why": str(error)}
        except MatrixError as error:  # this family does not suit the part; others may
            row |= {"coordinates": 0, "why": str(error)}
            failure = error
        rows.append(row | {"seconds": perf_counter() - clock})
    if failure is not None and all("tried" not in row for row in rows) and not made:
        raise failure
    if not made:
        raise ConvergenceError(
            f"Model {model.name!r}: no method meets {tolerance:.2g} over (0, {band[1]:.4g}). "
            + " ".join(row["why"] for row in rows)
        )
    best = min(made, key=lambda name: made[name][1])
    sequence, _, count = made[best]
    if best == "Krylov":
        sequence, count = smallest(context.required_reference, model, krylov_shape_generator(context, spec), tolerance)
    basis = basis_of_shapes(context, spec, best, sequence, count, reference_frame, candidates=rows)
    goal = tolerance
    while contacts and basis.options["error"] > tolerance:  # the response of the basis outside the patterns
        goal *= 0.9 * tolerance / basis.options["error"]
        generate = krylov_shape_generator(context, spec) if best == "Krylov" else families[best](context, spec)
        sequence, count = smallest(context.required_reference, model, generate, goal)
        basis = basis_of_shapes(context, spec, best, sequence, count, reference_frame, candidates=rows)
    context.body.keep()
    return basis
