"""Compilation of a mechanism: the arrays that the kernels use."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from fem.renamed import refuse_old_names
from flexmb.bodies.body import Body
from flexmb.bodies.invariants import inverse_moments, rigid_mass
from flexmb.kernels.base.data import (
    ANGLE,
    DOT,
    FIRST_ORDER,
    GROUND,
    HEIGHT,
    SECOND_ORDER,
    SPIN,
    TRANSLATION,
    VELOCITY_KINDS,
    CompiledModel,
)
from flexmb.kernels.base.pointed import fields_of, pointed
from flexmb.kernels.equations.controllers import ELASTIC, ELASTIC_RATE, RATE, VALUE, pass_on
from flexmb.mechanism.contacts.element import is_plain_contact
from flexmb.mechanism.contacts.exact import contact_arrays, contact_states
from flexmb.mechanism.contacts.group import group_arrays
from flexmb.mechanism.contacts.surface import FORCES, surface_contact_arrays
from flexmb.mechanism.control.controller import Controller, Signal
from flexmb.mechanism.lines.line import compiled_lines
from flexmb.mechanism.mechanism import FrameForce, JointFriction, Mechanism, Row
from flexmb.mechanism.scales import rate_of
from flexmb.spatial.elimination import elimination_of
from flexmb.spatial.layout import starts_of

STEEP = 1e-11
"""Sliding velocity, relative to the characteristic rate of the mechanism, over which exact friction in several free
motions turns round: a number for the steps that pass an instant at which the joint sticks, which are not kept."""


def _pack_linear(body: Body) -> np.ndarray:
    inv = body.invariants
    J1 = [inv.J1[:, r, c] for r, c in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))]
    return np.concatenate([inv.S1.ravel(), *J1, inv.h0.ravel()])


def _pack_quadratic(body: Body) -> np.ndarray:
    inv = body.invariants
    J2 = [inv.J2[:, :, r, c] for r, c in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))]
    antisymmetric = 0.5 * (inv.h - inv.h.transpose(0, 2, 1))
    slices = [*J2, *antisymmetric]
    if inv.second_order:
        slices += [*inv.SG, *inv.PG.reshape(9, *inv.SG.shape[1:])]
    return np.ascontiguousarray(np.stack(slices).transpose(2, 0, 1)).ravel()


def _packed(pack: Callable[[Body], np.ndarray], bodies: tuple[Body, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Where the numbers of each body start (nb,) in one array, and the array.

    Bodies with one record of invariants, such as links of a chain, share their numbers: a step then reads them from the
    cache of the processor.
    """
    alike = {id(body.invariants): body for body in bodies}
    parts = {key: pack(body) for key, body in alike.items()}
    ends = np.cumsum([0, *map(len, parts.values())])
    place = dict(zip(parts, ends.tolist(), strict=False))
    starts = [place[id(body.invariants)] for body in bodies]
    return np.array(starts, dtype=np.int64), np.concatenate([*parts.values(), np.zeros(0)])


def _padded(rows: np.ndarray, width: int) -> np.ndarray:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))


def _with_inverse_diagonal(L: np.ndarray) -> np.ndarray:
    k = np.arange(6)
    L[:, k, k] = 1.0 / L[:, k, k]
    return L


def _deflection(body: Body) -> np.ndarray:
    """Displacement per unit of each elastic coordinate (m,).

    It is at least the root mean square over the body, `1 / sqrt(mass)` for unit modal mass, because the nodes of a beam
    do not move when it twists.
    """
    return np.maximum(body.deflection, 1 / np.sqrt(body.invariants.mass))


def compiled(mechanism: Mechanism) -> CompiledModel:
    """The arrays of a mechanism for the kernels. They are computed once and cached in the mechanism."""
    known = mechanism.__dict__.get("_compiled")
    if known is None:
        known = mechanism.__dict__["_compiled"] = _compile(mechanism)
    return known


def _compile(mechanism: Mechanism) -> CompiledModel:
    """Compile all arrays, in the order of the bodies, markers, rows and loads of the mechanism."""
    bodies = mechanism.bodies
    modes = np.array([b.modes for b in bodies], dtype=np.int64)
    qs, vs = starts_of(modes)
    mmax = int(modes.max(initial=0))
    linear_start, linear = _packed(_pack_linear, bodies)
    quadratic_start, quadratic = _packed(_pack_quadratic, bodies)
    marker_rows = np.zeros((len(mechanism.markers), 6, mmax))
    second_of = np.full(len(mechanism.markers), -1)
    second: list[np.ndarray] = []
    place: dict[tuple[int, int], int] = {}
    for k, marker in enumerate(mechanism.markers):
        if marker.body != GROUND and marker.interface is not None:
            interface = bodies[marker.body].interface(marker.interface)
            m = interface.rows.shape[1]
            marker_rows[k, :, :m] = interface.rows
            if interface.second is not None and interface.second.any():
                alike = id(bodies[marker.body].invariants), id(interface.second)
                if alike not in place:
                    place[alike] = len(second)
                    second.append(np.pad(interface.second, ((0, 0), (0, mmax - m), (0, mmax - m))))
                second_of[k] = place[alike]
    length = mechanism.length
    weight = np.concatenate(
        [np.concatenate([np.full(3, 1 / length), np.ones(3), _deflection(b) / length]) for b in bodies]
    )
    at_rest = [rigid_mass(b.invariants.mass, b.invariants.s0, b.invariants.J0) for b in bodies]
    rest = np.array(at_rest).reshape(-1, 6, 6)
    rows, loads, markers = mechanism.rows, mechanism.loads, mechanism.markers
    elements = [force for force in mechanism.frame_forces if force.name in mechanism.force_elements]
    first = [mechanism.force_elements[force.name][0] for force in elements]
    terms = _terms(mechanism)
    pairs = [[markers[k].body for k in pair] for pair in terms["term_markers"].tolist()]
    first_contact, first_surface = _first_states(mechanism)
    rate = rate_of(mechanism, weight)
    alone = bool(mechanism.contacts)  # their responses use the factors of single bodies
    elimination = elimination_of(pairs, terms["term_row"].tolist(), modes, first, branches=not alone)
    return pointed(
        CompiledModel(
            gravity=np.array(mechanism.gravity, dtype=float),
            q_start=qs,
            v_start=vs,
            modes=modes,
            mass=np.array([b.invariants.mass for b in bodies], dtype=float),
            s0=np.array([b.invariants.s0 for b in bodies]).reshape(-1, 3),
            J0=np.array([b.invariants.J0 for b in bodies]).reshape(-1, 3, 3),
            rest_Mrr=rest,
            rest_Mre=np.array([_padded(np.vstack([b.invariants.S1, b.invariants.h0]), mmax) for b in bodies]).reshape(
                len(bodies), 6, mmax
            ),
            rest_moments=np.array([inverse_moments(b.invariants) for b in bodies]).reshape(-1, 3, 3),
            rest_chol=_with_inverse_diagonal(np.linalg.cholesky(rest)),
            linear_start=linear_start,
            linear=linear,
            quadratic_start=quadratic_start,
            quadratic=quadratic,
            slices=np.array(
                [SECOND_ORDER if b.invariants.second_order else FIRST_ORDER for b in bodies], dtype=np.int64
            ),
            stiffness=np.concatenate([b.stiffness for b in bodies]) if bodies else np.zeros(0),
            damping=np.concatenate([b.damping for b in bodies]) if bodies else np.zeros(0),
            weight=weight,
            scales=np.array([length, rate]),
            marker_body=np.array([m.body for m in markers], dtype=np.int64),
            marker_point=np.array([m.point for m in markers]).reshape(-1, 3),
            marker_axes=np.array([m.axes for m in markers]).reshape(-1, 3, 3),
            marker_moves=marker_rows.any(axis=(1, 2)) | (second_of >= 0),
            marker_used=np.isin(
                np.arange(len(markers)),
                [
                    *terms["term_markers"].ravel(),
                    *(x.marker for x in loads),
                    *_measured_markers(mechanism),
                    *(k for x in mechanism.contacts for k in x.markers),
                    *(x.marker for x in mechanism.surface_contacts),
                    *(k for group in mechanism.contact_groups for k in group.markers),
                ],
            ),
            marker_rows=marker_rows,
            marker_second_of=second_of,
            marker_second=np.array(second).reshape(len(second), 6, mmax, mmax),
            row_kind=np.array([r.kind for r in rows], dtype=np.int64),
            row_markers=np.array([r.markers for r in rows], dtype=np.int64).reshape(-1, 2),
            row_axes=np.array([r.axes for r in rows], dtype=np.int64).reshape(-1, 2),
            row_function=np.array([r.function for r in rows], dtype=np.int64),
            row_stiffness=np.array([r.stiffness for r in rows], dtype=float),
            row_damping=np.array([r.damping for r in rows], dtype=float),
            row_law=np.array([_address(mechanism, row) for row in rows], dtype=np.int64),
            row_store=np.array(
                [mechanism.laws[r.law].store_address if r.law >= 0 else 0 for r in rows], dtype=np.int64
            ),
            row_offset=np.array([r.offset for r in rows], dtype=float),
            element_row=np.array(first, dtype=np.int64),
            element_law=np.array([force.call.address for force in elements], dtype=np.int64),
            element_record=np.array([force.call.record for force in elements], dtype=np.int64),
            element_tangent=np.array([force.call.tangent_address for force in elements], dtype=np.int64),
            element_updates=np.array([force.call.law.updates for force in elements], dtype=np.int64),
            element_contact=np.array([is_plain_contact(force) for force in elements], dtype=np.int64),
            element_state=_starts([len(force.initial) for force in elements]),
            element_parameter=_starts([len(force.parameters) for force in elements]),
            element_parameters=np.array([x for force in elements for x in force.numbers], dtype=float),
            element_command=np.array(
                [(force.command, len(force.call.law.inputs)) for force in elements], dtype=np.int64
            ).reshape(-1, 2),
            **group_arrays(mechanism.contact_groups),
            joint_rows=mechanism.joint_rows,
            **_frictions(mechanism, rate),
            **_controllers(mechanism, elements, qs, vs, weight),
            velocity_rows=sum(row.kind in VELOCITY_KINDS for row in rows[: mechanism.joint_rows]),
            **_angles(mechanism),
            **terms,
            **elimination,
            **_velocity_matrices(bodies, mmax),
            **compiled_lines(bodies, mechanism.lines, mmax),
            load_marker=np.array([x.marker for x in loads], dtype=np.int64),
            load_follower=np.array([int(x.follower) for x in loads], dtype=np.int64),
            load_wrench=np.array([x.wrench for x in loads], dtype=float).reshape(-1, 6),
            load_function=np.array([x.function for x in loads], dtype=np.int64),
            row_command=np.array([r.command for r in rows], dtype=np.int64),
            load_command=np.array([x.command for x in loads], dtype=np.int64),
            **contact_arrays(mechanism.contacts, first_contact),
            **surface_contact_arrays(mechanism.surface_contacts, bodies, first_surface, mmax),
            body_group=_groups(pairs, len(bodies)),
        )
    )


def _first_states(mechanism: Mechanism) -> tuple[int, int]:
    """The first of the states of exact contacts, and that of contacts of flexible surfaces."""
    surfaces = len(mechanism._own_states()) - FORCES * sum(c.nodes for c in mechanism.surface_contacts)
    return surfaces - contact_states(mechanism.contacts), surfaces


def _velocity_matrices(bodies: tuple[Body, ...], most: int) -> dict[str, Any]:
    """The velocity matrices of the bodies that have one; `most` is the largest number of elastic coordinates."""
    which = [k for k, body in enumerate(bodies) if body.velocity_matrix is not None]
    padded = np.zeros((len(which), 6 + most, 6 + most))
    for out, k in zip(padded, which, strict=True):
        matrix = bodies[k].velocity_matrix
        assert matrix is not None
        out[: len(matrix), : len(matrix)] = matrix
    return {"velocity_body": np.array(which, dtype=np.int64), "velocity_matrix": padded}


def _groups(pairs: list[list[int]], bodies: int) -> np.ndarray:
    """The number of the group of each body (nb,): bodies in one group are connected by rows; -1 - b for a body without
    rows."""
    there = [[b for b in pair if b != GROUND] * 2 for pair in pairs if max(pair) != GROUND]
    links = np.array([[x[0], x[1]] for x in there], dtype=np.int64).reshape(-1, 2)
    graph = sp.csr_matrix((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(bodies, bodies))
    groups = connected_components(graph, directed=False)[1].astype(np.int64)
    alone = np.setdiff1d(np.arange(bodies), links.ravel())
    groups[alone] = -1 - alone
    return groups


def _address(mechanism: Mechanism, row: Row) -> int:
    """The address of the law of a row, or of the data of its curve; 0 for none."""
    if row.curve >= 0:
        return mechanism.curves[row.curve].address
    return mechanism.laws[row.law].address if row.law >= 0 else 0


def _starts(sizes: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _frictions(mechanism: Mechanism, rate: float) -> dict[str, Any]:
    """The entries of dry friction in the joints that are there, with the characteristic rate."""
    there = {joint.name for joint in mechanism.joints}
    acting = [f for f in mechanism.frictions if f.name in mechanism.force_elements and f.joint in there]
    sources = []
    for friction in acting:
        own = {(mechanism.rows[r].kind, mechanism.rows[r].axes): r for r in mechanism.joint(friction.joint).rows}
        keys = [*((TRANSLATION, (i, 0)) for i in range(3)), (DOT, (0, 2)), (DOT, (1, 2))]
        if (HEIGHT, (2, 0)) in own:  # of a disc, instead of the translation z
            keys[2] = (HEIGHT, (2, 0))
        sources.append([own.get(key, -1) for key in keys])
    factors = [(*f.factors, float(mechanism.joint(f.joint).kind == "spherical")) for f in acting]
    return {
        "friction_start": _starts([len(f.arms) for f in acting]),
        "friction_source": np.array(sources, dtype=np.int64).reshape(-1, 5),
        "friction_factors": np.array(factors, dtype=float).reshape(-1, 5),
        "friction_speed": np.array([f.speed or _steep(mechanism, f, rate) for f in acting], dtype=float),
        "friction_row": np.array([r for f in acting for r in mechanism.force_elements[f.name]], dtype=np.int64),
        "friction_arm": np.array([arm for f in acting for arm in f.arms], dtype=float),
        "friction_direction": np.array([0.0 if f.several else f.direction for f in acting], dtype=float),
    }


def _steep(mechanism: Mechanism, friction: JointFriction, rate: float) -> float:
    """The speed of exact friction in several free motions: `STEEP` while the joint slides, else 0."""
    if not friction.several or not friction.direction:
        return 0.0
    return STEEP * (rate if friction.turns else rate * mechanism.length)


def _measured_markers(mechanism: Mechanism) -> list[int]:
    """The markers that controllers measure."""
    return [
        k for controller in mechanism.controllers for signal in controller.signals for k in signal.markers if k >= 0
    ]


def _controllers(
    mechanism: Mechanism, elements: list[FrameForce], qs: np.ndarray, vs: np.ndarray, weight: np.ndarray
) -> dict[str, Any]:
    """The entries of controllers. Sampled ones have no signals here, because they are not evaluated within steps."""
    own = mechanism.controllers
    for controller in own:
        controller.call.bind(controller.parameters)
    signals = [[] if c.sample_time is not None else list(c.signals) for c in own]
    every = [signal for several in signals for signal in several]
    numbers = [[*c.call.sizes, *c.parameters] for c in own]
    scales = [_command_scales(mechanism, c, qs, vs, weight) for c in own]
    begin = sum(len(force.initial) for force in elements)
    places = [_signal_place(mechanism, signal, qs, vs, weight) for signal in every]
    return {
        "control_law": np.array([c.call.address for c in own], dtype=np.int64),
        "control_record": np.array([c.call.record for c in own], dtype=np.int64),
        "control_sampled": np.array([c.sample_time is not None for c in own], dtype=np.int64),
        "control_signal": _starts([len(several) for several in signals]),
        "control_command": _starts([len(c.call.law.commands) for c in own]),
        "command_scale": np.array([x for several in scales for x in several], dtype=float),
        "control_state": begin + _starts([len(c.initial) for c in own]),
        "control_parameter": _starts([len(x) for x in numbers]),
        "control_parameters": np.array([x for several in numbers for x in several], dtype=float),
        "follows": int(any(c.sample_time is None for c in own)),
        "signal_sort": np.array([s.sort for s in every], dtype=np.int64),
        "signal_kind": np.array([s.kind for s in every], dtype=np.int64),
        "signal_markers": np.array([s.markers for s in every], dtype=np.int64).reshape(-1, 2),
        "signal_axes": np.array([s.axes for s in every], dtype=np.int64).reshape(-1, 2),
        "signal_given": np.array([s.given for s in every], dtype=float),
        "signal_angle": np.array([x[0] for x in places], dtype=np.int64),
        "signal_index": np.array([x[1] for x in places], dtype=np.int64),
        "signal_rate": np.array([x[2] for x in places], dtype=np.int64),
        "signal_scale": np.array([x[3] for x in places], dtype=float),
    }


def _command_scales(
    mechanism: Mechanism, controller: Controller, qs: np.ndarray, vs: np.ndarray, weight: np.ndarray
) -> list[float]:
    """The magnitudes of the commands of a controller: those of the signals that one passes on, and otherwise one."""
    if controller.call.law.function is not pass_on:
        return [1.0] * len(controller.call.law.commands)
    return [_signal_place(mechanism, signal, qs, vs, weight)[3] for signal in controller.signals]


def _signal_place(
    mechanism: Mechanism, signal: Signal, qs: np.ndarray, vs: np.ndarray, weight: np.ndarray
) -> tuple[int, int, int, float]:
    """Index of the angle of a signal, its entry of q, w, the functions or the commands, the entry of w of an elastic
    coordinate, and its scale. A body without the elastic coordinate keeps it at zero."""
    rate = rate_of(mechanism, weight) if signal.sort in (RATE, ELASTIC_RATE) else 1.0
    if signal.sort in (ELASTIC, ELASTIC_RATE):
        if signal.index >= mechanism.bodies[signal.body].modes:
            return -1, -1, -1, rate
        at = int(vs[signal.body]) + 6 + signal.index
        place = at if signal.sort == ELASTIC_RATE else int(qs[signal.body]) + 7 + signal.index
        return -1, place, at, rate / weight[at]
    if signal.sort in (VALUE, RATE) and signal.kind == ANGLE:
        return mechanism.turning.index(signal.markers), -1, -1, rate
    unit = 1.0 if signal.kind in (SPIN, DOT) else mechanism.length
    return -1, signal.index, -1, rate * unit


def _angles(mechanism: Mechanism) -> dict[str, Any]:
    """The entries for angles: their markers and axes, the angle of each row, and the joint equation that prescribes
    each."""
    pairs = mechanism.turning
    number = {pair: k for k, pair in enumerate(pairs)}
    of_row = np.array([number[r.markers] if r.kind == ANGLE else -1 for r in mechanism.rows], dtype=np.int64)
    driver = np.full(len(pairs), -1)
    for r in range(mechanism.joint_rows):
        if of_row[r] >= 0 and not mechanism.rows[r].terms:
            driver[of_row[r]] = r
    axes = [[mechanism.markers[k].axes[:, 2] for k in pair] for pair in pairs]
    return {
        "row_angle": of_row,
        "angle_markers": np.array(pairs, dtype=np.int64).reshape(-1, 2),
        "angle_driver": driver,
        "angle_axes": np.array(axes, dtype=float).reshape(-1, 2, 3),
    }


def _terms(mechanism: Mechanism) -> dict[str, Any]:
    """The entries for the terms of rows: the own coordinate of each row, then the further terms of relations."""
    rows, pairs = mechanism.rows, mechanism.turning
    further = [term for row in rows for term in row.terms]
    counts = [len(row.terms) for row in rows]
    return {
        "term_row": np.concatenate([np.arange(len(rows)), np.repeat(np.arange(len(rows)), counts)]).astype(np.int64),
        "term_markers": np.array([x.markers for x in rows] + [x.markers for x in further], dtype=np.int64).reshape(
            -1, 2
        ),
        "term_start": _starts(counts),
        "term_kind": np.array([x.kind for x in further], dtype=np.int64),
        "term_axis": np.array([x.axis for x in further], dtype=np.int64),
        "term_factor": np.array([x.factor for x in further], dtype=float),
        "term_angle": np.array([pairs.index(x.markers) if x.kind == ANGLE else -1 for x in further], dtype=np.int64),
    }


def part_of(flat: CompiledModel, rows: np.ndarray, loads: np.ndarray) -> CompiledModel:
    """The compiled model restricted to some of its `rows` and `loads`, in their order.

    These can be evaluated; the data for their elimination are not restricted.
    """
    values = fields_of(flat)
    for name in (
        "row_kind",
        "row_markers",
        "row_axes",
        "row_function",
        "row_stiffness",
        "row_damping",
        "row_law",
        "row_store",
        "row_offset",
        "row_angle",
        "row_command",
    ):
        values[name] = np.ascontiguousarray(values[name][rows])
    for name in ("load_marker", "load_follower", "load_wrench", "load_function", "load_command"):
        values[name] = np.ascontiguousarray(values[name][loads])
    places = {r: k for k, r in enumerate(rows.tolist())}
    whole = [e for e, r in enumerate(flat.element_row.tolist()) if r in places]
    if whole and len(whole) < len(flat.element_row):
        raise ValueError("Rows of some frame forces only cannot be evaluated: states belong to all.")
    counts = np.diff(flat.term_start)[rows]
    further = [x for r in rows for x in range(flat.term_start[r], flat.term_start[r + 1])]
    numbers = np.concatenate([rows, len(flat.row_kind) + np.array(further, dtype=np.int64)]).astype(np.int64)
    values["term_markers"] = np.ascontiguousarray(flat.term_markers[numbers])
    values["term_row"] = np.concatenate([np.arange(len(rows)), np.repeat(np.arange(len(rows)), counts)]).astype(
        np.int64
    )
    values["term_start"] = _starts(counts.tolist())
    for name in ("term_kind", "term_axis", "term_factor", "term_angle"):
        values[name] = np.ascontiguousarray(values[name][further])
    values["element_row"] = np.array([places[flat.element_row[e]] for e in whole], dtype=np.int64)
    for name in ("friction_row", "friction_speed"):  # sliding joints are evaluated together with their reactions
        values[name] = values[name][:0]
    used = np.zeros(len(flat.marker_body), dtype=bool)
    used[values["term_markers"].ravel()] = used[values["load_marker"]] = True
    used[flat.signal_markers[flat.signal_markers >= 0]] = used[flat.group_marker] = True
    values["angle_driver"] = np.full_like(flat.angle_driver, -1)
    values["marker_used"], values["joint_rows"] = used, int((rows < flat.joint_rows).sum())
    values["velocity_rows"] = int(np.isin(values["row_kind"][: values["joint_rows"]], VELOCITY_KINDS).sum())
    return pointed(CompiledModel(**values))


refuse_old_names(__name__)
