"""Mechanisms in TOML: read, checked against the schema, built. A model file runs no code."""

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

import fem
import meshes
import reduction
from fem.errors import FlexmbError, unknown_name
from flexmb import motion
from flexmb.body import Body, flexible_body, rigid_body
from flexmb.files import schema
from flexmb.files.body_file import load_body
from flexmb.mechanism import MechanismError
from flexmb.motion import Motion
from flexmb.system import BodyHandle, Place, System


class ModelFileError(FlexmbError, ValueError):
    """A model file is not as it must be; the message names file and key."""


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What a model file says: the system, and the options for `flexmb.simulate`."""

    system: System
    duration: float
    options: dict[str, Any]


def load_model(path: str | Path) -> ModelFile:
    """Read a TOML model file (format: docs/model-files.md). Raises `ModelFileError` naming the file and the key."""
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFileError(f"There is no model file {str(path)!r} (looked in {path.resolve().parent}).") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelFileError(f"The model file {path} cannot be read: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ModelFileError(f"{path} is not valid TOML: {error}.") from None
    try:
        keys = schema.ModelKeys.model_validate(data)
    except ValidationError as error:
        raise ModelFileError(f"{path}: " + "; ".join(_sentences(error, data))) from None
    try:
        return _build(keys, path.parent)
    except FlexmbError as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path}: {error}") from error


# errors of the schema -----------------------------------------------------------------------------------------------


def _sentences(error: ValidationError, data: dict[str, Any]) -> list[str]:
    """One sentence an error: key, what was found, what is allowed."""
    found = []
    for item in error.errors()[:5]:
        place = [p for p in item["loc"] if not _is_choice(p, item["loc"])]
        key = _path(place, data)
        if item["type"] == "extra_forbidden":
            allowed = _allowed_keys(item["loc"])
            close = get_close_matches(str(item["loc"][-1]), allowed, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            found.append(f"unknown key {key}.{hint} Keys there: {', '.join(allowed)}")
        elif item["type"] == "missing":
            found.append(f"key {key} is missing")
        else:
            found.append(f"key {key}: {item['msg'][0].lower() + item['msg'][1:]}; found {item.get('input')!r}")
    return found


_CHOICES = {"rigid", "flexible", "polynomial", "harmonic", "smooth-step", "spin-up", "pulse", "table"}


def _is_choice(part: Any, loc: tuple) -> bool:
    """Whether a part of a location is pydantic's name of an alternative, not a key of the file."""
    text = str(part)
    position = loc.index(part)
    if text in _CHOICES and position >= 2 and position + 1 <= len(loc):
        return True
    return "[" in text or text in ("AxisAngle", "InterfaceKeys", "MaterialKeys", "str", "float")


def _path(place: list[Any], data: Any) -> str:
    """A location as the user wrote it; list entries by their name."""
    words = []
    for part in place:
        if isinstance(part, int):
            entry = data[part] if isinstance(data, list) and part < len(data) else None
            name = entry.get("name") if isinstance(entry, dict) else None
            words[-1] += f"[{part + 1}]" + (f" ({name!r})" if name else "")
            data = entry
        else:
            words.append(str(part))
            data = data.get(part) if isinstance(data, dict) else None
    return "'" + ".".join(words) + "'"


def _allowed_keys(loc: tuple) -> list[str]:
    """Keys of the table in which an unknown key was found."""
    tables: dict[str, type[BaseModel]] = {
        "rigid": schema.RigidBody, "flexible": schema.FlexibleBody, "polynomial": schema.Polynomial, "harmonic": schema.Harmonic,
        "smooth-step": schema.SmoothStep, "spin-up": schema.SpinUp, "pulse": schema.Pulse, "table": schema.Table, "simulation": schema.SimulationKeys,
        "joints": schema.JointKeys, "springs": schema.SpringKeys, "bushings": schema.BushingKeys, "joint_springs": schema.JointSpringKeys,
        "motors": schema.MotorKeys, "loads": schema.LoadKeys, "reduction": schema.ReductionKeys, "AxisAngle": schema.AxisAngle,
        "InterfaceKeys": schema.InterfaceKeys, "MaterialKeys": schema.MaterialKeys,
    }  # fmt: skip
    for part in reversed(loc[:-1]):
        if part in tables:
            return list(tables[part].model_fields)
    return list(schema.ModelKeys.model_fields)


# building -----------------------------------------------------------------------------------------------------------


def _build(keys: schema.ModelKeys, folder: Path) -> ModelFile:
    system = System(gravity=keys.gravity, name=keys.name)
    handles: dict[str, BodyHandle] = {}
    for name, body in keys.bodies.items():
        if name == "ground":
            raise MechanismError("a body cannot be called 'ground': that is the name of the fixed world.")
        turn = body.orientation
        orientation = turn if isinstance(turn, list) else np.deg2rad(turn.degrees) * np.array(turn.axis) / np.linalg.norm(turn.axis)
        handles[name] = system.add(
            _body(name, body, folder), name=name, position=body.position, orientation=orientation,
            velocity=body.velocity, angular_velocity=body.angular_velocity,
        )  # fmt: skip

    def place(text: str) -> Place | BodyHandle:
        return _place(system, handles, text)

    for joint in keys.joints:
        _add_joint(system, joint, place(joint.a), place(joint.b), folder)
    for s in keys.springs:
        a, b = (_fixed_place(x, s.at, s.name) for x in (place(s.a), place(s.b)))
        system.spring_damper(s.name, a, b, stiffness=s.stiffness, damping=s.damping, length=s.length)
    for bush in keys.bushings:
        system.bushing(bush.name, place(bush.a), place(bush.b), stiffness=bush.stiffness, damping=bush.damping, axis=bush.axis, at=bush.at)
    for js in keys.joint_springs:
        system.joint_spring(js.name, js.joint, stiffness=js.stiffness, damping=js.damping, free=js.free, along=js.along)
    for m in keys.motors:
        effort = m.effort if isinstance(m.effort, float | int) else _motion(m.effort, folder)
        system.motor(m.name, m.joint, effort, drag=m.drag, along=m.along)
    for load in keys.loads:
        where = place(load.place)
        if isinstance(where, BodyHandle):
            where = where.at((0.0, 0.0, 0.0))
        factor = None if load.factor is None else _motion(load.factor, folder)
        system.load(load.name, where, force=load.force, moment=load.moment, factor=factor, follows=load.follows)
    options = keys.simulation.model_dump()
    return ModelFile(system, options.pop("duration"), options)


def _add_joint(system: System, joint: schema.JointKeys, a: Place | BodyHandle, b: Place | BodyHandle, folder: Path) -> None:
    if joint.kind == "prescribed":
        parts = {key: _motion(value, folder) for key in ("x", "y", "z", "rotation") if (value := getattr(joint, key)) is not None}
        system.prescribe(joint.name, a, b, axis=joint.axis, at=joint.at, **parts)
        return
    system.joint(joint.kind, joint.name, a, b, axis=joint.axis, second_axis=joint.second_axis, at=joint.at)
    if joint.drive is not None:
        system.drive(joint.name, _motion(joint.drive, folder), joint.along)
    if joint.speed is not None:
        system.set_speed(joint.name, joint.speed, joint.along)


def _fixed_place(where: Place | BodyHandle, at: list[float] | None, name: str) -> Place:
    if isinstance(where, Place):
        return where
    if where.body is None and at is not None:
        return where.at(at)
    raise MechanismError(f"spring {name!r} needs two places: 'body.interface', 'body.point' or 'ground' with at = [x, y, z].")


def _place(system: System, handles: dict[str, BodyHandle], text: str) -> Place | BodyHandle:
    """`"ground"`, `"body"`, `"body.interface"` or `"body.point"`."""
    name, _, interface = text.partition(".")
    if name == "ground":
        return system.ground
    if name not in handles:
        raise MechanismError(unknown_name("body", name, [*handles, "ground"]))
    return handles[name][interface] if interface else handles[name]


def _body(name: str, keys: schema.RigidBody | schema.FlexibleBody, folder: Path) -> Body:
    if isinstance(keys, schema.RigidBody):
        points = {key: tuple(point) for key, point in keys.points.items()}
        return rigid_body(name, mass=keys.mass, inertia=keys.inertia, centre=keys.centre, points=points)  # type: ignore[arg-type]
    if (keys.file is None) == (keys.mesh is None):
        raise MechanismError(f"flexible body {name!r} needs either file = (a body that `flexmb reduce` wrote) or mesh = ...")
    if keys.file is not None:
        return load_body(folder / keys.file)
    if keys.material is None:
        raise MechanismError(f"flexible body {name!r} needs a material for its mesh.")
    mesh = fem.read_mesh(_mesh_path(str(keys.mesh), folder))
    material = {k: _material(m) for k, m in keys.material.items()} if isinstance(keys.material, dict) else _material(keys.material)
    interfaces = {
        key: spec if isinstance(spec, str) else fem.Interface(spec.set, kind=spec.kind, point=spec.point)
        for key, spec in keys.interfaces.items()
    }
    part = fem.Model(mesh, material, name=name).with_interfaces(**interfaces)
    reduce = {"craig-bampton": reduction.craig_bampton, "modal": reduction.modal}[keys.reduction.method]
    basis = reduce(part, modes=keys.reduction.modes, attached_to=keys.reduction.attached_to)
    return flexible_body(part, basis, name=name, modal_damping=keys.modal_damping, rayleigh=(keys.rayleigh[0], keys.rayleigh[1]))


def _mesh_path(text: str, folder: Path) -> Path:
    """`"flexmb:NAME"` is a mesh that ships with flexmb, anything else a file beside the model file."""
    if not text.startswith("flexmb:"):
        return folder / text
    try:
        return meshes.path(text.removeprefix("flexmb:"))
    except FileNotFoundError as error:
        raise MechanismError(str(error)) from None


def _material(keys: schema.Material) -> fem.Material:
    if not isinstance(keys, str):
        return fem.Material.isotropic(keys.youngs_modulus, keys.poissons_ratio, keys.density)
    name, _, units = keys.partition(":")
    makers = {"steel": fem.Material.steel, "aluminium": fem.Material.aluminium}
    if name not in makers:
        raise MechanismError(unknown_name("material", name, makers) + ' Write its constants: {youngs_modulus = ..., poissons_ratio = ..., density = ...}.')
    return makers[name](units=units or "m")


def _motion(keys: Any, folder: Path) -> Motion:
    values = keys.model_dump()
    kind = values.pop("kind")
    if kind == "polynomial":
        return motion.polynomial(*values["coefficients"])
    if kind == "table":
        return _table(keys, folder)
    makers = {"harmonic": motion.harmonic, "smooth-step": motion.smooth_step, "spin-up": motion.spin_up, "pulse": motion.pulse}
    return makers[kind](**values)


def _table(keys: schema.Table, folder: Path) -> Motion:
    if keys.csv is None:
        if keys.times is None or keys.values is None:
            raise MechanismError("a table motion needs times and values, or csv = (a file with two columns).")
        return motion.table(keys.times, keys.values)
    try:
        data = np.loadtxt(folder / keys.csv, delimiter=",", comments="#", ndmin=2)
    except (OSError, ValueError) as error:
        raise MechanismError(f"the table {keys.csv!r} cannot be read as two columns of numbers separated by commas: {error}.") from None
    return motion.table(data[:, 0], data[:, 1])
