"""Two hundred hinged bodies of twenty elastic coordinates: a step in the threads that flexmb chooses, beside busy programs on all cores but one and without them, over the same in one thread."""

import json
from statistics import median

from benchmarks.process import in_own_process, measured
from benchmarks.row import Row
from benchmarks.threads import BESIDE, PAIRS, busy, free_cores

BODIES, MODES, STEPS, STEP = 200, 20, 400, 1e-3
ALONE = 1 / 1.6
COMMAND = "python -m benchmarks many-bodies"


def run() -> list[Row]:
    """Medians of pairs that alternate."""
    rows = []
    for what, programs, goal in (("alone", 0, ALONE), ("beside busy programs", free_cores() - 1, BESIDE)):
        with busy(programs):
            pairs = [[in_own_process(__name__, threads=count) for count in (None, 1)] for _ in range(PAIRS)]
        one = median(alone["wall"] for _, alone in pairs)
        ratio = median(ours["wall"] / alone["wall"] for ours, alone in pairs)
        name = f"many-bodies: a step of {BODIES} bodies with {MODES} coordinates, {what}, chosen / one thread"
        rows.append(Row(name, 1e6 * ratio * one / STEPS, 1e6 * one / STEPS, goal, "us wall", COMMAND))
    return rows


def main() -> None:
    """In a process of its own: `python -m benchmarks.many_bodies` prints one JSON object."""
    import flexmb
    import reduction
    from fem import Material, Model, structured_meshes

    mesh = structured_meshes.block("hexahedron", (1.0, 0.1, 0.1), (20, 3, 3))
    part = Model(mesh, Material.isotropic(2e11, 0.3, 7800.0)).with_interfaces(start="x0", end="x1")
    link = flexmb.flexible_body(part, reduction.craig_bampton(part, MODES - 6))
    system = flexmb.System(gravity=(0, 0, -9.81))
    before = system.ground.at(link.interface("start").point)
    for k in range(BODIES):
        body = system.add(link, name=f"link {k}", position=(float(k), 0, 0))
        system.revolute(f"hinge {k}", before, body["start"], axis=(0, 1, 0))
        before = body["end"]
    mechanism = system.build()
    flexmb.simulate(mechanism, 2 * STEP, step=STEP, output_step=2 * STEP)
    _, cost = measured(lambda: flexmb.simulate(mechanism, STEPS * STEP, step=STEP, output_step=STEPS * STEP))
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
