"""Accelerations of trees of rigid bodies by Pinocchio, at any state of a run.

The peer's model is made anew at every state, its joints where they are, so that all its joint coordinates are zero: what is compared is the equations of motion.
"""

import numpy as np

from flexmb.mechanism.compile import compiled
from referee.description import GROUND, TWIN

AXES = {
    "revolute": ("RZ",), "prismatic": ("PZ",), "cylindrical": ("PZ", "RZ"), "spherical": ("S",), "universal": ("RX", "RY"),
    "planar": ("PX", "PY", "RZ"), "point-on-line": ("PZ", "S"), "prescribed": ("PZ", "RZ"),
}  # fmt: skip


def accelerations(pin, description, result, at, wrenches):
    """Accelerations (nb, 6) of the body frames in their axes at stored time number `at`; `wrenches` (nb, 6) about the world origin, of all but joints and gravity."""
    d, mechanism = description, result.mechanism
    frames = [result.frame(f"body{k}") for k in range(len(d.bodies))]
    world = [pin.SE3(A[at], r[at]) for r, A in frames]
    model, place = pin.Model(), {GROUND: (0, pin.SE3.Identity())}
    model.gravity.linear = np.asarray(d.gravity, dtype=float)
    joints = {j.ends[1][0]: j for j in d.joints if not j.name.startswith(TWIN)}
    columns, driven = {}, []
    for k in _depth_first(joints, len(d.bodies)):
        j = joints.get(k)
        if j is None:
            parent, X, kinds = 0, world[k], ("F",)
        else:
            parent = place[j.ends[0][0]][0]
            a, b = mechanism.joint(j.name).markers
            axes, point = result._path(a)[1][at], result._path(b)[0][at]
            if j.kind == "universal":
                x, y = axes[:, 0], result._path(b)[1][at][:, 1]
                axes = np.column_stack([x, y, np.cross(x, y)])
            X, kinds = pin.SE3(axes, point), AXES.get(j.kind, ())
        if not kinds:  # welded
            number, M = place[j.ends[0][0]][0], world_of(pin, model, place, j.ends[0][0], world)
        else:
            M = world_of(pin, model, place, None if j is None else j.ends[0][0], world)
            number, local = parent, M.actInv(X)
            for n, kind in enumerate(kinds):
                number = model.addJoint(number, _kind(pin, kind), local, f"{k}.{n}")
                local = pin.SE3.Identity()
                columns.setdefault(k, []).append((number, kind))
            M = X
        place[k] = (number, M)
        inv = mechanism.bodies[k].invariants
        centre = inv.s0 / inv.mass
        about = inv.J0 - inv.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        model.appendBodyToJoint(number, pin.Inertia(inv.mass, centre, about), M.actInv(world[k]))
    for driver in d.drivers:
        k = next(k for k, j in joints.items() if j.name == driver.joint)
        wanted = "RZ" if driver.dof == "rotation" else "PZ"
        number = next(n for n, kind in columns[k] if kind == wanted)
        driven.append((model.joints[number].idx_v, mechanism.rows[mechanism.joint(driver.joint).rows[-1]].function))
    for k, j in joints.items():
        if j.kind == "prescribed":
            rows = mechanism.joint(j.name).rows
            given = {"PZ": mechanism.rows[rows[2]].function, "RZ": mechanism.rows[rows[5]].function}
            driven += [(model.joints[number].idx_v, given[kind]) for number, kind in columns[k]]
    if not model.nv:  # all bodies welded to the ground: Pinocchio crashes without joints
        return np.zeros((len(world), 6))
    return _solved(pin, model, place, world, result, at, wrenches, driven)


def _depth_first(joints, count):
    """The bodies, each branch of the tree one after the other: what Pinocchio's composite-body algorithm expects."""
    children = {k: [] for k in range(GROUND, count)}
    for k in range(count):
        children[joints[k].ends[0][0] if k in joints else GROUND].append(k)
    order, left = [], children[GROUND][::-1]
    while left:
        k = left.pop()
        order.append(k)
        left += children[k][::-1]
    return order


def world_of(pin, model, place, parent, world):
    """World place of the peer's joint that carries a body."""
    return pin.SE3.Identity() if parent is None or parent == GROUND else place[parent][1]


def _kind(pin, kind):
    return {
        "RX": pin.JointModelRX, "RY": pin.JointModelRY, "RZ": pin.JointModelRZ, "PX": pin.JointModelPX, "PY": pin.JointModelPY,
        "PZ": pin.JointModelPZ, "S": pin.JointModelSpherical, "F": pin.JointModelFreeFlyer,
    }[kind]()  # fmt: skip


def _solved(pin, model, place, world, result, at, wrenches, driven):
    data, q, nv = model.createData(), pin.neutral(model), model.nv
    nb, starts = len(world), compiled(result.mechanism).v_start
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    to_body = []
    for k in range(nb):
        number, M = place[k]
        to_body.append((number, world[k].actInv(M)))  # joint to body coordinates
    J = np.vstack([X.action @ pin.getJointJacobian(model, data, n, pin.LOCAL).reshape(6, nv) for n, X in to_body])
    w = np.concatenate([result.w[at, s : s + 6] for s in starts[:nb]])
    v = np.linalg.lstsq(J, w, rcond=None)[0]
    assert np.abs(J @ v - w).max() < 1e-6 * max(1.0, np.abs(w).max())
    fext = [pin.Force.Zero() for _ in range(model.njoints)]
    for k, wrench in enumerate(wrenches):
        number, M = place[k]
        if number:
            fext[number] += M.actInv(pin.Force(wrench))
    bias = pin.rnea(model, data, q, v, np.zeros(nv), fext).copy()
    H = pin.crba(model, data, q)
    H = np.triu(H) + np.triu(H, 1).T
    known = [i for i, _ in driven]
    given = result.mechanism.function_values(float(result.t[at]))
    a = np.zeros(nv)
    for i, function in driven:
        a[i] = given[function, 2]
    rest = np.setdiff1d(np.arange(nv), known)
    a[rest] = np.linalg.solve(H[np.ix_(rest, rest)], -(bias + H @ a)[rest])
    pin.forwardKinematics(model, data, q, v, a)
    return np.array([(X.act(data.a[n]) if n else pin.Motion.Zero()).vector for n, X in to_body])
