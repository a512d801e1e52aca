"""Solid meshes of beams and the exact Euler-Bernoulli reference they are held against."""

import numpy as np
from fem.mesh import CellBlock, Mesh
from fem.mesh_shapes import block

import fem


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
    """Euler-Bernoulli cantilever in bending: frequencies and modal response to motion of its base.

    Blevins, Formulas for Natural Frequency and Mode Shape (1979), table 8-1.
    """

    def __init__(self, length: float, bending_stiffness: float, mass_per_length: float, modes: int = 8) -> None:
        from scipy.optimize import brentq

        self.length = length
        self.mass_per_length = mass_per_length
        roots = [
            brentq(lambda z: np.cos(z) + 1 / np.cosh(z), (k + 0.5) * np.pi - 0.5, (k + 0.5) * np.pi + 0.5)
            for k in range(modes)
        ]
        self.lam = np.array(roots)
        self.omega = self.lam**2 * np.sqrt(bending_stiffness / mass_per_length) / length**2
        self.sigma = (np.sinh(self.lam) - np.sin(self.lam)) / (np.cosh(self.lam) + np.cos(self.lam))

    def shape(self, xi: np.ndarray) -> np.ndarray:
        """Mode shapes (modes, n) at `xi = x / length`, with `int phi^2 dxi = 1`."""
        z = self.lam[:, None] * xi
        return np.cosh(z) - np.cos(z) - self.sigma[:, None] * (np.sinh(z) - np.sin(z))

    def participation(self) -> tuple[np.ndarray, np.ndarray]:
        """`int phi dxi` and `int phi xi dxi` of every mode (closed form)."""
        return 2 * self.sigma / self.lam, 2 / self.lam**2

    def relative_tip_motion(self, times: np.ndarray, base: tuple, rotation: tuple) -> np.ndarray:
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


def steel(density: float = 7850.0) -> "fem.Material":
    """Steel without lateral contraction effects in the reference: nu = 0.3 for the solid, SI units."""
    return fem.Material.isotropic(youngs_modulus=2.1e11, poissons_ratio=0.3, density=density, name="steel")
