"""Standard Input Data (SID): flexible bodies, with geometric stiffness, for Simpack, Modelica and other programs.

A file contains the mass integrals to first order in the elastic coordinates as the format defines them (`mdCM`, `J`,
`Ct`, `Cr`, `Gr`, `Ge`, `Oe`), the reduced matrices, and a node for every interface (`origin`, `phi`, `psi`, `AP`); the
numbers of the nodes begin at 1 and follow the order of the body. The format has no place for the mesh, the stresses and
the terms of `J` that are quadratic in the elastic coordinates; `load_sid` derives the latter from the first order of
`Oe`.

Reference: Wallrapp, "Standardization of flexible body modeling in multibody system codes, Part I: definition of
standard input data", Mechanics of Structures and Machines 22 (1994).
"""

import re
from pathlib import Path

import numpy as np

from flexmb.bodies.body import Body
from flexmb.errors import FileError
from flexmb.files.bodies.modal_data import ModalData, body_of, data_of, first_moments
from flexmb.files.storage.tree import require_sealed_text, sealed_text, write_whole
from flexmb.spatial.lie import skew

_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Order of the entries of `J`: xx, yy, zz, xy, xz, yz."""
_PRODUCTS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
"""Order of the products of angular velocities that `Oe` multiplies; the last two are exchanged."""
_ZERO, _DIAGONAL, _FULL, _UNIT = 0, 1, 3, 4
_WIDTH = 40


def save_sid(body: Body, path: Path) -> Path:
    """Write a flexible body as SID; return the path.

    Raises `FileError` when the body is rigid, since it has no elastic coordinates, or the file cannot be written.
    """
    if not body.is_flexible:
        raise FileError(f"Body {body.name!r} is rigid; SID files hold flexible bodies.")
    first, *rest = _lines(body)
    content = ("\n".join(rest) + "\n").encode()
    return write_whole(path, "SID", f"{first}; {sealed_text(content)}\n".encode() + content)


def _lines(body: Body) -> list[str]:
    data, m = data_of(body), body.modes
    second = body.invariants.second_order
    names = ", ".join(f"{k} is {name!r}" for k, name in enumerate(data.nodes, start=1))
    lines = [
        f"{len(data.nodes):5d}{m:5d}    :No. nodes, No. modes: body {body.name!r} written by flexmb; nodes: {names}"
    ]
    lines += ["part", "     new modal", "          refmod"]
    lines += [_entry(15, "mass", _number(data.mass)), _entry(15, "nelastq", str(m))]
    for k, frequency in enumerate(body.frequencies, start=1):
        lines.append(_entry(15, f"ielastq ({k:4d})", f"Eigen Mode {k:4d} : {frequency:12.6g} Hz"))
    lines += ["          end refmod", "          frame"]
    for k, (point, rows, terms) in enumerate(data.nodes.values(), start=1):
        lines += [_entry(15, "new node", str(k)), _entry(20, "rframe", "body ref")]
        turns = np.stack([skew(turn) for turn in rows[3:].T], axis=1)
        lines += _block(20, "origin", point[:, None], rows[:3, :, None], m)
        for name, part in (("phi", slice(0, 3)), ("psi", slice(3, 6))):
            lines += _block(20, name, rows[part], None if terms is None else terms[part].swapaxes(1, 2), m)
        lines += [*_block(20, "AP", np.eye(3), turns, m), "               end node"]
    lines.append("          end frame")
    twice = 2 * first_moments(data.J1, data.h0)
    Gr = np.hstack([np.trace(P) * np.eye(3) - P.T for P in twice])
    turning = data.h - data.h.swapaxes(1, 2)
    Ge = np.hstack([turning[:, k].T for k in range(m)])
    blocks = {
        "mdCM": (data.s0[:, None], data.S1[:, :, None]),
        "J": (np.array([[data.J0[p]] for p in _PAIRS]), np.array([data.J1[:, a, b] for a, b in _PAIRS])[:, :, None]),
        "Ct": (data.S1.T, data.SG.transpose(2, 1, 0) if second else None),
        "Cr": (data.h0.T, data.h.transpose(2, 1, 0)),
        "Me": (np.eye(m), None),
        "Gr": (Gr, None),
        "Ge": (Ge, None),
        "Oe": (np.stack([-0.5 * w * data.J1[:, a, b] for w, (a, b) in _weighted()], axis=1),
               np.stack([-w * data.J2[:, :, a, b] for w, (a, b) in _weighted()], axis=2)),
        "ksigma": (np.zeros((m, 1)), None),
        "Ke": (data.K, None),
        "De": (data.D, None),
    }  # fmt: skip
    for name, (m0, m1) in blocks.items():
        lines += _block(10, name, m0, m1, m)
    return [*lines, "     end modal", "end part"]


def _weighted() -> list[tuple[float, tuple[int, int]]]:
    return [(1.0 if a == b else 2.0, (a, b)) for a, b in _PRODUCTS]


def _number(value: float) -> str:
    return f"{value:.15E}".replace("E", "D")


def _entry(indent: int, key: str, value: str) -> str:
    return f"{' ' * indent}{key}".ljust(_WIDTH + 8) + f"= {value}"


def _block(indent: int, name: str, m0: np.ndarray, m1: np.ndarray | None, modes: int) -> list[str]:
    """The lines of a Taylor object: `m0` (rows, columns), `m1` (rows, modes, columns) or None."""
    rows, columns = m0.shape
    lines = [" " * indent + name]
    structure = _structure(m0) if m1 is None else _FULL
    order = 0 if m1 is None else 1
    sizes = {"order": order, "nrow": rows, "ncol": columns, "nq": modes, "nqn": 0, "structure": structure}
    for key, value in sizes.items():
        lines.append(_entry(indent + 5, key, str(value)))
    if structure not in (_ZERO, _UNIT):
        for i, j in zip(*np.nonzero(m0), strict=True):
            lines.append(_entry(indent + 5, f"m0({i + 1:4d},{j + 1:4d})", _number(m0[i, j])))
        if m1 is not None:
            for i, k, j in zip(*np.nonzero(m1), strict=True):
                lines.append(_entry(indent + 5, f"m1({i + 1:4d},{k + 1:4d},{j + 1:4d})", _number(m1[i, k, j])))
    return [*lines, " " * indent + f"end {name}"]


def _structure(m0: np.ndarray) -> int:
    if not m0.any():
        return _ZERO
    square = m0.shape[0] == m0.shape[1]
    if square and np.array_equal(m0, np.eye(len(m0))):
        return _UNIT
    return _DIAGONAL if square and not (m0 - np.diag(np.diag(m0))).any() else _FULL


class _Taylor:
    """A Taylor object that is being read."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.entries: dict[tuple[int, ...], float] = {}

    def arrays(self, path: Path, name: str, shape: tuple[int, int], modes: int) -> tuple[np.ndarray, np.ndarray]:
        """`m0` (rows, columns) and `m1` (rows, modes, columns). Raises `FileError` for any other shape."""
        found = (self.sizes.get("nrow", shape[0]), self.sizes.get("ncol", shape[1]))
        if found != shape:
            raise FileError(f"{path}: {name} has nrow, ncol = {found}, expected {shape}.")
        m0, m1 = np.zeros(shape), np.zeros((shape[0], modes, shape[1]))
        if self.sizes.get("structure") == _UNIT:
            m0 = np.eye(*shape)
        for at, value in self.entries.items():
            target = m0 if len(at) == 2 else m1
            if any(not 1 <= k <= size for k, size in zip(at, target.shape, strict=True)):
                raise FileError(f"{path}: {name} has an entry {at} outside of its shape {target.shape}.")
            target[tuple(k - 1 for k in at)] = value
        if self.sizes.get("structure") == 2:  # symmetric: the file may give one triangle only
            m0 = np.where(m0 == 0, m0.T, m0)
        return m0, m1


def load_sid(path: Path) -> Body:
    """Read a flexible body from a SID file; its nodes become interfaces with the same numbers or names.

    Modes that are not orthonormal are transformed so that they are. The quadratic terms of the inertia tensor are taken
    from the first order of `Oe`. Raises `FileError` when the file is incomplete, damaged or contradictory.
    """
    require_sealed_text(path)
    try:
        text = path.read_text(encoding="latin-1")
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror}.") from None
    mass, modes, blocks, nodes = _parsed(text, path)
    missing = [name for name in ("mdCM", "J", "Ct", "Cr", "Me", "Oe", "Ke") if name not in blocks]
    if missing or mass is None or not modes:
        missing += ["mass"] * (mass is None) + ["nelastq"] * (not modes)
        raise FileError(
            f"{path} is no complete SID file: {', '.join(missing)} missing; found {', '.join(blocks) or 'no blocks'}."
        )

    def of(name: str, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        found = blocks[name] if name in blocks else _Taylor()
        return found.arrays(path, name, (rows, columns), modes)

    s0, S1 = of("mdCM", 3, 1)
    J0, J1 = of("J", 6, 1)
    Ct0, Ct1 = of("Ct", modes, 3)
    Cr0, Cr1 = of("Cr", modes, 3)
    Oe0, Oe1 = of("Oe", modes, 6)
    J1_of = _tensors(J1[:, :, 0].T, _PAIRS)
    _consistent(path, "mdCM and Ct", S1[:, :, 0], Ct0.T)
    _consistent(path, "J and Oe", J1_of, -2 * _tensors(Oe0 / [w for w, _ in _weighted()], _PRODUCTS))
    h = Cr1.transpose(2, 1, 0)
    if not h.any() and "Ge" in blocks:
        Ge = of("Ge", modes, 3 * modes)[0].reshape(modes, modes, 3)  # l, k, component
        h = 0.5 * Ge.transpose(2, 1, 0)
    J2 = -_tensors(Oe1 / [w for w, _ in _weighted()], _PRODUCTS)
    data = ModalData(
        mass=mass,
        s0=s0[:, 0],
        S1=Ct0.T,
        SG=Ct1.transpose(2, 1, 0),
        J0=_tensors(J0[:, 0], _PAIRS),
        J1=J1_of,
        J2=J2,
        h0=Cr0.T,
        h=h,
        M=of("Me", modes, modes)[0],
        K=of("Ke", modes, modes)[0],
        D=of("De", modes, modes)[0],
        nodes={name: _node(path, name, parts, modes) for name, parts in nodes.items()},
    )
    return body_of(data, path.stem, path)


def _node(
    path: Path, name: str, parts: dict[str, _Taylor], modes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Point (3,), rows (6, modes) and second-order terms (6, modes, modes) or None of a node."""
    origin = parts.get("origin", _Taylor()).arrays(path, f"origin of node {name}", (3, 1), modes)
    motion = [
        parts.get(key, _Taylor()).arrays(path, f"{key} of node {name}", (3, modes), modes) for key in ("phi", "psi")
    ]
    rows = np.vstack([m0 for m0, _ in motion])
    second = np.vstack([m1.swapaxes(1, 2) for _, m1 in motion])
    return origin[0][:, 0], rows, second if second.any() else None


def _tensors(entries: np.ndarray, pairs: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Symmetric tensors (..., 3, 3) from their six entries (..., 6)."""
    T = np.zeros((*entries.shape[:-1], 3, 3))
    for k, (a, b) in enumerate(pairs):
        T[..., a, b] = T[..., b, a] = entries[..., k]
    return T


def _consistent(path: Path, names: str, one: np.ndarray, other: np.ndarray) -> None:
    """Raise `FileError` when two blocks of the file that give the same quantity of the modes differ."""
    apart = np.abs(one - other).max()
    scale = max(np.abs(one).max(), np.abs(other).max())
    if apart > 1e-3 * scale and scale > 1e-9:
        raise FileError(
            f"{path}: {names} contradict each other about the modes (difference {apart:.3g}, largest entry "
            f"{scale:.3g}). The file was written with other conventions, or is damaged."
        )


def _parsed(text: str, path: Path) -> tuple[float | None, int, dict[str, _Taylor], dict[str, dict[str, _Taylor]]]:
    """The mass, the number of elastic coordinates, the Taylor objects of the body and those of every node."""
    mass, modes, node = None, 0, None
    blocks: dict[str, _Taylor] = {}
    nodes: dict[str, dict[str, _Taylor]] = {}
    current: _Taylor | None = None
    for number, raw in enumerate(text.splitlines()[1:], start=2):
        line = raw.rstrip().rstrip("$").strip()
        key, equals, value = (part.strip() for part in line.partition("="))
        try:
            if line.startswith("end"):
                current = None
                node = None if line.split()[1:] == ["node"] else node
            elif key == "new node":
                node = value
                nodes[node] = {}
            elif equals and current is not None and key[:2] in ("m0", "m1"):
                at = tuple(int(k) for k in re.findall(r"\d+", key[2:]))
                current.entries[at] = float(value.replace("D", "E").replace("d", "e"))
            elif equals and current is not None:
                current.sizes[key] = int(value)
            elif key == "mass":
                mass = float(value.replace("D", "E"))
            elif key == "nelastq":
                modes = int(value)
            elif not equals and line and line not in ("part", "new modal", "refmod", "frame"):
                current = _Taylor()
                (blocks if node is None else nodes[node])[line] = current
        except (ValueError, IndexError):
            raise FileError(f"{path}, line {number}: cannot be read as SID: {raw.strip()!r}.") from None
    return mass, modes, blocks, nodes
