"""Cables over pulleys, belts and elastic relations: closed forms, energies, refusals, files."""

import numpy as np
import pytest

import flexmb
from flexmb.files.results.result_file import load_result, save_result
from flexmb.forces import gap_spring
from flexmb.linear import equilibrium, linearise

G = 9.81


def weight(system, name, mass, x, z, speed=0.0):
    """A body that slides along the vertical."""
    body = flexmb.rigid_body(name, mass=mass, inertia=(1, 1, 1), points={"hook": (0, 0, 0)})
    body = system.add(body, position=(x, 0, z), velocity=(0, 0, speed))
    system.prismatic(f"{name} guide", system.ground, body, axis=(0, 0, 1), at=(x, 0, z))
    return body


def tackle(stiffness=1e5, damping=0.0, light=1.0, heavy=3.0, speed=0.0):
    """A cable from the ceiling down around a loose pulley with a heavy body, up over two fixed pulleys, down to a light
    one: three hanging pieces, and one of constant length."""
    system = flexmb.System(gravity=(0, 0, -G))
    load = weight(system, "load", heavy, 0.0, -1.0, speed)
    counter = weight(system, "counter", light, 2.0, -1.0, -2 * speed)
    tops = [system.ground.at((x, 0, 0)) for x in (0, 2)]
    system.cable(
        "rope", [tops[0], load["hook"], tops[0], tops[1], counter["hook"]], stiffness=stiffness, damping=damping
    )
    return system


def test_a_tackle_shares_its_load_and_vibrates_as_computed():
    heavy, stiffness = 3.0, 1e4
    system = tackle(stiffness, heavy=heavy)
    system.drive("counter guide", flexmb.time_functions.constant(0.0))
    rest = equilibrium(system)
    assert -rest.result.effort("rope")[0] == pytest.approx(heavy * G / 2, rel=1e-9)
    assert rest.result.stretch("rope")[0] == pytest.approx(heavy * G / 2 / stiffness, rel=1e-9)
    assert rest.result.force("rope")[0, 2] == pytest.approx(heavy * G / 2)  # of the first piece
    modes = linearise(rest).modes()  # the elongation is twice the displacement
    assert np.abs(modes.eigenvalues).max() == pytest.approx(np.sqrt(4 * stiffness / heavy), rel=1e-6)


def test_a_stiff_cable_conserves_its_length_and_gives_the_acceleration_of_the_tackle():
    light, heavy = 1.0, 3.0
    result = flexmb.simulate(tackle(1e7, 2e3, light, heavy), 0.5, step=2e-4)
    fall = (heavy - 2 * light) * G / (heavy + 4 * light)
    assert result.coordinate("load guide")[-1] == pytest.approx(-0.5 * fall * 0.25, rel=1e-4)
    assert result.coordinate("counter guide")[-1] == pytest.approx(fall * 0.25, rel=1e-4)
    assert result.energy_by_element()["rope"].kind == "cable"


def test_a_slack_cable_does_nothing_and_its_energies_balance():
    result = flexmb.simulate(tackle(2e3, 5.0, speed=2.0), 1.5, step=1e-3)
    stretch = result.stretch("rope")
    assert stretch.min() < -0.09 < 0.01 < stretch.max()
    assert (result.effort("rope") <= 0).all()
    assert not result.effort("rope")[stretch < 0].any()
    energy = result.energy_by_element()["rope"]
    assert energy.stored == pytest.approx(0.5 * 2e3 * np.maximum(stretch, 0) ** 2)
    assert not energy.work.any()
    assert energy.heat[-1] > 0
    assert result.ledger.springs == pytest.approx(energy.stored)
    assert result.ledger.imbalance < 1e-3


def test_a_free_length_is_that_of_all_pieces_of_the_cable():
    """Also of those between pulleys on one body, of which there are three here, on the ground and on the load."""
    system = flexmb.System()
    load = system.add(flexmb.rigid_body("load", mass=1.0, inertia=(1, 1, 1)), position=(0, 0, -1.0))
    system.prismatic("guide", system.ground, load, axis=(0, 0, 1), at=(0, 0, -1))
    points = [(3, 0, 0), (1, 0, 0), (-0.2, 0, 0), (-0.2, 0, -1), (0.3, 0, -1), (0.3, 0, 0), (0.7, 0.1, 0)]
    on_load = (3, 4)
    places = [load.at(p, frame="world") if k in on_load else system.ground.at(p) for k, p in enumerate(points)]
    whole = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    system.cable("rope", places, stiffness=20.0, length=whole - 0.25)
    result = flexmb.simulate(system, 1e-3, step=1e-3)
    assert result.stretch("rope")[0] == pytest.approx(0.25, rel=1e-12)
    assert -result.effort("rope")[0] == pytest.approx(5.0, rel=1e-12)


def test_the_ledger_of_a_cable_falls_with_the_square_of_the_step():
    coarse, fine = (flexmb.simulate(tackle(2e3, 5.0), 0.3, step=h, rho_inf=1.0).ledger.imbalance for h in (4e-3, 2e-3))
    assert coarse / fine == pytest.approx(4.0, abs=0.5)


def belt(crossed=False, preload=40.0, damping=0.0):
    system = flexmb.System()
    for name, x, inertia in (("small", 0.0, 0.02), ("large", 0.5, 0.1)):
        body = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(inertia,) * 3), position=(x, 0, 0))
        system.revolute(f"{name} shaft", system.ground, body, axis=(0, 0, 1), at=(x, 0, 0))
    options = {"stiffness": 2e4, "damping": damping, "preload": preload, "crossed": crossed}
    system.belt("belt", "small shaft", "large shaft", radii=(0.05, 0.1), **options)
    return system


@pytest.mark.parametrize("crossed", [False, True])
def test_a_belt_reduces_the_speed_and_vibrates_as_computed(crossed):
    held = belt(crossed)
    held.drive("small shaft", flexmb.time_functions.constant(0.0))
    expected = np.sqrt(2 * 2e4 * 0.1**2 / 0.1)  # both strands work
    assert np.abs(linearise(equilibrium(held)).modes().eigenvalues).max() == pytest.approx(expected, rel=1e-6)
    system = belt(crossed, damping=60.0)
    system.motor("engine", "small shaft", 0.5)
    result = flexmb.simulate(system, 2.0, step=1e-3)
    small, large = (result.coordinate_rate(f"{name} shaft")[-1] for name in ("small", "large"))
    assert large / small == pytest.approx(-0.5 if crossed else 0.5, rel=1e-3)
    energy = result.energy_by_element()["belt"]
    assert energy.kind == "elastic relation"
    assert energy.heat[-1] > 0
    assert energy.stored[0] == pytest.approx(40.0**2 / 2e4)
    assert result.ledger.imbalance < 1e-4


def test_a_strand_of_a_belt_slackens_and_then_only_the_other_pulls():
    system = belt(preload=10.0)
    system.motor("engine", "small shaft", 5.0)
    result = flexmb.simulate(system, 0.02, step=1e-4)
    ahead = 0.05 * result.stretch("belt")
    tight = ahead > 10.0 / 2e4
    assert tight.any()
    assert result.effort("belt")[tight] == pytest.approx(-0.05 * (10.0 + 2e4 * ahead[tight]))


def test_a_gear_with_play_strikes_on_both_sides_and_saves(tmp_path):
    system = flexmb.System()
    for name, inertia in (("wheel", 0.1), ("pinion", 0.01)):
        body = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(inertia,) * 3))
        system.revolute(name + " shaft", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    system.set_speed("pinion shaft", 1.0)
    factors = {"pinion shaft": 1.0, "wheel shaft": 3.0}
    system.elastic_relation("front", factors, law=gap_spring(50.0, 0.01, opening=True))
    system.elastic_relation("back", factors, law=gap_spring(50.0, 0.01))
    result = flexmb.simulate(system, 1.0, step=1e-3)
    momentum = result.coordinate_rate("pinion shaft") * 0.01 * -3 + result.coordinate_rate("wheel shaft") * 0.1
    assert momentum == pytest.approx(-0.03, abs=1e-6)  # the efforts on both are as 1 to 3
    play = result.coordinate("pinion shaft") + 3 * result.coordinate("wheel shaft")
    assert play.max() > 0.01
    assert play.min() < -0.01
    loaded = load_result(save_result(result, tmp_path / "play.h5"))
    assert loaded.effort("front") == pytest.approx(result.effort("front"))
    assert loaded.energy_by_element()["back"].stored == pytest.approx(result.energy_by_element()["back"].stored)


def test_bad_cables_and_belts_are_refused():
    system = flexmb.System()
    body = weight(system, "body", 1.0, 0.0, -1.0)
    top = system.ground.at((0, 0, 0))
    for places, message in (
        ([top], "at least two places"),
        ([top, top, body["hook"]], "places 1 and 2 coincide"),
        ([top, body], "runs over places"),
    ):
        with pytest.raises(flexmb.MechanismError, match=message):
            system.cable("rope", places, stiffness=1.0)
    with pytest.raises(flexmb.MechanismError, match="length must be a positive number"):
        system.cable("rope", [top, body["hook"]], stiffness=1.0, length=-1)
    with pytest.raises(flexmb.LawError, match="stiffness"):
        system.cable("rope", [top, body["hook"]], stiffness=-1.0)
    with pytest.raises(flexmb.MechanismError, match="radii are two positive lengths"):
        system.belt("belt", "a", "b", radii=(0.1, 0), stiffness=1.0)
    with pytest.raises(flexmb.ExpressionError, match=r"depends on x alone; found 'xdot'"):
        flexmb.expression("-k*x", stored="k*xdot**2", k=1.0)
