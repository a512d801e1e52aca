"""Modal reduction: the lowest natural modes of the free body."""

from collections.abc import Sequence

import numpy as np

from fem.errors import MatrixError
from fem.model import Model
from reduction.basis import Basis
from reduction.build import Band, Load, Part, Request, build, prepare, request
from reduction.shape_sequence import Climb, Ladder, free_modes, static_shapes
from reduction.solutions.statics import free_displacement


def modal(
    model: Model, modes: int | None = None, attached_to: str | None = None, *,
    band: Band | None = None, tol: float | None = None, inputs: Sequence[Load] | None = None,
) -> Basis:  # fmt: skip
    """The lowest elastic modes of the free body, m = modes.

    - `modes`: default 20; or `band = (0, f)`: all natural frequencies up to f (cycles per unit of time); or a band with `tol`: the fewest
      whose response error over the band is below `tol`. With a band, the error over it is measured (see `response_error`).
    - `attached_to`: None: mean axes, where the natural modes already are. An interface: each mode less the rigid motion
      of that interface, orthonormalised again; its frequencies are then those of the truncated body held there.
    - `inputs`: what the error is measured for, default all interfaces; other loads among them are answered with their static response
      (modal truncation augmentation).

    The frequencies are exact, the static response at interfaces is not: for bodies driven through their interfaces
    Craig-Bampton converges faster. Rigid interfaces of the model stiffen it (RBE2), in the full model as here.

    Raises MatrixError (too many modes, none in the band, a loose body, unusable matrices), InterfaceError (unknown
    name), FactorisationError, ConvergenceError. Cost: one factorisation of K, 4 to 5 solves for each mode.
    """
    asked = request(modes, band, tol, least=1, own_rule=True)
    part = prepare(model, asked, inputs, attached_to)
    return build(part, asked, "modal", modal_climb(part, asked), attached_to)


def modal_climb(part: Part, asked: Request) -> Climb:
    """Static responses to inputs that are no interface; then free modes."""
    body, model, others = part.body, part.model, part.inputs.deforming.others
    first = static_shapes(body, free_displacement(body, others)) if others.shape[1] else np.zeros((model.ndof, 0))
    cutoff = 0.0 if asked.band is None else asked.band[1]
    modes = free_modes(body, part.certificate, first, cutoff)

    def climb(count: int | None) -> Ladder:
        found = modes(count)
        if count is None and found.shapes.shape[1] == 0:
            raise MatrixError(
                f"Model {model.name!r} has no elastic natural frequency up to {cutoff:.4g}; raise the band."
            )
        return found

    return climb
