"""Modal data of MBDyn's `modal` joint (`.fem` files), with the inertia invariants 3, 4, 5, 8 and 9 of its manual.

Every interface becomes a FEM node; the numbers begin at 1 and follow the order of the body. The files contain neither
second-order displacements (geometric stiffness), since these invariants are those of the linear displacement field, nor
meshes and stresses.

Reference: Masarati et al., MBDyn Theory and Developer's Manual, section "Modal Element"; MBDyn Input File Format
Manual, section "Modal".
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flexmb.bodies.body import Body
from flexmb.bodies.invariants import inertia_of, rigid_invariants
from flexmb.errors import FileError
from flexmb.files.bodies.modal_data import ModalData, body_of, data_of, first_moments, second_products
from flexmb.files.storage.tree import require_sealed_text, sealed_text, write_whole

_TITLES = {
    9: "MODAL MASS MATRIX", 10: "MODAL STIFFNESS MATRIX", 12: "RIGID BODY INERTIA MATRIX", 13: "MODAL DAMPING MATRIX",
    14: "INVARIANT 3", 15: "INVARIANT 4", 16: "INVARIANT 8", 17: "INVARIANT 5", 18: "INVARIANT 9",
}  # fmt: skip


def save_mbdyn(body: Body, path: Path) -> Path:
    """Write a flexible body for MBDyn, without its second-order displacements; return the path.

    Raises `FileError` when the body is rigid or the file cannot be written.
    """
    if not body.is_flexible:
        raise FileError(f"Body {body.name!r} is rigid; MBDyn's modal files hold flexible bodies.")
    first, *rest = _lines(body)
    content = ("\n".join(rest) + "\n").encode()
    return write_whole(path, "MBDyn", f"{first}; {sealed_text(content)}\n".encode() + content)


def _lines(body: Body) -> list[str]:
    inv, data, m = body.invariants, data_of(body), body.modes
    nodes = list(data.nodes.values())
    names = ", ".join(f"{k} is {name!r}" for k, name in enumerate(data.nodes, start=1))
    lines = [f"** MBDyn MODAL DATA FILE: body {body.name!r} written by flexmb; nodes: {names}", "**"]
    lines += ["** RECORD GROUP 1, HEADER", "**   REVISION,  NODE,  NORMAL, ATTACHMENT, CONSTRAINT, REJECTED MODES."]
    lines += [f"   REV0   {len(nodes)}   {m}   0   0   0", "**", "** RECORD GROUP 2, FINITE ELEMENT NODE LIST"]
    lines += [" ".join(str(k + 1) for k in range(len(nodes))), "**"]
    for group, what in ((3, "DISPLACEMENTS"), (4, "VELOCITIES")):
        lines += [f"** RECORD GROUP {group}, INITIAL MODAL {what}", _row(np.zeros(m)), "**"]
    for axis, letter in enumerate("XYZ"):
        lines += [f"** RECORD GROUP {5 + axis}, NODAL {letter} COORDINATES"]
        lines += [*(_row(point[axis : axis + 1]) for point, _, _ in nodes), "**"]
    lines.append("** RECORD GROUP 8, MODE SHAPES")
    for mode in range(m):
        lines += [f"**    NORMAL MODE SHAPE #  {mode + 1}", *(_row(rows[:, mode]) for _, rows, _ in nodes)]
    antisymmetric = 0.5 * (inv.h - inv.h.swapaxes(1, 2))
    P1, P2 = first_moments(inv.J1, inv.h0), second_products(inv.J2, inv.h)
    inv8 = np.trace(P1, axis1=1, axis2=2)[:, None, None] * np.eye(3) - P1.swapaxes(1, 2)
    inv9 = P2.swapaxes(2, 3) - np.trace(P2, axis1=2, axis2=3)[..., None, None] * np.eye(3)
    centre = body.centre
    central = inv.J0 - inv.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    groups = {
        9: data.M, 10: data.K, 12: [np.array([inv.mass]), centre, *central], 13: data.D, 14: inv.S1, 15: inv.h0,
        16: inv8.transpose(1, 0, 2).reshape(3, -1), 17: antisymmetric.reshape(3, -1),
        18: inv9.transpose(2, 0, 1, 3).reshape(3, -1),
    }  # fmt: skip
    for group, rows in groups.items():
        lines += ["**", f"** RECORD GROUP {group}, {_TITLES[group]}", *(_row(row) for row in rows)]
    return [*lines, "**"]


def _row(values: np.ndarray) -> str:
    return " ".join(f"{value:.16e}" for value in values)


def load_mbdyn(path: Path) -> Body:
    """Read a flexible body from MBDyn's modal data; its FEM nodes become interfaces with the same numbers or names.

    If the file contains no invariants, they are computed, as in MBDyn, from the lumped masses of record group 11 at the
    nodes of the file. Raises `FileError` when the file contains neither, because the inertia coupling is then unknown,
    and when a record group is missing or has the wrong size.
    """
    require_sealed_text(path)
    try:
        text = path.read_text(encoding="latin-1")
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror}.") from None
    groups = _groups(text)
    header = groups.get(1, [])
    if len(header) < 6 or not all(re.fullmatch(r"\d{1,9}", value) for value in header[1:6]):
        raise FileError(f"{path} is no modal data of MBDyn: it has no RECORD GROUP 1 with revision, nodes and modes.")
    if int(header[5]):
        raise FileError(f"{path} holds {header[5]} rejected modes; write it without them.")
    count, m = int(header[1]), sum(int(value) for value in header[2:5])
    names = groups.get(2, [])

    def numbers(group: int, *shape: int) -> np.ndarray:
        try:
            found = np.array([value.replace("D", "E").replace("d", "e") for value in groups[group]], dtype=float)
        except KeyError:
            there = ", ".join(str(k) for k in sorted(groups))
            raise FileError(f"{path}: RECORD GROUP {group} is missing; found {there}.") from None
        except ValueError as error:
            raise FileError(f"{path}: RECORD GROUP {group}: {error}.") from None
        if found.size != np.prod(shape):
            raise FileError(
                f"{path}: RECORD GROUP {group} has {found.size} numbers, expected {np.prod(shape)} (shape {shape})."
            )
        return found.reshape(shape)

    points = np.stack([numbers(5 + axis, count) for axis in range(3)], axis=1)
    shapes = numbers(8, m, count, 6)
    if 14 in groups:
        integrals = _given(numbers, groups, m)
    elif 11 in groups:
        integrals = _of_lumps(numbers(11, count, 6), points, shapes[:, :, :3].transpose(1, 2, 0), path)
    else:
        raise FileError(
            f"{path} has neither invariants (RECORD GROUPS 14 to 18) nor lumped masses (11): the coupling of rigid and "
            "elastic motion is unknown."
        )
    data = ModalData(
        **integrals,
        SG=np.zeros((3, m, m)),
        M=numbers(9, m, m),
        K=numbers(10, m, m),
        D=numbers(13, m, m) if 13 in groups else np.zeros((m, m)),
        nodes={name: (points[k], shapes[:, k].T, None) for k, name in enumerate(names)},
    )
    return body_of(data, path.stem, path)


def _given(numbers: Callable[..., np.ndarray], groups: Mapping[int, list[str]], m: int) -> dict[str, Any]:
    """Mass integrals from the invariants of the file."""
    inertia = numbers(12, 13)
    rigid = rigid_invariants(float(inertia[0]), inertia[1:4], inertia[4:].reshape(3, 3))
    inv8 = numbers(16, 3, m, 3).transpose(1, 0, 2)
    inv9 = numbers(18, 3, m, m, 3).transpose(1, 2, 0, 3) if 18 in groups else np.zeros((m, m, 3, 3))
    return {
        "mass": rigid.mass,
        "s0": rigid.s0,
        "J0": rigid.J0,
        "S1": numbers(14, 3, m),
        "J1": _symmetric(inv8),
        "J2": -0.25 * _symmetric(inv9 + inv9.swapaxes(0, 1)),
        "h0": numbers(15, 3, m),
        "h": numbers(17, 3, m, m) if 17 in groups else np.zeros((3, m, m)),
    }


def _of_lumps(lumps: np.ndarray, X: np.ndarray, U: np.ndarray, path: Path) -> dict[str, Any]:
    """Mass integrals of lumped masses at `X` (n, 3) with the mode shapes `U` (n, 3, m).

    `lumps` (n, 6): mass and rotary inertia of every node; rotary inertias must be zero.
    """
    if lumps[:, 3:].any():
        raise FileError(
            f"{path}: RECORD GROUP 11 has rotary inertias; only masses are read. Write the invariants (RECORD GROUPS "
            "14 to 18)."
        )
    w = lumps[:, 0]
    P1, P2 = np.einsum("p,pa,pbi->iab", w, X, U), np.einsum("p,pai,pbj->ijab", w, U, U)
    return {
        "mass": float(w.sum()),
        "s0": w @ X,
        "S1": np.einsum("p,pai->ai", w, U),
        "J0": inertia_of(np.einsum("p,pa,pb->ab", w, X, X)),
        "J1": 2 * inertia_of(P1),
        "J2": inertia_of(P2),
        "h0": np.einsum("p,pai->ai", w, np.cross(X[:, :, None], U, axis=1)),
        "h": np.einsum("p,paij->aij", w, np.cross(U[:, :, :, None], U[:, :, None, :], axis=1)),
    }


def _symmetric(A: np.ndarray) -> np.ndarray:
    return A + A.swapaxes(-1, -2)


def _groups(text: str) -> dict[int, list[str]]:
    """The entries of every record group. Lines that begin with two stars are comments or the headings of groups."""
    groups: dict[int, list[str]] = {}
    group = 0
    for line in text.splitlines():
        if found := re.match(r"\*\* *RECORD GROUP +(\d+)", line):
            group = int(found[1])
            groups[group] = []
        elif not line.startswith("**") and group:
            groups[group] += line.split()
    return groups
