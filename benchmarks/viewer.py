"""A result with a part of 103,000 dofs: from its file to the first picture of the live viewer (extra `viewer`)."""

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.parts import steel_block
from benchmarks.process import in_own_process, measured
from benchmarks.row import Row

MODES = 10
ALLOWED = 3.0
"""CPU seconds."""


def run() -> list[Row]:
    """CPU time, so that other work on the machine does not count."""
    command = "python -m benchmarks viewer-100k"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "block.h5"
        write_result(path)
        found = in_own_process(__name__, str(path))
    return [
        Row("viewer-100k: file to first picture / allowed", found["cpu"], ALLOWED, 1.0, "CPU s", command),
        Row("viewer-100k: a further picture / 30 a second", found["picture"], 1 / 30, float("inf"), "CPU s", command),
    ]


def write_result(path: Path) -> None:
    """The result file of a swinging block."""
    import flexmb
    import reduction
    from flexmb.files import save_result

    part = steel_block("100k").with_interfaces(root="x0")
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, MODES, reference_frame="root"), name="block")
    system = flexmb.System(gravity=(0, 0, -9.81))
    system.revolute("hinge", system.ground, system.add(body)["root"], axis=(0, 1, 0))
    save_result(flexmb.simulate(system, 0.05, method="radau", tolerance=1e-4, output_step=0.001), path)


def main() -> None:
    """In a process of its own: `python -m benchmarks.viewer FILE` prints one JSON object."""
    from flexmb.files import load_result
    from flexmb.plots.live import LiveViewer

    def opened() -> LiveViewer:
        viewer = LiveViewer(load_result(sys.argv[1]), name="benchmark")
        viewer.plotter.screenshot(None, return_img=True)
        return viewer

    def next_picture() -> None:
        viewer.state.update({"index": 20})
        viewer.update()
        viewer.plotter.screenshot(None, return_img=True)

    viewer, cost = measured(opened)
    _, further = measured(next_picture)
    print(json.dumps({**cost, "picture": further["cpu"]}))


if __name__ == "__main__":
    main()
