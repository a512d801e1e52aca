"""The base class of all tables of a model file, which refuses unknown keys, and the types of their values."""

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from fem.errors import unknown_name


def refusal(text: str) -> PydanticCustomError:
    """The exception by which a validator refuses a value, with the message `text`."""
    return PydanticCustomError("refused", "{text}", {"text": text})


class Keys(BaseModel):
    """A table with a fixed set of keys, strict types (no text in place of a number) and finite numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
    renamed: ClassVar[dict[str, str]] = {}
    """From the old name of a key to its present name."""

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key in data:
                if key in cls.renamed:
                    raise refusal(f"the key {key!r} is now {cls.renamed[key]!r}")
                if key not in cls.model_fields:
                    raise refusal(unknown_name("key", key, cls.model_fields))
        return data


def sort_of(value: Any) -> str:
    """The tag of a value that may have one of several types."""
    return {dict: "<table>", list: "<list>", str: "<text>", int: "<number>", float: "<number>"}.get(
        type(value), "<other>"
    )


def _nonzero(vector: list[float]) -> list[float]:
    if not any(vector):
        raise refusal("a direction cannot be zero")
    return vector


Vector = Annotated[list[float], Field(min_length=3, max_length=3)]
Direction = Annotated[Vector, AfterValidator(_nonzero)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Name = Annotated[str, Field(min_length=1)]
