"""The demo: a slider-crank with a flexible connecting rod, from the mesh supplied with flexmb to pictures."""

import gc
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy

import fem
import flexmb
import meshes
import reduction
from flexmb.analyses.compare import Comparison, compare
from flexmb.bodies import solids
from flexmb.bodies.body import Body
from flexmb.bodies.shape import Shape
from flexmb.mechanism.system import System
from flexmb.results.result import Result

CRANK, ROD, SPEED = 0.075, 0.30, 2 * 3.141592653589793 * 50  # m, m, rad/s: 3000 revolutions per minute
RUN_UP, DURATION, STEP = 0.04, 0.08, 2e-6
MESH = meshes.path("conrod.msh")
GAS_FORCE = 4e4  # N, a short pulse in each revolution
PATIENCE = 2e-4  # s that one thread waits for the interpreter while the other one draws


@cache
def connecting_rod(modes: int = 10) -> Body:
    """The connecting rod (tet10, steel) as a flexible body with `modes` modes and interfaces "big" and "small"."""
    mesh = fem.read_mesh(MESH)
    part = fem.Model(mesh, fem.Material.steel()).with_interfaces(
        big=fem.Interface("BIG_END", point=(0.0, 0.0, 0.0)), small=fem.Interface("SMALL_END", point=(ROD, 0.0, 0.0))
    )
    basis = reduction.craig_bampton(part, modes=modes)
    return flexmb.flexible_body(part, basis, name="rod", modal_damping=0.01)


def _hull(*circles: tuple[float, float]) -> np.ndarray:
    """The convex outline (n, 2) around circles on the x axis: (x, radius)."""
    angle = np.linspace(0, 2 * np.pi, 96, endpoint=False)
    points = np.concatenate([np.column_stack([x + r * np.cos(angle), r * np.sin(angle)]) for x, r in circles])
    return points[scipy.spatial.ConvexHull(points).vertices]


def crank_shape() -> Shape:
    """A web with its counterweight behind the rod, the pin through the rod, and the journal behind the web, in m."""
    web = solids.prism(_hull((CRANK, 0.038), (-0.035, 0.055)), -0.037, -0.02)
    pin = solids.cylinder((CRANK, 0, -0.02), (CRANK, 0, 0.022), 0.0298)
    return solids.together(web, pin, solids.cylinder((0, 0, -0.075), (0, 0, -0.037), 0.03))


def piston_shape() -> Shape:
    """A crown with two cheeks, and the pin that they hold, in m."""
    crown = solids.cylinder((0.028, 0, 0), (0.05, 0, 0), 0.045)
    cheeks = [solids.prism(_hull((0.0, 0.019), (0.014, 0.019)), low, low + 0.012) for low in (-0.028, 0.016)]
    arms = [solids.box((0.028, 0.03, 0.012), (0.014, 0, side * 0.022)) for side in (-1, 1)]
    return solids.together(crown, *cheeks, *arms, solids.cylinder((0, 0, -0.034), (0, 0, 0.034), 0.0133))


def build(speed: float = SPEED, gas_force: float = GAS_FORCE) -> System:
    """A slider-crank with a flexible rod, in m, kg and s.

    A driver accelerates the crank from rest to `speed` (rad/s); then gas pulses of `gas_force` (N) act on the piston.
    """
    system = System(gravity=(0, -9.81, 0), name="slider-crank", units="SI")
    crank = system.add(
        flexmb.rigid_body(
            "crank",
            mass=2.0,
            inertia=(2e-3, 4e-3, 4e-3),
            centre=(0.02, 0, 0),
            points={"pin": (CRANK, 0, 0)},
            mesh=crank_shape(),
        )
    )
    rod = system.add(connecting_rod(), position=(CRANK, 0, 0))
    piston = system.add(
        flexmb.rigid_body("piston", mass=0.6, inertia=(6e-4, 6e-4, 6e-4), mesh=piston_shape()),
        position=(CRANK + ROD, 0, 0),
    )
    system.revolute("bearing", system.ground.at((0, 0, -0.06)), crank, axis=(0, 0, 1))
    system.revolute("crank pin", crank["pin"], rod["big"], axis=(0, 0, 1))
    system.joint("point-on-line", "wrist pin", piston, rod["small"], axis=(0, 0, 1))  # a pin with axial play
    system.prismatic("cylinder", system.ground.at((ROD, -0.055, 0)), piston, axis=(1, 0, 0))
    system.drive("bearing", flexmb.time_functions.spin_up(speed, RUN_UP))
    # the pulse begins just after top dead centre
    firing = flexmb.time_functions.pulse(start=0.06, duration=8e-4, height=1.0, period=0.02)
    system.load("gas", piston.at((0, 0, 0)), force=(-gas_force, 0, 0), factor=firing)
    return system


def run(
    directory: str | Path, report: Callable[[str], None] = print, progress: Callable[[str, float], None] | None = None
) -> Comparison:
    """Import and reduce the rod, simulate the mechanism rigid and flexible, and return the comparison.

    The result, plots and an animation are written into `directory`. A second thread simulates while the mesh and the
    modes are drawn, and writes the result and the plots beside the animation.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    say = progress or (lambda what, done: None)
    with _two_threads(), ThreadPoolExecutor(1) as second:
        for name in ("flexmb.plots.pictures", "pyvista.plotting"):
            second.submit(import_module, name)
        report(f"Mesh conrod.msh -> flexible body\n{connecting_rod()}\n")
        report("Running the mechanism rigid, then flexible")
        simulated = second.submit(compare, build(), DURATION, step=STEP, progress=lambda done: say("simulating", done))
        second.submit(import_module, "flexmb.plots.result_plots")
        _draw_rod(directory)
        comparison = simulated.result()
        report(f"\n{comparison}\n\n{comparison.flexible.ledger}\n")
        written = second.submit(_write, comparison, directory)
        _animate(comparison.flexible, directory, progress=lambda done: say("drawing", done))
        written.result()
    return comparison


@contextmanager
def _two_threads() -> Iterator[None]:
    """Settings of the interpreter while one thread simulates and the other one draws.

    A simulation asks for the interpreter at every time that it stores, and waits for it for `PATIENCE`. Garbage is left
    to the thread that draws, which VTK wants to end what it began.
    """
    interval, collects = sys.getswitchinterval(), gc.isenabled()
    sys.setswitchinterval(PATIENCE)
    gc.disable()
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if collects:
            gc.enable()


def _write(comparison: Comparison, directory: Path) -> None:
    """The result, and plots of its energies and of the comparison."""
    from flexmb.files.results.result_file import save_result
    from flexmb.plots import result_plots

    result_plots.plot_energy(comparison.flexible, directory / "energy.png")
    result_plots.plot_comparison(comparison, directory / "comparison.png")
    save_result(comparison.flexible, directory / "result.h5")


def _draw_rod(directory: Path) -> None:
    """Pictures of the mesh and of the modes."""
    from flexmb.plots import pictures

    pictures.picture_mesh(fem.read_mesh(MESH), directory / "mesh.png")
    pictures.picture_modes(connecting_rod(), directory / "modes.png", units="SI")


def _animate(result: Result, directory: Path, progress: Callable[[float], None]) -> None:
    """The mechanism in motion, with its deformation enlarged."""
    from flexmb.plots import pictures

    pictures.animate(
        result,
        directory / "animation.gif",
        frames=32,
        frames_per_second=16,
        magnification=200.0,
        labels=True,
        progress=progress,
    )
