"""Every exported function, with a wrong value for each of its arguments: a result, or an error of ours; never one of
NumPy, SciPy or Python from inside, and no result of what is no number.

`sound_calls` makes the calls: a new function is tried as soon as its parameters have values there by their names.
"""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from sound_calls import PLACES, arguments, exported

from fem.errors import FlexmbError

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


def test_wrong_values_are_refused_by_name():
    """In a process of its own, as users have it: tests check the types of arguments before the functions see them."""
    command = [sys.executable, "-W", "ignore", __file__]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == {}


if __name__ == "__main__":
    print(json.dumps({name: found for name in TRIED if (found := faults(name))}))
