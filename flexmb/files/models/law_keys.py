"""Force laws in a model file: formulas, `effort = "-k*x"`, and tables `law = { kind = "...", ... }`."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from fem.errors import unknown_name
from fem.user_files import quotes_inside
from flexmb.errors import ExpressionError, LawError, TableError
from flexmb.files.models.key_types import Keys, NotNegative, Positive, refusal, sort_of
from flexmb.forces.frame import LIBRARY
from flexmb.forces.scalar.expression import Expression, expression
from flexmb.forces.scalar.force_map import ForceMap, force_map, force_map_from_csv
from flexmb.forces.scalar.one_sided import cable, gap_spring, preloaded_spring
from flexmb.forces.scalar.table import Table, table, table_from_csv
from flexmb.mechanism.control.law import ControlLaw
from flexmb.mechanism.force_law import LAWS, Effort
from flexmb.mechanism.frame_law import FrameLaw

Outside = Literal["error", "hold", "extrapolate"]


class TableKeys(Keys):
    """A curve through points, given in the model file or in a text file beside it."""

    kind: Literal["table"]
    x: list[float] | None = None
    y: list[float] | None = None
    csv: str | None = None
    columns: Annotated[list[int | str], Field(min_length=2, max_length=2)] | None = None
    over: Literal["x", "xdot", "t"] = "x"
    period: Positive | None = None
    outside: Outside = "error"
    scale: float = 1.0

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = (self.x is not None, self.y is not None, self.csv is not None)
        if given not in ((True, True, False), (False, False, True)):
            raise refusal("a table needs either x and y, or csv = (a file with columns of x and y)")
        if self.columns is not None and self.csv is None:
            raise refusal("columns selects those of a csv file; none is given")
        return self

    def law(self, folder: Path) -> Table:
        if self.csv is None:
            return table(
                self.x or [],
                self.y or [],
                over=self.over,
                period=self.period,
                outside=self.outside,
                scale=self.scale,
            )
        first, second = self.columns or (0, 1)
        with quotes_inside(folder / self.csv, folder, TableError):
            return table_from_csv(
                folder / self.csv,
                columns=(first, second),
                over=self.over,
                period=self.period,
                outside=self.outside,
                scale=self.scale,
            )


class MapKeys(Keys):
    """A surface over the coordinate and its rate, given in the model file or in a text file beside it."""

    kind: Literal["map"]
    x: list[float] | None = None
    xdot: list[float] | None = None
    values: list[list[float]] | None = None
    csv: str | None = None
    period: Positive | None = None
    outside: Outside = "error"
    scale: float = 1.0

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [x is not None for x in (self.x, self.xdot, self.values, self.csv)]
        if given not in ([True, True, True, False], [False, False, False, True]):
            raise refusal("a map needs either x, xdot and values, or csv = (a file with them)")
        return self

    def law(self, folder: Path) -> ForceMap:
        if self.csv is not None:
            with quotes_inside(folder / self.csv, folder, TableError):
                return force_map_from_csv(folder / self.csv, period=self.period, outside=self.outside, scale=self.scale)
        return force_map(
            self.x or [],
            self.xdot or [],
            self.values or [],
            period=self.period,
            outside=self.outside,
            scale=self.scale,
        )


class GapSpringKeys(Keys):
    """A buffer behind a gap."""

    kind: Literal["gap-spring"]
    stiffness: NotNegative
    gap: float = 0.0
    damping: NotNegative = 0.0
    exponent: Annotated[float, Field(ge=1)] = 1.0
    opening: bool = False

    def law(self, folder: Path) -> Expression:
        return gap_spring(self.stiffness, self.gap, damping=self.damping, exponent=self.exponent, opening=self.opening)


class CableKeys(Keys):
    """A spring and damper that only pulls."""

    kind: Literal["cable"]
    stiffness: NotNegative
    damping: NotNegative = 0.0

    def law(self, folder: Path) -> Expression:
        return cable(self.stiffness, damping=self.damping)


class PreloadedSpringKeys(Keys):
    """A spring between seats with a preload."""

    kind: Literal["preloaded-spring"]
    stiffness: NotNegative
    preload: NotNegative
    seat: Positive

    @model_validator(mode="after")
    def _stiff_seat(self) -> Self:
        try:
            self.law(Path())
        except LawError as error:
            raise refusal(str(error).rstrip(".")) from None
        return self

    def law(self, folder: Path) -> Expression:
        return preloaded_spring(self.stiffness, self.preload, seat=self.seat)


def _existing_law(name: str) -> str:
    known = [key for key, law in LAWS.items() if not isinstance(law, FrameLaw | ControlLaw)]
    if name not in known:
        there = unknown_name("law", name, known) if known else f"there is no law {name!r}; none is registered."
        raise refusal(f"{there} Register it in the program that loads this file: @register_law({name!r})")
    return name


def frame_law(name: str) -> FrameLaw:
    """The law between frames of this name, of the library or registered."""
    return {**LIBRARY, **_registered_frame_laws()}[name]


def _registered_frame_laws() -> dict[str, FrameLaw]:
    return {name: law for name, law in LAWS.items() if isinstance(law, FrameLaw)}


def _existing_frame_law(name: str) -> str:
    known = [*LIBRARY, *_registered_frame_laws()]
    if name not in known:
        raise refusal(
            f"{unknown_name('law between frames', name, known)} Register a law of yours in the program that loads this "
            f"file: @register_law({name!r}) before @flexmb.law"
        )
    return name


FrameLawName = Annotated[str, AfterValidator(_existing_frame_law)]


LawTable = Annotated[TableKeys | MapKeys | GapSpringKeys | CableKeys | PreloadedSpringKeys, Field(discriminator="kind")]
_LAW = 'expected the name of a registered law, or a table such as { kind = "table", csv = "..." }'
Law = Annotated[
    Annotated[str, AfterValidator(_existing_law), Tag("<text>")] | Annotated[LawTable, Tag("<table>")],
    Discriminator(sort_of, custom_error_type="law", custom_error_message=_LAW),
]


_EITHER = 'the element needs either effort = (such as "-k*x") or law = (a table, or the name of a registered law)'


class WithLaw(Keys):
    """A force element with a law: `effort`, an expression of t, x, xdot and the `parameters`, with the energy
    `stored`, or `law`."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Keys of which one is required beside `effort` and `law`."""
    effort: Any = None
    parameters: dict[str, float] = Field({})
    stored: str | None = None
    law: Law | None = None

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        if self.effort is not None and self.law is not None:
            raise refusal(f"{_EITHER}; found both")
        if self.effort is None and self.law is None and not {*self.needs} & self.model_fields_set:
            linear = f", or {' or '.join(self.needs)}" if self.needs else ""
            raise refusal(f"{_EITHER}{linear}; found none of them")
        if isinstance(self.effort, str):
            self._expression(self.effort)
        elif self.parameters or self.stored is not None:
            key = "parameters are those" if self.parameters else "stored is that"
            raise refusal(f'{key} of an expression, effort = "..."; none is given')
        return self

    def _expression(self, text: str) -> Expression:
        try:
            return expression(text, stored=self.stored, **self.parameters)
        except ExpressionError as error:
            raise refusal(f"effort: {str(error).rstrip('.')}") from None

    def force_law(self, folder: Path) -> Effort | None:
        """The law, or None; the folder is that of the model file."""
        if isinstance(self.effort, str):
            return self._expression(self.effort)
        if isinstance(self.law, str):
            return LAWS[self.law]
        return None if self.law is None else self.law.law(folder)
