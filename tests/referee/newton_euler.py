"""Sums of all forces on the bodies of a run against the rate of change of their momenta: neither uses the equations of the program."""

from itertools import pairwise

import numpy as np

from flexmb.mechanism.compile import compiled
from referee.description import GROUND

BALANCED = 1e-7
"""Part of the forces that is taken for a motion where they balance: a millionth of it is 1e-13 of them, their rounding (1e-15 times the condition of the joint equations, 50 at most)."""


def _function(f, t):
    """Values (nt,) of a function of time."""
    if f.kind == "constant":
        return np.full_like(t, f.height)
    if f.kind == "harmonic":
        return f.height * np.sin(2 * np.pi * f.first * t + f.other)
    s = np.clip((t - f.first) / f.other, 0, 1)
    return f.height * (s**3 * (10 - 15 * s + 6 * s**2) if f.kind == "smooth_step" else np.sin(np.pi * s) ** 4)


class Forces:
    """Wrenches about the world origin, in SI, on every body over time, but for those of bushings; `groups` of bodies between which bushings act. `applied`: without gravity and reactions."""

    def __init__(self, description, result, *, applied=False):
        self.d, self.r = description, result
        self.t, nt, nb = np.array(result.t), len(result.t), len(description.bodies)
        self.wrench, self.size = np.zeros((nb, nt, 6)), np.zeros((nb, nt, 6))  # `size`: of all without their signs
        self.group = list(range(nb))
        self.open = set()  # groups that a bushing ties to the ground
        if not applied:
            self._gravity()
            self._reactions()
        for f in description.forces:
            getattr(self, "_" + f.kind.replace("-", "_"))(f)
        self.groups = {g: [b for b in range(nb) if self._root(b) == g] for g in range(nb) if self._root(g) == g}

    def _root(self, b):
        while self.group[b] != b:
            b = self.group[b]
        return b

    def _add(self, body, point, force, moment):
        if body != GROUND:
            wrench = np.concatenate([force, moment + np.cross(point, force)], axis=1)
            self.wrench[body] += wrench
            self.size[body] += np.abs(wrench)

    def _pair(self, markers, force, moment):
        """A wrench at the second marker, on its body; its opposite on the other."""
        point = self.r._path(markers[1])[0]
        bodies = [self.r.mechanism.markers[k].body for k in markers]
        self._add(bodies[1], point, force, moment)
        self._add(bodies[0], point, -force, -moment)

    def _markers(self, name):
        return [self.r.mechanism.marker_index(f"{name}.{side}") for side in "ab"]

    def _reactions(self):
        for joint in self.r.mechanism.joints:
            if joint.kind != "locked":
                W = self.r.reaction(joint.name)
                self._pair(joint.markers, W[:, :3], W[:, 3:])

    def _gravity(self):
        for k in range(len(self.d.bodies)):
            mass = self.r.mechanism.bodies[k].invariants.mass
            centre = mass_moment(self.r, k)[0] / mass
            force = np.tile(mass * self.d.gravity, (len(self.t), 1))
            self._add(k, centre, force, np.zeros_like(force))

    def _load(self, f):
        point, A = self.r._path(self.r.mechanism.marker_index(f.name))
        turned = A if f.follower else np.tile(np.eye(3), (len(self.t), 1, 1))
        factor = _function(f.function, self.t)[:, None]
        self._add(f.ends[0][0], point, factor * (turned @ f.force), factor * (turned @ f.moment))

    def _spring(self, f):
        a, b = self._markers(f.name)
        line = self.r._path(b)[0] - self.r._path(a)[0]
        length = np.linalg.norm(line, axis=1)
        unit = line / length[:, None]
        rate = np.einsum("tk,tk->t", unit, self._velocity(b) - self._velocity(a))
        stretch = length - 0.9 * np.linalg.norm(np.subtract(*f.points))
        push = -f.stiffness * stretch - f.damping * rate
        if f.cubic:
            push += -f.cubic * stretch**3 - 0.3 * np.tanh(rate)
        self._pair((a, b), push[:, None] * unit, np.zeros_like(unit))

    def _bushing(self, f):
        bodies = [end[0] for end in f.ends]
        if GROUND in bodies:
            self.open.add(max(bodies))
        else:
            self.group[self._root(bodies[1])] = self._root(bodies[0])

    def _on_joint(self, f, effort):
        a, b = self.r.mechanism.joint(f.joint).markers
        axis = self.r._path(a)[1][:, :, 2]
        x = self.r.coordinate(f.joint, f.dof)
        if f.dof == "rotation":
            # about the mean of both z axes, which the joint keeps together
            spin = self._spin(b) - self._spin(a)
            rate = np.einsum("tk,tk->t", axis, spin)
        else:
            apart = self.r._path(b)[0] - self.r._path(a)[0]
            rate = np.einsum("tk,tk->t", axis, self._velocity(b) - self._velocity(a) - np.cross(self._spin(a), apart))
        push = effort(x, rate)[:, None] * axis
        none = np.zeros_like(push)
        self._pair((a, b), *((none, push) if f.dof == "rotation" else (push, none)))

    def _joint_spring(self, f):
        self._on_joint(f, lambda x, rate: -f.stiffness * x - f.damping * rate)

    def _motor(self, f):
        self._on_joint(f, lambda x, rate: _function(f.function, self.t) - f.damping * rate)

    def _law(self, f):
        self._on_joint(f, lambda x, rate: -f.cubic * x**3 - 0.3 * np.tanh(rate))

    def _velocity(self, marker):
        return self.r.velocity(self.r.mechanism.markers[marker].name)

    def _spin(self, marker):
        return self.r.angular_velocity(self.r.mechanism.markers[marker].name)


def mass_moment(result, k):
    """First moment of mass (nt, 3) in world axes about the world origin, momentum (nt, 3) and angular momentum (nt, 3) about it, from positions and velocities."""
    from flexmb.bodies.dynamics import first_moment, momenta

    body = result.mechanism.bodies[k]
    r, R = result.frame(body.name)
    eta = result.elastic(body.name)
    at = int(compiled(result.mechanism).v_start[k])
    w = np.array(result.w)[:, at : at + 6 + body.modes]
    s = np.array([first_moment(body, e) for e in eta])
    both = [momenta(body, e, x)[:2] for e, x in zip(eta, w, strict=True)]
    l, pi = (np.einsum("tij,tj->ti", R, np.array([b[i] for b in both])) for i in (0, 1))
    return body.invariants.mass * r + np.einsum("tij,tj->ti", R, s), l, pi + np.cross(r, l)


def impulses_left(description, result):
    """The largest difference between the change of momentum of a group of bodies and the impulse of the forces on it, relative to the largest momentum and impulse of all (linear and angular); between events.

    Impulses by Boole's rule over equally spaced stored times: an error of order six in their spacing.
    """
    forces = Forces(description, result)
    momenta = np.array([np.concatenate(mass_moment(result, b)[1:], axis=1) for b in range(len(description.bodies))])
    pieces, h = _pieces(result), forces.t[1] - forces.t[0]
    if not pieces:
        return 0.0
    weights = [h * _boole(end - start) for start, end in pieces]
    net, gross = (
        sum(np.einsum("t,btk->bk", x, size[:, i : j + 1]) for x, (i, j) in zip(weights, pieces, strict=True))
        for size in (np.abs(forces.wrench), forces.size)
    )
    sizes = [np.abs(momenta).max(axis=(0, 1)), net.max(axis=0), BALANCED * gross.max(axis=0)]
    scale = np.maximum(np.max(sizes, axis=0).reshape(2, 3).max(axis=1), 1e-9)
    worst = 0.0
    for group in forces.groups.values():
        if not forces.open.intersection(group):
            total, momentum = sum(forces.wrench[b] for b in group), sum(momenta[b] for b in group)
            for x, (start, end) in zip(weights, pieces, strict=True):
                left = np.abs(momentum[end] - momentum[start] - x @ total[start : end + 1]).reshape(2, 3).max(axis=1)
                worst = max(worst, float((left / scale).max()))
    return worst


def _pieces(result):
    """First and last numbers of stored times between events, a multiple of four apart."""
    t = np.array(result.t)
    instants = [h.t for h in result.happened]
    near = 1e-9 * (t[1] - t[0])  # a time stored at an event may be before or after it
    edges = [-np.inf, *sorted(instants), np.inf]
    found = []
    for a, b in pairwise(edges):
        inside = np.flatnonzero((t > a + near) & (t < b - near))
        if len(inside) > 4:
            found.append((inside[0], inside[0] + (len(inside) - 1) // 4 * 4))
    return found


def _boole(count):
    """Weights of Boole's rule over `count` spaces of length one."""
    weights = np.zeros(count + 1)
    for start in range(0, count, 4):
        weights[start : start + 5] += 2 / 45 * np.array([7, 32, 12, 32, 7])
    return weights
