"""Random mechanisms as plain data, in SI: what a seed stands for."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

GROUND = -1
FREEDOM = {"revolute": 1, "prismatic": 1, "cylindrical": 2, "spherical": 3, "universal": 2, "planar": 3, "point-on-line": 4, "fixed": 0, "prescribed": 0}  # fmt: skip
MOTIONS = {"revolute": ("rotation",), "prismatic": ("translation",), "cylindrical": ("rotation", "translation"), "planar": ("rotation",), "point-on-line": ("translation",)}  # fmt: skip
WEIGHTS = {"revolute": 5, "prismatic": 2, "cylindrical": 2, "spherical": 2, "universal": 2, "planar": 1, "point-on-line": 1, "fixed": 0.5}  # fmt: skip
CLOSING = ("spherical", "universal", "cylindrical", "planar", "point-on-line", "revolute")
DOUBLED = ("revolute", "prismatic", "cylindrical", "planar", "fixed")
TWIN = "twin of "
"""Begin of the name of a joint that holds what another holds already."""


@dataclass(frozen=True, eq=False)
class BodyData:
    """A body as drawn: rigid with these mass properties, or flexible, made from `seed`."""

    mass: float
    inertia: np.ndarray
    centre: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray
    seed: int | None = None
    second_order: bool = False

    def interface(self, which):
        """World place of an interface of a flexible body."""
        return self.position + self.rotation @ [1.0 if which == "end" else 0.0, 0.0, 0.0]


@dataclass(frozen=True, eq=False)
class JointData:
    """A joint between two ends, each a body and for flexible ones the interface, at a world `point` with `axis` and `second`."""

    name: str
    kind: str
    ends: tuple[tuple[int, str | None], tuple[int, str | None]]
    point: np.ndarray
    axis: np.ndarray
    second: np.ndarray
    motions: tuple["Function", ...] = ()  # of a prescribed joint: along the axis and about it


@dataclass(frozen=True, eq=False)
class Function:
    """A function of time: `kind` of `flexmb.time_functions`, its height, its times (or frequency and phase), and what is added to it."""

    kind: str
    height: float
    first: float
    other: float
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class ForceData:
    """A force element: `kind`, its two ends or its joint, and its constants."""

    kind: str
    name: str
    ends: tuple = ()
    points: tuple = ()
    joint: str = ""
    dof: str = "rotation"
    stiffness: float = 0.0
    damping: float = 0.0
    twist_stiffness: float = 0.0
    twist_damping: float = 0.0
    function: Function | None = None
    force: tuple = (0.0, 0.0, 0.0)
    moment: tuple = (0.0, 0.0, 0.0)
    follower: bool = False
    cubic: float = 0.0


@dataclass(frozen=True, eq=False)
class DriverData:
    """A driven joint motion."""

    joint: str
    dof: str
    function: Function


@dataclass(frozen=True, eq=False)
class EventData:
    """A stop of a joint, or a lock or release at a time."""

    kind: str
    name: str
    joint: str
    dof: str
    value: float
    upper: bool = True
    restitution: float = 0.5


@dataclass(frozen=True, eq=False)
class SpeedData:
    """A start speed of a joint."""

    joint: str
    dof: str
    value: float


@dataclass(frozen=True, eq=False)
class Description:
    """A mechanism."""

    seed: int
    gravity: np.ndarray
    bodies: tuple[BodyData, ...]
    joints: tuple[JointData, ...]
    forces: tuple[ForceData, ...]
    drivers: tuple[DriverData, ...]
    events: tuple[EventData, ...]
    loops: int
    speeds: tuple[SpeedData, ...] = ()

    @property
    def redundant(self):
        """Whether joints hold what others hold already: their reactions are not unique."""
        return any(j.name.startswith(TWIN) for j in self.joints)

    @property
    def far(self):
        """Whether a driver starts far from the drawing."""
        return any(d.function.offset for d in self.drivers)

    def without(self, names):
        """The mechanism without some joints, their twins, and what acts on them."""
        gone = {*names, *(TWIN + name for name in names)}
        return replace(
            self, joints=tuple(j for j in self.joints if j.name not in gone), forces=tuple(f for f in self.forces if f.joint not in gone),
        )  # fmt: skip

    @property
    def grounded(self):
        """Whether anything is tied to the ground (then no observer may move)."""
        ends = [end for j in self.joints for end in j.ends] + [end for f in self.forces for end in f.ends]
        return any(body == GROUND for body, _ in ends)

    @property
    def rigid(self):
        """Whether all bodies are rigid."""
        return all(b.seed is None for b in self.bodies)

    def __str__(self):
        joints = ", ".join(f"{j.name} {j.kind} {j.ends[0][0]}-{j.ends[1][0]}" for j in self.joints)
        forces = ", ".join(f"{f.name} {f.kind} {f.joint}" for f in self.forces)
        return f"seed {self.seed}: {len(self.bodies)} bodies ({sum(b.seed is not None for b in self.bodies)} flexible); {joints}; {forces}; drivers {[(d.joint, d.dof, d.function.kind, d.function.offset) for d in self.drivers]}; speeds {[(s.joint, s.dof) for s in self.speeds]}; events {[(e.kind, e.joint) for e in self.events]}"


def describe(seed, *, flexible=True, events=True):
    """The mechanism of a seed. Joints are drawn closed; start velocities are arbitrary, `build.consistent` makes them fit."""
    rng = np.random.default_rng(seed)
    loops = int(rng.choice([0, 0, 1, 1, 2]))
    count = int(rng.integers(1 + (loops > 0), 5 + loops))
    bodies, joints = _tree(rng, count, flexible and rng.random() < 0.35)
    added = _loops(rng, bodies, joints, loops)
    joints += added
    free = 6 * len(bodies) - sum(6 - FREEDOM[j.kind] for j in joints)
    drivers = _drivers(rng, joints[: len(joints) - len(added)], free)
    forces = _forces(rng, bodies, joints, {(d.joint, d.dof) for d in drivers})
    happenings = (
        _events(rng, joints, free - len(drivers), drivers) if events and not added and rng.random() < 0.25 else ()
    )
    gravity = rng.normal(size=3) * rng.choice([0.0, 6.0])
    plain = Description(seed, gravity, tuple(bodies), tuple(joints), tuple(forces), drivers, happenings, len(added))
    return _harder(np.random.default_rng([seed, 2]), plain)


def _unit(rng):
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def _body(rng, flexible):
    points = rng.normal(size=(8, 3)) * rng.uniform(0.1, 0.4, 3)
    mass = float(10 ** rng.uniform(-0.7, 0.7))
    about = points - points.mean(axis=0)
    inertia = mass * (np.trace(about.T @ about) * np.eye(3) - about.T @ about) / 8
    attitude = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
    seed = int(rng.integers(2**31)) if flexible else None
    return BodyData(
        mass, inertia, rng.normal(size=3) * 0.2, np.zeros(3), attitude, rng.normal(size=3), 2 * rng.normal(size=3), seed,
        bool(rng.random() < 0.5),
    )  # fmt: skip


def _end(rng, index, body):
    """An end of a connection at a body, and its world place."""
    if index == GROUND:
        return (GROUND, None), rng.uniform(-0.5, 0.5, 3)
    if body.seed is not None:
        which = str(rng.choice(["start", "end"]))
        return (index, which), body.interface(which)
    return (index, None), body.position + rng.normal(size=3) * 0.4


def _joint(rng, kind, name, ends, point):
    axis = _unit(rng)
    second = np.cross(axis, _unit(rng))
    return JointData(name, kind, ends, point, axis, second / np.linalg.norm(second))


def _tree(rng, count, some_flexible):
    bodies, joints = [], []
    kinds, weights = list(WEIGHTS), np.array(list(WEIGHTS.values()))
    for k in range(count):
        body = _body(rng, some_flexible and rng.random() < 0.5)
        if (k > 0 and rng.random() < 0.08) or (k == 0 and rng.random() < 0.15):  # flies freely
            bodies.append(replace(body, position=rng.uniform(-1, 1, 3)))
            continue
        parent = int(rng.integers(-1, k)) if k else GROUND
        near, point = _end(rng, parent, bodies[parent] if parent >= 0 else None)
        body = replace(body, position=point + rng.normal(size=3) * 0.5)
        if body.seed is not None:
            which = str(rng.choice(["start", "end"]))
            body = replace(body, position=body.position + point - body.interface(which))
            far = (k, which)
        else:
            far = (k, None)
        kind = str(rng.choice(kinds, p=weights / weights.sum()))
        joints.append(_joint(rng, kind, f"joint{k}", (near, far), point))
        bodies.append(body)
    return bodies, joints


def _loops(rng, bodies, joints, wanted):
    """Joints that close loops, as many as leave a freedom."""
    added = []
    for k in range(wanted):
        free = 6 * len(bodies) - sum(6 - FREEDOM[j.kind] for j in [*joints, *added])
        fitting = [kind for kind in CLOSING if free - (6 - FREEDOM[kind]) >= 1]
        pairs = [
            (a, b) for b in range(len(bodies)) for a in range(-1, b)
            if (a == GROUND or bodies[a].seed is None or bodies[b].seed is None)
            and not any({j.ends[0][0], j.ends[1][0]} == {a, b} for j in [*joints, *added])
        ]  # fmt: skip
        if not fitting or not pairs:
            break
        a, b = pairs[int(rng.integers(len(pairs)))]
        flexible_a = a != GROUND and bodies[a].seed is not None
        if flexible_a:
            near, point = _end(rng, a, bodies[a])
            far = (b, None)
        else:
            far, point = _end(rng, b, bodies[b])
            near = (a, None)
        added.append(_joint(rng, str(rng.choice(fitting)), f"closing{k}", (near, far), point))
    return added


def _function(rng, height, *, quiet):
    """`quiet`: zero at t = 0, as a driver of a mechanism that is drawn at its start."""
    kind = str(rng.choice(["harmonic", "smooth_step", "pulse"] + ([] if quiet else ["constant"])))
    first, other = (
        0.02 * int(rng.integers(1, 8)),
        0.02 * int(rng.integers(5, 15)),
    )  # stored times meet the ends of features
    if kind == "harmonic":
        first, other = float(rng.uniform(0.5, 3.0)), 0.0 if quiet else float(rng.uniform(-3, 3))
    return Function(kind, height * float(rng.uniform(-1, 1)), first, other)


def _drivers(rng, joints, free):
    drivers = []
    for joint in joints:
        if joint.kind in MOTIONS and free > 1 and rng.random() < 0.2:
            dof = str(rng.choice(MOTIONS[joint.kind]))
            if rng.random() < 0.4 and dof == "rotation":
                function = Function("constant_speed", float(rng.uniform(-8, 8)), 0.0, 0.0)
            else:
                function = _function(rng, 0.4 if dof == "rotation" else 0.2, quiet=True)
            drivers.append(DriverData(joint.name, dof, function))
            free -= 1
    return tuple(drivers)


def _forces(rng, bodies, joints, driven):
    forces = []
    for k in range(int(rng.integers(0, 4))):
        kind = str(rng.choice(["spring", "bushing", "joint-spring", "motor", "law", "load", "load"]))
        name = f"force{k}"
        if kind in ("spring", "bushing"):
            b = int(rng.integers(0, len(bodies)))
            a = int(rng.integers(-1, b)) if b else GROUND
            (far, end), (near, start) = _end(rng, b, bodies[b]), _end(rng, a, bodies[a] if a >= 0 else None)
            if kind == "bushing" and (near[1] is not None and far[1] is not None):
                kind = "spring"
            if kind == "bushing":
                start = end = start if near[1] is not None else end
            if np.linalg.norm(end - start) < 0.05 and kind == "spring":
                continue
            forces.append(ForceData(
                kind, name, (near, far), (start, end), stiffness=rng.uniform(5, 60), damping=rng.choice([0.0, 0.5]),
                twist_stiffness=rng.uniform(1, 5), twist_damping=rng.choice([0.0, 0.1]), cubic=float(rng.choice([0.0, 30.0])),
            ))  # fmt: skip
        elif kind == "load":
            b = int(rng.integers(0, len(bodies)))
            end, at = _end(rng, b, bodies[b])
            forces.append(ForceData(
                kind, name, (end,), (at,), force=tuple(3 * rng.normal(size=3)), moment=tuple(0.5 * rng.normal(size=3)),
                follower=bool(rng.random() < 0.5), function=_function(rng, 1.0, quiet=False),
            ))  # fmt: skip
        else:
            free = [(j, dof) for j in joints for dof in MOTIONS.get(j.kind, ()) if (j.name, dof) not in driven]
            if not free:
                continue
            joint, dof = free[int(rng.integers(len(free)))]
            forces.append(ForceData(
                kind, name, joint=joint.name, dof=dof, stiffness=rng.uniform(1, 20), damping=rng.choice([0.0, 0.2]),
                function=_function(rng, 2.0, quiet=False), cubic=10.0,
            ))  # fmt: skip
    return forces


def _events(rng, joints, free, drivers):
    """One or two events of joints that nothing drives."""
    driven = {d.joint for d in drivers}
    fitting = [j for j in joints if j.kind in ("revolute", "prismatic") and j.name not in driven]
    found = []
    for k, joint in enumerate(fitting[: int(rng.integers(1, 3))]):
        if free < 2:
            break
        kind, dof = str(rng.choice(["stop", "stop", "lock", "release"])), MOTIONS[joint.kind][0]
        value = float(rng.uniform(0.02, 0.15))
        found.append(
            EventData(
                kind,
                f"event{k}",
                joint.name,
                dof,
                value,
                bool(rng.random() < 0.5),
                float(rng.choice([0.0, 0.5, 1.0])),
            )
        )
        free -= kind == "lock"
    return tuple(found)


def _harder(rng, d):
    """With prescribed motions, start speeds, drivers that start beyond a quarter of a turn, and twins of joints, each in some mechanisms."""
    used = {f.joint for f in d.forces} | {e.joint for e in d.events} | {x.joint for x in d.drivers}
    idle = [k for k, j in enumerate(d.joints) if j.name not in used and not j.name.startswith("closing")]
    if idle and rng.random() < 0.15:
        k, joints = idle[int(rng.integers(len(idle)))], list(d.joints)
        motions = tuple(_function(rng, height, quiet=True) for height in (0.2, 1.0))
        joints[k] = replace(joints[k], kind="prescribed", motions=motions)
        d = replace(d, joints=tuple(joints))
    if not d.loops:
        driven = {(x.joint, x.dof) for x in d.drivers}
        free = [(j.name, a) for j in d.joints for a in MOTIONS.get(j.kind, ()) if (j.name, a) not in driven]
        if free and rng.random() < 0.2:
            d = replace(d, speeds=(SpeedData(*free[int(rng.integers(len(free)))], float(rng.uniform(-4, 4))),))
        d = replace(d, drivers=tuple(_from_afar(rng, x) for x in d.drivers))
    return replace(d, joints=d.joints + _twins(rng, d))


def _from_afar(rng, driver):
    """Some drivers of rotations, begun between a quarter and most of half a turn away."""
    if driver.dof != "rotation" or driver.function.kind not in ("harmonic", "constant_speed") or rng.random() < 0.2:
        return driver
    offset = float(rng.uniform(1.6, 2.8) * rng.choice([-1.0, 1.0]))
    return replace(driver, function=replace(driver.function, offset=offset))


def _twins(rng, d):
    """A second joint beside one between rigid bodies, on its axis: a door has two hinges."""
    rigid = {GROUND, *(k for k, b in enumerate(d.bodies) if b.seed is None)}
    happens = {e.joint for e in d.events}
    fit = [j for j in d.joints if j.kind in DOUBLED and j.name not in happens and {k for k, _ in j.ends} <= rigid]
    if not fit or rng.random() > 0.15:
        return ()
    j = fit[int(rng.integers(len(fit)))]
    return (replace(j, name=TWIN + j.name, point=j.point + float(rng.uniform(0.2, 0.6)) * j.axis),)
