"""Two spur gears in mesh, both flexible: transmission error and root stress while the contact runs over the flanks, against CalculiX on the same meshes.

A pinion of 24 teeth turns slowly and drives a wheel of 36 against a torque; five teeth of each are meshed, with relieved tips. The static transmission error is the distance, along the line of action, by which the wheel stays behind. One pair of teeth carries around the
middle of the path, two pairs beside it, and the share passes from one to the other by their elasticity. The forces travel over 120 nodes of each flank, which the elastic coordinates (12 shapes for the contact) do not resolve: the residual compliance of the surfaces does. The stress is that in the
tensile fillet of the middle tooth of the pinion, by the elastic coordinates and the static response to the contact forces.

CalculiX (C3D8I, surface to surface, contact stiffness 1e8 MPa/mm, linear kinematics) turns the bore of the wheel until the torque is that of the case, at each position of the pinion; `python -m validation.gear_pair` repeats this (some minutes a position). Units: mm, N, s, MPa.
"""

import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np

import fem
import flexmb
import reduction
from fem.matrices.stress import von_mises
from fem.mesh.structured_meshes import SpurGear, spur_gear
from flexmb.mechanism.attachments import BodyHandle
from flexmb.results.contact_stress import contact_stress
from flexmb.results.stress import stress_at
from validation.plot import Plot
from validation.row import Row

CASE = "gear-pair"
PINION = SpurGear(24, 2.0, 1.0, thinning=0.04, relief=0.02)
WHEEL = SpurGear(36, 2.0, 1.0, thinning=0.04, relief=0.02)
RATIO = PINION.teeth / WHEEL.teeth
DISTANCE = PINION.pitch_radius + WHEEL.pitch_radius
DIVISIONS, RIM, SHOWN = (40, 8, 8, 5, 1), 2.5, 5
YOUNG, POISSON, DENSITY = 206e3, 0.3, 7.85e-9
LOAD = 300.0
"""Force along the line of action."""
TORQUE = LOAD * WHEEL.base_radius
MIDDLE = -0.25 * PINION.pitch
"""Angle of the pinion with which its middle tooth touches at the pitch point."""
STEP, DURATION, RAMP, PART = 1e-4, 0.042, 4e-3, 1.05
"""The pinion turns by `PART` of a pitch in `DURATION`."""
STIFFNESS, CONTACT = 14e3, 1e8
"""Of the teeth in mesh, for the damping of the shaft; of the contact in CalculiX."""
REFERENCE = {
    -0.4: (1.268250e-02, 176.8411),
    -0.3: (1.477119e-02, 223.8000),
    -0.2: (1.755326e-02, 288.6472),
    -0.1: (1.792182e-02, 312.5989),
    0.0: (1.781097e-02, 326.1963),
    0.12: (1.796014e-02, 346.1600),
    0.2: (1.682360e-02, 331.7468),
    0.3: (1.423300e-02, 283.7077),
    0.4: (1.242934e-02, 247.4933),
}
"""Angle of the pinion from the middle, in pitches; transmission error (mm) and root stress (MPa) of CalculiX 2.20."""


def placed(pinion: float) -> float:
    """The angle of the wheel, without load, for the angle of the pinion."""
    closed = 0.5 * (PINION.thinning + WHEEL.thinning) / WHEEL.pitch_radius
    return math.pi - 0.5 * WHEEL.pitch - RATIO * pinion + closed


def of(model: fem.Model) -> fem.Mesh:
    """The mesh of a model."""
    assert model.mesh is not None
    return model.mesh


def meshed(gear: SpurGear) -> tuple[fem.Mesh, np.ndarray]:
    """The mesh of a gear, and the faces (nf, 2) of the flanks that touch."""
    mesh = spur_gear(gear, DIVISIONS, RIM, SHOWN)
    return mesh, np.concatenate([mesh.face_sets[f"left {k}"] for k in (-1, 0, 1)])


def part(gear: SpurGear) -> fem.Model:
    """The finite element model of a gear with its surface "teeth", held at its bore."""
    mesh, faces = meshed(gear)
    model = fem.Model(mesh, fem.Material.isotropic(YOUNG, POISSON, DENSITY))
    bore = fem.Interface("bore", point=(0.0, 0.0, 0.5 * gear.width))
    return model.with_interfaces(bore=bore).with_surfaces(teeth=faces)


@dataclass(frozen=True, eq=False)
class Meshing:
    """The motion of the gears: `phase` (nt,) in pitches from the middle, transmission `error` (nt,) along the line of
    action, and the result with the model and the basis of the pinion."""

    phase: np.ndarray
    error: np.ndarray
    result: flexmb.Result
    model: fem.Model
    basis: reduction.Basis


def turning(modes: int = 12) -> Meshing:
    """The pinion drives the wheel through one pitch, after the torque has grown."""
    system = flexmb.System(name=CASE)
    own: dict[str, BodyHandle] = {}
    start, speed = MIDDLE - (PART - 0.5) * PINION.pitch, PART * PINION.pitch / DURATION
    models = {"pinion": part(PINION), "wheel": part(WHEEL)}
    bases = {name: reduction.contact_basis(model, modes, frictionless=True) for name, model in models.items()}
    for name, x, angle in (("pinion", 0.0, start), ("wheel", DISTANCE, placed(start))):
        body = flexmb.flexible_body(models[name], bases[name], name=name, modal_damping=1.0, geometric_stiffness="none")
        own[name] = system.add(body, position=(x, 0, 0), orientation=(0, 0, angle))
        system.revolute(name, system.ground.at((x, 0, 0.5 * PINION.width)), own[name]["bore"], axis=(0, 0, 1))
    inertia = models["wheel"].mass * WHEEL.pitch_radius**2
    damping, torque, rate, ramp = math.sqrt(inertia * STIFFNESS) * WHEEL.base_radius, TORQUE, RATIO * speed, RAMP

    @numba.njit
    def resisting(t: float, angle: float, velocity: float) -> float:
        s = min(t / ramp, 1.0)
        return torque * s * s * (3.0 - 2.0 * s) - damping * (velocity + rate)

    system.motor("load", "wheel", resisting)
    system.drive("pinion", flexmb.time_functions.constant_speed(speed))
    system.set_speed("wheel", -rate)
    system.contact("mesh", own["pinion"].surface("teeth"), own["wheel"].surface("teeth"))
    result = flexmb.simulate(system, DURATION, step=STEP, output_step=2 * STEP)
    turned, behind = (c - c[0] for c in (result.coordinate("pinion"), result.coordinate("wheel")))
    phase = (start + turned - MIDDLE) / PINION.pitch
    error = (behind + RATIO * turned) * WHEEL.base_radius
    return Meshing(phase, error, result, models["pinion"], bases["pinion"])


def root(mesh: fem.Mesh) -> int:
    """The node in the middle of the tensile fillet of the middle tooth of the pinion, on its face z = 0."""
    r, angle = (float(x[0]) for x in PINION.fillet_points(np.array([0.5])))
    return int(np.linalg.norm(mesh.points - (r * math.cos(angle), r * math.sin(angle), 0.0), axis=1).argmin())


def run() -> list[Row | Plot]:
    """Transmission error and root stress over one pitch."""
    made = turning()
    node = root(of(made.model))
    loaded = np.flatnonzero(made.result.t > RAMP)
    over = contact_stress(made.result, "pinion", made.model, made.basis, loaded.tolist())
    stress = over.von_mises[:, int(np.flatnonzero(over.nodes == node)[0])]
    phase, error = made.phase[loaded], made.error[loaded]
    own = stress_at(made.result, "pinion", of(made.model).points[node])[1]
    rows: list[Row | Plot] = []
    for at, (wanted, highest) in REFERENCE.items():
        ours, found = float(np.interp(at, phase, error)), float(np.interp(at, phase, stress))
        place = f"at {at:+.2f} pitches"
        rows.append(Row(CASE, f"transmission error (mm) {place}", wanted, "recomputed", ours, abs(ours / wanted - 1), 0.02))  # fmt: skip
        rows.append(Row(CASE, f"root stress (MPa) {place}", highest, "recomputed", found, abs(found / highest - 1), 0.02))  # fmt: skip
    sizes, tensions = np.array(list(REFERENCE.values())).T
    swing = float(np.ptp(sizes))
    ours = float(np.ptp(np.interp(list(REFERENCE), phase, error)))
    rows.append(Row(CASE, "swing of the transmission error (mm)", swing, "recomputed", ours, abs(ours / swing - 1), 0.02))  # fmt: skip
    places = np.array(list(REFERENCE))
    rows.append(Plot("Static transmission error", "angle of the pinion (pitches)", "error (um)", {"flexmb": (phase, 1e3 * error), "reference (CalculiX)": (places, 1e3 * sizes)}))  # fmt: skip
    lines = {"flexmb": (phase, stress), "elastic coordinates alone": (phase, von_mises(own)[loaded]), "reference (CalculiX)": (places, tensions)}  # fmt: skip
    rows.append(Plot("Stress in the fillet", "angle of the pinion (pitches)", "von Mises stress (MPa)", lines))
    return rows


def deck(pinion: float, turned: float) -> str:
    """A deck of both gears with the pinion at an angle and the bore of the wheel turned from its unloaded place."""
    lines, first, cell = ["*NODE, NSET=ALL"], 0, 0
    ends: list[tuple[list[str], int, np.ndarray, np.ndarray]] = []
    faces = {frozenset(f): i + 1 for i, f in enumerate(((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)))}  # fmt: skip
    for gear, angle, x in ((PINION, pinion, 0.0), (WHEEL, placed(pinion), DISTANCE)):
        mesh, touching = meshed(gear)
        c, s = math.cos(angle), math.sin(angle)
        points = mesh.points @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + [x, 0, 0]
        cells = mesh.cells[0].connectivity
        lines += [f"{first + i + 1}," + ",".join(f"{v:.14g}" for v in point) for i, point in enumerate(points)]
        name, bore = "PW"[len(ends)], mesh.nodes_of_faces(mesh.face_sets["bore"])
        own = [f"*ELEMENT, TYPE=C3D8I, ELSET=E{name}"]
        own += [",".join(map(str, [cell + k + 1, *(first + row + 1)])) for k, row in enumerate(cells)]
        own += [f"*NSET, NSET=B{name}", *(f"{first + i + 1}," for i in bore), f"*SURFACE, NAME=S{name}, TYPE=ELEMENT"]
        for k, face in touching:
            local = frozenset(cells[k].tolist().index(i) for i in mesh.face_nodes(k, face))
            own.append(f"{cell + k + 1}, S{faces[local]}")
        ends.append((own, first, points, bore))
        first, cell = first + len(points), cell + len(cells)
    lines += ends[0][0] + ends[1][0]
    lines += ["*MATERIAL, NAME=STEEL", "*ELASTIC", f"{YOUNG}, {POISSON}"]
    lines += [f"*SOLID SECTION, ELSET=E{name}, MATERIAL=STEEL" for name in "PW"]
    lines += ["*SURFACE INTERACTION, NAME=TOUCH", "*SURFACE BEHAVIOR, PRESSURE-OVERCLOSURE=LINEAR", f"{CONTACT:g}"]
    lines += ["*CONTACT PAIR, INTERACTION=TOUCH, TYPE=SURFACE TO SURFACE", "SP, SW"]
    lines += ["*STEP, INC=100", "*STATIC", "1., 1.", "*BOUNDARY", "BP, 1, 3"]
    _, start, points, bore = ends[1]
    for i in bore:
        x, y = points[i, 0] - DISTANCE, points[i, 1]
        lines += [f"{start + i + 1},{d},{d},{v:.14g}" for d, v in ((1, -turned * y), (2, turned * x), (3, 0.0))]
    prints = [line for nset, what in (("BW", "RF"), ("ALL", "U")) for line in (f"*NODE PRINT, NSET={nset}", what)]
    return "\n".join([*lines, *prints, "*END STEP", ""])


def solved(pinion: float, turned: float) -> tuple[float, np.ndarray]:
    """Torque of CalculiX on the wheel, and the displacements (n, 3) of the nodes of the pinion, in its own axes."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "gears.inp").write_text(deck(pinion, turned))
        done = subprocess.run(["ccx", "gears"], cwd=folder, capture_output=True, text=True, check=False)
        if "Job finished" not in done.stdout:
            raise RuntimeError(f"CalculiX did not finish: {done.stdout[-500:]}")
        text = (Path(folder) / "gears.dat").read_text()
    tables = text.split("for set")[-2:]  # of the last increment
    rows = [np.array([row for line in table.splitlines() if (row := line.split())[:1] and row[0].isdigit() and len(row) == 4], dtype=float) for table in tables]  # fmt: skip
    count = len(meshed(PINION)[0].points)
    wheel = meshed(WHEEL)[0].points
    angle = placed(pinion)
    x = wheel[rows[0][:, 0].astype(int) - 1 - count]
    c, s = math.cos(angle), math.sin(angle)
    across = np.column_stack([-s * x[:, 0] - c * x[:, 1], c * x[:, 0] - s * x[:, 1]])
    u = rows[1][rows[1][:, 0] <= count]
    c, s = math.cos(pinion), math.sin(pinion)
    return float((across * rows[0][:, 1:3]).sum()), u[np.argsort(u[:, 0]), 1:] @ np.array(
        [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    )


def calculix(phase: float, guess: float) -> tuple[float, float]:
    """Transmission error and root stress of CalculiX with the pinion at a `phase`, from a `guess` of the error."""
    model, turned = part(PINION), [guess / WHEEL.base_radius]
    pinion = MIDDLE + phase * PINION.pitch
    first, u = solved(pinion, turned[0])
    turned.append(turned[0] * TORQUE / first)
    second, v = solved(pinion, turned[1])
    share = (TORQUE - first) / (second - first)
    error = turned[0] + share * (turned[1] - turned[0])
    nodes, _, stress = model.stresses((u + share * (v - u)).reshape(-1, 1))
    at = int(np.flatnonzero(nodes == root(of(model)))[0])
    return error * WHEEL.base_radius, float(von_mises(stress[:, :, 0])[at])


def main(phases: Sequence[str]) -> None:
    """Print the results of CalculiX for `REFERENCE`, at phases or at those that are stored."""
    if shutil.which("ccx") is None:
        sys.exit("CalculiX (ccx, Debian: calculix-ccx) is not installed.")
    made = turning()
    for phase in map(float, phases or map(str, REFERENCE)):
        error, stress = calculix(phase, float(np.interp(phase, made.phase, made.error)))
        print(f"    {phase}: ({error:.6e}, {stress:.4f}),", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
