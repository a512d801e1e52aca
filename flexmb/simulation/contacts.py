"""Impacts and contact forces on coordinates of joints, while all other joints hold. In which order events act at one instant: flexmb/simulation/event_detection.py.

A coordinate is locked (bilateral: it keeps its value) or stopped (unilateral: it can be pushed away from its stop, and not be pulled to it). Both are rows `G` of a mechanism; `separation` is
the rate with which a coordinate leaves its stop. With `W`, the response of separations to impulses along them while the joints hold,

- locks are plastic: the rate of the coordinate becomes zero, contacts that last can open and take no part of the rate;
- stops follow Newton's law, `separation after >= -e (separation before)`, with equality where the contact transmits an impulse. Because contacts that are not closing take part only when they
  rest, no impact creates energy: the loss is the sum of `-1/2 p (separation before + after)` over the rows, each term of which is positive;
- forces: accelerations of separation are positive or zero, forces are positive or zero, one of them is zero.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.simulation.unilateral import complementary

BLOCKED = 1e-10
"""Response of a row, relative to that without joints, below which the joints block it."""
SPEED_NOISE = 1e-11
"""Rate of separation, relative to the rates of the bodies that make it up, that is rounding."""
FORCE_NOISE = 1e-9
"""Acceleration of separation, relative to the accelerations that make it up, below which a contact stays."""


class Impact(NamedTuple):
    """Velocities (nv,) after an impact, and the kinetic energy that each of its rows lost."""

    w: np.ndarray
    lost: dict[str, float]


class Force(NamedTuple):
    """Of a contact: the force that pushes it apart, its acceleration of separation, and what of the latter is rounding."""

    push: float
    rate: float
    noise: float


class Contacts:
    """The rows of some locked joints of a mechanism, at one state.

    `signs`: of the separation in each row, -1 for a stop that ends the motion upwards; those of locks do not matter.
    """

    def __init__(self, mechanism: Mechanism, state: State, signs: Mapping[str, float]) -> None:
        self.names, self._state = list(signs), state
        self._equations = e = Equations(mechanism, state.q, state.angles)
        self._functions, self._none = mechanism.function_values(state.t), np.zeros(mechanism.joint_rows)
        self._rows = [mechanism.joint(name).rows[0] for name in self.names]
        self._sign = np.array([signs[name] for name in self.names])
        self._evaluate()
        jacobian = as_sparse(e.flat, e.workspace.G)[self._rows].toarray()
        self._G = self._sign[:, None] * jacobian
        everything = range(mechanism.joint_rows)
        loose = [g @ e.on_joints(g, self._none, everything)[0] for g in self._G]
        self._X = np.array([e.on_joints(g, self._none, self._rows)[0] for g in self._G]).reshape(jacobian.shape).T
        W = self._G @ self._X
        free = np.diagonal(W) > BLOCKED * np.array(loose)
        self._W = 0.5 * (W + W.T) * np.outer(free, free)
        self._noise = SPEED_NOISE * (np.abs(self._G) @ np.abs(state.w))

    def _evaluate(self) -> None:
        still = np.zeros_like(self._state.w)
        self._equations.residual(self._functions, self._state.q, still, still, self._none)

    def separation(self, w: np.ndarray, name: str) -> float:
        """Rate of one row."""
        return float(self._separations(w)[self.names.index(name)])

    def led(self, w: np.ndarray, name: str) -> float:
        """Rate of a row that no impulse can change, because joints and drivers lead it; zero for all others."""
        k = self.names.index(name)
        rate = float(self._G[k] @ w)
        return rate if self._W[k, k] == 0 and abs(rate) > self._noise[k] else 0.0

    def noise(self, name: str) -> float:
        """What of a rate of separation is rounding."""
        return float(self._noise[self.names.index(name)])

    def response_of(self, names: Sequence[str]) -> dict[str, float]:
        """Change of the rate of separation with an impulse along the same row; zero where the joints block it."""
        return {name: float(self._W[k, k]) for k, name in enumerate(self.names) if name in names}

    def _separations(self, w: np.ndarray) -> np.ndarray:
        """Rates of all rows; a row that the joints block has none."""
        return np.where(np.diagonal(self._W) > 0, self._G @ w, 0.0)

    def on_joints(self, w: np.ndarray, lasted: Sequence[str]) -> np.ndarray:
        """Velocities with the least change that makes them fulfil the joints; contacts that have `lasted` until now have no rate."""
        e, responses = self._equations, self.response_of(lasted)
        others = [r for r, name in zip(self._rows, self.names, strict=True) if not responses.get(name)]
        self._evaluate()
        return w + e.on_joints(np.zeros_like(w), -e.broken_rates(self._functions, w), others)[0]

    def locked(self, w: np.ndarray, lock: str, held: Sequence[str], lasting: Sequence[str]) -> Impact:
        """A coordinate stops; those `held` already keep their values, contacts that are `lasting` can open."""
        names = [lock, *held, *lasting]
        return self._impact(w, names, np.zeros(len(names)), len(held) + 1)

    def bounced(self, w: np.ndarray, restitution: Mapping[str, float], held: Sequence[str]) -> Impact:
        """Contacts meet, those of `restitution`; contacts that last are among them, with a separation of zero."""
        names = [*held, *restitution]
        before = self._separations(w)[self._index(names)]
        wanted = np.array([*np.zeros(len(held)), *restitution.values()]) * np.maximum(-before, 0.0)
        return self._impact(w, names, wanted, len(held))

    def _impact(self, w: np.ndarray, names: Sequence[str], wanted: np.ndarray, bilateral: int) -> Impact:
        index = self._index(names)
        before = self._separations(w)[index]
        W = self._W[np.ix_(index, index)]
        found = complementary(W, before - wanted, np.arange(len(names)) < bilateral)
        lost = -0.5 * found.push * (before + wanted + found.velocity)
        return Impact(w + self._X[:, index] @ found.push, dict(zip(names, lost.tolist(), strict=True)))

    def forces(self, w: np.ndarray, held: Sequence[str], touching: Sequence[str]) -> dict[str, Force]:
        """Of each contact that is `touching`, while `held` coordinates keep their values."""
        names = [*held, *touching]
        index, e = self._index(names), self._equations
        q, still = self._state.q, np.zeros_like(w)
        wanted = e.wanted_accelerations(self._functions, q, w)
        unbalanced, _ = e.residual(self._functions, q, w, still, self._none)
        wdot = e.on_joints(-unbalanced, wanted, self._rows)[0]
        moving = self._sign * wanted[self._rows]
        free = (self._G @ wdot - moving) * (np.diagonal(self._W) > 0)
        found = complementary(self._W[np.ix_(index, index)], free[index], np.arange(len(names)) < len(held))
        noise = FORCE_NOISE * (np.abs(self._G) @ np.abs(wdot) + np.abs(moving))[index]
        forces = zip(found.push.tolist(), found.velocity.tolist(), noise.tolist(), strict=True)
        return {name: Force(*force) for name, force in zip(names, forces, strict=True) if name in touching}

    def _index(self, names: Sequence[str]) -> list[int]:
        return [self.names.index(name) for name in names]
