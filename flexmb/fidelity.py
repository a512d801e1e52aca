"""The same mechanism at other fidelities: rigid, with fewer elastic coordinates, without geometric stiffness."""

from dataclasses import replace

import numpy as np

from fem.errors import unknown_name
from flexmb.body import Body
from flexmb.mechanism import Mechanism, MechanismError

Fidelity = str | int
"""`"rigid"`, a number of elastic coordinates for each flexible body, `"linear"` (no geometric stiffness), or `"flexible"`: as it is."""

NAMED = ("rigid", "linear", "flexible")


def with_fidelity(mechanism: Mechanism, fidelity: Fidelity) -> Mechanism:
    """The mechanism with other bodies, starting from the same places and velocities."""
    if isinstance(fidelity, str) and fidelity not in NAMED:
        raise MechanismError(f"{unknown_name('fidelity', fidelity, NAMED)} Or give a number of elastic coordinates.")
    if fidelity == "rigid":
        return mechanism.rigid()
    if fidelity == "linear":
        return replace(mechanism, bodies=tuple(without_second_order(b) for b in mechanism.bodies))
    if fidelity == "flexible":
        return mechanism
    return mechanism.with_bodies(tuple(with_modes(b, int(fidelity)) for b in mechanism.bodies))


def with_modes(body: Body, modes: int) -> Body:
    """The body with its lowest `modes` elastic coordinates; as it is when it has no more.

    What the others contribute to the response to joint forces is lost with them: a body reduced to so few from its mesh is better.
    """
    if modes < 1:
        raise MechanismError(f"A flexible body keeps at least one elastic coordinate, or is rigid; found {modes}.")
    m = modes
    if body.modes <= m:
        return body
    inv = body.invariants
    kept = replace(
        inv, S1=inv.S1[:, :m], SG=inv.SG[:, :m, :m], J1=inv.J1[:m], J2=inv.J2[:m, :m], h0=inv.h0[:, :m], h=inv.h[:, :m, :m],
        PG=inv.PG[:, :, :m, :m],
    )  # fmt: skip
    interfaces = {
        name: replace(i, rows=i.rows[:, :m], second=None if i.second is None else i.second[:, :m, :m])
        for name, i in body.interfaces.items()
    }
    quadratic = body.quadratic
    if quadratic is not None:
        inside = (quadratic.pairs < m).all(axis=1)
        quadratic = replace(quadratic, pairs=quadratic.pairs[inside], shapes=quadratic.shapes[:, :, inside])
    gauge, stress = body.gauge, body.stress
    return replace(
        body,
        invariants=kept,
        stiffness=body.stiffness[:m],
        damping=body.damping[:m],
        deflection=body.deflection[:m],
        interfaces=interfaces,
        Psi=None if body.Psi is None else body.Psi[:, :m],
        quadratic=quadratic,
        gauge=None
        if gauge is None
        else replace(gauge, rotation=gauge.rotation[:, :, :m], strain=gauge.strain[:, :, :m]),
        stress=None if stress is None else replace(stress, rows=stress.rows[:, :, :m]),
    )


def without_second_order(body: Body) -> Body:
    """The body with displacements linear in its elastic coordinates: it does not stiffen under rotation or load."""
    inv = body.invariants
    if not inv.second_order:
        return body
    linear = replace(
        inv, SG=np.zeros_like(inv.SG), PG=np.zeros_like(inv.PG), h=0.5 * (inv.h - inv.h.transpose(0, 2, 1))
    )
    interfaces = {name: replace(i, second=None) for name, i in body.interfaces.items()}
    return replace(body, invariants=linear, interfaces=interfaces, quadratic=None)
