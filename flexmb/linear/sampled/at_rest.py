"""Sampled controllers at rest: their fixed point, where samples change neither states nor commands.

What a sample changes, over the sample time, stands for the rates of their states: it vanishes at an equilibrium
(flexmb/equations/stationary.py).
"""

from typing import Any

import numpy as np

from flexmb.equations.evaluation import Equations, angles_near
from flexmb.equations.snapshot import Snapshot
from flexmb.equations.state_tangent import SampledRates, StateTangent, derivative_at_zero
from flexmb.errors import ControllerError
from flexmb.kernels.calls import displace
from flexmb.linear.sampled.samples import Reading, inputs_over, sample_at
from flexmb.mechanism.control.controller import Controller
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.scales import force_units, rate_at
from flexmb.results.result import followed_angles, result_of_states
from flexmb.simulation.sampling import sample, sampled_controllers

SAME = 1e-12
"""Relative change of an input with a reaction up to which it does not depend on it."""


class SamplesAtRest:
    """The samples of the sampled controllers of a mechanism at the time `t`, in the search for an equilibrium or, with
    accelerations `wdot` (nv,), at another state."""

    def __init__(self, mechanism: Mechanism, t: float, wdot: np.ndarray | None = None) -> None:
        self._mechanism, self._t, self._given = mechanism, t, wdot
        self._controllers = sampled_controllers(mechanism)

    def after(self, e: Equations, q: np.ndarray, w: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """The states (nz,) of all elements after a sample of all controllers at those of `e`."""
        wdot, angles = self._wdot(w), angles_near(self._mechanism, q, e.angles)
        s = Snapshot(self._t, q, w, wdot, multipliers, np.zeros(4), np.zeros(5), angles, states=e.states.copy())
        return sample(self._mechanism, s, {}, everything=True)

    def _wdot(self, w: np.ndarray) -> np.ndarray:
        return np.zeros_like(w) if self._given is None else self._given

    def __call__(self, e: Equations, q: np.ndarray, w: np.ndarray, multipliers: np.ndarray) -> SampledRates:
        """The rates by samples, with their derivatives by places, velocities and states. Accelerations and reactions
        count in the usual changes of the states.

        Raises `ControllerError` when, in the search for an equilibrium, an input depends on a reaction, and `LawError`
        when a law fails.
        """
        nv, nz, states, flat = len(w), len(e.states), e.states.copy(), e.flat
        largest = float(np.abs(states).max(initial=0.0)) or 1.0
        rate, mass = rate_at(flat, w, np.zeros(nv)), sum(body.invariants.mass for body in self._mechanism.bodies)
        sizes = np.concatenate(
            [
                1.0 / flat.weight,
                rate / flat.weight,
                np.where(states != 0, np.abs(states), largest),
                rate**2 / flat.weight,
                mass * self._mechanism.length * rate**2 * force_units(flat),
            ]
        )
        units = np.diag(sizes)
        angles = angles_near(self._mechanism, q, e.angles)

        def beside(h: float, reactions: np.ndarray) -> Any:
            """The result of the state, and of those beside it by the part `h` of each unit."""
            moves = h * np.vstack([np.zeros(len(sizes)), units])
            pulls = 2 * nv + nz
            there = np.array([q] * len(moves))
            for k, x in enumerate(moves[:, :nv]):
                displace(flat, q, x, there[k])
            return result_of_states(
                self._mechanism,
                np.full(len(moves), self._t),
                there,
                w + moves[:, nv : 2 * nv],
                self._wdot(w) + moves[:, pulls : pulls + nv],
                reactions + moves[:, pulls + nv :],
                angles=followed_angles(self._mechanism, there, angles),
                element_states=states + moves[:, 2 * nv : pulls],
            )

        def inputs_beside(h: float) -> np.ndarray:
            seen = beside(h, multipliers)
            return np.vstack([inputs_over(controller, seen) for controller in self._controllers])

        here = inputs_beside(0.0)[:, 0]
        slopes, wrong = derivative_at_zero(lambda h: inputs_beside(h)[:, 1:])
        readings, last = [], 0
        pulled = beside(0.0, multipliers + (np.abs(multipliers).max(initial=0.0) or 1.0))
        for controller in self._controllers:
            part = slice(last, last + len(controller.signals))
            last = part.stop
            if self._given is None:
                self._require_motion(controller, here[part], inputs_over(controller, pulled)[:, 0])
            readings.append(Reading(here[part], slopes[part] / sizes, wrong[part] / sizes))
        own = slice(2 * nv, 2 * nv + nz)
        found = sample_at(self._mechanism, self._controllers, self._t, states, readings, own, sizes)
        over = np.zeros(nz)
        for controller in self._controllers:
            over[self._mechanism.states_of(controller.name)] = 1.0 / (controller.sample_time or np.inf)
        kept = found.slopes.copy()
        kept[:, own] -= np.eye(nz)
        tangent, error = (
            StateTangent(x[:, nv : 2 * nv], x[:, :nv], x[:, own], np.zeros((nv, nz)))
            for x in (kept * over[:, None], found.error * over[:, None])
        )
        motion = np.delete(np.arange(len(sizes)), own)
        caused = np.where(over > 0, (np.abs(found.slopes[:, motion]) * sizes[motion]).max(axis=1, initial=0.0), 0.0)
        return SampledRates((self.after(e, q, w, multipliers) - states) * over, tangent, error, caused)

    def _require_motion(self, controller: Controller, values: np.ndarray, pulled: np.ndarray) -> None:
        """Raise `ControllerError` for inputs that reactions, such as those of `pulled` (ni,), change."""
        for signal, value, other in zip(controller.signals, values, pulled, strict=True):
            if abs(other - value) > SAME * max(abs(value), abs(other)):
                raise ControllerError(
                    f"An equilibrium of {self._mechanism.name!r} with the sampled controller {controller.name!r} is "
                    f"not searched for, since its input {signal.source!r} depends on reactions. Let it measure the "
                    "force of a spring in their place, or simulate until the motion has settled: "
                    "linearise(system, result.state(-1)) includes it."
                )
