"""Small motion of one reduced body against a rigid wall: a readable integration of unilateral rows with compliance.

With coordinates y (six rigid ones, mass-normalised, then elastic coordinates in mean axes), rows B of the nodes along the
normal, their gaps g0 + B y and the residual compliance C,

    y'' + diag(0, w^2) y = B^T lambda,      0 <= lambda  _|_  g0 + B y + C lambda >= 0

at the end of each step of generalised-alpha (Chung and Hulbert 1993).
"""

from dataclasses import dataclass

import numpy as np

from flexmb.bodies.invariants import rigid_mass
from flexmb.contact import Bounded, solve_contacts


@dataclass(frozen=True)
class Impact:
    """Histories: time, force, mean velocity along the normal, energy, all (nt,)."""

    t: np.ndarray
    force: np.ndarray
    velocity: np.ndarray
    energy: np.ndarray


def normal_rows(body, name, normal):
    """Rows (n, 6 + m) of the nodes of a surface along `normal`, their residual compliance (n, n), and the coordinates
    (6 + m) of a unit rigid displacement along it."""
    surface, inv = body.surfaces[name], body.invariants
    places = (3 * surface.places[:, None] + np.arange(3)).ravel()
    N = np.kron(np.eye(len(surface.nodes)), normal)
    C = N @ body.compliance.matrix[np.ix_(places, places)] @ N.T
    L = np.linalg.cholesky(rigid_mass(inv.mass, inv.s0, inv.J0))
    motion = np.hstack([np.tile(normal, (len(surface.points), 1)), np.cross(surface.points, normal)])
    rows = np.hstack([np.linalg.solve(L, motion.T).T, np.einsum("nkm,k->nm", surface.rows, normal)])
    unit = np.concatenate([L.T @ [*normal, 0.0, 0.0, 0.0], np.zeros(body.modes)])
    return rows, C, unit


def impact(rows, C, stiffness, gaps, unit, speed, duration, step, rho=0.9):
    """The motion that begins with the `speed` against `unit`, from `normal_rows`, and the `gaps` (n,)."""
    am, af = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 + af - am
    beta = 0.25 * (gamma + 0.5) ** 2
    w2 = np.concatenate([np.zeros(6), stiffness])
    c = step**2 * beta / (1 - am)
    D = 1 + c * (1 - af) * w2
    W = c * (1 - af) * (rows / D) @ rows.T + C
    y, v = np.zeros(len(w2)), -speed * unit
    a, acc, force = np.zeros(len(w2)), np.zeros(len(w2)), np.zeros(len(gaps))
    mass, found = unit @ unit, []
    for k in range(round(duration / step)):
        base = y + step * v + step**2 * (0.5 - beta) * a + c * (af * acc - am * a)
        free = gaps + rows @ (base / D)
        if free.min() >= 0:
            force = np.zeros(len(gaps))
        else:
            force = solve_contacts(W, free, [Bounded()] * len(gaps), scale=step * speed).impulses
        y = (base + c * (1 - af) * rows.T @ force) / D
        new = -w2 * y + rows.T @ force
        next_a = ((1 - af) * new + af * acc - am * a) / (1 - am)
        v = v + step * ((1 - gamma) * a + gamma * next_a)
        a, acc = next_a, new
        energy = 0.5 * (v @ v + (w2 * y) @ y + force @ C @ force)
        found.append(((k + 1) * step, force.sum(), v @ unit / mass, energy))
    return Impact(*np.array(found).T)
