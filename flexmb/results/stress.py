"""Stresses over time: histories at named points, for fatigue, and the largest stress of a body with its position.

Stresses are those of the elastic coordinates. What these lack of the static stresses of inertia forces and weight is
estimated from the motion of the body, and named where it is large (`warn_of_truncated_stress`).
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fem.matrices.stress import von_mises
from fem.mesh.mesh import Mesh, label_of
from flexmb.bodies.body import Body
from flexmb.bodies.invariants import rigid_mass
from flexmb.bodies.stress_modes import StressShapes
from flexmb.errors import StressError, TruncatedStressWarning
from flexmb.results.motion import elastic, frame_motion
from flexmb.results.result import Result
from flexmb.results.table import write_numbers

CHUNK = 2**23
"""Number of values that are computed at a time."""
TRUNCATED = 0.1
"""Stress that the elastic coordinates lack, relative to the largest of the body in the motion, from which a warning
names it."""
ONLY_WEIGHT = 0.1
"""Part of the missing stress up to which it does not come from rotation, so that `inputs=["gravity"]` hold it."""
SAME_PEAK = 0.01
"""Rise of the largest stress by what is missing, relative to it, up to which it hardly changes."""
LOOKS = 100
"""Number of stored times, those with the largest strain energy, at which the largest stress is sought if one point is
asked for."""
NOTHING = 1e-6
"""Acceleration, of the mass centre less gravity or about it at the radius of gyration, that counts as none relative to
the largest acceleration or gravity: what tolerances and round-off leave of a free fall."""


@dataclass(frozen=True, eq=False)
class LargestStress:
    """The largest von Mises stress of a body at each time.

    - `values` (nt,): the stress, in consistent units.
    - `x` (nt, 3): the point with this stress, in the body frame; `nodes` (nt,): its node of the mesh, -1 for a fibre of
      a beam or a place in the thickness of a shell.
    - `envelope` (p,): the largest stress over time at each point of `shapes`.
    - `units`: the names of the units of the model, for plots; `mesh`: that of the body, whose file numbers the nodes.
    """

    body: str
    t: Float[np.ndarray, "nt"]
    values: Float[np.ndarray, "nt"]
    nodes: Int[np.ndarray, "nt"]
    x: Float[np.ndarray, "nt 3"]
    envelope: Float[np.ndarray, "p"]
    shapes: StressShapes
    units: str | None = None
    mesh: Mesh | None = None

    def __str__(self) -> str:
        k = int(self.values.argmax())
        place = ", ".join(f"{c:.6g}" for c in self.x[k])
        node = int(self.nodes[k])
        where = f"node {label_of(self.mesh, node)}" if node >= 0 else "a fibre of a beam or shell"
        stress = f"largest von Mises stress of {self.body!r}: {self.values[k]:.6g}"
        return f"{stress} at t = {self.t[k]:.6g}, {where} at ({place}) of its frame"


def shapes_of(result: Result, body: str) -> StressShapes:
    """The stress modes of a body. Raises `StressError` when it has none."""
    record = result.mechanism.bodies[result.mechanism.body_index(body)]
    if record.stress is None:
        having = [b.name for b in result.mechanism.bodies if b.stress is not None]
        raise StressError(
            f"Body {body!r} has no stresses: they need a flexible body made from a mesh, and beams of a section "
            f"table its moduli, BeamTable(..., moduli=(E, G)). Bodies with stresses: {having or 'none'}."
        )
    return record.stress


def nodal_von_mises(body: Body, eta: Float[np.ndarray, "m"]) -> Float[np.ndarray, "n"]:
    """Von Mises stress (n,) at the nodes of a body's mesh, the largest between materials; NaN inside, at nodes without
    stress modes, and on lines.

    `eta` (m,): elastic coordinates.
    """
    values = np.full(0 if body.mesh is None else len(body.mesh.points), np.nan)
    if body.stress is not None:
        known = body.stress.nodes >= 0
        np.fmax.at(values, body.stress.nodes[known], von_mises(body.stress.rows[known] @ eta))
    return values


def largest_stress(result: Result, body: str) -> LargestStress:
    """The largest von Mises stress over the skin of a solid, the fibres of beams, or the bottom, the middle and the top
    of shells with the faces between plies, at every stored time.

    Raises `StressError` when the body has no stresses. Issues a `TruncatedStressWarning` where its elastic coordinates
    lack stresses of inertia forces and weight. Cost: 12 m operations per point and time.
    """
    shapes = shapes_of(result, body)
    values, at, envelope = _largest(shapes, result.elastic(body))
    warn_of_truncated_stress(result, body, float(values.max()))
    where, units = (shapes.nodes[at], shapes.x[at]), result.mechanism.units
    mesh = result.mechanism.bodies[result.mechanism.body_index(body)].mesh
    return LargestStress(body, result.t, values, *where, envelope, shapes, units, mesh)


def _largest(shapes: StressShapes, eta: Float[np.ndarray, "nt m"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The largest von Mises stress and its point for each time, and the largest over time at each point.

    The points are found with single precision. The stress there has double precision, for differences of it.
    """
    single = eta.astype(np.float32)
    rows = shapes.rows.reshape(-1, eta.shape[1])
    values, at = np.empty(len(eta)), np.empty(len(eta), dtype=np.int64)
    envelope = np.zeros(len(shapes.x))
    some = max(1, CHUNK // len(rows))
    for first in range(0, len(eta), some):
        part = slice(first, first + some)
        found = von_mises((rows @ single[part].T).reshape(-1, 6, len(single[part])).swapaxes(1, 2))
        at[part] = found.argmax(axis=0)
        values[part] = von_mises(np.einsum("tcm,tm->tc", shapes.rows[at[part]], eta[part]))
        np.maximum(envelope, found.max(axis=1), out=envelope)
    return values, at, envelope


def warn_of_truncated_stress(result: Result, body: str, largest: float | None = None) -> None:
    """Issue a `TruncatedStressWarning` if the elastic coordinates of a body lack a large part of its stresses.

    The missing stresses are the static ones of the acceleration of the body, as that of a rigid one, less gravity. They
    are compared with the largest stress of the motion, given as `largest` or found at the times with the largest strain
    energy. Forces at interfaces are exact in bases that hold their static response, and what other bases lack of them
    is not seen, nor what a subspace of the coordinates leaves out, nor stresses of wind, of flow in pipes and of
    contacts. Stresses of vibrations faster than the basis holds are not static, and overestimated.

    Raises `StressError` when the body has no stresses.
    """
    shapes, eta = shapes_of(result, body), result.elastic(body)
    if shapes.lacking is None or shapes.lacking_at is None or not len(shapes.lacking):
        return
    record = result.mechanism.bodies[result.mechanism.body_index(body)]
    if largest is None:
        energy = eta**2 @ record.stiffness
        largest = float(_largest(shapes, eta[np.argsort(energy)[-LOOKS:]])[0].max())
    straight, curved = acceleration_forces(result, body)
    missing, turned, k, when, largest_with = 0.0, 0.0, 0, 0, largest
    for rows, at in zip(shapes.lacking, shapes.lacking_at, strict=True):
        lacking = (straight + curved) @ rows.T
        here = von_mises(lacking)
        if here.max() > missing:
            missing, k, when = float(here.max()), int(at), int(here.argmax())
        turned = max(turned, float(von_mises(curved @ rows.T).max()))
        largest_with = max(largest_with, float(von_mises(eta @ shapes.rows[at].T + lacking).max()))
    if not missing > TRUNCATED * largest_with:
        return
    place = ", ".join(f"{c:.6g}" for c in shapes.x[k])
    named = "rotation" if turned > ONLY_WEIGHT * missing else "gravity"
    inputs = ", ".join(f'"{name}"' for name in (*record.interfaces, named))
    rise = largest_with / largest - 1.0 if largest > 0 else np.inf
    more = "so that it hardly changes" if rise < SAME_PEAK else f"{rise:.0%} more" if np.isfinite(rise) else "all of it"
    warnings.warn(
        TruncatedStressWarning(
            f"Body {body!r}: its stresses lack a part of those of its inertia forces and weight, because its basis has "
            f"no shapes for it. Near ({place}) of its frame, at t = {result.t[when]:.6g}, about "
            f"{missing / largest_with:.0%} of the largest stress in the motion is missing, as estimated from statics. "
            f"The largest one found is {largest:.4g}; with what is missing: {largest_with:.4g}, {more}. Make the basis "
            f"with reduction.craig_bampton(part, ..., inputs=[{inputs}])."
        ),
        stacklevel=3,
    )


def acceleration_forces(result: Result, body: str) -> tuple[np.ndarray, np.ndarray]:
    """Factors (nt, 12) of the unit accelerations of `StressShapes.lacking`: minus the acceleration of the mass centre
    less gravity, and minus that of the other points relative to it. The motion is the rigid part of that of all points,
    so that it does not depend on the reference frame of the elastic coordinates."""
    number = result.mechanism.body_index(body)
    record, frame, (_, rate, second) = (
        result.mechanism.bodies[number],
        frame_motion(result, body),
        elastic(result, number),
    )
    inertia, centre = record.invariants, record.centre
    coupling = np.vstack([inertia.S1, inertia.h0])
    carried = np.linalg.solve(rigid_mass(inertia.mass, inertia.s0, inertia.J0), coupling).T
    world = frame.acceleration, np.tile(result.mechanism.gravity, (len(result.t), 1))
    a, g, omega, alpha = (
        np.einsum("tij,ti->tj", frame.axes, v) for v in (*world, frame.angular_velocity, frame.angular_acceleration)
    )
    rigid = np.hstack([a, alpha]) + second @ carried
    spin, turning = (
        np.cross(v[:, None], np.eye(3)).swapaxes(1, 2) for v in (omega + rate @ carried[:, 3:], rigid[:, 3:])
    )
    about = turning + spin @ spin
    at_centre = rigid[:, :3] + about @ centre
    felt, length = at_centre - g, np.sqrt(np.trace(inertia.J0) / (2 * inertia.mass) - centre @ centre)
    sizes = [np.linalg.norm(v, axis=1) for v in (at_centre, g, felt, length * about.reshape(-1, 9))]
    largest = max(size.max() for size in sizes)
    felt[sizes[2] <= NOTHING * largest] = 0.0
    about[sizes[3] <= NOTHING * largest] = 0.0
    moments = about.swapaxes(1, 2).reshape(-1, 9)
    return -np.hstack([felt, np.zeros_like(moments)]), np.hstack([about @ centre, -moments])


def stress_at(result: Result, body: str, point: ArrayLike) -> tuple[np.ndarray, Float[np.ndarray, "nt 6"]]:
    """The point (3,) with stresses nearest to `point` (3,), both in the body frame, and its stress history (nt, 6).

    The stresses xx, yy, zz, xy, yz, zx refer to the body axes; at a node between materials, and a face between plies,
    they are those of the stiffest. Raises `StressError` when the body has no stresses, or `point` is not three finite
    numbers. Warns as `largest_stress`.
    """
    shapes, wanted = shapes_of(result, body), np.asarray(point, dtype=float)
    if wanted.shape != (3,) or not np.isfinite(wanted).all():
        raise StressError(
            f"Body {body!r}: the stress at {point!r} is requested; give three finite coordinates in its frame."
        )
    warn_of_truncated_stress(result, body)
    k = int(np.linalg.norm(shapes.x - wanted, axis=1).argmin())
    return shapes.x[k], result.elastic(body) @ np.asarray(shapes.rows[k], dtype=float).T


def write_stress_csv(result: Result, body: str, points: dict[str, ArrayLike], path: str | Path) -> Path:
    """Write stress histories at named points (body frame) as a table; return the path.

    Columns: time, then six stresses (body axes) and the von Mises stress of each point. Raises `StressError` as
    `stress_at`, and `FileError` when the file cannot be written.
    """
    columns = {"t": np.asarray(result.t)}
    for name, point in points.items():
        stress = stress_at(result, body, point)[1]
        parts = zip(("xx", "yy", "zz", "xy", "yz", "zx", "von Mises"), [*stress.T, von_mises(stress)], strict=True)
        columns |= {f"{name} {part}": values for part, values in parts}
    return write_numbers(columns, path)
