"""Stresses over time: histories at named points, for fatigue, and the largest stress of a body with its position."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fem.matrices.stress import von_mises
from flexmb.bodies.body import Body
from flexmb.bodies.stress_modes import StressShapes
from flexmb.errors import StressError
from flexmb.results.result import Result

CHUNK = 2**23
"""Number of values that are computed at a time."""


@dataclass(frozen=True, eq=False)
class LargestStress:
    """The largest von Mises stress of a body at each time.

    - `values` (nt,): the stress, in consistent units.
    - `x` (nt, 3): the point with this stress, in the body frame; `nodes` (nt,): its node of the mesh, -1 for a fibre of
      a beam.
    - `envelope` (p,): the largest stress over time at each point of `shapes`.
    - `units`: the names of the units of the model, for plots.
    """

    body: str
    t: Float[np.ndarray, "nt"]
    values: Float[np.ndarray, "nt"]
    nodes: Int[np.ndarray, "nt"]
    x: Float[np.ndarray, "nt 3"]
    envelope: Float[np.ndarray, "p"]
    shapes: StressShapes
    units: str | None = None

    def __str__(self) -> str:
        k = int(self.values.argmax())
        place = ", ".join(f"{c:.6g}" for c in self.x[k])
        where = f"node {self.nodes[k]} at ({place})" if self.nodes[k] >= 0 else f"a fibre at ({place})"
        stress = f"largest von Mises stress of {self.body!r}: {self.values[k]:.6g}"
        return f"{stress} at t = {self.t[k]:.6g}, {where} of its frame"


def shapes_of(result: Result, body: str) -> StressShapes:
    """The stress modes of a body. Raises `StressError` when it has none."""
    record = result.mechanism.bodies[result.mechanism.body_index(body)]
    if record.stress is None:
        having = [b.name for b in result.mechanism.bodies if b.stress is not None]
        raise StressError(
            f"Body {body!r} has no stresses: they need a flexible body made from a mesh. Bodies with stresses: "
            f"{having or 'none'}."
        )
    return record.stress


def nodal_von_mises(body: Body, eta: Float[np.ndarray, "m"]) -> Float[np.ndarray, "n"]:
    """Von Mises stress (n,) at the nodes of a body's mesh; NaN inside, at nodes without stress modes, and on lines.

    `eta` (m,): elastic coordinates.
    """
    values = np.full(0 if body.mesh is None else len(body.mesh.points), np.nan)
    if body.stress is not None:
        known = body.stress.nodes >= 0
        values[body.stress.nodes[known]] = von_mises(body.stress.rows[known] @ eta)
    return values


def largest_stress(result: Result, body: str) -> LargestStress:
    """The largest von Mises stress over the skin of a solid, or over the fibres of beams, at every stored time.

    Raises `StressError` when the body has no stresses. Cost: 12 m operations per point and time.
    """
    shapes = shapes_of(result, body)
    eta = result.elastic(body).astype(np.float32)
    rows = shapes.rows.reshape(-1, eta.shape[1])
    values, at = np.empty(len(eta)), np.empty(len(eta), dtype=np.int64)
    envelope = np.zeros(len(shapes.x))
    some = max(1, CHUNK // len(rows))
    for first in range(0, len(eta), some):
        part = slice(first, first + some)
        found = von_mises((rows @ eta[part].T).reshape(-1, 6, len(eta[part])).swapaxes(1, 2))
        at[part], values[part] = found.argmax(axis=0), found.max(axis=0)
        np.maximum(envelope, found.max(axis=1), out=envelope)
    where, units = (shapes.nodes[at], shapes.x[at]), result.mechanism.units
    return LargestStress(body, result.t, values, *where, envelope, shapes, units)


def stress_at(result: Result, body: str, point: ArrayLike) -> tuple[np.ndarray, Float[np.ndarray, "nt 6"]]:
    """The point (3,) with stresses nearest to `point` (3,), both in the body frame, and its stress history (nt, 6).

    The stresses xx, yy, zz, xy, yz, zx refer to the body axes. Raises `StressError` when the body has no stresses, or
    `point` is not three finite numbers.
    """
    shapes, wanted = shapes_of(result, body), np.asarray(point, dtype=float)
    if wanted.shape != (3,) or not np.isfinite(wanted).all():
        raise StressError(
            f"Body {body!r}: the stress at {point!r} is requested; give three finite coordinates in its frame."
        )
    k = int(np.linalg.norm(shapes.x - wanted, axis=1).argmin())
    return shapes.x[k], result.elastic(body) @ np.asarray(shapes.rows[k], dtype=float).T


def write_stress_csv(result: Result, body: str, points: dict[str, ArrayLike], path: str | Path) -> Path:
    """Write stress histories at named points (body frame) as a table; return the path.

    Columns: time, then six stresses (body axes) and the von Mises stress of each point. Raises `StressError` as
    `stress_at`.
    """
    columns, names = [result.t], ["t"]
    for name, point in points.items():
        stress = stress_at(result, body, point)[1]
        columns += [*stress.T, von_mises(stress)]
        names += [f"{name} {part}" for part in ("xx", "yy", "zz", "xy", "yz", "zx", "von Mises")]
    path = Path(path)
    np.savetxt(path, np.column_stack(columns), delimiter=",", header=",".join(names), comments="")
    return path
