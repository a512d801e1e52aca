"""Mechanisms in TOML: read, validated against the schema, and built. Loading a model file executes no code from it."""

import copy
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

import fem
import meshes
import reduction
from fem.errors import FlexmbError, UnitWarning, unknown_name
from fem.material import check_units
from fem.mesh.selection import from_text
from fem.user_files import LARGEST_MODEL, is_file, text_of
from flexmb.analyses.inverse_dynamics import Servo
from flexmb.bodies import solids
from flexmb.bodies.body import Body, flexible_body, rigid_body
from flexmb.bodies.shape import Shape
from flexmb.contact.shape import Surface
from flexmb.errors import MechanismError, ModelFileError
from flexmb.files.bodies.body_file import load_body
from flexmb.files.models import element_keys, schema
from flexmb.files.models.changes import changed
from flexmb.files.models.contact_keys import SurfaceKeys
from flexmb.files.models.material_keys import constants_of_file, material_of, written_materials
from flexmb.files.models.motion_keys import MotionKeys, motion_of
from flexmb.files.models.schema_errors import sentences
from flexmb.linear import settled
from flexmb.mechanism.attachments import Attachment, BodyHandle, FlexibleSurface, direction
from flexmb.mechanism.joints import joint_dof
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.mechanism.time_functions import TimeFunction
from flexmb.results.measure import measure
from flexmb.simulation.events import Action, Event, Lock, Release, Terminate, stop
from flexmb.simulation.initial_state import JointValues, with_initial_state
from flexmb.units import unit_system

OF_VARIABLE_STEPS = ("max_step", "tolerance")
"""Options of `flexmb.simulate` that fixed steps do not have."""


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The content of a model file.

    `system`: the bodies, joints and forces; `duration` and `options`: the arguments of `flexmb.simulate`, among them
    the `initial_state` if the file has one, or starts from the equilibrium near it; `servos`: prescribed coordinates
    for `flexmb.analyses.inverse_dynamics`; `initial_values`: those of joints.
    """

    system: System
    duration: float
    options: dict[str, Any]
    servos: tuple[Servo, ...] = ()
    initial_values: JointValues = field(default_factory=dict)

    def options_at(self, step: float | None) -> dict[str, Any]:
        """The options with fixed steps in place of what the file says of steps; None leaves them as they are."""
        if step is None:
            return self.options
        return {key: value for key, value in self.options.items() if key not in OF_VARIABLE_STEPS} | {"step": step}

    def mechanism(self) -> Mechanism:
        """The mechanism as drawn, with the initial values of the file, from which analyses search for an equilibrium.

        Raises the errors of `flexmb.simulate` for these values.
        """
        mechanism = self.system.build()
        return with_initial_state(mechanism, self.initial_values) if self.initial_values else mechanism

    def started(self) -> Mechanism:
        """The mechanism in the state in which its simulation starts. Raises the errors of `flexmb.simulate` for it."""
        mechanism, given = self.system.build(), self.options.get("initial_state")
        return mechanism if given is None else with_initial_state(mechanism, given)


def load_model(path: str | Path, changes: Mapping[str, Any] | None = None) -> ModelFile:
    """Read a TOML model file (format: docs/model-files.md); build its system.

    `changes`: other values for some keys (see `flexmb.files.models.changes`). Paths in the model file are relative to
    its folder. Meshes are read and reduced here; a process repeats this only when the mesh file or the keys of the body
    change.

    Raises `ModelFileError`, with the file and the key in the message, when the file cannot be read or its content is
    not valid.
    """
    path = Path(path)
    data = read_toml(path)
    with _naming(path, ""):
        data = changed(data, changes or {})
    try:
        keys = schema.model_keys().model_validate(data)
    except ValidationError as error:
        raise ModelFileError(f"{path}: " + "\n  ".join(sentences(error, data))) from None
    options = keys.simulation.model_dump(exclude={"start"})
    if keys.stops or keys.events:
        with _naming(path, "stops and events"):
            options["events"] = [*map(_stop, keys.stops), *map(_event, keys.events)]
    if keys.simulation.start == "equilibrium":
        options["initial_state"] = partial(_settled_near, keys.initial_state)
    elif keys.initial_state:
        options["initial_state"] = keys.initial_state
    servos = tuple(_servo(keys, s, path, number) for number, s in enumerate(keys.servos, 1))
    return ModelFile(_build(keys, path), options.pop("duration"), options, servos, keys.initial_state)


def _servo(model: schema.ModelKeys, keys: schema.ServoKeys, path: Path, number: int) -> Servo:
    with _naming(path, f"servos[{number}]"):
        return Servo(keys.marker, keys.axis, motion_of(keys.motion, path.parent, model.units, "length"))


def _settled_near(values: JointValues, mechanism: Mechanism) -> State:
    """The state of a mechanism that has settled near given values of joints."""
    return settled(with_initial_state(mechanism, values) if values else mechanism)


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a model file. Raises `ModelFileError` for what is no file, or no valid TOML."""
    text = text_of(path, ModelFileError, "model file", LARGEST_MODEL)
    try:
        data = tomllib.loads(text)
        copy.deepcopy(data)  # to the depth that the rest needs
    except RecursionError:
        raise ModelFileError(f"{path}: its tables and lists are inside each other too deep. Flatten them.") from None
    except ValueError as error:  # also a number of thousands of digits
        raise ModelFileError(f"{path} is not valid TOML: {str(error).rstrip('.')}.") from None
    return data


@dataclass(frozen=True)
class _Site:
    """A system under construction: its bodies by name, and the folder to which paths in the model file are relative."""

    system: System
    folder: Path
    handles: dict[str, BodyHandle]

    def place(self, text: str) -> Attachment | BodyHandle:
        """The attachment or body that `"ground"`, `"body"`, `"body.interface"` or `"body.point"` denotes."""
        name, _, interface = text.partition(".")
        if name == "ground":
            return self.system.ground[interface] if interface else self.system.ground
        if name not in self.handles:
            raise MechanismError(unknown_name("body", name, [*self.handles, "ground"]))
        return self.handles[name][interface] if interface else self.handles[name]

    def body(self, name: str) -> BodyHandle:
        """The body called `name`."""
        if name not in self.handles:
            raise MechanismError(unknown_name("body", name, self.handles))
        return self.handles[name]

    def motion(self, keys: MotionKeys | None, measures: str | None = None) -> TimeFunction | None:
        """The function of time that a table of keys defines. It `measures` a "length", an "angle", or is a factor."""
        return None if keys is None else self.given_motion(keys, measures)

    def given_motion(self, keys: MotionKeys, measures: str | None = None) -> TimeFunction:
        """The same of keys that must be given."""
        return motion_of(keys, self.folder, self.system.units, measures)


def _build(keys: schema.ModelKeys, path: Path) -> System:
    with _naming(path, "gravity"):
        site = _Site(System(gravity=keys.gravity, name=keys.name, units=keys.units), path.parent, {})
    for name, body in keys.bodies.items():
        with _naming(path, f"bodies.{name}"):
            _add_body(site, name, body)
    parts: tuple[tuple[str, Sequence[Any], Callable[[_Site, Any], None]], ...] = (
        ("joints", keys.joints, _add_joint),
        ("springs", keys.springs, _add_spring),
        ("bushings", keys.bushings, _add_bushing),
        ("forces", keys.forces, _add_force),
        ("contacts", keys.contacts, _add_contact),
        ("contact_groups", keys.contact_groups, _add_contact_group),
        ("joint_springs", keys.joint_springs, _add_joint_spring),
        ("cables", keys.cables, element_keys.add_cable),
        ("belts", keys.belts, element_keys.add_belt),
        ("elastic_relations", keys.elastic_relations, element_keys.add_elastic_relation),
        ("frictions", keys.frictions, _add_friction),
        ("motors", keys.motors, _add_motor),
        ("forces", keys.forces, _add_reading_force),
        ("loads", keys.loads, _add_load),
        ("pipe_flows", keys.pipe_flows, element_keys.add_pipe_flow),
        ("winds", keys.winds, element_keys.add_wind),
        ("controllers", keys.controllers, _add_controller),
    )
    for key, tables, add in parts:
        for number, table in enumerate(tables, 1):
            with _naming(path, f"{key}[{number}] ({table.name!r})"):
                add(site, table)
    return site.system


@contextmanager
def _naming(path: Path, key: str) -> Iterator[None]:
    """Raise errors of the block as `ModelFileError` with the model file and the key in the message."""
    try:
        yield
    except FlexmbError as error:
        raise ModelFileError(f"{path}: key '{key}': {error}" if key else f"{path}: {error}") from error


# bodies -------------------------------------------------------------------------------------------------------------


def _add_body(site: _Site, name: str, keys: schema.RigidBody | schema.FlexibleBody) -> None:
    if isinstance(keys, schema.RigidBody):
        points = {key: tuple(point) for key, point in keys.points.items()}
        body = rigid_body(
            name,
            mass=keys.mass,
            inertia=keys.inertia,
            centre=keys.centre,
            points=points,
            mesh=None if keys.mesh is None else _shape(keys.mesh, site.folder, name),
            density=keys.density,
        )
    elif keys.file is not None:
        body = load_body(site.folder / keys.file)
    else:
        mesh = _mesh_path(str(keys.mesh), site.folder)
        changed_at = mesh.stat().st_mtime_ns if is_file(mesh) else 0
        text = keys.model_dump_json(exclude={"position", "orientation", "velocity", "angular_velocity"}, warnings=False)
        body = _reduced(name, text, mesh, changed_at)
        _check_constants(site.system.units, keys.material, body)
    turn = keys.orientation
    if isinstance(turn, schema.AxisAngle):
        axis = direction(turn.axis, f"Body {name!r}, orientation, axis")
        turn = list(np.deg2rad(turn.degrees) * axis / np.linalg.norm(axis))
    site.handles[name] = site.system.add(
        body,
        name=name,
        position=keys.position,
        orientation=turn,
        velocity=keys.velocity,
        angular_velocity=keys.angular_velocity,
    )


def _check_constants(units: str | None, keys: Any, body: Body) -> None:
    """Issue a `UnitWarning` for constants that are those of no solid in the units that the model names, though they may
    be in others, of which the model of the part tells."""
    system = unit_system(units)
    if system is None or body.mesh is None:
        return
    size = body.mesh.size
    for material in written_materials(keys) if keys != "file" else constants_of_file(body.mesh):
        hint = None if check_units(material, size) else check_units(material, size, system)
        if hint:
            warnings.warn(f"Body {body.name!r}: {hint}", UnitWarning, stacklevel=2)


def _shape(keys: Any, folder: Path, name: str) -> Shape:
    """The shape that keys describe; several of them as one."""
    match keys:
        case list():
            return solids.together(*(_shape(one, folder, name) for one in keys))
        case schema.BoxShape():
            return solids.box(keys.box, keys.centre)
        case schema.CylinderShape():
            return solids.cylinder(keys.start, keys.end, keys.cylinder, keys.inner)
        case schema.SphereShape():
            return solids.sphere(keys.sphere, keys.centre)
        case schema.FileShape():
            return solids.shape_of(_mesh_path(keys.file, folder), name).scaled(keys.scale)
        case _:
            return solids.shape_of(_mesh_path(keys, folder), name)


@lru_cache(maxsize=8)
def _reduced(name: str, text: str, path: Path, changed_at: int) -> Body:
    """The flexible body of a mesh file with the modification time `changed_at`; `text`: all its keys, as JSON."""
    keys = schema.FlexibleBody.model_validate_json(text)
    mesh = fem.read_mesh(path, keys.beams, ignore=keys.ignore, shells=keys.shells)
    if keys.cells is not None:
        mesh = fem.extract_cells(mesh, keys.cells)
    material: Any = None  # "file": that of the file
    if isinstance(keys.material, dict):
        material = {k: material_of(m) for k, m in keys.material.items()}
    elif keys.material != "file":
        material = material_of(keys.material)
    interfaces = {
        key: from_text(spec) if isinstance(spec, str) else fem.Interface(from_text(spec.set), spec.kind, spec.point)
        for key, spec in keys.interfaces.items()
    }
    part = fem.Model(mesh, material, name=name).with_interfaces(**interfaces)
    if keys.surfaces:
        part = part.with_surfaces(**{key: from_text(text) for key, text in keys.surfaces.items()})
    how = keys.reduction
    part = part if how.memory is None else part.with_solver(how.memory)
    band = None if how.band is None else (0.0, how.band)
    with reduction.prepared(part):
        further: dict[str, Any] = how.model_dump(include={"frictionless", "contacts"}, exclude_none=True)
        basis = reduction.reduce(
            part, how.method, how.modes, how.reference_frame, band=band, tolerance=how.tolerance, **further
        )
        rayleigh = (keys.rayleigh[0], keys.rayleigh[1])
        body = flexible_body(
            part,
            basis,
            name=name,
            modal_damping=keys.modal_damping,
            rayleigh=rayleigh,
            geometric_stiffness=keys.geometric_stiffness,
        )
        if body.quadratic is not None:
            body.quadratic.shapes  # noqa: B018  the file of the result needs them, and here the factor is present
        return body


def _mesh_path(text: str, folder: Path) -> Path:
    """The path of a mesh: `"flexmb:NAME"` denotes a mesh of flexmb, anything else a file relative to the model file."""
    if not text.startswith("flexmb:"):
        return folder / text
    try:
        return meshes.path(text.removeprefix("flexmb:"))
    except FileNotFoundError as error:
        raise MechanismError(str(error)) from None


# joints and forces --------------------------------------------------------------------------------------------------


def _add_joint(site: _Site, joint: schema.OneJoint) -> None:
    if isinstance(joint, schema.Relation):
        keys = {key: value for key, value in joint.model_dump().items() if key != "kind"}
        getattr(site.system, joint.kind)(**keys)
        return
    if isinstance(joint, schema.OnCurveKeys):
        element_keys.add_on_curve(site, joint)
        return
    if isinstance(joint, schema.DistanceKeys):
        ends = _ends(site, joint, "a rod")
        length = joint.length if joint.motion is None else site.motion(joint.motion, "length")
        site.system.distance(joint.name, *ends, length=length)
        return
    a, b = site.place(joint.a), site.place(joint.b)
    if isinstance(joint, schema.PrescribedKeys):
        parts = {key: site.motion(getattr(joint, key), "length") for key in ("x", "y", "z")}
        parts["rotation"] = site.motion(joint.rotation, "angle")
        site.system.prescribe(joint.name, a, b, axis=joint.axis, at=joint.at, **parts)
        return
    if isinstance(joint, schema.RollingKeys):
        site.system.rolling(joint.name, a, b, radius=joint.radius, axis=joint.axis, normal=joint.normal, at=joint.at)
        return
    if isinstance(joint, schema.KnifeEdgeKeys):
        site.system.knife_edge(joint.name, a, b, heading=joint.heading, normal=joint.normal, at=joint.at)
        return
    site.system.joint(joint.kind, joint.name, a, b, axis=joint.axis, second_axis=joint.second_axis, at=joint.at)
    if joint.drive is not None:
        turns = joint_dof(joint.name, joint.kind, joint.dof) == "rotation"
        site.system.drive(joint.name, site.given_motion(joint.drive, "angle" if turns else "length"), joint.dof)
    if joint.speed is not None:
        site.system.set_speed(joint.name, joint.speed, joint.dof)


def _ends(site: _Site, keys: schema.SpringKeys | schema.DistanceKeys, what: str) -> tuple[Attachment, Attachment]:
    """The two attachments of a spring or rod, of which one may be a position on the ground."""
    ends = [site.place(text) for text in (keys.a, keys.b)]
    if keys.at is not None:  # the position of the end on the ground
        ends = [site.system.ground.at(keys.at) if end is site.system.ground else end for end in ends]
        if not any(text == "ground" for text in (keys.a, keys.b)):
            raise MechanismError("at = [x, y, z] is a position on the ground, but neither end is on the ground.")
    for text, end in zip((keys.a, keys.b), ends, strict=True):
        if not isinstance(end, Attachment):
            hint = f" Give {text!r} a point, points = {{ pin = [0, 0, 0] }}, and take '{text}.pin'."
            raise MechanismError(
                f"{what} needs two attachments: 'body.interface', 'body.point', or 'ground' with at = [x, y, z]; found "
                f"{text!r}.{'' if text == 'ground' else hint}"
            )
    return ends[0], ends[1]  # type: ignore[return-value]


def _add_spring(site: _Site, keys: schema.SpringKeys) -> None:
    site.system.spring_damper(
        keys.name,
        *_ends(site, keys, "a spring"),
        stiffness=keys.stiffness,
        damping=keys.damping,
        length=keys.length,
        law=keys.force_law(site.folder),
    )


def _add_bushing(site: _Site, keys: schema.BushingKeys) -> None:
    places = site.place(keys.a), site.place(keys.b)
    site.system.bushing(
        keys.name,
        *places,
        stiffness=keys.stiffness,
        damping=keys.damping,
        axis=keys.axis,
        at=keys.at,
        free=keys.free,
    )


def _add_force(site: _Site, keys: schema.ForceKeys) -> None:
    if not keys.inputs:
        _add_any_force(site, keys)


def _add_reading_force(site: _Site, keys: schema.ForceKeys) -> None:
    """Add a force that has inputs, after the elements that they may measure."""
    if keys.inputs:
        _add_any_force(site, keys)


def _add_any_force(site: _Site, keys: schema.ForceKeys) -> None:
    if keys.at is not None and "ground" not in (keys.a, keys.b):
        raise MechanismError("at = [x, y, z] is a position on the ground, but neither end is on the ground.")

    def end(text: str) -> Attachment:
        place, origin = site.place(text), (0.0, 0.0, 0.0) if keys.at is None or text != "ground" else keys.at
        return place.at(origin) if isinstance(place, BodyHandle) else place

    law, inputs = keys.bound(site.folder), keys.sources(site.folder, site.system.units)
    site.system.force(keys.name, end(keys.a), end(keys.b), law, axis=keys.axis, axle=keys.axle, inputs=inputs)


def _touching(site: _Site, keys: SurfaceKeys) -> Sequence[Surface | FlexibleSurface]:
    """A shape at a place, its pieces, or a flexible surface."""
    if keys.surface is None:
        return _surfaces(site, keys)
    place = site.place(keys.place)
    if not isinstance(place, BodyHandle):
        raise MechanismError(f"surface = {keys.surface!r} belongs to a body; {keys.place!r} is a point of one.")
    return [place.surface(keys.surface)]


def _surfaces(site: _Site, keys: SurfaceKeys) -> list[Surface]:
    if keys.surface is not None:
        raise MechanismError(
            f"A group of contacts consists of rigid shapes; the flexible surface {keys.surface!r} of {keys.place!r} "
            "touches one shape in an entry of [[contacts]]."
        )
    place = site.place(keys.place)
    if isinstance(place, BodyHandle):
        place = place.at((0.0, 0.0, 0.0) if keys.at is None else keys.at)
    elif keys.at is not None:
        raise MechanismError(
            f"at = [x, y, z] is a point of a body or of the ground; {keys.place!r} is a point already."
        )
    path = None if keys.file is None else _mesh_path(keys.file, site.folder)
    return [shape.on(place, keys.axis, keys.x_axis) for shape in keys.contact_shapes(path)]


def _add_contact_group(site: _Site, keys: schema.ContactGroupKeys) -> None:
    site.system.contact_group(
        keys.name,
        [surface for each in keys.shapes for surface in _surfaces(site, each)],
        law=keys.law.law(),
        friction=keys.friction,
        static_friction=keys.static_friction,
        slip_speed=keys.slip_speed,
        turning_friction=None if keys.turning_friction is None else keys.turning_friction.friction(),
    )


def _add_contact(site: _Site, keys: schema.ContactKeys) -> None:
    pairs = list(product(*(_touching(site, side) for side in (keys.a, keys.b))))
    for k, surfaces in enumerate(pairs):
        site.system.contact(
            keys.name if len(pairs) == 1 else f"{keys.name} {k}",
            *surfaces,
            law=None if keys.law is None else keys.law.law(),
            friction=keys.friction if isinstance(keys.friction, float) else (keys.friction[0], keys.friction[1]),
            restitution=keys.restitution,
            impact=keys.impact,
            static_friction=keys.static_friction,
            slip_speed=keys.slip_speed,
            turning_friction=None if keys.turning_friction is None else keys.turning_friction.friction(),
            local=None if keys.local is None else keys.local.contact(),
        )


def _add_joint_spring(site: _Site, keys: schema.JointSpringKeys) -> None:
    site.system.joint_spring(
        keys.name,
        keys.joint,
        stiffness=keys.stiffness,
        damping=keys.damping,
        free=keys.free,
        law=keys.force_law(site.folder),
        dof=keys.dof,
    )


def _add_friction(site: _Site, keys: schema.FrictionKeys) -> None:
    site.system.friction(
        keys.name,
        keys.joint,
        keys.coefficient,
        radius=keys.radius,
        axial_radius=keys.axial_radius,
        span=keys.span,
        preload=keys.preload,
        static=keys.static,
        regularised=keys.regularised,
    )


def _add_motor(site: _Site, keys: schema.MotorKeys) -> None:
    given: Any = keys.effort
    effort: Any = keys.force_law(site.folder)
    if effort is None:
        effort = given if isinstance(given, float | int) else site.motion(given)
    site.system.motor(keys.name, keys.joint, effort, damping=keys.damping, dof=keys.dof)


def _add_load(site: _Site, keys: schema.LoadKeys) -> None:
    where = site.place(keys.place)
    if isinstance(where, BodyHandle):
        where = where.at((0.0, 0.0, 0.0))
    site.system.load(
        keys.name, where, force=keys.force, moment=keys.moment, factor=site.motion(keys.factor), follower=keys.follower
    )


def _add_controller(site: _Site, keys: schema.ControllerKeys) -> None:
    inputs = keys.sources(site.folder, site.system.units)
    site.system.controller(keys.name, keys.bound(site.folder), inputs=inputs, outputs=keys.outputs)


# events ---------------------------------------------------------------------------------------------------------------


def _stop(keys: schema.StopKeys) -> Event:
    limit, upper = (keys.lower, False) if keys.upper is None else (keys.upper, True)
    return stop(keys.name, keys.joint, limit or 0.0, upper=upper, restitution=keys.restitution, dof=keys.dof)


def _event(keys: schema.EventKeys) -> Event:
    value, sign = (keys.below, -1.0) if keys.above is None else (keys.above, 1.0)
    measured = measure(keys.measure)
    do: Action = None
    if keys.lock is not None:
        do = Lock(keys.lock)
    elif keys.release is not None:
        do = Release(keys.release)
    elif keys.end:
        do = Terminate()
    return Event(keys.name, lambda result: sign * (measured(result) - value), do)
