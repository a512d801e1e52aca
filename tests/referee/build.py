"""From a description to a mechanism, in a unit system and in the frame of an observer."""

from dataclasses import replace

import numpy as np
from mechanisms import random_flexible_body

import flexmb
from flexmb.bodies.body import BodyInterface
from flexmb.equations.initial_conditions import consistent_state, row_jacobian
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.time_functions import constant, constant_speed, harmonic, pulse, smooth_step
from flexmb.simulation.events import Event, Lock, Release, stop
from referee.description import GROUND, TWIN
from referee.units import HERE, SI

WELL_CONDITIONED = 50.0
"""Largest condition of the joint equations of a random mechanism."""


def build(description, units=SI, frame=HERE):
    """The `System` of a description."""
    return _Builder(description, units, frame).system()


def events_of(description, units=SI):
    """Its events."""
    return [_event(e, units) for e in description.events]


def sound(description):
    """The mechanism of a description without the closing joints and drivers whose equations depend on the others, and with start velocities that fit."""
    while condition(description) > WELL_CONDITIONED:
        if description.drivers:
            description = replace(description, drivers=description.drivers[:-1])
        elif description.loops:
            last = [j.name for j in description.joints if j.name.startswith("closing")][-1]
            description = replace(description.without([last]), loops=description.loops - 1)
        else:
            raise AssertionError(f"the joints of a tree depend on each other: {description}")
    return _consistent(description)


def condition(description):
    """The largest over the smallest singular value of the joint equations as drawn, bodies taken as rigid and twins
    left out; infinite where they depend on each other."""
    mechanism = _rigid_and_single(description)
    return _condition(mechanism, 0.0, mechanism.initial.q)


def conditions(description, result):
    """(nt,) The same along a motion: at each time the largest so far, because a method remembers what it met."""
    mechanism, starts = _rigid_and_single(description), compiled(result.mechanism).q_start[:-1]
    frames = (starts[:, None] + np.arange(7)).ravel()
    return np.maximum.accumulate([_condition(mechanism, t, q[frames]) for t, q in zip(result.t, result.q, strict=True)])


def _rigid_and_single(description):
    twins = [j.name for j in description.joints if j.name.startswith(TWIN)]
    return build(description.without(twins)).build().rigid()


def _condition(mechanism, t, q):
    if not mechanism.joint_rows:
        return 1.0
    J = row_jacobian(mechanism, compiled(mechanism), q, mechanism.function_values(t))[1]
    values = np.linalg.svd(J[: mechanism.joint_rows].toarray(), compute_uv=False)
    return values[0] / values[-1] if len(values) == mechanism.joint_rows and values[-1] > 0 else np.inf


def _consistent(description):
    """The description with start velocities that its joints and drivers allow."""
    mechanism = build(description).build()
    state, bodies = consistent_state(mechanism).state, []
    for k, body in enumerate(description.bodies):
        # as drawn: drivers that start elsewhere move the bodies with the velocities that they have in their axes
        R = body.rotation
        at = int(compiled(mechanism).v_start[k])
        v, omega = state.w[at : at + 3], state.w[at + 3 : at + 6]
        bodies.append(replace(body, velocity=R @ v, spin=R @ omega))
    return replace(description, bodies=tuple(bodies))


def flexible_body(seed, second_order, units):
    """A random flexible body of a few tenths of a kilogram, in a unit system. Elastic coordinates have the dimension length mass^1/2."""
    made = random_flexible_body(
        np.random.default_rng(seed), modes=2, second_order=second_order, stiffness=(2e3, 2e4), damping=0.5
    )
    inv, L, M = made.invariants, units.length, units.mass
    dimensions = {"s0": (1, 1), "S1": (0, 0.5), "SG": (-1, 0), "J0": (2, 1), "J1": (1, 0.5), "J2": (0, 0), "h0": (1, 0.5), "h": (0, 0), "PG": (0, 0)}  # fmt: skip
    scaled = {name: getattr(inv, name) * L**a * M**b for name, (a, b) in dimensions.items()}
    rows = np.repeat([M**-0.5, M**-0.5 / L], 3)[:, None]
    interfaces = {name: BodyInterface(i.point * L, i.rows * rows) for name, i in made.interfaces.items()}
    return replace(
        made, invariants=replace(inv, mass=inv.mass * M, **scaled), stiffness=made.stiffness / units.time**2,
        damping=made.damping / units.time, interfaces=interfaces, deflection=made.deflection * M**-0.5,
    )  # fmt: skip


def _motion(f, units, length=0, mass=0, time=0):
    """A function of time whose values have a dimension."""
    height = float(units.of(f.height, length, mass, time))
    first, other = float(units.of(f.first, time=1)), float(units.of(f.other, time=1))
    if f.kind == "constant":
        return constant(height)
    offset = float(units.of(f.offset, length, mass, time))
    if f.kind == "constant_speed":
        return constant_speed(float(units.of(height, time=-1)), offset)
    if f.kind == "harmonic":
        return harmonic(height, float(units.of(f.first, time=-1)), f.other, offset)
    return {"smooth_step": smooth_step, "pulse": pulse}[f.kind](first, other, height)


def _event(e, units):
    limit = float(units.of(e.value, length=0 if e.dof == "rotation" else 1))
    if e.kind == "stop":
        return stop(e.name, e.joint, limit if e.upper else -limit, upper=e.upper, restitution=e.restitution)
    at = float(units.of(e.value, time=1))
    action = Lock(e.joint) if e.kind == "lock" else Release(e.joint)
    return Event(e.name, lambda result: np.asarray(result.t) - at, action)


def _law(f, units, dof):
    """A hardening spring with a smoothed friction, in units of `t`, `x` and effort."""
    rotation = dof == "rotation"
    x1, v1 = units.of(1.0, length=0 if rotation else 1), units.of(1.0, length=0 if rotation else 1, time=-1)
    effort = units.of(1.0, length=2 if rotation else 1, mass=1, time=-2)

    def law(t, x, xdot):
        return float(effort * (-f.cubic * (x / x1) ** 3 - 0.3 * np.tanh(xdot / v1)))

    return law


class _Builder:
    def __init__(self, description, units, frame):
        self.d, self.u, self.frame = description, units, frame

    def point(self, x):
        return self.u.of(self.frame.rotation @ x + self.frame.shift, length=1)

    def direction(self, x):
        return self.frame.rotation @ np.asarray(x)

    def system(self):
        d, u = self.d, self.u
        self.made = flexmb.System(gravity=u.of(self.direction(d.gravity), length=1, time=-2), name=f"random {d.seed}")
        self.handles = [self._add(k, body) for k, body in enumerate(d.bodies)]
        for j in d.joints:
            a, b = (self._place(end, j.point) for end in j.ends)
            if j.kind == "prescribed":
                along, about = j.motions
                self.made.prescribe(
                    j.name, a, b, z=_motion(along, u, 1), rotation=_motion(about, u), axis=self.direction(j.axis)
                )
                continue
            extra = {} if j.kind in ("fixed", "spherical") else {"axis": self.direction(j.axis)}
            if j.kind == "universal":
                extra["second_axis"] = self.direction(j.second)
            self.made.joint(j.kind, j.name, a, b, **extra)
        for driver in d.drivers:
            length = 0 if driver.dof == "rotation" else 1
            self.made.drive(driver.joint, _motion(driver.function, u, length), driver.dof)
        for speed in d.speeds:
            length = 0 if speed.dof == "rotation" else 1
            self.made.set_speed(speed.joint, float(u.of(speed.value, length=length, time=-1)), speed.dof)
        for f in d.forces:
            getattr(self, f"_{f.kind.replace('-', '_')}")(f)
        return self.made

    def _add(self, k, b):
        u = self.u
        if b.seed is None:
            body = flexmb.rigid_body(
                f"body{k}", mass=float(u.of(b.mass, mass=1)), inertia=u.of(b.inertia, length=2, mass=1), centre=u.of(b.centre, length=1)
            )  # fmt: skip
        else:
            body = flexible_body(b.seed, b.second_order, u)
        return self.made.add(
            body, name=f"body{k}", position=self.point(b.position), orientation=self.frame.rotation @ b.rotation,
            velocity=u.of(self.direction(b.velocity) + self.frame.boost, length=1, time=-1),
            angular_velocity=u.of(self.direction(b.spin), time=-1),
        )  # fmt: skip

    def _place(self, end, point):
        index, interface = end
        if index == GROUND:
            return self.made.ground.at(self.point(point))
        if interface is not None:
            return self.handles[index][interface]
        body = self.d.bodies[index]
        return self.handles[index].at(self.u.of(body.rotation.T @ (point - body.position), length=1))

    def _spring(self, f):
        a, b = (self._place(end, point) for end, point in zip(f.ends, f.points, strict=True))
        law = {"law": _law(f, self.u, "translation")} if f.cubic else {}
        u = self.u
        self.made.spring_damper(
            f.name, a, b, stiffness=float(u.of(f.stiffness, mass=1, time=-2)), damping=float(u.of(f.damping, mass=1, time=-1)),
            length=float(u.of(0.9 * np.linalg.norm(f.points[1] - f.points[0]), length=1)), **law,
        )  # fmt: skip

    def _bushing(self, f):
        a, b = (self._place(end, point) for end, point in zip(f.ends, f.points, strict=True))
        u = self.u
        stiffness = np.repeat([u.of(f.stiffness, mass=1, time=-2), u.of(f.twist_stiffness, 2, 1, -2)], 3)
        damping = np.repeat([u.of(f.damping, mass=1, time=-1), u.of(f.twist_damping, 2, 1, -1)], 3)
        self.made.bushing(
            f.name,
            a,
            b,
            stiffness=stiffness,
            damping=damping,
            axis=self.direction([0.0, 0.0, 1.0]),
            free=(0.0, 0.0, 0.0),
        )

    def _joint_spring(self, f):
        length, u = 2 if f.dof == "rotation" else 0, self.u
        self.made.joint_spring(
            f.name, f.joint, stiffness=float(u.of(f.stiffness, length, 1, -2)), damping=float(u.of(f.damping, length, 1, -1)), dof=f.dof
        )  # fmt: skip

    def _motor(self, f):
        length, u = 2 if f.dof == "rotation" else 1, self.u
        drag = float(u.of(f.damping, 2 if f.dof == "rotation" else 0, 1, -1))
        self.made.motor(f.name, f.joint, _motion(f.function, u, length, 1, -2), damping=drag, dof=f.dof)

    def _law(self, f):
        self.made.motor(f.name, f.joint, _law(f, self.u, f.dof), dof=f.dof)

    def _load(self, f):
        u = self.u
        turned = self.frame.rotation  # a wrench that follows its body is given in world axes as drawn, too
        self.made.load(
            f.name, self._place(f.ends[0], f.points[0]), force=u.of(turned @ f.force, 1, 1, -2), moment=u.of(turned @ f.moment, 2, 1, -2),
            factor=_motion(f.function, u), follower=f.follower,
        )  # fmt: skip
