"""Modal reduction: the lowest natural modes of the free body."""

from functools import partial
from time import perf_counter

from fem.errors import MatrixError
from fem.model import Model
from reduction.basis import Basis, interface_rows
from reduction.record import options
from reduction.reference import attach, diagonalise, require_elastic, require_interface
from reduction.selection import require_modes, select_modes
from reduction.statics import free_displacement, statics


def modal(
    model: Model,
    modes: int | None = None,
    attached_to: str | None = None,
    *,
    band: tuple[float | int, float | int] | None = None,
) -> Basis:
    """The lowest elastic modes of the free body, m = modes.

    - `modes`: default 20; or `band = (0, f)`: all natural frequencies up to f (cycles per unit of time).
    - `attached_to`: None: mean axes, where the natural modes already are. An interface: each mode less the rigid motion
      of that interface, orthonormalised again; its frequencies are then those of the truncated body held there.

    The frequencies are exact, the static response at interfaces is not: for bodies driven through their interfaces
    Craig-Bampton converges faster. Rigid interfaces of the model stiffen it (RBE2), in the full model as here.

    Raises MatrixError (too many modes, none in the band, a loose body, unusable matrices), InterfaceError (unknown
    name), FactorisationError. Cost: one factorisation of K, 4 to 5 solves for each mode.
    """
    require_interface(model, attached_to)
    count = require_modes(modes, band, default=20, least=1)
    body = statics(model)
    clock = perf_counter()
    inverse = partial(free_displacement, body)
    values, V = select_modes(model, inverse, body.free_modes_available, count, 0.0 if band is None else band[1])
    body.release()
    seconds = {"eigenmodes": perf_counter() - clock}
    if band is not None and len(values) == 0:
        raise MatrixError(f"Model {model.name!r} has no elastic natural frequency up to {band[1]:.4g}; raise the band.")
    Psi, eigenvalues = diagonalise(model, V if attached_to is None else attach(model, attached_to, V))
    require_elastic(model, body.R, eigenvalues)
    return Basis(
        Psi, eigenvalues, "modal", attached_to, interface_rows(model, Psi),
        options(body, modes=len(values), band=band, seconds=seconds),
    )  # fmt: skip
