"""Craig-Bampton: exact static response to interface loads, and modes with all interfaces fixed."""

from functools import partial
from time import perf_counter

import numpy as np
from jaxtyping import Float

from fem.errors import InterfaceError, MatrixError
from fem.interface import rigid_motion
from fem.model import Model
from reduction.basis import Basis, interface_rows
from reduction.fixed_interfaces import constraint_modes, fix_interfaces, fixed_interface_displacement
from reduction.record import options
from reduction.reference import diagonalise, require_elastic, require_interface
from reduction.selection import require_modes, select_modes
from reduction.statics import Statics, statics

BAND_FACTOR = 2.0
"""A band (0, f) keeps the fixed-interface modes up to this multiple of f: measured on four parts, natural frequencies then come within 3 % at
the edge of the band and 0.5 % in its lower half (with 1.5: 9 %; with 3 and twice the modes: 0.6 %)."""


def craig_bampton(
    model: Model,
    modes: int | None = None,
    attached_to: str | None = None,
    *,
    band: tuple[float | int, float | int] | None = None,
) -> Basis:
    """Craig-Bampton basis of a free body: m = 6 (ni - 1) + modes elastic coordinates for ni interfaces.

    - `modes`: number of fixed-interface modes, default 20; 0 keeps the static shapes alone (Guyan). Or `band = (0, f)`:
      the fixed-interface modes up to 2 f (cycles per unit of time).
    - `attached_to`: the interface that the body frame rides on, where all shapes vanish; None: mean axes.

    The span holds the static response to any self-equilibrated loads on the interfaces exactly, and, with the six rigid
    motions that are taken out at the end, is that of the classical method. Free-free frequencies come from above.
    A rigid interface is stiff in the full model too (RBE2); an average one has the static shapes of least strain energy
    with that mean motion, and fixed-interface modes with zero mean motion.

    Raises InterfaceError (no interface, unknown name, interfaces that depend on each other), MatrixError (too many modes,
    a loose body, unusable matrices), FactorisationError. Cost: one factorisation of K, 6 ni solves, and
    4 to 5 solves for each mode.

    Sources: Craig and Bampton, "Coupling of substructures for dynamic analyses", AIAA J. 6 (1968) 1313-1319;
    removal of rigid motions: Yoo and Haug, J. Mech. Trans. Autom. Des. 108 (1986) 315-322.
    """
    if not model.interfaces:
        raise InterfaceError(
            f"Model {model.name!r} has no interface, and Craig-Bampton needs one: add it with "
            "model.with_interfaces(name=...), or use modal()."
        )
    require_interface(model, attached_to)
    count = require_modes(modes, band, default=20, least=0)
    body = statics(model)
    clock = [perf_counter()]
    fixed = fix_interfaces(body)
    static = constraint_modes(fixed)
    clock.append(perf_counter())
    inverse = partial(fixed_interface_displacement, fixed)
    cutoff = 0.0 if band is None else BAND_FACTOR * band[1]
    values, vibration = select_modes(model, inverse, fixed.modes_available, count, cutoff)
    body.release()
    clock.append(perf_counter())
    if len(model.interfaces) == 1 and len(values) == 0:
        raise MatrixError(
            f"Model {model.name!r} has one interface, whose static shapes are rigid motions: ask for at least one mode"
            f"{'' if band is None else f', or raise the band above {band[1]:.4g}'}."
        )
    Psi, eigenvalues = _without_rigid_motion(body, static, vibration, attached_to)
    require_elastic(model, body.R, eigenvalues)
    clock.append(perf_counter())
    seconds = dict(zip(("static shapes", "eigenmodes", "projection"), np.diff(clock).tolist(), strict=True))
    return Basis(
        Psi, eigenvalues, "Craig-Bampton", attached_to, interface_rows(model, Psi),
        options(body, modes=len(values), band=band, fixed_interface_frequencies=np.sqrt(values) / (2 * np.pi), seconds=seconds),
    )  # fmt: skip


def _without_rigid_motion(
    body: Statics, static: np.ndarray, vibration: np.ndarray, attached_to: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Psi and eigenvalues of the span of both, less the rigid motions (None) or the motion of one interface."""
    model = body.model
    if attached_to is not None:
        own = 6 * list(model.interfaces).index(attached_to)
        return diagonalise(model, np.hstack([np.delete(static, np.s_[own : own + 6], axis=1), vibration]))
    V = np.hstack([static, vibration])
    Psi, eigenvalues = diagonalise(model, V, _rigid_coordinates(model, V.shape[1]))
    Psi -= body.R @ (body.MR.T @ Psi)  # the static shapes hold rigid motion to solver accuracy only
    return Psi, eigenvalues


def _rigid_coordinates(model: Model, count: int) -> Float[np.ndarray, "n 6"]:
    """Coordinates (count, 6) of the rigid motions in [constraint modes, fixed-interface modes]: motions of the interfaces."""
    rigid = np.zeros((count, 6))
    for k, interface in enumerate(model.interfaces.values()):
        rigid[6 * k : 6 * k + 3] = rigid_motion(interface.point[None], model.centre_of_mass)
        rigid[6 * k + 3 : 6 * k + 6, 3:] = np.eye(3)
    return rigid
