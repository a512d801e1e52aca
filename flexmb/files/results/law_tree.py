"""Force laws in result files: expressions, tables and maps as they are, functions by their efforts at stored times."""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from flexmb.errors import LawError
from flexmb.files.storage.sound import require_numbers
from flexmb.files.storage.tree import Tree
from flexmb.forces.scalar.expression import Expression, expression
from flexmb.forces.scalar.force_map import ForceMap, force_map
from flexmb.forces.scalar.table import Table, table
from flexmb.mechanism.force_law import ForceLaw
from flexmb.results.elements.motion import row_motion
from flexmb.results.motion import Motion


class StoredEfforts:
    """A law of which a file holds the `efforts` (nt,) at the stored times `t` (nt,), and no code.

    Its efforts at other times are NaN. A call raises `NotImplementedError`.
    """

    def __init__(self, t: np.ndarray, efforts: np.ndarray) -> None:
        self.t, self.efforts = t, efforts

    def __call__(self, t: float, x: float, xdot: float) -> float:
        raise NotImplementedError(
            "the function of this force law is not in the file; build the mechanism again to simulate it"
        )

    def over(self, t: np.ndarray, x: np.ndarray, xdot: np.ndarray) -> np.ndarray:
        """The stored efforts at the times `t`."""
        place = np.minimum(np.searchsorted(self.t, t), len(self.t) - 1)
        return np.where(self.t[place] == t, self.efforts[place], np.nan)


def law_tree(motion: Motion, index: int) -> Tree:
    """A law of the mechanism of a motion as a tree."""
    law = motion.mechanism.laws[index].function
    if isinstance(law, Expression):
        stored = "" if law.stored is None else law.stored.text
        return {
            "kind": "expression",
            "text": law.text,
            "parameters": json.dumps(dict(law.parameters)),
            "stored": stored,
        }
    if isinstance(law, Table):
        columns = json.dumps({"titles": law.titles, "scale": law.scale})
        options = _options(law, over=law.argument)
        return {"kind": "table", "x": law.x, "y": law.y, "options": options, "columns": columns}
    if isinstance(law, ForceMap):
        columns = json.dumps({"titles": law.titles})
        points = {"x": law.x, "xdot": law.xdot, "values": law.values}
        return {"kind": "map", **points, "options": _options(law), "columns": columns}
    return {"kind": "function", "efforts": _efforts(motion, index)}


def _options(law: Table | ForceMap, **further: str) -> str:
    return json.dumps({"period": law.period, "outside": law.outside, "source": law.source, **further})


def _titled(law: Table | ForceMap, tree: Tree) -> Table | ForceMap:
    """The law with the titles of its columns, which files of earlier versions do not have."""
    known = json.loads(str(tree.get("columns", "{}")))
    titles = tuple(str(title) for title in known.get("titles", ()))
    if isinstance(law, ForceMap):
        return replace(law, titles=titles)
    if len(titles) not in (0, 2):
        raise LookupError(f"a table with the titles {titles} of two columns")
    return replace(law, titles=titles, scale=float(known.get("scale", 1.0)))


def _efforts(motion: Motion, index: int) -> np.ndarray:
    """The efforts (nt,) of a function at the stored times; NaN if it fails outside a simulation."""
    mechanism, times = motion.mechanism, np.asarray(motion.t)
    row = next((row for row in mechanism.rows if row.law == index), None)
    try:
        moved = None if row is None else row_motion(motion, row)
        return np.full(len(times), np.nan) if moved is None else mechanism.laws[index].over(times, *moved[:2])
    except LawError:
        return np.full(len(times), np.nan)


def law_from_tree(tree: Tree | None, name: str, t: np.ndarray) -> ForceLaw:
    """The law of a tree that `law_tree` wrote, interpreted; None stands for a file without efforts.

    Raises `FlexmbError` or `LookupError` when the tree is not sound.
    """
    kind = "function" if tree is None else str(tree["kind"])
    law: Any
    if tree is not None and kind == "expression":
        law = expression(
            str(tree["text"]), stored=str(tree.get("stored", "")) or None, **json.loads(tree["parameters"])
        )
    elif tree is not None and kind == "table":
        law = _titled(table(tree["x"], tree["y"], **json.loads(tree["options"])), tree)
    elif tree is not None and kind == "map":
        law = _titled(force_map(tree["x"], tree["xdot"], tree["values"], **json.loads(tree["options"])), tree)
    elif kind == "function":
        efforts = np.full(len(t), np.nan) if tree is None else tree["efforts"]
        if tree is not None:
            require_numbers(efforts, (len(t),), f"the efforts of the law {name!r}", finite=False)
        law = StoredEfforts(np.asarray(t), efforts)
    else:
        raise LookupError(f"law {name!r} of the unknown kind {kind!r}")
    return ForceLaw(law, name, interpreted=True)
