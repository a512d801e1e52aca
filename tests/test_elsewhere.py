"""Names that somebody looks for, from other programs or in the wrong package, lead to those that exist."""

import re

import pytest

import fem
import flexmb
import flexmb.linear
import flexmb.plots.pictures
import flexmb.plots.result_plots
import reduction
from fem.elsewhere import HELD, ROOMS, WORDS
from fem.mesh.structured_meshes import sheet
from flexmb.mechanism.system import HINTS

THINGS = {"fem": fem, "flexmb": flexmb, "reduction": reduction, "system": flexmb.System()}
THINGS["part"] = fem.Model(sheet("quad", (1.0, 1.0), (1, 1)), fem.Shell(fem.Material.steel(), 0.1))
THINGS["modes"] = fem.natural_modes(THINGS["part"], 2)
ASKED = {
    "flexmb.Model": "flexmb has no 'Model'; it is fem.Model.",
    "flexmb.RigidBody": "flexmb has no 'RigidBody'; it is flexmb.rigid_body.",
    "flexmb.read_mesh": "flexmb has no 'read_mesh'; it is fem.read_mesh.",
    "flexmb.linearize": "flexmb has no 'linearize'; see flexmb.linear.linearise.",
    "flexmb.craig_bampton": "flexmb has no 'craig_bampton'; it is reduction.craig_bampton.",
    "fem.solve": "fem has no 'solve'; see fem.solve_static(part, load, supports) for a static load case, flexmb.simulate "
    "for a motion.",
    "fem.RBE2": "fem has no 'RBE2'; see fem.RigidLink, or a rigid fem.Interface.",
    "fem.pointforce": "fem has no 'pointforce'; it is fem.point_force.",
    "fem.read_msh": "fem has no 'read_msh'; did you mean fem.read_mesh?",
    "fem.read_step": "fem has no 'read_step'; see fem.mesh_cad for CAD in a STEP file, fem.read_steps for the analysis "
    "steps of a deck.",
    "fem.TaperedBeam": "fem has no 'TaperedBeam'; see fem.BeamTable.of_sections, sections at stations, and fem.BeamTable, their matrices.",
    "fem.tie": "fem has no 'tie'; see fem.join(parts, welds) for parts, fem.RigidLink for the edge of a shell at a solid, "
    "*TIE in a deck.",
    "part.plot": "Model has no 'plot'; see " + WORDS["plot"] + ".",
    "part.mesh.plot": "Mesh has no 'plot'; see " + WORDS["plot"] + ".",
    "part.natural_frequencies": "Model has no 'natural_frequencies'; see " + HELD + ".",
    "fem.frequencies": "fem has no 'frequencies'; see " + HELD + ".",
    "reduction.modes": "reduction has no 'modes'; see " + HELD + ".",
    "flexmb.modal_analysis": "flexmb has no 'modal_analysis'; see " + HELD + ".",
    "fem.check": "fem has no 'check'; did you mean fem.check_mesh? There is also reduction.check.",
    "part.with_masses": "Model has no 'with_masses'; see " + WORDS["with_masses"] + ".",
    "modes.plot": "NaturalModes has no 'plot'; see " + WORDS["plot"] + ".",
    "fem.read_op4": "fem has no 'read_op4'; see " + WORDS["read_op4"] + ".",
    "system.hinge": "System has no 'hinge'; see System.revolute.",
    "system.simulate": "System has no 'simulate'; see flexmb.simulate(system, duration, step=...).",
    "system.revolut": "System has no 'revolut'; see System.revolute.",
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_name_of_another_place_is_told(asked):
    with pytest.raises(AttributeError) as caught:
        eval(asked, THINGS)
    assert str(caught.value) == ASKED[asked]


def test_an_import_says_so_too():
    with pytest.raises(ImportError, match=r"flexmb has no 'Model'; it is fem\.Model"):
        exec("from flexmb import Model", {})
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'fem\.nothing'"):
        exec("import fem.nothing", {})


@pytest.mark.parametrize("text", [*WORDS.values(), *HINTS.values()])
def test_what_a_hint_names_exists(text):
    named = re.findall(r"\b(?:fem|reduction|flexmb|System)\.\w+(?:\.\w+)*", text)
    assert named or "StaticResult" in text
    for name in named:
        place, *parts = name.split(".")
        found = flexmb.System if place == "System" else THINGS[place]
        for part in parts:
            assert hasattr(found, part), name
            found = getattr(found, part)


def test_no_hint_hides_a_name_that_exists():
    for room in ROOMS:
        assert not {*WORDS} & {*__import__(room, fromlist=["x"]).__all__}
    assert not [name for name in HINTS if name in dir(flexmb.System)]
