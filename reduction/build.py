"""From a method's ladder of shapes to its basis: the part that all methods share."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.errors import MatrixError
from fem.model import Model
from reduction.basis import Basis, interface_rows
from reduction.error.certificate import Certificate, certify
from reduction.error.inputs import Inputs, resolve_inputs
from reduction.error.reference import attach, diagonalise, require_elastic, require_interface
from reduction.error.response_error import SHARE, measure
from reduction.shape_sequence import Climb, Ladder, independent, smallest, static_shapes
from reduction.solutions.record import options
from reduction.solutions.statics import Statics, free_displacement, statics
from reduction.solutions.vibration import require_band

Band = tuple[float | int, float | int]
Load = str | np.ndarray

FINEST = 1e-8
"""Smallest tolerance that round-off of the full model's solution leaves room for."""
DEFAULT_TOLERANCE = 0.01
"""Where a method is given a band and neither a number of shapes nor a tolerance."""


@dataclass(frozen=True, eq=False)
class Part:
    """What the reduction of a part works with: its statics and its inputs and, where there is a band, the certified response over it.

    `clock`: when the certificate was begun and finished, in seconds of `time.perf_counter`.
    """

    body: Statics
    inputs: Inputs
    certificate: Certificate | None
    clock: tuple[float, float]

    @property
    def model(self) -> Model:
        return self.body.model

    @property
    def certified(self) -> Certificate:
        """The certificate, for methods that were given a band and inputs."""
        if self.certificate is None:
            raise MatrixError(
                f"Model {self.model.name!r}: this needs a band=(0, f) and something that drives the part."
            )
        return self.certificate


@dataclass(frozen=True)
class Request:
    """What was asked for: a number of shapes beyond the static ones, or a tolerance over a band, or (both None) the method's own choice."""

    modes: int | None
    band: Band | None
    tolerance: float | None


def request(
    modes: int | None,
    band: Band | None,
    tol: float | None,
    *,
    least: int,
    default: int | None = 20,
    own_rule: bool = False,
) -> Request:
    """Check how the size of a basis is asked for. Nothing: `default` modes; a band alone: the method's `own_rule`, or a tolerance of 1 %."""
    if band is not None:
        require_band(band)
    if tol is not None and not (np.isfinite(tol) and FINEST <= tol < 1):
        raise MatrixError(
            f"A tolerance is a relative error between {FINEST:.0e} (round-off of the full model) and 1; found {tol}."
        )
    if tol is not None and band is None:
        raise MatrixError(f"tol={tol} needs a band=(0, f) to hold over.")
    if tol is not None and modes is not None:
        raise MatrixError(f"Give modes={modes} or tol={tol}, not both.")
    if modes is not None and (isinstance(modes, bool) or not isinstance(modes, int | np.integer) or modes < least):
        raise MatrixError(f"The number of modes must be an integer of at least {least}; found {modes!r}.")
    if modes is None and band is None:
        modes = default
    if modes is None and tol is None and not own_rule:
        tol = DEFAULT_TOLERANCE
    return Request(None if modes is None else int(modes), band, tol)


def prepare(model: Model, asked: Request, inputs: Sequence[Load] | None, attached_to: str | None) -> Part:
    """Statics and inputs, and where there is a band the certified response."""
    model.require_obeyed()
    require_interface(model, attached_to)
    resolve_inputs(model, inputs)  # its errors come before the work, its loads after the factor, which needs the memory
    body = statics(model)
    made = resolve_inputs(model, inputs)
    certificate = None
    clock = perf_counter()
    driving = made.deforming
    if asked.band is not None and (driving.labels or asked.tolerance is not None):
        certificate = certify(body, driving, asked.band, SHARE * (asked.tolerance or DEFAULT_TOLERANCE))
    return Part(body, made, certificate, (clock, perf_counter()))


def static_responses(part: Part, wanted: bool = True) -> Float[np.ndarray, "ndof s"]:
    """The static responses of the free body to its inputs, M-orthonormal; none unless `wanted`."""
    if not wanted:
        return np.zeros((part.model.ndof, 0))
    return static_shapes(part.body, free_displacement(part.body, part.inputs.deforming.loads))


def build(part: Part, asked: Request, method: str, climb: Climb, attached_to: str | None, **given: Any) -> Basis:
    """The basis of the size that was asked for, its error measured where the part has a certificate."""
    model = part.model
    if asked.tolerance is not None and part.certificate is not None:
        steps, count = smallest(part.certificate, model, climb, asked.tolerance)
    else:
        steps = climb(asked.modes)
        taken = steps.shapes.shape[1] if asked.modes is None else asked.modes
        count = independent(model, steps, taken)
    basis = finish(part, asked, method, steps, count, attached_to, **given)
    part.body.release()
    return basis


def finish(
    part: Part,
    asked: Request,
    method: str,
    steps: Ladder,
    count: int,
    attached_to: str | None,
    **given: Any,
) -> Basis:
    """The basis of the first `count` shapes of a ladder."""
    model, body = part.model, part.body
    if part.certificate is None:
        body.release()  # nothing is left to solve
    V = steps.columns(count)
    if V.shape[1] == 0:
        hint = "" if asked.band is None else f", or raise the band above {asked.band[1]:.4g}"
        raise MatrixError(f"Model {model.name!r}: a basis of no shapes; ask for at least one mode{hint}.")
    free, values = diagonalise(model, V)
    require_elastic(model, body.R, values)
    error = _errors(part, method, free, values)
    Psi, values = (free, values) if attached_to is None else diagonalise(model, attach(model, attached_to, free))
    return Basis(
        Psi, values, method, attached_to, interface_rows(model, Psi),
        options(
            body, modes=count, static=steps.first.shape[1], band=asked.band, seconds={"certificate": part.clock[1] - part.clock[0], "shapes": perf_counter() - part.clock[1]},
            inputs=list(part.inputs.labels),
            shape_frequencies=np.sqrt(steps.eigenvalues[:count]) / (2 * np.pi), tolerance=asked.tolerance or 0.0, **given, **error,
        ),
    )  # fmt: skip


def _errors(part: Part, method: str, free: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    """The measured error over the band, and that of each interface that was not among the inputs."""
    certificate = part.certificate
    if certificate is None:
        return {}
    found = measure(certificate, method, values, certificate.inputs.loads.T @ free)
    left = {}
    for name in part.model.interfaces:
        if f"{name} Fx" not in certificate.inputs.labels:
            other = certify(part.body, resolve_inputs(part.model, [name]), (0, certificate.band), SHARE)
            left[name] = measure(other, method, values, other.inputs.loads.T @ free).worst
    return {
        "error": found.worst, "error_at": found.at, "error_known_to": float(found.bound.max()),
        "error_by_input": found.by_input, "left_out": left,
    }  # fmt: skip
