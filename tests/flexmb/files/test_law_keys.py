"""Force laws in model files: the same motion as the same laws in Python; what is wrong is named with its key."""

import numpy as np
import pytest
from model_files import model_of

import flexmb
from flexmb.errors import ModelFileError
from flexmb.forces import cable, gap_spring, preloaded_spring

MODEL = """
[simulation]
duration = 0.2
step = 1e-3

[bodies.mass]
kind = "rigid"
mass = 1.0
inertia = [1.0, 1.0, 1.0]
points = {{ middle = [0.0, 0.0, 0.0] }}

[[joints]]
name = "rail"
kind = "prismatic"
a = "ground"
b = "mass.middle"
axis = [1.0, 0.0, 0.0]
speed = 2.0

{element}
"""
JOINT_SPRING = '[[joint_springs]]\nname = "element"\njoint = "rail"\nfree = 0.05\n{law}'
MOTOR = '[[motors]]\nname = "element"\njoint = "rail"\n{law}'
SPRING = '[[springs]]\nname = "element"\na = "ground"\nat = [-1.0, 0.0, 0.0]\nb = "mass.middle"\n{law}'
POINTS, EFFORTS = [-0.5, -0.1, 0.0, 0.2, 0.5], [300.0, 30.0, 0.0, -90.0, -400.0]
RATES = [-4.0, 0.0, 3.0]
LAWS = {
    'effort = "-k*x - c*max(xdot, 0)"\nparameters = { k = 400.0, c = 3.0 }': lambda: flexmb.expression("-k*x - c*max(xdot, 0)", k=400.0, c=3.0),
    f'law = {{ kind = "table", x = {POINTS}, y = {EFFORTS}, outside = "hold" }}': lambda: flexmb.table(POINTS, EFFORTS, outside="hold"),
    'law = { kind = "table", csv = "points.csv", columns = ["s", "f"], scale = 2.0, period = 1.5 }': lambda: flexmb.table(POINTS, EFFORTS, scale=2.0, period=1.5),
    f'law = {{ kind = "map", x = {POINTS}, xdot = {RATES}, values = {np.outer(EFFORTS, [1, 2, 4]).tolist()} }}': lambda: flexmb.force_map(POINTS, RATES, np.outer(EFFORTS, [1, 2, 4])),
    'law = { kind = "map", csv = "map.csv", outside = "extrapolate", scale = 2.0 }': lambda: flexmb.force_map(POINTS, RATES, np.outer(EFFORTS, [1, 2, 4]), outside="extrapolate", scale=2.0),
    'law = { kind = "gap-spring", stiffness = 5e3, gap = 0.02, damping = 0.3, exponent = 1.5, opening = true }': lambda: gap_spring(5e3, 0.02, damping=0.3, exponent=1.5, opening=True),
    'law = { kind = "cable", stiffness = 5e3, damping = 3 }': lambda: cable(5e3, damping=3),
    'law = { kind = "preloaded-spring", stiffness = 50, preload = 5, seat = 1e4 }': lambda: preloaded_spring(50, 5, seat=1e4),
}  # fmt: skip


def read(folder, element):
    rows = [f"{x!r};{7.0};{y!r}" for x, y in zip(POINTS, EFFORTS, strict=True)]
    (folder / "points.csv").write_text("s;t;f\nm;s;N\n" + "\n".join(rows))
    lines = [[0.0, *RATES], *([x, y, 2 * y, 4 * y] for x, y in zip(POINTS, EFFORTS, strict=True))]
    (folder / "map.csv").write_text("\n".join(",".join(map(str, line)) for line in lines))
    return model_of(folder, MODEL.format(element=element))


@pytest.mark.parametrize("law", LAWS)
def test_a_law_of_a_file_is_that_of_python(law, tmp_path):
    """As a function, in all three elements."""
    rng = np.random.default_rng(0)
    states = (rng.uniform(0, 9, 50), rng.uniform(-0.4, 0.4, 50), rng.uniform(-3.5, 2.5, 50))
    for element in (JOINT_SPRING, MOTOR, SPRING):
        mechanism = read(tmp_path, element.format(law=law)).system.build()
        (found,) = mechanism.laws
        np.testing.assert_array_equal(found.over(*states), LAWS[law]().over(*states))
        assert mechanism.rows[mechanism.force_elements["element"][0]].law == 0


def test_the_coordinate_of_each_element(tmp_path):
    """Beyond `free` of a joint spring, from the drawing for a motor, beyond the free length of a spring."""
    effort = 'effort = "-400*x"'
    starts = []
    for element in (JOINT_SPRING, MOTOR, SPRING + "\nlength = 0.9"):
        model = read(tmp_path, element.format(law=effort))
        state = model.system.build().initial
        starts.append(float(flexmb.accelerations(model.system.build(), state)[0][0]))
    np.testing.assert_allclose(starts, [400 * 0.05, 0.0, -400 * 0.1], rtol=1e-12, atol=1e-12)


WRONG = {
    'effort = "-k*x"': "joint_springs[1] ('element')': effort: Expression '-k*x', column 2: expected one of the names t, x, xdot, pi; found 'k'",
    'effort = "-k*x - c*xdt"\nparameters = { k = 1.0, c = 1.0 }': "column 10: expected one of the names t, x, xdot, k, c, pi; found 'xdt' (did you mean 'xdot'?)",
    'effort = "x"\nparameters = { k = 1.0 }': "found 'k', which it does not contain",
    "stiffness = 1.0\nparameters = { k = 1.0 }": "parameters are those of an expression",
    'effort = "x"\nlaw = "mine"': "no law 'mine'",
    'effort = "x"\nlaw = { kind = "cable", stiffness = 1.0 }': "either effort = (such as \"-k*x\") or law = (a table, or the name of a registered law); found both",
    "": "either effort = (such as \"-k*x\") or law = (a table, or the name of a registered law), or stiffness or damping; found none",
    'law = { kind = "tabel" }': "no kind named 'tabel'. Did you mean 'table'",
    'law = { kind = "table", x = [0.0, 1.0] }': "a table needs either x and y, or csv",
    'law = { kind = "table", x = [0.0, 1.0], y = [0.0, 1.0], csv = "table.csv" }': "a table needs either x and y, or csv",
    'law = { kind = "table", x = [0.0, 0.0], y = [0.0, 1.0] }': "Table, point 2: expected increasing numbers x",
    'law = { kind = "table", csv = "none.csv" }': "There is no table",
    'law = { kind = "table", x = [0.0, 1.0], y = [0.0, 1.0], columns = [0, 1] }': "columns selects those of a csv file",
    'law = { kind = "table", x = [0.0, 1.0], y = [0.0, 1.0], outside = "clamp" }': "'joint_springs[1] ('element').law.outside'",
    'law = { kind = "map", csv = "map.csv", x = [1.0] }': "a map needs either x, xdot and values, or csv",
    'law = { kind = "cable" }': "key 'joint_springs[1] ('element').law.stiffness' is missing",
    'law = { kind = "preloaded-spring", stiffness = 5.0, preload = 1.0, seat = 2.0 }': "must be stiffer than the spring",
    "law = 3.0": "expected the name of a registered law, or a table such as",
}  # fmt: skip


@pytest.mark.parametrize("law", WRONG)
def test_a_wrong_law_is_named_with_its_key(law, tmp_path):
    with pytest.raises(ModelFileError) as caught:
        read(tmp_path, JOINT_SPRING.format(law=law))
    assert WRONG[law] in str(caught.value)
    assert "joint_springs[1] ('element')" in str(caught.value)
