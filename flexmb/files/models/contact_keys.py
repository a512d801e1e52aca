"""Contacts in a model file: two shapes at places, the law of the normal force, friction."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from fem.errors import unknown_name
from flexmb.contact import laws
from flexmb.contact.local import LocalHertz
from flexmb.contact.pieces import convex_pieces
from flexmb.contact.shape import ContactShape
from flexmb.contact.shapes import SHAPES
from flexmb.contact.triangle_mesh import hull, mesh
from flexmb.errors import LawError
from flexmb.files.models.key_types import Direction, Keys, NotNegative, Positive, Vector, refusal
from flexmb.mechanism.contacts.exact import ImpactLaw


class SurfaceKeys(Keys):
    """A shape with its dimensions at a place, or a flexible `surface` of the body `place`.

    A mesh may be `smooth`, its `hull`, or the convex `pieces` of it for a concavity.
    """

    place: str
    shape: str | None = None
    surface: str | None = None
    at: Vector | None = None
    axis: Direction | None = None
    x_axis: Direction | None = None
    radius: Positive | None = None
    length: Positive | None = None
    x: Positive | None = None
    y: Positive | None = None
    z: Positive | None = None
    file: str | None = None
    scale: Positive = 1.0
    hull: bool = False
    smooth: int = 1
    pieces: Positive | None = None

    @model_validator(mode="after")
    def _whole_shape(self) -> Self:
        if (self.shape is None) == (self.surface is None):
            found = "neither" if self.shape is None else "both"
            raise refusal(f"give shape = ... with its dimensions, or surface = ... of a flexible body; found {found}")
        if self.shape is not None and self.shape not in (*SHAPES, "mesh"):
            raise refusal(unknown_name("shape", self.shape, (*SHAPES, "mesh")).rstrip("."))
        if self.surface is not None and (self.at, self.axis, self.x_axis) != (None, None, None):
            raise refusal("a flexible surface has its place on the body: omit at, axis and x_axis")
        needed = [] if self.shape is None else ["file"]
        if self.shape in SHAPES:
            needed = [field.name for field in fields(SHAPES[self.shape])]
        given = [key for key in ("radius", "length", "x", "y", "z", "file") if getattr(self, key) is not None]
        what = self.shape or "flexible surface"
        if set(given) != set(needed):
            raise refusal(f"a {what} has the dimensions {needed}; found {given}")
        kinds = [self.hull, self.smooth != 1, self.pieces is not None]
        if self.shape != "mesh" and (any(kinds) or self.scale != 1.0):
            raise refusal(f"scale, hull, smooth and pieces belong to a mesh; found a {what}")
        if sum(kinds) > 1:
            raise refusal("a mesh is smooth, or touches with its hull, or with its pieces; give one of these keys")
        return self

    def contact_shapes(self, path: Path | None) -> list[ContactShape]:
        """The shape with its dimensions, the mesh of the file at `path`, or the pieces of it."""
        if path is None:
            assert self.shape is not None
            kind = SHAPES[self.shape]
            return [kind(*(getattr(self, field.name) for field in fields(kind)))]
        if self.pieces is not None:
            return list(convex_pieces(path, scale=self.scale, concavity=self.pieces))
        return [hull(path, scale=self.scale) if self.hull else mesh(path, scale=self.scale, smooth=self.smooth)]


class _LawKeys(Keys):
    """A law of the normal force: a function of `flexmb.contact` with its arguments."""

    function: ClassVar[Any]
    kind: str

    @model_validator(mode="after")
    def _sound_law(self) -> Self:
        try:
            self.law()
        except LawError as error:
            raise refusal(str(error).rstrip(".")) from None
        return self

    def law(self) -> laws.NormalLaw:
        """The law."""
        return type(self).function(**{key: value for key, value in self.model_dump().items() if key != "kind"})


class PowerLawKeys(_LawKeys):
    """`K d^n` with damping."""

    function = staticmethod(laws.power_law)
    kind: Literal["power-law"]
    stiffness: float
    exponent: float = 1.5
    restitution: float = 1.0
    speed: float | None = None
    factor: str = "gonthier"
    each_impact: bool = False


class HertzKeys(_LawKeys):
    """A sphere on a plane, on a sphere or in a socket, by their materials."""

    function = staticmethod(laws.hertz)
    kind: Literal["hertz"]
    young: float
    poisson: float
    radius: float
    other: float = float("inf")
    other_young: float = float("inf")
    other_poisson: float = 0.0
    restitution: float = 1.0
    speed: float | None = None
    factor: str = "gonthier"
    each_impact: bool = False


class ElasticFoundationKeys(_LawKeys):
    """A sphere on an elastic layer."""

    function = staticmethod(laws.elastic_foundation)
    kind: Literal["elastic-foundation"]
    young: float
    poisson: float
    thickness: float
    radius: float
    other: float = float("inf")
    restitution: float = 1.0
    speed: float | None = None


class LineContactKeys(_LawKeys):
    """Two parallel cylinders."""

    function = staticmethod(laws.line_contact)
    kind: Literal["line-contact"]
    modulus: float
    length: float
    radius_difference: float


class MalcaKeys(_LawKeys):
    """Two parallel cylinders, fitted, in mm, N and MPa."""

    function = staticmethod(laws.malca)
    kind: Literal["malca"]
    modulus: float
    length: float
    radius_difference: float
    internal: bool = True
    restitution: float = 1.0
    speed: float | None = None


class PermanentIndentationKeys(_LawKeys):
    """Loading and unloading to a permanent indentation."""

    function = staticmethod(laws.permanent_indentation)
    kind: Literal["permanent-indentation"]
    stiffness: float
    restitution: float
    exponent: float = 1.5


ContactLawKeys = Annotated[
    PowerLawKeys | HertzKeys | ElasticFoundationKeys | LineContactKeys | MalcaKeys | PermanentIndentationKeys,
    Field(discriminator="kind"),
]


class TurningFrictionKeys(Keys):
    """Friction of rolling and spinning."""

    rolling: NotNegative = 0.0
    spinning: NotNegative = 0.0
    speed: NotNegative = 0.0

    def friction(self) -> laws.TurningFriction:
        """The friction."""
        return laws.TurningFriction(self.rolling, self.spinning, self.speed)

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.rolling + self.spinning > 0.0:
            raise refusal("turning_friction has a length of rolling, of spinning, or of both")
        return self


class ContactGroupKeys(Keys):
    """Contact among all shapes of a group."""

    name: str
    shapes: Annotated[list[SurfaceKeys], Field(min_length=2)]
    law: ContactLawKeys
    friction: NotNegative = 0.0
    static_friction: NotNegative | None = None
    slip_speed: Positive | None = None
    turning_friction: TurningFrictionKeys | None = None


class LocalHertzKeys(Keys):
    """The materials of a flexible surface and of the sphere that touches it at a point."""

    young: Positive
    poisson: float
    other_young: Positive = float("inf")
    other_poisson: float = 0.0

    def contact(self) -> LocalHertz:
        """The local contact."""
        return LocalHertz(**self.model_dump())

    @model_validator(mode="after")
    def _sound_materials(self) -> Self:
        try:
            self.contact()
        except LawError as error:
            raise refusal(str(error).rstrip(".")) from None
        return self


class ContactKeys(Keys):
    """A contact of two shapes: continuous with a `law`, else exact; with pieces of a mesh, one of each."""

    name: str
    a: SurfaceKeys
    b: SurfaceKeys
    law: ContactLawKeys | None = None
    friction: NotNegative | Annotated[list[NotNegative], Field(min_length=2, max_length=2)] = 0.0
    restitution: NotNegative = 0.0
    impact: ImpactLaw = "newton"
    static_friction: NotNegative | None = None
    slip_speed: Positive | None = None
    turning_friction: TurningFrictionKeys | None = None
    local: LocalHertzKeys | None = None
