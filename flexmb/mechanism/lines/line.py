"""Lines of bodies along which loads are distributed, and the stations at which they are integrated."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from flexmb.bodies.body import Body
from flexmb.errors import MechanismError

GAUSS = 3
"""Gauss points between two points of a line, which integrate the products of its cubic pieces."""
ON_NODE = 1e-6
"""Distance of a point of a line from the nearest node of a flexible body, relative to the length of the line."""
CORNER = 0.5
"""Angle (radians) between two neighbouring pieces of a line from which on it has a corner, which no smooth curve
follows."""


@dataclass(frozen=True, eq=False)
class Line:
    """A load along a line of a body; see flexmb/kernels/loads/lines.py.

    - `kind`: FLOW or WIND; `body`: its index; `points` (k, 3) of the line in the body frame, in the direction of flow.
    - `numbers` (6,): of a flow its mass per length and speed; of wind the force per length and square of the speed,
      across and along the line, and from entry 3 on its velocity in world axes.
    - `function`: the index of the factor of the speed, -1 for a factor of one.
    """

    name: str
    kind: int
    body: int
    points: Float[np.ndarray, "k 3"]
    numbers: Float[np.ndarray, "6"]
    function: int = -1


@dataclass(frozen=True, eq=False)
class Stations:
    """The stations of a line: `point` and unit `tangent` (n, 3), `length` (n,), and for a body with `m` elastic
    coordinates the displacements `rows` (n, 3, m) and `slopes` (n, 3, m). The first and the last have no length."""

    point: np.ndarray
    tangent: np.ndarray
    length: np.ndarray
    rows: np.ndarray
    slopes: np.ndarray


def nodes_of(body: Body, points: Float[np.ndarray, "k 3"], what: str) -> np.ndarray:
    """The nodes (k,) of the mesh of a flexible body at `points`.

    Raises `MechanismError` when the body has no mesh, or a point is not a node.
    """
    if body.mesh is None or body.Psi is None:
        raise MechanismError(f"{what}: the flexible body {body.name!r} has no mesh, on whose nodes its line could run.")
    apart = np.linalg.norm(body.mesh.points[None] - points[:, None], axis=2)
    nodes = apart.argmin(axis=1)
    length = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    if (far := apart.min(axis=1) > ON_NODE * length).any():
        k = int(np.flatnonzero(far)[0])
        raise MechanismError(
            f"{what}: point {k + 1} of its line, {points[k]}, is not a node of {body.name!r}; the nearest one is "
            f"{body.mesh.points[nodes[k]]}. The line of a flexible body runs over nodes, for instance of its beams."
        )
    return np.asarray(nodes)


def stations(body: Body, line: Line) -> Stations:
    """The stations of a line, from cubic splines through its points and their displacements."""
    points = np.asarray(line.points, dtype=float)
    moved = np.zeros((len(points), 3, 0))
    if body.modes:
        nodes = nodes_of(body, points, f"Line {line.name!r}")
        assert body.Psi is not None
        moved = np.asarray(body.Psi, dtype=float).reshape(-1, 3, body.modes)[nodes]
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    curve = scipy.interpolate.CubicSpline(s, np.concatenate([points[:, :, None], moved], axis=2))
    x, weights = np.polynomial.legendre.leggauss(GAUSS)
    half = 0.5 * np.diff(s)
    inside = (0.5 * (s[1:] + s[:-1])[:, None] + half[:, None] * x).ravel()
    at = np.concatenate([s[:1], inside, s[-1:]])
    value, slope = curve(at), curve(at, 1)
    stretch = np.linalg.norm(slope[:, :, 0], axis=1)
    length = np.concatenate([[0.0], (half[:, None] * weights).ravel(), [0.0]]) * stretch
    slope = slope / stretch[:, None, None]
    return Stations(value[:, :, 0], slope[:, :, 0], length, value[:, :, 1:], slope[:, :, 1:])


def compiled_lines(bodies: tuple[Body, ...], lines: tuple[Line, ...], most: int) -> dict[str, Any]:
    """The entries of all lines in `CompiledModel`; `most` is the largest number of elastic coordinates of a body."""
    made = [stations(bodies[line.body], line) for line in lines]

    def together(name: str, *shape: int) -> np.ndarray:
        arrays = [np.asarray(getattr(x, name), dtype=float) for x in made]
        if len(shape) == 2:
            arrays = [np.pad(x, ((0, 0), (0, 0), (0, most - x.shape[2]))) for x in arrays]
        return np.ascontiguousarray(np.concatenate([np.zeros((0, *shape)), *arrays]))

    return {
        "line_kind": np.array([line.kind for line in lines], dtype=np.int64),
        "line_body": np.array([line.body for line in lines], dtype=np.int64),
        "line_function": np.array([line.function for line in lines], dtype=np.int64),
        "line_numbers": np.array([line.numbers for line in lines], dtype=float).reshape(-1, 6),
        "line_station": np.concatenate([[0], np.cumsum([len(x.length) for x in made])]).astype(np.int64),
        "station_point": together("point", 3),
        "station_tangent": together("tangent", 3),
        "station_length": together("length"),
        "station_rows": together("rows", 3, most),
        "station_slopes": together("slopes", 3, most),
    }
