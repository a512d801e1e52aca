"""`System`: the builder of a mechanism.

All positions, orientations, points and axes are given in world coordinates of the initial configuration. `build()`
returns an immutable `Mechanism`.
"""

import inspect
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fem.elsewhere import hinted
from fem.shown import shown
from flexmb.errors import MechanismError
from flexmb.mechanism.construction.axles import require_axles
from flexmb.mechanism.construction.controllers import WithControllers
from flexmb.mechanism.control.add import connected
from flexmb.mechanism.mechanism import Joint, Marker, Mechanism, Row
from flexmb.mechanism.relations.linear import require_independent
from flexmb.mechanism.state import State
from flexmb.spatial.lie import rotation_from_quaternion

HINTS = {
    "add_body": "System.add", "body": "System.add", "add_joint": "System.joint, or for instance System.revolute",
    "hinge": "System.revolute", "pin": "System.revolute", "slider": "System.prismatic", "ball": "System.spherical",
    "weld": "System.fixed", "fix": "System.fixed", "clamp": "System.fixed", "hooke": "System.universal",
    "spring": "System.spring_damper between two places, or System.joint_spring", "damper": "System.spring_damper",
    "add_force": "System.load", "add_load": "System.load", "torque": "System.motor in a joint, or System.load",
    "moment": "System.load", "actuator": "System.motor", "motion": "System.drive", "driver": "System.drive",
    "simulate": "flexmb.simulate(system, duration, step=...)", "run": "flexmb.simulate(system, duration, step=...)",
    "solve": "flexmb.simulate(system, duration, step=...)", "equilibrium": "flexmb.linear.equilibrium(system)",
    "linearise": "flexmb.linear.linearise(system)", "modes": "flexmb.linear.linearise(system).modes()",
    "save": "flexmb.files.save_result, of a result; docs/model-files.md describes mechanisms in TOML",
}  # fmt: skip
"""What others call the methods of a system -> what they are here."""


@shown
@hinted(HINTS)
class System(WithControllers):
    """A mechanism under construction: bodies, joints, drivers, force elements and loads.

        system = flexmb.System(gravity=(0, -9.81, 0))
        crank = system.add(flexmb.uniform_rod("crank", mass=1, length=0.1))
        system.revolute("bearing", system.ground.at((0, 0, 0)), crank, axis=(0, 0, 1))
        system.drive("bearing", flexmb.time_functions.constant_speed(100.0))

    A joint connects two places. A body without a point stands for the place of its partner. `axis` is a direction in
    the world in the initial configuration. `gravity` (3,) is the acceleration of free fall in world axes: (0, 0, -9.81)
    for z upwards, in m and s. Units: consistent; `units`, such as "mm-t-s", "SI" or "in-lbf-s", names those of length,
    mass (or force) and time for tables and plots, and converts nothing.

    The methods by subject, of which `help(flexmb.System.revolute)` describes one:

    - bodies: `add`; `ground` is the body that stands still;
    - joints: `fixed`, `revolute`, `prismatic`, `cylindrical`, `spherical`, `universal`, `planar`, `in_line`,
      `in_plane`, `constant_velocity`, `distance`, and `joint` for all kinds by name; `rolling`, `knife_edge`,
      `point_on_curve`, `slider_on_curve`;
    - relations of joints: `gear`, `rack`, `screw`, `differential`, `relation`, `cable`, `belt`, `elastic_relation`;
    - given motion: `drive`, `prescribe`, `set_speed` (of the start);
    - forces: `load`, `spring_damper`, `joint_spring`, `motor`, `bushing`, `force` (laws between two places),
      `friction`, `pipe_flow`, `wind`, `contact`, `contact_group`; `controller`;
    - `build`, which `flexmb.simulate` and all analyses call.

    Raises `UnitError` when `units` has another form. All methods raise `MechanismError`, or `JointError` for joints,
    when a name is taken or unknown, or a vector is not finite or of a wrong size.
    """

    def build(self) -> Mechanism:
        """The mechanism as an immutable record. Every interface of a body has a marker named "body.interface".

        Raises `MechanismError` when the system has no body, and `JointError` when a relation between joints follows
        from other relations and drivers.
        """
        if not self._bodies:
            raise MechanismError("The system has no body. Add one with system.add(body).")
        markers = list(self._markers)
        for index, body in enumerate(self._bodies):
            markers += [
                Marker(f"{body.name}.{key}", index, i.point, np.eye(3), key) for key, i in body.interfaces.items()
            ]
        require_independent({name: own for name, (_, _, own) in self._joints.items()})
        rows: list[Row] = []
        joints = []
        for name, (kind, pair, own) in self._joints.items():
            joints.append(Joint(name, kind, pair, tuple(range(len(rows), len(rows) + len(own)))))
            rows += own
        controllers, own_forces, loads, frame_forces = connected(
            tuple(self._controllers.values()), self._forces, self._loads, self._frame_forces
        )
        forces = {}
        for name, own in own_forces.items():
            forces[name] = tuple(range(len(rows), len(rows) + len(own)))
            rows += own
        pairs = [rows[forces[force.name][0]].markers for force in frame_forces]
        attitudes = [rotation_from_quaternion(q[3:7]) for q, _ in self._initial]
        require_axles(frame_forces, pairs, joints, markers, attitudes)
        q, w = (np.concatenate(x) for x in zip(*self._initial, strict=True))
        return Mechanism(
            name=self.name,
            gravity=self.gravity,
            bodies=tuple(self._bodies),
            markers=tuple(markers),
            rows=tuple(rows),
            joints=tuple(joints),
            force_elements=forces,
            loads=tuple(loads.values()),
            functions=tuple(self._functions),
            initial=State(0.0, q, w),
            start_rows=tuple(self._start_rows),
            laws=tuple(self._laws),
            frame_forces=frame_forces,
            contact_groups=tuple(self._contact_groups),
            frictions=tuple(self._frictions),
            controllers=controllers,
            curves=tuple(self._curves),
            lines=tuple(self._lines.values()),
            contacts=tuple(self._contacts.values()),
            surface_contacts=tuple(self._surface_contacts.values()),
            units=self.units,
        )

    def __str__(self) -> str:
        parts = {
            "bodies": [body.name for body in self._bodies],
            "joints": self._joints,
            "force elements": self._forces,
            "loads": [*self._loads, *self._lines],
            "exact contacts": self._contacts,
            "contacts of flexible surfaces": self._surface_contacts,
        }
        said = [f"{what} {', '.join(map(repr, names))}" for what, names in parts.items() if names]
        return f"System {self.name!r}: {'; '.join(said) or 'empty'}"


_ARRAYS = {ArrayLike: "ArrayLike", ArrayLike | None: "ArrayLike | None"}
"""Types that help() spells out, as they are written."""


def _written(annotation: Any) -> Any:
    """An annotation as it stands in the source."""
    if annotation in _ARRAYS:
        return _ARRAYS[annotation]
    text = inspect.formatannotation(annotation)
    return re.sub(r"[\w.]+\.(\w+)", r"\1", text) if "." in text else annotation


for _part in System.__mro__[1:-1]:  # help() and messages of Python show the methods as those of System
    for _name, _member in vars(_part).items():
        if inspect.isfunction(_member):
            _member.__qualname__ = f"System.{_name}"
            _member.__annotations__ |= {k: _written(v) for k, v in _member.__annotations__.items()}
            if _name not in vars(System):
                setattr(System, _name, _member)
