"""Checks of flexible surfaces that touch (flexmb/kernels/equations/skins.py)."""

from fem.errors import ConvergenceError
from flexmb.equations.evaluation import Equations
from flexmb.errors import MechanismError

DRAWN = 1e-6
"""Overlap, relative to the length of the mechanism, with which a motion may begin."""


def require_apart(equations: Equations) -> None:
    """Raises `MechanismError` when a node overlaps what it touches at the last state, with the forces of this state."""
    mechanism, gaps = equations.mechanism, equations.workspace.skin_gap
    if not len(gaps):
        return
    k = int(gaps.argmin())
    limit = DRAWN * float(equations.flat.scales[0])
    if gaps[k] < -limit:
        s = int(equations.flat.node_skin[k])
        contact = mechanism.surface_contacts[s]
        body = mechanism.bodies[contact.body]
        node = body.surfaces[contact.surface].nodes[k - equations.flat.skin_node[s]]
        place = "the nearest point" if contact.local else f"node {node}"
        shape = contact.rigid
        what = repr(mechanism.bodies[contact.other].name) if shape is None else f"the {shape.title}"
        raise MechanismError(
            f"Contact {contact.name!r}: {place} of the surface {contact.surface!r} of {body.name!r} begins "
            f"inside {what}, {-gaps[k]:.6g} deep (at most {limit:.3g}, {DRAWN:g} of the mechanism). "
            "Move the body away, or turn the axis of a plane, which points away from its body."
        )


def no_forces(equations: Equations, t: float, h: float) -> ConvergenceError:
    """The error to raise when no forces of the nodes satisfy unilateral contact and friction in a step of size `h`."""
    names = ", ".join(repr(contact.name) for contact in equations.mechanism.surface_contacts)
    return ConvergenceError(
        f"At t = {t:.6g} no forces of the contacts {names} of {equations.mechanism.name!r} were found that satisfy "
        f"unilateral contact and friction, with a step of {h:.3g}. Take smaller steps, or less friction: a body may "
        "jam."
    )
