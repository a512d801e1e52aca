"""From a method's sequence of shapes to its basis: the part that all methods share."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.analysis.drilling import warn_of_drilled_fields
from fem.analysis.model_warnings import (
    warn_of_free_warping,
    warn_of_hinges,
    warn_of_turned_sections,
    warn_of_turned_shells,
)
from fem.axes.limits import is_number, is_whole
from fem.errors import MatrixError
from fem.model import Model
from reduction.basis import Basis, interface_modes
from reduction.error.contact_loads import require_surfaces
from reduction.error.inputs import Inputs, acting_loads, resolve_inputs
from reduction.error.reference_frame import attach, diagonalise, require_elastic, require_interface
from reduction.error.reference_response import ReferenceResponse, reference_response
from reduction.error.response_error import SHARE, measure
from reduction.shape_sequence import ShapeGenerator, ShapeSequence, independent, smallest, static_shapes
from reduction.solutions.record import options
from reduction.solutions.statics import Statics, inertia_relief_solution, statics
from reduction.solutions.vibration import require_band

Band = tuple[float | int, float | int]
Load = str | np.ndarray

FINEST = 1e-8
"""Smallest tolerance that round-off of the full model's solution leaves room for."""
CONTACT_SHARE = 0.2
"""The part of a tolerance that the reference response's own bound may take with loads at surfaces, most of it for
patterns that are left out."""
DEFAULT_TOLERANCE = 0.01
"""Where a method is given a band and neither a number of shapes nor a tolerance."""


@dataclass(frozen=True, eq=False)
class ReductionContext:
    """The static solutions and the inputs of a part and, when there is a band, the reference response over it.

    `clock`: times at which the computation of the reference response began and ended, in seconds of
    `time.perf_counter`.
    """

    body: Statics
    inputs: Inputs
    reference: ReferenceResponse | None
    clock: tuple[float, float]

    @property
    def model(self) -> Model:
        return self.body.model

    @property
    def required_reference(self) -> ReferenceResponse:
        """The reference response, for methods that were given a band and inputs."""
        if self.reference is None:
            raise MatrixError(
                f"Model {self.model.name!r}: this needs a band=(0, f) and something that drives the part."
            )
        return self.reference


@dataclass(frozen=True)
class SizeSpec:
    """The size of a basis as the caller requests it: a number of shapes beyond the static ones, or a tolerance over a
    band. If both are None, the method chooses."""

    modes: int | None
    band: Band | None
    tolerance: float | None


def size_spec(
    modes: int | None,
    band: Band | None,
    tolerance: float | None,
    *,
    least: int,
    default: int | None = 20,
    own_rule: bool = False,
) -> SizeSpec:
    """Check the requested size of a basis.

    Without modes, band and tolerance the size is `default` modes. A band alone selects the method's `own_rule`, or a
    tolerance of 1 %.
    """
    if band is not None:
        require_band(band)
    if tolerance is not None and not (is_number(tolerance) and FINEST <= tolerance < 1):
        raise MatrixError(
            f"A tolerance is a relative error between {FINEST:.0e} (round-off of the full model) and 1; found "
            f"{tolerance}."
        )
    if tolerance is not None and band is None:
        raise MatrixError(f"tolerance={tolerance} needs a band=(0, f) to hold over.")
    if tolerance is not None and modes is not None:
        raise MatrixError(f"Give modes={modes} or tolerance={tolerance}, not both.")
    if modes is not None and (not is_whole(modes) or modes < least):
        raise MatrixError(f"The number of modes must be an integer of at least {least}; found {modes!r}.")
    if modes is None and band is None:
        modes = default
    if modes is None and tolerance is None and not own_rule:
        tolerance = DEFAULT_TOLERANCE
    return SizeSpec(None if modes is None else int(modes), band, tolerance)


def reduction_context(
    model: Model,
    spec: SizeSpec,
    inputs: Sequence[Load] | None,
    reference_frame: str | None,
    contacts: Sequence[str] = (),
) -> ReductionContext:
    """Compute the static solutions and the inputs and, when there is a band, the reference response, in which the loads
    at the surfaces `contacts` are further inputs."""
    require_surfaces(model, contacts)
    model.require_obeyed()
    model.require_free()
    warn_of_hinges(model)
    warn_of_free_warping(model)
    warn_of_turned_sections(model)
    warn_of_turned_shells(model)
    require_interface(model, reference_frame)
    acting_loads(model, inputs)  # its errors come before the work, its loads after the factor, which needs the memory
    body = statics(model)
    made = acting_loads(model, inputs)
    reference = None
    clock = perf_counter()
    driving = made.deforming
    if spec.band is not None and (driving.labels or spec.tolerance is not None):
        share = CONTACT_SHARE if contacts else SHARE
        reference = reference_response(
            body, driving, spec.band, share * (spec.tolerance or DEFAULT_TOLERANCE), contacts=contacts
        )
    return ReductionContext(body, made, reference, (clock, perf_counter()))


def static_responses(context: ReductionContext, wanted: bool = True) -> Float[np.ndarray, "ndof s"]:
    """The static responses of the free body to its inputs, M-orthonormal; none unless `wanted`."""
    if not wanted:
        return np.zeros((context.model.ndof, 0))
    return static_shapes(context.body, inertia_relief_solution(context.body, context.inputs.deforming.loads))


def build(
    context: ReductionContext,
    spec: SizeSpec,
    method: str,
    generate: ShapeGenerator,
    reference_frame: str | None,
    **given: Any,
) -> Basis:
    """The basis of the requested size. With a reference response, its error over the band is measured."""
    model = context.model
    if spec.tolerance is not None and context.reference is not None:
        sequence, count = smallest(context.reference, model, generate, spec.tolerance)
    else:
        sequence = generate(spec.modes)
        taken = sequence.shapes.shape[1] if spec.modes is None else spec.modes
        count = independent(model, sequence, taken)
    basis = basis_of_shapes(context, spec, method, sequence, count, reference_frame, **given)
    if context.reference is not None:
        context.body.keep()
    return basis


def basis_of_shapes(
    context: ReductionContext,
    spec: SizeSpec,
    method: str,
    sequence: ShapeSequence,
    count: int,
    reference_frame: str | None,
    **given: Any,
) -> Basis:
    """The basis of the first `count` shapes of a sequence."""
    model, body = context.model, context.body
    if context.reference is None:
        body.keep()  # nothing is left to solve
    V = sequence.columns(count)
    if V.shape[1] == 0:
        hint = "" if spec.band is None else f", or raise the band above {spec.band[1]:.4g}"
        raise MatrixError(f"Model {model.name!r}: a basis of no shapes; ask for at least one mode{hint}.")
    free, values = diagonalise(model, V)
    require_elastic(model, body.R, values)
    warn_of_drilled_fields(model, free, "a shape of the basis")
    error = _errors(context, method, free, values)
    Psi, values = (
        (free, values) if reference_frame is None else diagonalise(model, attach(model, reference_frame, free))
    )
    return Basis(
        Psi,
        values,
        method,
        reference_frame,
        interface_modes(model, Psi),
        options(
            body,
            modes=count,
            static=sequence.first.shape[1],
            band=spec.band,
            seconds={
                "reference response": context.clock[1] - context.clock[0],
                "shapes": perf_counter() - context.clock[1],
            },
            inputs=list(context.inputs.labels),
            split=sequence.what if spec.tolerance is None and sequence.splits(count) else "",
            shape_frequencies=np.sqrt(sequence.eigenvalues[:count]) / (2 * np.pi),
            tolerance=spec.tolerance or 0.0,
            **given,
            **error,
        ),
    )


def _errors(context: ReductionContext, method: str, free: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    """The measured error over the band, and that of each interface that was not among the inputs."""
    reference = context.reference
    if reference is None:
        return {}
    found = measure(reference, method, values, free)
    left = {}
    for name in context.model.interfaces:
        if f"{name} Fx" not in reference.inputs.labels:
            other = reference_response(context.body, resolve_inputs(context.model, [name]), (0, reference.band), SHARE)
            left[name] = measure(other, method, values, free).worst
    return {
        "error": found.worst,
        "error_at": found.at,
        "error_known_to": float(found.bound.max()),
        "error_by_input": found.by_input,
        "unmeasured_inputs": left,
    }
