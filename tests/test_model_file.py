"""Model files: the documented format builds what it says; wrong files are refused by key."""

import re
from pathlib import Path

import numpy as np
import pytest

import flexmb
from flexmb.files.model_file import ModelFileError, load_model

DOCS = Path(__file__).parents[1] / "docs"

PENDULUM = re.search(r"```toml\n(.*?)```", (DOCS / "model-files.md").read_text(), re.DOTALL)[1]


def write(tmp_path, text):
    path = tmp_path / "model.toml"
    path.write_text(text)
    return path


def test_the_documented_pendulum_swings(tmp_path):
    model = load_model(write(tmp_path, PENDULUM))
    result = flexmb.simulate(model.system, model.duration, **model.options)
    inertia = 0.17 + 2.0 * 0.25
    start = result.wdot[0, 5]
    assert start == pytest.approx(-2.0 * 9.81 * 0.5 / inertia, rel=1e-9)
    assert np.abs(result.ledger.residual).max() < 1e-4 * result.ledger.exchange


def test_everything_a_model_file_can_say(tmp_path):
    (tmp_path / "table.csv").write_text("# t, y\n0,0\n1,1\n2,0\n3,1\n")
    text = """
        name = "all"
        [simulation]
        duration = 0.01
        step = 1e-3
        [bodies.a]
        kind = "rigid"
        mass = 1.0
        inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        orientation = { axis = [0, 0, 1], degrees = 90 }
        points = { tip = [1, 0, 0] }
        [bodies.b]
        kind = "rigid"
        mass = 1.0
        inertia = [1, 1, 1]
        position = [0, 1, 0]
        velocity = [0, 0, 0.1]
        [bodies.c]
        kind = "rigid"
        mass = 1
        inertia = [1, 1, 1]
        position = [5, 0, 0]
        [[joints]]
        name = "hinge"
        kind = "revolute"
        a = "ground"
        b = "a"
        at = [0, 0, 0]
        speed = 0.5
        [[joints]]
        name = "shake"
        kind = "prescribed"
        a = "ground"
        b = "c"
        at = [5, 0, 0]
        x = { kind = "table", csv = "table.csv" }
        rotation = { kind = "smooth-step", duration = 1, height = 0.1 }
        [[bushings]]
        name = "mount"
        a = "a.tip"
        b = "b"
        stiffness = [1, 1, 1, 1, 1, 1]
        [[springs]]
        name = "rope"
        a = "ground"
        at = [3, 0, 0]
        b = "a.tip"
        stiffness = 10
        [[joint_springs]]
        name = "torsion"
        joint = "hinge"
        stiffness = 2
        [[motors]]
        name = "motor"
        joint = "hinge"
        effort = { kind = "harmonic", amplitude = 1, frequency = 2 }
        [[loads]]
        name = "push"
        place = "b"
        force = [1, 0, 0]
        factor = { kind = "pulse", duration = 0.1, height = 2 }
    """
    model = load_model(write(tmp_path, text))
    mechanism = model.system.build()
    np.testing.assert_allclose(mechanism.initial.q[3:7], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)], atol=1e-12)
    result = flexmb.simulate(mechanism, model.duration, **model.options)
    assert result.w[0, 5] == pytest.approx(0.5)
    assert set(mechanism.force_elements) == {"mount", "rope", "torsion", "motor"}


def change(old, new):
    assert old in PENDULUM
    return PENDULUM.replace(old, new)


BAD = {
    "not toml": ("a = = 3", "not valid TOML"),
    "unknown key": (change("duration", "duraton"), r"unknown key 'simulation.duraton'.*Did you mean 'duration'"),
    "missing key": (change("mass = 2.0", ""), r"key 'bodies.rod.mass' is missing"),
    "unknown key in a body": (change("mass = 2.0", "mass = 2.0\nmas = 1"), r"unknown key 'bodies.rod.mas'.*Did you mean 'mass'"),
    "negative mass": (change("mass = 2.0", "mass = -2.0"), r"key 'bodies.rod.mass'.*greater than 0; found -2"),
    "text for a number": (change("mass = 2.0", 'mass = "heavy"'), r"bodies.rod.mass'.*found 'heavy'"),
    "two coordinates": (change("at = [0, 0, 0]", "at = [0, 0]"), r"joints\[1\] \('hinge'\).at'.*at least 3"),
    "unknown body": (change('b = "rod"', 'b = "rud"'), r"no body named 'rud'. Did you mean 'rod'"),
    "unknown point": (change('b = "rod"', 'b = "rod.tip"'), r"no interface named 'tip'"),
    "unknown joint": (change('"revolute"', '"revolut"'), r"no joint kind named 'revolut'. Did you mean 'revolute'"),
    "unknown body kind": (change('kind = "rigid"', 'kind = "stiff"'), r"bodies.rod.*'rigid', 'flexible'"),
    "impossible inertia": (change("[1e-3, 0.17, 0.17]", "[1e-3, 0.17, 1.7]"), "triangle inequality"),
    "absent mesh": (PENDULUM + '\n[bodies.f]\nkind = "flexible"\nmesh = "no.msh"\nmaterial = "steel"', r"no mesh file .*no.msh"),
    "absent shipped mesh": (PENDULUM + '\n[bodies.f]\nkind = "flexible"\nmesh = "flexmb:no.msh"\nmaterial = "steel"', r"conrod.msh"),
    "flexible without mesh": (PENDULUM + '\n[bodies.f]\nkind = "flexible"', r"needs either file"),
    "unknown material": (PENDULUM + '\n[bodies.f]\nkind = "flexible"\nmesh = "flexmb:conrod.msh"\nmaterial = "stel"', r"Did you mean 'steel'"),
    "unknown motion": (PENDULUM + '\ndrive = { kind = "ramp" }', r"drive.*'polynomial', 'harmonic'"),
    "motion without its key": (PENDULUM + '\ndrive = { kind = "spin-up", speed = 3.0 }', r"key 'joints\[1\] \('hinge'\).drive.duration' is missing"),
    "body called ground": (change("[bodies.rod]", "[bodies.ground]"), "cannot be called 'ground'"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_model_files_are_refused_by_key(tmp_path, case):
    text, words = BAD[case]
    with pytest.raises(ModelFileError, match=words) as caught:
        load_model(write(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path)), "the message names the file"


def test_an_absent_model_file(tmp_path):
    with pytest.raises(ModelFileError, match="no model file"):
        load_model(tmp_path / "absent.toml")
