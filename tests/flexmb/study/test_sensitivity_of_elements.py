"""Derivatives with cables, belts and curves: the adjoint agrees with differences of the motion."""

import numpy as np
import pytest

import flexmb
from flexmb.errors import StudyError
from flexmb.study import adjoint_gradient, gradient

WIRE = flexmb.curves.through([(0.2 * k, 0.05 * (k - 3) ** 2) for k in range(8)])


def winch(mass, stiffness, radius, curve=WIRE):
    """A bead on a wire, pulled by a cable over a pulley whose other end hangs on a mass, with a belt between shafts."""
    system = flexmb.System(gravity=(0, -9.81, 0))
    bead = flexmb.rigid_body("bead", mass=mass, inertia=(0.01,) * 3, points={"eye": (0, 0, 0)})
    bead = system.add(bead, position=(0.2, 0.2, 0))
    system.point_on_curve("wire", system.ground.at((0, 0, 0)), bead["eye"], curve)
    weight = flexmb.rigid_body("weight", mass=2.0, inertia=(1, 1, 1), points={"eye": (0, 0, 0)})
    weight = system.add(weight, position=(1.6, 0.3, 0))
    system.prismatic("guide", system.ground, weight, axis=(0, 1, 0), at=(1.6, 0.3, 0))
    run = [bead["eye"], system.ground.at((1.6, 1, 0)), weight["eye"]]
    system.cable("rope", run, stiffness=stiffness, damping=5.0, length=2.308)  # taut for 0.2 s
    for name, x in (("first", 2.0), ("second", 2.5)):
        wheel = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(0.1,) * 3), position=(x, 0, 0))
        system.revolute(f"{name} shaft", system.ground, wheel, axis=(0, 0, 1), at=(x, 0, 0))
    system.belt("belt", "first shaft", "second shaft", radii=(radius, 0.1), stiffness=4e3, damping=5.0, preload=100.0)
    system.motor("engine", "first shaft", 1.0)
    return system


@pytest.mark.long
@pytest.mark.parametrize(
    "series", [lambda r: r.position("bead.eye")[:, 0], lambda r: r.coordinate("second shaft")], ids=["bead", "belt"]
)
def test_the_adjoint_of_cables_belts_and_curves_agrees_with_differences(series):
    at = {"mass": 0.5, "stiffness": 3e3, "radius": 0.05}
    options = {"step": 1e-3}
    found = adjoint_gradient(winch, at, 0.15, series=series, over="final", **options)
    known = gradient(winch, at, 0.15, measure=lambda r: {"end": float(series(r)[-1])}, **options)
    scale = np.array(list(at.values()))
    a, b = found.of("result") * scale, known.of("end") * scale
    assert a == pytest.approx(b, abs=1e-6 * np.abs(b).max())


def test_a_curve_that_depends_on_a_parameter_is_refused_by_the_adjoint():
    def model(height):
        curve = flexmb.curves.through([(0.2 * k, height * (k - 3) ** 2) for k in range(8)])
        return winch(0.5, 3e3, 0.05, curve)

    with pytest.raises(StudyError, match="curve"):
        adjoint_gradient(model, {"height": 0.05}, 0.02, series=lambda r: r.position("bead.eye")[:, 0], step=1e-3)
