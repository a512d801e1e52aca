"""Impacts and contact forces on joint coordinates, subject to all other joint equations.

A coordinate is locked (bilateral: it keeps its value) or stopped (unilateral: its stop can push it and cannot pull it).
Both are rows `G` of a mechanism; the separation rate is the rate at which a coordinate leaves its stop. `W` is the
response of separation rates to impulses along the rows, subject to the joints.

- A lock is a plastic impact: the rate of the coordinate becomes zero. Persistent contacts can open in it.
- Stops follow Newton's law, `rate after >= -e (rate before)`, with equality if the contact transmits an impulse. A
  contact that is not closing takes part only if it is at rest, so that no impact creates energy: the loss is the sum of
  `-1/2 p (rate before + rate after)` over the rows, and all terms are positive.
- Contact forces and separation accelerations are non-negative and complementary: one of them is zero.

The order of events at one instant is described in flexmb/simulation/event_detection.py.
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
"""Response of a row, relative to the response without joints, below which the joints block it."""
SPEED_NOISE = 1e-11
"""Rounding error of a separation rate, relative to the rates of the bodies that it combines, and to those that impulses
in other rows give it."""
FORCE_NOISE = 1e-9
"""Separation acceleration, relative to the accelerations that it combines, below which a contact persists."""


class Impact(NamedTuple):
    """Velocities (nv,) after an impact, and the kinetic energy lost in each of its rows."""

    w: np.ndarray
    lost: dict[str, float]


class Force(NamedTuple):
    """The compressive force of a contact, its separation acceleration and the rounding error of the latter."""

    push: float
    rate: float
    noise: float


class Contacts:
    """The rows of some locked joints of a mechanism at one state.

    - `signs`: sign of the separation in each row, -1 for an upper stop; the signs of locks are arbitrary.
    - `driven`: the work of the drivers (functions of time) in the impacts so far, in which they keep their rates.
    """

    def __init__(self, mechanism: Mechanism, state: State, signs: Mapping[str, float]) -> None:
        self.names, self._state = list(signs), state
        self._equations = e = Equations(mechanism, state.q, state.angles, state.element_states)
        self._functions, self._none = mechanism.function_values(state.t), np.zeros(mechanism.joint_rows)
        self._rows = [mechanism.joint(name).rows[0] for name in self.names]
        self._sign = np.array([signs[name] for name in self.names])
        self._evaluate()
        jacobian = as_sparse(e.flat, e.workspace.G)[self._rows].toarray()
        self._G = self._sign[:, None] * jacobian
        everything = range(mechanism.joint_rows)
        loose = [g @ e.on_joints(g, self._none, everything)[0] for g in self._G]
        responses = [e.on_joints(g, self._none, self._rows) for g in self._G]
        self._X = np.array([x for x, _ in responses]).reshape(jacobian.shape).T
        functions = e.flat.row_function[: mechanism.joint_rows]
        drivers = functions >= 0
        rates = self._functions[functions[drivers], 1]
        self._work, self.driven = np.array([-(reaction[drivers] @ rates) for _, reaction in responses]), 0.0
        W = self._G @ self._X
        free = np.diagonal(W) > BLOCKED * np.array(loose)
        self._W = 0.5 * (W + W.T) * np.outer(free, free)
        rates, diagonal = np.abs(self._G) @ np.abs(state.w), np.diagonal(self._W)
        passed = np.abs(self._W) / np.where(diagonal > 0, diagonal, 1.0)  # by an impulse that stops one row, to others
        for _ in self.names:  # from row to row
            rates = np.maximum(rates, (passed * rates).max(axis=1, initial=0.0))
        self._noise = SPEED_NOISE * rates

    def _evaluate(self) -> None:
        still = np.zeros_like(self._state.w)
        self._equations.residual(self._functions, self._state.q, still, still, self._none)

    def separation(self, w: np.ndarray, name: str) -> float:
        """Separation rate of one row for velocities `w` (nv,); zero if the joints block it."""
        return float(self._separations(w)[self.names.index(name)])

    def led(self, w: np.ndarray, name: str) -> float:
        """Rate of a row that joints and drivers prescribe, so that no impulse can change it; zero for other rows."""
        k = self.names.index(name)
        rate = float(self._G[k] @ w)
        return rate if self._W[k, k] == 0 and abs(rate) > self._noise[k] else 0.0

    def noise(self, name: str) -> float:
        """Rounding error of the separation rate of a row."""
        return float(self._noise[self.names.index(name)])

    def response_of(self, names: Sequence[str]) -> dict[str, float]:
        """Change of the separation rate of each row per unit of impulse along it; zero if the joints block it."""
        return {name: float(self._W[k, k]) for k, name in enumerate(self.names) if name in names}

    def _separations(self, w: np.ndarray) -> np.ndarray:
        """Separation rates of all rows; zero for rows that the joints block."""
        return np.where(np.diagonal(self._W) > 0, self._G @ w, 0.0)

    def on_joints(self, w: np.ndarray, lasted: Sequence[str]) -> np.ndarray:
        """Velocities `w` (nv,) changed as little as possible so that they satisfy the joints and the contacts that have
        `lasted` have no separation rate."""
        e, responses = self._equations, self.response_of(lasted)
        others = [r for r, name in zip(self._rows, self.names, strict=True) if not responses.get(name)]
        self._evaluate()
        return w + e.on_joints(np.zeros_like(w), -e.broken_rates(self._functions, w), others)[0]

    def locked(self, w: np.ndarray, lock: str, held: Sequence[str], lasting: Sequence[str]) -> Impact:
        """The plastic impact of a `lock`, while coordinates `held` keep their values and `lasting` contacts can
        open."""
        names = [lock, *held, *lasting]
        return self._impact(w, names, np.zeros(len(names)), len(held) + 1)

    def bounced(self, w: np.ndarray, restitution: Mapping[str, float], held: Sequence[str]) -> Impact:
        """The impact of the contacts of `restitution`, which include persistent contacts with a coefficient of zero,
        while coordinates `held` keep their values."""
        names = [*held, *restitution]
        before = self._separations(w)[self._index(names)]
        wanted = np.array([*np.zeros(len(held)), *restitution.values()]) * np.maximum(-before, 0.0)
        return self._impact(w, names, wanted, len(held))

    def _impact(self, w: np.ndarray, names: Sequence[str], wanted: np.ndarray, bilateral: int) -> Impact:
        index = self._index(names)
        before = self._separations(w)[index]
        W = self._W[np.ix_(index, index)]
        found = complementary(W, before - wanted, np.arange(len(names)) < bilateral, self._noise[index])
        lost = -0.5 * found.push * (before + wanted + found.velocity)
        self.driven += float(self._work[index] @ found.push)
        return Impact(w + self._X[:, index] @ found.push, dict(zip(names, lost.tolist(), strict=True)))

    def forces(self, w: np.ndarray, held: Sequence[str], touching: Sequence[str]) -> dict[str, Force]:
        """Force and separation acceleration of each contact that is `touching`, while coordinates `held` keep their
        values."""
        names = [*held, *touching]
        index, e = self._index(names), self._equations
        q, still, reactions = self._state.q, np.zeros_like(w), self._none
        if any(friction.direction for friction in e.mechanism.frictions):  # as if all contacts persisted
            reactions = e.accelerations(self._functions, q, w)[1]
            reactions[self._rows] = 0.0
        wanted = e.wanted_accelerations(self._functions, q, w)
        unbalanced, _ = e.residual(self._functions, q, w, still, reactions)
        wdot = e.on_joints(-unbalanced, wanted, self._rows)[0]
        moving = self._sign * wanted[self._rows]
        free = (self._G @ wdot - moving) * (np.diagonal(self._W) > 0)
        noise = FORCE_NOISE * (np.abs(self._G) @ np.abs(wdot) + np.abs(moving))[index]
        found = complementary(self._W[np.ix_(index, index)], free[index], np.arange(len(names)) < len(held), noise)
        forces = zip(found.push.tolist(), found.velocity.tolist(), noise.tolist(), strict=True)
        return {name: Force(*force) for name, force in zip(names, forces, strict=True) if name in touching}

    def _index(self, names: Sequence[str]) -> list[int]:
        return [self.names.index(name) for name in names]
