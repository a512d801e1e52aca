"""Derivatives by parameters against closed forms, with errors that are true."""

import re
from pathlib import Path

import numpy as np
import pytest
from test_cli import is_picture
from typer.testing import CliRunner

import flexmb
from flexmb.cli.main import app
from flexmb.errors import MechanismError, StudyError
from flexmb.plots.study_plots import plot_gradient
from flexmb.study import gradient


def formula(a, b):
    return {"cube": a**3 * b, "wave": np.sin(3 * a) / b}


def test_derivatives_of_formulas_are_right_and_so_are_their_errors(tmp_path):
    found = gradient(formula, {"a": 1.3, "b": -0.7}, threads=True)
    exact = {
        "cube": [3 * 1.3**2 * -0.7, 1.3**3],
        "wave": [3 * np.cos(3.9) / -0.7, -np.sin(3.9) / 0.49],
    }
    for name, values in exact.items():
        off = np.abs(found.of(name) - values)
        np.testing.assert_allclose(found.of(name), values, rtol=1e-10)
        assert (off <= found.errors[name]).all()
    np.testing.assert_allclose(found.relative("cube"), [3.0, 1.0], rtol=1e-10)
    assert found.outcome["cube"] < 0.0
    np.testing.assert_allclose(found.relative("wave"), [3.9 / np.tan(3.9), -1.0], rtol=1e-9)
    for asked in (found.of, found.relative):
        with pytest.raises(StudyError, match=r"no measure named 'cub'.*'cube'"):
            asked("cub")
    at_zero = gradient(lambda a: {"f": np.exp(2 * a)}, {"a": 0.0}, threads=True)
    assert at_zero.of("f")[0] == pytest.approx(2.0, rel=1e-9)
    assert "cube" in str(found)
    plot_gradient(found, tmp_path / "gradient.png")
    assert is_picture(tmp_path / "gradient.png")


def falling_rod(mass, length, drag):
    system = flexmb.System(gravity=(0, 0, -9.81))
    rod = system.add(flexmb.uniform_rod("rod", mass=mass, length=length))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 1, 0))
    system.motor("drag", "hinge", 0.0, damping=drag)
    return system


def test_derivatives_of_a_motion_are_those_of_its_energy():
    """A rod falls to a drag: without it, its largest kinetic energy is `m g l / 2`: derivatives to 1e-6, by mass and length."""
    found = gradient(
        falling_rod, {"mass": 2.0, "length": 1.0, "drag": 0.0}, 0.3, step=1e-4, output_step=1e-4,
        measure=lambda r: {"energy at the end": r.ledger.kinetic[-1] + r.ledger.gravity[-1] + r.ledger.damper_heat[-1], "fall": -r.ledger.gravity[-1]}, threads=True,
    )  # fmt: skip
    scale = 2.0 * 9.81 * 0.5
    np.testing.assert_allclose(found.of("energy at the end") / scale, 0.0, atol=1e-6)  # it is conserved
    slopes = found.of("fall")
    assert slopes[0] == pytest.approx(found.outcome["fall"] / 2.0, rel=1e-6)  # the motion does not depend on the mass
    assert slopes[2] < 0  # drag holds it back


def test_bad_requests_are_told():
    with pytest.raises(StudyError, match="finite values"):
        gradient(formula, {"a": np.nan})
    with pytest.raises(StudyError, match="between 0 and"):
        gradient(formula, {"a": 1.0, "b": 1.0}, relative_step=2.0)
    with pytest.raises(StudyError, match=r"function of a result.*found 'coordinate:hinge'"):
        gradient(formula, {"a": 1.0}, measure="coordinate:hinge")
    with pytest.raises(StudyError, match="no measure named"):
        gradient(formula, {"a": 1.0, "b": 1.0}, threads=True).of("cub")


def test_the_verb_prints_and_draws(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rotor = str(Path(__file__).parents[3] / "docs" / "examples" / "rotor.toml")
    words = ["sensitivity", rotor, "--by", "bodies.disc.mass", "--by", "joints.bearing.drive.speed", "--workers", "1"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "derivative of" in done.output
    assert is_picture(tmp_path / "rotor.sensitivity.png")
    wrong = CliRunner().invoke(app, ["sensitivity", rotor, "--by", "bodies.disc.kind"])
    assert "needs a number" in str(wrong.exception)


def test_the_verb_takes_the_adjoint_for_one_number_and_the_direct_method_for_all(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rotor = tmp_path / "rotor.toml"
    text = (Path(__file__).parents[3] / "docs" / "examples" / "rotor.toml").read_text(encoding="utf-8")
    words = ["sensitivity", "rotor.toml", "--by", "bodies.disc.mass", "--by", "joints.bearing.drive.speed"]
    rotor.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, [*words, "--of", "force in bearing"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "force in bearing" in done.output
    assert is_picture(tmp_path / "rotor.sensitivity.png")
    done = CliRunner().invoke(app, [*words, "--direct"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "moment in bearing" in done.output
    with pytest.raises(StudyError, match="no series named 'force in barring'"):
        CliRunner().invoke(app, [*words, "--of", "force in barring"], catch_exceptions=False)
    rotor.write_text(re.sub(r"\nstep = .*", "", text), encoding="utf-8")
    with pytest.raises(StudyError, match="no step"):
        CliRunner().invoke(app, [*words, "--of", "force in bearing"], catch_exceptions=False)


DAMPED = """[simulation]
duration = 0.3
step = 1e-3
[bodies.cart]
kind = "rigid"
mass = 1.0
inertia = [1, 1, 1]
[[joints]]
name = "rail"
kind = "prismatic"
a = "ground"
b = "cart"
at = [0, 0, 0]
speed = 2.0
[[joint_springs]]
name = "spring"
joint = "rail"
effort = "-k*x - c*xdot"
parameters = { k = 100.0, c = 2.0 }
"""


def test_the_verb_takes_the_adjoint_for_a_measure_at_the_end(tmp_path, monkeypatch):
    """x = 2 exp(-z T) sin(w T) / w with z = c / 2 and w^2 = k - z^2."""
    monkeypatch.chdir(tmp_path)
    Path("cart.toml").write_text(DAMPED)
    words = [word for x in "kc" for word in ("--by", f"joint_springs.spring.parameters.{x}")]
    words += ["--of", "coordinate:rail", "--over", "final"]
    done = CliRunner().invoke(app, ["sensitivity", "cart.toml", *words], catch_exceptions=False)
    found = next(line for line in done.output.splitlines() if line.startswith("coordinate:rail")).split()[1:]

    def place(k, c):
        w = np.sqrt(k - c**2 / 4)
        return 2 * np.exp(-0.15 * c) * np.sin(0.3 * w) / w

    slopes = [(place(100 + h, 2 + e) - place(100 - h, 2 - e)) / 2e-4 for h, e in ((1e-4, 0.0), (0.0, 1e-4))]
    assert [float(x) for x in found] == pytest.approx(slopes, rel=1e-2)
    with pytest.raises(MechanismError, match="named 'rails'"):
        CliRunner().invoke(
            app, ["sensitivity", "cart.toml", *words[:2], "--of", "coordinate:rails"], catch_exceptions=False
        )


@pytest.mark.parametrize("method", [("--of", "force in rail"), ("--direct",)])
def test_the_verb_differentiates_the_steps_of_the_file(method, tmp_path, monkeypatch):
    """Its damping of high frequencies, output step and step; no default takes their place."""
    monkeypatch.chdir(tmp_path)
    Path("cart.toml").write_text(DAMPED.replace("step = 1e-3", "step = 2e-3\noutput_step = 1e-2\nrho_inf = 0.3"))
    seen = []

    def stop(*arguments, **options):
        seen.append(options)
        raise StudyError("enough")

    for name in ("adjoint_gradient", "direct_gradient"):
        monkeypatch.setattr(f"flexmb.study.{name}", stop)
    CliRunner().invoke(app, ["sensitivity", "cart.toml", "--by", "bodies.cart.mass", *method])
    assert {key: seen[0].get(key) for key in ("step", "output_step", "rho_inf")} == {
        "step": 2e-3, "output_step": 1e-2, "rho_inf": 0.3
    }  # fmt: skip
