"""A flexible four-bar of solid bars (the layout of a superelement tutorial of FEDEM): rigid against flexible, stresses from beam theory, vibrations along the motion.

Crank 0.15 m, coupler and output 0.375 m, ground 0.30 m, gravity along -y, one second in which the crank gets up to speed; steel bars of 20 mm (in the plane) by 10 mm.
"""

from dataclasses import replace

import numpy as np

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.analyses.fidelity import with_fidelity
from flexmb.linear import along_motion, equilibrium
from flexmb.results.stress import stress_at
from validation.plot import Plot
from validation.row import Row

CASE = "four-bar"
CRANK, COUPLER, OUTPUT, GROUND = 0.15, 0.375, 0.375, 0.30
WIDTH, DEPTH, SPEED = 0.02, 0.01, 2 * np.pi * 2
Z = (0.0, 0.0, 1.0)


def bar(length: float, modes: int) -> flexmb.Body:
    """A bar along x, its axis at (y, z) = half its section."""
    model = fem.Model(block("hexahedron20", (length, WIDTH, DEPTH), (12, 2, 1)), fem.Material.steel())
    model = model.with_interfaces(start="x0", end="x1")
    return flexmb.flexible_body(model, reduction.craig_bampton(model, modes), name="bar", modal_damping=0.01)


def coupler_end(angle: np.ndarray) -> np.ndarray:
    """Where coupler and output meet (n, 2), by circles."""
    pin = CRANK * np.column_stack([np.cos(angle), np.sin(angle)])
    d = np.array([GROUND, 0.0]) - pin
    length = np.linalg.norm(d, axis=1)[:, None]
    along = (COUPLER**2 - OUTPUT**2 + length**2) / (2 * length)
    across = np.column_stack([-d[:, 1], d[:, 0]]) / length
    return np.asarray(pin + d / length * along + across * np.sqrt(COUPLER**2 - along**2))


def build(modes: int = 14) -> flexmb.System:
    """The crank is driven, upright at the start."""
    system = flexmb.System(gravity=(0, -9.81, 0), name=CASE)
    places = {"A": np.zeros(2), "B": np.array([0.0, CRANK]), "C": coupler_end(np.array([np.pi / 2]))[0], "D": np.array([GROUND, 0.0])}  # fmt: skip

    def add(name: str, a: str, b: str) -> flexmb.mechanism.attachments.BodyHandle:
        d = places[b] - places[a]
        angle = float(np.arctan2(d[1], d[0]))
        c, s = np.cos(angle), np.sin(angle)
        corner = places[a] - np.array([[c, -s], [s, c]]) @ [0.0, WIDTH / 2]
        return system.add(bar(float(np.linalg.norm(d)), modes), name=name, position=(*corner, -DEPTH / 2), orientation=(0, 0, angle))  # fmt: skip

    crank, coupler, output = add("crank", "A", "B"), add("coupler", "B", "C"), add("output", "D", "C")
    at = {name: (*p, 0.0) for name, p in places.items()}
    system.revolute("A", system.ground.at(at["A"]), crank["start"], axis=Z)
    system.revolute("B", crank["end"], coupler["start"], axis=Z)
    system.joint("point-on-line", "C", coupler["end"], output["end"], axis=Z)
    system.revolute("D", system.ground.at(at["D"]), output["start"], axis=Z)
    system.drive("A", flexmb.time_functions.spin_up(SPEED, 0.5))
    return system


def _bending_stress(result: flexmb.Result, x: float) -> np.ndarray:
    """Axial stress (nt,) on the upper face of the coupler at `x`, from the forces in B and the inertia of the bar up to there, as a beam."""
    R = result.frame("coupler")[1]
    force = np.einsum("tki,tk->ti", R, result.reaction("B")[:, :3])  # on the coupler, in its axes
    moment = result.reaction("B")[:, 5]
    w, wdot = (x_[:, 6 + result.mechanism.bodies[0].modes :][:, :6] for x_ in (result.w, result.wdot))
    gravity = np.einsum("tki,k->ti", R, result.mechanism.gravity)
    omega, alpha = w[:, 5], wdot[:, 5]
    base = wdot[:, :2] + omega[:, None] * np.column_stack([-w[:, 1], w[:, 0]]) - gravity[:, :2]
    density = 7850.0 * WIDTH * DEPTH
    y = WIDTH / 2  # the bar's axis in its frame
    ax = base[:, 0] - alpha * y, -(omega**2)  # acceleration along x at s: ax[0] + ax[1] s
    ay = base[:, 1] - omega**2 * y, alpha
    normal = density * (ax[0] * x + ax[1] * x**2 / 2) - force[:, 0]
    # moment about z of what acts on the part up to x, about its cut: inertia less applied
    bending = density * (-(ay[0] * x**2 / 2 + ay[1] * x**3 / 6)) + force[:, 1] * x - moment
    return np.asarray(normal / (WIDTH * DEPTH) - bending * (WIDTH / 2) / (DEPTH * WIDTH**3 / 12))


def run() -> list[Row | Plot]:
    """One second."""
    mechanism = build().build()
    rigid = flexmb.simulate(with_fidelity(mechanism, "rigid"), 1.0, step=1e-3)
    angle = np.pi / 2 + rigid.coordinate("A")
    off = float(np.abs(rigid.position("coupler.end")[:, :2] - coupler_end(angle)).max())
    sagged = replace(mechanism, initial=equilibrium(mechanism).state)
    result = flexmb.simulate(sagged, 1.0, step=2e-5, output_step=2e-3)
    ledger = result.ledger
    energy = float(np.abs(ledger.residual).max() / ledger.elastic.max())
    place, stress = stress_at(result, "coupler", (COUPLER / 2, WIDTH, DEPTH / 2))
    beam = _bending_stress(result, float(place[0]))
    apart = float(np.abs(stress[:, 0] - beam).max() / np.abs(beam).max())
    turn = along_motion(result, count=3, times=26)
    richer = along_motion(flexmb.simulate(build(28), 0.02, step=1e-4), count=3, times=2)
    better = float(np.abs(richer.frequencies[0, :3] / turn.frequencies[0, :3] - 1).max())
    return [
        Row(CASE, "rigid: end of the coupler against circles (m)", 0.0, "exact", off, off, 1e-9),
        Row(CASE, "flexible: energy residual / strain energy", 0.0, "exact", energy, energy, 1e-3),
        Row(CASE, "stress in the middle of the coupler against beam theory", 0.0, "recomputed", apart, apart, 0.01),
        Row(CASE, "three vibrations at the start with twice the modes", 0.0, "recomputed", better, better, 0.01),
        Plot("Axial stress on the upper face of the coupler", "time (s)", "stress (Pa)", {"recovered": (result.t, stress[:, 0]), "reference: beam theory from the joint forces": (result.t, beam)}),
    ]  # fmt: skip
