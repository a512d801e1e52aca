"""Changes of values in a model file by their keys: `bodies.rod.modal_damping`, `joints.bearing.drive.speed`,
`bodies.disc.velocity.0`."""

import copy
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fem.errors import unknown_name
from flexmb.errors import ChangeError

_PART = re.compile(r"""\s*("[^"]*"|'[^']*'|[^.,]*?)\s*([.,]|$)""")


def keys_in(text: str) -> list[tuple[str, ...]]:
    """The keys in a text with commas between them, as their parts, which points separate: a name with a comma, a point
    or an equals sign is in quotes, as in TOML (`joints."left, upper".drive.speed`)."""
    keys: list[tuple[str, ...]] = [()]
    for part, end in _PART.findall(text):
        quoted = len(part) > 1 and part[0] in "\"'" and part[0] == part[-1]
        keys[-1] += (part[1:-1] if quoted else part,)
        if end == ",":
            keys.append(())
        elif not end:
            break
    return keys


def changed(data: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the content `data` of a model file with other values for some keys.

    The name of a table selects it from a list of tables (joints, loads, ...), a number, counted from 0, an entry of a
    list of values. Keys with commas between them take the same value; names with commas are in quotes (`keys_in`). The
    table that contains the key must exist, the key need not. Raises `ChangeError` for a table or an entry that does not
    exist, and for a key that changes twice.
    """
    data = copy.deepcopy(data)
    single = [(key, value) for text, value in changes.items() for key in keys_in(text)]
    for key, count in Counter(key for key, _ in single).items():
        if count > 1:
            raise ChangeError(f"Key {_shown(key)!r} is to change {count} times. Name it once.")
    for key, value in single:
        *tables, last = key
        table = _at(data, tables)
        if _lists_values(table):
            _inside(table, last, tables)
            table[int(last)] = value
        elif isinstance(table, dict):
            table[last] = value
        else:
            what = "a list of tables: give a key of one" if isinstance(table, list) else "a value, not a table of keys"
            raise ChangeError(f"Key {_shown(key)!r}: {_shown(tables)!r} is {what}.{_in_quotes(table, last)}")
    return data


def number_at(data: dict[str, Any], text: str) -> float:
    """The number at a key of a model file. Raises `ChangeError` when the key does not exist or is not a number, and for
    several keys."""
    keys = keys_in(text)
    if len(keys) > 1:
        raise ChangeError(
            f"{text!r} are {len(keys)} keys; a sensitivity needs one. A name with a comma is written in quotes: "
            'joints."left, upper".stiffness.'
        )
    value = _at(data, keys[0])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ChangeError(f"The value of key {text!r} is {value!r}; a sensitivity needs a number.")
    return float(value)


def _at(data: Any, parts: Sequence[str]) -> Any:
    for place, part in enumerate(parts):
        data = _inside(data, part, parts[:place])
    return data


def _shown(parts: Sequence[str]) -> str:
    """A key as `keys_in` reads it."""
    return ".".join((f"'{part}'" if '"' in part else f'"{part}"') if set(part) & set(".,=") else part for part in parts)


def _lists_values(table: Any) -> bool:
    return isinstance(table, list) and bool(table) and not any(isinstance(item, dict) for item in table)


def _inside(table: Any, part: str, above: Sequence[str]) -> Any:
    where = _shown(above)
    if _lists_values(table):
        if not part.isdecimal() or int(part) >= len(table):
            raise ChangeError(f"In {where!r}: the entries are 0 to {len(table) - 1}; found {part!r}.")
        return table[int(part)]
    named = _named(table)
    if part not in named:
        raise ChangeError(
            f"In {where or 'the model file'!r}: {unknown_name('key', part, list(named))}{_in_quotes(table, part)}"
        )
    return named[part]


def _named(table: Any) -> dict[str, Any]:
    """The entries of a table, or of a list of tables, by their names."""
    if isinstance(table, list):
        return {str(item.get("name")): item for item in table if isinstance(item, dict)}
    return table if isinstance(table, dict) else {}


def _in_quotes(table: Any, part: str) -> str:
    """A hint where `part` is the beginning of names that `keys_in` divides."""
    names = [_shown([name]) for name in _named(table) if name.startswith(part) and _shown([name]) != name]
    return f" Write a name with a comma, a point or an equals sign in quotes: {names[0]}." if names else ""
