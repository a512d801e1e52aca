"""Measures of what laws, relations and drivers do: states such as a plastic angle, efforts of gears and drivers."""

import inspect
import pydoc

import numpy as np
import pytest

import flexmb
from flexmb.forces import plastic_hinge, rolling_bearing
from flexmb.results.measure import column


def hinged():
    system = flexmb.System(name="door")
    body = system.add(flexmb.rigid_body("door", mass=1.0, inertia=(1, 1, 0.5)))
    system.revolute("hinge", system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    system.force("leaf", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), plastic_hinge(stiffness=100.0, limit=2.0))
    return system


def test_states_of_laws_are_measures_and_columns(tmp_path):
    """J w^2 / 2 = M^2 / (2 k) + M p, with the plastic angle p that remains."""
    system = hinged()
    system.set_speed("hinge", 2.0)
    result = flexmb.simulate(system, 1.0, step=1e-3)
    found = column("state:leaf:plastic", result)
    assert found.values[-1] == pytest.approx((0.5 * 0.5 * 4.0 - 2.0**2 / 200.0) / 2.0, rel=1e-4)
    assert result.columns()["leaf state plastic"].values[-1] == found.values[-1]
    assert "state:leaf:plastic" in result.to_csv(tmp_path / "leaf.csv", ["state:leaf:plastic"]).read_text()
    with pytest.raises(flexmb.MeasureError, match=r"named 'plastics'. Did you mean 'plastic'"):
        column("state:leaf:plastics", result)
    with pytest.raises(flexmb.MeasureError, match=r"controller or force element with states named 'lea'.*'leaf'"):
        column("state:lea:plastic", result)


def test_efforts_of_relations_and_drivers_are_measures():
    """Two shafts with the ratio -1/4 of a gear: the driver feels J1 + J2 / 16."""
    system = flexmb.System()
    for name, inertia in (("pinion", 0.1), ("wheel", 0.8)):
        body = system.add(flexmb.rigid_body(name, mass=1.0, inertia=(inertia,) * 3))
        system.revolute(name, system.ground, body, axis=(0, 0, 1), at=(0, 0, 0))
    system.gear("teeth", "pinion", "wheel", ratio=-0.25)
    system.drive("pinion", flexmb.time_functions.polynomial(0.0, 0.0, 3.0))  # 6 rad/s^2
    result = flexmb.simulate(system, 0.1, step=1e-2)
    for text, expected in {
        "effort:pinion": 6.0 * (0.1 + 0.8 / 16),
        "effort:pinion:rotation": 6.0 * (0.1 + 0.8 / 16),
        "effort:teeth:wheel": 0.8 * -1.5,
        "effort:teeth:pinion:rotation": -0.8 * 1.5 / 4,
    }.items():
        found = column(text, result)
        assert found.values[-1] == pytest.approx(expected, rel=1e-9)
        assert found.dimension == "moment"
    with pytest.raises(flexmb.MechanismError, match=r"coordinate of relation 'teeth' named ''. Existing: 'pinion:rot"):
        column("effort:teeth", result)
    with pytest.raises(flexmb.MechanismError, match="'wheel' has 0 driven motions"):
        column("effort:wheel", result)


def test_each_of_several_prescribed_motions_has_its_effort():
    """Of a body that is led at its mass centre: mass times acceleration, weight, and inertia times that of its angle."""
    along, across, angle = (flexmb.time_functions.polynomial(0.0, 0.0, a) for a in (1.5, -0.5, 2.0))
    system = flexmb.System(gravity=(0, -9.81, 0))
    body = system.add(flexmb.rigid_body("tool", mass=2.0, inertia=(0.1, 0.2, 0.3)))
    system.prescribe("hand", system.ground, body, x=along, y=across, rotation=angle, at=(0, 0, 0))
    result = flexmb.simulate(system, 0.2, step=1e-2)
    efforts = {"translation x": 2.0 * 3.0, "translation y": 2.0 * (9.81 - 1.0), "rotation z": 0.3 * 4.0}
    rates = {"translation x": 3.0, "translation y": -1.0, "rotation z": 4.0}
    for dof, effort in efforts.items():
        np.testing.assert_allclose(result.drive_effort("hand", dof), effort, rtol=1e-9)
        found = column(f"effort:hand:{dof}", result)
        np.testing.assert_array_equal(found.values, result.drive_effort("hand", dof))
        assert found.dimension == ("moment" if dof == "rotation z" else "force")
    np.testing.assert_array_equal(result.drive_effort("hand", "rotation"), result.drive_effort("hand", "rotation z"))
    power = sum(efforts[dof] * rates[dof] * result.t for dof in efforts)
    np.testing.assert_allclose(result.power("hand"), power, atol=1e-9)
    for dof in (None, "translation", "translation z"):
        with pytest.raises(
            flexmb.MechanismError, match="3 driven motions: 'translation x', 'translation y', 'rotation z'"
        ):
            result.drive_effort("hand", dof)


def test_help_tells_what_a_law_does():
    text = pydoc.plain(pydoc.render_doc(rolling_bearing))
    for part in ("A radial rolling bearing", "`exponent` (positive, default 1.5)", "initial={...}", "`cage angle`"):
        assert part in text
    assert str(inspect.signature(plastic_hinge)) == "(*, stiffness, limit, initial=None)"
    assert repr(plastic_hinge) == "<law 'plastic_hinge' of stiffness, limit with states plastic>"


def test_names_of_parameters_keep_their_letters():
    with pytest.raises(flexmb.LawError, match="parameter 'stiffness' of the law 'plastic_hinge' must be a finite"):
        plastic_hinge(stiffness=np.nan, limit=1.0)
    with pytest.raises(flexmb.LawError, match="parameter 'limit' of the law 'plastic_hinge' must be positive"):
        plastic_hinge(stiffness=1.0, limit=0.0)


@flexmb.law(states=("f",), parameters=("k",))
def running_away(t, relative, states, parameters, wrench, rates):
    wrench[1] = np.inf if t > 0.01 else 0.0
    rates[0] = np.nan if t > 0.01 else 0.0


def test_what_is_not_finite_is_named():
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    system.force("pull", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), running_away(k=1.0))
    with pytest.raises(flexmb.LawError, match=r"Not finite: force y, the rate of 'f'\.$"):
        flexmb.simulate(system, 0.1, step=1e-3)
