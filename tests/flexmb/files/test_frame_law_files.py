"""Laws between two frames in model files and result files."""

import numpy as np
import pytest
from model_files import model_of

import flexmb
import flexmb.files
from flexmb.errors import LawError, ModelFileError
from flexmb.mechanism.force_law import register_law

MODEL = """
gravity = [0, 0, -9.81]

[simulation]
duration = 0.1
step = 1e-3

[bodies.load]
kind = "rigid"
mass = 200.0
inertia = [1, 1, 1]
position = [0, 0, 0.2]

[[joints]]
name = "guide"
kind = "prismatic"
a = "ground"
b = "load"
at = [0, 0, 0]

[[forces]]
name = "cylinder"
a = "ground"
b = "load"
at = [0, 0, -0.1]
law = "hydraulic-cylinder"
initial = { "pressure a" = 6e6, "pressure b" = 1e7 }

[forces.parameters]
area_a = 2e-3
area_b = 1.2e-3
stroke = 0.5
bulk_modulus = 1e9
supply = 2e7
flow = 1e-7
target = 0.35
gain = 20.0
dead_volume = 2e-4
laminar = 1e4
"""


def built():
    """The same in Python."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    load = system.add(flexmb.rigid_body("load", mass=200.0, inertia=(1, 1, 1)), position=(0, 0, 0.2))
    system.prismatic("guide", system.ground, load, axis=(0, 0, 1), at=(0, 0, 0))
    law = flexmb.forces.hydraulic_cylinder(
        area_a=2e-3, area_b=1.2e-3, stroke=0.5, bulk_modulus=1e9, supply=2e7, flow=1e-7, target=0.35, gain=20.0,
        dead_volume=2e-4, laminar=1e4, initial=(6e6, 1e7),
    )  # fmt: skip
    system.force("cylinder", system.ground.at((0, 0, -0.1)), load.at((0, 0, 0)), law)
    return system


def test_a_law_of_the_library_in_a_model_file_moves_as_in_python_and_again_from_a_result_file(tmp_path):
    read = model_of(tmp_path, MODEL)
    result = flexmb.simulate(read.system, read.duration, **read.options)
    expected = flexmb.simulate(built(), 0.1, step=1e-3)
    assert np.array_equal(result.q, expected.q)
    assert np.array_equal(result.element_states, expected.element_states)
    loaded = flexmb.files.load_result(flexmb.files.save_result(result, tmp_path / "run.h5"))
    on = flexmb.simulate(loaded.mechanism, 0.02, step=1e-3, initial_state=loaded.state(-1))
    expected = flexmb.simulate(result.mechanism, 0.02, step=1e-3, initial_state=result.state(-1))
    assert np.array_equal(on.element_states, expected.element_states)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hydraulic-cylinder", "hydraulic-cylindre", "law between frames named 'hydraulic-cylindre'. Did you mean"),
        ("gain = 20.0", "", "needs values of 'gain'"),
        ("gain = 20.0", "gian = 20.0", "'gian'"),
        ('"pressure a"', '"pressure"', "state of the law"),
        (
            'a = "ground"\nb = "load"\nat = [0, 0, -0.1]',
            'a = "load"\nb = "load"\nat = [0, 0, 1]',
            "neither end is on the",
        ),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, message):
    with pytest.raises(ModelFileError, match=message):
        model_of(tmp_path, MODEL, old, new)


def test_a_registered_law_is_found_by_its_name(tmp_path):
    @register_law("test: weak spring")
    @flexmb.law(parameters=("k",))
    def weak(t, relative, states, parameters, wrench, rates):
        wrench[2] = -parameters[0] * relative.d[2]

    text = (
        MODEL[: MODEL.index("[[forces]]")]
        + """
[[forces]]
name = "spring"
a = "ground"
b = "load"
law = "test: weak spring"
parameters = { k = 3.0 }
"""
    )
    force = model_of(tmp_path, text).system.build().frame_forces[0]
    assert (force.call.law, force.parameters) == (weak, (3.0,))
    with pytest.raises(ModelFileError, match="weak spring"):  # it is no law of one coordinate
        model_of(tmp_path, text.replace("[[forces]]", "[[springs]]").replace("parameters = { k = 3.0 }", ""))
    with pytest.raises(LawError, match="already"):
        register_law("test: weak spring")(flexmb.law(lambda t, relative, states, parameters, wrench, rates: None))
