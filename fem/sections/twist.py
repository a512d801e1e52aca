"""The twist of a beam between its nodes: linear where sections warp freely (Saint-Venant), or with warping that
neighbours resist (Vlasov).

A section that turns by theta(x) about its shear centre warps by `omega(y, z) theta'(x)` along the beam. The strain
energy per length is `G J theta'^2 / 2 + E I_w theta''^2 / 2`, I_w the integral of omega^2. Without loads between the
nodes `E I_w theta'''' = G J theta''`, whose solutions are 1, x, and two functions that decay from the ends with
`k^2 = G J / (E I_w)`: the interpolation has them, so that static solutions are exact for any length. The rate of twist
at the nodes, `phi = theta'`, is their seventh dof.
Source: Vlasov, Thin-Walled Elastic Beams (1961), chapter 2.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.beam import Beam

_SHORT = 5.0
"""Length times decay above which the solutions are taken as exponentials from both ends."""
_SERIES = 1.0 / np.cumprod(np.arange(1.0, 24.0))[2::2]
"""1/3!, 1/5!, 1/7!, ..."""


@dataclass(frozen=True, eq=False)
class Twist:
    """The twist at places along beams over [theta_1, theta_2], and over [theta_1, theta_2, phi_1, phi_2] with warping.

    - `value`, `rate`, `change` (e, q, d): the twist and its first and second derivative along the beam;
    - `torque` (e, d), constant; `bimoments` (e, 2, d): `E I_w theta''` at both ends.
    """

    value: np.ndarray
    rate: np.ndarray
    change: np.ndarray
    torque: np.ndarray
    bimoments: np.ndarray

    @staticmethod
    def of(beam: Beam, length: Float[np.ndarray, " e"], xi: Float[np.ndarray, " q"]) -> "Twist":
        """The twist of beams of some length at places from 0 to 1."""
        E, G = beam.moduli
        stiff, L = G * beam.section.J, length[:, None, None]
        if beam.torsion == "saint-venant":
            value = np.broadcast_to(np.column_stack([1 - xi, xi]), (len(length), len(xi), 2))
            rate = np.array([-1.0, 1.0]) / L
            none = np.zeros((len(length), 2, 2))
            return Twist(value, np.broadcast_to(rate, value.shape), 0 * value, stiff * rate[:, 0], none)
        E_warping = E * beam.section.warping
        k = length * decay(beam)
        ends, here = (_solutions(k, places) for places in (np.array([0.0, 1.0]), xi))
        at_nodes = np.concatenate([ends[0], ends[1] / L], axis=1)  # theta_1, theta_2, phi_1, phi_2
        factors = np.linalg.inv(at_nodes)
        value, rate, change = (A @ factors / L**order for order, A in enumerate(here[:3]))
        torque = ends[3] @ factors * (E_warping / length**3)[:, None, None]
        return Twist(value, rate, change, torque[:, 0], E_warping * (ends[2] @ factors) / L**2)


def decay(beam: Beam) -> float:
    """`k = sqrt(G J / (E I_w))` of a section with a warping constant: held warping decays as `exp(-k x)`."""
    E, G = beam.moduli
    return float(np.sqrt(G * beam.section.J / (E * beam.section.warping)))


def _solutions(decay: np.ndarray, xi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Four solutions, their first and second derivatives to xi (e, q, 4), and `decay^2 f' - f'''` (e, 1, 4)."""
    values = np.zeros((4, len(decay), len(xi), 4))
    short = decay <= _SHORT
    values[:3, short], values[3, short, 0] = _smooth(decay[short, None], xi)
    values[:3, ~short], values[3, ~short, 0] = _decaying(decay[~short, None], xi)
    return values[0], values[1], values[2], values[3][:, :1]


def _smooth(k: np.ndarray, xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1, xi, `(cosh(k xi) - 1) / k^2` and `(sinh(k xi) - k xi) / k^3`: powers up to the third where k is small."""
    t, one = k * xi, np.ones_like(k * xi)
    half = np.where(t > 1e-4, np.sinh(t / 2) / np.where(t > 1e-4, t / 2, 1.0), 1 + t**2 / 24)
    slope = xi * np.where(t > 1e-4, np.sinh(t) / np.where(t > 1e-4, t, 1.0), 1 + t**2 / 6)
    square = xi**2 * half**2 / 2
    powers = t[..., None] ** (2 * np.arange(len(_SERIES)))
    cube = xi**3 * np.where(t > 1, (np.sinh(t) - t) / np.where(t > 1, t, 1.0) ** 3, powers @ _SERIES)
    zero = 0 * one
    f = np.stack([one, xi * one, square, cube], axis=-1)
    df = np.stack([zero, one, slope, square], axis=-1)
    ddf = np.stack([zero, zero, np.cosh(t), slope], axis=-1)
    torque = np.concatenate([0 * k, k**2, 0 * k, -np.ones_like(k)], axis=-1)
    return np.stack([f, df, ddf]), torque


def _decaying(k: np.ndarray, xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1, xi, `exp(-k xi) / k` and `exp(-k (1 - xi)) / k`."""
    first, last = np.exp(-k * xi), np.exp(-k * (1 - xi))
    one, zero = np.ones_like(first), np.zeros_like(first)
    f = np.stack([one, xi * one, first / k, last / k], axis=-1)
    df = np.stack([zero, one, -first, last], axis=-1)
    ddf = np.stack([zero, zero, k * first, k * last], axis=-1)
    torque = np.concatenate([0 * k, k**2, 0 * k, 0 * k], axis=-1)
    return np.stack([f, df, ddf]), torque
