"""Hints at what a user looks for under another name, or in another package: in the errors of missing attributes
and arguments.

`fem.renamed` knows the names of the past; these here are names of other programs, and of the wrong package.
"""

import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, cast

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

HELD = (
    'fem.natural_modes(part, 10, supports=["root"]) for those of a part, held or free, flexmb.linear.linearise(system)'
    ".modes() for those of a mechanism"
)
SAVED = "reduction.Basis.save and reduction.Basis.load for a basis, flexmb.files.save_body and load_body for a body"
JOINED = "fem.join(parts, welds) for parts, fem.RigidLink for the edge of a shell at a solid, *TIE in a deck"
SHELL = "fem.Shell, in fem.Model(mesh, fem.Shell(material, thickness))"
DRAWN = "fem.drawn_section(corners, holes), fem.Section.box, fem.Section.tube"
TAPER = "fem.BeamTable.of_sections, sections at stations, and fem.BeamTable, their matrices"
SECTOR = (
    "fem.read_steps and fem.solve_step, which find the frequencies of a sector in a deck of CalculiX; a body needs the "
    "whole wheel"
)
WORDS = {
    "solve": "fem.solve_static(part, load, supports) for a static load case, flexmb.simulate for a motion",
    "static": "fem.solve_static(part, load, supports)",
    "statics": "fem.solve_static(part, load, supports)",
    "linear_static": "fem.solve_static(part, load, supports)",
    "modes": HELD,
    "eigenmodes": HELD,
    "frequencies": HELD,
    "natural_frequencies": HELD,
    "eigenfrequencies": HELD,
    "frequency": HELD,
    "eigenvalues": HELD,
    "modal_analysis": HELD,
    "mode_shapes": HELD,
    "solve_modes": HELD,
    "solve_modal": HELD,
    "solve_frequencies": HELD,
    "solve_eigenvalues": HELD,
    "vibration": HELD,
    "effective_mass": "NaturalModes.effective_masses of fem.natural_modes(part)",
    "modal_mass": "NaturalModes of fem.natural_modes(part): its shapes have modal mass one",
    "participation_factors": "NaturalModes.participation of fem.natural_modes(part)",
    "read": "fem.read_mesh",
    "load_mesh": "fem.read_mesh",
    "import_mesh": "fem.read_mesh",
    "part": "fem.Model",
    "steel": "fem.Material.steel()",
    "aluminium": "fem.Material.aluminium()",
    "aluminum": "fem.Material.aluminium()",
    "rectangle": "fem.Section.rectangle",
    "circle": "fem.Section.circle",
    "tube": "fem.Section.tube, or fem.structured_meshes.tube",
    "mass": "Model.mass of a part, Body.invariants.mass of a body; fem.PointMass at an interface, fem.NodeMass at a "
    "node",
    "force": "fem.interface_load or fem.point_force on a part, System.load in a mechanism",
    "load": "fem.interface_load, fem.point_force, fem.pressure or fem.gravity on a part, System.load in a mechanism, "
    "flexmb.files for files",
    "moment": "fem.interface_load on a part, System.load in a mechanism",
    "rbe2": "fem.RigidLink, or a rigid fem.Interface",
    "rbe3": "fem.MeanLink, or an average fem.Interface",
    "mpc": "fem.Equation",
    "constraint": "fem.Equation, fem.RigidLink or fem.MeanLink",
    "boundary_condition": "the supports of fem.solve_static, or the joints of flexmb.System",
    "support": "the supports of fem.solve_static, or the joints of flexmb.System",
    "von_mises": "StaticResult.von_mises of fem.solve_static, or flexmb.results.stress.largest_stress",
    "run": "flexmb.simulate",
    "integrate": "flexmb.simulate",
    "linearize": "flexmb.linear.linearise",
    "tie": JOINED,
    "weld": JOINED,
    "connect": JOINED,
    "couple": JOINED,
    "shell_to_solid": JOINED,
    "shell_section": SHELL,
    "pshell": SHELL,
    "pcomp": "fem.Shell.layup",
    "composite": "fem.Shell.layup",
    "layup": "fem.Shell.layup",
    "pbarl": "fem.Section, fem.drawn_section",
    "profile": DRAWN,
    "hollow_section": DRAWN,
    "pipe": "fem.Section.tube",
    "i_beam": "fem.drawn_section(corners)",
    "taper": TAPER,
    "tapered_beam": TAPER,
    "cyclic": SECTOR,
    "cyclic_symmetry": SECTOR,
    "sector": SECTOR,
    "dashpot": "fem.NodeSpring(..., damping=...) in a part, System.spring_damper in a mechanism",
    "lumped_mass": "fem.NodeMass at a node, fem.PointMass at an interface",
    "with_masses": "Model.with_point_masses at interfaces, fem.NodeMass among the masses of a fem.Mesh",
    "conm2": "fem.NodeMass at a node, fem.PointMass at an interface",
    "read_bdf": "fem.read_mesh, which reads decks of Nastran; fem.read_nastran reads matrices",
    "read_inp": "fem.read_mesh, which reads decks of Abaqus; fem.read_abaqus reads matrices",
    "read_deck": "fem.read_mesh, or fem.read_steps with its analysis steps",
    "read_step": "fem.mesh_cad for CAD in a STEP file, fem.read_steps for the analysis steps of a deck",
    "mesh_step": "fem.mesh_cad",
    "read_cad": "fem.mesh_cad",
    "read_mat": "fem.read_matrices",
    "read_op2": "fem.read_nastran, which reads matrices of OP2, OP4 and DMIG",
    "read_op4": "fem.read_nastran, which reads matrices of OP2, OP4 and DMIG",
    "read_dmig": "fem.read_nastran, which reads matrices of OP2, OP4 and DMIG",
    "read_mtx": "fem.read_matrices, or fem.read_matrix_market for one matrix",
    "load_basis": SAVED,
    "save_basis": SAVED,
    "read_basis": SAVED,
    "to_pymor": "reduction.linear_system(part, basis).to_pymor()",
    "pymor": "reduction.linear_system(part, basis).to_pymor()",
    "inspect": "fem.check_mesh, print(mesh), flexmb inspect on the command line, flexmb.plots.pictures",
    "stress": "StaticResult.stresses of fem.solve_static (bottom, middle and top of shells), flexmb.results.stress",
    "plot": "flexmb.show in 3D, flexmb.plots.pictures and flexmb.plots.result_plots",
    "draw": "flexmb.show in 3D, flexmb.plots.pictures",
    "picture": "flexmb.show in 3D, flexmb.plots.pictures",
    "animate": "flexmb.plots.pictures.animate",
    "save": SAVED + ", flexmb.files.save_result for a result",
    "joint": "a method of flexmb.System, such as System.revolute",
    "revolute": "System.revolute",
    "spring": "fem.Spring in a part, System.spring_damper in a mechanism",
}
"""Names that other programs have -> what they are here."""
ROOMS = ("fem", "reduction", "flexmb", "flexmb.files", "flexmb.linear")


def hint(module: str, name: str) -> str | None:
    """What to say of a name that a module does not have; None where nothing is like it."""
    if name.startswith("_"):
        return None
    for room in ROOMS:  # those that are there: fem knows nothing of the others
        there = {_plain(public): public for public in getattr(sys.modules.get(room), "__all__", ())}
        if _plain(name) in there:
            own = [
                public for public in getattr(sys.modules.get(module), "__all__", ()) if public.startswith(f"{name}_")
            ]
            if own:
                return f"{module} has no {name!r}; did you mean {module}.{own[0]}? There is also {room}.{name}."
            return f"{module} has no {name!r}; it is {room}.{there[_plain(name)]}."
    for word, answer in WORDS.items():
        if _plain(word) == _plain(name):
            return f"{module} has no {name!r}; see {answer}."
    close = get_close_matches(name, getattr(sys.modules.get(module), "__all__", ()), n=1, cutoff=0.75)
    return f"{module} has no {name!r}; did you mean {module}.{close[0]}?" if close else None


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def hinted(names: Mapping[str, str]) -> Any:
    """Class decorator: an attribute that does not exist raises AttributeError with what `names` says instead of it, or
    with the method of nearest name."""

    def mark(cls: C) -> C:
        def missing(self: Any, name: str) -> Any:
            answer = names.get(name)
            if answer is None and not name.startswith("_"):
                close = get_close_matches(name, [key for key in dir(cls) if not key.startswith("_")], n=1)
                answer = f"{cls.__name__}.{close[0]}" if close else None
            if answer is None:
                return object.__getattribute__(self, name)  # raises what it raised before
            raise AttributeError(f"{cls.__name__} has no {name!r}; see {answer}.", name=name, obj=self)

        cls.__getattr__ = missing  # type: ignore[attr-defined]
        return cls

    return mark


def called(**names: str) -> Any:
    """Decorator: an argument that others call by a name of `names`, and that does not exist here, raises TypeError with
    what there is instead."""

    def mark(function: F) -> F:
        return refusing(function, names, "{call}() has no argument {name}=; what it may mean is {now}.")

    return mark


def refusing(function: F, names: Mapping[str, str], sentence: str) -> F:
    """The function, which raises TypeError when it is given an argument of `names`, with the `sentence` of the name of
    the `call`, that of the argument, and what there is `now`."""

    @wraps(function)
    def checked(*values: Any, **given: Any) -> Any:
        for name in names.keys() & given.keys():
            call = checked.__qualname__.removesuffix(".__init__")
            raise TypeError(sentence.format(call=call, name=name, now=names[name]))
        return function(*values, **given)

    return cast(F, checked)
