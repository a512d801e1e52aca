"""Small motion of one reduced body against a rigid wall: a readable integration of unilateral rows with compliance.

With coordinates y (rigid translation along the normal, then elastic coordinates), rows B of the nodes along the normal,
their gaps g0 + B y and the residual compliance C,

    y'' + diag(0, w^2) y = B^T lambda,      0 <= lambda  _|_  g0 + B y + C lambda >= 0

at the end of each step of generalised-alpha (Chung and Hulbert 1993).
"""

from dataclasses import dataclass

import numpy as np

from flexmb.contact import Bounded, solve_contacts


@dataclass(frozen=True)
class Impact:
    """Histories: time, force, mean velocity along the normal, energy, all (nt,)."""

    t: np.ndarray
    force: np.ndarray
    velocity: np.ndarray
    energy: np.ndarray


def normal_rows(body, name, normal):
    """Rows (n, 1 + m) of the nodes of a surface along `normal`, and their residual compliance (n, n)."""
    surface = body.surfaces[name]
    rows = np.einsum("nkm,k->nm", surface.rows, normal)
    places = (3 * surface.places[:, None] + np.arange(3)).ravel()
    N = np.kron(np.eye(len(surface.nodes)), normal)
    C = N @ body.compliance.matrix[np.ix_(places, places)] @ N.T
    rigid = np.full((len(rows), 1), 1 / np.sqrt(body.invariants.mass))  # mass-normalised, as the elastic coordinates
    return np.hstack([rigid, rows]), C


def impact(rows, C, stiffness, gaps, speed, mass, duration, step, rho=0.9):
    """The motion that begins with the approach `speed` and the `gaps` (n,)."""
    am, af = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 + af - am
    beta = 0.25 * (gamma + 0.5) ** 2
    w2 = np.concatenate([[0.0], stiffness])
    c = step**2 * beta / (1 - am)
    D = 1 + c * (1 - af) * w2
    W = c * (1 - af) * (rows / D) @ rows.T + C
    y, v = np.zeros(len(w2)), np.zeros(len(w2))
    v[0] = -speed * np.sqrt(mass)
    a, acc, force = np.zeros(len(w2)), np.zeros(len(w2)), np.zeros(len(gaps))
    found = []
    for k in range(round(duration / step)):
        base = y + step * v + step**2 * (0.5 - beta) * a + c * (af * acc - am * a)
        free = gaps + rows @ (base / D)
        if free.min() >= 0:
            force = np.zeros(len(gaps))
        else:
            force = solve_contacts(W, free, [Bounded()] * len(gaps), start=force, scale=step * speed).impulses
        y = (base + c * (1 - af) * rows.T @ force) / D
        new = -w2 * y + rows.T @ force
        next_a = ((1 - af) * new + af * acc - am * a) / (1 - am)
        v = v + step * ((1 - gamma) * a + gamma * next_a)
        a, acc = next_a, new
        energy = 0.5 * (v @ v + (w2 * y) @ y + force @ C @ force)
        found.append(((k + 1) * step, force.sum(), v[0] / np.sqrt(mass), energy))
    return Impact(*np.array(found).T)
