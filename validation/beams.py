"""Solid meshes of beams and the exact Euler-Bernoulli reference they are held against."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

import fem
from fem.mesh.mesh import CellBlock, Mesh
from fem.mesh.structured_meshes import block

Acceleration = Callable[[np.ndarray], np.ndarray]


def square_tube(length: float, outer: float, wall: float, divisions: int) -> Mesh:
    """A hollow square section along x as hex20, one cell through the wall, with face sets "x0" and "x1".

    Nodes of a 3 x 3 block of cells are moved to the wall lines and the middle column of cells is taken out.
    """
    mesh = block("hexahedron20", (length, 3.0, 3.0), (divisions, 3, 3))
    lines = np.array([-outer / 2, wall - outer / 2, outer / 2 - wall, outer / 2])
    points = mesh.points.copy()
    points[:, 1] = np.interp(points[:, 1] - points[:, 1].min(), [0, 1, 2, 3], lines)
    points[:, 2] = np.interp(points[:, 2] - points[:, 2].min(), [0, 1, 2, 3], lines)
    points[:, 0] -= points[:, 0].min()
    cells = mesh.cells[0].connectivity
    centre = np.abs(points[cells][:, :8, 1:].mean(axis=1)).max(axis=1)
    cells = cells[centre > outer / 2 - wall]
    used, inverse = np.unique(cells, return_inverse=True)
    points = points[used]
    ends = {name: np.flatnonzero(np.abs(points[:, 0] - x) < 1e-9 * length) for name, x in (("x0", 0.0), ("x1", length))}
    return Mesh(points, (CellBlock("hexahedron20", inverse.reshape(cells.shape)),), node_sets=ends, name="square tube")


class ClampedFreeBeam:
    """Cantilever in bending: frequencies and modal response to motion of its base.

    Euler-Bernoulli modes (Blevins, Formulas for Natural Frequency and Mode Shape (1979), table 8-1); the frequencies are
    corrected to first order for rotary inertia and shear, as Timoshenko's theory has them (Rayleigh's quotient).
    """

    def __init__(self, length: float, height: float, width: float, E: float, G: float, density: float) -> None:
        self.length = length
        modes = 8
        roots = [
            brentq(lambda z: np.cos(z) + 1 / np.cosh(z), (k + 0.5) * np.pi - 0.5, (k + 0.5) * np.pi + 0.5)
            for k in range(modes)
        ]
        self.lam = np.array(roots)
        self.sigma = (np.sinh(self.lam) - np.sin(self.lam)) / (np.cosh(self.lam) + np.cos(self.lam))
        area, inertia = width * height, width * height**3 / 12
        slender = self.lam**2 * np.sqrt(E * inertia / (density * area)) / length**2
        xi = np.linspace(0.0, 1.0, 20001)
        d = [np.trapezoid(self.shape(xi, order) ** 2, xi, axis=1) for order in range(4)]
        rotary = inertia / area * d[1] / d[0] / length**2
        shear = E * inertia / (5 / 6 * G * area) * d[3] / d[2] / length**2
        self.omega = slender / np.sqrt(1 + rotary + shear)

    def shape(self, xi: np.ndarray, order: int = 0) -> np.ndarray:
        """Mode shapes (modes, n) at `xi = x / length`, with `int phi^2 dxi = 1`; or their derivative of an `order` in xi."""
        z = self.lam[:, None] * xi
        even, odd = (np.cosh(z), np.sinh(z)) if order % 2 == 0 else (np.sinh(z), np.cosh(z))
        c, s = ((np.cos(z), np.sin(z)), (-np.sin(z), np.cos(z)), (-np.cos(z), -np.sin(z)), (np.sin(z), -np.cos(z)))[
            order
        ]
        return self.lam[:, None] ** order * (even - c - self.sigma[:, None] * (odd - s))

    def participation(self) -> tuple[np.ndarray, np.ndarray]:
        """`int phi dxi` and `int phi xi dxi` of every mode (closed form)."""
        return 2 * self.sigma / self.lam, 2 / self.lam**2

    def relative_tip_motion(self, times: np.ndarray, base: Acceleration, rotation: Acceleration) -> np.ndarray:
        """Tip displacement relative to the moving base, from rest; `base`, `rotation` give accelerations at times.

        Each is the acceleration function of the base's transverse position and of its rotation. Duhamel's
        integral of every mode, by stepping the exact solution for piecewise linear acceleration.
        """
        p0, p1 = self.participation()
        load = -(p0[:, None] * base(times) + self.length * p1[:, None] * rotation(times))
        h = times[1] - times[0]
        w = self.omega
        c, s = np.cos(w * h), np.sin(w * h)
        y, v = np.zeros(len(w)), np.zeros(len(w))
        tip = np.empty(len(times))
        end = self.shape(np.array([1.0]))[:, 0]
        for k in range(len(times)):
            tip[k] = end @ y
            if k + 1 == len(times):
                break
            a, b = load[:, k], (load[:, k + 1] - load[:, k]) / h
            shift, slope = a / w**2, b / w**2
            y, v = (
                (y - shift) * c + (v - slope) / w * s + shift + slope * h,
                -(y - shift) * w * s + (v - slope) * c + slope,
            )
        return tip


def steel(poissons_ratio: float, density: float = 7850.0) -> "fem.Material":
    """Steel in SI units. Beam theory knows no lateral contraction: a solid without it (0) has exactly its clamp."""
    return fem.Material.isotropic(youngs_modulus=2.1e11, poissons_ratio=poissons_ratio, density=density, name="steel")
