"""A platform on three legs of two rods each (3-RRR, planar): absolute and joint coordinates, loops cut at different joints, and an independent program.

Attia's layout (rods of 1 kg with 1/3 about the end, platform of 3 kg with a moment of 1, gravity, and a horizontal force of 10 N at its centre, from rest); the places of its feet are ours.
"""

import numpy as np

import flexmb
from validation.planar import Planar
from validation.plot import Plot
from validation.row import Row

CASE = "attia-platform"
FEET = np.array([[0.0, 0.0], [3.0, 0.0], [1.5, 2.6]])
CENTRE, CORNERS = np.array([1.5, 0.85]), 0.6 * np.array([[-0.866, -0.5], [0.866, -0.5], [0.0, 1.0]])
FORCE, GRAVITY, DURATION = 10.0, 9.81, 1.5
Z = (0.0, 0.0, 1.0)


def knees() -> np.ndarray:
    """Where the two rods of each leg (1 m) meet, all on the same side."""
    places = []
    for foot, corner in zip(FEET, CENTRE + CORNERS, strict=True):
        d = corner - foot
        length = np.linalg.norm(d)
        across = np.array([-d[1], d[0]]) / length
        places.append(foot + d / 2 + across * np.sqrt(1 - (length / 2) ** 2))
    return np.array(places)


def build(cut: int = 0) -> flexmb.System:
    """Rods along their x; `cut`: the order of the joints, by which the tree of the joints and the joints that close loops are chosen."""
    system = flexmb.System(gravity=(0, -GRAVITY, 0), name=CASE)
    rod = flexmb.rigid_body("rod", mass=1.0, inertia=(1e-3, 1 / 12, 1 / 12), centre=(0.5, 0, 0))
    platform = flexmb.rigid_body("platform", mass=3.0, inertia=(0.5, 0.6, 1.0))

    def place(p: np.ndarray) -> tuple[float, float, float]:
        return (float(p[0]), float(p[1]), 0.0)

    middle = system.add(platform, position=place(CENTRE))
    system.load("push", middle.at((0, 0, 0)), force=(FORCE, 0, 0))
    joints = [("planar", "plane", system.ground, middle, (0.0, 0.0, 0.0))]
    for k, (foot, knee, corner) in enumerate(zip(FEET, knees(), CENTRE + CORNERS, strict=True)):
        lower = system.add(rod, name=f"lower {k}", position=place(foot), orientation=(0, 0, _angle(knee - foot)))
        upper = system.add(rod, name=f"upper {k}", position=place(knee), orientation=(0, 0, _angle(corner - knee)))
        joints += [  # one joint of each leg leaves it to the others to hold it in the plane
            ("revolute", f"foot {k}", system.ground, lower, place(foot)),
            ("point-on-line" if k else "revolute", f"knee {k}", lower, upper, place(knee)),
            ("revolute" if k else "point-on-line", f"corner {k}", upper, middle, place(corner)),
        ]
    for kind, name, one, other, at in joints if cut == 0 else joints[::-1]:
        system.joint(kind, name, one, other, axis=Z, at=at)
    return system


def _angle(d: np.ndarray) -> float:
    return float(np.arctan2(d[1], d[0]))


def exact(times: np.ndarray) -> np.ndarray:
    """Place and angle of the platform (nt, 3) from the independent program."""
    model = Planar([(3.0, 1.0)] + [(1.0, 1 / 12)] * 6)
    q = [*CENTRE, 0.0]
    for k, (foot, knee, corner) in enumerate(zip(FEET, knees(), CENTRE + CORNERS, strict=True)):
        lower, upper = 1 + 2 * k, 2 + 2 * k
        q += [*(foot + knee) / 2, _angle(knee - foot), *(knee + corner) / 2, _angle(corner - knee)]
        model.pin(-1, tuple(foot), lower, (-0.5, 0.0))
        model.pin(lower, (0.5, 0.0), upper, (-0.5, 0.0))
        model.pin(upper, (0.5, 0.0), 0, tuple(CORNERS[k]))
    loads = np.concatenate([[FORCE, -3 * GRAVITY, 0.0], *[[0.0, -GRAVITY, 0.0]] * 6])
    return model.run(np.array(q), lambda t, q, v: loads, times)[0][:, :3]


def run() -> list[Row | Plot]:
    """The platform's motion, each way."""
    found = {
        "Radau": flexmb.simulate(build(), DURATION, method="radau", tolerance=1e-11),
        "absolute coordinates, generalised-alpha": flexmb.simulate(build(), DURATION, step=5e-5),
        "joint coordinates": flexmb.simulate(build(), DURATION, step=5e-5, coordinates="joint"),
        "joint coordinates, other joints cut": flexmb.simulate(build(1), DURATION, step=5e-5, coordinates="joint"),
    }
    rows: list[Row | Plot] = []
    references = {}
    for name, result in found.items():
        reference = references[name] = exact(np.array(result.t))
        r, R = result.frame("platform")
        ours = np.column_stack([r[:, :2], np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))])
        error = float(np.abs(ours - reference).max())
        rows.append(Row(CASE, f"platform's motion, {name}", 0.0, "recomputed", error, error, 1e-8 if name == "Radau" else 2e-6))  # fmt: skip
    a, b = (found[f"joint coordinates{tail}"] for tail in ("", ", other joints cut"))
    apart = float(np.abs(a.frame("platform")[0] - b.frame("platform")[0]).max())
    rows.append(Row(CASE, "loops cut at one joint or another", 0.0, "exact", apart, apart, 1e-8))
    motion = found["Radau"]
    reference = references["Radau"]
    lines: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for k, letter in enumerate("xy"):
        lines |= {f"centre, {letter}": (motion.t, motion.frame("platform")[0][:, k]), f"reference {letter}": (motion.t, reference[:, k])}  # fmt: skip
    return [*rows, Plot("Centre of the platform", "time (s)", "m", lines)]
