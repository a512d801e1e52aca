"""Plots and pictures without anything to show are refused."""

from types import SimpleNamespace

import numpy as np
import pytest
from mechanisms import random_flexible_body
from refusals import refused

import fem
import flexmb
from flexmb.errors import PictureError, StudyError
from flexmb.linear import Response
from flexmb.plots.linear_plots import plot_response
from flexmb.plots.pictures import picture_mesh, picture_modes
from flexmb.plots.precision_plots import plot_work_precision
from flexmb.plots.reduction_plots import plot_frequency_responses, plot_response_errors, plot_singular_values
from flexmb.plots.result_plots import plot_energy_by_element
from flexmb.plots.study_plots import plot_gradient
from flexmb.study import Gradient


def response(*frequencies):
    return Response(np.array(frequencies), np.ones((len(frequencies), 1, 1), complex), ("force",), ("y",), None, {})


def energies():
    system = flexmb.System(gravity=(0, 0, 0))
    system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)))
    return flexmb.simulate(system, 1e-3, step=1e-3).energy_by_element()


UNCERTAIN = Gradient({"k": 1.0}, {"peak": 1.0}, {"peak": np.array([1.0])}, {"peak": np.array([1.0])})
BEAM = random_flexible_body(np.random.default_rng(0), name="beam")
NO_MODES = "has no mesh or no modes to draw."


@pytest.mark.parametrize(
    ("message", "call", "given"),
    [
        (
            "A frequency response is plotted over frequencies above zero; found none.",
            plot_response,
            lambda: response(0.0),
        ),
        ("There is no run to plot.", plot_work_precision, list),
        ("There is no response error to plot.", plot_response_errors, list),
        ("There is no frequency response to plot.", plot_frequency_responses, list),
        (
            "A modal basis has no singular values to plot; bases of Gramian and balanced truncation have them.",
            plot_singular_values,
            lambda: SimpleNamespace(options={}, n_modes=4, method="modal"),
        ),
        ("No element stores, dissipates or does anything; there is nothing to plot.", plot_energy_by_element, energies),
    ],
)
def test_plots_of_nothing_are_refused(message, call, given, tmp_path):
    refused(PictureError, message, call, given(), tmp_path / "plot.png")
    assert list(tmp_path.iterdir()) == []


def test_a_response_with_one_frequency_above_zero_is_plotted(tmp_path):
    plot_response(response(0.0, 1.0), tmp_path / "plot.png")


def test_derivatives_within_their_errors_are_plotted_by_name_only(tmp_path):
    message = (
        "No measure has derivatives that are larger than their errors; name the measures to plot them nevertheless."
    )
    refused(StudyError, message, plot_gradient, UNCERTAIN, tmp_path / "plot.png")
    plot_gradient(UNCERTAIN, tmp_path / "plot.png", measures=["peak"])


@pytest.mark.parametrize("body", [BEAM, BEAM.rigid(), flexmb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1))])
def test_bodies_without_a_mesh_or_modes_are_not_drawn(body, tmp_path):
    refused(PictureError, f"Body {body.name!r} {NO_MODES}", picture_modes, body, tmp_path / "modes.png")


def test_a_picture_that_cannot_be_written_is_told_by_its_path(tmp_path):
    cube = fem.structured_meshes.block("hexahedron", (1, 1, 1), (1, 1, 1))
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "cube.png"
    with pytest.raises(PictureError, match=rf"^The picture cannot be written to {path}: .*Not a directory.*\.$"):
        picture_mesh(cube, path)
    assert picture_mesh(cube, tmp_path / "cube").name == "cube.png"
