"""The keys of a model file (TOML). Every key that is not here is refused by name."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Vector = Annotated[list[float], Field(min_length=3, max_length=3)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False, frozen=True)


class Polynomial(_Keys):
    """`c0 + c1 t + c2 t^2 + ...`"""

    kind: Literal["polynomial"]
    coefficients: Annotated[list[float], Field(min_length=1)]


class Harmonic(_Keys):
    """`offset + amplitude sin(2 pi frequency t + phase)`"""

    kind: Literal["harmonic"]
    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0


class SmoothStep(_Keys):
    """From 0 to `height` between `start` and `start + duration`."""

    kind: Literal["smooth-step"]
    start: float = 0.0
    duration: Positive
    height: float


class SpinUp(_Keys):
    """Angle whose rate rises from 0 to `speed` over `duration`."""

    kind: Literal["spin-up"]
    speed: float
    duration: Positive


class Pulse(_Keys):
    """A smooth pulse of `height`, repeated every `period` if given."""

    kind: Literal["pulse"]
    start: float = 0.0
    duration: Positive
    height: float
    period: Positive | None = None


class Table(_Keys):
    """Cubic spline through points, given here or as a two-column CSV file beside the model file."""

    kind: Literal["table"]
    times: list[float] | None = None
    values: list[float] | None = None
    csv: str | None = None


MotionKeys = Annotated[Polynomial | Harmonic | SmoothStep | SpinUp | Pulse | Table, Field(discriminator="kind")]


class MaterialKeys(_Keys):
    """An isotropic material."""

    youngs_modulus: Positive
    poissons_ratio: float
    density: Positive


Material = str | MaterialKeys


class InterfaceKeys(_Keys):
    """A node or face set as interface."""

    set: str
    kind: Literal["rigid", "average"] = "rigid"
    point: Vector | None = None


class ReductionKeys(_Keys):
    """How the mesh is reduced."""

    method: Literal["craig-bampton", "modal"] = "craig-bampton"
    modes: Annotated[int, Field(ge=1)] = 20
    attached_to: str | None = None


class AxisAngle(_Keys):
    """A turn about an axis."""

    axis: Vector
    degrees: float


class _Body(_Keys):
    position: Vector = [0.0, 0.0, 0.0]
    orientation: AxisAngle | Annotated[list[float], Field(min_length=3, max_length=4)] = [0.0, 0.0, 0.0]
    velocity: Vector = [0.0, 0.0, 0.0]
    angular_velocity: Vector = [0.0, 0.0, 0.0]


class RigidBody(_Body):
    """A rigid body from its mass properties."""

    kind: Literal["rigid"]
    mass: Positive
    inertia: Vector | Annotated[list[Vector], Field(min_length=3, max_length=3)]
    centre: Vector = [0.0, 0.0, 0.0]
    points: dict[str, Vector] = {}


class FlexibleBody(_Body):
    """A flexible body from a mesh, or from a file that `flexmb reduce` wrote."""

    kind: Literal["flexible"]
    file: str | None = None
    mesh: str | None = None
    material: Material | dict[str, Material] | None = None
    interfaces: dict[str, str | InterfaceKeys] = {}
    reduction: ReductionKeys = ReductionKeys()
    modal_damping: NotNegative = 0.0
    rayleigh: Annotated[list[NotNegative], Field(min_length=2, max_length=2)] = [0.0, 0.0]


BodyKeys = Annotated[RigidBody | FlexibleBody, Field(discriminator="kind")]


class _Between(_Keys):
    name: str
    a: str
    b: str
    at: Vector | None = None


class JointKeys(_Between):
    """A joint; `drive` prescribes its free motion, `speed` is its relative speed at the start."""

    kind: str
    axis: Vector = [0.0, 0.0, 1.0]
    second_axis: Vector | None = None
    drive: MotionKeys | None = None
    speed: float | None = None
    along: Literal["rotation", "translation"] | None = None
    x: MotionKeys | None = None
    y: MotionKeys | None = None
    z: MotionKeys | None = None
    rotation: MotionKeys | None = None


class SpringKeys(_Between):
    """A spring and damper along the line between two places."""

    stiffness: NotNegative
    damping: NotNegative = 0.0
    length: NotNegative | None = None


class BushingKeys(_Between):
    """Six springs and dampers."""

    stiffness: Annotated[list[NotNegative], Field(min_length=6, max_length=6)]
    damping: Annotated[list[NotNegative], Field(min_length=6, max_length=6)] = [0.0] * 6
    axis: Vector = [0.0, 0.0, 1.0]


class JointSpringKeys(_Keys):
    """A spring and damper in a joint's free motion."""

    name: str
    joint: str
    stiffness: NotNegative
    damping: NotNegative = 0.0
    free: float = 0.0
    along: Literal["rotation", "translation"] | None = None


class MotorKeys(_Keys):
    """A torque or force in a joint's free motion."""

    name: str
    joint: str
    effort: float | MotionKeys
    drag: NotNegative = 0.0
    along: Literal["rotation", "translation"] | None = None


class LoadKeys(_Keys):
    """A force and moment at a place."""

    name: str
    place: str
    force: Vector = [0.0, 0.0, 0.0]
    moment: Vector = [0.0, 0.0, 0.0]
    factor: MotionKeys | None = None
    follows: bool = False


class SimulationKeys(_Keys):
    """Options of `flexmb.simulate`."""

    duration: Positive
    step: Positive | None = None
    tolerance: Positive = 1e-6
    output_step: Positive | None = None
    rho_inf: Annotated[float, Field(ge=0, le=1)] = 0.9
    project: bool = False


class ModelKeys(_Keys):
    """A whole model file."""

    name: str = "mechanism"
    gravity: Vector = [0.0, 0.0, 0.0]
    simulation: SimulationKeys
    bodies: dict[str, BodyKeys]
    joints: list[JointKeys] = []
    springs: list[SpringKeys] = []
    bushings: list[BushingKeys] = []
    joint_springs: list[JointSpringKeys] = []
    motors: list[MotorKeys] = []
    loads: list[LoadKeys] = []
