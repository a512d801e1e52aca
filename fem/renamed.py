"""Old names: a module, argument or attribute that has been moved or renamed since version 0.1.0 raises an error with
its new name.

- Modules and the names of packages: two tables here. A finder, the last that Python consults, raises
  ModuleNotFoundError for their imports; `refuse_old_names` does so for attributes of a package or a module.
- Methods, attributes and arguments: the decorator `renamed`, where they are defined.
"""

import sys
from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, TypeVar

from fem.elsewhere import hint, refusing

MODULES = """
fem -> fem: additions=lumped_elements
fem -> fem.files: ansys_matrices gmsh_reader gmsh_writer matrices_io=matrix_files mesh_io=mesh_files
fem -> fem.files: nastran_matrices vtk_io=vtk_files
fem -> fem.files.abaqus: abaqus=deck abaqus_keywords=keywords abaqus_sets=sets abaqus_types=element_types
fem -> fem.files.nastran: nastran_cards=cards nastran_deck=mesh nastran_mesh=mesh
fem -> fem.linear_algebra: eigen factor factorisations krylov slicing threads
fem -> fem.matrices: assembly beam_matrices cell_matrices geometric_stiffness matrix_check sparsity stress
fem -> fem.mesh: cell_quality face_area mesh mesh_check=check mesh_shapes=structured_meshes raw_mesh selection unread
reduction -> reduction: ladder=shape_sequence methods=registry quadratic_shapes=second_order_modes
reduction -> reduction.error: certificate=reference_response inputs quality=mode_comparison
reduction -> reduction.error: reference=reference_frame response_error
reduction -> reduction.methods: balanced_truncation craig_bampton free_interface gramian irka krylov modal
reduction -> reduction.solutions: condensed connectivity fixed_interfaces orthonormal record statics vibration
flexmb -> flexmb.analyses: adapted compare fidelity inverse=inverse_dynamics kinematics mobility
flexmb -> flexmb.analyses: precision=work_precision
flexmb -> flexmb.bodies: body dynamics gauge=validity invariants stress_shapes=stress_modes subspace
flexmb -> flexmb.equations: features=time_features initial=initial_conditions joint_tree=spanning_tree projection
flexmb -> flexmb.mechanism: flatten=compile held=locking joints law=force_law mechanism
flexmb -> flexmb.mechanism: motion=time_functions pieces=split places=attachments scales system
flexmb -> flexmb.plots: linear_plots precision_plots reduction_plots study_plots view=pictures
flexmb -> flexmb.results: ledger measure reactions result stress verdict
flexmb -> flexmb.simulation: contacts events history instants simulate unilateral watched=event_detection
flexmb -> flexmb.spatial: configuration elimination lie
flexmb.cli -> flexmb.cli.analyses: campbell modes periodic response sensitivity study
flexmb.cli -> flexmb.cli.motion: compare demo inverse mobility run validate view
flexmb.cli -> flexmb.cli.parts: convert inspect materials reduce stress
flexmb.files -> flexmb.files.bodies: array_file body_file body_tree mbdyn_file modal_data sid_file
flexmb.files -> flexmb.files.models: changes keys=key_types model_file motion_keys schema schema_errors
flexmb.files -> flexmb.files.results: result_file table_file vtk_file
flexmb.files -> flexmb.files.storage: sound tree
flexmb.integrators -> flexmb.equations: equations=evaluation snapshot
flexmb.integrators -> flexmb.simulation: recorded times
flexmb.kernels -> flexmb.kernels.base: algebra announce call data dense exponential pointed
flexmb.kernels -> flexmb.kernels.derivatives: adjoint transposed variation
flexmb.kernels -> flexmb.kernels.equations: bodies recall=postprocess rows
flexmb.kernels -> flexmb.kernels.joint_coordinates: articulated pivots tree
flexmb.kernels -> flexmb.kernels.steps: mean_rows solve step
flexmb.linear -> flexmb.equations: tangent
flexmb.linear -> flexmb.linear: branches=eigenvalue_loci ports=input_output
flexmb.mechanism -> flexmb.analyses: fidelity
flexmb.study -> flexmb.study.gradients: adjoint aligned begun dependence direct held model rates
flexmb.study -> flexmb.study.gradients: scales seeds sensitivity trust
"""
"""Modules: old package -> new package: the names that they had, and have where that differs."""

NAMES = {
    "fem.Solver": "fem.SolverOptions",
    "fem.mesh.CellBlock": "fem.CellBlock",
    "fem.mesh.Mesh": "fem.Mesh",
    "fem.mesh_shapes": "fem.structured_meshes",
    "flexmb.Pieces": "flexmb.SplitBody",
    "flexmb.RangeWarning": "flexmb.SmallDeformationWarning",
    "flexmb.analyses.kinematics.Sweep": "flexmb.analyses.kinematics.JointSweep",
    "flexmb.analyses.kinematics.place": "flexmb.analyses.kinematics.assemble_at",
    "flexmb.analyses.kinematics.sweep": "flexmb.analyses.kinematics.joint_sweep",
    "flexmb.bodies.validity.Gauge": "flexmb.bodies.validity.Validity",
    "flexmb.bodies.validity.RangeWarning": "flexmb.SmallDeformationWarning",
    "flexmb.bodies.validity.gauge": "flexmb.bodies.validity.validity",
    "flexmb.every_combination": "flexmb.full_factorial",
    "flexmb.integrators.method.INTEGRATORS": "flexmb.integrators.method.methods",
    "flexmb.linear.Branches": "flexmb.linear.EigenvalueLoci",
    "flexmb.linear.Linear": "flexmb.linear.LinearisedModel",
    "flexmb.linear.eigenvalue_loci.Branches": "flexmb.linear.EigenvalueLoci",
    "flexmb.linear.input_output.Ports": "flexmb.linear.input_output.InputOutputModel",
    "flexmb.linear.input_output.ports": "flexmb.linear.input_output.input_output_model",
    "flexmb.linear.linearise.Linear": "flexmb.linear.LinearisedModel",
    "flexmb.mechanism.Mechanism": "flexmb.Mechanism",
    "flexmb.mechanism.State": "flexmb.State",
    "flexmb.mechanism.attachments.Place": "flexmb.mechanism.attachments.Attachment",
    "flexmb.mechanism.compile.flatten": "flexmb.mechanism.compile.compiled",
    "flexmb.mechanism.force_law.Law": "flexmb.mechanism.force_law.ForceLaw",
    "flexmb.mechanism.joints.free_motion": "flexmb.mechanism.joints.joint_dof",
    "flexmb.mechanism.locking.Hold": "flexmb.mechanism.locking.LockedJoint",
    "flexmb.mechanism.locking.with_holds": "flexmb.mechanism.locking.with_locked_joints",
    "flexmb.mechanism.split.Pieces": "flexmb.SplitBody",
    "flexmb.mechanism.time_functions.Motion": "flexmb.mechanism.time_functions.TimeFunction",
    "flexmb.motion": "flexmb.time_functions",
    "flexmb.plots.linear_plots.plot_branches": "flexmb.plots.linear_plots.plot_eigenvalue_loci",
    "flexmb.plots.linear_plots.plot_sweep": "flexmb.plots.linear_plots.plot_joint_sweep",
    "flexmb.plots.pictures.plot_comparison": "flexmb.plots.result_plots.plot_comparison",
    "flexmb.plots.pictures.plot_energy": "flexmb.plots.result_plots.plot_energy",
    "flexmb.plots.pictures.plot_stress": "flexmb.plots.result_plots.plot_stress",
    "flexmb.plots.pictures.save_figure": "flexmb.plots.axes.save_figure",
    "flexmb.results.result.Happening": "flexmb.results.result.EventRecord",
    "flexmb.simulate_many": "flexmb.parameter_study",
    "flexmb.simulation.events.Bounce": "flexmb.simulation.events.StopImpact",
    "flexmb.simulation.events.End": "flexmb.simulation.events.Terminate",
    "flexmb.study.every_combination": "flexmb.study.full_factorial",
    "flexmb.study.many.simulate_many": "flexmb.parameter_study",
    "flexmb.study.parameters.every_combination": "flexmb.full_factorial",
    "flexmb.study.simulate_many": "flexmb.study.parameter_study",
    "reduction.Report": "reduction.ModeComparison",
    "reduction.basis.interface_rows": "reduction.basis.interface_modes",
    "reduction.error.mode_comparison.Report": "reduction.ModeComparison",
    "reduction.error.mode_comparison.report": "reduction.compare_modes",
    "reduction.methods.METHODS": "reduction.METHODS",
    "reduction.methods.reduce": "reduction.reduce",
    "reduction.report": "reduction.compare_modes",
    "reduction.strain.strain_rows": "reduction.strain_modes",
    "reduction.strain_rows": "reduction.strain_modes",
}
"""What packages hold under another name now, and what a module held that is now a package of its name."""

T = TypeVar("T", bound=Callable[..., Any])


@cache
def moved() -> dict[str, str]:
    """Old name of every module that has moved -> its name now."""
    found = {}
    for line in MODULES.strip().splitlines():
        rooms, _, words = line.partition(": ")
        before, _, after = rooms.partition(" -> ")
        for word in words.split():
            old, _, new = word.partition("=")
            found[f"{before}.{old}"] = f"{after}.{new or old}"
    return found


def sentence(old: str) -> str | None:
    """The message for an old name of a module or in a package; None for other names."""
    package, _, name = old.rpartition(".")
    module = moved().get(old)
    if old in NAMES:
        return f"{old} is now {NAMES[old]}" + (f" (module {module})." if module else ".")
    if module is not None:
        return f"{old} is now {module}."
    inside = moved().get(package, "")  # a module that is now a package of the same name holds a module with its content
    if inside.startswith(f"{package}.") and hasattr(sys.modules.get(inside), name):
        return f"{old} is now {inside}.{name}."
    return None


class _OldNames:
    """Finds no module; what has moved it refuses with its new name.

    Being the last of the finders, it is asked for nothing that exists.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: ModuleType | None = None) -> None:
        if name.partition(".")[0] not in ("fem", "reduction", "flexmb"):
            return
        text = sentence(name)
        package, _, last = name.rpartition(".")
        if text is None and hasattr(sys.modules.get(package), last):
            text = f"{name} is not a module, but {package} holds it. Write: from {package} import {last}"
        elif text is None and package in ("fem", "reduction", "flexmb"):
            text = hint(package, last)
        if text is not None:
            # without name=: `from package import old` would take it for a missing attribute and hide the sentence
            raise ModuleNotFoundError(text) if name in moved() else ImportError(text)


sys.meta_path.append(_OldNames)


def refuse_old_names(module: str, at_first_use: Collection[str] = ()) -> None:
    """Make old attribute names of a package raise AttributeError with the new name; those of a module that is no
    package raise ImportError, because `from module import old` hides an AttributeError. The packages `at_first_use` in
    it are imported when they are named, and named where somebody looks for their functions in the module. A module in
    the package is no such function: `from package import module` asks for an attribute before it imports the module."""
    here = sys.modules[module]

    def missing(name: str) -> Any:
        if name in at_first_use:
            return import_module(f"{module}.{name}")
        text = sentence(f"{module}.{name}")
        if text is not None and not hasattr(here, "__path__"):
            raise ImportError(text)
        if text is None and "__path__" in vars(here) and not _is_module(f"{module}.{name}", here):
            for package in () if name.startswith("_") else at_first_use:
                import_module(f"{module}.{package}")
            text = hint(module, name)
        raise AttributeError(text or f"module {module!r} has no attribute {name!r}", name=name)

    here.__dict__["__getattr__"] = missing


def _is_module(name: str, package: ModuleType) -> bool:
    """Whether `name` is that of a module in a package, imported or not."""
    return PathFinder.find_spec(name, package.__path__) is not None


NOW = "{call}(): the argument {name}= is now {now}=."
"""What is said of an old name of an argument."""


def renamed(**names: str) -> Callable[[T], T]:
    """Decorator that records old names: `old="new"` for arguments of a function, or attributes and arguments of a
    class, whose missing attributes are answered by the hints of `fem.elsewhere`."""

    def mark(thing: T) -> T:
        if not isinstance(thing, type):
            return refusing(thing, names, NOW)
        made: Any = thing
        made.__init__ = refusing(made.__init__, names, NOW)

        def missing(self: Any, name: str) -> Any:
            if name in names:
                now = " and ".join(new if "." in new else f"{made.__name__}.{new}" for new in names[name].split())
                raise AttributeError(f"{made.__name__}.{name} is now {now}.", name=name, obj=self)
            text = None if hasattr(type(self), name) else hint(made.__name__, name)
            if text is not None:
                raise AttributeError(text, name=name, obj=self)
            return object.__getattribute__(self, name)  # raises what it raised before

        made.__getattr__ = missing
        return thing

    return mark
