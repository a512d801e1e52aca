"""Models that are wrong in what they say, not in their bytes: each case has one change that a person could make."""

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

LOOKALIKES = str.maketrans("aceopxyi", "асеорхуі")
"""From letters to letters of Cyrillic that look like them."""
NUMBERS = (
    -1.0,
    0.0,
    1e300,
    -1e300,
    1e-300,
    1e20,
    10**30,
    math.nan,
    math.inf,
    -math.inf,
    True,
    False,
    "1.0",
    [1.0],
    0.5,
    1,
    -1,
)
VECTORS: tuple[Any, ...] = (
    [0.0, 0.0, 0.0], [1e200, 1e200, 0.0], [1e-200, 0.0, 0.0], [math.nan, 0.0, 1.0], [1.0, 0.0], [1.0, 0.0, 0.0, 0.0],
    [[1.0, 0.0, 0.0]], ["1", "0", "0"], [True, False, False], [], "x",
)  # fmt: skip
Place = tuple[Any, Any]


def changed(tree: dict[str, Any], rng: np.random.Generator) -> tuple[dict[str, Any], str]:
    """The model with one change, and the change in words."""
    tree = copy.deepcopy(tree)
    for _ in range(50):
        change = CHANGES[int(rng.integers(len(CHANGES)))]
        said = change(tree, rng)
        if said:
            return tree, f"{change.__name__.strip('_')}: {said}"
    return tree, "nothing"


def _all(tree: Any, path: str = "") -> Iterator[tuple[Any, Any, Any, str]]:
    """Every holder, key and value of a tree, with its path."""
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    for key, value in items:
        here = f"{path}.{key}" if path else str(key)
        yield tree, key, value, here
        yield from _all(value, here)


def _one(items: list[Any], rng: np.random.Generator) -> Any:
    return items[int(rng.integers(len(items)))] if items else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(tree: Any, rng: np.random.Generator) -> str:
    place = _one([p for p in _all(tree) if _is_number(p[2])], rng)
    if place is None:
        return ""
    place[0][place[1]] = NUMBERS[int(rng.integers(len(NUMBERS)))]
    return f"{place[3]} = {place[2]!r} -> {place[0][place[1]]!r}"


def _of_another_size(tree: Any, rng: np.random.Generator) -> str:
    """A number in other units."""
    place = _one([p for p in _all(tree) if _is_number(p[2])], rng)
    if place is None:
        return ""
    place[0][place[1]] = place[2] * float(rng.choice([-1.0, 1e3, 1e-3, 1e9, 180 / math.pi]))
    return f"{place[3]} = {place[2]!r} -> {place[0][place[1]]!r}"


def _vector(tree: Any, rng: np.random.Generator) -> str:
    place = _one([p for p in _all(tree) if isinstance(p[2], list) and p[2] and all(map(_is_number, p[2]))], rng)
    if place is None:
        return ""
    place[0][place[1]] = copy.deepcopy(VECTORS[int(rng.integers(len(VECTORS)))])
    return f"{place[3]} = {place[2]!r} -> {place[0][place[1]]!r}"


def _order(tree: Any, rng: np.random.Generator) -> str:
    """A list from its end, or with an entry twice."""
    place = _one([p for p in _all(tree) if isinstance(p[2], list) and len(p[2]) > 1], rng)
    if place is None:
        return ""
    way = int(rng.integers(3))
    other = place[2][::-1] if way == 0 else [*place[2], copy.deepcopy(place[2][-1])] if way == 1 else place[2][:-1]
    place[0][place[1]] = other
    return f"{place[3]} {('reversed', 'last entry twice', 'without the last')[way]}"


def _names(tree: Any) -> list[str]:
    return [p[2] for p in _all(tree) if p[1] == "name" and isinstance(p[2], str)] + list(tree.get("bodies", {}))


def _same_name(tree: Any, rng: np.random.Generator) -> str:
    place = _one([p for p in _all(tree) if p[1] == "name" and isinstance(p[2], str) and p[0] is not tree], rng)
    if place is None:
        return ""
    other = str(rng.choice([*_names(tree), "ground", "", " ", "a.b", "a:b", "*", "x" * 300, place[2] + " "]))
    if other == place[2]:
        return ""
    place[0][place[1]] = other
    return f"{place[3]} = {place[2]!r} -> {other!r}"


def _other_reference(tree: Any, rng: np.random.Generator) -> str:
    """A text becomes another text of the model, or one that looks like it."""
    texts = [p for p in _all(tree) if isinstance(p[2], str) and p[1] != "name"]
    place = _one(texts, rng)
    if place is None:
        return ""
    ways = [_one(texts, rng)[2], _one(texts, rng)[2], *_names(tree)[:6], place[2].translate(LOOKALIKES), place[2].upper(), f" {place[2]}", place[2] + "\u200b", ""]  # fmt: skip
    other = str(rng.choice(ways))
    if other == place[2]:
        return ""
    place[0][place[1]] = other
    return f"{place[3]} = {place[2]!r} -> {other!r}"


def _swapped(tree: Any, rng: np.random.Generator) -> str:
    """Two values of one table change places."""
    tables = [p for p in _all(tree) if isinstance(p[2], dict) and len(p[2]) > 1]
    holder = tree if not tables or rng.random() < 0.1 else _one(tables, rng)[2]
    first, second = (str(k) for k in rng.choice(list(holder), 2, replace=False))
    if holder[first] == holder[second]:
        return ""
    holder[first], holder[second] = holder[second], holder[first]
    return f"{first} and {second} of {holder.get('name', '')!r}"


def _twice(tree: Any, rng: np.random.Generator) -> str:
    """An element is there twice, under another name."""
    lists = [p for p in _all(tree) if isinstance(p[2], list) and p[2] and isinstance(p[2][0], dict)]
    place = _one(lists, rng)
    if place is None:
        return ""
    again = copy.deepcopy(_one(place[2], rng))
    if "name" in again:
        again["name"] += " again"
    place[2].append(again)
    return f"{place[3]}: {again.get('name', '')}"


def _left_out(tree: Any, rng: np.random.Generator) -> str:
    place = _one([p for p in _all(tree) if isinstance(p[0], dict)], rng)
    if place is None:
        return ""
    del place[0][place[1]]
    return f"{place[3]} = {str(place[2])[:80]}"


def _emptied(tree: Any, rng: np.random.Generator) -> str:
    place = _one([p for p in _all(tree) if isinstance(p[2], dict | list | str) and p[2]], rng)
    if place is None:
        return ""
    place[0][place[1]] = type(place[2])()
    return f"{place[3]} = {str(place[2])[:80]}"


def _circle(tree: Any, rng: np.random.Generator) -> str:
    """An element between a place and itself, a relation of a joint with itself, a controller that reads its command."""
    ways: list[tuple[Any, Any, Any, str]] = []
    for holder, key, value, path in _all(tree):
        for pair in (("a", "b"), ("first", "second"), ("pinion", "rack"), ("rotation", "translation")):
            if key == pair[0] and pair[1] in holder:
                ways += [(holder, key, holder[pair[1]], path), (holder, pair[1], value, path)]
        if key == "inputs" and isinstance(value, dict) and value:
            name, outputs = holder.get("name", ""), list(holder.get("outputs", {"x": ""}))
            ways += [(value, k, f"command:{name}:{_one(outputs, rng)}", path) for k in value]
        if key == "outputs" and isinstance(value, dict) and value:
            name = holder.get("name", "")
            ways += [(value, k, f"effort:{name}", path) for k in value]
    way = _one(ways, rng)
    if way is None:
        return ""
    way[0][way[1]] = copy.deepcopy(way[2])
    return f"{way[3]}.{way[1]} = {way[2]!r}"


CHANGES: tuple[Callable[[Any, np.random.Generator], str], ...] = (
    _number, _number, _of_another_size, _vector, _order, _same_name, _other_reference, _other_reference, _swapped, _twice, _left_out, _emptied, _circle,
)  # fmt: skip
