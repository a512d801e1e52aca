"""Command lines, and what is seen of them: what they print, with its numbers, and the tables, results and plots that they write."""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from matplotlib.figure import Figure

from flexmb.cli.main import main
from flexmb.files.results.result_file import load_result

from .summary import NUMBER, skeleton

LINES: dict[str, tuple[str, ...]] = {
    "convert": ("convert body.h5 other.npz", "convert other.npz other.SID_FEM", "convert other.SID_FEM again.h5", "convert body.h5 body.csv"),
    "frequencies": (
        "frequencies block.inp --support ROOT --modes 4 --table held.csv --picture held.png",
        "frequencies block.inp --modes 8 --units SI", "frequencies block.inp --material steel --ignore MATERIAL --support ROOT:012 --band 2000",
        "frequencies block.inp --support plane/0,0,0/1,0,0 --free --modes 3", "frequencies block.inp --support NOWHERE",
        "frequencies plate.inp --thickness 0.02 --material aluminium --modes 9", "frequencies beams.inp --modes 7",
        "frequencies frame.inp --modes 8 --table frame.csv", "frequencies constraints.inp --ignore STEP --modes 8",
    ),
    "inspect": (
        "inspect block.inp", "inspect block.inp --material steel --ignore MATERIAL --surface ROOT --picture mesh.png", "inspect assembly.inp",
         "inspect beams.inp", "inspect part.bdf", "inspect shells.bdf --material file", "inspect shells.cdb",
        "inspect block.inp --cells ALL --material 2.1e11,0.3,7800 --surface plane/2,0,0/1,0,0", "inspect block.inp --cells SOME",
        "inspect block.inp --material wood", "inspect plate.inp --thickness 0.1 --material steel",
    ),
    "materials": ("inspect block.inp --material steel:mm --ignore MATERIAL", "inspect block.inp --material 1,2", "inspect loads.inp", "inspect layup.inp"),
    "reduce": (
        "reduce block.inp --interface root=ROOT --interface tip=TIP:average --modes 3 --damping 0.01 -o rod.h5",
        "reduce block.inp --interface root=plane/0,0,0/1,0,0 --reference-frame root --modes 2 --geometric-stiffness none -o rod.h5 --picture modes.png",
        "reduce block.inp --interface root=ROOT --method krylov --band 2000 --tolerance 0.01 -o rod.h5 --plot error.png",
        "reduce block.inp --interface tip=TIP --method modal --modes 5 --surface skin=ROOT -o rod.h5", "reduce --methods",
        "reduce block.inp --interface root=ROOT --method craig-bamptom -o rod.h5", "reduce block.inp -o rod.h5",
        "reduce block.inp --interface root=ROOT --interface tip=TIP --method choose --band 1500 --tolerance 0.05 -o rod.h5",
        "reduce block.inp --interface root=ROOT --surface skin=TIP --contact skin --method choose --band 800 --tolerance 0.1 -o rod.h5",
        "reduce block.inp --interface root --modes 2 -o rod.h5",
    ),
    "run": (
        "run pendulum.toml", "run pendulum.toml --duration 0.1 --step 5e-3 -o other.h5", "run pendulum.toml --max-step 1e-3 -o third.h5",
        "run pendulum.toml --start other.h5 -o fourth.h5", "run events.toml --start equilibrium", "run controllers.toml --unit rpm", "run events.toml",
        "run pendulum.toml -o body.h5", "run pendulum.toml --step 0", "run swing.toml --start equilibrium --unit mJ", "run swing.toml --duration 0.2 --max-step 1e-3 -o s.result.h5",
    ),
    "view": (
        "run rotor.toml", "view rotor.result.h5", "view rotor.result.h5 --table all.csv", "view rotor.result.h5 --energy e.png --unit J",
        "view rotor.result.h5 --table some.csv --measure position:disc:x --measure rate:bearing --units mm-t-s",
        "view rotor.result.h5 --plot p.png --measure rate:bearing --over coordinate:bearing --unit rpm", "view rotor.result.h5 --gltf r.glb --metres 0.001",
        "view rotor.result.h5 --measure position:disk:x --table t.csv", "view body.h5",
    ),
    "stress": (
        "run flexible.toml", "stress flexible.result.h5 --body rod --no-picture --point middle=1,0.5,0.5 --table s.csv", "stress flexible.result.h5 --no-picture",
        "stress flexible.result.h5 --body crank --no-picture", "energy flexible.result.h5 --elements --table e.csv", "energy flexible.result.h5 --plot e.png",
    ),
    "contact": (
        "run contact.toml", "contact contact.result.h5", "contact contact.result.h5 --name floor --table c.csv --plot c.png", "contact contact.result.h5 --name wall",
        "run surface.toml", "contact surface.result.h5 --table s.csv", "run exact.toml", "contact exact.result.h5", "energy exact.result.h5 --elements",
        "run grains.toml", "contact grains.result.h5 --name grains --table g.csv",
    ),
    "compare": (
        "compare flexible.toml --fidelity rigid --fidelity flexible --joint weld --picture c.png", "compare flexible.toml --duration 5e-3 --step 5e-4 --start drawn",
        "compare flexible.toml --fidelity 2 --fidelity linear --unit kN", "compare pendulum.toml", "compare flexible.toml --fidelity rigit --fidelity flexible",
    ),
    "inverse": (
        "inverse inverse.toml --actuator m1 --actuator m2 --step 5e-3", "inverse inverse.toml --actuator m1 --actuator m2 --step 5e-3 --order 2 --after 0.2 --table i.csv --unit rpm",
        "inverse inverse.toml --actuator m1 --step 5e-3", "inverse pendulum.toml --actuator m1 --step 5e-3",
    ),
    "mobility": ("mobility pendulum.toml", "mobility kinds.toml", "mobility gears.toml", "mobility pendulum.toml --sweep hinge=0:1:5", "mobility pendulum.toml --sweep crank=0:1:5"),
    "campbell": (
        "campbell rotor.toml --vary joints.bearing.drive.speed=0:60:7 --count 4 --order 1", "campbell rotor.toml --vary joints.bearing.drive.speed=5,20 --running --unit rpm",
        "campbell rotor.toml --vary bodies.disc.mass=2:4:3 --name a --name b --count 2", "campbell rotor.toml --vary bodies.disk.mass=2:4:3",
    ),
    "equilibrium": ("equilibrium swing.toml -o rest.h5", "equilibrium swing.toml --time 0.1", "equilibrium rubbing.toml", "equilibrium exact.toml", "equilibrium kinds.toml", "equilibrium flexible.toml"),
    "modes": (
        "modes swing.toml", "modes swing.toml --start --along 3 --plot m.png", "modes rotor.toml --start --unit rpm", "modes controllers.toml", "modes gains.toml",
        "modes flexible.toml --start", "modes events.toml --start",
    ),
    "periodic": ("periodic swing.toml --period 0.5 --plot p.png", "periodic rotor.toml --period 0.4", "periodic flexible.toml --period 0.1"),
    "response": (
        "response rotor.toml --input shake --output position:disc:x --output force:bearing:y --band 0.5:50:12 --moving", "response flexible.toml --input push --output velocity:rod.tip:z --band 10:1000:7 --table r.csv",
        "response rotor.toml --input shakes --output position:disc:x --band 1:10", "response rotor.toml --input shake --output place:disc:x --band 1:10",
    ),
    "sensitivity": (
        "sensitivity pendulum.toml --by bodies.rod.mass --workers 1", "sensitivity pendulum.toml --by bodies.rod.mass --direct --measure velocity:rod:x --over final --workers 1 --plot s.png",
        "sensitivity pendulum.toml --by bodies.rod.mass --of position:rod:y --over mean --workers 1", "sensitivity swing.toml --by joint_springs.spring.stiffness --by loads.push.force.1 --workers 1", "sensitivity pendulum.toml --by bodies.rod.max --workers 1",
    ),
    "study": (
        "study pendulum.toml --vary bodies.rod.mass=1,2 --vary gravity.1=-9:-3:3 --workers 1 --measure velocity:rod:y --over smallest", "study rotor.toml --vary joints.bearing.drive.speed=1:9:3 --threads --workers 1 -o t.csv",
        "study pendulum.toml --vary bodies.rod.mass=1:2 --workers 1", "study pendulum.toml --vary bodies.rod.mass=1,1e400 --workers 1",
    ),
    "wrong": ("--version", "run block.inp", "modes body.h5", "reduce pendulum.toml --interface root=ROOT -o rod.h5", "stress body.h5"),
}  # fmt: skip
"""Command lines that follow one another in a folder, by what they show."""
SWING = """
gravity = [0, -9.81, 0]
simulation = { duration = 0.05, step = 1e-3 }
units = "SI"
[bodies.rod]
kind = "rigid"
mass = 1.0
inertia = [0.01, 0.1, 0.1]
centre = [0.5, 0, 0]
points = { tip = [1, 0, 0] }
[[joints]]
name = "hinge"
kind = "revolute"
a = "ground"
b = "rod"
at = [0, 0, 0]
[[joint_springs]]
name = "spring"
joint = "hinge"
stiffness = 40.0
damping = 2.0
[[loads]]
name = "push"
place = "rod.tip"
force = [0, 3, 0]
factor = { kind = "harmonic", amplitude = 1.0, frequency = 2.0 }
"""
SPENT = re.compile(r"\d *(s|ms|MB|GB|KiB|MiB|GiB|kB)\b|seconds|flexmb \d")
"""Lines with times that a run took, with sizes of files and with versions: their numbers are left out."""


def said(lines: tuple[str, ...]) -> dict[str, Any]:
    """What command lines say, and how each ends; then the tables and results of their folder."""
    before = set(Path().rglob("*"))
    with drawn() as pictures:
        found: dict[str, Any] = {line: _said(line) for line in lines}
    found["pictures"] = pictures
    written = {path for path in Path().rglob("*") if path.is_file()} - before
    found["files"] = sorted(map(str, written))
    for path in sorted(written):
        if path.suffix == ".csv":
            found[str(path)] = _table(path.read_text(encoding="utf-8"))
        elif path.name.endswith(".result.h5"):
            found[str(path)] = {name: column.values for name, column in load_result(path).columns().items()}
    return found


@contextmanager
def drawn() -> Iterator[list[Figure]]:
    """The pictures that Matplotlib writes meanwhile."""
    pictures: list[Figure] = []
    save = Figure.savefig

    def kept(figure: Figure, *arguments: Any, **options: Any) -> None:
        pictures.append(figure)
        save(figure, *arguments, **options)

    with patch.object(Figure, "savefig", kept):
        yield pictures


def _said(line: str) -> dict[str, Any]:
    out, err, end = io.StringIO(), io.StringIO(), "0"
    with redirect_stdout(out), redirect_stderr(err), patch("sys.argv", ["flexmb", *line.split()]):
        try:
            main()
        except SystemExit as code:
            end = str(code.code)
    text = out.getvalue()
    kept = [row for row in text.splitlines() if not SPENT.search(row)]
    return {
        "text": skeleton(text),
        "beside": skeleton(err.getvalue()),
        "numbers": [np.array([float(x.group()) for x in NUMBER.finditer(row)]) for row in kept if NUMBER.search(row)],
        "end": end,
    }


def _table(text: str) -> dict[str, Any]:
    head, *rows = list(csv.reader(io.StringIO(text)))
    return {"head": head, "rows": [_number(cell) for row in rows for cell in row]}


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell
