"""Fluid in pipes and wind over a stored motion."""

import numpy as np
from jaxtyping import Float

from flexmb.kernels.base.data import make_marker_kinematics
from flexmb.kernels.calls import line_force, place_markers
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.lines.line import Line
from flexmb.results.motion import Motion
from flexmb.spatial.layout import pose


def _generalised(motion: Motion, line: Line) -> Float[np.ndarray, "nt nv"]:
    """The generalised forces of a line."""
    flat, found = compiled(motion.mechanism), np.zeros((len(motion.t), motion.w.shape[1]))
    kinematics, number = make_marker_kinematics(flat), motion.mechanism.lines.index(line)
    for k, t in enumerate(motion.t):
        q = np.ascontiguousarray(motion.q[k])
        place_markers(flat, q, kinematics)
        functions = motion.mechanism.function_values(float(t))
        line_force(flat, number, q, np.ascontiguousarray(motion.w[k]), functions, kinematics, found[k])
    return found


def line_power(motion: Motion, line: Line) -> Float[np.ndarray, "nt"]:
    """The power (nt,) that a line gives to its body."""
    return np.asarray((_generalised(motion, line) * motion.w).sum(axis=1))


def line_wrench(motion: Motion, line: Line) -> Float[np.ndarray, "nt 6"]:
    """The resultant force and its moment about the frame of the body (nt, 6), in world axes."""
    flat, found = compiled(motion.mechanism), _generalised(motion, line)
    start = flat.v_start[line.body]
    turn = np.array([pose(flat, q, line.body)[1] for q in motion.q])
    parts = found[:, start : start + 6].reshape(-1, 2, 3)
    return np.asarray(np.einsum("tij,tkj->tki", turn, parts).reshape(-1, 6))
