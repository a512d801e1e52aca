"""The scale of every number of a mechanism, with which its changes are compared."""

import numpy as np

from flexmb.kernels.base.data import DISTANCE, HEIGHT, SLIP, TRANSLATION
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism

OWN = (
    "mass",
    "stiffness",
    "damping",
    "row_stiffness",
    "row_damping",
    "term_factor",
    "element_parameters",
    "control_parameters",
    "signal_given",
    "friction_factors",
    "friction_speed",
    "friction_arm",
    "line_numbers",
    "station_length",
    "skin_friction",
    "skin_shape",
    "node_hertz",
    "facet_excess",
)
"""Numbers whose scale is their own size, independently of their neighbours."""


def scale_of(name: str, mechanism: Mechanism) -> np.ndarray:
    """The scales of the array `CompiledModel.name`, in its shape.

    The scale is the own size for numbers that stand alone, the largest component for vectors, tensors and shapes, the
    mechanism's length for positions, and one for directions.
    """
    flat = compiled(mechanism)
    value = np.asarray(getattr(flat, name), dtype=float)
    length, size = mechanism.length, np.abs(value)
    if not value.size:
        return size
    if name in OWN:
        return size
    if name == "row_offset":
        return np.maximum(size, np.where(np.isin(flat.row_kind, (TRANSLATION, DISTANCE, HEIGHT, SLIP)), length, 1.0))
    if name in ("marker_axes", "station_tangent", "node_across", "node_bend"):
        return np.ones_like(value)
    if name in ("marker_point", "station_point", "node_point"):
        return np.full_like(value, length)
    if name in ("s0", "J0"):
        power = 1 if name == "s0" else 2
        return np.ones_like(value) * (flat.mass * length**power).reshape(-1, *[1] * power)
    if name in ("load_wrench", "marker_rows"):  # forces and moments, translations and rotations
        return _largest(value.reshape(len(value), 2, -1)).reshape(value.shape)
    if name in ("linear", "quadratic"):
        return _of_inertia(name, mechanism)
    if name == "compliance_entries":
        return np.full_like(value, size.max())
    if name == "gravity":
        return np.full_like(value, np.linalg.norm(value))
    return _largest(value)


def _largest(value: np.ndarray) -> np.ndarray:
    """The largest entry of every block beyond the first axis.

    For arrays (n, 2, m), blocks are those beyond the second axis.
    """
    if not value.size:
        return np.abs(value)
    beyond = tuple(range(2 if value.ndim == 3 and value.shape[1] == 2 else 1, value.ndim))
    return np.broadcast_to(np.abs(value).max(axis=beyond, keepdims=True), value.shape)


def _of_inertia(name: str, mechanism: Mechanism) -> np.ndarray:
    """The largest entry of each kind among the packed integrals of every flexible body."""
    flat = compiled(mechanism)
    value = np.abs(getattr(flat, name))
    out = np.zeros_like(value)
    for b, m in enumerate(flat.modes):
        start = getattr(flat, f"{name}_start")[b]
        shape = (1, 12, m) if name == "linear" else (m, int(flat.slices[b]), m)
        part = value[start : start + int(np.prod(shape))].reshape(shape)
        largest = part.max(axis=(0, 2), keepdims=True, initial=0.0)
        for kind in ((0, 3), (3, 9), (9, 12)) if name == "linear" else ((0, 6), (6, 9), (9, 12), (12, 21)):
            largest[:, kind[0] : kind[1]] = largest[:, kind[0] : kind[1]].max(initial=0.0)
        out[start : start + part.size] = np.broadcast_to(largest, shape).ravel()
    return out
