"""Random bodies that fall, slide and bounce in exact contact: no run gains energy but by Newton's or the algebraic law with friction, and the ledger says so."""

from dataclasses import replace

import numpy as np
import pytest

import flexmb
from flexmb.contact import Box, Capsule, Plane, Sphere


def thrown(seed, impact, friction, restitution):
    """A random body above a random slope, and another one that may fall on it."""
    rng = np.random.default_rng(seed)
    system = flexmb.System(gravity=(0, 0, -9.81))
    slope = Plane().on(system.ground.at((0, 0, 0)), axis=(*rng.uniform(-0.3, 0.3, 2), 1))
    shape = [Sphere(0.1), Box(0.2, 0.3, 0.15), Capsule(0.06, 0.25)][seed % 3]
    body = flexmb.rigid_body("body", mass=1.0, inertia=np.diag(rng.uniform(0.004, 0.006, 3)))
    body = system.add(body, position=(0, 0, 0.35), velocity=rng.normal(size=3), angular_velocity=6 * rng.normal(size=3))
    own = shape.on(body.at((0, 0, 0)))
    system.contact("slope", slope, own, friction=friction, restitution=restitution, impact=impact)
    return system


@pytest.mark.parametrize("impact", ["newton", "poisson", "stronge"])
@pytest.mark.parametrize("seed", range(4))
def test_no_run_gains_energy_beyond_the_residual(seed, impact):
    friction = 0.0 if impact == "newton" else 0.4
    result = flexmb.simulate(thrown(seed, impact, friction, 0.7), 0.5, step=2e-3, output_step=2e-3)
    ledger = result.ledger
    spent = ledger.damper_heat + ledger.impacts
    scale = ledger.kinetic.max()
    assert len(result.happened) > 0
    assert ledger.impact_gain < 1e-12 * scale
    assert min(event.lost for event in result.happened) > -1e-9 * scale
    assert np.diff(spent).min() > -1e-12 * scale
    rises = np.diff(ledger.total).max()
    assert rises <= 2 * np.abs(np.diff(ledger.residual)).max() + 1e-12 * scale
    assert np.abs(ledger.residual).max() < 2e-3 * scale
    assert "law with friction gave" not in str(ledger)


@pytest.mark.parametrize("impact", ["newton", "algebraic"])
def test_laws_that_may_give_energy_with_friction_say_so_in_the_ledger(impact):
    """A rod at 1 rad that hits with its end: by Newton's law it sticks, and both velocities of the end, and the energy
    of its impulse, follow; by the algebraic law the friction would drive the slip, and opposes it instead."""
    angle, inertia, speed, r = 1.0, 0.02, 0.75, 0.01
    x, y = -0.5 * np.cos(angle), -0.5 * np.sin(angle)
    W = np.array([[1 + x * x / inertia, -x * y / inertia], [-x * y / inertia, 1 + y * y / inertia]])
    before = np.array([-1.0, speed])
    impulse = np.linalg.solve(W, [2.0, -speed])
    assert abs(impulse[1]) < 0.6 * impulse[0]
    if impact == "algebraic":
        assert impulse[1] > 0.0
        impulse = 2.0 / (W[0] @ [1.0, -0.6]) * np.array([1.0, -0.6])
    given = impulse @ (before + 0.5 * W @ impulse)
    assert given > 0.1
    system = flexmb.System()
    rod = flexmb.rigid_body("rod", mass=1.0, inertia=(inertia, inertia, inertia))
    rod = system.add(rod, position=(0, 0, -y + 1e-3), velocity=(speed, 0, -1.0))
    end = Sphere(r).on(rod.at((x, 0, y + r)))
    system.contact("floor", Plane().on(system.ground.at((0, 0, 0))), end, friction=0.6, restitution=1.0, impact=impact)
    result = flexmb.simulate(system, 0.01, step=1e-3)
    assert result.ledger.impacts[-1] == pytest.approx(-given, rel=1e-6)
    assert result.ledger.impact_gain == pytest.approx(given, rel=1e-6)
    rounded = replace(result.ledger, impacts=-1e-15 * result.ledger.exchange * (result.t > 0))
    assert rounded.impact_gain > 0
    assert "gave:" not in str(rounded)
    assert result.happened[0].lost == pytest.approx(-given, rel=1e-6)
    assert f"impacts under Newton's or the algebraic law with friction gave:  {given:.2e}" in str(result.ledger)
