"""Beams and plates of shells under unit loads: straight with distorted cells, curved, twisted; rectangular plates.

MacNeal and Harder, "A proposed standard set of problems to test finite element accuracy", Finite Elem. Anal. Des. 1 (1985) 3-20; the thin twisted beam is that of Simo, Fox and Rifai, "On a stress
resultant geometrically exact shell model. Part II", Comput. Methods Appl. Mech. Eng. 73 (1989) 53-92. Sixteen cells a side of a plate, eight of quadratic cells; eight across a straight or curved beam.
"""

import numpy as np

import fem
from fem.elements import element
from validation import shells
from validation.plot import Plot
from validation.row import Row

CASE = "macneal-harder"
ACROSS = 8
STRAIGHT = {"extension": (0, 3.0e-5), "in-plane shear": (1, 0.1081), "out-of-plane shear": (2, 0.4321)}
CURVED = {"in-plane shear": (0, 0.08734), "out-of-plane shear": (2, 0.5022)}
PLATES = {
    ("simply supported", "uniform", 1.0): 4.062,
    ("simply supported", "point", 1.0): 11.60,
    ("clamped", "uniform", 1.0): 1.26,
    ("clamped", "point", 1.0): 5.60,
    ("simply supported", "uniform", 5.0): 12.97,
    ("clamped", "uniform", 5.0): 2.56,
}
"""Support, load, ratio of the sides: deflection of the middle."""


def straight(kind: str, shape: str) -> dict[str, float]:
    """Deflections over the references of the beam 6 x 0.2 x 0.1, its cells skewed by 45 degrees."""
    skew = {"rectangles": 0.0, "parallelograms": 1.0, "trapezoids": 1.0}[shape]
    n = 30 * ACROSS // 2

    def place(a: np.ndarray, b: np.ndarray) -> tuple:
        line = np.rint(a * n)
        turned = skew * np.where((line > 0) & (line < n), 1.0, 0.0)
        if shape == "trapezoids":
            turned = turned * (-1.0) ** line * 0.25
        return (
            6 * a + turned * 0.2 / ACROSS * (b - 0.5) * ACROSS / 2 * (0.5 if shape == "parallelograms" else 1.0),
            0.2 * b,
            0,
        )

    model = shells.shell(kind, (n, ACROSS), place, 0.1, 1e7, 0.3)
    return _tips(model, STRAIGHT)


def curved(kind: str) -> dict[str, float]:
    """Deflections over the references of a quarter of a ring between the radii 4.12 and 4.32."""

    def place(a: np.ndarray, b: np.ndarray) -> tuple:
        r, angle = 4.12 + 0.2 * b, np.pi / 2 * a
        return r * np.sin(angle), r * np.cos(angle), 0

    return _tips(shells.shell(kind, (15 * ACROSS, ACROSS), place, 0.1, 1e7, 0.25), CURVED)


def _tips(model: fem.Model, wanted: dict[str, tuple[int, float]]) -> dict[str, float]:
    loads = np.column_stack([shells.spread(model, "x1", c) for c, _ in wanted.values()])
    u = shells.solve(model, loads, shells.held(model, "x0", range(6)))
    return {name: float(loads[:, k] @ u[:, k] / value) for k, (name, (_, value)) in enumerate(wanted.items())}


def plate(kind: str, support: str, load: str, ratio: float, n: int = 16) -> float:
    """Deflection of the middle of a plate of 2 x 2 ratio and the thickness 0.0001, a quarter of it."""
    model = shells.shell(kind, (n, n), lambda a, b: (a, ratio * b, 0), 1e-4, 1.7472e7, 0.3)
    middle = 3 * shells.corner(model, "x0", "y0") + 2
    f = fem.gravity(model, (0, 0, 1))  # a pressure of 1e-4: the density is one
    if load == "point":
        f = np.zeros(model.ndof)
        f[middle] = 1e-4
    rest = range(6) if support == "clamped" else (0, 1, 2)
    fixed = [shells.symmetric(model, "x0", 0), shells.symmetric(model, "y0", 1)]
    fixed += [shells.held(model, side, rest) for side in ("x1", "y1")]
    return float(shells.solve(model, f, np.concatenate(fixed))[middle] / PLATES[support, load, ratio])


def run() -> list[Row | Plot]:
    """All of them with quadrilaterals, the plates and the twisted beam with all kinds of cells."""
    found: list[tuple[str, float, float, float]] = []
    for shape in ("rectangles", "parallelograms", "trapezoids"):
        for name, ratio in straight("quad", shape).items():
            found.append((f"straight beam of {shape}, {name}", STRAIGHT[name][1], ratio, 0.02))
    for name, ratio in curved("quad").items():
        found.append((f"curved beam, {name}", CURVED[name][1], ratio, 0.02))
    for kind, n in (("quad", 4), ("quad8", 2), ("quad9", 2), ("triangle", 8), ("triangle6", 4)):
        for thickness, names in ((0.32, (5.424e-3, 1.754e-3)), (0.0032, (5256.0, 1294.0))):
            for what, value, ratio in zip(
                ("width", "thickness"), names, shells.twisted_beam(kind, n, thickness), strict=True
            ):
                found.append(
                    (f"twisted beam of thickness {thickness}, {kind}, load along its {what}", value, ratio, 0.02)
                )
    for kind in shells.KINDS:
        for (support, load, sides), value in PLATES.items():
            if kind == "quad" or sides == 1.0:
                found.append(
                    (
                        f"{support} plate 1 : {sides:g}, {load} load, {kind}",
                        value,
                        plate(kind, support, load, sides, 8 if len(element(kind).edges) else 16),
                        0.02,
                    )
                )
    return [
        Row(CASE, name, value, "paper", value * ratio, abs(ratio - 1), allowed) for name, value, ratio, allowed in found
    ]
