"""A four-bar of elastic beams whose last hinge is misaligned by five degrees: rigid bars would lock, elastic ones bend and twist their way round.

Bauchau, Betsch, Cardona, Gerstmayr, Jonker, Masarati, Sonneville, "Validation of flexible multibody dynamics beam formulations using benchmark problems", Multibody System Dynamics 37 (2016)
29-48: bars of 0.12, 0.24, 0.12 m, square steel sections of 16 mm (two bars) and 8 mm, the first driven at 0.6 rad/s for 12 s. The data are the paper's; the references are computed here, with four
bodies a bar instead of one, and by the ledger.
"""

import warnings

import numpy as np

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.analyses.mobility import mobility
from flexmb.errors import RedundantConstraintWarning
from validation.plot import Plot
from validation.row import Row

CASE = "misaligned-four-bar"
STEEL = fem.Material.isotropic(207e9, 0.3, 7800.0)
SPEED, DURATION, TILT = 0.6, 12.0, np.radians(5)
PLACES = {"A": (0.0, 0.0, 0.0), "B": (0.0, 0.12, 0.0), "C": (0.24, 0.12, 0.0), "D": (0.24, 0.0, 0.0)}
BARS = {"crank": ("A", "B", 0.016), "coupler": ("B", "C", 0.016), "output": ("C", "D", 0.008)}
Z, TILTED = (0.0, 0.0, 1.0), (float(np.sin(TILT)), 0.0, float(np.cos(TILT)))


def build(n_parts: int = 1) -> flexmb.System:
    """Each bar of beam elements as `n_parts` bodies; hinges about the normal of the plane, the one in C misaligned."""
    system = flexmb.System(name=CASE)
    ends = {}
    for name, (a, b, side) in BARS.items():
        mesh = line(PLACES[a], PLACES[b], 8)
        model = fem.Model(mesh, fem.Beam(STEEL, fem.Section.rectangle(side, side)), name=name)
        model = model.with_interfaces(start="start", end="end")
        cut = flexmb.split(system, model, n_parts, lambda part: reduction.craig_bampton(part, modes=6), modal_damping=0.01)  # fmt: skip
        ends[name] = (cut["start"], cut["end"])
    system.revolute("A", system.ground.at(PLACES["A"]), ends["crank"][0], axis=Z)
    system.revolute("B", ends["crank"][1], ends["coupler"][0], axis=Z)
    system.revolute("C", ends["coupler"][1], ends["output"][0], axis=TILTED)
    system.revolute("D", system.ground.at(PLACES["D"]), ends["output"][1], axis=Z)
    system.drive("A", flexmb.time_functions.spin_up(SPEED, 0.5))
    return system


def turned(result: flexmb.Result) -> dict[str, np.ndarray]:
    """Force and moment in A and how far the mechanism leaves its plane in C."""
    reaction = result.reaction("A")
    return {
        "force in A (N)": reaction[:, 2],
        "moment in A about x (N m)": reaction[:, 3],
        "torque of the drive (N m)": result.drive_effort("A"),
        "C out of the plane (m)": result.position("C.a")[:, 2],
        "angle in D (rad)": result.coordinate("D"),
    }


def run() -> list[Row | Plot]:
    """One turn and more; one body a bar against four."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RedundantConstraintWarning)
        rigid = mobility(build().build().rigid())
    one, four = (flexmb.simulate(build(n_parts), DURATION, step=2e-3, output_step=2e-2) for n_parts in (1, 4))
    rows: list[Row | Plot] = [
        Row(CASE, "rigid: degrees of freedom beside the drive", 0, "exact", rigid.degrees_of_freedom, abs(rigid.degrees_of_freedom), 0),
    ]  # fmt: skip
    found, reference = turned(one), turned(four)
    lines: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name in found:
        span = float(np.ptp(reference[name]))
        error = float(np.abs(found[name] - reference[name]).max())
        rows.append(Row(CASE, f"{name}: largest difference / range", 0.0, "recomputed", error, error / span, 0.02))
        if "moment" in name or "torque" in name:
            lines |= {name: (one.t, found[name]), f"reference, four bodies a bar: {name}": (four.t, reference[name])}
    for name, result in (("one body", one), ("four bodies", four)):
        residual = float(np.abs(result.ledger.residual).max() / result.ledger.elastic.max())
        rows.append(Row(CASE, f"{name} a bar: energy residual / strain energy", 0.0, "exact", residual, residual, 1e-3))
    return [*rows, Plot("Moment in the driven hinge", "time (s)", "moment (N m)", lines)]
