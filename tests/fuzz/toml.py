"""Trees of values as TOML: all tables inline."""

import json
import math
from datetime import date
from typing import Any


def dumped(tree: dict[str, Any]) -> str:
    """The text of a model file with this content; values that TOML does not know become texts."""
    return "".join(f"{json.dumps(str(key))} = {_value(value)}\n" for key, value in tree.items())


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | date():
            return str(value)
        case float():
            return (
                repr(value) if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
            )
        case dict():
            return "{" + ", ".join(f"{json.dumps(str(key))} = {_value(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_value, value)) + "]"
        case _:
            return json.dumps(str(value))
