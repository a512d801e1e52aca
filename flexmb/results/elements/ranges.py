"""Whether a motion stayed within the points of the tables and within the states for which its force elements hold."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from flexmb.mechanism.contacts.surface import SurfaceContact
from flexmb.results.elements.motion import row_motion
from flexmb.results.elements.surface_contact import surface_contact_motion
from flexmb.results.motion import Motion, attitudes, frame_motion

LACKING = 0.05
"""Displacement of a flexible surface that the shapes lack, relative to the largest of its displacements with this one,
that is reported."""
NONE = 1e-9
"""Displacement, relative to the length of the mechanism, that is not looked at."""
ROUND_OFF = 1e-7
"""The same relative to what the accelerations, over the softest stiffness, displace: the part that a basis lacks is the
difference of two static solutions, whose round-off grows with the fourth power of the length of a part over its height
(2e-8 at 200, 4e-11 at 50)."""


def beyond_tables(motion: Motion) -> list[str]:
    """A sentence for each law that continues outside its points, if the motion left them at a stored time."""
    mechanism, times = motion.mechanism, np.asarray(motion.t)
    found = []
    for row in mechanism.rows[mechanism.joint_rows :]:
        beyond = getattr(mechanism.laws[row.law].function, "beyond", None) if row.law >= 0 else None
        if beyond is not None:
            moved = row_motion(motion, row)
            if text := beyond(times, moved.stretch, moved.rate):
                name = mechanism.laws[row.law].name
                found.append(
                    f"The law of {name!r} of {mechanism.name!r} was used beyond its points. {text}. Its efforts there "
                    "are those of its continuation: extend the table, or keep the motion inside."
                )
    return found


def outside_limits(motion: Motion) -> list[str]:
    """A sentence for each state of a force element between frames that was outside the values for which its law holds,
    at a stored time."""
    mechanism, times = motion.mechanism, np.asarray(motion.t)
    states = getattr(motion, "element_states", np.zeros((len(times), 0)))
    found, first = [], 0
    for force in mechanism.frame_forces:
        law = force.call.law
        given = dict(zip(law.parameters, force.parameters, strict=True))
        for state, values in zip(law.states, states[:, first:].T, strict=False):  # pictures of states have no own ones
            what, k = f"The {state} of {force.name!r} of {mechanism.name!r}", int(np.abs(values).argmax())
            if state in law.limits:
                which, factor = law.limits[state]
                if abs(values[k]) > factor * given[which]:
                    found.append(
                        f"{what} reached {values[k]:.4g} at t = {times[k]:.6g}; the law {law.name!r} holds up to "
                        f"{factor:g} {which} = {factor * given[which]:.4g}. {law.beyond}"
                    )
            least = int(values.argmin())
            if state in law.floors and values[least] < given[law.floors[state]]:
                found.append(
                    f"{what} fell to {values[least]:.4g} at t = {times[least]:.6g}; the law {law.name!r} holds down to "
                    f"{law.floors[state]} = {given[law.floors[state]]:.4g}. {law.below}"
                )
        first += len(law.states)
    return found


def lacking_shapes(motion: Motion) -> list[str]:
    """A sentence for each flexible surface in contact that would move, where it touches or comes near, by centrifugal
    forces and weight, which the shapes of its body do not hold: by more than `LACKING` of what it moves with them."""
    if not np.asarray(getattr(motion, "element_states", ())).size:
        return []
    return [text for contact in motion.mechanism.surface_contacts for text in _lacking(motion, contact)]


def _lacking(motion: Motion, contact: SurfaceContact) -> Iterator[str]:
    mechanism = motion.mechanism
    for number, name in ((contact.body, contact.surface), (contact.other, contact.other_surface)):
        surface = mechanism.bodies[number].surfaces[name] if number >= 0 else None
        if surface is None or surface.lacking is None:
            continue
        body, R = mechanism.bodies[number], attitudes(motion, number)
        straight, curved = _weight_and_spin(motion, body.name, body.centre, R)
        rows = np.einsum("ni,nik->nk", surface.normals, surface.lacking)
        missing = np.abs((straight + curved) @ rows.T)
        sizes = (straight + curved) * np.repeat([1.0, mechanism.length], (3, 9))
        deflection = np.linalg.norm(sizes, axis=1).max(initial=0.0) / body.stiffness.min(initial=np.inf)
        unseen = max(NONE * mechanism.length, ROUND_OFF * deflection)
        if missing.max(initial=0.0) <= unseen:
            continue
        over = surface_contact_motion(motion, contact.name)
        first = number == contact.body
        side = over if first or over.other is None else over.other
        gap = over.gap if first else np.broadcast_to(over.gap.min(axis=1, keepdims=True), missing.shape)
        missing[(gap > missing) & (side.pressure <= 0.0)] = 0.0
        k = np.unravel_index(int(missing.argmax()), missing.shape)[0]
        place = frame_motion(motion, body.name).position
        moved = np.einsum("tji,tnj->tni", R, side.point - place[:, None]) - surface.points
        largest, worst = np.abs(np.einsum("ni,tni->tn", surface.normals, moved)).max(), missing.max()
        if worst > max(LACKING * (largest + worst), unseen):
            turned = np.abs(curved @ rows.T).max() > np.abs(straight @ rows.T).max()
            yield (
                f"Contact {contact.name!r}: the shapes of {body.name!r} do not hold what "
                f"{'centrifugal forces do' if turned else 'its weight does'} to the surface {name!r}: near "
                f"t = {motion.t[k]:.6g} it lacks a displacement of about {worst:.3g} along its normal, and the largest "
                f"of the motion is {largest:.3g}. Pressures and gaps are wrong by this. Make the basis with "
                f'inputs=[..., "{"rotation" if turned else "gravity"}"].'
            )


def _weight_and_spin(
    motion: Motion, name: str, centre: Float[np.ndarray, "3"], R: Float[np.ndarray, "nt 3 3"]
) -> tuple[Float[np.ndarray, "nt 12"], Float[np.ndarray, "nt 12"]]:
    """Factors of the patterns of `BodySurface.lacking`: of the weight, and of centrifugal forces about the centre."""
    weight = np.einsum("tji,j->ti", R, motion.mechanism.gravity)
    omega = np.einsum("tji,tj->ti", R, frame_motion(motion, name).angular_velocity)
    spin = np.cross(omega[:, None], np.eye(3)).swapaxes(1, 2)
    about = spin @ spin
    moments = about.swapaxes(1, 2).reshape(-1, 9)
    return np.hstack([weight, np.zeros_like(moments)]), np.hstack([about @ centre, -moments])
