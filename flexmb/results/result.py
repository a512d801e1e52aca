"""`Result`: the motion of a mechanism with its reactions and its energy ledger."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from fem.errors import unknown_name
from fem.renamed import refuse_old_names, renamed
from fem.shown import shown
from flexmb.errors import (
    FileError,
    LawRangeWarning,
    MechanismError,
    NegativeHeatWarning,
    TableRangeWarning,
    TruncatedShapeWarning,
)
from flexmb.kernels.base.data import GROUND, make_marker_kinematics
from flexmb.kernels.calls import angles_along, marker_paths, marker_velocities
from flexmb.mechanism.attachments import vector
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import turns
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State, Topology
from flexmb.results.attitude import Attitudes, attitude_as
from flexmb.results.elements.contact import ContactMotion, contact_motion
from flexmb.results.elements.contact_group import ContactGroupMotion, group_motion
from flexmb.results.elements.control import ControllerHistory, controller_history, signal_column
from flexmb.results.elements.energy import EnergyByElement, energy_by_element, negative_heats
from flexmb.results.elements.forces import element_force, power_of, row_effort
from flexmb.results.elements.motion import element_dofs, element_row, row_dof, row_motion
from flexmb.results.elements.ranges import beyond_tables, lacking_shapes, outside_limits
from flexmb.results.elements.surface_contact import SurfaceContactMotion, surface_contact_motion
from flexmb.results.elements.tunnels import doubtful_contacts
from flexmb.results.joint_motion import chosen_dof, coordinate_motion, joint_dofs
from flexmb.results.ledger import Ledger
from flexmb.results.measure import column
from flexmb.results.momenta import momenta_of
from flexmb.results.motion import attitudes, frame_motion
from flexmb.results.reactions import joint_reaction, relation_effort
from flexmb.results.table import Column, as_pandas, as_polars, as_xarray, write_columns
from flexmb.results.verdict import Verdict, judge

if TYPE_CHECKING:
    import xarray

Point = Sequence[int | float] | np.ndarray
"""Three coordinates."""
MOST_TOLD = 20
"""Largest number of events that a report lists one by one."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of an integration: counts of steps, rejected steps and Newton iterations, CPU time (s) without that of
    threads that share loops over bodies, step sizes."""

    steps: int
    rejected: int
    iterations: int
    cpu_seconds: float
    smallest_step: float
    largest_step: float

    def __str__(self) -> str:
        per = 1e6 * self.cpu_seconds / max(self.steps, 1)
        equal = self.largest_step - self.smallest_step <= 1e-6 * self.largest_step
        sizes = f"{self.largest_step:.3g}" if equal else f"{self.smallest_step:.3g} to {self.largest_step:.3g}"
        rejected = f" ({self.rejected} rejected)" if self.rejected else ""
        n = max(self.steps, 1)
        return f"{self.steps} steps of {sizes}{rejected}, {self.iterations / n:.2f} iterations and {per:.0f} us a step"


@dataclass(frozen=True)
class EventRecord:
    """An event that occurred: its time, its name, and the kinetic energy lost in it."""

    t: float
    event: str
    lost: float = 0.0

    def __str__(self) -> str:
        return f"{self.t:.9g}  {self.event}" + (f", energy lost {self.lost:.6g}" if self.lost else "")


@shown
@dataclass(frozen=True, eq=False)
class Result:
    """The motion of `mechanism` at the stored times `t` (nt,).

    - `q` (nt, nq), `w` (nt, nv), `wdot` (nt, nv): configurations, velocities and accelerations (see `State`).
    - `multipliers` (nt, nj): of the joints.
    - `angles` (nt, na): joint angles with all revolutions counted (see `State`).
    - `element_states` (nt, nz): states of the force elements between frames and of the controllers (see `State`).
    - `ledger`, `statistics`: the energies, and the effort of the integration.
    - `happened`: the events that occurred, and the impacts of exact contacts by the names of the contacts.
    - `topologies`: times from which on other joints act, with the joints locked and released.
    - `unresolved`: descriptions of functions of time that vary faster than the fixed steps resolve.
    - `before`: of an instant that events and controllers see during a simulation, the attitudes that they read before.
    """

    mechanism: Mechanism
    t: Float[np.ndarray, "nt"]
    q: Float[np.ndarray, "nt nq"]
    w: Float[np.ndarray, "nt nv"]
    wdot: Float[np.ndarray, "nt nv"]
    multipliers: Float[np.ndarray, "nt nj"]
    angles: Float[np.ndarray, "nt na"]
    element_states: Float[np.ndarray, "nt nz"]
    ledger: Ledger
    statistics: Statistics
    happened: tuple[EventRecord, ...] = ()
    topologies: tuple[tuple[float, Topology], ...] = ()
    unresolved: tuple[str, ...] = ()
    before: Attitudes | None = field(default=None, repr=False)

    def state(self, index: int) -> State:
        """The state at the stored time number `index`."""
        t = float(self.t[index])
        changed = [topology for time, topology in self.topologies if time <= t]
        angles, topology = np.array(self.angles[index]), changed[-1] if changed else Topology()
        states = self.element_states[index].copy()
        return State(t, self.q[index].copy(), self.w[index].copy(), angles, topology, states)

    def elastic(self, body: str) -> Float[np.ndarray, "nt m"]:
        """Elastic coordinates eta (nt, m) of a body over time."""
        index = self.mechanism.body_index(body)
        start = int(compiled(self.mechanism).q_start[index]) + 7
        return self.q[:, start : start + self.mechanism.bodies[index].modes]

    def elastic_rate(self, body: str) -> Float[np.ndarray, "nt m"]:
        """Rates of the elastic coordinates (nt, m) of a body over time."""
        index = self.mechanism.body_index(body)
        start = int(compiled(self.mechanism).v_start[index]) + 6
        return self.w[:, start : start + self.mechanism.bodies[index].modes]

    def frame(self, body: str) -> tuple[Float[np.ndarray, "nt 3"], Float[np.ndarray, "nt 3 3"]]:
        """World position (nt, 3) and rotation matrix (nt, 3, 3), body to world, of a body's frame over time."""
        index = self.mechanism.body_index(body)
        start = int(compiled(self.mechanism).q_start[index])
        return self.q[:, start : start + 3], attitudes(self, index)

    # markers, bodies and their points ---------------------------------------------------------------------------------

    def position(self, name: str, *, point: Point | None = None, node: int | None = None) -> Float[np.ndarray, "nt 3"]:
        """World position (nt, 3) over time of a marker, e.g. `result.position("rod.small")`, or of a point of a body.

        - `name`: a marker, or a body, whose frame is meant unless `point` or `node` is given.
        - `point` (3,): a point of a rigid body, in its frame.
        - `node`: a node of the mesh of a body, numbered from 0.

        Raises `MeasureError` when there is no such marker, body or node, or for a point of a flexible body.
        """
        if self._is_marker(name, point, node):
            return self._path(self.mechanism.marker_index(name))[0]
        return frame_motion(self, name, point, node).position

    def axes(self, name: str) -> Float[np.ndarray, "nt 3 3"]:
        """Axes of a marker or body over time, as columns (nt, 3, 3) in world axes. Raises `MeasureError` for others."""
        if self._is_marker(name):
            return self._path(self.mechanism.marker_index(name))[1]
        return frame_motion(self, name).axes

    def attitude(self, name: str, form: str = "quaternion") -> np.ndarray:
        """The attitude of a marker or body over time, to the world.

        - `form`: "quaternion" (nt, 4), scalar first (w, x, y, z); "rotation-vector" (nt, 3); "matrix" (nt, 3, 3); or a
          sequence of three axes for angles (nt, 3) in radians, as in `scipy.spatial.transform.Rotation`: "ZYX" about
          the axes of the frame as it turns (yaw, pitch, roll), "zyx" about those of the world. Quaternions and angles
          are continuous over the stored times.

        Raises `MeasureError` for another form or name; warns with `GimbalLockWarning` where angles are not unique.
        """
        read = {} if self.before is None else self.before
        found = attitude_as(self.axes(name), form, name, read.get((name, form)))
        read[name, form] = found[0]
        return found

    def velocity(self, name: str, *, point: Point | None = None, node: int | None = None) -> Float[np.ndarray, "nt 3"]:
        """Velocity (nt, 3) over time of a marker or body, or of a `point` or `node` of a body, as of `position`, in
        world axes."""
        if self._is_marker(name, point, node):
            return self._marker_velocity(name)[0]
        return frame_motion(self, name, point, node).velocity

    def acceleration(
        self, name: str, *, point: Point | None = None, node: int | None = None
    ) -> Float[np.ndarray, "nt 3"]:
        """Acceleration (nt, 3) over time of a marker or body, or of a `point` or `node` of a body, as of `position`, in
        world axes.

        An accelerometer there measures it minus gravity, in the axes of the marker.
        """
        return frame_motion(self, name, point, node).acceleration

    def angular_velocity(self, name: str) -> Float[np.ndarray, "nt 3"]:
        """Angular velocity (nt, 3) of the axes of a marker or body over time, in world axes."""
        if self._is_marker(name):
            return self._marker_velocity(name)[1]
        return frame_motion(self, name).angular_velocity

    def angular_acceleration(self, name: str) -> Float[np.ndarray, "nt 3"]:
        """Angular acceleration (nt, 3) of the axes of a marker or body over time, in world axes."""
        return frame_motion(self, name).angular_acceleration

    def deflection(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """Elastic displacement (nt, 3) of a marker, in the axes of its body."""
        index = self.mechanism.marker_index(marker)
        record = self.mechanism.markers[index]
        if record.body == GROUND or record.interface is None:
            return np.zeros((len(self.t), 3))
        body = self.mechanism.bodies[record.body]
        return body.interface(record.interface).motion(self.elastic(body.name))[:, :3]

    def _is_marker(self, name: str, point: Point | None = None, node: int | None = None) -> bool:
        return point is None and node is None and any(marker.name == name for marker in self.mechanism.markers)

    # joints -----------------------------------------------------------------------------------------------------------

    def joint_dofs(self, joint: str) -> tuple[str, ...]:
        """The names of a joint's degrees of freedom: "translation x" to "rotation z", in the axes of its markers.

        z is the axis of the joint. Driven degrees of freedom belong to them.
        """
        return joint_dofs(self.mechanism.joint(joint))

    def joint_dof(self, joint: str, dof: str | None = None) -> str:
        """The degree of freedom of a joint that `dof` means in `coordinate`: "rotation" is "rotation z". Errors as
        there."""
        return chosen_dof(self.mechanism.joint(joint), dof)

    @renamed(along="dof")
    def coordinate(self, joint: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """The coordinate (nt,) of a joint: an angle (radians) from the configuration as modelled, or the displacement
        of its second place from the first, zero where both coincide.

        - `dof`: one of `joint_dofs(joint)`; "rotation" and "translation" are those about and along the axis of the
          joint. The default is the motion about or along the axis.

        Angles about the axis count all revolutions; other angles are continuous over the stored times. The rotations of
        a joint with three of them (a ball joint, `in_line`, `in_plane`) and of a constant-velocity joint are components
        of the rotation vector. Raises `JointError` when the joint does not have the degree of freedom, or has several
        and `dof` names none.
        """
        record = self.mechanism.joint(joint)
        chosen = chosen_dof(record, dof)
        if chosen == "rotation z" and record.markers in self.mechanism.turning and turns(record.kind):
            return np.asarray(self.angles[:, self.mechanism.turning.index(record.markers)])
        if chosen.startswith("translation"):
            (start, A), (end, _) = (self._path(k) for k in record.markers)
            return np.asarray(np.einsum("tk,tk->t", A[:, :, "xyz".index(chosen[-1])], end - start))
        return coordinate_motion(self, record, chosen)[0]

    def coordinate_rate(self, joint: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """The rate (nt,) of a joint's coordinate; `dof` and errors as of `coordinate`.

        For the components of a rotation vector it is that of the relative angular velocity, in the axes of the first
        marker, which is not their derivative.
        """
        record = self.mechanism.joint(joint)
        return coordinate_motion(self, record, chosen_dof(record, dof))[1]

    def coordinate_acceleration(self, joint: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """The rate (nt,) of `coordinate_rate`; `dof` and errors as of `coordinate`."""
        record = self.mechanism.joint(joint)
        return coordinate_motion(self, record, chosen_dof(record, dof))[2]

    def _path(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        flat = compiled(self.mechanism)
        position, axes = np.empty((len(self.t), 3)), np.empty((len(self.t), 3, 3))
        marker_paths(flat, index, self.q, make_marker_kinematics(flat), position, axes)
        return position, axes

    def _marker_velocity(self, marker: str) -> tuple[np.ndarray, np.ndarray]:
        flat = compiled(self.mechanism)
        velocity, angular = np.zeros((len(self.t), 3)), np.zeros((len(self.t), 3))
        index = self.mechanism.marker_index(marker)
        marker_velocities(
            flat, index, np.asarray(self.q), np.asarray(self.w), make_marker_kinematics(flat), velocity, angular
        )
        return velocity, angular

    def reaction(self, joint: str) -> Float[np.ndarray, "nt 6"]:
        """Force and moment (nt, 6) that a joint exerts on its second body at that body's marker, in world axes.

        Those of a relation (a gear) act on the second body of the joint of its first coordinate, and are of its
        coordinates in this joint: a screw in one cylindrical joint exerts a moment about its axis and a force along it.
        """
        return joint_reaction(self.mechanism, joint, self.t, self.q, self.multipliers)

    def relation_effort(self, relation: str, coordinate: str) -> Float[np.ndarray, "nt"]:
        """The effort (nt,) of a relation between joints (gear, rack, screw, differential) on one of its coordinates.

        The relation exerts it on the second body of the joint against the first: a torque about the axis of the joint
        if `coordinate` is "JOINT:rotation", a force along it if "JOINT:translation"; "JOINT" suffices if the relation
        contains one coordinate of the joint. The powers of the efforts on all coordinates add up to zero.

        Raises `MechanismError` when there is no such relation or coordinate.
        """
        return relation_effort(self.mechanism, relation, coordinate, self.multipliers)

    @renamed(along="dof")
    def drive_effort(self, joint: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """The effort (nt,) of a joint's driver: the inverse dynamics of a prescribed motion.

        The driver exerts it on the second body against the first: a torque for a driven rotation, a force for a driven
        translation. `dof`, such as "rotation" or "translation x", selects one of several. Raises `MechanismError` when
        the joint has no driven motion, or several and `dof` selects none.
        """
        rows = self.mechanism.rows
        driven = {row_dof(rows[r]): r for r in self.mechanism.joint(joint).rows if rows[r].function >= 0}
        chosen = [r for name, r in driven.items() if dof in (None, name, name.partition(" ")[0])]
        if len(chosen) != 1:
            names = f": {', '.join(map(repr, driven))}" if driven else ""
            said = "" if dof is None else f"; found dof={dof!r}"
            raise MechanismError(
                f"Joint {joint!r} has {len(driven)} driven motions{names}{said}. An effort belongs to one: "
                f"{'name it with dof=.' if driven else 'drive the joint.'}"
            )
        return -np.asarray(self.multipliers[:, chosen[0]])

    # force elements ---------------------------------------------------------------------------------------------------

    def element_dofs(self, element: str) -> tuple[str, ...]:
        """The names of the coordinates of a force element: "length" of a spring between places, else "translation x" to
        "rotation z" in the axes of its first marker; a bushing has all six.

        Raises `MechanismError` when there is no force element of this name.
        """
        return element_dofs(self.mechanism, element)

    def force(self, element: str) -> Float[np.ndarray, "nt 6"]:
        """Force and moment (nt, 6) that a force element or an exact contact exerts on its second body at that body's
        marker, or a load on its body at its place, in world axes; of a fluid or wind, its resultant at the frame of the
        body.

        Raises `MechanismError` when there is neither of this name, `LawError` when a law fails.
        """
        return element_force(self, element)

    def effort(self, element: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """The effort (nt,) of a force element along its coordinate: a force or a moment, positive if it increases the
        coordinate.

        That of a spring under tension is negative. `dof` is one of `element_dofs(element)` and may be omitted if there
        is one only. Raises `MechanismError` when there is no such element, `JointError` for `dof`, `LawError` when its
        law fails.
        """
        return row_effort(self, element_row(self.mechanism, element, dof)).total

    def stretch(self, element: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """The coordinate (nt,) of a force element beyond its free length or angle (radians); `dof` and errors as of
        `effort`."""
        return row_motion(self, self.mechanism.rows[element_row(self.mechanism, element, dof)]).stretch

    def stretch_rate(self, element: str, dof: str | None = None) -> Float[np.ndarray, "nt"]:
        """The rate (nt,) of `stretch`; `dof` and errors as there."""
        return row_motion(self, self.mechanism.rows[element_row(self.mechanism, element, dof)]).rate

    def power(self, element: str) -> Float[np.ndarray, "nt"]:
        """The power (nt,) that a force element, an exact contact, a load or the drivers of a joint deliver to the
        bodies.

        That of a spring is positive while it gives back energy, that of a damper is negative. Raises `MechanismError`
        when there is nothing of this name, `LawError` when a law fails.
        """
        return power_of(self, self.multipliers, element)

    def contact(self, name: str) -> ContactMotion:
        """Gap, force, slip and wear power of a contact over time, and its impacts.

        Raises `MechanismError` when there is none of this name, `LawError` when a law fails.
        """
        found = contact_motion(self, name)
        struck = [(record.t, record.lost) for record in self.happened if record.event == name]
        return replace(found, impacts=np.array(struck)) if struck else found

    def surface_contact(self, name: str) -> SurfaceContactMotion:
        """Pressure, gap, force and slip of every node of a flexible surface in contact, over time.

        Raises `MechanismError` when there is none of this name.
        """
        return surface_contact_motion(self, name)

    def contact_group(self, name: str) -> ContactGroupMotion:
        """The touching pairs of a group of contacts over time, with their forces.

        Raises `MechanismError` when there is none of this name.
        """
        return group_motion(self, name)

    def energy_by_element(self) -> EnergyByElement:
        """What every spring, damper, motor, load, driver and flexible body stores, dissipates and does.

        Warns with `CoarseOutputWarning` when the stored times do not resolve the powers; raises `LawError` when a law
        fails.
        """
        return energy_by_element(self, self.multipliers, self.ledger)

    # controllers ------------------------------------------------------------------------------------------------------

    def controller(self, name: str) -> ControllerHistory:
        """The inputs, commands and states of a controller over time.

        Raises `ControllerError` when there is no such controller, `LawError` when its law fails.
        """
        return controller_history(self, name)

    def controller_signal(self, kind: str, controller: str, name: str) -> Column:
        """The "command", "input" or "state" called `name` of a controller, or a "state" of a force element such as a
        pressure, with what it measures.

        Raises `MeasureError` when the controller or element does not have it.
        """
        return signal_column(self, kind, controller, name)

    # momenta ----------------------------------------------------------------------------------------------------------

    def mass_centre(self, body: str | None = None) -> Float[np.ndarray, "nt 3"]:
        """World position (nt, 3) of the mass centre of a body, or of the whole mechanism, over time."""
        return momenta_of(self, body).centre

    def linear_momentum(self, body: str | None = None) -> Float[np.ndarray, "nt 3"]:
        """Linear momentum (nt, 3) of a body, or of the whole mechanism, over time, in world axes."""
        return momenta_of(self, body).linear

    def angular_momentum(
        self, body: str | None = None, *, about: str | Point = "mass centre"
    ) -> Float[np.ndarray, "nt 3"]:
        """Angular momentum (nt, 3) of a body, or of the whole mechanism, over time, in world axes.

        - `about`: the point to which it refers: "mass centre" (that of the body or of the mechanism), a point (3,) of
          the world, or a marker or body, whose position it is at each time. Velocities are those in the world.

        Raises `MechanismError` when there is no body of this name or the point is not three numbers; `MeasureError` for
        an unknown marker.
        """
        found = momenta_of(self, body)
        if isinstance(about, str):
            place = found.centre if about == "mass centre" else self.position(about)
        else:
            place = vector(about, "The point about which an angular momentum is taken")
        return found.angular - np.cross(place, found.linear)

    # tables and plots -------------------------------------------------------------------------------------------------

    def columns(self, measures: Sequence[str] = ()) -> dict[str, Column]:
        """Time and named columns (nt,), each with what it measures, in world axes.

        - `measures`: texts as of `flexmb.results.measure.measure`, such as "acceleration:rod.small:x"; the default is
          everything of the whole mechanism: positions of frames and interfaces, deflections, elastic coordinates,
          joint coordinates and rates, reactions, stretches, efforts, powers and states of force elements,
          signals of controllers, and energies.

        Raises `MeasureError` for a text that is no measure.
        """
        if measures:
            return {"t": Column(np.asarray(self.t), "time")} | {text: column(text, self) for text in measures}
        found = {"t": Column(np.asarray(self.t), "time")}

        def put(name: str, values: np.ndarray, dimension: str) -> None:
            found.update({f"{name} {part}": Column(values[:, k], dimension) for k, part in enumerate("xyz")})

        for body in self.mechanism.bodies:
            put(f"{body.name} frame", self.frame(body.name)[0], "length")
            for interface in body.interfaces:
                name = f"{body.name}.{interface}"
                put(f"{name} position", self.position(name), "length")
                if body.is_flexible:
                    put(f"{name} deflection", self.deflection(name), "length")
            for k, eta in enumerate(self.elastic(body.name).T):
                found[f"{body.name} eta {k + 1}"] = Column(eta, "mass^0.5 length")
        for joint in self.mechanism.joints:
            for dof in joint_dofs(joint):
                turning = dof.startswith("rotation")
                name = f"{joint.name} {dof.removesuffix(' z')}"
                found[name] = Column(self.coordinate(joint.name, dof), "angle" if turning else "length")
                rate = self.coordinate_rate(joint.name, dof)
                found[f"{name} rate"] = Column(rate, "angular velocity" if turning else "velocity")
            reaction = self.reaction(joint.name)
            put(f"{joint.name} force", reaction[:, :3], "force")
            put(f"{joint.name} moment", reaction[:, 3:], "moment")
        for element in self.mechanism.force_elements:
            for dof in self.element_dofs(element):
                turning, several = dof.startswith("rotation"), f" {dof}" if len(self.element_dofs(element)) > 1 else ""
                found[f"{element}{several} stretch"] = Column(
                    self.stretch(element, dof), "angle" if turning else "length"
                )
                found[f"{element}{several} effort"] = Column(
                    self.effort(element, dof), "moment" if turning else "force"
                )
            found[f"{element} power"] = Column(self.power(element), "power")
        if np.asarray(self.element_states).size:
            for force in self.mechanism.frame_forces:
                for name in force.call.law.states:
                    found[f"{force.name} state {name}"] = self.controller_signal("state", force.name, name)
        for controller in self.mechanism.controllers:
            own = self.controller(controller.name).columns()
            found |= {f"{controller.name} {name}": column for name, column in own.items() if name != "t"}
        for name, values in (self.ledger.series | {"residual": self.ledger.residual}).items():
            if name != "t":
                found[f"energy {name}"] = Column(np.asarray(values), "energy")
        return found

    def to_dataframe(self, measures: Sequence[str] = (), *, library: str = "pandas", units: str | None = None) -> Any:
        """`columns(measures)` as a table of pandas, with the index `t`, or of polars, with the column `t`.

        - `library`: "pandas" or "polars".
        - `units`: those of length, mass and time, such as "mm-t-s", for the labels in `frame.attrs["units"]` of pandas;
          nothing is converted. The default is `mechanism.units`.

        Raises `FileError` when the library is not installed or another name is given.
        """
        if library not in ("pandas", "polars"):
            raise FileError(unknown_name("library of tables", library, ("pandas", "polars")))
        table = self.columns(measures)
        return as_pandas(table, "t", units or self.mechanism.units) if library == "pandas" else as_polars(table)

    def to_xarray(self, measures: Sequence[str] = (), *, units: str | None = None) -> "xarray.Dataset":
        """`columns(measures)` as an xarray dataset over `t`; the attribute "units" of each variable is its unit.

        `units` as of `to_dataframe`. Raises `FileError` when xarray is not installed.
        """
        return as_xarray(self.columns(measures), "t", units or self.mechanism.units)

    def to_csv(self, path: str | Path, measures: Sequence[str] = (), *, units: str | None = None) -> Path:
        """Write `columns(measures)` as a CSV file with a header row, "rod.end position x [length]"; return the path.

        `units` as of `to_dataframe`, for the header. Raises `FileError` when the file cannot be written.
        """
        return write_columns(self.columns(measures), path, units or self.mechanism.units)

    def plot(
        self,
        measures: str | Sequence[str] = (),
        path: str | Path | None = None,
        *,
        over: str | None = None,
        unit: str | Sequence[str] | None = None,
        units: str | None = None,
    ) -> tuple[Any, list[Any]]:
        """Plot measures over time, or `over` another measure; the figure and the axes, both of matplotlib.

        See `flexmb.plots.result_plots.plot_measures`.

        Without `measures` it plots the coordinates of the joints. `unit` converts, as in unit="deg". Raises
        `MeasureError` for a text that is no measure; `UnitError` for a unit that nothing plotted has; `PictureError`
        when there is nothing to plot or the file cannot be written.
        """
        plots = import_module("flexmb.plots.result_plots")  # at the call: results do not depend on plots
        return plots.plot_measures(self, measures, path, over=over, unit=unit, units=units)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the energy balance closes, the joints stay closed, and deformations and laws stay in their range."""
        found = judge(self.mechanism, self.ledger, self.q, self.multipliers, self.angles, self.unresolved)
        left = [(TableRangeWarning, text) for text in beyond_tables(self)]
        low = [(LawRangeWarning, text) for text in (*outside_limits(self), *doubtful_contacts(self))]
        gave = [(NegativeHeatWarning, text) for text in negative_heats(self, self.ledger)]
        lost = [(TruncatedShapeWarning, text) for text in lacking_shapes(self)]
        return replace(found, findings=(*found.findings, *left, *low, *gave, *lost))

    def __str__(self) -> str:
        events = "".join(f"{event}\n" for event in self.happened[:MOST_TOLD])
        if len(self.happened) > MOST_TOLD:
            events += f"... and {len(self.happened) - MOST_TOLD} more events\n"
        span = f"{self.t[0]:.6g} to {self.t[-1]:.6g}" if len(self.t) > 1 else f"at {self.t[0]:.6g}"
        steps = str(self.statistics) if self.ledger.balances else "no simulation"
        return f"{self.mechanism.name!r}, {span}: {steps}\n{events}{self.ledger}\n{self.verdict}"


def followed_angles(
    mechanism: Mechanism, q: Float[np.ndarray, "nt nq"], near: np.ndarray | None = None
) -> Float[np.ndarray, "nt na"]:
    """The joint angles (nt, na), all revolutions counted, at the configurations `q` (nt, nq).

    With `near` (nt, na), each angle is the one nearest to its entry there. Otherwise the first angles are nearest to
    those of the initial state, and angles change by less than half a revolution from one configuration to the next.
    """
    flat, angles = compiled(mechanism), np.zeros((len(q), len(mechanism.turning)))
    if angles.size:
        first = mechanism.initial.angles
        angles[:] = near if near is not None else first if len(first) else 0.0
        angles_along(flat, np.ascontiguousarray(q), make_marker_kinematics(flat), near is None, angles)
    return angles


def result_of_states(
    mechanism: Mechanism,
    t: Float[np.ndarray, "nt"],
    q: Float[np.ndarray, "nt nq"],
    w: Float[np.ndarray, "nt nv"],
    wdot: Float[np.ndarray, "nt nv"],
    multipliers: Float[np.ndarray, "nt nj"],
    *,
    angles: Float[np.ndarray, "nt na"] | None = None,
    element_states: Float[np.ndarray, "nt nz"] | None = None,
    ledger: Ledger | None = None,
) -> Result:
    """A result of states that no simulation connects, for measures, pictures and paths.

    `t` (nt,), `q` (nt, nq), `w` and `wdot` (nt, nv), `multipliers` (nt, nj): times, configurations, velocities,
    accelerations and joint multipliers. Without a `ledger` its energies are NaN; without `angles` (nt, na),
    `followed_angles` computes them; without `element_states` (nt, nz), forces of elements with states are not known.
    """
    if angles is None:
        angles = followed_angles(mechanism, q)
    ledger = ledger or Ledger(t, *[np.full(len(t), np.nan)] * 9)
    states = np.zeros((len(t), 0)) if element_states is None else element_states
    no_effort = Statistics(0, 0, 0, 0.0, 0.0, 0.0)
    return Result(mechanism, t, q, w, wdot, multipliers, angles, states, ledger, no_effort)


refuse_old_names(__name__)
