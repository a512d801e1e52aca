"""The place of an instance: shifted, then turned about the line through two points by an angle in degrees."""

import numpy as np

from fem.errors import MeshError
from fem.files.abaqus.lines import Place, Rows, fields, number


def placement(place: Place, rows: Rows) -> list[list[float]]:
    """The data lines of an `*INSTANCE`: translation, then two points of an axis and an angle. Raises `MeshError` for
    others."""
    try:
        move = [[number(f) for f in fields(line)] for _, line in rows]
    except ValueError as error:
        raise MeshError(f"{place}: *INSTANCE cannot be read: {error}.") from None
    if [len(r) for r in move] not in ([], [3], [3, 7]):
        raise MeshError(
            f"{place}: an instance is moved by 3 numbers and turned by 7 (two points, an angle in degrees); "
            f"found {move}."
        )
    if len(move) == 2 and move[1][:3] == move[1][3:6]:
        raise MeshError(f"{place}: both points of the axis about which the instance turns are at {move[1][:3]}.")
    return move


def is_turned(move: list[list[float]]) -> bool:
    """Whether the data lines of an `*INSTANCE` turn it."""
    return len(move) == 2 and move[1][6] % 360 != 0


def moved(points: np.ndarray, move: list[list[float]]) -> np.ndarray:
    """Points (k, 3) of the part where the data lines of its `*INSTANCE` put them."""
    if move:
        points = points + np.array(move[0])
    if is_turned(move):
        a = np.array(move[1][:3])
        points = a + turned(points - a, move)
    return points


def turned(vectors: np.ndarray, move: list[list[float]]) -> np.ndarray:
    """Directions (k, 3) of the part in the axes of the assembly."""
    if not is_turned(move):
        return vectors
    a, b, angle = np.array(move[1][:3]), np.array(move[1][3:6]), np.radians(move[1][6])
    axis = (b - a) / np.linalg.norm(b - a)
    along = np.outer(vectors @ axis, axis)
    return np.asarray(along + np.cos(angle) * (vectors - along) + np.sin(angle) * np.cross(axis, vectors))
