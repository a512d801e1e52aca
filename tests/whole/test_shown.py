"""What prompts and notebooks show of the objects that they are given."""

import pytest
from mechanisms import double_pendulum

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.linear import equilibrium, linearise

LONGEST = 200


@pytest.fixture(scope="module")
def objects():
    mesh = block("hexahedron", (1.0, 0.1, 0.1), (4, 1, 1))
    model = fem.Model(mesh, fem.Material.steel(), "bar").with_interfaces(root="x0")
    basis = reduction.craig_bampton(model, modes=3)
    system = double_pendulum()
    result = flexmb.simulate(system, 0.01, step=1e-3)
    rest = equilibrium(system)
    linear = linearise(system)
    return {
        "Material": (fem.Material.steel(), "Young's modulus 2.1e+11, Poisson's ratio 0.3"),
        "Section": (fem.Section.circle(0.02), "area 0.000314159"),
        "Marker": (system.build().markers[0], "on "),
        "Joint": (system.build().joints[0], "'hinge' (revolute), 5 equations"),
        "Mesh": (mesh, "20 nodes"),
        "MeshReport": (fem.check_mesh(mesh), "nothing found"),
        "Model": (model, "'bar'"),
        "Interface": (model.interfaces["root"], "4 nodes"),
        "Basis": (basis, "3 elastic coordinates"),
        "Body": (flexmb.flexible_body(model, basis), "mass 78.5"),
        "BodyHandle": (system.ground, "the ground"),
        "System": (system, "'double pendulum'"),
        "Mechanism": (system.build(), "2 bodies"),
        "State": (result.state(0), "14 coordinates"),
        "TimeFunction": (flexmb.time_functions.constant(2.0), "2"),
        "Result": (result, "10 steps"),
        "Ledger": (result.ledger, "energy ledger"),
        "Verdict": (result.verdict, "closes"),
        "Equilibrium": (rest, "stable"),
        "LinearisedModel": (linear, "12 displacements"),
        "Vibration": (linear.modes(), "frequency"),
    }


def test_prompts_show_a_short_line(objects):
    for name, (thing, text) in objects.items():
        shown = repr(thing)
        assert shown.startswith(f"<{name}: ")
        assert text in shown
        assert len(shown) < LONGEST
        assert "\n" not in shown
        assert "array(" not in shown


def test_notebooks_show_all_that_print_shows(objects):
    for thing, _ in objects.values():
        page = thing._repr_html_()
        assert page.startswith("<pre")
        assert len(page) > len(str(thing))
    assert "&#x27;double pendulum&#x27;" in objects["Mechanism"][0]._repr_html_()
    assert "'hinge' (revolute), 'elbow' (revolute)" in str(objects["Mechanism"][0])
