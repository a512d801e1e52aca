"""Results in HDF5: motion, ledger, and the mechanism that moved."""

from dataclasses import asdict, fields
from pathlib import Path

import numpy as np

from flexmb import motion
from flexmb.files.body_file import body_from_tree, body_tree
from flexmb.files.tree import FileError, Tree, read_tree, write_tree
from flexmb.mechanism import Joint, Load, Marker, Mechanism, Row, State
from flexmb.motion import Motion
from flexmb.result import Ledger, Result, Statistics

_ROW = ("kind", "function", "stiffness", "damping", "offset")


def save_result(result: Result, path: str | Path) -> Path:
    """Write a result; `load_result` gives back an equal one.

    Functions of time are stored by their values at the stored times (and their descriptions): they are Python
    functions, and a file holds no code.
    """
    tree = {name: getattr(result, name) for name in ("t", "q", "w", "wdot", "multipliers")}
    tree["ledger"] = {f.name: getattr(result.ledger, f.name) for f in fields(result.ledger)}
    tree["statistics"] = asdict(result.statistics)
    tree["mechanism"] = _mechanism_tree(result.mechanism, result.t)
    return write_tree(path, "result", tree)


def load_result(path: str | Path) -> Result:
    """Read a result that `save_result` wrote. Raises `FileError` for anything else."""
    tree = read_tree(path, "result")
    try:
        return Result(
            mechanism=_mechanism_from_tree(tree["mechanism"], tree["t"], path),
            **{name: tree[name] for name in ("t", "q", "w", "wdot", "multipliers")},
            ledger=Ledger(**tree["ledger"]),
            statistics=Statistics(**tree["statistics"]),
        )
    except (KeyError, TypeError) as error:
        raise FileError(f"{path} is damaged: the result's entry {error} is missing or wrong.") from None


def _mechanism_tree(m: Mechanism, t: np.ndarray) -> Tree:
    return {
        "name": m.name,
        "gravity": m.gravity,
        "bodies": [body_tree(b) for b in m.bodies],
        "markers": [{"name": k.name, "body": k.body, "point": k.point, "axes": k.axes, "interface": k.interface} for k in m.markers],
        "rows": [{**{key: getattr(r, key) for key in _ROW}, "markers": np.array(r.markers), "axes": np.array(r.axes)} for r in m.rows],
        "joints": [{"name": j.name, "kind": j.kind, "markers": np.array(j.markers), "rows": np.array(j.rows)} for j in m.joints],
        "force_elements": {name: np.array(rows) for name, rows in m.force_elements.items()},
        "loads": [{"name": x.name, "marker": x.marker, "wrench": x.wrench, "follows": x.follows, "function": x.function} for x in m.loads],
        "functions": [{"description": f.description, "values": np.array([f(x) for x in t])} for f in m.functions],
        "initial": {"t": float(m.initial.t), "q": m.initial.q, "w": m.initial.w},
    }


def _mechanism_from_tree(tree: Tree, t: np.ndarray, path: str | Path) -> Mechanism:
    def pair(array: np.ndarray) -> tuple[int, int]:
        return int(array[0]), int(array[1])

    return Mechanism(
        name=tree["name"],
        gravity=tree["gravity"],
        bodies=tuple(body_from_tree(b, path) for b in tree["bodies"]),
        markers=tuple(Marker(k["name"], k["body"], k["point"], k["axes"], k.get("interface")) for k in tree["markers"]),
        rows=tuple(Row(**{key: r[key] for key in _ROW}, markers=pair(r["markers"]), axes=pair(r["axes"])) for r in tree["rows"]),
        joints=tuple(Joint(j["name"], j["kind"], pair(j["markers"]), tuple(map(int, j["rows"]))) for j in tree["joints"]),
        force_elements={name: tuple(map(int, rows)) for name, rows in tree["force_elements"].items()},
        loads=tuple(Load(x["name"], x["marker"], x["wrench"], bool(x["follows"]), x["function"]) for x in tree["loads"]),
        functions=tuple(_stored_motion(f, t) for f in tree["functions"]),
        initial=State(float(tree["initial"]["t"]), tree["initial"]["q"], tree["initial"]["w"]),
    )


def _stored_motion(tree: Tree, t: np.ndarray) -> Motion:
    """A function of time known at the stored times: exact there, linear between them."""
    values = tree["values"]

    def column(k: int) -> "motion.Callable[[float], float]":
        return lambda at: float(np.interp(at, t, values[:, k]))

    return Motion(column(0), column(1), column(2), f"{tree['description']} (stored values)")
