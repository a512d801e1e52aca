"""Pinched cylinder, Scordelis-Lo roof and hemisphere with a hole under static loads: the deflection under the load.

The obstacle course of Belytschko et al., "Stress projection for membrane and shear locking in shell finite elements",
Comput. Methods Appl. Mech. Eng. 51 (1985) 221-258, with the references of MacNeal and Harder, "A proposed standard set
of problems to test finite element accuracy", Finite Elem. Anal. Des. 1 (1985) 3-20. Quadrilaterals are at 16 a side
(pinched cylinder 32), those of eight and nine nodes at 8; triangles at 32 (pinched cylinder 64), as linear ones bend
well and stretch badly; those of six nodes at 16.
"""

import numpy as np

from validation import shells
from validation.plot import Plot
from validation.row import Row

CASE = "shell-obstacles"
REFERENCES = {"pinched cylinder": 1.8248e-5, "Scordelis-Lo roof": 0.3024, "hemisphere": 0.0940}
CASES = {
    "pinched cylinder": shells.pinched_cylinder,
    "Scordelis-Lo roof": shells.scordelis_lo,
    "hemisphere": shells.hemisphere,
}
FINEST = {
    "quad8": dict.fromkeys(REFERENCES, 8),
    "quad9": dict.fromkeys(REFERENCES, 8),
    "triangle6": dict.fromkeys(REFERENCES, 16),
    "quad": {"pinched cylinder": 32, "Scordelis-Lo roof": 16, "hemisphere": 16},
    "triangle": {"pinched cylinder": 64, "Scordelis-Lo roof": 32, "hemisphere": 32},
}
DIVISIONS = (2, 4, 8, 16, 32, 64)


def run() -> list[Row | Plot]:
    """All kinds of cells on all meshes up to the finest."""
    rows: list[Row | Plot] = []
    lines = {"reference": (np.array(DIVISIONS, dtype=float), np.ones(len(DIVISIONS)))}
    for name, case in CASES.items():
        for kind in shells.KINDS:
            found = {n: case(kind, n) for n in DIVISIONS if n <= FINEST[kind][name]}
            n = FINEST[kind][name]
            reference = REFERENCES[name]
            label = f"{name}, {kind}, {n} a side"
            rows.append(Row(CASE, label, reference, "paper", found[n] * reference, abs(found[n] - 1), 0.02))
            lines[f"{name}, {kind}"] = (np.array(list(found), dtype=float), np.array(list(found.values())))
    return [*rows, Plot("Deflection of shells", "cells a side", "deflection over the reference", lines)]
