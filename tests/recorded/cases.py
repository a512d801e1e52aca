"""What is recorded: files that are read, parts, reductions, mechanisms in every method, analyses, messages, pages of the manual."""

import contextlib
import inspect
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from fuzz import targets

import fem
import flexmb
import flexmb.linear
import reduction
from fem.errors import FlexmbError
from fem.mesh.structured_meshes import block, line, sheet, tube
from flexmb import study
from flexmb.analyses.mobility import mobility
from flexmb.files import load_body, load_model, load_result, save_result
from flexmb.files.models.changes import number_at
from flexmb.integrators.method import methods

from .commands import LINES, SWING, drawn, said
from .summary import message, skeleton

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "fuzz" / "models"
FURTHER = MODELS / "further"
DECKS = ROOT / "tests" / "fem" / "nastran_decks"
CASES: dict[str, Callable[[], Any]] = {}
"""Functions that make what is looked at, in the present folder, by "group/name"."""


def case(name: str, make: Callable[..., Any], *arguments: Any) -> None:
    CASES[name] = lambda: make(*arguments)


def outcome(make: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a function returns, or the error of ours that it raises; and what it warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = make(*arguments, **options)
        except FlexmbError as error:
            found = f"{type(error).__name__}: {message(error)}"
    said = [
        f"{w.category.__name__}: {skeleton(str(w.message))}"
        for w in told
        if issubclass(w.category, flexmb.FlexmbWarning)
    ]
    return {"found": found, "said": sorted(said)}


# parts ----------------------------------------------------------------------------------------------------------------


def bent(mesh: fem.Mesh) -> fem.Mesh:
    """The mesh in a general position, without right angles, at some distance of the origin."""
    x = mesh.points @ np.diag([1.0, 1.1, 0.9])
    x = x + 0.05 * np.sin(1.0 + x[:, [1, 2, 0]] * 2.0) + 0.03 * x[:, [2, 0, 1]]
    turn = np.linalg.qr(np.array([[1.0, 0.4, -0.3], [0.2, 1.0, 0.5], [-0.6, 0.1, 1.0]]))[0]
    turn *= np.sign(np.linalg.det(turn))
    return replace(mesh, points=x @ turn.T + [0.3, -0.7, 1.1])


def seen_of_part(model: fem.Model) -> dict[str, Any]:
    n = model.ndof
    u = 1e-3 * np.sin(1.0 + 1.7 * np.arange(n))
    found = {
        name: outcome(getattr, model, name)
        for name in ("M", "K", "D", "mass", "centre_of_mass", "moment_loads", "unread")
    }
    found["inertia"] = outcome(model.inertia, (0.1, 0.2, 0.3))
    found["rigid"] = model.rigid_body_modes((0.1, 0.2, 0.3))
    found["geometric"] = outcome(model.geometric_stiffness, u)
    found["displaced"] = outcome(model.geometric_stiffness, u, initial_displacement=True)
    found["stresses"] = outcome(model.stresses, u[:, None])
    found["plies"] = outcome(model.ply_stresses, u[:, None])
    found["surfaces"] = outcome(model.beam_surfaces, u[:, None])
    found["strain loads"] = outcome(
        lambda: model.quadratic_strain_loads(np.stack([u, np.roll(u, 1)], axis=1), np.array([[0, 0], [0, 1]]))
    )
    found["modes"] = outcome(lambda: fem.natural_modes(model, 4).frequencies)
    found["text"] = skeleton(str(model))
    return found


def deck(path: Path) -> dict[str, Any]:
    found = {"mesh": outcome(fem.read_mesh, path)}
    if isinstance(found["mesh"]["found"], fem.Mesh):
        found["check"] = outcome(fem.check_mesh, found["mesh"]["found"])
        found["part"] = outcome(lambda: seen_of_part(fem.Model(found["mesh"]["found"])))
    return found


def steps(path: Path) -> Any:
    part, several = fem.read_steps(path)
    model, before, found = fem.Model(part), None, []
    for step in several:
        before = fem.solve_step(model, step, before)
        found.append(before)
    return found


for _path in sorted(
    [*MODELS.glob("*.cdb"), *(p for f in (MODELS, FURTHER, DECKS) for p in (*f.glob("*.inp"), *f.glob("*.bdf")))]
):
    case(f"decks/{_path.name}", deck, _path)
for _name in ("assembly.inp", "loads.inp"):
    case(f"decks/steps of {_name}", lambda path: outcome(steps, path), MODELS / _name)

STEEL = fem.Material.steel()
WOOD = fem.Material.orthotropic((11e9, 3e9, 2e9), (0.3, 0.2, 0.25), (1.7e9, 0.9e9, 1.1e9), 450.0).turned(
    (0.8, 0.6, 0.1), (-0.5, 0.9, 0.3)
)


def solid(kind: str, material: Any) -> dict[str, Any]:
    return seen_of_part(fem.Model(bent(block(kind, (1.0, 0.6, 0.4), (2, 2, 1))), material))


def shell(kind: str) -> dict[str, Any]:
    return seen_of_part(fem.Model(bent(sheet(kind, (1.0, 0.6), (3, 2))), fem.Shell(STEEL, 0.01)))


def rod(kind: str, section: Any) -> dict[str, Any]:
    return seen_of_part(fem.Model(bent(line((0, 0, 0), (1.0, 0.3, 0.2), 4, kind)), section))


for _kind in (
    "tetra",
    "tetra10",
    "hexahedron",
    "hexahedron-compatible",
    "hexahedron-reduced",
    "hexahedron20",
    "hexahedron20-reduced",
    "wedge",
    "wedge15",
    "pyramid",
):
    for _word, _material in (("steel", STEEL), ("wood", WOOD)):
        case(f"parts/{_kind} {_word}", lambda kind, material: outcome(solid, kind, material), _kind, _material)
for _kind in ("triangle", "triangle6", "quad", "quad8", "quad9"):
    case(f"parts/{_kind}", lambda kind: outcome(shell, kind), _kind)
BEAM = fem.Beam(STEEL, fem.Section.rectangle(0.05, 0.02), y_axis=(0.2, 1.0, 0.4), offset=(0.01, -0.02))
case("parts/line", lambda: outcome(rod, "line", BEAM))
case(
    "parts/tube",
    lambda: outcome(lambda: seen_of_part(fem.Model(bent(tube("hexahedron20", (0.2, 0.25), 1.0, (1, 6, 2))), WOOD))),
)


# reductions -----------------------------------------------------------------------------------------------------------


@cache
def plate(surface: bool = False) -> fem.Model:
    mesh = bent(block("hexahedron20", (1.0, 0.3, 0.1), (4, 1, 1)))
    low = mesh.points @ np.array([0.9, 0.2, -0.4])
    ends = {
        "start": fem.nearest(mesh.points[low.argmin()], count=6),
        "end": fem.Interface(fem.nearest(mesh.points[low.argmax()], count=7), kind="average"),
    }
    model = fem.Model(mesh, STEEL).with_interfaces(**ends)
    return model.with_surfaces(top="z1") if surface else model


def reduced(method: str, **options: Any) -> dict[str, Any]:
    model = plate(method == "contact")
    basis = reduction.reduce(model, method, **options)
    body = flexmb.flexible_body(model, basis, name="plate")
    band = np.linspace(50.0, 900.0, 4)
    found = {
        "options": {k: v for k, v in basis.options.items() if not isinstance(v, np.ndarray)},
        "text": [skeleton(str(basis)), skeleton(str(body))],
        "body": body.invariants,
        "stiffness": body.stiffness,
        "points": {name: interface.point for name, interface in body.interfaces.items()},
        "mean": {name: np.abs(interface.rows).sum(axis=1) for name, interface in body.interfaces.items() if hasattr(interface, "rows")},
        "response": outcome(reduction.frequency_response, model, band, basis=basis),
        "error": outcome(reduction.response_error, model, basis, (0, 600.0)),
        "modes": outcome(reduction.compare_modes, model, basis, 5),
    }  # fmt: skip
    return {k: signless(v) for k, v in found.items()}


def signless(thing: Any) -> Any:
    """Arrays by their magnitudes; other things as they are."""
    if isinstance(thing, np.ndarray):
        return np.abs(thing)
    if isinstance(thing, dict):
        return {key: signless(value) for key, value in thing.items()}
    if hasattr(thing, "__dataclass_fields__"):
        return {name: signless(getattr(thing, name)) for name in thing.__dataclass_fields__}
    return thing


WIDE = {"band": (0, 600.0), "tolerance": 0.05}
OPTIONS = {
    "choose": WIDE,
    "guyan": {},
    "irka": {"band": (0, 600.0), "modes": 4},
    "gramian": WIDE,
    "balanced-truncation": WIDE,
}
for _method in sorted(reduction.METHODS):
    case(f"reductions/{_method}", lambda m: outcome(reduced, m, **OPTIONS.get(m, {"modes": 4})), _method)


# mechanisms -----------------------------------------------------------------------------------------------------------


def write_models() -> None:
    """Write the models and what they name to the present folder."""
    for name, content in targets._files_of_models().items():
        Path(name).write_bytes(content)
    for path in (*MODELS.glob("*.toml"), *FURTHER.glob("*.toml")):
        Path(path.name).write_bytes(path.read_bytes())


def moved(name: str, method: str | None, tolerance: float | None = None) -> Any:
    """Twenty steps of a model, by its own method or another one; as long with steps that keep a tolerance."""
    write_models()
    model = load_model(name)
    options = (
        dict(model.options)
        if method is None
        else {"method": method, "step": model.options.get("step") or model.duration / 200}
    )
    if tolerance:
        options |= {"tolerance": tolerance, "output_step": options["step"]}
    step = options.get("step")
    duration = min(model.duration, 20 * step) if step else min(model.duration, 1e-3)
    if tolerance:
        del options["step"]
    found = {"result": outcome(flexmb.simulate, model.system, duration, **options)}
    result = found["result"]["found"]
    if isinstance(result, flexmb.Result):
        found["steps"] = [
            getattr(result.statistics, name) for name in ("steps", "rejected", "iterations", "largest_step")
        ]
        found["elements"] = outcome(result.energy_by_element)
        found["momentum"] = [outcome(result.linear_momentum), outcome(result.angular_momentum)]
        found["accelerations"] = [
            outcome(result.acceleration, f"{b.name}.{i}") for b in result.mechanism.bodies for i in b.interfaces
        ]
        if method is None:
            again = load_result(save_result(result, "result.h5"))
            found["again"] = outcome(lambda: {k: c.values for k, c in again.columns().items()})
            found["contacts"] = [outcome(result.contact, c.name) for c in result.mechanism.contacts]
            found["groups"] = [outcome(result.contact_group, c.name) for c in result.mechanism.contact_groups]
    return found


def modes_of(linear: Any) -> dict[str, Any]:
    vibration = linear.modes()
    several = {
        name: getattr(vibration, name) for name in ("frequencies", "damping_ratios", "stable", "verdict", "growing")
    }
    return several | {
        "eigenvalues": np.sort_complex(np.asarray(vibration.eigenvalues)),
        "text": skeleton(str(vibration)),
    }


def response_of(linear: Any, mechanism: Any) -> Any:
    """Of all inputs, at places of all bodies."""
    inputs = flexmb.linear.input_names(mechanism)
    outputs = [
        f"{what}:{body.name}:{axis}"
        for body in mechanism.bodies
        for what, axis in (("position", "x"), ("velocity", "y"), ("acceleration", "z"))
    ]
    outputs += [f"force:{joint.name}:x" for joint in mechanism.joints]
    return flexmb.linear.frequency_response(linear, [0.7, 31.0], inputs, outputs).values if inputs else None


def studied(name: str) -> Any:
    """Analyses of a model."""
    write_models()
    model = load_model(name)
    system, found = model.system, {"built": outcome(model.mechanism)}
    found["mobility"] = outcome(mobility, system)
    found["model"] = {k: v for k, v in vars(model).items() if k not in ("system", "path", "folder")}
    found["rest"] = rest = outcome(flexmb.linear.equilibrium, system)
    found["here"] = outcome(flexmb.linear.linearise, system)
    if not isinstance(rest["found"], str):
        found["linear"] = outcome(flexmb.linear.linearise, rest["found"])
    for name in ("here", "linear"):
        linear = found.get(name, {"found": ""})["found"]
        if not isinstance(linear, str):
            found[f"modes {name}"] = outcome(lambda: modes_of(linear))  # noqa: B023
            found[f"response {name}"] = outcome(response_of, linear, model.mechanism())
    return found


def numbers_in(table: Any, above: tuple[str, ...] = ()) -> Iterator[str]:
    """The keys of the numbers of a model file, except of those of its simulation."""
    named = enumerate(table) if isinstance(table, list) else table.items()
    for key, value in named:
        part = str(value.get("name", key)) if isinstance(value, dict) else str(key)
        if isinstance(table, list) and isinstance(value, dict) and "name" not in value:
            continue
        if isinstance(value, dict | list) and part != "simulation":
            yield from numbers_in(value, (*above, part))
        elif isinstance(value, float) and not re.search("[.,]", part):
            yield ".".join((*above, part))


def derived(name: str) -> Any:
    """Derivatives of what ten steps of a model reach with respect to some numbers of its file, by the direct and the
    adjoint method."""
    write_models()
    data, model = tomllib.loads(Path(name).read_text(encoding="utf-8")), load_model(name)
    keys = sorted(numbers_in(data), key=lambda key: crc32(key.encode()))[:3]
    step = model.options.get("step") or model.duration / 200
    given: Any = (
        lambda **changes: load_model(Path(name), changes).started(),
        {k: number_at(data, k) for k in keys},
        10 * step,
    )
    found = {"direct": outcome(study.direct_gradient, *given, step=step)}
    known = outcome(lambda: study.peak_series(model.mechanism()))["found"]
    for what in sorted(known, key=lambda what: crc32(what.encode()))[:2] if isinstance(known, dict) else ():
        series = outcome(study.adjoint_gradient, *given, lambda result: known[what](result), step=step, name=what)  # noqa: B023
        found[what] = series
    return found


TOLERANT = ("controllers", "flexible", "hydraulics", "laws", "pendulum", "rotor", "tables")
for _path in sorted([*MODELS.glob("*.toml"), *FURTHER.glob("*.toml")]):
    case(f"analyses/{_path.stem}", studied, _path.name)
    case(f"gradients/{_path.stem}", derived, _path.name)
    for _method in (None, *sorted(methods())):
        case(f"motions/{_path.stem} {_method or 'as it is'}", moved, _path.name, _method)
        if _path.stem in TOLERANT and _method not in (None, "energy-momentum"):
            case(f"motions/{_path.stem} {_method} to a tolerance", moved, _path.name, _method, 1e-6)


# files and messages ---------------------------------------------------------------------------------------------------


def read(target: str, number: int) -> Any:
    sound = targets.TARGETS[target]
    with contextlib.suppress(FileNotFoundError):
        for name, content in sound.beside().items():
            Path(name).write_bytes(content)
    path = Path(sound.name)
    path.write_bytes(sound.seeds()[number])
    reader = {"body": load_body, "result": load_result}.get(target.split()[0])
    if reader is None:
        reader = (
            fem.read_mesh if target in MESHES else fem.read_matrices if target.startswith("matrices") else sound.read
        )
    return outcome(reader, path)


MESHES = ("msh", "vtk", "vtu", "med", "mesh", "xdmf", "stl")
READ = (
    *MESHES,
    "op4",
    "op2",
    "matrices npz",
    "matrices mat",
    "market",
    "punch",
    "abaqus matrix",
    "calculix dofs",
    "ansys matrix",
    "ansys mapping",
    "body h5",
    "body npz",
    "body mat",
    "body sid",
    "body mbdyn",
    "result",
    "columns",
    "map table",
)
for _target in READ:
    for _number in range(
        {"msh": 4, "vtk": 3, "vtu": 1, "result": 3, "columns": 3, "market": 2, "op4": 2, "stl": 2}.get(_target, 1)
    ):
        case(f"files/{_target} {_number}", read, _target, _number)

DAMAGED = {
    "deck": 60,
    "steps": 25,
    "nastran": 60,
    "cdb": 40,
    "model": 120,
    "punch": 10,
    "columns": 20,
    "map table": 20,
    "calculix dofs": 10,
}


def refused(target: str, count: int) -> Any:
    found = {}
    for number in range(count):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                targets.run((target, 77, number))
            found[str(number)] = "accepted"
        except FlexmbError as error:
            found[str(number)] = f"{type(error).__name__}: {message(error)}"
        except Exception as error:
            found[str(number)] = type(error).__name__
    return found


for _target, _count in DAMAGED.items():
    case(f"refusals/{_target}", refused, _target, _count)


# command lines --------------------------------------------------------------------------------------------------------


def ran(lines: tuple[str, ...]) -> Any:
    """In a folder with the models and decks."""
    write_models()
    for path in MODELS.glob("*.*"):
        if path.suffix in (".inp", ".inc", ".bdf", ".cdb"):
            Path(path.name).write_bytes(path.read_bytes())
    Path("swing.toml").write_text(SWING)
    return said(lines)


for _name, _lines in LINES.items():
    case(f"commands/{_name}", ran, _lines)


# pages of the manual --------------------------------------------------------------------------------------------------


def names_of(page: str) -> dict[str, Any]:
    """What the examples of a page define, after they have run one after the other, and the pictures that they draw."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(r"```(?:python|{code-cell})\n(.*?)```", text, flags=re.DOTALL)
    blocks = [block for block in found if not block.startswith(":tags: [remove-input]")]  # which show pictures
    assert blocks
    names: dict[str, Any] = {"__name__": "__main__"}
    with drawn() as names["__drawn__"]:
        for block in blocks:
            exec(compile(block, page, "exec"), names)
    return names


def shown(names: dict[str, Any]) -> dict[str, Any]:
    """Of the names of a page, the results; its functions and modules are in the others."""
    kept = {
        k: v
        for k, v in names.items()
        if not k.startswith("_") and not inspect.ismodule(v) and not inspect.isroutine(v) and not inspect.isclass(v)
    }
    return {"names": kept, "pictures": names["__drawn__"]}


def page(name: str) -> Any:
    write_models()
    return shown(names_of(name))


NOT_ALONE = ("model-files", "studies", "viewer", "extending")
"""Pages whose examples need files that their tests make, start processes, or register what other cases would then use."""
for _path in sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "readers").glob("*.md")]):
    if "```python" in _path.read_text(encoding="utf-8") and _path.stem not in NOT_ALONE:
        case(f"pages/{_path.relative_to(ROOT / 'docs')}", page, str(_path.relative_to(ROOT / "docs")))
