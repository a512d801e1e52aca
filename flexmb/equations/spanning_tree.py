"""The spanning tree of a mechanism, and the coordinates that generalised-alpha integrates.

In the tree, one joint connects each body to its parent; the other joints close loops.
"""

from collections import deque

import numpy as np

from flexmb.kernels.base.data import GROUND
from flexmb.kernels.base.pointed import fields_of, pointed
from flexmb.kernels.joint_coordinates.tree import FREE, Tree
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.joints import JOINTS
from flexmb.mechanism.mechanism import Joint, Mechanism
from flexmb.spatial.layout import pose

ALL = (0, 1, 2, 3, 4, 5)


def tree_of(mechanism: Mechanism, *, commuting: bool = False) -> Tree:
    """The spanning tree with the shortest branches.

    Its joints are of kinds whose free motions form a group (`JointKind.axes`) and, on request, commute
    (`JointKind.commuting`). A body that no such joint connects is free.
    """
    flat, bodies = compiled(mechanism), mechanism.bodies
    near: dict[int, list[tuple[Joint, int, int]]] = {b: [] for b in range(GROUND, len(bodies))}
    for joint in mechanism.joints:
        kind = JOINTS.get(joint.kind)
        if kind is not None and kind.axes is not None and (kind.commuting or not commuting):
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
                    hung[body] = (mine, other, JOINTS[joint.kind].axes or ())
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
    return pointed(
        Tree(
            order=np.array(order, dtype=np.int64),
            parent=np.array([hung[b][0] for b in range(len(bodies))], dtype=np.int64),
            child=np.array([hung[b][1] for b in range(len(bodies))], dtype=np.int64),
            start=np.concatenate([[0], np.cumsum(counts + flat.modes)]).astype(np.int64),
            axis_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            axes=np.array([axis for free in axes for axis in free], dtype=np.int64),
            weight=np.concatenate(weights),
            pivoted=np.zeros(len(bodies), dtype=bool),
            pivot=np.zeros((len(bodies), 3)),
            carrier=np.full(len(bodies), GROUND),
        )
    )


def integrated_tree(mechanism: Mechanism, coordinates: str) -> Tree:
    """The tree of the coordinates, "absolute" or "joint", that generalised-alpha integrates.

    Absolute coordinates are those of a tree without joints. Bodies without a joint move about pivots.
    """
    flat, nb = compiled(mechanism), len(mechanism.bodies)
    if coordinates == "joint":
        tree = tree_of(mechanism, commuting=True)
        return pointed(Tree(**fields_of(tree) | {"pivoted": tree.child == FREE, "pivot": pivots(mechanism)[0]}))
    free, (pivot, carrier, order) = np.full(nb, FREE), pivots(mechanism)
    return pointed(
        Tree(
            order=order,
            parent=free,
            child=free,
            start=flat.v_start,
            axis_start=6 * np.arange(nb + 1),
            axes=np.tile(np.array(ALL), nb),
            weight=flat.weight,
            pivoted=np.full(nb, True),
            pivot=pivot,
            carrier=carrier,
        )
    )


def pivots(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pivots (nb, 3) of the bodies for generalised-alpha, their carriers (nb,) and an order (nb,) of the bodies.

    Each body rotates about its pivot; the velocity of the pivot is resolved in the axes of the carrier. In the order,
    no body precedes its carrier.

    If a joint of the shortest branch to the ground fixes a point of the body, this point is the pivot; a crank then
    rotates exactly about its bearing. A welded body has the pivot of the body to which it is welded. Otherwise the
    pivot is the mass centre: the centre of a free mechanism moves exactly on its parabola, because the total momentum
    is a sum of velocities of pivots.

    If all joints of the branch fix points, the body moves with rotations and not with uniform velocities. The parent is
    then the carrier, so that the velocity of the pivot does not rotate with a wheel that spins about it. The pivot of a
    body on the ground is at rest except for the deformation of the body, which rotates with the body.
    """
    flat, q = compiled(mechanism), mechanism.initial.q
    near: dict[int, list[tuple[str, int, int]]] = {b: [] for b in range(GROUND, len(mechanism.bodies))}
    for joint in mechanism.joints:
        a, b = (mechanism.markers[k].body for k in joint.markers)
        near[a].append((joint.kind, b, joint.markers[1]))
        near[b].append((joint.kind, a, joint.markers[0]))
    found = np.array([body.centre for body in mechanism.bodies]).reshape(-1, 3)
    carrier = np.full(len(mechanism.bodies), GROUND)
    held, queue = {GROUND: True}, deque([GROUND])
    while queue:
        parent = queue.popleft()
        for kind, body, marker in near[parent]:
            if body in held:
                continue
            holds, welds = (False, False) if kind not in JOINTS else (JOINTS[kind].holds_point, JOINTS[kind].welds)
            held[body] = held[parent] and holds
            queue.append(body)
            if held[body]:
                rests = parent == GROUND or (welds and carrier[parent] == GROUND)
                moves = body if mechanism.bodies[body].modes else GROUND
                carrier[body] = moves if rests else carrier[parent] if welds else parent
            if welds and parent != GROUND:
                (r0, R0), (r, R) = pose(flat, q, parent), pose(flat, q, body)
                found[body] = R.T @ (r0 + R0 @ found[parent] - r)
            elif holds:
                found[body] = flat.marker_point[marker]
    order = [b for b in held if b != GROUND] + [b for b in range(len(found)) if b not in held]
    return found, carrier, np.array(order, dtype=np.int64)
