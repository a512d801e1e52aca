"""Results of contacts: computed by compiled laws, and written for ParaView."""

from dataclasses import replace

import numpy as np
import pytest
import pyvista

import flexmb
from flexmb.contact import Box, Plane, Sphere, power_law
from flexmb.files import export_vtk
from flexmb.files.results.vtk_file import _points
from flexmb.mechanism.frame_law import FrameLawCall
from flexmb.plots.result_plots import plot_contact

LAW = power_law(1e5, restitution=0.5, speed=0.5)


def bounce(law, height=0.02):
    system = flexmb.System(gravity=(0, 0, -9.81))
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.004,) * 3), position=(0, 0, 0.1 + height))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    friction = {"law": law, "friction": 0.3, "slip_speed": 0.01} if law else {"friction": 0.3, "restitution": 0.5}
    system.contact("floor", floor, Sphere(0.1).on(ball.at((0, 0, 0))), **friction)
    return flexmb.simulate(system, 0.1, step=1e-3)


@pytest.mark.parametrize("law", [LAW, power_law(1e5, restitution=0.5, speed=0.1, each_impact=True)])
def test_results_of_contacts_use_the_compiled_law_of_the_simulation(law, monkeypatch):
    """numba would compile it for calls from Python again: 5 s in every process."""
    result = bounce(law)

    def refuse(*arguments):
        raise AssertionError("the law was called from Python")

    monkeypatch.setattr(FrameLawCall, "evaluate", refuse)
    touch = result.contact("floor")
    assert touch.normal_force.max() == pytest.approx(touch.force[:, 2].max(), rel=1e-12)
    assert result.energy_by_element()["floor"].heat[-1] > 0.0


@pytest.mark.parametrize("law", [None, LAW])
def test_paraview_shows_contacts_and_the_shapes_of_bodies_without_any(law, tmp_path):
    result = bounce(law, height=0.0)
    reader = pyvista.get_reader(str(export_vtk(result, tmp_path, every=10)))
    touch, up = result.contact("floor"), []
    for k, time in enumerate(reader.time_values):
        reader.set_active_time_value(time)
        ball, ground, point = reader.read()
        centre = result.position("ball")[10 * k]
        np.testing.assert_allclose(np.linalg.norm(ball.points - centre, axis=1), 0.1, rtol=1e-6)
        assert ground.bounds[1] > 0.1
        assert point["gap"] == pytest.approx(touch.gap[10 * k])
        np.testing.assert_allclose(point["force"][0], touch.force[10 * k])
        up.append(float(point["normal_force"][0]))
    assert max(up) == pytest.approx(touch.normal_force[::10].max())
    assert max(up) > 9.0


def test_a_body_with_several_shapes_is_written_with_all_of_them(tmp_path):
    system = flexmb.System(gravity=(0, 0, -9.81))
    body = system.add(flexmb.rigid_body("dumbbell", mass=1.0, inertia=(0.01,) * 3), position=(0, 0, 0.1))
    floor = Plane().on(system.ground.at((0, 0, 0)))
    system.contact("left", floor, Sphere(0.1).on(body.at((-0.3, 0, 0))))
    system.contact("right", floor, Box(0.2, 0.2, 0.2).on(body.at((0.3, 0, 0))))
    export_vtk(flexmb.simulate(system, 1e-3, step=1e-3), tmp_path)
    drawn = pyvista.read(tmp_path / "body0_000001.vtu")
    np.testing.assert_allclose(drawn.bounds, (-0.4, 0.4, -0.1, 0.1, 0.0, 0.2), atol=1e-9)
    points = pyvista.read(tmp_path / "contacts_000001.vtu")
    assert points["contact"].tolist() == [0, 1]
    assert points["normal_force"].sum() == pytest.approx(9.81)


def test_the_impacts_of_an_exact_contact_are_told_and_drawn(tmp_path):
    """Its forces are those between impacts: without them it would seem never to touch."""
    touch = bounce(None).contact("floor")
    fall = np.sqrt(2 * 0.02 / 9.81)
    assert touch.impacts[0] == pytest.approx((fall, 0.75 * 9.81 * 0.02), rel=1e-9)
    assert "1 impact without force but with impulses, energy lost 0.14715" in str(touch)
    _, axes = plot_contact(touch, tmp_path / "touch.png")
    marks = [line for line in axes[0].lines if line.get_label() == "impacts"]
    np.testing.assert_allclose(marks[0].get_xdata(), touch.impacts[:, 0])
    assert "impact" not in str(bounce(LAW).contact("floor"))


def test_points_of_contacts_are_numbered_by_their_contacts():
    """The first one has no point, as surfaces that do not face each other."""
    touch = bounce(LAW).contact("floor")
    apart = replace(touch, point=np.full_like(touch.point, np.nan))
    shown = _points([apart, touch, apart, touch], -1)
    assert shown.point_data["contact"].tolist() == [1, 3]
    np.testing.assert_array_equal(shown.points, [touch.point[-1]] * 2)
    np.testing.assert_array_equal(shown.point_data["gap"], [touch.gap[-1]] * 2)
