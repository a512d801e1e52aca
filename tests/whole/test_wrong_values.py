"""Every exported function, with a wrong value for each of its arguments: a result, or an error of ours; never one of
NumPy, SciPy or Python from inside, and no result of what is no number.

`sound_calls` makes the calls: a new function is tried as soon as its parameters have values there by their names.
"""

import inspect
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sound_calls import PLACES, arguments, exported, mesh, part

import fem
import flexmb
from fem.errors import FlexmbError
from flexmb import contact, controllers

ROOT = Path(__file__).parents[2]
WRONG = {"None": None, "a text": "text?", "an object": object(), "a list": [None, "x"], "nothing": [], "an empty array": np.zeros(0), "not a number": float("nan"), "a list of those": [float("nan")] * 3, "infinity": float("inf"), "a negative number": -1, "zero": 0, "a huge number": 1e300, "a complex number": 1j, "a box of numbers": np.ones((2, 2, 2)), "texts": np.array(["x", "y", "z"]), "texts of digits": ["1", "2", "3"], "complex numbers": np.full(3, 1j), "lists of different lengths": [[1.0], [1.0, 2.0]]}  # fmt: skip
NO_NUMBERS = (
    "a text",
    "an object",
    "a list",
    "not a number",
    "a list of those",
    "a complex number",
    "texts",
    "texts of digits",
    "complex numbers",
    "lists of different lengths",
)
OURS = ("fem", "reduction", "flexmb")
WITHOUT = {
    "fem": "BeamTable CylindricalAxes DofMap ImportedMatrices Mesh Model NaturalModes Spring StaticResult Step StepResult Surface drawn_section extract_cells join line_load mesh_cad read_abaqus read_ansys read_calculix read_matrices read_matrix_market read_mesh read_nastran read_steps solve_static solve_step write_matrices write_mesh",
    "reduction": "Basis FrequencyResponse LinearSystem ModeComparison ResidualCompliance ResponseError SecondOrder contact_basis frequency_response reduce residual_compliance synthesise",
    "flexmb": "Body Comparison ControlLaw EnergyMomentum Evaluation FrameLaw Ledger Mechanism Relative Result Shape SplitBody State Study Verdict compare control_law expression force_map force_map_from_csv law parameter_study rigid_body show split table_from_csv",
    "contact": "Box ConeSolution NormalLaw Surface TriangleMesh Turning TurningFriction convex_pieces hull malca mesh",
    "curves": "Curve",
    "controllers": "curve_from_csv discrete gain_schedule linear state_feedback",
    "time_functions": "Ahead TimeFunction check_derivatives constant function piecewise_linear polynomial require_driver require_inside require_time_function speed_profile table",
}  # fmt: skip
"""Functions of objects, files and records, which other tests give wrong values, and records that functions return."""
TETRA = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
SIX = np.array([np.eye(6)] * 2)
ARRAYS = {
    "Mesh": (lambda points: fem.Mesh(points, (fem.CellBlock("tetra", np.array([[0, 1, 2, 3]])),)), {"points": TETRA}),
    "Mesh.nodes": (lambda nodes: mesh().nodes(nodes), {"nodes": [1, 2]}),
    "Mesh.numbered": (lambda number: mesh().numbered(number), {"number": 1}),
    "CylindricalAxes": (fem.CylindricalAxes, {"point": (0, 0, 0), "direction": (0, 0, 1), "turn": 10.0}),
    "Spring": (lambda stiffness: fem.Spring("a", "b", stiffness).matrix(), {"stiffness": [1.0] * 6}),
    "BeamTable": (fem.BeamTable, {"positions": [0.0, 1.0], "stiffness": SIX, "mass": SIX, "y_axis": (0, 1, 0)}),
    "Section": (lambda fibres: fem.Section(0.01, 1e-5, 1e-5, 1e-5, fibres=fibres), {"fibres": ((0.0, 0.1),)}),
    "drawn_section": (fem.drawn_section, {"shape": [(0, 0), (1, 0), (1, 1), (0, 1)], "size": 0.5}),
    "solve_static": (lambda load: fem.solve_static(part(), load, ["start"]), {"load": np.zeros(part().ndof)}),
    "Shape": (flexmb.Shape, {"points": TETRA, "triangles": FACES}),
    "TriangleMesh": (contact.TriangleMesh, {"points": TETRA, "triangles": FACES}),
    "Turning": (contact.Turning, {"contact": 0, "length": 1.0, "rows": 1}),
    "rigid_body": (lambda **given: flexmb.rigid_body("b", **given), {"mass": 1.0, "inertia": (1, 1, 1), "centre": (0, 0, 0)}),
    "rigid_body.points": (lambda place: flexmb.rigid_body("b", mass=1.0, inertia=(1, 1, 1), points={"a": place}), {"place": (0, 0, 0)}),
    "state_feedback": (lambda gains: controllers.state_feedback(gains, inputs=["a", "b"], commands=["c"]), {"gains": np.ones((1, 2))}),
    "linear": (lambda **given: controllers.linear(tuple(given.values()), inputs=["a"], commands=["c"]), {key: np.ones((1, 1)) for key in "ABCD"}),
}  # fmt: skip
"""Calls of some of these with arrays, each of which is tried with arrays of what is no number."""
WRONG_ARRAYS = ("texts", "texts of digits", "complex numbers", "lists of different lengths", "an object", "a text")
FLAGS = (bool, type(None))
LATER = {"fem.Interface": "nodes", "flexmb.full_factorial": "speed"}
"""Arguments that are resolved when they are used, and lists of any values."""
FUNCTIONS = dict(exported())
TRIED = sorted(name for name in FUNCTIONS if name.split(".")[1] not in WITHOUT[name.split(".")[0]].split())


def tried(name):
    """The names of arguments of numbers, texts and lists, of which flags are none."""
    found = arguments(name, FUNCTIONS[name])
    assert found is not None, (
        f"give {', '.join(inspect.signature(FUNCTIONS[name]).parameters)} of {name} values in tests/whole/sound_calls.py"
    )
    own = {key: type(value).__module__.split(".")[0] in OURS for key, value in found.items()}
    return found, [key for key, value in found.items() if not own[key] and not isinstance(value, FLAGS)]


def test_every_function_is_known():
    for place, module in PLACES.items():
        there = {name.split(".")[1] for name in FUNCTIONS if name.startswith(f"{place}.")}
        assert set(WITHOUT[place].split()) <= there, set(WITHOUT[place].split()) - there
        assert there - set(WITHOUT[place].split()), module


def faults(name):
    """What is not refused as it should be."""
    function = FUNCTIONS[name]
    sound, keys = tried(name)
    function(**sound)
    found = []
    for key in keys:
        for what, wrong in WRONG.items():
            given = arguments(name, function) | {key: wrong}
            try:
                function(**given)
            except FlexmbError:
                continue
            except Exception as error:
                found.append(f"{key} = {what}: {type(error).__name__}: {error}")
                continue
            if what in NO_NUMBERS and not isinstance(sound[key], str) and LATER.get(name) != key:
                found.append(f"{key} = {what}: taken in silence")
    return found


def faults_of_arrays():
    """What is not refused as it should be, of the calls with arrays; names are of any type."""
    found = {}
    for name, (call, sound) in ARRAYS.items():
        if name == "drawn_section" and find_spec("gmsh") is None:  # which makes its mesh
            continue
        call(**sound)
        for key in sound:
            for what in WRONG_ARRAYS if (name, key) != ("Turning", "contact") else ():
                try:
                    call(**sound | {key: WRONG[what]})
                except FlexmbError:
                    continue
                except Exception as error:
                    found[f"{name}, {key} = {what}"] = f"{type(error).__name__}: {error}"
                    continue
                found[f"{name}, {key} = {what}"] = "taken in silence"
    return found


def test_wrong_values_are_refused_by_name():
    """In a process of its own, as users have it: tests check the types of arguments before the functions see them."""
    command = [sys.executable, "-W", "ignore", __file__]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == {}


if __name__ == "__main__":
    print(json.dumps({name: found for name in TRIED if (found := faults(name))} | faults_of_arrays()))
