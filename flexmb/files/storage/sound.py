"""Validation of a body, a mechanism and a result from a file: shapes, indices, finite numbers, physical consistency.

Compiled code does not check indices: one that is out of range reads foreign memory. A file with the correct checksum
can still have any content.
"""

from typing import Any

import numpy as np

from flexmb.bodies.body import Body
from flexmb.bodies.invariants import rigid_mass
from flexmb.errors import UnsoundError
from flexmb.kernels.base.data import (
    ALONG,
    ANGLE,
    CURVE,
    DISTANCE,
    DOT,
    GROUND,
    HEIGHT,
    SKATE,
    SLIP,
    SPIN,
    TILT,
    TRANSLATION,
)
from flexmb.mechanism.mechanism import Load, Marker, Mechanism, Row
from flexmb.mechanism.state import State, Topology
from flexmb.results.ledger import Ledger
from flexmb.results.result import EventRecord, Statistics

UNIT = 1e-6
"""Largest deviation of quaternions and axes from unit length."""
DEFINITE = 1e-6
"""Smallest part of the rigid-body mass matrix that must remain besides the elastic motion."""
KINDS = (TRANSLATION, DOT, DISTANCE, ANGLE, TILT, SPIN, HEIGHT, SLIP, SKATE, CURVE, ALONG)


def require(holds: Any, text: str) -> None:
    """Raise `UnsoundError` with the message `text` if `holds` is false."""
    if not holds:
        raise UnsoundError(text)


def require_numbers(value: Any, shape: tuple[int, ...], what: str, finite: bool = True) -> None:
    """Raise `UnsoundError` unless `value` is an array of real numbers with the given shape, and finite if `finite`."""
    require(isinstance(value, np.ndarray) and value.dtype.kind == "f", f"{what} should be an array of real numbers")
    require(value.shape == shape, f"{what} has shape {value.shape}, expected {shape}")
    require(not finite or np.isfinite(value).all(), f"{what} has numbers that are not finite")


def require_places(value: Any, shape: tuple[int, ...], low: int, high: int, what: str) -> None:
    """Raise `UnsoundError` unless `value` is an integer array with the given shape and low <= entries < high."""
    require(isinstance(value, np.ndarray) and value.dtype.kind in "iu", f"{what} should be an array of whole numbers")
    require(value.shape == shape, f"{what} has shape {value.shape}, expected {shape}")
    require(not value.size or (value.min() >= low and value.max() < high), f"{what} go beyond {low} to {high - 1}")


def require_index(value: Any, low: int, high: int, what: str) -> None:
    require(
        type(value) is int and low <= value < high,
        f"{what} is {value!r}, expected a whole number from {low} to {high - 1}",
    )


def require_text(value: Any, what: str) -> None:
    require(isinstance(value, str), f"{what} is {value!r}, expected a text")


def require_number(value: Any, what: str) -> None:
    require(
        isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value),
        f"{what} is {value!r}, expected a finite number",
    )


# bodies ---------------------------------------------------------------------------------------------------------------


def require_sound_body(body: Body) -> None:
    """Raise `UnsoundError` for inconsistent displacement fields and mass integrals, which `Body` does not validate.

    Mass integrals are consistent if some distribution of matter has them.
    """
    m, inv = body.modes, body.invariants
    require_text(body.name, "the name of a body")
    for what, value in (("J1", inv.J1), ("J2", inv.J2)):
        require(
            np.abs(value - value.swapaxes(-1, -2)).max(initial=0.0) <= UNIT * np.abs(value).max(initial=0.0),
            f"{what} of {body.name!r} is not symmetric",
        )
    rigid, coupling = rigid_mass(inv.mass, inv.s0, inv.J0), np.vstack([inv.S1, inv.h0])
    root = np.linalg.cholesky(rigid)
    carried = np.linalg.svd(np.linalg.solve(root, coupling), compute_uv=False)
    require(
        carried.max(initial=0.0) < 1 + DEFINITE,
        f"the elastic motion of {body.name!r} carries more than its mass (S1, h0)",
    )
    nodes = None if body.mesh is None else len(body.mesh.points)
    if body.Psi is not None:
        rows = 3 * nodes if nodes is not None else len(body.Psi)
        require_numbers(body.Psi, (rows, m), f"Psi of {body.name!r}")
    if body.quadratic is not None:
        count = np.shape(body.quadratic.shapes)[-1]
        require_numbers(body.quadratic.shapes, (nodes or 0, 3, count), f"the second-order shapes of {body.name!r}")
        require_places(body.quadratic.pairs, (count, 2), 0, m, f"the pairs of shapes of {body.name!r}")
    if body.stress is not None:
        count = len(body.stress.nodes)
        require_places(body.stress.nodes, (count,), -1, nodes or 0, f"the nodes of stresses of {body.name!r}")
        require_numbers(body.stress.x, (count, 3), f"the places of stresses of {body.name!r}")
        require_numbers(body.stress.rows, (count, 6, m), f"the stresses of {body.name!r}")
        if body.stress.lacking is not None:
            at = np.asarray(body.stress.lacking_at)
            require_places(at, at.shape[:1], 0, count, f"the places of stresses that {body.name!r} lacks")
            require_numbers(body.stress.lacking, (*at.shape, 6, 12), f"the stresses that {body.name!r} lacks")
    if body.beams is not None:
        drawn, count = body.beams, len(body.beams.points)
        require_numbers(drawn.points, (count, 3), f"the surface of the beams of {body.name!r}")
        require_places(drawn.triangles, (len(drawn.triangles), 3), 0, count, f"the triangles of beams of {body.name!r}")
        require_places(drawn.nodes, (count, 2), 0, nodes or 0, f"the nodes of the beams of {body.name!r}")
        require_numbers(drawn.along, (count,), f"the places along the beams of {body.name!r}")
        require_numbers(drawn.shapes, (3 * count, m), f"the shapes of the beams of {body.name!r}")
        require_numbers(drawn.rows, (6 * count, m), f"the stresses of the beams of {body.name!r}")
    _require_surfaces(body, nodes)
    if body.validity is not None:
        count = len(body.validity.x)
        for key, shape in (("x", (count, 3)), ("rotation", (count, 3, m)), ("strain", (count, 6, m))):
            require_numbers(getattr(body.validity, key), shape, f"the validity ({key}) of {body.name!r}")


def _require_surfaces(body: Body, nodes: int | None) -> None:
    there = 0 if body.compliance is None else len(body.compliance.nodes)
    if body.compliance is not None:
        what = f"the residual compliance of {body.name!r}"
        require_numbers(body.compliance.matrix, (3 * there, 3 * there), what)
        C = body.compliance.matrix
        require(np.abs(C - C.T).max(initial=0.0) <= UNIT * np.abs(C).max(initial=0.0), f"{what} is not symmetric")
    for name, surface in body.surfaces.items():
        what, n = f"surface {name!r} of {body.name!r}", len(surface.nodes)
        require_places(surface.nodes, (n,), 0, n if nodes is None else nodes, f"the nodes of {what}")
        require_places(surface.triangles, (len(surface.triangles), 3), 0, n, f"the triangles of {what}")
        halves = len(surface.triangles)
        require_places(surface.halves, (len(surface.halves), 2), 0, halves, f"the halves of quadrilaterals of {what}")
        require_places(surface.pairs, (len(surface.pairs), 2), 0, body.modes, f"the pairs of shapes of {what}")
        if body.compliance is not None:
            require_places(surface.places, (n,), 0, there, f"the places of {what}")


# mechanisms -----------------------------------------------------------------------------------------------------------


def require_sound_mechanism(m: Mechanism) -> None:
    """Raise `UnsoundError` unless the parts of a mechanism are consistent.

    Indices must be in range, axes orthonormal, numbers finite, and the rows of the joints the first ones.
    """
    require_text(m.name, "the name of the mechanism")
    require_numbers(m.gravity, (3,), "gravity")
    require(len(m.bodies) > 0, "there is no body")
    for number, marker in enumerate(m.markers):
        _require_marker(m, marker, f"marker {number}")
    for row in (*m.rows, *(row for row, _ in m.start_rows)):
        _require_row(m, row)
    joints = [index for joint in m.joints for index in joint.rows]
    require(
        sorted(joints) == list(range(len(joints))) and len(joints) <= len(m.rows),
        "the rows of the joints are not the first ones",
    )
    for joint in m.joints:
        require_text(joint.name, "the name of a joint")
        require_text(joint.kind, f"the kind of joint {joint.name!r}")
        require(len(joint.markers) == 2, f"joint {joint.name!r} has {len(joint.markers)} markers")
        for place in joint.markers:
            require_index(place, 0, len(m.markers), f"a marker of joint {joint.name!r}")
    for name, rows in m.force_elements.items():
        require(len(rows) > 0, f"{name!r} has no rows")
        for index in rows:
            require_index(index, len(joints), len(m.rows), f"a row of {name!r}")
    for load in m.loads:
        _require_load(m, load)
    for _, speed in m.start_rows:
        require_number(speed, "a speed at the start")
    _require_state(m, m.initial, "the initial state")


def _require_marker(m: Mechanism, marker: Marker, what: str) -> None:
    require_text(marker.name, f"the name of {what}")
    require_index(marker.body, GROUND, len(m.bodies), f"the body of {what}")
    require_numbers(marker.point, (3,), f"the point of {what}")
    require_numbers(marker.axes, (3, 3), f"the axes of {what}")
    require(np.abs(marker.axes.T @ marker.axes - np.eye(3)).max() < UNIT, f"the axes of {what} are not orthonormal")
    if marker.interface is not None:
        require(
            marker.body != GROUND and marker.interface in m.bodies[marker.body].interfaces,
            f"{what} is at an interface {marker.interface!r} that its body does not have",
        )


def _require_row(m: Mechanism, row: Row) -> None:
    require(type(row.kind) is int and row.kind in KINDS, f"a row is of kind {row.kind!r}")
    for pair, high, what in ((row.markers, len(m.markers), "a marker of a row"), (row.axes, 3, "an axis of a row")):
        require(len(pair) == 2, f"{what}: found {len(pair)}, expected two")
        for index in pair:
            require_index(index, 0, high, what)
    for term in row.terms:
        require(term.kind in (ANGLE, TRANSLATION, DISTANCE), f"a term of a row is of kind {term.kind!r}")
        require(len(term.markers) == 2, f"a term of a row has {len(term.markers)} markers")
        for index in term.markers:
            require_index(index, 0, len(m.markers), "a marker of a term")
        require_index(term.axis, 0, 3, "the axis of a term")
        require_number(term.factor, "the factor of a term")
    require_index(row.function, -1, len(m.functions), "the function of a row")
    require_index(row.law, -1, len(m.laws), "the law of a row")
    require_index(row.curve, -1, len(m.curves), "the curve of a row")
    require_index(row.command, -1, _commands(m), "the command of a row")
    require((row.curve >= 0) == (row.kind in (CURVE, ALONG)), "a row on a curve has none, or another row has one")
    for name in ("stiffness", "damping", "offset"):
        require_number(getattr(row, name), f"the {name} of a row")


def _require_load(m: Mechanism, load: Load) -> None:
    require_text(load.name, "the name of a load")
    require_index(load.marker, 0, len(m.markers), f"the marker of load {load.name!r}")
    require_numbers(load.wrench, (6,), f"load {load.name!r}")
    require(isinstance(load.follower, bool), f"load {load.name!r}: follower is true or false; found {load.follower!r}")
    require_index(load.function, -1, len(m.functions), f"the function of load {load.name!r}")
    require_index(load.command, -1, _commands(m), f"the command of load {load.name!r}")


def _commands(m: Mechanism) -> int:
    """Number of the commands of all controllers."""
    return sum(len(controller.call.law.commands) for controller in m.controllers)


def _require_state(m: Mechanism, state: State, what: str) -> None:
    require_number(state.t, f"the time of {what}")
    require_configurations(m, state.q[None], state.w[None], what)
    if len(state.element_states):
        require_numbers(state.element_states, (len(m._own_states()),), f"the states of elements in {what}")
    if len(state.angles):
        require_numbers(state.angles, (len(m.turning),), f"the angles of {what}")


def require_configurations(m: Mechanism, q: np.ndarray, w: np.ndarray, what: str) -> None:
    """Raise `UnsoundError` unless q (nt, nq) and w (nt, nv) are finite and the quaternions have unit length."""
    modes = [body.modes for body in m.bodies]
    nt, starts = len(q), np.concatenate([[0], np.cumsum([7 + k for k in modes])])
    require_numbers(q, (nt, int(starts[-1])), f"the configuration of {what}")
    require_numbers(w, (nt, int(starts[-1]) - len(modes)), f"the velocity of {what}")
    for body, start in zip(m.bodies, starts, strict=False):
        missed = np.abs(np.linalg.norm(q[:, start + 3 : start + 7], axis=1) - 1).max(initial=0.0)
        require(
            missed < UNIT, f"a quaternion of body {body.name!r} in {what} deviates from unit length by {missed:.2g}"
        )


def require_sound_motion(
    m: Mechanism, t: np.ndarray, q: np.ndarray, rates: dict[str, np.ndarray], ledger: Ledger
) -> None:
    """Raise `UnsoundError` unless the stored times ascend and every array has one entry for each of them."""
    require(isinstance(t, np.ndarray) and t.ndim == 1 and len(t) > 0, "there are no stored times")
    require_numbers(t, t.shape, "the stored times")
    require((np.diff(t) > 0).all(), "the stored times do not ascend")
    require(np.ndim(q) == 2 and len(q) == len(t), "the number of configurations is not that of the stored times")
    for key in ("w", "wdot"):
        require_configurations(m, q, rates[key], f"the motion ({key})")
    require_numbers(rates["multipliers"], (len(t), m.joint_rows), "the multipliers")
    for key, values in ledger.series.items():
        require_numbers(values, t.shape, f"the ledger ({key})", finite=False)


def require_sound_records(
    statistics: Statistics, happened: tuple[EventRecord, ...], topologies: tuple[tuple[float, Topology], ...]
) -> None:
    """Raise `UnsoundError` unless the numbers of steps, the events and the topologies are what they should be."""
    for name, value in vars(statistics).items():
        require_number(value, f"the statistics ({name})")
    for event in happened:
        require_text(event.event, "the name of an event")
        for value in (event.t, event.lost):
            require_number(value, f"a number of the event {event.event!r}")
    for t, topology in topologies:
        require_number(t, "the time of a change of topology")
        for what in ("locked", "fastest", "sliding"):
            values = getattr(topology, what)
            require(isinstance(values, dict), f"{what} of a topology is {values!r}, expected names and numbers")
            for name, value in values.items():
                require_number(value, f"{what} {name!r} of a topology")
        for name in topology.released:
            require_text(name, "what a topology releases")
