"""Runs of a description, and their motion as every observer agrees on it: in SI and in the frame of the description."""

import warnings
from dataclasses import dataclass

import numpy as np

import flexmb
from flexmb.errors import RedundantConstraintWarning
from flexmb.mechanism.compile import compiled
from referee.build import build, events_of
from referee.description import MOTIONS
from referee.units import HERE, SI

NEWTON = 1e-13
"""Of generalised-alpha. Its iteration ends also at 3e4 times this of the error of a step: 1e-11 leaves 5e-9 where a pulse drives a mechanism hard."""


@dataclass(frozen=True)
class How:
    """An integrator, its coordinates, and either steps of a fixed size or a tolerance; `rho_inf`, of generalised-alpha and HHT."""

    integrator: str
    coordinates: str = "absolute"
    step: float | None = None
    tolerance: float | None = None
    rho_inf: float = 0.9

    def __str__(self):
        size = f"step {self.step:g}" if self.step else f"tolerance {self.tolerance:g}"
        return f"{self.integrator}, {self.coordinates}, {size}"


@dataclass(frozen=True, eq=False)
class Seen:
    """A motion in SI and in the frame of the description; `instants` of its events."""

    t: np.ndarray
    position: np.ndarray  # (nt, nb, 3) of the body frames
    attitude: np.ndarray  # (nt, nb, 3, 3)
    velocity: np.ndarray  # (nt, nb, 3)
    spin: np.ndarray  # (nt, nb, 3)
    elastic: np.ndarray  # (nt, m)
    angle: np.ndarray  # (nt, n) of joints, turns counted
    travel: np.ndarray  # (nt, m) of joints
    reaction: np.ndarray  # (nt, nj, 6)
    energy: np.ndarray  # (nt,) kinetic
    residual: np.ndarray  # (nt,) of the ledger
    instants: tuple[tuple[str, float], ...]


def run(description, how, duration, *, units=SI, frame=HERE, output_step=None, disturbed=0.0):
    """The result of a run, in its own units and frame. `disturbed`: a relative change of all start velocities."""
    mechanism = build(description, units, frame).build()
    options = {"method": how.integrator}
    if how.coordinates != "absolute":
        options["coordinates"] = how.coordinates
    if how.step is not None:
        options["step"] = float(units.of(how.step, time=1))
    else:
        options["tolerance"] = how.tolerance
    if how.integrator in ("generalised-alpha", "hht"):
        options |= {"newton_tolerance": NEWTON, "rho_inf": how.rho_inf}
    if output_step is not None:
        options["output_step"] = float(units.of(output_step, time=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RedundantConstraintWarning)
        if disturbed:
            mechanism = _disturbed(mechanism, disturbed)
        return flexmb.simulate(
            mechanism, float(units.of(duration, time=1)), events=events_of(description, units), **options
        )


def _disturbed(mechanism, size):
    """The mechanism with its bodies displaced and sped up by `size`, of lengths, radians and of the speeds they have; `simulate` makes that fit the joints."""
    from dataclasses import replace

    rng, state, flat = np.random.default_rng(0), mechanism.initial, compiled(mechanism)
    w = state.w * (1 + size * rng.choice([-1.0, 1.0], len(state.w)))
    q = state.q.copy()
    for s in flat.q_start[:-1]:
        q[s : s + 3] += size * mechanism.length * rng.choice([-1.0, 1.0], 3)
    return replace(mechanism, initial=replace(state, q=q, w=w))


def seen(description, result, units=SI, frame=HERE):
    """What an observer at rest with SI instruments sees of a run."""
    R, nb, t = frame.rotation, len(description.bodies), units.si(np.array(result.t), time=1)
    frames = [result.frame(f"body{k}") for k in range(nb)]
    position = np.stack([units.si(np.array(p), length=1) for p, _ in frames], axis=1)
    attitude = np.stack([np.einsum("ji,tjk->tik", R, A) for _, A in frames], axis=1)
    starts = compiled(result.mechanism).v_start[:nb]
    w = np.array(result.w)
    v = np.stack([units.si(np.einsum("tij,tj->ti", A, w[:, s : s + 3]), 1, 0, -1) for s, (_, A) in zip(starts, frames, strict=True)], axis=1)  # fmt: skip
    spin = np.stack([units.si(np.einsum("tij,tj->ti", A, w[:, s + 3 : s + 6]), time=-1) for s, (_, A) in zip(starts, frames, strict=True)], axis=1)  # fmt: skip
    names = [j.name for j in result.mechanism.joints if j.kind != "locked"]
    reactions = np.array([result.reaction(name) for name in names]).reshape(len(names), len(t), 2, 3)
    reactions[:, :, 0], reactions[:, :, 1] = (
        units.si(reactions[:, :, 0], 1, 1, -2),
        units.si(reactions[:, :, 1], 2, 1, -2),
    )
    angle, travel = (
        [np.array(result.coordinate(j.name, dof)) for j in description.joints if dof in MOTIONS.get(j.kind, ())]
        for dof in ("rotation", "translation")
    )
    elastic = [units.si(np.array(result.elastic(f"body{k}")), 1, 0.5) for k in range(nb)]
    return Seen(
        t, (position - frame.shift - frame.boost * t[:, None, None]) @ R, attitude, (v - frame.boost) @ R, spin @ R,
        np.concatenate(elastic, axis=1), np.reshape(angle, (-1, len(t))).T, units.si(np.reshape(travel, (-1, len(t))), 1).T, np.einsum("ntsk,kj->tnsj", reactions, R).reshape(len(t), len(names), 6),
        units.si(result.ledger.kinetic, 2, 1, -2), units.si(result.ledger.residual, 2, 1, -2),
        tuple((h.event, float(units.si(h.t, time=1))) for h in result.happened),
    )  # fmt: skip


@dataclass(frozen=True)
class Scales:
    """The sizes by which differences are judged: length, speed, elastic coordinate, force, moment and mass of one motion."""

    length: float
    speed: float
    spin: float
    elastic: float
    force: float
    moment: float
    mass: float


def scales(motion, mass):
    """Of a motion; forces are at least what would accelerate the mass to its speed within the run."""
    length = max(1.0, float(np.abs(motion.position).max()))
    speed, spin = float(np.abs(motion.velocity).max()), float(np.abs(motion.spin).max())
    speed = max(speed, spin * length, length / motion.t[-1])
    reaction = np.abs(motion.reaction).reshape(-1, 2, 3).max(axis=(0, 2), initial=0.0)
    force = max(float(reaction[0]), mass * speed / motion.t[-1])
    return Scales(length, speed, speed / length, length, force, max(float(reaction[1]), force * length), mass)


def difference(a, b, s, upto=None):
    """The largest differences of two motions at common times: of positions and velocities, and of reactions, relative to their scales, over time (2, nt)."""
    n = min(len(a.t), len(b.t)) if upto is None else upto
    assert np.allclose(a.t[:n], b.t[:n], rtol=0, atol=1e-9 * a.t[-1])

    def size(x, y, scale):
        d = np.abs(x[:n] - y[:n]).reshape(n, -1)
        return d.max(axis=1, initial=0.0) / scale

    motion = [
        size(a.position, b.position, s.length), size(a.attitude, b.attitude, 1.0), size(a.velocity, b.velocity, s.speed),
        size(a.spin, b.spin, s.spin), size(a.elastic, b.elastic, s.elastic), size(a.angle, b.angle, 1.0), size(a.travel, b.travel, s.length),
    ]  # fmt: skip
    reactions = [
        size(a.reaction[:, :, :3], b.reaction[:, :, :3], s.force),
        size(a.reaction[:, :, 3:], b.reaction[:, :, 3:], s.moment),
    ]
    return np.max(motion, axis=0), np.max(reactions, axis=0)
