"""Cantilever on a prescribed base motion: translation and rotation together, small motion.

A solid 3D steel beam is clamped on a base that is shaken transversely and tilted. Its tip, seen from the base, must
move as the modal superposition of beam theory says, and the work of the base's driver must be found
in the body.
"""

import numpy as np

import flexmb
import reduction
from fem import Interface, Model
from fem.mesh.structured_meshes import block
from validation.beams import ClampedFreeBeam, steel
from validation.plot import Plot
from validation.row import Row

CASE = "moving-base-cantilever"
LENGTH, HEIGHT, WIDTH = 1.0, 0.02, 0.03
DURATION = 0.5
SHAKE = flexmb.time_functions.harmonic(amplitude=1e-3, frequency=9.0)
TILT = flexmb.time_functions.harmonic(amplitude=1.5e-3, frequency=23.0)


def _from_rest(f: flexmb.time_functions.TimeFunction, ramp: float) -> flexmb.time_functions.TimeFunction:
    """`f` faded in smoothly, so that base and beam start at rest."""
    g = flexmb.time_functions.smooth_step(0.0, ramp, 1.0)
    return flexmb.time_functions.function(
        lambda t: g.value(t) * f.value(t),
        lambda t: g.rate(t) * f.value(t) + g.value(t) * f.rate(t),
        lambda t: g.acceleration(t) * f.value(t) + 2 * g.rate(t) * f.rate(t) + g.value(t) * f.acceleration(t),
    )


def build(poissons_ratio: float = 0.0) -> flexmb.System:
    """The beam on its moving base: hex20, rigid clamp, averaging tip, Craig-Bampton attached to the clamp."""
    mesh = block("hexahedron20", (LENGTH, HEIGHT, WIDTH), (40, 2, 2))
    part = Model(mesh, steel(poissons_ratio)).with_interfaces(clamp="x0", tip=Interface("x1", kind="average"))
    beam = flexmb.flexible_body(part, reduction.craig_bampton(part, modes=8, reference_frame="clamp"), name="beam")
    system = flexmb.System(name=CASE)
    handle = system.add(beam)
    place = handle["clamp"]
    system.prescribe(
        "base", system.ground.at(place.point), place, y=_from_rest(SHAKE, 0.1), rotation=_from_rest(TILT, 0.1)
    )
    return system


def run() -> list[Row | Plot]:
    """Simulate and compare."""
    result = flexmb.simulate(build(), DURATION, step=1e-5)
    shake, rotate = _from_rest(SHAKE, 0.1), _from_rest(TILT, 0.1)
    angle = np.array([rotate.value(t) for t in result.t])
    centre_line = result.position("beam.tip") - np.array([0.0, HEIGHT / 2, WIDTH / 2])
    # the tip seen from the moving base
    root = result.position("beam.clamp") - np.array([0.0, HEIGHT / 2, WIDTH / 2])
    relative = (centre_line - root)[:, 1] * np.cos(angle) - (centre_line - root)[:, 0] * np.sin(angle)

    beam = ClampedFreeBeam(LENGTH, HEIGHT, WIDTH, E=2.1e11, G=1.05e11, density=7850.0)
    fine = np.linspace(0.0, DURATION, 20001)
    exact = beam.relative_tip_motion(
        fine,
        lambda t: np.array([shake.acceleration(x) for x in t]),
        lambda t: np.array([rotate.acceleration(x) for x in t]),
    )
    exact = np.interp(result.t, fine, exact)
    peak = np.abs(exact).max()
    ledger = result.ledger
    energy = ledger.total.max()
    residual = np.abs(ledger.residual).max()
    return [
        Row(
            CASE,
            "relative tip motion, largest error / peak",
            peak,
            "exact",
            np.abs(relative).max(),
            np.abs(relative - exact).max() / peak,
            5e-3,
        ),
        Row(
            CASE,
            "driver work against body energy",
            ledger.driver_work[-1],
            "exact",
            ledger.total[-1],
            residual / energy,
            1e-6,
        ),
        Plot("Tip seen from the moving base", "time (s)", "deflection (m)", {"solid, reduced": (result.t, relative), "reference: beam theory": (result.t, exact)}),
    ]  # fmt: skip
