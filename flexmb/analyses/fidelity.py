"""Simplified variants of a mechanism: rigid, with fewer elastic coordinates, without geometric stiffness."""

from dataclasses import replace

import numpy as np

from fem.errors import unknown_name
from flexmb.bodies.body import Body
from flexmb.bodies.subspace import in_subspace
from flexmb.errors import MechanismError
from flexmb.mechanism.mechanism import Mechanism

Fidelity = str | int
"""`"rigid"`, a number of elastic coordinates for each flexible body, `"linear"` (without geometric stiffness), or
`"flexible"` (unchanged). Comparisons also take `"adapted 3"`: that number of coordinates for each body, adapted to the
rigid motion, or to the flexible one if flexible surfaces touch (see `flexmb.analyses.adapted`)."""

NAMED = ("rigid", "linear", "flexible")


def with_fidelity(mechanism: Mechanism, fidelity: Fidelity) -> Mechanism:
    """The mechanism with bodies of the given fidelity, with the same initial positions and velocities.

    Raises `MechanismError` for an unknown fidelity.
    """
    if not isinstance(fidelity, str | int | np.integer) or isinstance(fidelity, bool):
        raise MechanismError(
            f"A fidelity is one of {', '.join(map(repr, NAMED))}, or a whole number of elastic coordinates; found "
            f"{fidelity!r}."
        )
    if isinstance(fidelity, str) and fidelity not in NAMED:
        raise MechanismError(
            f"{unknown_name('fidelity', fidelity, NAMED)} Or give a number of elastic coordinates; comparisons also "
            "take 'adapted N'."
        )
    if fidelity == "rigid":
        return mechanism.rigid()
    if fidelity == "linear":
        return replace(mechanism, bodies=tuple(without_second_order(b) for b in mechanism.bodies))
    if fidelity == "flexible":
        return mechanism
    return mechanism.with_bodies(tuple(with_modes(b, int(fidelity)) for b in mechanism.bodies))


def with_modes(body: Body, modes: int) -> Body:
    """The body with its lowest `modes` elastic coordinates; a body that has no more is returned unchanged.

    The contribution of the other coordinates to the response to joint forces is lost. A body that is reduced to the
    same number of coordinates from its mesh is more accurate.

    Raises `MechanismError` when `modes` is less than one.
    """
    if modes < 1:
        raise MechanismError(
            f"A flexible body needs at least one elastic coordinate; found {modes}. Use 'rigid' for none."
        )
    softest = np.argsort(body.stiffness, kind="stable")[:modes]
    return body if body.modes <= modes else in_subspace(body, np.eye(body.modes)[:, softest])


def without_second_order(body: Body) -> Body:
    """The body with displacements linear in its elastic coordinates, and hence without geometric stiffness."""
    inv = body.invariants
    if not inv.second_order:
        return body
    linear = replace(
        inv, SG=np.zeros_like(inv.SG), PG=np.zeros_like(inv.PG), h=0.5 * (inv.h - inv.h.transpose(0, 2, 1))
    )
    interfaces = {name: replace(i, second=None) for name, i in body.interfaces.items()}
    surfaces = {name: replace(s, pairs=s.pairs[:0], second=s.second[..., :0]) for name, s in body.surfaces.items()}
    return replace(body, invariants=linear, interfaces=interfaces, quadratic=None, surfaces=surfaces)
