"""A cantilever that turns steadily about an axis through its root: bending frequencies against the exact curve (Southwell).

Centrifugal tension stiffens the beam: for flapping (out of the plane of rotation) near rest omega^2 = 3.516^2 + 1.193 Omega^2 in
units of sqrt(EI / rho A) / L^2, and lagging (in the plane) has omega_lag^2 = omega_flap^2 - Omega^2 exactly. The body is one
reduced solid mesh. Source: Southwell and Gough (1921); Wright, Smith, Thresher, Wang, J. Appl. Mech. 49 (1982) 197-202.
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg as sl
from numpy.polynomial import Polynomial

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.bodies.body import Body
from flexmb.bodies.dynamics import inertia_force, mass_matrix
from flexmb.linear.eigenvalue_loci import equal
from validation.plot import Plot
from validation.row import Row

CASE = "rotating-cantilever"
LENGTH, SIDE = 1.0, 1 / 400  # slender: the curve is that of a beam that does not stretch
BEAM = fem.Material.isotropic(2.1e11, 0.0, 7850.0, name="steel without lateral contraction")
TOLERANCE = 1e-3
"""Of the frequencies."""
SPEEDS = (0.0, 1.0, 3.0, 6.0, 9.0, 12.0)
UNIT = float(np.sqrt(2.1e11 * SIDE**2 / 12 / 7850.0)) / LENGTH**2
"""sqrt(EI / rho A) / L^2"""


def exact_flap_frequency(speed: float, degree: int = 12) -> float:
    """First flapping frequency at rotation `speed`, both in units of sqrt(EI / rho A) / L^2.

    `w'''' - Omega^2 ((1 - x^2) w')' / 2 = omega^2 w`, clamped-free, by Ritz with the polynomials x^2 P_k(2 x - 1), to round-off.
    """
    shapes = [Polynomial([0, 0, 1]) * Polynomial(np.polynomial.legendre.leg2poly(np.eye(degree)[k]))(Polynomial([-1, 2])) for k in range(degree)]  # fmt: skip
    x, weights = np.polynomial.legendre.leggauss(2 * degree + 8)
    x, weights = (x + 1) / 2, weights / 2
    w, slope, curvature = (np.array([s.deriv(d)(x) if d else s(x) for s in shapes]) for d in (0, 1, 2))
    K = (curvature * weights) @ curvature.T + speed**2 * (slope * weights * (1 - x**2) / 2) @ slope.T
    return float(np.sqrt(sl.eigh(K, (w * weights) @ w.T, eigvals_only=True)[0]))


def lowest_frequencies(body: Body, rate: float) -> tuple[float, float]:
    """First angular frequencies along z (flap) and along y (lag) of `body`, its frame turning with `rate` about z; NaN: unstable.

    The frame must be attached to the root. Linear vibration about the steadily rotating, stretched state, by differences of the
    body's inertia forces (which are polynomials in the coordinates).
    """
    m = body.modes
    size = 1e-3 * LENGTH / body.deflection

    def force(eta: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        w = np.concatenate([[0, 0, 0, 0, 0, rate], velocity])
        return inertia_force(body, eta, w)[6:] + body.stiffness * eta

    def slopes(f: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> np.ndarray:
        return np.column_stack([(f(at + d) - f(at - d)) / (2 * s) for s, d in zip(size, np.diag(size), strict=True)])

    eta, still = np.zeros(m), np.zeros(m)
    for _ in range(20):
        eta = eta - np.linalg.solve(slopes(lambda e: force(e, still), eta), force(eta, still))
    K = slopes(lambda e: force(e, still), eta)
    G = slopes(lambda v: force(eta, v), still)
    M = mass_matrix(body, eta)[6:, 6:]
    A = np.block([[np.zeros((m, m)), np.eye(m)], [-np.linalg.solve(M, K), -np.linalg.solve(M, G)]])
    values, vectors = np.linalg.eig(A)
    tip = body.interface("tip").rows[:3] @ vectors[:m]
    found = []
    for direction in (2, 1):
        mine = moves_along(direction, tip, values)
        unstable = (values[mine].real > 1e-3 * np.sqrt(body.stiffness[0])).any()
        rates = values[mine].imag
        found.append(float("nan") if unstable else float(rates[rates > 0].min(initial=np.inf)))
    return found[0], found[1]


def moves_along(direction: int, tip: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Which modes (k,) move the tip (3, k) along an axis; of equal `values` those whose space has such a motion, in whatever basis it was found."""
    out = np.zeros(len(values), bool)
    for group in equal(values, TOLERANCE / 10):
        U, sizes, _ = np.linalg.svd(tip[:, group], full_matrices=False)
        space = U[:, sizes > 1e-3 * sizes.max()]
        out[group] = np.linalg.norm(space[direction]) > 0.9
    return out


def cantilever(modes: int = 16) -> Body:
    """The beam as one reduced solid (80 hex20 cells)."""
    mesh = block("hexahedron20", (LENGTH, SIDE, SIDE), (80, 1, 1))
    part = fem.Model(mesh, BEAM).with_interfaces(root="x0", tip=fem.Interface("x1", kind="average"))
    return flexmb.flexible_body(part, reduction.craig_bampton(part, modes=modes, reference_frame="root"), name="beam")


def run() -> list[Row | Plot]:
    """Speeds 0 to 12."""
    body = cantilever()
    rows: list[Row | Plot] = []
    found: dict[str, list[float]] = {}
    for speed in SPEEDS:
        exact = exact_flap_frequency(speed)
        flap, lag = (f / UNIT for f in lowest_frequencies(body, speed * UNIT))
        for name, ours, reference in (("flap", flap, exact), ("lag", lag, float(np.sqrt(exact**2 - speed**2)))):
            error = abs(ours / reference - 1)
            found.setdefault(name, []).append(ours)
            found.setdefault(f"reference {name}", []).append(reference)
            rows.append(Row(CASE, f"{name} frequency at speed {speed:g}", reference, "exact", ours, error, TOLERANCE))
    speeds = np.array(SPEEDS)
    lines = {name: (speeds, np.array(values)) for name, values in found.items()}
    return [*rows, Plot("First frequencies of the rotating cantilever", "speed", "frequency", lines)]
