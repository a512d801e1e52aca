"""Order reduction along a motion on three rods of Meijaard's slider-crank: the table of docs/reduction.md.

Error of the middle of the rod against five bodies, over how far the rod bends there; the peer of every row is the one body with all 18 coordinates, and no goal is set.
"""

import warnings
from typing import Any

import numpy as np

from benchmarks.row import Row

COMMAND = "python -m benchmarks adapted"
CRANK, ROD, SPEED, DURATION = 0.1524, 0.3048, 124.8, 0.12
NO_GOAL = 1e12


def build(diameter: float, n_parts: int = 1) -> Any:
    """The slider-crank, spun up; its steel rod of 20 beams as `n_parts` bodies."""
    import fem
    import flexmb
    import reduction
    from fem.mesh.structured_meshes import line

    beam = fem.Beam(fem.Material.isotropic(2.06843e11, 0.3, 7834.56), fem.Section.circle(diameter))
    model = fem.Model(line((0, 0, 0), (ROD, 0, 0), 20), beam, name="rod")
    model = model.with_interfaces(pin="start", slider="end", middle=[10])
    system = flexmb.System(name="slider-crank")
    crank = system.add(flexmb.uniform_rod("crank", mass=1.0, length=CRANK))
    rod = flexmb.split(
        system, model, n_parts, lambda part: reduction.craig_bampton(part, 6 if n_parts == 1 else 2),
        placement={"position": (CRANK, 0, 0)}, modal_damping=0.02,
    )  # fmt: skip
    system.revolute("bearing", system.ground.at((0, 0, 0)), crank["start"], axis=(0, 0, 1))
    system.revolute("crank pin", crank["end"], rod["pin"], axis=(0, 0, 1))
    system.joint("point-on-line", "slide", system.ground.at((CRANK + ROD, 0, 0)), rod["slider"], axis=(1, 0, 0))
    system.drive("bearing", flexmb.time_functions.spin_up(SPEED, 0.05))
    return system.build()


def run() -> list[Row]:
    """Three rods, five descriptions each."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bodies out of their range are what is shown
        for diameter in (6.35e-3, 3e-3, 2e-3):
            errors = _errors(diameter)
            for name, value in errors.items():
                rows.append(Row(f"adapted, rod of {diameter * 1e3:g} mm: {name}", value, errors["all 18"], NO_GOAL, "of the deflection", COMMAND))  # fmt: skip
    return rows


def _errors(diameter: float) -> dict[str, float]:
    import flexmb
    from flexmb.analyses.adapted import adapted
    from flexmb.analyses.fidelity import with_fidelity

    def middle(mechanism: Any) -> tuple[np.ndarray, Any]:
        result = flexmb.simulate(mechanism, DURATION, step=1e-5, output_step=1e-4)
        marker = next(m.name for m in mechanism.markers if m.interface == "middle")
        return result.position(marker), result

    one = build(diameter)
    rigid, nominal = middle(one.rigid())
    exact, _ = middle(build(diameter, 5))
    variants = {
        "adapted, 2": adapted(one, nominal, 2), "adapted, 4": adapted(one, nominal, 4), "all 18": one, "linear, 18": with_fidelity(one, "linear"),
    }  # fmt: skip
    bent = np.abs(exact - rigid).max()
    found = {name: float(np.abs(middle(variant)[0] - exact).max() / bent) for name, variant in variants.items()}
    return {"bends by, over its length": float(bent / ROD), **found}
