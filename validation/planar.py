"""An independent program for planar mechanisms: point and angle coordinates, accelerations from the multipliers of Lagrange's equations, integrated by an 8th-order Runge-Kutta method.

It shares nothing with flexmb: what both say is right, unless both are wrong in the same way.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import solve_ivp

Forces = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


@dataclass
class Planar:
    """Bodies (mass, moment of inertia about the mass centre) with coordinates x, y, angle; pins between points fixed in two bodies, or a body and the ground (-1)."""

    bodies: list[tuple[float, float]]
    pins: list[tuple[int, np.ndarray, int, np.ndarray]] = field(default_factory=list)

    def pin(self, a: int, at_a: tuple[float, float], b: int, at_b: tuple[float, float]) -> None:
        """Points of two bodies coincide; of the ground, a place."""
        self.pins.append((a, np.array(at_a, float), b, np.array(at_b, float)))

    def run(self, q: np.ndarray, forces: Forces, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (nt, 3 nb) and velocities from rest at `q`, under `forces(t, q, qdot)` (3 nb,)."""
        n = len(q)
        inverse = np.concatenate([[1 / m, 1 / m, 1 / J] for m, J in self.bodies])

        def rate(t: float, y: np.ndarray) -> np.ndarray:
            q, v = y[:n], y[n:]
            G, gamma, value = self._constraints(q, v)
            gamma = gamma - 2 * STABLE * (G @ v) - STABLE**2 * value
            F = forces(t, q, v)
            A = (G * inverse) @ G.T
            multipliers = np.linalg.solve(A, (G * inverse) @ F - gamma)
            return np.concatenate([v, inverse * (F - G.T @ multipliers)])

        start = np.concatenate([q, np.zeros(n)])
        found = solve_ivp(rate, (times[0], times[-1]), start, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-12)
        return found.y[:n].T, found.y[n:].T

    def _constraints(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Jacobian, accelerations that the velocities ask for, and values of the pin equations."""
        G = np.zeros((2 * len(self.pins), len(q)))
        gamma, value = np.zeros(len(G)), np.zeros(len(G))
        for k, (a, at_a, b, at_b) in enumerate(self.pins):
            rows = slice(2 * k, 2 * k + 2)
            for sign, body, at in ((1.0, a, at_a), (-1.0, b, at_b)):
                if body < 0:
                    value[rows] += sign * at
                    continue
                s, angle = 3 * body, q[3 * body + 2]
                arm = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ at
                value[rows] += sign * (q[s : s + 2] + arm)
                G[rows, s : s + 2] += sign * np.eye(2)
                G[rows, s + 2] += sign * np.array([-arm[1], arm[0]])
                gamma[rows] += sign * v[s + 2] ** 2 * arm
        return G, gamma, value


STABLE = 20.0
"""Baumgarte's rate at which round-off in the constraints dies out."""
