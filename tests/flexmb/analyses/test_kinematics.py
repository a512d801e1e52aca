"""Positions from joint values, singular positions, degrees of freedom and unique reactions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mechanisms import double_pendulum, random_flexible_body, slider_crank
from test_cli import is_picture
from typer.testing import CliRunner

import flexmb
from flexmb.analyses.kinematics import assemble_at, joint_sweep
from flexmb.analyses.mobility import least_reactions, mobility
from flexmb.cli.main import app
from flexmb.errors import JointError, KinematicsError

Z = (0.0, 0.0, 1.0)


def rod_between(system, name, p, q):
    p, q = np.array([*p, 0.0]), np.array([*q, 0.0])
    angle = np.arctan2(*(q - p)[1::-1])
    rod = flexmb.uniform_rod(name, mass=1.0, length=float(np.linalg.norm(q - p)))
    return system.add(rod, position=p, orientation=(0, 0, angle))


def four_bar(coupler=None):
    """Crank 3, coupler 4, output 4, ground 4 with four revolutes: three equations too many."""
    system = flexmb.System(name="four-bar")
    crank = rod_between(system, "crank", (0, 0), (0, 3))
    if coupler is None:
        middle = rod_between(system, "coupler", (0, 3), (4, 3))
    else:
        middle = system.add(coupler, position=(0, 3, 0))
    output = rod_between(system, "output", (4, -1), (4, 3))
    system.revolute("A", system.ground.at((0, 0, 0)), crank["start"], axis=Z)
    system.revolute("B", crank["end"], middle["start"], axis=Z)
    system.revolute("C", middle["end"], output["end"], axis=Z)
    system.revolute("D", system.ground.at((4, -1, 0)), output["start"], axis=Z)
    return system


def parallelogram(cranks=3):
    """Equal cranks on a bar, all in the plane: every body planar, pins with two equations."""
    system = flexmb.System(name="parallelogram")
    ground, angle = system.ground, 1.0
    bar = system.add(
        flexmb.uniform_rod("bar", mass=1.0, length=2.0), position=(0.5 * np.cos(angle), 0.5 * np.sin(angle), 0)
    )
    system.planar("plane of bar", ground, bar["start"], normal=Z)
    for k in range(cranks):
        crank = system.add(
            flexmb.uniform_rod(f"crank {k}", mass=1.0, length=0.5), position=(k, 0, 0), orientation=(0, 0, angle)
        )
        system.planar(f"plane {k}", ground, crank["start"], normal=Z)
        system.joint("point-on-line", f"foot {k}", ground, crank["start"], axis=Z)
        system.joint("point-on-line", f"head {k}", crank["end"], bar, axis=Z)
    return system


def test_a_chain_is_placed_by_its_joints():
    state = assemble_at(double_pendulum(), {"hinge": 0.3, "elbow": -4.0})
    moved = flexmb.simulate(replace(double_pendulum().build(), initial=state), 1e-3, step=1e-3)
    np.testing.assert_allclose(moved.position("first.end")[0], [np.cos(0.3), np.sin(0.3), 0], atol=1e-12)
    tip = np.array([np.cos(0.3) + np.cos(-3.7), np.sin(0.3) + np.sin(-3.7), 0])
    np.testing.assert_allclose(moved.position("second.end")[0], tip, atol=1e-12)


def test_a_loop_closes_on_its_branch_all_the_way_round():
    """The wrist of a slider-crank from its formula, through two turns of the crank."""
    angles = np.linspace(0, 4 * np.pi, 81)
    found = joint_sweep(slider_crank(), "bearing", angles)
    x = 0.15 * np.cos(angles) + np.sqrt(0.3**2 - (0.15 * np.sin(angles)) ** 2)
    np.testing.assert_allclose(found.result.frame("slider")[0][:, 0], x, atol=1e-11)
    assert not len(found.singular)
    assert "singular positions: none" in str(found)


@pytest.mark.long
def test_singular_positions_of_a_parallelogram_are_found():
    """Where all its bars lie on one line, whether a value of the sweep hits it or not, from either end."""
    for values in (np.linspace(0, 6.0, 51), np.linspace(6.0, 0, 51), np.linspace(0, 2 * (np.pi - 1), 21)):
        found = joint_sweep(parallelogram(2), "plane 0", values)
        np.testing.assert_allclose(np.sin(found.singular + 1.0), 0.0, atol=1e-5)
        assert len(found.singular) >= 1


def test_where_a_mechanism_locks_is_told():
    with pytest.raises(KinematicsError, match=r"'guide' = .* singular position of these joints"):
        joint_sweep(slider_crank(), "guide", [0.0, -0.2])  # it starts at a dead centre
    start = replace(slider_crank().build(), initial=assemble_at(slider_crank(), {"bearing": 0.5}))
    with pytest.raises(KinematicsError, match="cannot be brought to"):
        joint_sweep(start, "guide", [-0.1, -0.4])  # farther than its stroke
    with pytest.raises(JointError, match="no free motion"):
        assemble_at(slider_crank(), {"pin": 0.2})
    with pytest.raises(KinematicsError, match="finite"):
        joint_sweep(slider_crank(), "bearing", [np.nan])


def test_values_that_contradict_each_other_are_not_called_singular():
    """Crank and output of a loop of one degree of freedom, away from its dead centres."""
    with pytest.raises(KinematicsError, match="cannot be brought to") as told:
        assemble_at(four_bar(), {"A": 0.2, "D": -0.2})
    assert "singular" not in str(told.value)


def test_redundant_equations_are_told_for_each_joint_with_a_remedy():
    """A four-bar of revolutes: what acts in its plane is unique, what acts across is not; one flexible bar resolves it."""
    found = mobility(four_bar())
    assert (found.degrees_of_freedom, found.redundancy) == (1, 3)
    for parts in found.not_unique.values():
        assert set(parts) == {"force z", "moment x", "moment y"}
    assert found.remedies == {"crank": 0, "coupler": 0, "output": 0}
    assert "would make all reactions unique" in str(found)
    body = random_flexible_body(np.random.default_rng(1), modes=8)
    stretched = replace(
        body,
        interfaces={
            key: replace(i, point=np.array([4.0 * (key == "end"), 0, 0])) for key, i in body.interfaces.items()
        },
    )
    flexible = mobility(four_bar(stretched))
    assert flexible.redundancy == 0
    assert (flexible.rigid, flexible.degrees_of_freedom) == (1, 6)
    assert all(flexible.is_unique(name) for name in "ABCD")


def test_the_parallelogram_of_wojtyra_and_fraczek():
    """Twelve pin equations of rank eleven; all six pins are affected; least-norm reactions carry a load along the bars in thirds."""
    system = parallelogram()
    found = mobility(system)
    assert (found.degrees_of_freedom, found.redundancy) == (1, 1)
    pins = [name for name in found.not_unique if name.startswith(("foot", "head"))]
    assert all(not found.is_unique(name) for name in pins)
    assert all(found.is_unique(name) for name in found.not_unique if name.startswith("plane"))
    system.load(
        "push",
        system_place(system, "bar"),
        force=(np.cos(1.0), np.sin(1.0), 0),
        factor=flexmb.time_functions.constant(3.0),
    )
    with pytest.warns(flexmb.RedundantConstraintWarning):
        result = flexmb.simulate(system, 1e-4, step=1e-4)
    direction = np.array([np.cos(1.0), np.sin(1.0), 0])
    by_inertia = sum(result.reaction(f"foot {k}")[0, :3] @ direction for k in range(3))
    result = least_reactions(result)
    assert sum(result.reaction(f"foot {k}")[0, :3] @ direction for k in range(3)) == pytest.approx(by_inertia, rel=1e-9)
    for k in range(3):
        assert result.reaction(f"foot {k}")[0, :3] @ direction == pytest.approx(by_inertia / 3, rel=1e-9)


def system_place(system, body):
    """The middle of a rod that was added."""
    from flexmb.mechanism.attachments import BodyHandle

    index = [b.name for b in system._bodies].index(body)
    return BodyHandle(index, system._bodies[index]).at((1.0, 0, 0))


def test_the_verb_tells_and_draws(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = Path(__file__).parents[3] / "docs" / "examples" / "slider-crank.toml"
    done = CliRunner().invoke(app, ["mobility", str(example), "--sweep", "bearing=0:6.28:40"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "degrees of freedom" in done.output
    assert "singular positions" in done.output
    assert is_picture(tmp_path / "slider-crank.sweep.png")
    done = CliRunner().invoke(app, ["mobility", str(example), "--sweep", "bearing=0:1:2", "--plot", "own.png"])
    assert "plot: own.png" in done.output
    assert is_picture(tmp_path / "own.png")


def test_least_reactions_do_not_depend_on_the_unit_of_length():
    """A door that two joints hold, each of which would do: forces in newtons, whatever the unit of the places."""
    found = []
    for unit in (1.0, 1e3):
        mass = 12.0 / unit  # kg, or tonnes beside millimetres: newtons in both
        inertia = tuple(x * unit for x in (1.0, 0.8, 0.5))
        system = flexmb.System(gravity=(0, 0, -9.81 * unit))
        door = system.add(flexmb.rigid_body("door", mass=mass, inertia=inertia, centre=(0.4 * unit, 0, 0.3 * unit)))
        for name, z in (("low", 0.0), ("high", 1.7)):
            place = (0, 0, z * unit)
            system.fixed(name, system.ground.at(place), door.at(place))
        with pytest.warns(flexmb.RedundantConstraintWarning):
            result = least_reactions(flexmb.simulate(system, 0.002, step=1e-3))
        found.append([result.reaction(name)[-1, :3] for name in ("low", "high")])
    np.testing.assert_allclose(found[1], found[0], atol=1e-6 * 12.0 * 9.81)
