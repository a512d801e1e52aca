"""Cables, belts, elastic relations and curves in model files equal the same calls in Python."""

import numpy as np
import pytest
from model_files import model_of
from pydantic import ValidationError

import flexmb
from flexmb.files.models.contact_keys import SurfaceKeys

MODEL = """
name = "elements"
gravity = [0, 0, -9.81]
simulation = { duration = 0.1, step = 1e-3 }

joints = [
    { name = "guide", kind = "prismatic", a = "ground", b = "load.hook", axis = [0, 0, 1] },
    { name = "shaft", kind = "revolute", a = "ground", b = "wheel", axis = [0, 0, 1], at = [2, 0, 0] },
    { name = "wire", kind = "point-on-curve", a = "ground", at = [2.5, 0, 0], b = "bead.centre", curve = { points = [
        [0, 0], [0.2, -0.03], [0.4, -0.045], [0.6, -0.05], [0.8, -0.03], [1, 0.04],
    ] }, normal = [0, -1, 0] },
]
cables = [
    { name = "rope", places = [[0, 0, 0], "load.hook", [1, 0, 0]], stiffness = 1e4, damping = 5.0, length = 2.3 },
]

[bodies]
load = { kind = "rigid", mass = 3.0, inertia = [1, 1, 1], position = [0, 0, -1], points = { hook = [0, 0, 0] } }
wheel = { kind = "rigid", mass = 1.0, inertia = [0.1, 0.1, 0.1], position = [2, 0, 0] }

[bodies.bead]
kind = "rigid"
mass = 1.0
inertia = [0.1, 0.1, 0.1]
points = { centre = [0, 0, 0] }
position = [3, 0, -0.05]

[[elastic_relations]]
name = "winch"
factors = { "guide:translation" = 1.0, "shaft:rotation" = 0.2 }
effort = "-k*x"
stored = "k*x**2/2"
parameters = { k = 500.0 }
"""


def test_elements_of_a_file_are_those_of_the_same_calls(tmp_path):
    found = flexmb.simulate(model_of(tmp_path, MODEL).system, 0.1, step=1e-3)
    system = flexmb.System(gravity=(0, 0, -9.81), name="elements")
    points = {"hook": (0, 0, 0), "centre": (0, 0, 0)}
    load = system.add(flexmb.rigid_body("load", mass=3.0, inertia=(1, 1, 1), points=points), position=(0, 0, -1))
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(0.1,) * 3), position=(2, 0, 0))
    bead = flexmb.rigid_body("bead", mass=1.0, inertia=(0.1,) * 3, points=points)
    bead = system.add(bead, position=(3, 0, -0.05))
    system.prismatic("guide", system.ground, load["hook"], axis=(0, 0, 1))
    system.revolute("shaft", system.ground, wheel, axis=(0, 0, 1), at=(2, 0, 0))
    wire = flexmb.curves.through([(0, 0), (0.2, -0.03), (0.4, -0.045), (0.6, -0.05), (0.8, -0.03), (1, 0.04)])
    system.point_on_curve("wire", system.ground.at((2.5, 0, 0)), bead["centre"], wire, normal=(0, -1, 0))
    system.cable(
        "rope",
        [system.ground.at((0, 0, 0)), load["hook"], system.ground.at((1, 0, 0))],
        stiffness=1e4,
        damping=5.0,
        length=2.3,
    )
    law = flexmb.expression("-k*x", stored="k*x**2/2", k=500.0)
    system.elastic_relation("winch", {"guide:translation": 1.0, "shaft:rotation": 0.2}, law=law)
    known = flexmb.simulate(system, 0.1, step=1e-3)
    np.testing.assert_array_equal(found.q, known.q)
    assert found.energy_by_element()["winch"].stored.max() > 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "point-on-curve"', 'kind = "slider-on-curve", offset = 0.1', "keys of point-on-curve"),
        ("curve = { points", 'curve = { csv = "x.csv", points', "either points"),
        ("curve = { points", "curve = { columns = [1, 0], points", "columns selects those of a csv file"),
        ('"load.hook", [1', '"load", [1', "runs over 'body.interface'"),
        ("damping = 5.0", "slack = 5.0", "unknown key|There is no key"),
        ('stored = "k*x**2/2"', 'stored = "xdot"', "depends on x alone"),
    ],
)
def test_wrong_elements_are_named_with_their_keys(old, new, message, tmp_path):
    with pytest.raises(flexmb.ModelFileError, match=message):
        model_of(tmp_path, MODEL, old, new)


def test_a_curve_from_a_file_has_the_unit_of_length_of_the_model(tmp_path):
    rows = "0, 0\n0.2, -0.03\n0.4, -0.045\n0.6, -0.05\n0.8, -0.03\n1, 0.04\n"
    points = MODEL[MODEL.index("points = [") : MODEL.index("    ] }, normal") + len("    ]")]
    for unit, units in (("m", "SI"), ("mm", "mm-t-s"), ("mm", None)):
        (tmp_path / "wire.csv").write_text(f"x [{unit}], z [{unit}]\n{rows}")
        named = MODEL if units is None else f'units = "{units}"\n{MODEL}'
        model_of(tmp_path, named, points, 'csv = "wire.csv"')
    with pytest.raises(flexmb.FlexmbError, match=r"wire.csv, column 'x \[mm\]': expected .*, m, .*; found mm"):
        model_of(tmp_path, f'units = "SI"\n{MODEL}', points, 'csv = "wire.csv"')


def test_a_flexible_surface_has_no_place_of_its_own():
    for keys in ({"at": [0, 0, 0]}, {"axis": [0, 0, 1]}, {"x_axis": [1, 0, 0]}):
        with pytest.raises(
            ValidationError, match="a flexible surface has its place on the body: omit at, axis and x_axis"
        ):
            SurfaceKeys(place="block", surface="below", **keys)
