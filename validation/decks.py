"""Decks of others: the test decks of CalculiX, each read or refused by keyword and line, and linear steps compared with CalculiX.

The sample is three decks of this file with the results of CalculiX 2.20. Where its test decks (Debian: `calculix-ccx-test`, or a folder named by the environment variable `CALCULIX_DECKS`) and the program `ccx` are installed, all of
them are read, each keyword that changes the answer must be obeyed or named, and displacements of static steps and natural frequencies are compared with those of `ccx`, which runs a copy of the deck that prints all displacements and
uses the direct solver. `python -m validation.decks [FOLDER]` prints the table, deck by deck, with the reason where results differ or a step is not solved.

A step counts as linear if it is *STATIC or *FREQUENCY without NLGEOM, in a deck without contact, plasticity and other material that is not elastic, and not a perturbation of a nonlinear step.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import fem
from fem.analysis.steps import free_motions
from fem.errors import FlexmbError
from fem.files.abaqus.deck import COPIES
from fem.mesh.unread import canonical
from validation.plot import Plot
from validation.row import Row

CASE = "decks"
FOLDER = Path(os.environ.get("CALCULIX_DECKS", "/usr/share/doc/calculix-ccx-test/examples/test"))
CLOSE, NEAR = 1e-4, 1e-2
"""Largest relative difference of solids, and of beams and shells, which CalculiX expands into solids."""
ZERO = 1e-5
"""Frequencies below this part of the highest one compared are those of motions without stiffness."""
STILL = 1e-6
"""Displacements of the nodes of the deck below this part of those of the solids around them are none: the axis of a
beam in torsion."""
DISAGREEING = 0.1
"""Part of the linear decks that may differ; `docs/validated.md` says which do, and why."""
SAMPLE = {"C3D8": (0.1499805, 94874.53), "C3D20": (0.6033435, 79004.15), "C3D20R": (0.612148, 77441.51)}
"""Deflection and third frequency of `cantilever` by CalculiX 2.20."""
NOT_LINEAR = {
    "CONTACTPAIR", "GAP", "PLASTIC", "CREEP", "HYPERELASTIC", "HYPERFOAM", "USERMATERIAL", "DEFORMATIONPLASTICITY", "CYCLICHARDENING", "SUBMODEL", "MODELCHANGE", "RESTART", "CFD", "ELECTROMAGNETICS",
}  # fmt: skip
CHANGING = {
    "EQUATION", "MPC", "RIGIDBODY", "TIE", "COUPLING", "DISTRIBUTINGCOUPLING", "PRE-TENSIONSECTION", "TRANSFORM", "ORIENTATION", "CYCLICSYMMETRYMODEL", "CONTACTPAIR", "SPRING", "DASHPOT", "MASS", "GAP", "SUBMODEL",
    "BOUNDARY", "BOUNDARYF", "CLOAD", "DLOAD", "DSLOAD", "TEMPERATURE", "INITIALCONDITIONS", "PLASTIC", "HYPERELASTIC", "HYPERFOAM", "CREEP", "USERMATERIAL", "MODELCHANGE", "SHELLSECTION", "BEAMSECTION",
    "BEAMGENERALSECTION", "MEMBRANESECTION", "NODALTHICKNESS", "NORMAL", "DAMPING", "MODALDAMPING", "ELASTIC", "DENSITY", "SOLIDSECTION", "CHANGEMATERIAL", "CHANGESOLIDSECTION", "CHANGEPLASTIC",
    "DEFORMATIONPLASTICITY", "CYCLICHARDENING", "FLUIDSECTION", "FILM", "RADIATE", "DFLUX", "CFLUX", "MASSFLOW",
}  # fmt: skip
"""Keywords that change the answer, whatever else a deck holds (CalculiX CrunchiX User's Manual, section 7)."""
DECK_ELEMENTS = re.compile(r"(B3|S[3468]|CPS|CPE|CAX|T3D|M3D)")


@dataclass(frozen=True)
class Compared:
    """A linear step: the largest difference relative to the largest value, or the reason why there is none."""

    number: int
    procedure: str
    error: float = np.nan
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of a deck: whether it was read, the message if it was not, keywords without account, linear steps;
    `allowed`: the difference that its elements allow."""

    name: str
    read: bool
    message: str = ""
    silent: tuple[str, ...] = ()
    steps: tuple[Compared, ...] = field(default=())
    allowed: float = CLOSE

    @property
    def agrees(self) -> bool:
        """Whether all linear steps agree."""
        return bool(self.steps) and all(s.error <= self.allowed for s in self.steps)

    @property
    def refused_well(self) -> bool:
        """Whether the message names a keyword and its line."""
        return not self.read and bool(re.search(r"[A-Z*].*, line \d+", self.message))


# reading -------------------------------------------------------------------------------------------------------------


def unpacked(folder: Path, to: Path) -> list[Path]:
    """The decks of a folder, `.inp` or `.inp.gz`, as files in another one."""
    found = []
    for path in sorted([*folder.glob("*.inp"), *folder.glob("*.inp.gz")], key=lambda p: p.name):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        found.append(to / path.name.removesuffix(".gz"))
        found[-1].write_bytes(data)
    for path in [*folder.glob("*.inc"), *folder.glob("*.msh")]:
        shutil.copy(path, to)
    return found


def keywords(path: Path) -> list[tuple[int, str]]:
    """Lines and keywords, without blanks, of a deck."""
    lines = path.read_text(errors="replace").splitlines()
    return [(n, canonical(text.split(",")[0])) for n, text in enumerate(lines, 1) if re.match(r"\*[^*]", text)]


def unaccounted(path: Path, mesh: fem.Mesh) -> tuple[str, ...]:
    """Keywords that change the answer and are neither obeyed nor named, with their lines."""
    named = {u.line for u in mesh.unread}
    obeyed = [c.source for c in (*mesh.constraints, *mesh.masses, *mesh.springs)]
    named |= {int(m) for source in (*obeyed, *mesh.warnings) for m in re.findall(r", line (\d+) of", source)}
    there = keywords(path)
    sections = mesh.declared or any(canonical(u.keyword) in _SECTIONS for u in mesh.unread)
    read = {"ELASTIC", "DENSITY", *_SECTIONS} if sections else set()
    helping = {"TRANSFORM", "ORIENTATION"}  # axes of other keywords, which have an account of their own
    return tuple(f"{k}, line {n}" for n, k in there if k in CHANGING - read - helping and n not in named)


# results of CalculiX ---------------------------------------------------------------------------------------------------


def solved_by_calculix(path: Path, ids: np.ndarray, last: int, to: Path) -> list[dict[int, list[float]] | np.ndarray]:
    """Results of the static and frequency steps of a deck by `ccx`, in their order, to step `last`: displacements by
    node, or natural frequencies; nothing when it fails."""
    lines, static, first, ended = [], False, True, 0
    for line in path.read_text(errors="replace").splitlines():
        keyword = canonical(line.split(",")[0]) if line.startswith("*") else ""
        if keyword == "STEP" and first:
            lines += ["*NSET, NSET=ALLOFTHEM", *(f"{i}," for i in ids)]
            first = False
        if keyword == "STATIC":
            static = True
            line = re.sub(r",\s*SOLVER\s*=[^,]*", "", line, flags=re.IGNORECASE)
        if keyword == "ENDSTEP" and static:
            lines += ["*NODE PRINT, NSET=ALLOFTHEM, GLOBAL=YES, FREQUENCY=9999", "U"]
            static = False
        lines.append(line)
        ended += keyword == "ENDSTEP"
        if ended == last:
            break
    (to / path.name).write_text("\n".join(lines) + "\n")
    try:
        subprocess.run(["ccx", path.stem], cwd=to, capture_output=True, timeout=120, check=False)
        return list(_printed((to / path.name).with_suffix(".dat").read_text(errors="replace").splitlines()))
    except (OSError, subprocess.TimeoutExpired):
        return []


def _printed(lines: list[str]) -> Iterator[dict[int, list[float]] | np.ndarray]:
    k = 0
    while k < len(lines):
        if "displacements (vx,vy,vz)" in lines[k] and "ALLOFTHEM" in lines[k]:
            k += 2
            u = {}
            while k < len(lines) and lines[k].strip():
                u[int(lines[k][:10])] = [_number(word) for word in lines[k][10:].split()]
                k += 1
            yield u
        elif "E I G E N V A L U E   O U T P U T" in lines[k]:
            k += 1
            found = []
            while k < len(lines) and not any(word in lines[k] for word in ("P A R T I C", "S T E P", "O U T P U T")):
                words = lines[k].split()
                if len(words) in (5, 6) and words[0].isdigit():
                    value, real, imaginary = (_number(w) for w in (words[-4], words[-2], words[-1]))
                    found.append(real if value > 0 else -imaginary / (2 * np.pi))
                k += 1
            yield np.array(found)
        else:
            k += 1


def _number(word: str) -> float:
    """A number, also one whose exponent has taken the place of its letter."""
    return float(re.sub(r"(\d)([+-]\d{3})$", r"\1E\2", word))


# comparison -----------------------------------------------------------------------------------------------------------


def compare(path: Path, work: Path, solver: bool = True) -> Outcome:
    """Read a deck, account for its keywords, and compare its linear steps with CalculiX in the folder `work`."""
    linear = _linear(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = _whole(path)
            mesh, steps = fem.read_steps(path, expand=True)
    except FlexmbError as error:
        refused = tuple(Compared(n, "", reason=str(error)) for n in linear)
        return Outcome(path.stem, False, str(error), steps=refused)
    silent = unaccounted(path, whole)
    if not linear or not solver:
        return Outcome(path.stem, True, silent=silent)
    ids = mesh.node_ids if mesh.node_ids is not None else np.arange(len(mesh.points))
    theirs = solved_by_calculix(path, ids[ids < COPIES], max(linear), work)
    allowed = NEAR if any(DECK_ELEMENTS.match(kind) for kind in _types(path)) else CLOSE
    return Outcome(path.stem, True, "", silent, tuple(_steps(mesh, steps, linear, theirs, ids)), allowed)


def _whole(path: Path) -> fem.Mesh:
    """The mesh of a deck; plane elements are read only as CalculiX expands them."""
    try:
        return fem.read_mesh(path)
    except FlexmbError:
        if any(kind.startswith(("CPS", "CPE", "CAX")) for kind in _types(path)):
            return fem.read_mesh(path, elements="file")
        raise


def _types(path: Path) -> set[str]:
    text = path.read_text(errors="replace").upper().replace(" ", "")
    return set(re.findall(r"^\*ELEMENT,.*TYPE=(\w+)", text, flags=re.MULTILINE))


def _linear(path: Path) -> list[int]:
    """Numbers of the linear steps of a deck."""
    said = keywords(path)
    if NOT_LINEAR & {k for _, k in said}:
        return []
    lines = path.read_text(errors="replace").upper().replace(" ", "").splitlines()
    found: list[int] = []
    number, line, bent, heated, lasting = 0, "", False, False, False
    for n, keyword in said:
        if keyword == "STEP":
            number, line = number + 1, lines[n - 1]
            lasting = (lasting or "NLGEOM" in line) and "NLGEOM=NO" not in line  # in static steps, until one ends it
        nonlinear = lasting and (keyword == "STATIC" or "NLGEOM" in line)
        if keyword in ("STATIC", "FREQUENCY") and number and not heated:
            if not nonlinear and not ("PERTURBATION" in line and bent):
                found.append(number)
            bent = bent or nonlinear
        heated = heated or keyword == "HEATTRANSFER"
        bent = bent or keyword in ("DYNAMIC", "VISCO", "BUCKLE")
    return found


def _steps(
    mesh: fem.Mesh,
    steps: tuple[fem.Step, ...],
    linear: list[int],
    theirs: list[dict[int, list[float]] | np.ndarray],
    ids: np.ndarray,
) -> Iterator[Compared]:
    before = model = None
    left = list(theirs)
    missing = [u for u in mesh.unread if u.group != "STEP" and canonical(u.keyword) not in _OF_STEPS]
    reason = "; ".join(f"{u.label}: {u.text}" for u in missing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fem.Model(mesh)
    except FlexmbError as error:
        reason = reason or str(error)
    for step in steps:
        solved = step.procedure in ("STATIC", "FREQUENCY")
        reference = left.pop(0) if left and solved else None
        for _ in range(step.diameters[1] - step.diameters[0] if isinstance(reference, np.ndarray) else 0):
            reference = np.concatenate([reference, left.pop(0)]) if left else None  # a table for each nodal diameter
        if step.number not in linear:
            before = None
            continue
        if model is None or reference is None:
            yield Compared(step.number, step.procedure, reason=reason or "ccx gives no result")
            continue
        try:
            with warnings.catch_warnings():  # the comparison says more than they do
                warnings.simplefilter("ignore")
                result = fem.solve_step(model, step, before)
        except (FlexmbError, ArithmeticError) as error:
            yield Compared(step.number, step.procedure, reason=reason or str(error))
            before = None
            continue
        before = result if step.procedure == "STATIC" else before
        yield Compared(step.number, step.procedure, _difference(model, result, reference, ids), reason)


_OF_STEPS = ("BOUNDARY", "INITIALCONDITIONS", "DASHPOT")
"""What a mesh does not obey, and steps do or do not need."""
_SECTIONS = ("SOLIDSECTION", "SHELLSECTION", "BEAMSECTION", "BEAMGENERALSECTION")


def _difference(
    model: fem.Model, result: fem.StepResult, theirs: dict[int, list[float]] | np.ndarray, ids: np.ndarray
) -> float:
    """The largest difference, without motions that have no energy, of static steps."""
    if isinstance(theirs, dict):
        rows = [k for k, i in enumerate(ids) if int(i) in theirs and i < COPIES]
        u = np.array([theirs[int(ids[k])] for k in rows])
        scale = max(np.abs(u).max(), STILL * np.abs(result.displacements).max(), np.finfo(float).tiny)
        apart = result.displacements[rows] - u
        if np.abs(apart).max() > CLOSE * scale:
            free = free_motions(model, result.step)[rows].reshape(apart.size, -1)
            apart = apart - (free @ np.linalg.lstsq(free, apart.ravel(), rcond=None)[0]).reshape(-1, 3)
        return float(np.abs(apart).max() / scale)
    n = min(len(theirs), len(result.frequencies))
    ours, reference = result.frequencies[:n], theirs[:n]
    scale = np.maximum(np.abs(reference), ZERO * np.abs(reference).max(initial=0.0))
    moving = np.maximum(np.abs(ours), np.abs(reference)) > ZERO * np.abs(reference).max(initial=0.0)
    return float((np.abs(ours - reference) / scale)[moving].max(initial=0.0)) if n else np.inf


# the campaign -----------------------------------------------------------------------------------------------------------


def campaign(folder: Path = FOLDER, names: list[str] | None = None) -> list[Outcome]:
    """The outcomes of the decks of a folder, of all or of those that are named. Cost: a quarter of a second a deck."""
    solver = shutil.which("ccx") is not None
    with tempfile.TemporaryDirectory() as place:
        here, work = Path(place) / "decks", Path(place) / "ccx"
        here.mkdir()
        work.mkdir()
        chosen = [p for p in unpacked(folder, here) if names is None or p.stem in names]
        for path in [*here.glob("*.inc"), *here.glob("*.msh")]:
            shutil.copy(path, work)
        return [compare(path, work, solver) for path in chosen]


def table(outcomes: list[Outcome]) -> str:
    """Counts, and the decks that do not agree, with the reason."""
    linear = [o for o in outcomes if o.steps]
    agreeing = [o for o in linear if o.agrees]
    counts = {
        "decks": len(outcomes),
        "read": sum(o.read for o in outcomes),
        "refused by keyword and line": sum(o.refused_well for o in outcomes),
        "refused otherwise": sum(not o.read and not o.refused_well for o in outcomes),
        "with a keyword neither obeyed nor named": sum(bool(o.silent) for o in outcomes),
        "with linear steps": len(linear),
        "of these agree": len(agreeing),
        "within 1e-4": sum(max(s.error for s in o.steps) <= CLOSE for o in agreeing),
    }
    lines = [f"{value:6d}  {text}" for text, value in counts.items()]
    if linear:
        lines.append(f"{100 * len(agreeing) / len(linear):5.1f}%  of the decks with linear steps agree")
    for o in outcomes:
        lines += [f"silent: {o.name}: {'; '.join(o.silent)}"] if o.silent else []
        lines += [f"refused: {o.name}: {o.message}"] if not o.read and not o.refused_well else []
    for o in linear:
        if not o.agrees:
            told = (f"step {s.number} {s.procedure}: {s.error:.1e} {s.reason}" for s in o.steps)
            lines.append(f"differs: {o.name}: {' | '.join(told)[:300]}")
    return "\n".join(lines)


def cantilever(kind: str) -> str:
    """A deck of a clamped bar of 4 x 2 x 2 hexahedra, a load at its end in the first step, frequencies in the second."""
    mesh = fem.structured_meshes.block("hexahedron20" if "20" in kind else "hexahedron", (8.0, 1.0, 1.5), (4, 2, 2))
    lines = ["*NODE, NSET=ALL", *(f"{k}, {x!r}, {y!r}, {z!r}" for k, (x, y, z) in enumerate(mesh.points.tolist(), 1))]
    lines.append(f"*ELEMENT, TYPE={kind}, ELSET=EALL")
    for k, cell in enumerate((mesh.cells[0].connectivity + 1).tolist(), 1):
        words = [str(n) for n in (k, *cell)]
        lines += [", ".join(words[:11]) + ("," if words[11:] else ""), *([", ".join(words[11:])] if words[11:] else [])]
    for name, x in (("FIX", 0.0), ("TIP", 8.0)):
        lines += [f"*NSET, NSET={name}", *(f"{n + 1}," for n in np.flatnonzero(mesh.points[:, 0] == x))]
    lines += ["*MATERIAL, NAME=STEEL", "*ELASTIC", "210000., 0.3", "*DENSITY", "7.8e-9"]
    lines += ["*SOLID SECTION, ELSET=EALL, MATERIAL=STEEL", "*BOUNDARY", "FIX, 1, 3"]
    lines += ["*STEP", "*STATIC", "*CLOAD", "TIP, 3, 10.", "*END STEP", "*STEP", "*FREQUENCY", "3", "*END STEP"]
    return "\n".join(lines) + "\n"


def sample() -> list[Row | Plot]:
    """The decks of this file."""
    rows: list[Row | Plot] = []
    with tempfile.TemporaryDirectory() as place:
        for kind, (deflection, frequency) in SAMPLE.items():
            path = Path(place) / f"{kind}.inp"
            path.write_text(cantilever(kind))
            mesh, (static, vibration) = fem.read_steps(path)
            model = fem.Model(mesh)
            u = float(fem.solve_step(model, static).displacements[mesh.nodes("TIP"), 2].max())
            f = float(fem.solve_step(model, vibration).frequencies[2])
            for what, ours, theirs in (("deflection", u, deflection), ("third frequency", f, frequency)):
                error = abs(ours / theirs - 1)
                rows.append(Row(CASE, f"clamped bar of {kind}, {what}", theirs, "recomputed", ours, error, CLOSE))
    return rows


def run() -> list[Row | Plot]:
    """The sample; and the whole campaign where the decks and CalculiX are installed."""
    rows = sample()
    if not FOLDER.is_dir() or shutil.which("ccx") is None:
        return rows
    outcomes = campaign()
    counts = Counter("read" if o.read else "refused" if o.refused_well else "other" for o in outcomes)
    linear = [o for o in outcomes if o.steps]
    share = sum(o.agrees for o in linear) / max(len(linear), 1)
    total, told = len(outcomes), counts["read"] + counts["refused"]
    silent = sum(bool(o.silent) for o in outcomes)
    rows.append(Row(CASE, "decks read, or refused by keyword and line", total, "exact", told, float(total - told), 0.0))
    rows.append(Row(CASE, "decks with a keyword neither obeyed nor named", 0, "exact", silent, float(silent), 0.0))
    rows.append(Row(CASE, "part of the linear decks that agree", 1.0, "recomputed", share, 1 - share, DISAGREEING))
    return rows


if __name__ == "__main__":
    arguments = sys.argv[1:]
    where = Path(arguments[0]) if arguments else FOLDER
    if not where.is_dir():
        sys.exit(f"There is no folder {where}: give the one with the decks, or install calculix-ccx-test (Debian).")
    print(table(campaign(where, arguments[1:] or None)))
