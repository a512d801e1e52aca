"""Functions of time of loaded results: as they were, or a warning."""

import numpy as np
import pytest

import flexmb
from flexmb import time_functions as tf
from flexmb.errors import FileError
from flexmb.files import load_result, save_result
from flexmb.files.storage.tree import read_tree, write_tree

TIMES, VALUES = [0.0, 0.1, 0.25, 0.4, 0.7, 1.0], [0.0, 0.5, 0.1, 0.3, 0.2, 0.0]
MADE = {
    "polynomial": tf.polynomial(0.1, 2.0, -0.5),
    "number": tf.constant(2.0),
    "harmonic": tf.harmonic(0.3, 7.0, 0.2, 0.1),
    "quintic": tf.smooth_step(0.1, 0.2, 0.5),
    "smoother": tf.smooth_step(0.1, 0.2, 0.5, derivatives=4),
    "spin-up": tf.spin_up(3.0, 0.2),
    "pulse": tf.pulse(0.1, 0.05, 2.0),
    "pulses": tf.pulse(0.1, 0.05, 2.0, period=0.07),
    "table": tf.table(TIMES, VALUES),
    "monotone": tf.table(TIMES, VALUES, monotone=True, feature=0.05),
    "lines": tf.piecewise_linear(TIMES, VALUES),
    "speeds": tf.speed_profile(TIMES, VALUES, rounding=0.02, start=0.3),
}


def pulled(factor):
    system = flexmb.System(name="sledge")
    body = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    system.load("pull", body.at((0, 0, 0)), force=(3.0, 0, 0), factor=factor)
    return system


@pytest.mark.parametrize("name", MADE)
def test_functions_are_loaded_as_they_were(name, tmp_path):
    """They were interpolated between eleven stored times, with what that misses, and warned of their corners."""
    function, options = MADE[name], {"step": 1e-3, "output_step": 0.1}
    result = flexmb.simulate(pulled(function), 1.0, **options)
    loaded = load_result(save_result(result, tmp_path / "result.h5")).mechanism
    (found,) = loaded.functions
    at = np.linspace(0.0, 1.0, 1001)
    np.testing.assert_array_equal(found.over(at), function.over(at))
    for what in ("description", "formula", "drives", "from_speeds", "arrays", "breakpoints", "stored_times"):
        assert getattr(found, what) == getattr(function, what)
    assert [found.ahead(t) for t in at] == [function.ahead(t) for t in at]
    again = flexmb.simulate(loaded, 1.0, **options)
    np.testing.assert_array_equal(again.q, result.q)
    load_result(save_result(again, tmp_path / "again.h5"))


def test_functions_of_users_are_known_at_the_stored_times_only(tmp_path):
    own = tf.function(np.sin, np.cos, lambda t: -np.sin(t), arrays=True)
    result = flexmb.simulate(pulled(own), 1.0, step=1e-2, output_step=0.1)
    loaded = load_result(save_result(result, tmp_path / "result.h5"))
    assert loaded.mechanism.functions[0].stored_times == 11
    with pytest.warns(
        flexmb.StoredMotionWarning, match=r"'sledge'.*function \(stored values\) of 'pull' at 11 times.*"
    ):
        flexmb.simulate(loaded.mechanism, 1.0, step=1e-2)


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("made_by", "eval", "made by 'eval', which does not exist"),
        ("duration", np.nan, "not finite"),
        ("duration", -1.0, "positive duration"),
        ("duration", "long", "could not convert"),
        ("depth", 1.0, "depth"),
        ("duration", np.ones((2, 2)), "shape"),
    ],
)
def test_damaged_functions_are_refused(key, value, found, tmp_path):
    result = flexmb.simulate(pulled(MADE["quintic"]), 0.1, step=1e-2)
    path = save_result(result, tmp_path / "result.h5")
    tree = read_tree(path, "result")
    function = tree["mechanism"]["functions"][0]
    (function if key == "made_by" else function["arguments"])[key] = value
    write_tree(path, "result", tree)
    with pytest.raises(FileError, match=found):
        load_result(path)
