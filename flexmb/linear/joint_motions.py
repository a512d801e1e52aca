"""Motions that the joints of a tree allow, by recursion from the ground outwards.

There is one for each free axis of a joint and each elastic coordinate. These independent coordinates have a physical
meaning, and need no singular value decomposition of all joint equations.

Source of the approach: Li, Gontier, "A method for linearization of the dynamic equations of flexible multibody systems"
(NATO ASI 1993).
"""

import numpy as np

from flexmb.equations.spanning_tree import tree_of
from flexmb.kernels.base.data import make_marker_kinematics
from flexmb.kernels.calls import joint_poses, place_bodies, place_markers
from flexmb.kernels.joint_coordinates.tree import FREE, Tree
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import JOINTS
from flexmb.mechanism.mechanism import Mechanism

AXES = ("x", "y", "z", "about x", "about y", "about z")


def joint_motions(mechanism: Mechanism, q: np.ndarray, tree: Tree | None = None) -> np.ndarray:
    """Velocities (nv, ny) of all bodies, in body axes, for unit rates of the joint and elastic coordinates.

    `q` (nq,): the configuration; `tree`: that of the mechanism, if it is known. Joints that close loops are ignored.
    """
    flat = compiled(mechanism)
    tree = tree_of(mechanism) if tree is None else tree
    nb, nv, ny = len(flat.modes), len(flat.weight), int(tree.start[-1])
    kinematics, pose = make_marker_kinematics(flat), np.zeros((nb, 7))
    place_markers(flat, q, kinematics)
    joint_poses(flat, tree, kinematics, q, pose)
    none, moved, there, wdot = np.zeros(ny), np.empty_like(pose), np.empty_like(q), np.empty(nv)
    N = np.zeros((nv, ny))
    for k, unit in enumerate(np.eye(ny)):
        column = np.empty(nv)
        place_bodies(flat, tree, pose, q, none, unit, none, q, moved, there, column, wdot)
        N[:, k] = column
    return N


def is_tree(mechanism: Mechanism) -> bool:
    """Whether no joint closes a loop and none is driven, so that the joint equations for positions are those of the
    tree."""
    positions = mechanism.joint_rows - compiled(mechanism).velocity_rows
    return positions == 6 * len(mechanism.bodies) - len(tree_of(mechanism).axes)


def joint_names(mechanism: Mechanism) -> tuple[str, ...]:
    """The names of the coordinates of the tree: "hinge about z", "rod eta 1"."""
    tree = tree_of(mechanism)
    joints = {frozenset(joint.markers): joint.name for joint in mechanism.joints if joint.kind in JOINTS}
    names: list[str] = []
    for b, body in enumerate(mechanism.bodies):
        pair = frozenset((int(tree.parent[b]), int(tree.child[b])))
        owner = body.name if tree.child[b] == FREE else joints[pair]
        names += [f"{owner} {AXES[axis]}" for axis in tree.axes[tree.axis_start[b] : tree.axis_start[b + 1]]]
        names += [f"{body.name} eta {i + 1}" for i in range(body.modes)]
    return tuple(names)
