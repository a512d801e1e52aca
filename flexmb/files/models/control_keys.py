"""Controllers in a model file: `[[controllers]]` with `law = { kind = "pid", ... }`, inputs and outputs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from fem.errors import unknown_name
from fem.user_files import quotes_inside
from flexmb import controllers
from flexmb.errors import LawError, TableError
from flexmb.files.models.key_types import Keys, Name, NotNegative, Positive, refusal, sort_of
from flexmb.files.models.motion_keys import MotionKeys, motion_of
from flexmb.mechanism.control.law import BoundController, ControlLaw
from flexmb.mechanism.control.signals import Source
from flexmb.mechanism.force_law import LAWS

Names = Annotated[list[Name], Field(min_length=1)]


class _LawKeys(Keys):
    """The law of a controller."""

    kind: str

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.in_file:
            return self
        try:
            self.bound(Path())
        except LawError as error:
            raise refusal(str(error).rstrip(".")) from None
        return self

    @property
    def in_file(self) -> bool:
        """Whether a file beside the model file has numbers of the law."""
        return False

    def bound(self, folder: Path) -> BoundController:
        """The law with its parameters; files are relative to `folder`."""
        make = getattr(controllers, self.kind.replace("-", "_"))
        made: BoundController = make(**self.model_dump(exclude={"kind"}, exclude_none=True))
        return made


class PidKeys(_LawKeys):
    """A PID controller."""

    kind: Literal["pid"]
    kp: float
    ki: float = 0.0
    kd: float = 0.0
    filter: NotNegative = 0.0
    lower: float | None = None
    upper: float | None = None
    anti_windup: Literal["back-calculation", "clamping", "none"] = "back-calculation"
    tracking_time: Positive | None = None
    derivative_of: Literal["measured", "error"] = "measured"
    sample_time: Positive | None = None
    initial: float = 0.0

    def bound(self, folder: Path) -> BoundController:
        given: dict[str, Any] = self.model_dump(exclude={"kind"}, exclude_none=True)
        return controllers.pid(**given | {"anti_windup": None if self.anti_windup == "none" else self.anti_windup})


class LinearKeys(_LawKeys):
    """A linear system: matrices, or a transfer function; with `dt` it is sampled."""

    kind: Literal["linear"]
    A: list[list[float]] | None = None
    B: list[list[float]] | None = None
    C: list[list[float]] | None = None
    D: list[list[float]] | None = None
    numerator: list[float] | None = None
    denominator: list[float] | None = None
    inputs: Names | None = None
    commands: Names | None = None
    sample_time: Positive | None = None
    discrete: bool = False
    lower: float | None = None
    upper: float | None = None

    def bound(self, folder: Path) -> BoundController:
        matrices, fraction = (self.A, self.B, self.C, self.D), (self.numerator, self.denominator)
        given = [all(x is not None for x in parts) for parts in (matrices, fraction)]
        if sum(given) != 1 or any(x is not None for x in (fraction if given[0] else matrices)):
            raise LawError("A linear controller has either A, B, C and D, or numerator and denominator.")
        system: Any = matrices if given[0] else fraction
        if self.discrete:
            if self.sample_time is None:
                raise LawError("A discrete system needs a sample_time.")
            system = controllers.discrete(system, self.sample_time)
        options = ("inputs", "commands", "sample_time", "lower", "upper")
        return controllers.linear(system, **self.model_dump(include={*options}, exclude_none=True))


class StateFeedbackKeys(_LawKeys):
    """State feedback."""

    kind: Literal["state-feedback"]
    K: list[list[float]]
    inputs: Names
    commands: Names = Field(["command"])
    sample_time: Positive | None = None
    lower: float | None = None
    upper: float | None = None


class CurveKeys(_LawKeys):
    """A command by a curve, whose points are given in the model file or in a text file beside it."""

    kind: Literal["curve"]
    x: list[float] | None = None
    y: list[float] | None = None
    csv: str | None = None
    columns: Annotated[list[int | str], Field(min_length=2, max_length=2)] | None = None
    scale: float | None = None
    period: Positive | None = None
    sample_time: Positive | None = None

    @property
    def in_file(self) -> bool:
        """Whether the points are in a file."""
        return self.csv is not None and self.x is None and self.y is None

    def bound(self, folder: Path) -> BoundController:
        """The curve. Raises `TableError` when its file cannot be read or has no function."""
        if not self.in_file:
            if self.x is None or self.y is None or self.csv is not None:
                raise LawError("A curve needs either x and y, or csv = (a file with columns of x and y).")
            if self.columns is not None or self.scale is not None:
                raise LawError("columns and scale are those of a csv file; none is given.")
            return controllers.curve(self.x, self.y, period=self.period, sample_time=self.sample_time)
        first, second = self.columns or (0, 1)
        path = folder / (self.csv or "")
        with quotes_inside(path, folder, TableError):
            return controllers.curve_from_csv(
                path,
                columns=(first, second),
                period=self.period,
                scale=1.0 if self.scale is None else self.scale,
                sample_time=self.sample_time,
            )


class GainScheduleKeys(_LawKeys):
    """State feedback with gains that depend on an input."""

    kind: Literal["gain-schedule"]
    points: list[float]
    gains: list[list[list[float]]]
    inputs: Names
    commands: Names = Field(["command"])
    sample_time: Positive | None = None


def _existing_law(name: str) -> str:
    known = [key for key, law in LAWS.items() if isinstance(law, ControlLaw)]
    if name not in known:
        there = unknown_name("control law", name, known) if known else f"there is no control law {name!r}."
        raise refusal(
            f"{there} Register it in the program that loads this file: @register_law({name!r}) before "
            "@flexmb.control_law"
        )
    return name


_LawTable = Annotated[
    PidKeys | LinearKeys | StateFeedbackKeys | CurveKeys | GainScheduleKeys, Field(discriminator="kind")
]
_LAW = 'expected a table such as { kind = "pid", kp = 3.0 }, or the name of a registered control law'
Law = Annotated[
    Annotated[str, AfterValidator(_existing_law), Tag("<text>")] | Annotated[_LawTable, Tag("<table>")],
    Discriminator(sort_of, custom_error_type="law", custom_error_message=_LAW),
]
_INPUT = 'expected a measure such as "coordinate:hinge", a number, or a motion such as { kind = "harmonic", ... }'
Input = Annotated[
    Annotated[float, Tag("<number>")] | Annotated[str, Tag("<text>")] | Annotated[MotionKeys, Tag("<table>")],
    Discriminator(sort_of, custom_error_type="input", custom_error_message=_INPUT),
]


def sources_of(inputs: Mapping[str, Any], folder: Path, units: str | None) -> dict[str, Source]:
    """What inputs are connected to; the folder is that of the model file, with the system `units`, or None."""
    return {key: x if isinstance(x, str | float) else motion_of(x, folder, units) for key, x in inputs.items()}


class ControllerKeys(Keys):
    """A controller: its law, what its inputs measure and where its commands act."""

    name: Name
    law: Law
    inputs: dict[str, Input] = Field({})
    outputs: dict[str, str] = Field({})
    parameters: dict[str, float] = Field({})
    initial: dict[str, float] = Field({})
    sample_time: Positive | None = None

    @model_validator(mode="after")
    def _sound_law(self) -> Self:
        if not isinstance(self.law, str) and (self.parameters or self.initial or self.sample_time is not None):
            raise refusal("parameters, initial and sample_time are those of a registered law; give them in its table")
        if not isinstance(self.law, str) and self.law.in_file:
            return self
        try:
            self.bound(Path())
        except LawError as error:
            raise refusal(str(error).rstrip(".")) from None
        return self

    def bound(self, folder: Path) -> BoundController:
        """The law with its parameters; files are relative to `folder`."""
        if not isinstance(self.law, str):
            return self.law.bound(folder)
        law: ControlLaw = LAWS[self.law]
        return law(initial=self.initial, sample_time=self.sample_time, **self.parameters)

    def sources(self, folder: Path, units: str | None) -> dict[str, Source]:
        """What the inputs are connected to; the folder is that of the model file, with the system `units`, or None."""
        return sources_of(self.inputs, folder, units)
