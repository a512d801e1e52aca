"""Consistent unit systems, and the frames that an observer may choose."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation


@dataclass(frozen=True)
class Units:
    """How many units of length, mass and time make a metre, a kilogram and a second."""

    name: str
    length: float
    mass: float
    time: float

    def of(self, value, length=0.0, mass=0.0, time=0.0):
        """The number of a quantity of dimension `length^a mass^b time^c` that has the number `value` in SI."""
        return np.multiply(value, self.length**length * self.mass**mass * self.time**time)

    def si(self, value, length=0.0, mass=0.0, time=0.0):
        """The number in SI of a quantity that has the number `value` here."""
        return np.divide(value, self.length**length * self.mass**mass * self.time**time)


SI = Units("SI", 1.0, 1.0, 1.0)
SYSTEMS = (
    SI,
    Units("mm-t-s", 1e3, 1e-3, 1.0),
    Units("um-kg-us", 1e6, 1.0, 1e6),
    Units("inch-pound", 1 / 0.0254, 1 / 175.126835, 1.0),
    Units("km-kt-year", 1e-3, 1e-6, 1 / 3.15576e7),
)


@dataclass(frozen=True, eq=False)
class Frame:
    """The frame of another observer: `x' = rotation x + shift + boost t`, in SI."""

    rotation: np.ndarray
    shift: np.ndarray
    boost: np.ndarray

    @staticmethod
    def random(rng, boosted):
        """A frame turned at will, a few metres away, which moves when `boosted`."""
        turned = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
        return Frame(turned, rng.uniform(-3, 3, 3), rng.uniform(-2, 2, 3) if boosted else np.zeros(3))


HERE = Frame(np.eye(3), np.zeros(3), np.zeros(3))
