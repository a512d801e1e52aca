"""Feedforward of flexible mechanisms: the error of the end of an arm, open loop, against the order of the feedforward.

Gorius, Seifried and Eberhard ("Approximate feedforward control of flexible mechanical systems", 2012) expand the inverse dynamics of a flexible mechanism in powers of the ratio of the slowest vibration's period to the time of
the motion, and show a rotating beam whose error decreases with the order; their data are not printed. The table that is compared here was computed independently for a linear system with one elastic coordinate,
of which a force moves the rigid coordinate s and the output is y = s + d: masses 1/3 + 0.2, 0.25 and 0.2, stiffness 400 or 1600, y moves from 0 to 1 in 1 s by the integral of t^9 (1 - t)^9. Its inverse is unstable.
Here, that system is a cart (1/30) with a cantilever across its rail (mass 0.375, length 1, one shape x^2, a tip mass of 0.125).

The second example is a beam that turns by a large angle, of data that are ours, with eight elastic coordinates and all terms of large rotations. A stiffness four times as large halves the ratio of the times; theory then divides the error of order r by 4^(r/2 + 1).
"""

import numpy as np
import scipy.sparse as sp

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.analyses.feedforward import feedforward
from flexmb.analyses.inverse_dynamics import Servo
from flexmb.mechanism.time_functions import TimeFunction, smooth_step
from validation.plot import Plot
from validation.row import Row

CASE = "feedforward"
TABLE = {400: (6.49e-3, 1.29e-4, 4.16e-6), 1600: (1.58e-3, 7.76e-6, 6.17e-8)}
"""Stiffness: largest errors for the orders 0, 2 and 4."""
STEPS = {400: (5e-3, 5e-3, 2.5e-3), 1600: (5e-3, 2.5e-3, 2e-3)}
"""With these steps, errors of differences change the errors of the table by less than its last digit, but for the last one: there by 1 %."""
AMPLITUDE, HEIGHT = 0.1, 0.8
SIDE = 0.01
"""Of the section of the cantilever; its rotary inertia is 2e-5 of the mass."""


def cantilever(stiffness: float) -> flexmb.Body:
    """A uniform beam with the shape x^2: the tip mass completes its integrals 0.125 and 0.075 to 0.25 and 0.2."""
    section = fem.Section.rectangle(SIDE, SIDE)
    steel = fem.Material.isotropic(stiffness / 4 / (SIDE**4 / 12), 0.3, 0.375 / SIDE**2)
    beam = fem.Beam(steel, section, theory="euler-bernoulli")
    part = fem.Model(line((0, 0, 0), (1, 0, 0), 1), beam, name="cantilever").with_interfaces(root="start", tip="end")
    ends = {"root": [0, 1, 2, 6, 7, 8], "tip": [3, 4, 5, 9, 10, 11]}
    shape = np.zeros((part.ndof, 1))
    shape[ends["tip"], 0] = [0, 1, 0, 0, 0, 2]
    mass, k = ((shape.T @ (sp.csr_matrix(A) @ shape))[0, 0] for A in (part.M, part.K))
    shape /= np.sqrt(mass)
    rows = {name: shape[dofs] for name, dofs in ends.items()}
    basis = reduction.Basis(shape, np.array([k / mass]), "one shape", "root", rows)
    return flexmb.flexible_body(part, basis)


def cart(stiffness: float) -> flexmb.System:
    """The cart on its rail along y, with the cantilever across."""
    system = flexmb.System(name=CASE)
    body = system.add(flexmb.rigid_body("cart", mass=1 / 30, inertia=(1, 1, 1), points={"top": (0, 0, 0)}))
    arm = system.add(cantilever(stiffness))
    system.prismatic("rail", system.ground, body["top"], axis=(0, 1, 0))
    system.fixed("clamp", body["top"], arm["root"])
    end = system.add(flexmb.rigid_body("tip mass", mass=0.125, inertia=(1e-9, 1e-9, 1e-9)), position=(1, 0, 0))
    system.fixed("weld", arm["tip"], end)
    system.motor("motor", "rail", 0.0)
    return system


def turning_beam(stiffness: float) -> flexmb.System:
    """A hinged beam (1 m, 1 kg, bending stiffness a quarter of `stiffness`) with a hub of 0.2."""
    side = 0.01
    material = fem.Material.isotropic(stiffness / 4 / (side**4 / 12), 0.3, 1 / side**2)
    part = fem.Model(line((0, 0, 0), (1, 0, 0), 6), fem.Beam(material, fem.Section.rectangle(side, side)), name="cantilever")  # fmt: skip
    part = part.with_interfaces(root="start", tip="end")
    basis = reduction.craig_bampton(part, 2, reference_frame="root")
    system = flexmb.System(name="turning beam")
    hub = system.add(flexmb.rigid_body("hub", mass=1.0, inertia=(0.2, 0.2, 0.2), points={"shaft": (0, 0, 0)}))
    arm = system.add(flexmb.flexible_body(part, basis))
    system.revolute("rail", system.ground, hub["shaft"], axis=(0, 0, 1))
    system.fixed("clamp", hub["shaft"], arm["root"])
    system.motor("motor", "rail", 0.0)
    return system


def tracking(
    system: flexmb.System, path: TimeFunction, order: int, step: float, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Times, and what the end is off its path (nt,) if the efforts of a feedforward act as motors, from rest."""
    found = feedforward(system, [Servo("cantilever.tip", "y", path)], ["motor"], 1.0, step, order=order)
    result = flexmb.simulate(found.forward(), 1.0, method="radau", tolerance=tolerance, output_step=1e-3)
    return result.t, result.position("cantilever.tip")[:, 1] - path.over(np.array(result.t))[:, 0]


def _linear() -> list[Row | Plot]:
    """The table; the path is scaled down so that the shortening of the bent cantilever does not matter."""
    path, lines = smooth_step(0.0, 1.0, AMPLITUDE, derivatives=9), {}
    rows: list[Row | Plot] = []
    for stiffness, references in TABLE.items():
        for order, reference, step in zip((0, 2, 4), references, STEPS[stiffness], strict=True):
            t, off = tracking(cart(stiffness), path, order, step, 1e-11)
            ours = float(np.abs(off).max() / AMPLITUDE)
            unit = 10.0 ** (np.floor(np.log10(reference)) - 2) / reference  # of the last printed digit
            allowed = 0.02 if (stiffness, order) == (1600, 4) else unit
            rows.append(Row(CASE, f"k = {stiffness}, order {order}: largest error of the end", reference, "recomputed", ours, abs(ours / reference - 1), allowed))  # fmt: skip
            lines[f"k = {stiffness}, order {order}"] = (t[1:-1], np.maximum(np.abs(off[1:-1]) / AMPLITUDE, 1e-12))
    return [*rows, Plot("Error of the end of the cantilever", "time (s)", "error / stroke", lines, logarithmic="y")]


def _turning() -> list[Row | Plot]:
    """Ratios of the errors of two stiffnesses."""
    path, rows, lines = smooth_step(0.0, 1.0, HEIGHT, derivatives=9), [], {}
    soft, stiff = 400.0, 1600.0
    for order in (0, 2):
        errors = [float(np.abs(tracking(turning_beam(k), path, order, 1e-2, 1e-9)[1]).max()) for k in (soft, stiff)]
        rate, wanted = float(np.log(errors[0] / errors[1]) / np.log(stiff / soft)), order / 2 + 1
        rows.append(Row(CASE, f"turning beam, order {order}: power of the stiffness", wanted, "exact", rate, abs(rate - wanted), 0.1))  # fmt: skip
        lines[f"order {order}"] = (np.array([soft, stiff]), np.array(errors))
    plot = Plot("Turning beam: largest error of the end", "stiffness", "m", lines, logarithmic="xy")
    return [*rows, plot]


def run() -> list[Row | Plot]:
    """The table of the linear system, and the rates of the turning beam."""
    return [*_linear(), *_turning()]
