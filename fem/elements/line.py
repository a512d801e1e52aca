"""The two-node lines of beams and of trusses. They have nodes and no faces; their matrices are in
fem/matrices/beam_matrices.py. Nodes of trusses have no rotations."""

from dataclasses import replace

import numpy as np

from fem.elements.element import Element
from fem.elements.quadrature import Rule

_NONE: Rule = (np.zeros((0, 3)), np.zeros(0))


def _shape(xi: np.ndarray) -> np.ndarray:
    return np.column_stack([1 - xi[:, 0], 1 + xi[:, 0]]) / 2


def _gradient(xi: np.ndarray) -> np.ndarray:
    out = np.zeros((len(xi), 2, 3))
    out[:, :, 0] = (-0.5, 0.5)
    return out


LINE2 = Element(
    "line",
    np.array([[-1.0, 0, 0], [1.0, 0, 0]]),
    2,
    (),
    (),
    _shape,
    _gradient,
    _NONE,
    _NONE,
    mirrored=(1, 0),
    corner_volume=1.0,
)
TRUSS2 = replace(LINE2, kind="truss", cell="line")
