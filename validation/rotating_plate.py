"""A square plate clamped along one edge turns about an axis through the middle of that edge, normal to the plate: the first four vibrations out of its plane against plate theory.

The case of Yoo and Chung, "Dynamics of rectangular plates undergoing prescribed overall motion", J. Sound Vib. 239 (2001) 123-137. The reference is computed here: Kirchhoff's
plate with the membrane stresses of the spinning plate, both by Ritz with polynomials. Ours is one reduced body of hexahedra, of a hundredth of its length in thickness.
"""

from dataclasses import replace

import numpy as np
import scipy.linalg as sl
from numpy.polynomial import legendre

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.linear import linearise, steady_motion
from validation.plot import Plot
from validation.row import Row

CASE = "rotating-plate"
SIDE, THICKNESS, NU = 1.0, 0.01, 0.3
MATERIAL = fem.Material.isotropic(7e10, NU, 2700.0)
RIGIDITY = 7e10 * THICKNESS**3 / (12 * (1 - NU**2))
UNIT = np.sqrt(RIGIDITY / (2700.0 * THICKNESS)) / SIDE**2
SPEEDS = (0.0, 1.0, 2.0, 4.0)


def _along(power: int, count: int, x: np.ndarray) -> list[np.ndarray]:
    """Values and two derivatives (count, n) of `x^power` times Legendre's polynomials on (0, 1)."""
    found = []
    for k in range(count):
        p = np.polynomial.Polynomial(legendre.leg2poly(np.eye(count)[k]))(np.polynomial.Polynomial([-1, 2]))
        p = p * np.polynomial.Polynomial([0] * power + [1])
        found.append([p(x), p.deriv(1)(x), p.deriv(2)(x)])
    return [np.array([f[d] for f in found]) for d in range(3)]


def exact(speed: float, count: int = 10) -> np.ndarray:
    """First four frequencies, and `speed`, in units of sqrt(D / rho h) / a^2; x from the clamped edge, y across from -1/2 to 1/2."""
    points, weights = legendre.leggauss(2 * count + 6)
    points, weights = (points + 1) / 2, weights / 2
    W = np.kron(weights, weights)

    def products(power: int) -> dict[str, np.ndarray]:
        """Values and derivatives (count^2, n^2) at the points."""
        X, Y = _along(power, count, points), _along(0, count, points)
        orders = {"": (0, 0), "x": (1, 0), "y": (0, 1), "xx": (2, 0), "yy": (0, 2), "xy": (1, 1)}
        return {name: np.einsum("ia,jb->ijab", X[p], Y[q]).reshape(count**2, -1) for name, (p, q) in orders.items()}

    def form(a: np.ndarray, b: np.ndarray, by: np.ndarray | float = 1.0) -> np.ndarray:
        return np.asarray((a * (W * by)) @ b.T)

    # membrane, in units of E h / (1 - nu^2): u, v vanish at x = 0
    s, x, y = products(1), np.repeat(points, len(points)), np.tile(points, len(points)) - 0.5
    cross = NU * form(s["x"], s["y"]) + (1 - NU) / 2 * form(s["y"], s["x"])
    K = np.block([
        [form(s["x"], s["x"]) + (1 - NU) / 2 * form(s["y"], s["y"]), cross],
        [cross.T, form(s["y"], s["y"]) + (1 - NU) / 2 * form(s["x"], s["x"])],
    ])  # fmt: skip
    u, v = np.split(np.linalg.solve(K, np.concatenate([(s[""] * W) @ x, (s[""] * W) @ y])), 2)  # for unit rho h Omega^2
    exx, eyy, gxy = u @ s["x"], v @ s["y"], u @ s["y"] + v @ s["x"]
    nxx, nyy, nxy = exx + NU * eyy, eyy + NU * exx, (1 - NU) / 2 * gxy
    w = products(2)
    bending = form(w["xx"], w["xx"]) + form(w["yy"], w["yy"]) + NU * (form(w["xx"], w["yy"]) + form(w["yy"], w["xx"]))
    bending += 2 * (1 - NU) * form(w["xy"], w["xy"])
    stiffening = form(w["x"], w["x"], nxx) + form(w["y"], w["y"], nyy) + form(w["x"], w["y"], nxy) + form(w["y"], w["x"], nxy)  # fmt: skip
    return np.asarray(np.sqrt(sl.eigh(bending + speed**2 * stiffening, form(w[""], w[""]), eigvals_only=True)[:4]))


def plate() -> flexmb.Body:
    """20 x 20 hex20, narrower towards the edge x = 0, where it is clamped."""
    mesh = block("hexahedron20", (SIDE, SIDE, THICKNESS), (20, 20, 1))
    mesh = replace(mesh, points=mesh.points ** [2, 1, 1])
    model = fem.Model(mesh, MATERIAL).with_interfaces(root="x0")
    return flexmb.flexible_body(model, reduction.craig_bampton(model, modes=16, reference_frame="root"), name="plate")


def frequencies(body: flexmb.Body, speed: float) -> np.ndarray:
    """The first four, about steady rotation with `speed`, both in the reference's units."""
    system = flexmb.System(name=CASE)
    placed = system.add(body)
    system.revolute("axis", system.ground.at(body.interface("root").point), placed["root"], axis=(0, 0, 1))
    if speed:
        system.drive("axis", flexmb.time_functions.constant_speed(speed * UNIT))
        return np.asarray(linearise(steady_motion(system)).modes().frequencies[:4] * 2 * np.pi / UNIT)
    return np.asarray(2 * np.pi * body.frequencies[:4] / UNIT)


def compared(case: str, body: flexmb.Body, title: str) -> list[Row | Plot]:
    """The frequencies of a plate at four speeds beside the reference."""
    rows: list[Row | Plot] = []
    ours, reference = (np.array([f(speed) for speed in SPEEDS]) for f in (lambda s: frequencies(body, s), exact))
    for k, speed in enumerate(SPEEDS):
        for mode in range(4):
            a, b = float(reference[k, mode]), float(ours[k, mode])
            rows.append(Row(case, f"frequency {mode + 1} at speed {speed:g}", a, "recomputed", b, abs(b / a - 1), 5e-3))
    lines = {}
    for mode in range(4):
        lines[f"reference {mode + 1}"] = (np.array(SPEEDS), reference[:, mode])
        lines[f"frequency {mode + 1}"] = (np.array(SPEEDS), ours[:, mode])
    return [*rows, Plot(title, "speed of rotation (units of the plate)", "frequency (the same)", lines)]


def run() -> list[Row | Plot]:
    """Four speeds."""
    return compared(CASE, plate(), "Frequencies of the plate")
