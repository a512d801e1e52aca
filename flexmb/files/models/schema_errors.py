"""Errors of a model file in sentences: the key as the user wrote it, the value found, and the values allowed."""

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fem.errors import unknown_name

MOST = 5
"""Largest number of errors in one message."""


def sentences(error: ValidationError, data: dict[str, Any]) -> list[str]:
    """One sentence for each of the first `MOST` errors in `data`, the content of the file."""
    found = _of_the_type_given(error.errors(include_url=False), data)
    rest = len(found) - MOST
    return [_sentence(item, data) for item in found[:MOST]] + ([f"and {rest} more"] if rest > 0 else [])


def _of_the_type_given(found: list[ErrorDetails], data: dict[str, Any]) -> list[ErrorDetails]:
    """The errors without those of other types that a value could have, where it has one of them: another error of the
    value concerns its size, or a part of it."""
    keys = [key_of(item["loc"], data)[:-1] for item in found]
    typed = [item["type"].endswith("_type") for item in found]
    wrong = {key for key, other in zip(keys, typed, strict=True) if not other}

    def known(key: str) -> bool:
        return key in wrong or any(other.startswith((f"{key}.", f"{key}[")) for other in keys)

    return [item for item, key, other in zip(found, keys, typed, strict=True) if not (other and known(key))]


def _sentence(item: ErrorDetails, data: dict[str, Any]) -> str:
    key = key_of(item["loc"], data)
    sort, text = item["type"], item["msg"]
    if sort == "missing":
        return f"key {key} is missing."
    if sort == "union_tag_not_found":
        choices = ': "rigid" or "flexible"' if item["loc"][0] == "bodies" else ""
        return f"key {key[:-1]}.kind' is missing{choices}."
    if sort == "union_tag_invalid":
        existing = [word.strip(" '<>") for word in item["ctx"]["expected_tags"].split(",")]
        if item["loc"] == ("simulation",):
            return f"key 'simulation.method': {unknown_name('method', str(item['ctx']['tag']).strip('<>'), existing)}"
        return f"key {key}: {unknown_name('kind', str(item['ctx']['tag']), existing)}"
    if sort == "refused":
        return f"key {key}: {text.rstrip('.')}." if key != "''" else f"{text.rstrip('.')}."
    if sort in ("model_type", "model_attributes_type"):
        text = "expected a table { ... }"
    found = repr(item["input"])
    found = found if len(found) <= 80 else found[:77] + "..."
    return f"key {key}: {text[0].lower() + text[1:]}; found {found}."


def key_of(location: tuple[int | str, ...], data: Any) -> str:
    """A location as the user wrote it, e.g. `'joints[2] ('pin').axis'`, without the tags of alternative types."""
    words: list[str] = []
    for part in location:
        if isinstance(part, int):
            data = data[part] if isinstance(data, list) and part < len(data) else None
            name = data.get("name") if isinstance(data, dict) else None
            words[-1] += f"[{part + 1}]" + (f" ({name!r})" if name else "")
        elif isinstance(data, dict) and not (part.startswith("<") and part.endswith(">")) and not _is_kind(part, data):
            words.append(part)
            data = data.get(part)
    return "'" + ".".join(words) + "'"


def _is_kind(part: str, table: Any) -> bool:
    """Whether a part of a location is the kind of the table at that location rather than a key."""
    return isinstance(table, dict) and table.get("kind") == part
