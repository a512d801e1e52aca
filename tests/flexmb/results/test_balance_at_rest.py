"""Bodies at rest have no energy warnings from what iterations leave, and wrong balances of small motions still have."""

import warnings
from dataclasses import replace

import pytest

import flexmb
from flexmb.contact import Box, Plane
from flexmb.files import load_result, save_result

MASS, GRAVITY = 2.0, 9.81


def box_above_ground(height, slope=0.0, friction=0.5):
    system = flexmb.System(gravity=(slope * GRAVITY, 0, -GRAVITY))
    box = flexmb.rigid_body("box", mass=MASS, inertia=(0.02, 0.03, 0.04))
    box = system.add(box, position=(0.1, 0.2, 0.1 + height))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    system.contact("floor", floor, Box(0.4, 0.3, 0.2).on(box.at((0, 0, 0))), friction=friction)
    return system


def hung(stiffness, depth=0.0, pulleys=False):
    """A mass that hangs on a cable, `depth` below its rest; with pulleys, a second one hangs on the other end."""
    system = flexmb.System(gravity=(0, 0, -GRAVITY))
    length = 10.0 - 100.0 * GRAVITY / stiffness
    mass = flexmb.rigid_body("mass", mass=100.0, inertia=(5.0, 5.0, 5.0), points={"top": (0, 0, 0.5)})
    places = [system.ground.at((1, 0, 0)), system.add(mass, position=(1, 0, -10.5 - depth))["top"]]
    if pulleys:
        other = system.add(replace(mass, name="other"), position=(-1, 0, -8.5))
        places, length = [other["top"], system.ground.at((-1, 0, 0)), *places], length + 10.0
    system.cable("rope", places, stiffness=stiffness, damping=100.0, length=length)
    return system


def warned(result):
    """Whether the verdict on the energy balance is against a result."""
    return flexmb.EnergyBalanceWarning in [category for category, _ in result.verdict.findings]


@pytest.mark.parametrize("step", [0.01, 0.05, 0.1])
@pytest.mark.parametrize(("slope", "friction"), [(0.0, 0.0), (0.0, 0.5), (0.2, 0.5)])
@pytest.mark.parametrize("height", [0.0, -1e-9, 1e-9])
def test_a_box_that_rests_on_the_ground_has_no_imbalance(step, slope, friction, height):
    """Points that touch approach each other at 1e-6 of the speed of a free fall in a step, where iterations go on."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = flexmb.simulate(box_above_ground(height, slope, friction), 2.0, step=step)
    assert result.verdict.imbalance == 0.0
    fallen = 0.5 * GRAVITY * step**2
    assert result.ledger.round_off < 1e-6 * MASS * GRAVITY * fallen * 2.1 * 2.0 / step


@pytest.mark.parametrize("options", [{}, {"tolerance": 1e-4}, {"tolerance": 1e-8}, {"method": "generalised-alpha"}])
@pytest.mark.parametrize(("stiffness", "pulleys"), [(1e4, False), (1e6, False), (1e6, True)])
def test_a_mass_that_hangs_at_rest_on_a_cable_has_no_imbalance(stiffness, pulleys, options):
    """Iterations of variable steps end at a part of their tolerance, along which the weight does work."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", flexmb.EnergyBalanceWarning)
        result = flexmb.simulate(hung(stiffness, pulleys=pulleys), 1.0, **{"method": "bdf"} | options)
    assert result.verdict.imbalance == 0.0
    assert result.ledger.kinetic.max() < 1e-12


def test_heat_of_the_wrong_sign_is_found_in_small_falls_and_slides():
    """A fall by a thousandth of the way of a free fall in a step is beyond what iterations leave."""
    step = 0.1
    fallen = 0.5 * GRAVITY * step**2
    sound = flexmb.simulate(box_above_ground(1e-3 * fallen), 2.0, step=step)
    assert not warned(sound)
    assert warned(replace(sound, ledger=replace(sound.ledger, impacts=-sound.ledger.impacts)))
    slides = flexmb.simulate(box_above_ground(0.0, slope=0.2, friction=0.1), 0.1, step=0.02)
    assert not warned(slides)
    assert warned(replace(slides, ledger=replace(slides.ledger, damper_heat=-slides.ledger.damper_heat)))


@pytest.mark.parametrize("amplitude", [1e-5, 1e-3])
def test_heat_of_the_wrong_sign_is_found_in_small_vibrations_of_a_cable(amplitude):
    """What iterations leave hides none of it. Vibrations of 1e-5 have a heat of 0.2 % of the energy that the weight
    and the cable exchange, so that the ledger has the error, and the verdict is not against it."""
    sound = flexmb.simulate(hung(1e6, amplitude), 0.5, method="bdf", tolerance=1e-8)
    assert not warned(sound)
    wrong = replace(sound, ledger=replace(sound.ledger, damper_heat=-sound.ledger.damper_heat))
    assert abs(wrong.ledger.residual).max() > 100 * sound.ledger.round_off
    assert wrong.verdict.imbalance > 1e-3
    assert warned(wrong) == (amplitude == 1e-3)


def test_a_vibration_at_rest_that_the_formula_of_a_step_feeds_is_found():
    """Fixed steps of the fifth order, a radian of the vibration long, of which the formula is unstable."""
    with pytest.warns(flexmb.EnergyBalanceWarning, match="does not close"):
        flexmb.simulate(hung(1e6, pulleys=True), 1.0, method="bdf", step=1e-2)


def test_files_keep_the_energy_that_iterations_leave(tmp_path):
    result = flexmb.simulate(box_above_ground(0.0), 0.5, step=0.1)
    assert load_result(save_result(result, tmp_path / "box.h5")).ledger.round_off == result.ledger.round_off
