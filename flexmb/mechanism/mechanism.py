"""`Mechanism`: the immutable model that `System.build` returns, and its parts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from fem.errors import unknown_name
from fem.renamed import renamed
from fem.shown import shown
from flexmb.bodies.body import Body
from flexmb.contact.group import ContactGroup, GroupCall
from flexmb.contact.shapes import Meshes, addressed
from flexmb.errors import ControllerError, MechanismError
from flexmb.kernels.base.data import ANGLE, GROUND, SPIN, TRANSLATION
from flexmb.kernels.calls import functions_over
from flexmb.mechanism.contacts.exact import STATES, ExactContact, contact_states
from flexmb.mechanism.contacts.surface import FORCES, SurfaceContact
from flexmb.mechanism.control.controller import Controller
from flexmb.mechanism.control.law import ControlCall
from flexmb.mechanism.curves.plane import Curve
from flexmb.mechanism.force_law import ForceLaw
from flexmb.mechanism.frame_law import FrameLawCall
from flexmb.mechanism.joints import turns
from flexmb.mechanism.lines.line import Line
from flexmb.mechanism.state import State
from flexmb.mechanism.time_functions import TimeFunction
from flexmb.spatial.layout import starts_of
from flexmb.spatial.lie import rotation_from_quaternion
from flexmb.units import unit_of

UNIT = 1e-6
"""By how much quaternions of a state may miss unit length."""


@shown
@dataclass(frozen=True, eq=False)
class Marker:
    """A frame on a body, or on the ground (`body` = -1), between which joints and forces act.

    `point` (3,) and `axes` (3, 3; axes of the marker as columns) are given in the frame of the undeformed body;
    `interface` is the name of the interface, or None.
    """

    name: str
    body: int
    point: Float[np.ndarray, "3"]
    axes: Float[np.ndarray, "3 3"]
    interface: str | None = None

    def __str__(self) -> str:
        on = "the ground" if self.body == GROUND else f"body number {self.body}"
        at = f" at interface {self.interface!r}" if self.interface else ""
        return f"marker {self.name!r} on {on}{at}, point ({', '.join(f'{x:.6g}' for x in self.point)})"


@dataclass(frozen=True, eq=False)
class Term:
    """A further coordinate of a joint equation or force element, times a factor: a displacement along `axis` of the
    first marker, the angle about its z axis, or the distance of the markers."""

    kind: int
    markers: tuple[int, int]
    axis: int
    factor: float


@dataclass(frozen=True, eq=False)
class Row:
    """A scalar relation between two markers: a joint equation or a force element.

    A joint equation keeps its coordinate, plus the `terms` of a relation between joints, at the value of its function
    of time or, without one, at `offset`. A force element has stiffness, damping, a free length or angle
    (`offset`), an effort as a function of time, a law and the command of a controller. `function`, `law`, `command`
    and `curve`, that of a joint equation on a curve, are indices, -1 for none.
    """

    kind: int
    markers: tuple[int, int]
    axes: tuple[int, int] = (0, 0)
    function: int = -1
    stiffness: float = 0.0
    damping: float = 0.0
    offset: float = 0.0
    law: int = -1
    terms: tuple[Term, ...] = ()
    command: int = -1
    curve: int = -1


def driver_row(markers: tuple[int, int], dof: str, function: int = -1) -> Row:
    """The equation by which the free motion of a joint, "rotation" or "translation", follows a function of time."""
    if dof == "rotation":
        return Row(ANGLE, markers, (0, 0), function)
    return Row(TRANSLATION, markers, (2, 0), function)


@shown
@dataclass(frozen=True, eq=False)
class Joint:
    """A named joint: its kind, its two markers and the indices of its rows, drivers included."""

    name: str
    kind: str
    markers: tuple[int, int]
    rows: tuple[int, ...]

    def __str__(self) -> str:
        return f"joint {self.name!r} ({self.kind}), {len(self.rows)} equations, between markers {self.markers}"


@dataclass(frozen=True, eq=False)
class FrameForce:
    """A force element between two frames: the `call` of its law, values of its `parameters` (np,) and the `initial`
    states (ns,). Its six rows are `Mechanism.force_elements[name]`. `meshes`: those of a contact, by the places of
    their dimensions among the parameters. `command`: the number of the first of the commands that are the inputs of its
    law; -1 for a law without inputs."""

    name: str
    call: FrameLawCall
    parameters: tuple[float, ...] = ()
    initial: tuple[float, ...] = ()
    meshes: Meshes = field(default_factory=dict)
    command: int = -1

    @property
    def numbers(self) -> tuple[float, ...]:
        """The parameters for compiled code, with the addresses of the meshes."""
        return addressed(self.parameters, self.meshes)


@dataclass(frozen=True)
class JointFriction:
    """Dry friction in the free motion `dof` of a `joint`, or in "all" its free motions. Its rows are
    `Mechanism.force_elements[name]`.

    - `factors`: (radial, axial, reciprocal span, constant) of the largest effort while it slides; see
      flexmb/kernels/equations/friction.py.

    - `static`: the largest effort while it sticks, relative to the effort while it slides; at least one.
    - `direction`: the sign of the sliding rate, 0 while the joint does not slide. A joint with several free motions
      slides with direction 1, against its sliding velocity.
    - `speed`: the sliding velocity that regularises the friction; 0 if it is exact.
    - `arms`: the sliding velocity for a rate of one of each free motion.
    """

    name: str
    joint: str
    dof: str
    factors: tuple[float, float, float, float]
    static: float = 1.0
    direction: float = 0.0
    speed: float = 0.0
    arms: tuple[float, ...] = (1.0,)

    @property
    def stuck(self) -> str:
        """Name of the event at which the joint begins to stick, and of the equation that holds its coordinate then."""
        return f"{self.name} sticks"

    @property
    def locks(self) -> dict[str, str]:
        """The names of the joint equations that hold the joint while it sticks, each with its free motion."""
        if len(self.arms) == 1:
            return {self.stuck: self.dof}
        if len(self.arms) == 2:
            return {f"{self.stuck} along": "translation", f"{self.stuck} around": "rotation"}
        return {f"{self.stuck} about {axis}": f"rotation {axis}" for axis in "xyz"}

    @property
    def several(self) -> bool:
        """Whether the joint slides in several directions, against its sliding velocity."""
        return len(self.arms) > 1

    @property
    def turns(self) -> bool:
        """Whether the sliding velocity is an angular velocity."""
        return self.dof == "rotation" or len(self.arms) == 3


ALL = "all"
"""The free motions of a joint together, as `JointFriction.dof`."""


def free_rows(kind: str, dof: str, markers: tuple[int, int]) -> tuple[Row, ...]:
    """The rows of the free motions `dof` of a joint: "rotation", "translation", or `ALL` of a cylindrical or spherical
    joint, in which a cylindrical joint begins with the translation."""
    angle, along = Row(ANGLE, markers), Row(TRANSLATION, markers, (2, 0))
    if dof == ALL:
        return (along, angle) if kind == "cylindrical" else tuple(Row(SPIN, markers, (i, 0)) for i in range(3))
    return (angle if dof == "rotation" else along,)


@renamed(follows="follower")
@dataclass(frozen=True, eq=False)
class Load:
    """A force and a moment at a marker: `wrench` (6,) for a factor of one, in world axes or, for a `follower`, in the
    axes of the marker. `function` is the index of the factor, -1 for a factor of one; `command` that of the command of
    a controller, which multiplies the factor."""

    name: str
    marker: int
    wrench: Float[np.ndarray, "6"]
    follower: bool
    function: int = -1
    command: int = -1


@renamed(flat="flexmb.mechanism.compile.compiled")
@shown
@dataclass(frozen=True, eq=False)
class Mechanism:
    """An immutable model: bodies, joints, force elements and loads, with the initial state as given by the user.

    - `gravity` (3,): the acceleration of free fall, in world axes: (0, 0, -9.81) for z upwards, in m and s.
    - `rows`: the joint equations, followed by the rows of the force elements.
    - `joints` and `force_elements` refer to `rows` by index, `loads` and rows to `functions` and `laws`.
    - `start_rows`: free motions of joints with their initial speeds.
    - `units`: the names of the units of length, mass (or force) and time, such as "mm-t-s", for tables and plots.
    - `contacts`: the exact contacts; continuous ones are force elements.
    - `surface_contacts`: those of flexible surfaces of bodies with rigid shapes or meshes, or each other.
    """

    name: str
    gravity: Float[np.ndarray, "3"]
    bodies: tuple[Body, ...]
    markers: tuple[Marker, ...]
    rows: tuple[Row, ...]
    joints: tuple[Joint, ...]
    force_elements: Mapping[str, tuple[int, ...]]
    loads: tuple[Load, ...]
    functions: tuple[TimeFunction, ...]
    initial: State
    start_rows: tuple[tuple[Row, float], ...] = ()
    laws: tuple[ForceLaw, ...] = ()
    frame_forces: tuple[FrameForce, ...] = ()
    contact_groups: tuple[ContactGroup, ...] = ()
    frictions: tuple[JointFriction, ...] = ()
    controllers: tuple[Controller, ...] = ()
    curves: tuple[Curve, ...] = ()
    lines: tuple[Line, ...] = ()
    units: str | None = None
    contacts: tuple[ExactContact, ...] = ()
    surface_contacts: tuple[SurfaceContact, ...] = ()

    def __str__(self) -> str:
        def named(names: Iterable[str]) -> str:
            return ", ".join(map(repr, names)) or "none"

        unit = "length/time^2" if self.units is None else unit_of("acceleration", self.units)
        joints = ", ".join(f"{joint.name!r} ({joint.kind})" for joint in self.joints) or "none"
        loads = named([*(load.name for load in self.loads), *(line.name for line in self.lines)])
        own = f"\n  controllers: {named(c.name for c in self.controllers)}" if self.controllers else ""
        own += f"\n  exact contacts: {named(c.name for c in self.contacts)}" if self.contacts else ""
        surfaces = named(c.name for c in self.surface_contacts)
        own += f"\n  contacts of flexible surfaces: {surfaces}" if self.surface_contacts else ""
        bodies = [f"{b.name!r} ({b.modes} elastic coordinates)" if b.modes else repr(b.name) for b in self.bodies]
        return (
            f"mechanism {self.name!r}: {len(self.bodies)} bodies, {len(self.initial.w)} velocities, "
            f"{self.joint_rows} joint equations\n  bodies: {', '.join(bodies)}\n  joints: {joints}\n"
            f"  force elements: {named(self.force_elements)}\n  loads: {loads}\n"
            f"  gravity {self.gravity} ({unit}){own}"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Omit the compiled arrays, which contain addresses of this process."""
        return {key: value for key, value in self.__dict__.items() if key != "_compiled"}

    @property
    def calls(self) -> tuple[ForceLaw | FrameLawCall | ControlCall | GroupCall, ...]:
        """All calls of laws, which record their failures."""
        frames, controllers = (f.call for f in self.frame_forces), (c.call for c in self.controllers)
        return (*self.laws, *frames, *controllers, *(group.call for group in self.contact_groups))

    @property
    def initial_states(self) -> Float[np.ndarray, "nz"]:
        """The states (nz,) of all force elements between frames, then of all controllers, of exact contacts and of
        contacts of flexible surfaces, at the beginning."""
        if len(self.initial.element_states):
            return self.initial.element_states
        return np.array(self._own_states(), dtype=float)

    def _own_states(self) -> list[float]:
        """The initial states that the laws of force elements and controllers give, and those of open contacts."""
        frames = [x for force in self.frame_forces for x in force.initial]
        controllers = [x for controller in self.controllers for x in controller.initial]
        nodes = sum(contact.nodes for contact in self.surface_contacts)
        return frames + controllers + [0.0] * (contact_states(self.contacts) + FORCES * nodes)

    @property
    def joint_rows(self) -> int:
        """Number of scalar joint equations."""
        return sum(len(j.rows) for j in self.joints)

    @property
    def exact_frictions(self) -> tuple[JointFriction, ...]:
        """The frictions of joints that stick: those that are not regularised."""
        return tuple(friction for friction in self.frictions if not friction.speed)

    @cached_property
    def turning(self) -> tuple[tuple[int, int], ...]:
        """The pairs of markers with a continuous angle: first those of joints that rotate about their axis, in their
        order, then those of bushings and motors."""
        pairs = [joint.markers for joint in self.joints if turns(joint.kind)]
        angles = [row.markers for row in self.rows if row.kind == ANGLE]
        angles += [term.markers for row in self.rows for term in row.terms if term.kind == ANGLE]
        return tuple(dict.fromkeys([*pairs, *angles]))

    def angles_of(self, other: "Mechanism", angles: Float[np.ndarray, "na"]) -> Float[np.ndarray, "nb"]:
        """The continuous angles (nb,) of this mechanism, from the `angles` (na,) of another mechanism with the same
        markers.

        Angles that the other mechanism does not have are zero, which stands for an angle within half a turn.
        """
        if not len(angles) or not len(self.turning):
            return np.zeros(0)
        known = dict(zip(other.turning, angles, strict=True))
        return np.array([known.get(pair, 0.0) for pair in self.turning])

    @cached_property
    def formulas(self) -> Float[np.ndarray, "k"] | None:
        """The formulas of the functions of time for compiled code; None if a function has none."""
        if not all(f.formula for f in self.functions):
            return None
        numbers = [
            number for kind, *values in (f.formula for f in self.functions) for number in (kind, len(values), *values)
        ]
        return np.array(numbers, dtype=float)

    @cached_property
    def length(self) -> float:
        """The characteristic length to which tolerances are relative: the largest distance of a marker or interface
        from the mass centre of its body, or the largest radius of gyration."""
        reach = [np.linalg.norm(m.point - self.bodies[m.body].centre) for m in self.markers if m.body != GROUND]
        reach += [np.linalg.norm(i.point - b.centre) for b in self.bodies for i in b.interfaces.values()]
        radius = [np.sqrt(np.trace(_central(b)) / (2 * b.invariants.mass)) for b in self.bodies]
        return float(max([*reach, *radius]))

    def body_index(self, name: str) -> int:
        """Index of the body called `name`. Raises `MechanismError` when there is none."""
        names = [b.name for b in self.bodies]
        if name not in names:
            raise MechanismError(unknown_name("body", name, names))
        return names.index(name)

    def controller(self, name: str) -> Controller:
        """The controller called `name`. Raises `ControllerError` when there is none."""
        for controller in self.controllers:
            if controller.name == name:
                return controller
        raise ControllerError(unknown_name("controller", name, [c.name for c in self.controllers]))

    def states_of(self, name: str) -> slice:
        """The places of the states of a force element between frames, or of a controller, in `State.element_states`.
        Raises `ControllerError` when there is none of this name."""
        begin = 0
        for own, initial in self._with_states():
            if own == name:
                return slice(begin, begin + len(initial))
            begin += len(initial)
        known = [own for own, _ in self._with_states()]
        raise ControllerError(unknown_name("controller or force element between frames", name, known))

    def _with_states(self) -> Iterator[tuple[str, tuple[float, ...]]]:
        """Names and initial states of force elements between frames and of controllers."""
        yield from ((own.name, own.initial) for own in self.frame_forces)
        yield from ((own.name, own.initial) for own in self.controllers)

    def contact_state(self, name: str) -> int:
        """The first of the states of an exact contact, or of one of a flexible surface, in `State.element_states`.
        Raises `MechanismError` when there is none of this name."""
        surfaces = {contact.name: FORCES * contact.nodes for contact in self.surface_contacts}
        at = len(self._own_states()) - sum(surfaces.values()) - contact_states(self.contacts)
        begins = {}
        for contact in self.contacts:
            begins[contact.name] = at
            at += STATES * contact.points
        at += sum(contact.features + STATES * contact.points * contact.turns for contact in self.contacts)
        for own, size in surfaces.items():
            begins[own] = at
            at += size
        if name not in begins:
            raise MechanismError(unknown_name("contact", name, begins))
        return begins[name]

    def feature_state(self, contact: ExactContact) -> int:
        """The first of the states that hold the pairs of features of an exact contact."""
        begin = self.contact_state(self.contacts[0].name) + STATES * sum(c.points for c in self.contacts)
        return begin + sum(c.features for c in self.contacts[: self.contacts.index(contact)])

    def turning_state(self, contact: ExactContact) -> int:
        """The first of the states of friction of turning of an exact contact."""
        begin = self.contact_state(self.contacts[0].name)
        begin += sum(STATES * c.points + c.features for c in self.contacts)
        return begin + sum(STATES * c.points * c.turns for c in self.contacts[: self.contacts.index(contact)])

    def joint(self, name: str) -> Joint:
        """The joint called `name`. Raises `MechanismError` when there is none."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        joints = [j.name for j in self.joints]
        sort = "a force element" if name in self.force_elements else "a load"
        if name in self.force_elements or name in [load.name for load in self.loads]:
            raise MechanismError(
                f"{name!r} is {sort}, not a joint; reactions, coordinates and rates are those of joints. Joints: "
                f"{', '.join(map(repr, joints)) or 'none'}."
            )
        raise MechanismError(unknown_name("joint", name, joints))

    def interface_markers(self) -> list[str]:
        """Names "body.interface" of the markers at interfaces of bodies, without those of joints."""
        return [m.name for m in self.markers if m.interface and m.name == f"{self.bodies[m.body].name}.{m.interface}"]

    def marker_index(self, name: str) -> int:
        """Index of the marker called `name`, for interfaces "body.interface".

        Raises `MechanismError` when there is none.
        """
        names = [m.name for m in self.markers]
        if name not in names:
            raise MechanismError(unknown_name("marker", name, names))
        return names.index(name)

    def function_values(self, t: float) -> Float[np.ndarray, "nf 3"]:
        """Value, rate and acceleration of every function of time at `t`; the last row is that of time itself."""
        if not self.functions:
            return np.array([[t, 1.0, 0.0]])
        return self.function_table(np.array([t]))[0]

    def function_table(self, times: Float[np.ndarray, "nt"]) -> Float[np.ndarray, "nt nf 3"]:
        """`function_values` at the `times` (nt,). Raises `MechanismError` when a value is not finite."""
        if self.formulas is None:
            clock = np.column_stack([times, np.ones_like(times), np.zeros_like(times)])
            table = np.stack([*(f.over(times) for f in self.functions), clock], axis=1)
        else:
            table = np.empty((len(times), len(self.functions) + 1, 3))
            functions_over(self.formulas, times, table)
        if not np.isfinite(table).all():
            at, number = np.argwhere(~np.isfinite(table).all(axis=2))[0]
            motion = self.functions[number].description
            raise MechanismError(f"The motion {motion!r} is not finite at t = {times[at]}.")
        return table

    def rigid(self) -> "Mechanism":
        """The same mechanism with rigid bodies and the same initial positions and velocities."""
        return self.with_bodies(tuple(b.rigid() for b in self.bodies))

    def with_bodies(self, bodies: tuple[Body, ...]) -> "Mechanism":
        """The same mechanism with other bodies.

        Initial elastic coordinates are kept as far as the new bodies have as many; further ones are dropped.
        """
        modes = np.array([b.modes for b in self.bodies])
        kept = np.minimum(modes, [b.modes for b in bodies])
        qs, vs = (starts[:-1] for starts in starts_of(modes))
        q = np.concatenate([self.initial.q[s : s + 7 + m] for s, m in zip(qs, kept, strict=True)])
        w = np.concatenate([self.initial.w[s : s + 6 + m] for s, m in zip(vs, kept, strict=True)])
        initial = State(self.initial.t, q, w, self.initial.angles, element_states=self.initial.element_states)
        return replace(self, bodies=bodies, initial=initial)


def require_state(mechanism: Mechanism, state: State) -> None:
    """Check that a state may belong to a mechanism.

    Raises `MechanismError` when the state has other numbers of coordinates, velocities or angles than the mechanism,
    values that are not finite, or quaternions that are not of unit length.
    """
    sizes = [len(mechanism.initial.q), len(mechanism.initial.w)]
    if [len(state.q), len(state.w)] != sizes:
        raise MechanismError(
            f"A state of {mechanism.name!r} has {sizes[0]} coordinates and {sizes[1]} velocities; found "
            f"{len(state.q)} and {len(state.w)}. Is it a state of another mechanism?"
        )
    if len(state.angles) not in (0, count := len(mechanism.turning)):
        raise MechanismError(
            f"A state of {mechanism.name!r} has {count} angles, those of its rotating joints and of its bushings, or "
            f"none; found {len(state.angles)}. Is it a state of another mechanism?"
        )
    if len(state.element_states) not in (0, count := len(mechanism._own_states())):
        raise MechanismError(
            f"The force elements and controllers of {mechanism.name!r} have {count} states; found "
            f"{len(state.element_states)}. Is it a state of another mechanism?"
        )
    for name in ("t", "q", "w", "angles", "element_states"):
        if not np.isfinite(value := getattr(state, name)).all():
            raise MechanismError(f"A state of {mechanism.name!r} must be finite; found {name} = {value}.")
    for body, start in zip(mechanism.bodies, starts_of(np.array([b.modes for b in mechanism.bodies]))[0], strict=False):
        length = float(np.linalg.norm(state.q[start + 3 : start + 7]))
        if abs(length - 1) > UNIT:
            raise MechanismError(
                f"The attitude of {body.name!r} in a state of {mechanism.name!r} is a quaternion of length "
                f"{length:.9g}; it must be 1."
            )


def _central(body: Body) -> np.ndarray:
    c = body.centre
    return body.invariants.J0 - body.invariants.mass * (c @ c * np.eye(3) - np.outer(c, c))


def body_frame(mechanism: Mechanism, state: State, body: int) -> tuple[np.ndarray, np.ndarray]:
    """World position (3,) of the frame of a body and its attitude `R` (3, 3), body to world."""
    start = starts_of(np.array([b.modes for b in mechanism.bodies]))[0][body]
    return state.q[start : start + 3].copy(), rotation_from_quaternion(state.q[start + 3 : start + 7])
