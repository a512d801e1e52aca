"""Changes of values in a model file by their keys: `bodies.rod.modal_damping`, `joints.bearing.drive.speed`,
`bodies.disc.velocity.0`."""

import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any

from fem.errors import unknown_name
from flexmb.errors import ChangeError


def changed(data: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the content `data` of a model file with other values for some keys.

    The name of a table selects it from a list of tables (joints, loads, ...), a number, counted from 0, an entry of a
    list of values. Keys with commas between them take the same value. The table that contains the key must exist, the
    key need not. Raises `ChangeError` for a table or an entry that does not exist, and for a key that changes twice.
    """
    data = copy.deepcopy(data)
    single = [(key.strip(), value) for keys, value in changes.items() for key in keys.split(",")]
    for key, count in Counter(key for key, _ in single).items():
        if count > 1:
            raise ChangeError(f"Key {key!r} is to change {count} times. Name it once.")
    for key, value in single:
        *tables, last = key.split(".")
        table: Any = data
        for place, part in enumerate(tables):
            table = _inside(table, part, ".".join(tables[:place]))
        if _lists_values(table):
            _inside(table, last, ".".join(tables))
            table[int(last)] = value
        elif isinstance(table, dict):
            table[last] = value
        else:
            raise ChangeError(f"Key {key!r}: {'.'.join(tables)!r} is a value, not a table of keys.")
    return data


def number_at(data: dict[str, Any], key: str) -> float:
    """The number at a key of a model file. Raises `ChangeError` when the key does not exist or is not a number."""
    *tables, last = key.split(".")
    table: Any = data
    for place, part in enumerate(tables):
        table = _inside(table, part, ".".join(tables[:place]))
    value = _inside(table, last, ".".join(tables))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ChangeError(f"The value of key {key!r} is {value!r}; a sensitivity needs a number.")
    return float(value)


def _lists_values(table: Any) -> bool:
    return isinstance(table, list) and bool(table) and not any(isinstance(item, dict) for item in table)


def _inside(table: Any, part: str, where: str) -> Any:
    if _lists_values(table):
        if not part.isdecimal() or int(part) >= len(table):
            raise ChangeError(f"In {where!r}: the entries are 0 to {len(table) - 1}; found {part!r}.")
        return table[int(part)]
    if isinstance(table, list):
        table = {str(item.get("name")): item for item in table if isinstance(item, dict)}
    if not isinstance(table, dict) or part not in table:
        existing = list(table) if isinstance(table, dict) else []
        raise ChangeError(f"In {where or 'the model file'!r}: {unknown_name('key', part, existing)}")
    return table[part]
