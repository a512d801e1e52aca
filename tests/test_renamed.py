"""Scripts written for commit d795318 fail with one sentence that gives the new name of what they use."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mechanisms import double_pendulum
from typer.testing import CliRunner

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from fem.renamed import NAMES, moved
from flexmb.cli.main import app
from flexmb.files.models.schema import JointKeys, LoadKeys, MotorKeys, ReductionKeys
from flexmb.files.results.result_file import _mechanism_from_tree, _mechanism_tree
from flexmb.simulation.events import stop

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def this_checkout_only(monkeypatch):
    """An installed checkout elsewhere would answer for modules that are no longer here."""
    own = [f for f in sys.meta_path if not getattr(f, "__module__", "").startswith("__editable__")]
    monkeypatch.setattr(sys, "meta_path", own)


@pytest.fixture(scope="module")
def things():
    model = fem.Model(block("hexahedron", (1.0, 0.2, 0.2), (4, 1, 1)), fem.Material.steel())
    model = model.with_interfaces(root="x0", tip="x1")
    basis = reduction.craig_bampton(model, 1)
    body = flexmb.flexible_body(model, basis)
    return {
        "fem": fem, "flexmb": flexmb, "reduction": reduction, "model": model, "mesh": model.mesh, "basis": basis, "body": body, "end": model.interfaces["tip"], "system": flexmb.System(), "mechanism": double_pendulum().build(), "stop": stop,
    }  # fmt: skip


IMPORTS = {
    "from fem import mesh_shapes": "fem.structured_meshes (module fem.mesh.structured_meshes)",
    "from fem.mesh_shapes import block": "fem.structured_meshes (module fem.mesh.structured_meshes)",
    "from fem.mesh import Mesh": "fem.Mesh",
    "from fem import Solver": "fem.SolverOptions",
    "import fem.additions": "fem.lumped_elements",
    "from fem.factorisations.storage import Solver": "fem.linear_algebra.factorisations",
    "from fem.matrices_io import read_calculix": "fem.files.matrix_files",
    "from fem.abaqus import read_deck": "fem.files.abaqus.deck",
    "from reduction import report": "reduction.compare_modes",
    "from reduction.quality import Report": "reduction.error.mode_comparison",
    "from reduction.certificate import certify": "reduction.error.reference_response",
    "from reduction.methods import METHODS, reduce": "reduction.METHODS",
    "from reduction.modal import modal": "reduction.methods.modal",
    "from flexmb import motion": "flexmb.time_functions (module flexmb.mechanism.time_functions)",
    "from flexmb.motion import spin_up": "flexmb.time_functions (module flexmb.mechanism.time_functions)",
    "from flexmb.mechanism import State": "flexmb.State",
    "from flexmb.mechanism import MechanismError": "flexmb.mechanism.mechanism.MechanismError",
    "from flexmb import view": "flexmb.plots.pictures",
    "from flexmb.view import picture_mesh, picture_modes": "flexmb.plots.pictures",
    "from flexmb.view import animate": "flexmb.plots.pictures",
    "from flexmb.measure import measure": "flexmb.results.measure",
    "from flexmb.events import End, Event, Lock, Release, stop": "flexmb.simulation.events",
    "from flexmb.kinematics import place, sweep": "flexmb.analyses.kinematics",
    "from flexmb.mobility import least_reactions, mobility": "flexmb.analyses.mobility",
    "from flexmb.inverse import Servo, inverse_dynamics": "flexmb.analyses.inverse_dynamics",
    "from flexmb.precision import work_precision": "flexmb.analyses.work_precision",
    "from flexmb.linear_plots import plot_eigenvalues": "flexmb.plots.linear_plots",
    "from flexmb.study_plots import plot_study": "flexmb.plots.study_plots",
    "from flexmb.adapted import adapted": "flexmb.analyses.adapted",
    "from flexmb import RangeWarning": "flexmb.SmallDeformationWarning",
    "from flexmb import Pieces": "flexmb.SplitBody",
    "from flexmb.study import every_combination, simulate_many": "flexmb.study.full_factorial",
    "from flexmb.linear import Linear": "flexmb.linear.LinearisedModel",
    "from flexmb.linear import Branches": "flexmb.linear.EigenvalueLoci",
    "from flexmb.linear.ports import input_names": "flexmb.linear.input_output",
    "from flexmb.simulation.events import End": "flexmb.simulation.events.Terminate",
    "from flexmb.plots.linear_plots import plot_branches": "flexmb.plots.linear_plots.plot_eigenvalue_loci",
    "from flexmb.analyses.kinematics import place": "flexmb.analyses.kinematics.assemble_at",
    "from flexmb.simulate import simulate": "flexmb.simulation.simulate",
    "from flexmb.compare import compare": "flexmb.analyses.compare",
    "from flexmb.study.sensitivity import gradient": "flexmb.study.gradients.sensitivity",
    "from flexmb.linear.tangent import tangent": "flexmb.equations.tangent",
    "from flexmb.files.body_file import load_body": "flexmb.files.bodies.body_file",
}


@pytest.mark.parametrize("script", IMPORTS)
def test_an_old_import_names_the_new_place(script):
    with pytest.raises(ImportError) as caught:
        exec(script, {})
    said = str(caught.value)
    assert f" is now {IMPORTS[script]}." in said
    assert said.count(" is now ") == 1
    assert isinstance(caught.value, ModuleNotFoundError) or script.split()[1] in ("fem", "fem.mesh", "reduction", "reduction.methods", "flexmb", "flexmb.analyses.kinematics", "flexmb.linear", "flexmb.mechanism", "flexmb.plots.linear_plots", "flexmb.simulation.events", "flexmb.study")  # fmt: skip


USES = {
    "fem.mesh_shapes.block": "fem.mesh_shapes is now fem.structured_meshes (module fem.mesh.structured_meshes).",
    "fem.Solver(memory='4GiB')": "fem.Solver is now fem.SolverOptions.",
    "fem.mesh.Mesh": "fem.mesh.Mesh is now fem.Mesh.",
    "flexmb.motion.spin_up(10.0, 1.0)": "flexmb.motion is now flexmb.time_functions (module flexmb.mechanism.time_functions).",
    "flexmb.mechanism.State": "flexmb.mechanism.State is now flexmb.State.",
    "flexmb.view": "flexmb.view is now flexmb.plots.pictures.",
    "reduction.report(model, basis)": "reduction.report is now reduction.compare_modes.",
    "reduction.strain_rows(model, basis, (0, 0, 0))": "reduction.strain_rows is now reduction.strain_modes.",
    "reduction.choose(model, band=(0, 100), tol=0.01)": "choose(): the argument tol= is now tolerance=.",
    "reduction.reduce(model, 'modal', band=(0, 100), tol=0.01)": "reduce(): the argument tol= is now tolerance=.",
    "reduction.craig_bampton(model, 1, attached_to='root')": "craig_bampton(): the argument attached_to= is now reference_frame=.",
    "reduction.guyan(model, attached_to='root')": "guyan(): the argument attached_to= is now reference_frame=.",
    "reduction.reanalyse(basis, model, attached_to='root')": "reanalyse(): the argument attached_to= is now reference_frame=.",
    "basis.modes": "Basis.modes is now Basis.n_modes.",
    "basis.attached_to": "Basis.attached_to is now Basis.reference_frame.",
    "basis.interface_rows['tip']": "Basis.interface_rows is now Basis.interface_modes.",
    "model.with_solver(resume='run')": "Model.with_solver(): the argument resume= is now checkpoint=.",
    "fem.SolverOptions(resume='run')": "SolverOptions(): the argument resume= is now checkpoint=.",
    "fem.SolverOptions().resume": "SolverOptions.resume is now SolverOptions.checkpoint.",
    "model.with_added({'tip': fem.PointMass(1.0)})": "Model.with_added is now Model.with_point_masses and Model.with_springs.",
    "model.rigid_modes()": "Model.rigid_modes is now Model.rigid_body_modes.",
    "end.motion_rows(model)": "Interface.motion_rows is now Interface.interface_matrix.",
    "end.rigid_map(model)": "Interface.rigid_map is now Interface.rigid_body_modes.",
    "mesh.notes": "Mesh.notes is now Mesh.warnings.",
    "fem.Mesh(mesh.points, mesh.cells, notes=())": "Mesh(): the argument notes= is now warnings=.",
    "flexmb.every_combination(a=[1, 2])": "flexmb.every_combination is now flexmb.full_factorial.",
    "flexmb.simulate_many(None, [{}])": "flexmb.simulate_many is now flexmb.parameter_study.",
    "flexmb.parameter_study(None, [{}], keep='study.jsonl')": "parameter_study(): the argument keep= is now checkpoint=.",
    "flexmb.split(system, model, pieces=2)": "split(): the argument pieces= is now n_parts=.",
    "fem.split(model, pieces=2)": "split(): the argument pieces= is now n_parts=.",
    "flexmb.RangeWarning": "flexmb.RangeWarning is now flexmb.SmallDeformationWarning.",
    "system.drive('hinge', None, along='rotation')": "System.drive(): the argument along= is now dof=.",
    "system.set_speed('hinge', 1.0, along='rotation')": "System.set_speed(): the argument along= is now dof=.",
    "system.joint_spring('s', 'hinge', stiffness=1.0, along='rotation')": "System.joint_spring(): the argument along= is now dof=.",
    "system.motor('m', 'hinge', 1.0, drag=0.1)": "System.motor(): the argument drag= is now damping=.",
    "system.load('l', None, follows=True)": "System.load(): the argument follows= is now follower=.",
    "stop('floor', 'hinge', 0.0, along='translation')": "stop(): the argument along= is now dof=.",
    "flexmb.Result.coordinate(None, 'hinge', along='rotation')": "Result.coordinate(): the argument along= is now dof=.",
    "mechanism.flat()": "Mechanism.flat is now flexmb.mechanism.compile.compiled.",
    "body.gauge": "Body.gauge is now Body.validity.",
    "body.invariants.over(None)": "InertiaInvariants.over is now InertiaInvariants.transformed.",
    "body.interface('tip').over(None)": "BodyInterface.over is now BodyInterface.transformed.",
}


@pytest.mark.parametrize("script", USES)
def test_an_old_use_names_the_new_one(script, things):
    with pytest.raises((AttributeError, TypeError)) as caught:
        eval(script, things)
    assert str(caught.value) == USES[script]


@pytest.mark.parametrize(
    ("verb", "option", "now"),
    [
        ("reduce", "--tol", "--tolerance"),
        ("reduce", "--attached-to", "--reference-frame"),
        ("reduce", "--resume", "--checkpoint"),
        ("study", "--keep", "--checkpoint"),
    ],
)
def test_an_old_option_names_the_new_one(verb, option, now):
    said = CliRunner().invoke(app, [verb, "part.msh", option, "1"])
    assert said.exit_code == 2
    assert f"{option} is now {now}." in said.output


@pytest.mark.parametrize(
    ("keys", "old", "new"),
    [
        (ReductionKeys, "attached_to", "reference_frame"),
        (JointKeys, "along", "dof"),
        (MotorKeys, "along", "dof"),
        (MotorKeys, "drag", "damping"),
        (LoadKeys, "follows", "follower"),
    ],
)
def test_an_old_key_names_the_new_one(keys, old, new):
    with pytest.raises(ValueError, match=f"the key '{old}' is now '{new}'"):
        keys.model_validate({old: "root"})


def test_a_result_file_of_before_is_read(tmp_path):
    """Loads had the field `follows`."""
    system = flexmb.System()
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    system.load("jet", ball.at((0, 0, 0)), force=(1, 0, 0), follower=True)
    times = np.array([0.0, 1.0])
    tree = _mechanism_tree(system.build(), times)
    tree["loads"]["follows"] = tree["loads"].pop("follower")
    assert _mechanism_from_tree(tree, times, tmp_path).loads[0].follower is True


def test_what_has_no_name_fails_as_ever(things):
    for script in ("basis.nothing", "fem.nothing", "model.nothing"):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            eval(script, things)
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from fem import nothing")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'fem\.nothing'"):
        exec("import fem.nothing")
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        reduction.modal(things["model"], nothing=1)


@pytest.mark.parametrize("old", NAMES)
def test_every_old_name_is_refused_with_its_new_one(old):
    """Where its module still is, an import; of a module that has moved, that one's new name."""
    package, _, name = old.rpartition(".")
    with pytest.raises(ImportError) as caught:
        exec(f"from {package} import {name}", {})
    assert f" is now {NAMES[old]}" in str(caught.value)


def test_every_new_name_is_there():
    for module in moved().values():
        path = ROOT / module.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), module
    for new in NAMES.values():
        package, _, name = new.rpartition(".")
        assert hasattr(importlib.import_module(package), name), new


def test_rooms_are_imported_when_they_are_named():
    """A program that says `import flexmb` alone may write `flexmb.files.load_body` and `flexmb.linear.equilibrium`."""
    code = "import flexmb; assert flexmb.files.load_body and flexmb.linear.equilibrium; flexmb.nothing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "module 'flexmb' has no attribute 'nothing'" in done.stderr


def test_a_module_of_the_package_is_imported_without_the_rooms_that_it_does_not_need():
    """`from flexmb import demo` first asks the package for an attribute "demo"; the answer needs no search of its rooms."""
    code = "import sys; from flexmb import demo; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    libraries = {"pydantic", "h5py", "scipy.optimize", "scipy.interpolate", "scipy.spatial"}
    assert not {"flexmb.files", "flexmb.linear", *libraries} & set(done.stdout.split())


def test_what_is_in_a_room_of_the_package_is_named_with_its_room():
    with pytest.raises(AttributeError, match=r"it is flexmb\.files\.save_result"):
        flexmb.save_result  # noqa: B018
    with pytest.raises(AttributeError, match=r"it is flexmb\.linear\.linearise"):
        flexmb.linearise  # noqa: B018


@pytest.mark.parametrize(("module", "written"), [("flexmb.time_functions", "from flexmb import time_functions"), ("fem.Model", "from fem import Model")])  # fmt: skip
def test_what_a_package_holds_is_no_module(module, written):
    with pytest.raises(ImportError, match=f"is not a module, but .* holds it. Write: {written}"):
        importlib.import_module(module)
