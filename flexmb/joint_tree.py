"""The tree of a mechanism: each body hangs on its parent by one joint; the others close loops."""

from collections import deque

import numpy as np

from flexmb.kernels.data import GROUND
from flexmb.kernels.pointed import pointed
from flexmb.kernels.tree import FREE, Tree
from flexmb.mechanism import Joint, Mechanism

AXES = {
    "fixed": (),
    "revolute": (5,),
    "prismatic": (2,),
    "cylindrical": (2, 5),
    "spherical": (3, 4, 5),
    "planar": (0, 1, 5),
}
"""Free components of the twist [translation, rotation] on the axes of the joint. Other kinds are no groups of motions; they close loops."""
ALL = (0, 1, 2, 3, 4, 5)


def tree_of(mechanism: Mechanism) -> Tree:
    """The tree with the shortest branches, joints in the order of the model; a body that no such joint reaches is free."""
    flat, bodies = mechanism.flat(), mechanism.bodies
    near: dict[int, list[tuple[Joint, int, int]]] = {b: [] for b in range(GROUND, len(bodies))}
    for joint in mechanism.joints:
        if joint.kind in AXES:
            a, b = joint.markers
            near[mechanism.markers[a].body].append((joint, a, b))
            near[mechanism.markers[b].body].append((joint, b, a))
    order: list[int] = []
    hung: dict[int, tuple[int, int, tuple[int, ...]]] = {}

    def grow(root: int) -> None:
        queue = deque([root])
        while queue:
            for joint, mine, other in near[queue.popleft()]:
                body = mechanism.markers[other].body
                if body != GROUND and body not in hung:
                    hung[body] = (mine, other, AXES[joint.kind])
                    order.append(body)
                    queue.append(body)

    grow(GROUND)
    for b in range(len(bodies)):
        if b not in hung:
            hung[b] = (FREE, FREE, ALL)
            order.append(b)
            grow(b)
    axes = [hung[b][2] for b in range(len(bodies))]
    weights = []
    for b, free in enumerate(axes):
        start, end = flat.v_start[b], flat.v_start[b + 1]
        weights += [flat.weight[start + np.array(free, dtype=np.int64)], flat.weight[start + 6 : end]]
    counts = np.array([len(free) for free in axes], dtype=np.int64)
    return pointed(Tree(
        order=np.array(order, dtype=np.int64),
        parent=np.array([hung[b][0] for b in range(len(bodies))], dtype=np.int64),
        child=np.array([hung[b][1] for b in range(len(bodies))], dtype=np.int64),
        start=np.concatenate([[0], np.cumsum(counts + flat.modes)]).astype(np.int64),
        axis_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        axes=np.array([axis for free in axes for axis in free], dtype=np.int64),
        weight=np.concatenate(weights),
    ))  # fmt: skip
