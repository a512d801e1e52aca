"""The compliance of an elastic ring under radial loads on its raceway, from a reduced body."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fem.errors import unknown_name
from fem.interface import Interface, resolve
from fem.model import Model
from fem.user_files import written_whole
from flexmb.bodies.body import Body
from flexmb.errors import LawError, TableError
from flexmb.forces.frame.flexible_ring import MOST_SECTORS
from flexmb.forces.scalar.points import read_columns
from flexmb.spatial.lie import frame_with_axis, skew

EVEN = 0.01
"""Deviation of the angle of a sector from equal angles, relative to the angle between sectors."""
LARGEST = 1e100
"""Larger entries have squares that overflow."""
SYMMETRIC, POSITIVE = 1e-6, 1e-9
"""Difference of the halves of a compliance, and its most negative eigenvalue, relative to its largest entry."""
DEPENDENT = 1e-10
"""Singular value below which the equations of the held interfaces are dependent, relative to the largest."""


@dataclass(frozen=True, eq=False)
class RingCompliance:
    """Outward displacements (length) of the `sectors` of a ring for unit radial forces on them.

    - `matrix` (m, m): symmetric; row: the sector that moves, column: the sector that is loaded (length/force).
    - `first` (radians): angle of the first sector about z; the others follow counter-clockwise at equal angles.

    Raises `LawError` when there are fewer than 3 or more than 24 sectors, or the matrix is not symmetric and positive.
    """

    matrix: Float[np.ndarray, "m m"]
    first: float = 0.0

    def __post_init__(self) -> None:
        try:
            C = np.array(self.matrix, dtype=float)
        except (TypeError, ValueError):
            raise LawError(f"The compliance of a ring must be a matrix of numbers; found {self.matrix!r}.") from None
        if C.ndim != 2 or C.shape[0] != C.shape[1] or not 3 <= len(C) <= MOST_SECTORS:
            raise LawError(
                f"The compliance of a ring is a square matrix for 3 to {MOST_SECTORS} sectors; found shape {C.shape}."
            )
        if not (np.abs(C) < LARGEST).all() or not np.isfinite(self.first):
            raise LawError(f"The compliance of a ring must be finite, with entries below {LARGEST:g}.")
        largest = np.abs(C).max()
        if (apart := np.abs(C - C.T).max()) > SYMMETRIC * largest:
            i, j = np.unravel_index(np.abs(C - C.T).argmax(), C.shape)
            raise LawError(
                f"The compliance of a ring must be symmetric; its entries {(int(i) + 1, int(j) + 1)} and "
                f"{(int(j) + 1, int(i) + 1)} differ by {apart:.3g}, and the largest entry is {largest:.3g}."
            )
        C = 0.5 * (C + C.T)
        if (least := np.linalg.eigvalsh(C)[0]) < -POSITIVE * largest:
            raise LawError(
                f"The compliance of a ring must be positive; its smallest eigenvalue is {least:.3g} and its largest "
                f"entry {largest:.3g}: the ring would give energy."
            )
        C.setflags(write=False)
        object.__setattr__(self, "matrix", C)

    @property
    def angles(self) -> Float[np.ndarray, "m"]:
        """The angles (m,) of the sectors (radians)."""
        return self.first + 2 * np.pi * np.arange(len(self.matrix)) / len(self.matrix)

    @property
    def parameters(self) -> Mapping[str, float]:
        """The parameters of `flexible_ring_bearing` that describe the ring."""
        rows = range(len(self.matrix))
        entries = {f"compliance_{i + 1}_{j + 1}": float(self.matrix[i, j]) for i in rows for j in range(i + 1)}
        return {"sectors": float(len(self.matrix)), "first_angle": float(self.first), **entries}

    def at(self, angles: ArrayLike) -> Float[np.ndarray, "k k"]:
        """The compliance (k, k) at other `angles` (k,) (radians), by the trigonometric polynomial through the
        sectors."""
        m = len(self.matrix)
        half = 0.5 * (np.asarray(angles, dtype=float)[:, None] - self.angles)
        half -= np.pi * np.floor(half / np.pi + 0.5)
        sine, there = np.sin(half), np.abs(np.sin(half)) < 1e-12
        weights = np.sin(m * half) / (m * np.where(there, 1.0, sine)) * (np.cos(half) if m % 2 == 0 else 1.0)
        weights = np.where(there, 1.0, weights)
        return np.asarray(weights @ self.matrix @ weights.T)

    def write_csv(self, path: str | Path) -> None:
        """Write the angle of each sector (radians) and its row of the matrix, for `ring_compliance_from_csv`.

        Raises `TableError` when the file cannot be written.
        """
        rows = ["# angle of the sector (rad); its displacement for a unit force on each sector, in the same order"]
        for angle, row in zip(self.angles.tolist(), self.matrix.tolist(), strict=True):
            rows.append(";".join(repr(x) for x in (angle, *row)))
        try:
            with written_whole(Path(path)) as part:
                part.write_text("\n".join(rows) + "\n", encoding="utf-8")
        except OSError as error:
            raise TableError(f"Cannot write the compliance of a ring to {path}: {error.strerror}.") from None


def ring_compliance_from_csv(path: str | Path) -> RingCompliance:
    """The compliance of a ring from a text file: a row for each sector, with its angle (radians) and the matrix.

    Raises `TableError` when the file cannot be read, and `LawError` when the angles are not equally spaced or the
    matrix is none of a ring.
    """
    numbers = read_columns(path).numbers
    if numbers.shape[1] != len(numbers) + 1:
        raise LawError(
            f"The table {path}: expected a row for each sector, with its angle and as many numbers as sectors; found "
            f"{len(numbers)} rows of {numbers.shape[1]} numbers."
        )
    order, first = _in_order(numbers[:, 0], [f"row {k + 1}" for k in range(len(numbers))], f"The table {path}")
    return RingCompliance(numbers[np.ix_(order, 1 + order)], first)


def raceway_sectors(
    model: Model,
    raceway: object,
    count: int,
    *,
    axis: ArrayLike = (0.0, 0.0, 1.0),
    centre: ArrayLike = (0.0, 0.0, 0.0),
    first: float = 0.0,
) -> dict[str, Interface]:
    """Interfaces "sector 1", "sector 2", ... that divide a raceway, for `Model.with_interfaces` and `ring_compliance`.

    - `raceway`: the nodes: the name of a set, a selection or node numbers.
    - `axis`, `centre` (3,): of the ring, in axes of the mesh.
    - `first`: angle (radians) of the middle of the first sector, from the x axis of a frame with z along `axis`, which
      is x of the mesh if the axis is z.

    A sector moves with the mean of its nodes (an averaging interface). The mesh should have a whole number of elements
    in a sector.

    Raises `LawError` when a sector has fewer than three nodes.
    """
    nodes = resolve(model, "raceway", Interface(raceway, kind="average"))
    frame, origin = frame_with_axis(np.asarray(axis, dtype=float)), np.asarray(centre, dtype=float)
    local = (model.points[nodes.nodes] - origin) @ frame
    spacing = 2 * np.pi / count
    turned = (np.arctan2(local[:, 1], local[:, 0]) - first) / spacing + 0.5
    sector = np.floor(turned + 1e-9).astype(int) % count
    made = {}
    for k in range(count):
        own = sector == k
        if own.sum() < 3:
            raise LawError(
                f"Sector {k + 1} of {count} has {own.sum()} nodes of the raceway, and a sector needs three. Divide the "
                "raceway into fewer sectors, or refine the mesh."
            )
        angle, radius = first + k * spacing, np.hypot(local[own, 0], local[own, 1]).mean()
        point = [radius * np.cos(angle), radius * np.sin(angle), local[own, 2].mean()]
        made[f"sector {k + 1}"] = Interface(
            nodes.nodes[own], kind="average", point=origin + frame @ point, weights=nodes.weights[own]
        )
    return made


def ring_compliance(
    body: Body,
    sectors: Sequence[str],
    *,
    held: str | Sequence[str],
    axis: ArrayLike = (0.0, 0.0, 1.0),
    centre: ArrayLike = (0.0, 0.0, 0.0),
) -> RingCompliance:
    """The compliance of a reduced ring, or of a housing with its ring, under radial loads.

    - `sectors`: names of the interfaces of the raceway, at equal angles about the axis (`raceway_sectors`).
    - `held`: names of the interfaces at which the ring is held.
    - `axis`, `centre` (3,): of the ring, in the frame of the body; angles are those of a frame with z along `axis`, as
      in `System.force`.

    A Craig-Bampton basis contains the static response to these loads, so that the compliance is that of the mesh.

    Raises `LawError` when a name is unknown, the sectors are not at equal angles, or no interface is held.
    """
    fixed = [held] if isinstance(held, str) else list(held)
    if not fixed:
        raise LawError(f"The ring {body.name!r} needs at least one interface at which it is held.")
    for name in (*sectors, *fixed):
        if name not in body.interfaces:
            raise LawError(unknown_name(f"interface of body {body.name!r}", name, body.interfaces))
    frame, origin = frame_with_axis(np.asarray(axis, dtype=float)), np.asarray(centre, dtype=float)
    local = np.array([frame.T @ (body.interfaces[name].point - origin) for name in sectors])
    order, first = _in_order(np.arctan2(local[:, 1], local[:, 0]), sectors, f"The ring {body.name!r}")
    size = max(float(np.abs(local).max()), 1e-300)
    # coordinates: translation and (rotation times the size of the ring) of the body frame, and elastic coordinates that
    # each store the energy 1/2
    elastic = 1 / np.sqrt(body.stiffness)

    def motion(name: str) -> np.ndarray:
        interface = body.interfaces[name]
        turning = np.vstack([-skew(interface.point), np.eye(3)]) / size
        rigid = np.hstack([np.vstack([np.eye(3), np.zeros((3, 3))]), turning])
        return np.hstack([rigid, interface.rows * elastic])

    radial = []
    for k, name in enumerate(np.array(sectors)[order]):
        angle = first + 2 * np.pi * k / len(sectors)
        radial.append(frame @ [np.cos(angle), np.sin(angle), 0.0] @ motion(str(name))[:3])
    R = np.array(radial)
    H = np.vstack([motion(name) * np.repeat([1.0, size], 3)[:, None] for name in fixed])
    scale = np.abs(H).max(axis=0)
    scale[scale == 0] = 1.0
    _, singular, right = np.linalg.svd(H / scale)
    rank = int((singular > DEPENDENT * singular[0]).sum())
    free = (right[rank:] / scale).T  # motions that leave the held interfaces where they are
    # the stiffness is free[6:].T @ free[6:]; its factor keeps the digits that the product would lose
    _, singular, right = np.linalg.svd(free[6:], full_matrices=False)
    moved = R @ free @ right.T / singular
    return RingCompliance(moved @ moved.T, first)


def _in_order(angles: np.ndarray, names: Sequence[str], what: str) -> tuple[np.ndarray, float]:
    """The order of sectors by their angles (radians), and the angle of the first one. Raises `LawError` unless they are
    at equal angles."""
    if len(angles) < 3:
        raise LawError(f"{what} needs at least three sectors; found {len(angles)}.")
    spacing, first = 2 * np.pi / len(angles), float(angles[0])
    turned = np.mod((angles - first) / spacing + 0.5, len(angles)) - 0.5
    order = np.argsort(turned)
    off = turned[order] - np.arange(len(angles))
    if (worst := int(np.abs(off).argmax())) >= 0 and abs(off[worst]) > EVEN:
        raise LawError(
            f"{what} needs sectors at equal angles of {np.degrees(spacing):.6g} degrees; {names[order[worst]]!r} is "
            f"{np.degrees(off[worst] * spacing):.3g} degrees beside its place."
        )
    return order, first
