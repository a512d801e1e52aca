"""The keys of cables, belts, elastic relations and curves in a model file, and the calls that they stand for."""

from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from fem.user_files import quotes_inside
from flexmb.errors import MechanismError, TableError
from flexmb.files.models.key_types import Direction, Keys, Name, NotNegative, Positive, Vector, refusal
from flexmb.files.models.law_keys import WithLaw
from flexmb.forces.scalar.points import column_index, read_columns, require_unit
from flexmb.mechanism.attachments import Attachment
from flexmb.mechanism.curves.plane import Curve, through


class CurveKeys(Keys):
    """A plane curve through points, given in the model file or in a text file beside it."""

    points: list[list[float]] | None = None
    csv: str | None = None
    columns: list[int | str] = Field([0, 1], min_length=2, max_length=2)
    closed: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.points is None) == (self.csv is None):
            raise refusal("a curve needs either points = [[x, y], ...] or csv = (a file with columns of x and y)")
        if self.csv is None and "columns" in self.model_fields_set:
            raise refusal("columns selects those of a csv file; none is given")
        return self

    def curve(self, folder: Path, units: str | None = None) -> Curve:
        """The curve; `folder` is that of the model file, whose `units` those in titles must not contradict."""
        if self.csv is None:
            return through(self.points or [], closed=self.closed)
        with quotes_inside(folder / self.csv, folder, TableError):
            found = read_columns(folder / self.csv)
            places = [column_index(found, column, folder / self.csv) for column in self.columns]
            for place in places:
                require_unit(found.title(place), "length", units, f"The table {self.csv}")
            x, y = (found.numbers[:, place] for place in places)
        return through(np.column_stack([x, y]), closed=self.closed)


class OnCurveKeys(Keys):
    """A place on `b`, or a slider, on a curve with its origin at the place `a`, or on the ground `at` a position."""

    name: Name
    kind: Literal["point-on-curve", "slider-on-curve"]
    a: str
    b: str
    at: Vector | None = None
    curve: CurveKeys
    normal: Direction = Field([0.0, 0.0, 1.0])
    x: Direction = Field([1.0, 0.0, 0.0])
    offset: float = 0.0
    in_plane: bool = True

    @model_validator(mode="after")
    def _options(self) -> Self:
        if self.kind == "slider-on-curve" and self.model_fields_set & {"offset", "in_plane"}:
            raise refusal("offset and in_plane are keys of point-on-curve; a slider is on the curve and in its plane")
        return self


class CableKeys(Keys):
    """A cable over places: attachments "body.interface" or "body.point", or positions [x, y, z] on the ground."""

    name: Name
    places: list[str | Vector]
    stiffness: NotNegative
    damping: NotNegative = 0.0
    length: Positive | None = None


class BeltKeys(Keys):
    """An elastic belt between the wheels of the joints `first` and `second`."""

    name: Name
    first: str
    second: str
    radii: list[Positive] = Field(min_length=2, max_length=2)
    stiffness: Positive
    damping: NotNegative = 0.0
    preload: NotNegative = 0.0
    crossed: bool = False


class ElasticRelationKeys(WithLaw):
    """A spring and damper along a sum of coordinates of joints times their `factors`, with an additional law."""

    needs: ClassVar = ("stiffness", "damping")
    effort: str | None = None
    name: Name
    factors: dict[str, float]
    stiffness: NotNegative = 0.0
    damping: NotNegative = 0.0


def add_on_curve(site: Any, keys: OnCurveKeys) -> None:
    """Add a joint on a curve to the system of a model file; `site` finds its places."""
    a, b = site.place(keys.a), site.place(keys.b)
    if keys.at is not None:
        if keys.a != "ground":
            raise MechanismError("at = [x, y, z] is the origin of a curve on the ground; here a is on a body.")
        a = site.system.ground.at(keys.at)
    curve, options = keys.curve.curve(site.folder, site.system.units), {"normal": keys.normal, "x": keys.x}
    if keys.kind == "point-on-curve":
        site.system.point_on_curve(keys.name, a, b, curve, offset=keys.offset, in_plane=keys.in_plane, **options)
    else:
        site.system.slider_on_curve(keys.name, a, b, curve, **options)


def add_cable(site: Any, keys: CableKeys) -> None:
    """Add a cable."""
    places = [site.place(p) if isinstance(p, str) else site.system.ground.at(p) for p in keys.places]
    for place, text in zip(places, keys.places, strict=True):
        if not isinstance(place, Attachment):
            raise MechanismError(
                "A cable runs over 'body.interface', 'body.point' or positions [x, y, z] on the ground; found "
                f"{text!r}."
            )
    options = {"stiffness": keys.stiffness, "damping": keys.damping, "length": keys.length}
    site.system.cable(keys.name, places, **options)


def add_belt(site: Any, keys: BeltKeys) -> None:
    """Add a belt."""
    site.system.belt(**keys.model_dump())


def add_elastic_relation(site: Any, keys: ElasticRelationKeys) -> None:
    """Add an elastic relation."""
    law = keys.force_law(site.folder)
    options = {"stiffness": keys.stiffness, "damping": keys.damping, "law": law}
    site.system.elastic_relation(keys.name, keys.factors, **options)


def add_pipe_flow(site: Any, keys: Any) -> None:
    """Add a fluid that flows through a pipe."""
    options = {"mass_per_length": keys.mass_per_length, "speed": keys.speed}
    site.system.pipe_flow(keys.name, site.body(keys.body), keys.points, factor=site.motion(keys.factor), **options)


def add_wind(site: Any, keys: Any) -> None:
    """Add wind along a line of a body."""
    options = {key: getattr(keys, key) for key in ("density", "diameter", "velocity", "coefficient", "along")}
    site.system.wind(keys.name, site.body(keys.body), keys.points, factor=site.motion(keys.factor), **options)
