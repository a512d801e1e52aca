"""`Mechanism`: the frozen model that a `System` compiles to, and the state it moves through."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from fem.errors import FlexmbError, unknown_name
from flexmb.body import Body
from flexmb.elimination import elimination_of
from flexmb.invariants import inverse_moments, rigid_mass
from flexmb.kernels.data import ANGLE, FIRST_ORDER, GROUND, SECOND_ORDER, Flat
from flexmb.kernels.rows import make_work, place_markers
from flexmb.lie import rotation_from_quaternion
from flexmb.motion import Motion


class MechanismError(FlexmbError, ValueError):
    """A mechanism cannot be built or asked as requested."""


@dataclass(frozen=True, eq=False)
class Marker:
    """A connection frame: `body` (-1: ground), `point` (3,) and `axes` (3, 3) in the undeformed body, interface name or None."""

    name: str
    body: int
    point: Float[np.ndarray, "3"]
    axes: Float[np.ndarray, "3 3"]
    interface: str | None = None


@dataclass(frozen=True, eq=False)
class Row:
    """One scalar row between two markers: a joint equation, or a force element with stiffness, damping and effort."""

    kind: int
    markers: tuple[int, int]
    axes: tuple[int, int] = (0, 0)
    function: int = -1
    stiffness: float = 0.0
    damping: float = 0.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint:
    """A named joint: kind, its two markers, the indices of its rows, and the row each driver acts on."""

    name: str
    kind: str
    markers: tuple[int, int]
    rows: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Load:
    """A wrench at a marker: directions (6,) for a factor of one, fixed in the world or following the marker."""

    name: str
    marker: int
    wrench: Float[np.ndarray, "6"]
    follows: bool
    function: int = -1


@dataclass(frozen=True, eq=False)
class State:
    """Configuration `q`, velocity `w` and time of a mechanism.

    Per body `q` holds position (3), quaternion (4, scalar first), eta (m); `w` holds v (3) and omega (3) in
    body axes and etadot (m).
    """

    t: float
    q: Float[np.ndarray, "nq"]
    w: Float[np.ndarray, "nv"]


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Bodies, joints, force elements and loads, frozen; with the initial state as the user gave it.

    `joint_speeds`: joint row index -> relative speed wanted at the start. Joint rows come first in `rows`.
    """

    name: str
    gravity: Float[np.ndarray, "3"]
    bodies: tuple[Body, ...]
    markers: tuple[Marker, ...]
    rows: tuple[Row, ...]
    joints: tuple[Joint, ...]
    force_elements: Mapping[str, tuple[int, ...]]
    loads: tuple[Load, ...]
    functions: tuple[Motion, ...]
    initial: State
    start_rows: tuple[tuple[Row, float], ...] = ()

    @property
    def joint_rows(self) -> int:
        """Number of scalar joint equations."""
        return sum(len(j.rows) for j in self.joints)

    @property
    def length(self) -> float:
        """A length of the mechanism: the scale of every tolerance (marker and mass-centre distances)."""
        reach = [np.linalg.norm(m.point - self.bodies[m.body].centre) for m in self.markers if m.body != GROUND]
        reach += [np.linalg.norm(i.point - b.centre) for b in self.bodies for i in b.interfaces.values()]
        radius = [np.sqrt(np.trace(_central(b)) / (2 * b.invariants.mass)) for b in self.bodies]
        return float(max([*reach, *radius]))

    def body_index(self, name: str) -> int:
        """Index of the body called `name`."""
        names = [b.name for b in self.bodies]
        if name not in names:
            raise MechanismError(unknown_name("body", name, names))
        return names.index(name)

    def joint(self, name: str) -> Joint:
        """The joint called `name`."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise MechanismError(unknown_name("joint", name, [j.name for j in self.joints]))

    def marker_index(self, name: str) -> int:
        """Index of the marker called `name` ("body.interface" for interfaces)."""
        names = [m.name for m in self.markers]
        if name not in names:
            raise MechanismError(unknown_name("marker", name, names))
        return names.index(name)

    def function_values(self, t: float) -> Float[np.ndarray, "nf 3"]:
        """Value, rate and acceleration of every function of time at `t`."""
        values = np.array([f(t) for f in self.functions], dtype=float).reshape(-1, 3)
        if not np.isfinite(values).all():
            bad = self.functions[int(np.argmax(~np.isfinite(values).all(axis=1)))]
            raise MechanismError(f"The motion {bad.description!r} is not finite at t = {t}.")
        return values

    def function_table(self, times: Float[np.ndarray, "nt"]) -> Float[np.ndarray, "nt nf 3"]:
        """`function_values` at many times."""
        if not self.functions:
            return np.zeros((len(times), 0, 3))
        return np.stack([self.function_values(t) for t in times])

    def rigid(self) -> "Mechanism":
        """The same mechanism with every flexible body made rigid, starting from the same places and velocities."""
        bodies = tuple(b.rigid() for b in self.bodies)
        qs, vs = _starts(self.bodies)
        q = np.concatenate([self.initial.q[s : s + 7] for s in qs[:-1]])
        w = np.concatenate([self.initial.w[s : s + 6] for s in vs[:-1]])
        return replace(self, bodies=bodies, initial=State(self.initial.t, q, w))

    def flat(self) -> Flat:
        """The arrays of the compiled loop."""
        return _flatten(self)


def _central(body: Body) -> np.ndarray:
    c = body.centre
    return body.invariants.J0 - body.invariants.mass * (c @ c * np.eye(3) - np.outer(c, c))


def _starts(bodies: tuple[Body, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Where each body's part of `q` and `w` starts (with the total at the end)."""
    m = np.array([b.modes for b in bodies], dtype=np.int64)
    return np.concatenate([[0], np.cumsum(7 + m)]), np.concatenate([[0], np.cumsum(6 + m)])


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


def _padded(rows: np.ndarray, width: int) -> np.ndarray:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))


def _with_inverse_diagonal(L: np.ndarray) -> np.ndarray:
    k = np.arange(6)
    L[:, k, k] = 1.0 / L[:, k, k]
    return L


def _flatten(mechanism: Mechanism) -> Flat:
    bodies = mechanism.bodies
    qs, vs = _starts(bodies)
    modes = np.array([b.modes for b in bodies], dtype=np.int64)
    mmax = int(modes.max(initial=0))
    linear = [_pack_linear(b) for b in bodies]
    quadratic = [_pack_quadratic(b) for b in bodies]
    marker_rows = np.zeros((len(mechanism.markers), 6, mmax))
    second_of = np.full(len(mechanism.markers), -1)
    second: list[np.ndarray] = []
    for k, marker in enumerate(mechanism.markers):
        if marker.body != GROUND and marker.interface is not None:
            interface = bodies[marker.body].interface(marker.interface)
            m = interface.rows.shape[1]
            marker_rows[k, :, :m] = interface.rows
            if interface.second is not None and interface.second.any():
                second_of[k] = len(second)
                second.append(np.pad(interface.second, ((0, 0), (0, mmax - m), (0, mmax - m))))
    length = mechanism.length
    weight = np.concatenate(
        [np.concatenate([np.full(3, 1 / length), np.ones(3), b.deflection / length]) for b in bodies]
    )
    at_rest = [rigid_mass(b.invariants.mass, b.invariants.s0, b.invariants.J0) for b in bodies]
    rest = np.array(at_rest).reshape(-1, 6, 6)
    rows, loads, markers = mechanism.rows, mechanism.loads, mechanism.markers
    elimination = elimination_of([[markers[k].body for k in row.markers] for row in rows], modes)
    return Flat(
        gravity=np.array(mechanism.gravity, dtype=float),
        q_start=qs, v_start=vs, modes=modes,
        mass=np.array([b.invariants.mass for b in bodies], dtype=float),
        s0=np.array([b.invariants.s0 for b in bodies]).reshape(-1, 3),
        J0=np.array([b.invariants.J0 for b in bodies]).reshape(-1, 3, 3),
        rest_Mrr=rest,
        rest_Mre=np.array([_padded(np.vstack([b.invariants.S1, b.invariants.h0]), mmax) for b in bodies]).reshape(len(bodies), 6, mmax),
        rest_moments=np.array([inverse_moments(b.invariants) for b in bodies]).reshape(-1, 3, 3),
        rest_chol=_with_inverse_diagonal(np.linalg.cholesky(rest)),
        linear_start=np.concatenate([[0], np.cumsum([len(x) for x in linear])])[:-1].astype(np.int64),
        linear=np.concatenate(linear) if linear else np.zeros(0),
        quadratic_start=np.concatenate([[0], np.cumsum([len(x) for x in quadratic])])[:-1].astype(np.int64),
        quadratic=np.concatenate(quadratic) if quadratic else np.zeros(0),
        slices=np.array([SECOND_ORDER if b.invariants.second_order else FIRST_ORDER for b in bodies], dtype=np.int64),
        stiffness=np.concatenate([b.stiffness for b in bodies]) if bodies else np.zeros(0),
        damping=np.concatenate([b.damping for b in bodies]) if bodies else np.zeros(0),
        weight=weight,
        marker_body=np.array([m.body for m in markers], dtype=np.int64),
        marker_point=np.array([m.point for m in markers]).reshape(-1, 3),
        marker_axes=np.array([m.axes for m in markers]).reshape(-1, 3, 3),
        marker_moves=marker_rows.any(axis=(1, 2)) | (second_of >= 0),
        marker_rows=marker_rows,
        marker_second_of=second_of,
        marker_second=np.array(second).reshape(len(second), 6, mmax, mmax),
        row_kind=np.array([r.kind for r in rows], dtype=np.int64),
        row_markers=np.array([r.markers for r in rows], dtype=np.int64).reshape(-1, 2),
        row_axes=np.array([r.axes for r in rows], dtype=np.int64).reshape(-1, 2),
        row_function=np.array([r.function for r in rows], dtype=np.int64),
        row_stiffness=np.array([r.stiffness for r in rows], dtype=float),
        row_damping=np.array([r.damping for r in rows], dtype=float),
        row_offset=np.array([r.offset for r in rows], dtype=float),
        joint_rows=mechanism.joint_rows,
        **elimination,
        load_marker=np.array([x.marker for x in loads], dtype=np.int64),
        load_follows=np.array([int(x.follows) for x in loads], dtype=np.int64),
        load_wrench=np.array([x.wrench for x in loads], dtype=float).reshape(-1, 6),
        load_function=np.array([x.function for x in loads], dtype=np.int64),
    )  # fmt: skip


def body_frame(mechanism: Mechanism, state: State, body: int) -> tuple[np.ndarray, np.ndarray]:
    """World position (3,) of a body's frame and its attitude `R` (3, 3), body to world."""
    start = _starts(mechanism.bodies)[0][body]
    return state.q[start : start + 3].copy(), rotation_from_quaternion(state.q[start + 3 : start + 7])


def initial_angles(mechanism: Mechanism, flat: Flat, q: np.ndarray) -> np.ndarray:
    """Start values (nr,) of the unwrapped angles of angular springs: within half a turn of zero."""
    work = make_work(flat)
    place_markers(flat, q, *work)
    memory = np.zeros(len(mechanism.rows))
    for k, row in enumerate(mechanism.rows):
        if row.kind == ANGLE:
            S = work[3][row.markers[0]].T @ work[3][row.markers[1]]
            memory[k] = np.arctan2(S[1, 0] - S[0, 1], S[0, 0] + S[1, 1])
    return memory
