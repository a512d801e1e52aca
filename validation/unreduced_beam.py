"""The impact of a sphere on a beam by its whole finite element model: no reduction, no multibody program.

The mass and the stiffness are those of the mesh, of whose displacements the ones that are symmetric to both vertical planes are kept, which are all that a blow in the middle excites. The ends of the beam are held in the mean, the time is integrated by the trapezoidal rule, and the force of every step is the root of one scalar equation.
"""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.sparse.linalg import splu

from validation.struck_beam import Impact, StruckBeam


class UnreducedBeam:
    """The finite element model of a struck beam, and what is computed of it once."""

    def __init__(self, beam: StruckBeam) -> None:
        self.beam, model = beam, beam.part
        points = beam.points
        self.places = points - 0.5 * (points.min(axis=0) + points.max(axis=0))
        symmetric = self._symmetric()
        self.motions = symmetric @ self._held_ends(symmetric)
        self.M = (self.motions.T @ model.M @ self.motions).tocsc()
        self.K = (self.motions.T @ model.K @ self.motions).tocsc()

    def _symmetric(self) -> sp.csr_matrix:
        """Displacements (3 nodes, n) that are symmetric to the planes across and along the beam through its middle."""
        unit = np.ptp(self.places, axis=0) * 1e-6
        quarter = np.round(np.column_stack([np.abs(self.places[:, :2]), self.places[:, 2]]) / unit).astype(int)
        found, orbit = np.unique(quarter, axis=0, return_inverse=True)
        sign = np.sign(np.round(self.places / unit))
        sign[:, 2] = 1.0
        columns = (3 * orbit.reshape(-1, 1) + np.arange(3)).ravel()
        T = sp.csr_matrix((sign.ravel(), (np.arange(sign.size), columns)), shape=(sign.size, 3 * len(found)))
        return T[:, np.flatnonzero(abs(T).sum(axis=0))]

    def _held_ends(self, symmetric: sp.csr_matrix) -> sp.csr_matrix:
        """Those of the `symmetric` displacements (n, n - 1) whose mean over the ends of the beam is not downward or upward."""
        x, y, z = np.abs(self.places).T
        share = np.where(np.isclose(x, x.max()), 1.0, 0.0)
        share *= np.where(np.isclose(y, y.max()), 0.5, 1.0) * np.where(np.isclose(z, z.max()), 0.5, 1.0)
        mean = np.zeros(3 * len(share))
        mean[2::3] = share / share.sum()
        row = symmetric.T @ mean
        j = int(np.argmax(np.abs(row)))
        others = sp.identity(len(row) - 1, format="csr")
        return sp.vstack([others[:j], sp.csr_matrix(-np.delete(row, j) / row[j]), others[j:]], format="csr")

    @cached_property
    def excess(self) -> tuple[float, float]:
        """What the struck node yields statically beyond the regular part of the half-space's, and this regular part.

        An even polynomial of degree four is fitted to the response less that of a half-space, between 1.9 and 4.3 node
        spacings from it.
        """
        beam = self.beam
        top = np.flatnonzero(np.isclose(self.places[:, 2], self.places[:, 2].max()))
        sides = np.array([beam.length / beam.cells[0], beam.width / beam.cells[1]])
        spacing = (sides.sum() + np.hypot(*sides)) / 3.0
        away = np.linalg.norm(self.places[top, :2], axis=1)
        response = self.motions[3 * top + 2] @ splu(self.K).solve(self._at_blow)
        fitted = (away > 1.9 * spacing) & (away < 4.3 * spacing)
        x, y = (self.places[top[fitted], :2] / spacing).T ** 2
        half_space = (1.0 - beam.poisson**2) / (np.pi * beam.young * away[fitted])
        terms = np.column_stack([np.ones_like(x), x, y, x**2, x * y, y**2])
        regular = float(np.linalg.lstsq(terms, response[fitted] - half_space, rcond=None)[0][0])
        return float(response[away.argmin()]) - regular, regular

    @property
    def _at_blow(self) -> np.ndarray:
        """The row of the deflection of the struck node."""
        middle = np.argmin(np.linalg.norm(self.places - [0.0, 0.0, self.places[:, 2].max()], axis=1))
        return np.asarray(self.motions[3 * middle + 2].toarray()).ravel()

    def struck(self, speed: float) -> Impact:
        """The impact; deflections count upwards, and the force acts downwards."""
        beam, h, at = self.beam, self.beam.step, self._at_blow
        factor = splu((self.M + 0.25 * h**2 * self.K).tocsc())
        reply = factor.solve(at)
        yielding = 0.25 * h**2 * (at @ reply + 1.0 / beam.mass) - self.excess[0]
        times = np.arange(0.0, beam.end, h)
        axis = self.motions[3 * beam.axis + 2]
        u, v, a = np.zeros((3, len(at)))
        x, towards, force = 0.0, speed, np.zeros(len(times))  # of the sphere, downwards
        w = np.zeros((len(times), axis.shape[0]))
        for k in range(1, len(times)):
            ahead = u + h * v + 0.25 * h**2 * a
            inertia = -factor.solve(self.K @ ahead)
            there = ahead + 0.25 * h**2 * inertia
            ball = x + h * towards - 0.25 * h**2 * force[k - 1] / beam.mass
            gap = ball + at @ there
            if gap > 0.0:
                force[k] = _force(gap, yielding, beam.stiffness)
            was, a = a, inertia - force[k] * reply
            u, v = ahead + 0.25 * h**2 * a, v + 0.5 * h * (was + a)
            x = ball - 0.25 * h**2 * force[k] / beam.mass
            towards -= 0.5 * h * (force[k - 1] + force[k]) / beam.mass
            w[k] = axis @ u
        free = np.flatnonzero(force > 0.0)[-1] + 1
        return Impact(times, force, towards, beam.energies(times[free:], w[free:]))


def _force(gap: float, yielding: float, stiffness: float) -> float:
    """The force for which Hertz's approach and `yielding` times it are the `gap`."""

    def beyond(root: float) -> float:
        return stiffness ** (-2.0 / 3.0) * root**2 + yielding * root**3 - gap

    top = np.sqrt(gap) * stiffness ** (1.0 / 3.0)
    while beyond(top) < 0.0:
        top *= 1.1
    return float(brentq(beyond, 0.0, top, xtol=1e-12 * top)) ** 3
