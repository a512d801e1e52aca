"""Methods of free natural modes: Craig-Chang (Rubin) and Herting."""

from collections.abc import Sequence

import numpy as np

from fem.model import Model
from reduction.basis import Basis
from reduction.build import Band, Load, Part, build, prepare, request, static_responses
from reduction.shape_sequence import Climb, free_modes, static_shapes
from reduction.solutions.fixed_interfaces import constraint_modes, fix_interfaces, fixed_interface_displacement


def craig_chang(
    model: Model, modes: int | None = None, attached_to: str | None = None, *,
    band: Band | None = None, tol: float | None = None, inputs: Sequence[Load] | None = None,
) -> Basis:  # fmt: skip
    """Free natural modes and the static response of the free body to each input (residual attachment): m = p + modes.

    The span is that of Rubin's and of Craig and Chang's method with the mass of the residual shapes kept; primal or dual assembly
    (interface motions or forces as unknowns) makes no difference to it. Exact for static loads at every input, inertia relief included.

    - `modes`: free modes, default 20; or `band = (0, f)` with `tol`: the fewest whose response error over the band is below `tol`.
    - `attached_to`, `inputs`: see `craig_bampton` and `resolve_inputs`.

    Raises what `craig_bampton` raises, and ConvergenceError when a tolerance is out of reach. Cost: one factorisation, p solves and 4 to 5 solves a mode.
    Sources: Rubin, AIAA J. 13 (1975) 995-1006; Craig and Chang, "On the use of attachment modes in substructure coupling", AIAA 77-405 (1977).
    """
    asked = request(modes, band, tol, least=0)
    part = prepare(model, asked, inputs, attached_to)
    return build(part, asked, "Craig-Chang", craig_chang_climb(part), attached_to)


def craig_chang_climb(part: Part) -> Climb:
    """Static responses to the inputs, then free modes."""
    return free_modes(part.body, part.certificate, static_responses(part))


def herting(
    model: Model, modes: int | None = None, attached_to: str | None = None, *,
    band: Band | None = None, tol: float | None = None, inputs: Sequence[Load] | None = None,
) -> Basis:  # fmt: skip
    """Constraint modes, inertia-relief shapes and free natural modes: m = 6 (ni - 1) + 6 + modes.

    The inertia-relief shapes are the response, interfaces fixed, to uniform and rotational acceleration. Static loads at the interfaces are
    exact, inertia relief included. Arguments as in `craig_chang`; inputs that are no interface are answered with their static response
    with fixed interfaces. Source: Herting, "A general purpose, multi-stage, component modal synthesis method", Finite Elem. Anal. Des. 1 (1985) 153-164.
    """
    asked = request(modes, band, tol, least=0)
    part = prepare(model, asked, inputs, attached_to)
    return build(part, asked, "Herting", herting_climb(part), attached_to)


def herting_climb(part: Part) -> Climb:
    """Constraint modes, inertia relief, other inputs; then free modes."""
    fixed = fix_interfaces(part.body)
    loads = np.hstack([part.body.MR, part.inputs.others])
    first = static_shapes(
        part.body, np.hstack([constraint_modes(fixed)[:, 6:], fixed_interface_displacement(fixed, loads)])
    )
    return free_modes(part.body, part.certificate, first)
