"""Damage to bytes, texts, trees of values and arrays: deterministic, by a generator of random numbers."""

import copy
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

NUMBERS = (
    "0", "-1", "1", "2", "7", "-0.0", "1e308", "-1e308", "1e-308", "1e400", "nan", "inf", "-inf", "2000000000", "4294967295", "2147483648",
    "99999999999999999999", "-9223372036854775808", "1e15", "1e-15", "0x10", "1_000", "1.5.2", "1e", "", "x", "S9", "é", "٣",
)  # fmt: skip
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w.-]*")
_SIZES = (0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1)


def of_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut, flipped, overwritten, removed, doubled, or a word of a header set to a limit of its type."""
    damaged = bytearray(content)
    if not damaged:
        return rng.bytes(8)
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        at = int(rng.integers(len(damaged) or 1))
        span = int(rng.integers(1, 65))
        match int(rng.integers(7)):
            case 0:
                damaged = damaged[:at]
            case 1 if damaged:
                damaged[at] ^= 1 << int(rng.integers(8))
            case 2:
                damaged[at : at + span] = rng.bytes(min(span, max(len(damaged) - at, 0)))
            case 3:
                del damaged[at : at + span]
            case 4:
                damaged[at:at] = damaged[at : at + span]
            case 5:
                width = int(rng.choice([2, 4, 8]))
                word = int(rng.choice(len(_SIZES)))
                damaged[at : at + width] = (_SIZES[word] % 2 ** (8 * width)).to_bytes(width, "little")
            case 6 if damaged:
                damaged[at] = int(rng.integers(256))
    return bytes(damaged)


def of_text(content: bytes, rng: np.random.Generator) -> bytes:
    """Numbers and words exchanged, lines removed, doubled, exchanged, joined, repeated, bytes of no letter."""
    text = content
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        kind = int(rng.integers(9))
        lines = text.split(b"\n")
        at = int(rng.integers(len(lines)))
        if kind <= 2:
            text = _exchanged(text, _NUMBER, str(rng.choice(NUMBERS)).encode(), rng)
        elif kind == 3:
            words = _WORD.findall(text)
            text = _exchanged(text, _WORD, words[int(rng.integers(len(words)))] if words else b"", rng)
        elif kind == 4:
            del lines[at]
            text = b"\n".join(lines)
        elif kind == 5:
            lines[at:at] = [lines[at]] * int(rng.choice([1, 1, 2, 50]))
            text = b"\n".join(lines)
        elif kind == 6:
            other = int(rng.integers(len(lines)))
            lines[at], lines[other] = lines[other], lines[at]
            text = b"\n".join(lines)
        elif kind == 7:
            lines[at] = lines[at] + bytes(
                rng.choice([b",", b"", b" ", b"=", b'"', b"[", b"{", b"\xff", b"\0", b"$", b"*", b"\xe2\x80\xa8"])
            )
            text = b"\n".join(lines)
        else:
            text = of_bytes(text, rng)
    return text


def _exchanged(text: bytes, pattern: re.Pattern[bytes], word: bytes, rng: np.random.Generator) -> bytes:
    found = list(pattern.finditer(text))
    if not found:
        return text
    place = found[int(rng.integers(len(found)))]
    return text[: place.start()] + word + text[place.end() :]


def of_tree(tree: Any, values: Sequence[Any], rng: np.random.Generator) -> Any:
    """A tree of dictionaries and lists with one to three entries removed, renamed, doubled or replaced."""
    tree = copy.deepcopy(tree)
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        places = list(_places(tree))
        if not places:
            return tree
        holder, key = places[int(rng.integers(len(places)))]
        match int(rng.integers(8)):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[str(key) + "x"] = holder.pop(key)
            case 2 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case 3:
                other, place = places[int(rng.integers(len(places)))]
                holder[key] = copy.deepcopy(other[place])
            case _:
                holder[key] = of_value(holder[key], values, rng)
    return tree


def _places(tree: Any) -> Any:
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    for key, item in items:
        yield tree, key
        yield from _places(item)


def of_value(value: Any, values: Sequence[Any], rng: np.random.Generator) -> Any:
    """Another value: of the given ones, or the same with another size, other numbers, another type."""
    if isinstance(value, np.ndarray):
        return of_array(value, rng)
    if isinstance(value, float) and rng.random() < 0.4:
        return value * float(rng.choice([-1, 1e3, 1e-3, 1e150, 1e-150]))
    return copy.deepcopy(values[int(rng.integers(len(values)))])  # that no list comes to contain itself


def of_array(value: np.ndarray, rng: np.random.Generator) -> Any:
    """An array of another size, type, with numbers that are not finite or out of range."""
    changed = np.array(value)
    match int(rng.integers(8)):
        case 0:
            return np.resize(changed, changed.size + 1)
        case 1:
            return changed.reshape(-1)[:-1]
        case 2:
            return changed.T.copy()
        case 3 if changed.size and changed.dtype.kind == "f":
            changed.reshape(-1)[int(rng.integers(changed.size))] = rng.choice([np.nan, np.inf, 1e300, -1.0, 0.0])
            return changed
        case 4 if changed.size and changed.dtype.kind in "iu":
            place, limits = int(rng.integers(changed.size)), np.iinfo(changed.dtype)
            moved = int(changed.reshape(-1)[place]) + int(rng.choice([1, -1, 10_000, -10_000, 2**31]))
            changed.reshape(-1)[place] = min(max(moved, limits.min), limits.max)
            return changed
        case 5:
            return changed.astype(complex) if changed.dtype.kind in "fiu" else changed.reshape(-1)[:0]
        case 6:
            return np.zeros((2, 0, 3))
        case _:
            return np.array("text")
