"""The keys of a model file (TOML): bodies, joints, forces, settings. Unknown keys are refused by name."""

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_type_hints

from pydantic import AfterValidator, Discriminator, Field, Tag, create_model, model_validator

from fem.errors import MatrixError, unknown_name
from fem.user_files import quotes_inside
from flexmb.errors import IntegratorError, LawError, TableError, UnitError
from flexmb.files.models.contact_keys import ContactGroupKeys, ContactKeys
from flexmb.files.models.control_keys import ControllerKeys, Input, sources_of
from flexmb.files.models.element_keys import BeltKeys, CableKeys, ElasticRelationKeys, OnCurveKeys
from flexmb.files.models.key_types import Direction, Keys, Name, NotNegative, Positive, Vector, refusal, sort_of
from flexmb.files.models.law_keys import FrameLawName, WithLaw, frame_law
from flexmb.files.models.material_keys import Materials, named_materials
from flexmb.files.models.motion_keys import FactorKeys, MotionKeys
from flexmb.forces.frame.ring_compliance import ring_compliance_from_csv
from flexmb.integrators.method import Method, method_of, methods
from flexmb.mechanism.control.signals import Source
from flexmb.mechanism.frame_law import BoundLaw
from flexmb.mechanism.joints import JOINTS
from flexmb.mechanism.relations.linear import RELATIONS
from flexmb.units import require_units, unit_ratio
from reduction.registry import METHODS

Dof = Literal["rotation", "translation", "rotation z", "translation z"]
"""The free motion of a joint about or along its axis, which results call z."""


class InterfaceKeys(Keys):
    """A node or face set that forms an interface."""

    set: str
    kind: Literal["rigid", "average"] = "rigid"
    point: Vector | None = None


_INTERFACE = 'expected the name of a set, or { set = "...", kind = "rigid" | "average", point = [x, y, z] }'
Interface = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[InterfaceKeys, Tag("<table>")],
    Discriminator(sort_of, custom_error_type="interface", custom_error_message=_INTERFACE),
]


def _existing_reduction(name: str) -> str:
    if name not in METHODS:
        raise refusal(unknown_name("reduction method", name, METHODS))
    return name


class ReductionKeys(Keys):
    """The method by which the mesh is reduced, and its options."""

    renamed: ClassVar = {"attached_to": "reference_frame"}
    method: Annotated[str, AfterValidator(_existing_reduction)] = "craig-bampton"
    modes: Annotated[int, Field(ge=0)] | None = None
    band: Annotated[float, Field(gt=0)] | None = None
    tolerance: Annotated[float, Field(gt=0, lt=1)] | None = None
    reference_frame: str | None = None
    memory: str | None = None
    frictionless: bool | None = None
    contacts: list[str] | None = None

    @model_validator(mode="after")
    def _has_these(self) -> Self:
        try:
            METHODS[self.method].require(self.model_dump(exclude={"method", "memory"}, exclude_none=True))
        except MatrixError as error:
            raise refusal(str(error).rstrip(".")) from None
        return self


class AxisAngle(Keys):
    """A rotation about an axis."""

    axis: Direction
    degrees: float


_ORIENTATION = (
    "expected a rotation vector (3 numbers), a quaternion (4, scalar first), or { axis = [x, y, z], degrees = ... }"
)
Orientation = Annotated[
    Annotated[AxisAngle, Tag("<table>")] | Annotated[list[float], Field(min_length=3, max_length=4), Tag("<list>")],
    Discriminator(sort_of, custom_error_type="orientation", custom_error_message=_ORIENTATION),
]


def _sort_of_inertia(value: Any) -> str:
    return "<rows>" if isinstance(value, list) and value and isinstance(value[0], list) else sort_of(value)


_INERTIA = "expected 3 principal moments, or 3 rows of 3 numbers"
Inertia = Annotated[
    Annotated[Vector, Tag("<list>")] | Annotated[list[Vector], Field(min_length=3, max_length=3), Tag("<rows>")],
    Discriminator(_sort_of_inertia, custom_error_type="inertia", custom_error_message=_INERTIA),
]


class _Body(Keys):
    position: Vector = Field([0.0, 0.0, 0.0])
    orientation: Orientation = Field([0.0, 0.0, 0.0])
    velocity: Vector = Field([0.0, 0.0, 0.0])
    angular_velocity: Vector = Field([0.0, 0.0, 0.0])


class FileShape(Keys):
    """The surface in a file, or the skin of the mesh in it, times a factor."""

    file: str
    scale: Positive = 1.0


class BoxShape(Keys):
    """A box with edges along the axes of the body."""

    box: Annotated[list[Positive], Field(min_length=3, max_length=3)]
    centre: Vector = Field([0.0, 0.0, 0.0])


class CylinderShape(Keys):
    """A cylinder of a radius between two points; `inner`: the radius of its bore."""

    cylinder: Positive
    start: Vector
    end: Vector
    inner: NotNegative = 0.0


class SphereShape(Keys):
    """A sphere of a radius."""

    sphere: Positive
    centre: Vector = Field([0.0, 0.0, 0.0])


_SHAPES = {"file": FileShape, "box": BoxShape, "cylinder": CylinderShape, "sphere": SphereShape}
_SHAPE = (
    "expected the path of a file, or { file = ..., scale = ... }, { box = [a, b, c] }, "
    "{ cylinder = radius, start = [x, y, z], end = [x, y, z] }, { sphere = radius }"
)


def _sort_of_shape(value: Any) -> str:
    if not isinstance(value, dict):
        return next((f"<{key}>" for key, shape in _SHAPES.items() if isinstance(value, shape)), sort_of(value))
    return next((f"<{key}>" for key in _SHAPES if key in value), "<table>")


OneShape = Annotated[
    Annotated[str, Tag("<text>")]
    | Annotated[FileShape, Tag("<file>")]
    | Annotated[BoxShape, Tag("<box>")]
    | Annotated[CylinderShape, Tag("<cylinder>")]
    | Annotated[SphereShape, Tag("<sphere>")],
    Discriminator(_sort_of_shape, custom_error_type="shape", custom_error_message=_SHAPE),
]
AnyShape = Annotated[
    Annotated[list[OneShape], Field(min_length=1), Tag("<list>")] | Annotated[OneShape, Tag("<one>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list) else "<one>"),
]


class RigidBody(_Body):
    """A rigid body, given by its mass properties, or by its shape and a density."""

    kind: Literal["rigid"]
    mass: Positive | None = None
    inertia: Inertia | None = None
    centre: Vector | None = None
    points: dict[str, Vector] = Field({})
    mesh: AnyShape | None = None
    density: Positive | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        own = [key for key in ("mass", "inertia", "centre") if getattr(self, key) is not None]
        if self.density is not None and (self.mesh is None or own):
            found = f"remove {', '.join(own)}, or density" if own else "mesh is missing"
            raise refusal(f"density = {self.density} takes mass, inertia and centre from mesh = ...; {found}")
        if self.density is None and not {"mass", "inertia"} <= {*own}:
            missing = "inertia" if "mass" in own else "mass"
            raise refusal(f"{missing} is missing: a rigid body needs mass and inertia, or mesh (its shape) and density")
        return self


class FlexibleBody(_Body):
    """A flexible body, from a mesh or from a file that `flexmb reduce` wrote."""

    kind: Literal["flexible"]
    file: str | None = None
    mesh: str | None = None
    cells: str | list[str] | None = None
    ignore: list[str] = Field([])
    shells: list[str] | Literal["all"] | None = None
    beams: list[str] | None = None
    material: Materials | None = None
    interfaces: dict[str, Interface] = Field({})
    surfaces: dict[str, str] = Field({})
    reduction: ReductionKeys = ReductionKeys()
    modal_damping: NotNegative = 0.0
    rayleigh: Annotated[list[NotNegative], Field(min_length=2, max_length=2)] = Field([0.0, 0.0])
    geometric_stiffness: Literal["second-order", "none"] = "second-order"

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        own = {*FlexibleBody.model_fields} - {*_Body.model_fields, "kind", "file"}
        if self.file is not None and (both := sorted(own & self.model_fields_set)):
            raise refusal(
                f"the saved body in file = {self.file!r} is reduced already; remove {', '.join(both)}, or remove file"
            )
        if self.file is None and self.mesh is None:
            raise refusal("a flexible body needs mesh = (a mesh file), or file = (a body that `flexmb reduce` wrote)")
        if self.file is None and self.material is None:
            raise refusal(
                f'the mesh {self.mesh!r} needs a material, such as "steel", or "file" for those that a deck has'
            )
        return self


BodyKeys = Annotated[RigidBody | FlexibleBody, Field(discriminator="kind")]


class _Between(Keys):
    name: Name
    a: str
    b: str
    at: Vector | None = None


def _existing_kind(kind: str) -> str:
    if kind not in JOINTS:
        free = " A body without a joint moves freely." if kind == "free" else ""
        raise refusal(unknown_name("joint kind", kind, [*JOINTS, *_OTHERS, *_ON_CURVE, *RELATIONS]) + free)
    return kind


class JointKeys(_Between):
    """A joint. `drive` prescribes the motion of its dof; `speed` is the initial relative speed of its dof."""

    renamed: ClassVar = {"along": "dof"}
    kind: Annotated[str, AfterValidator(_existing_kind)]
    axis: Direction = Field([0.0, 0.0, 1.0])
    second_axis: Direction | None = None
    drive: MotionKeys | None = None
    speed: float | None = None
    dof: Dof | None = None

    @model_validator(mode="after")
    def _used_keys(self) -> Self:
        if self.second_axis is not None and not (JOINTS[self.kind].second_axis or JOINTS[self.kind].bends):
            having = " or ".join(kind.name for kind in JOINTS.values() if kind.second_axis or kind.bends)
            raise refusal(f"second_axis belongs to a {having} joint; this one is {self.kind!r}")
        if self.dof is not None and self.drive is None and self.speed is None:
            raise refusal("dof selects the motion of drive or speed; neither is given")
        return self


class PrescribedKeys(_Between):
    """A prescribed motion of the second body relative to the first; components without a function are locked."""

    kind: Literal["prescribed"]
    axis: Direction = Field([0.0, 0.0, 1.0])
    x: MotionKeys | None = None
    y: MotionKeys | None = None
    z: MotionKeys | None = None
    rotation: MotionKeys | None = None


class DistanceKeys(_Between):
    """A rod without mass between two attachments, of constant `length` (default: as drawn) or following `motion`."""

    kind: Literal["distance"]
    length: Positive | None = None
    motion: MotionKeys | None = None

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if self.length is not None and self.motion is not None:
            raise refusal("a rod has either length = (a number) or motion = (a function of time)")
        return self


class RollingKeys(_Between):
    """A thin wheel about `axis`, or without one a ball, on the body `b` with its centre there or `at`, which rolls on a
    plane of the body `a` with the given `normal`."""

    kind: Literal["rolling"]
    radius: Positive
    axis: Direction | None = None
    normal: Direction = Field([0.0, 0.0, 1.0])


class KnifeEdgeKeys(_Between):
    """A place on the body `b` that moves along its `heading` only, in a plane of the body `a`."""

    kind: Literal["knife-edge"]
    heading: Direction
    normal: Direction = Field([0.0, 0.0, 1.0])


class GearKeys(Keys):
    """A gear: the angle of the joint `second` turns `ratio` times as fast as that of `first`."""

    name: Name
    kind: Literal["gear"]
    first: str
    second: str
    ratio: float


class RackKeys(Keys):
    """A rack and pinion: the displacement of the joint `rack` is `radius` times the angle of the joint `pinion`."""

    name: Name
    kind: Literal["rack"]
    pinion: str
    rack: str
    radius: float


class ScrewKeys(Keys):
    """A screw: a turn of the joint `rotation` displaces `translation`, by default the same joint, by `lead`."""

    name: Name
    kind: Literal["screw"]
    rotation: str
    translation: str | None = None
    lead: float


class DifferentialKeys(Keys):
    """A differential: seen from the joint `carrier`, `second` turns `ratio` times as fast as `first`."""

    name: Name
    kind: Literal["differential"]
    first: str
    second: str
    carrier: str
    ratio: float = -1.0


class RelationKeys(Keys):
    """A linear relation: the sum of coordinates of joints times their `factors` keeps its value as drawn."""

    name: Name
    kind: Literal["relation"]
    factors: dict[str, float]


Relation = GearKeys | RackKeys | ScrewKeys | DifferentialKeys | RelationKeys


OneJoint = JointKeys | PrescribedKeys | DistanceKeys | RollingKeys | KnifeEdgeKeys | OnCurveKeys | Relation
_ON_CURVE = ("point-on-curve", "slider-on-curve")
_OTHERS = ("prescribed", "distance", "rolling", "knife-edge")
"""Kinds of joints with keys of their own."""


def _sort_of_joint(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    if kind in _ON_CURVE:
        return "<on-curve>"
    return f"<{kind}>" if kind in (*RELATIONS, *_OTHERS) else "<joint>"


AnyJoint = Annotated[
    Annotated[JointKeys, Tag("<joint>")]
    | Annotated[PrescribedKeys, Tag("<prescribed>")]
    | Annotated[DistanceKeys, Tag("<distance>")]
    | Annotated[RollingKeys, Tag("<rolling>")]
    | Annotated[KnifeEdgeKeys, Tag("<knife-edge>")]
    | Annotated[OnCurveKeys, Tag("<on-curve>")]
    | Annotated[GearKeys, Tag("<gear>")]
    | Annotated[RackKeys, Tag("<rack>")]
    | Annotated[ScrewKeys, Tag("<screw>")]
    | Annotated[DifferentialKeys, Tag("<differential>")]
    | Annotated[RelationKeys, Tag("<relation>")],
    Discriminator(_sort_of_joint),
]


class SpringKeys(_Between, WithLaw):
    """A spring and damper along the line between two attachments, with an additional law of the stretch."""

    needs: ClassVar = ("stiffness", "damping")
    effort: str | None = None
    stiffness: NotNegative = 0.0
    damping: NotNegative = 0.0
    length: NotNegative | None = None


class BushingKeys(_Between):
    """Springs and dampers for the six relative motions of two attachments."""

    stiffness: Annotated[list[NotNegative], Field(min_length=6, max_length=6)]
    damping: Annotated[list[NotNegative], Field(min_length=6, max_length=6)] = Field([0.0] * 6)
    axis: Direction = Field([0.0, 0.0, 1.0])
    free: Vector | Literal["drawn"] | None = None


RING_LAW = "flexible-ring-bearing"
"""The law of a rolling bearing with the compliance of its ring."""


class ForceKeys(_Between):
    """A law between two frames: one of the library, or a registered one, with its parameters and initial states.

    `inputs`: what the inputs of the law are connected to, as those of a controller.

    `compliance`: a text file with the compliance of the ring of a bearing (`flexmb.forces.RingCompliance.write_csv`).
    """

    law: FrameLawName
    parameters: dict[str, float] = Field({})
    initial: dict[str, float] = Field({})
    inputs: dict[str, Input] = Field({})
    compliance: str | None = None
    axis: Direction = Field([0.0, 0.0, 1.0])
    axle: Direction | None = None

    @model_validator(mode="after")
    def _sound_law(self) -> Self:
        if self.compliance is not None:
            if self.law != RING_LAW:
                raise refusal(f"compliance is that of the ring of a bearing, law = {RING_LAW!r}; found {self.law!r}")
            return self
        if self.law == RING_LAW and "sectors" not in self.parameters:
            raise refusal(f"law = {RING_LAW!r} needs compliance = (a file of RingCompliance.write_csv)")
        try:
            self.bound(Path())
        except LawError as error:
            raise refusal(str(error).rstrip(".")) from None
        return self

    def bound(self, folder: Path) -> BoundLaw:
        """The law with its parameters; files are relative to `folder`.

        Raises `LawError` when they do not suit the law, and `TableError` when a file cannot be read.
        """
        ring: Mapping[str, float] = {}
        if self.compliance is not None:
            with quotes_inside(folder / self.compliance, folder, TableError):
                ring = ring_compliance_from_csv(folder / self.compliance).parameters
        return frame_law(self.law)(initial=self.initial, **{**ring, **self.parameters})

    def sources(self, folder: Path, units: str | None) -> dict[str, Source]:
        """What the inputs are connected to; the folder is that of the model file, with the system `units`, or None."""
        return sources_of(self.inputs, folder, units)


class JointSpringKeys(WithLaw):
    """A spring and damper on the dof of a joint, with an additional law of its coordinate."""

    renamed: ClassVar = {"along": "dof"}
    needs: ClassVar = ("stiffness", "damping")
    effort: str | None = None
    name: Name
    joint: str
    stiffness: NotNegative = 0.0
    damping: NotNegative = 0.0
    free: float | Literal["drawn"] | None = None
    dof: Dof | None = None


class FrictionKeys(Keys):
    """Dry friction in a revolute, prismatic, cylindrical or spherical joint."""

    name: Name
    joint: str
    coefficient: NotNegative
    radius: NotNegative | None = None
    axial_radius: NotNegative = 0.0
    span: Positive | None = None
    preload: NotNegative = 0.0
    static: NotNegative | None = None
    regularised: Positive | None = None


_EFFORT = 'expected a number, an expression such as "-k*x", or a motion such as { kind = "harmonic", ... }'
Effort = Annotated[
    Annotated[float, Tag("<number>")] | Annotated[str, Tag("<text>")] | Annotated[MotionKeys, Tag("<table>")],
    Discriminator(sort_of, custom_error_type="effort", custom_error_message=_EFFORT),
]


class MotorKeys(WithLaw):
    """A torque or force on the dof of a joint: `effort`, a number, a function of time or an expression, or a `law`."""

    renamed: ClassVar = {"along": "dof", "drag": "damping"}
    effort: Effort | None = None
    name: Name
    joint: str
    damping: NotNegative = 0.0
    dof: Dof | None = None


class LoadKeys(Keys):
    """A force and moment at an attachment."""

    renamed: ClassVar = {"follows": "follower"}
    name: Name
    place: str
    force: Vector = Field([0.0, 0.0, 0.0])
    moment: Vector = Field([0.0, 0.0, 0.0])
    factor: FactorKeys | None = None
    follower: bool = False


class _LineKeys(Keys):
    """A load along a line of a body, by points in the frame of the body."""

    name: Name
    body: str
    points: Annotated[list[Vector], Field(min_length=2)]
    factor: FactorKeys | None = None


class PipeFlowKeys(_LineKeys):
    """A fluid that flows through a pipe."""

    mass_per_length: NotNegative
    speed: float


class WindKeys(_LineKeys):
    """Wind across a line of a body."""

    density: NotNegative
    diameter: NotNegative
    velocity: Vector
    coefficient: NotNegative = 1.2
    along: NotNegative = 0.0


class StopKeys(Keys):
    """A stop at a value of the coordinate of a joint."""

    renamed: ClassVar = {"along": "dof"}
    name: Name
    joint: str
    upper: float | None = None
    lower: float | None = None
    restitution: Annotated[float, Field(ge=0, le=1)] = 0.0
    dof: Dof | None = None

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.upper is None) == (self.lower is None):
            raise refusal("a stop has either upper = (a value of the joint) or lower = (one); make two stops for both")
        return self


class EventKeys(Keys):
    """An event when a measure rises (or falls) through a value, with at most one action; without one, a restart."""

    name: Name
    measure: str
    above: float | None = None
    below: float | None = None
    lock: str | None = None
    release: str | None = None
    end: bool = False

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.above is None) == (self.below is None):
            raise refusal("an event has either above = (a value of the measure) or below = (one)")
        if sum((self.lock is not None, self.release is not None, self.end)) > 1:
            raise refusal("an event has one of lock, release, end")
        return self


class ServoKeys(Keys):
    """A world coordinate of a marker that motors make follow a function of time, for `flexmb inverse`."""

    marker: str
    axis: Literal["x", "y", "z"]
    motion: MotionKeys


_JOINT_VALUE = "expected a number (the value), or [value, rate]"
JointValue = Annotated[
    Annotated[float, Tag("<number>")] | Annotated[list[float], Field(min_length=2, max_length=2), Tag("<list>")],
    Discriminator(sort_of, custom_error_type="joint_value", custom_error_message=_JOINT_VALUE),
]


DEFAULT_METHOD = "generalised-alpha"


class _SimulationKeys(Keys):
    """Duration, stored times, start and method of `flexmb.simulate`; each method adds the fields of its record."""

    renamed: ClassVar[dict[str, str]] = {"integrator": "method"}

    duration: Positive
    output_step: Positive | None = None
    start: Literal["drawn", "equilibrium"] = "drawn"

    @model_validator(mode="before")
    @classmethod
    def _only_own_options(cls, data: Any) -> Any:
        for key in data if isinstance(data, dict) else ():
            having = [name for name, record in methods().items() if key in [f.name for f in fields(record)]]
            if key not in cls.model_fields and having:
                name = data.get("method", DEFAULT_METHOD)
                raise refusal(f"method {name!r} has no option {key!r}, which belongs to {', '.join(having)}")
        return data

    @model_validator(mode="after")
    def _sound_options(self) -> Self:
        given = self.model_dump(exclude={*_SimulationKeys.model_fields})
        try:
            method_of(given.pop("method"), given)
        except IntegratorError as error:
            raise refusal(str(error)) from None
        return self


def _method_keys(name: str, record: type[Method]) -> type[_SimulationKeys]:
    """The class of the table of one method."""
    types = get_type_hints(record)
    options: dict[str, Any] = {f.name: (types[f.name], f.default) for f in fields(record)}
    options["method"] = (Literal[name], name)
    return create_model(f"{record.__name__}Keys", __base__=_SimulationKeys, **options)


def _method_in(data: Any) -> Any:
    return f"<{data.get('method', DEFAULT_METHOD)}>" if isinstance(data, dict) else f"<{DEFAULT_METHOD}>"


class ModelKeys(Keys):
    """The keys of a whole model file; `model_keys` returns the class that includes the methods."""

    name: str = "mechanism"
    gravity: Vector = Field([0.0, 0.0, 0.0])
    units: str | None = None
    simulation: Any
    bodies: Annotated[dict[str, BodyKeys], Field(min_length=1)]
    joints: list[AnyJoint] = Field([])
    springs: list[SpringKeys] = Field([])
    bushings: list[BushingKeys] = Field([])
    forces: list[ForceKeys] = Field([])
    contacts: list[ContactKeys] = Field([])
    contact_groups: list[ContactGroupKeys] = Field([])
    joint_springs: list[JointSpringKeys] = Field([])
    cables: list[CableKeys] = Field([])
    belts: list[BeltKeys] = Field([])
    elastic_relations: list[ElasticRelationKeys] = Field([])
    frictions: list[FrictionKeys] = Field([])
    motors: list[MotorKeys] = Field([])
    loads: list[LoadKeys] = Field([])
    pipe_flows: list[PipeFlowKeys] = Field([])
    winds: list[WindKeys] = Field([])
    controllers: list[ControllerKeys] = Field([])
    stops: list[StopKeys] = Field([])
    events: list[EventKeys] = Field([])
    servos: list[ServoKeys] = Field([])
    initial_state: dict[str, JointValue] = Field({})

    @model_validator(mode="after")
    def _sound_units(self) -> Self:
        try:
            require_units(self.units)
        except UnitError as error:
            raise refusal(str(error)) from None
        return self

    @model_validator(mode="after")
    def _materials_in_these_units(self) -> Self:
        for name, body in self.bodies.items() if self.units is not None else ():
            for material in named_materials(body.material) if isinstance(body, FlexibleBody) else ():
                length, own = ("mm", "mm-t-s") if material.endswith(":mm") else ("m", "SI")
                ratios = [
                    unit_ratio(unit, dimension, str(self.units))
                    for unit, dimension in ((length, "length"), ("N", "force"), ("s", "time"))
                ]
                if any(ratio is not None and abs(ratio - 1.0) > 1e-9 for ratio in ratios):
                    raise refusal(
                        f"bodies.{name}.material: {material!r} has its constants in {own}, but the units of the model "
                        f"are {self.units!r}. Name the material in these units, or write its constants"
                    )
        return self

    @model_validator(mode="after")
    def _body_names(self) -> Self:
        for name in self.bodies:
            if name in ("", "ground") or "." in name:
                raise refusal(
                    f"a body cannot be called {name!r}: 'ground' is the fixed world, and a dot separates a body from "
                    "its interface"
                )
        return self

    @model_validator(mode="after")
    def _joints_of_initial_state(self) -> Self:
        joints = [joint.name for joint in self.joints]
        for name in self.initial_state:
            if name not in joints and name.rpartition(":")[0] not in joints:
                raise refusal(f"initial_state: {unknown_name('joint', name, joints)}".rstrip("."))
        return self


def model_keys() -> type[ModelKeys]:
    """The class of a whole model file, with one simulation table for each method that is registered now."""
    return _with_methods(tuple(methods().items()))


@lru_cache(maxsize=2)
def _with_methods(known: tuple[tuple[str, type[Method]], ...]) -> type[ModelKeys]:
    tables = tuple(Annotated[_method_keys(name, record), Tag(f"<{name}>")] for name, record in known)
    simulation: Any = Annotated[Union[tables], Discriminator(_method_in)]  # noqa: UP007
    return create_model("ModelKeys", __base__=ModelKeys, simulation=(simulation, ...))
