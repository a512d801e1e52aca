"""The map of small motions over a period of sampled controllers, and its modes.

Between samples the motions `X = [y, u, z]` of a linearised mechanism, whose element states `z` include the commands
that sampled controllers hold, follow `X' = A X`; a sample changes `z` at once, `X -> S X`. Over a period, which all
sample times divide, the motions just before a sample become `X -> (exp(A h) S) ... (exp(A h) S) X`. The motions
`exp(s t)` times a periodic function belong to its eigenvalues, the multipliers `exp(s T)`. A multiplier leaves the
frequency open by multiples of `1 / T`; it is chosen next to the mean rate at which displacements turn in the complex
plane, which is exact for vibrations that no sample changes.

Source: Astrom and Wittenmark, Computer-Controlled Systems (1997), chapter 2.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import expm

from fem.shown import shown
from flexmb.differences import ROUNDING
from flexmb.errors import ControllerError
from flexmb.kernels.equations.controllers import CONSTANT, FUNCTION
from flexmb.linear.first_order import PRODUCTS, FirstOrder, Ignorable, balance, drawn, split_off, with_ignorable
from flexmb.linear.input_output import Output, Outputs, input_output_model, with_outputs
from flexmb.linear.sampled.samples import Reading, Sample, inputs_over, sample_at
from flexmb.linear.vibration import Vibration, eigenvectors, ordered
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.control.controller import Controller
from flexmb.mechanism.features import few
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.scales import rate_at
from flexmb.results.measure import measure
from flexmb.results.result import result_of_states
from flexmb.simulation.sampling import SAME, sampled_controllers

MEASURED = 1e-9
"""Relative error of the derivatives of measures of the motion."""
OF_OTHERS = 1e-11
"""Rounding of the derivatives of measures by one displacement, relative to the largest by another."""
MOST = 1000
"""Largest number of samples in a period, and of parts of the shortest sample time in a sample time."""
PARTS = 8
"""Parts of the time between samples at which motions and errors are examined."""
VANISHED = 1e-13
"""Singular value of the map over a period, relative to the largest, of motions that end within it."""


@dataclass(frozen=True, eq=False)
class Instant:
    """An instant of the period: the controllers that are `due`, and the time until the next one."""

    due: tuple[Controller, ...]
    until_next: float


def instants(mechanism: Mechanism) -> list[Instant]:
    """The instants of samples within a period of all sampled controllers.

    Raises `ControllerError` when the sample times have no common period of up to `MOST` samples.
    """
    own = sampled_controllers(mechanism)
    times = [float(controller.sample_time or 0.0) for controller in own]
    base = min(times)
    ratios = [Fraction(t / base).limit_denominator(MOST) for t in times]
    parts = math.lcm(*(ratio.denominator for ratio in ratios))
    ticks = [int(ratio * parts) for ratio in ratios]
    period = math.lcm(*ticks)
    together = all(abs(float(r) * base - t) <= SAME * t for r, t in zip(ratios, times, strict=True))
    if not together or sum(period // n for n in ticks) > MOST:
        names = few([controller.name for controller in own])
        raise ControllerError(
            f"The sampled controllers {names} of {mechanism.name!r} have the sample times "
            f"{', '.join(f'{t:.6g}' for t in sorted({*times}))}, which have no common period of up to {MOST} samples; "
            "small motions need one. Take sample times that are simple multiples of the shortest."
        )
    places = sorted({k for n in ticks for k in range(0, period, n)})
    unit = base / parts
    return [
        Instant(tuple(c for c, n in zip(own, ticks, strict=True) if place % n == 0), unit * (after - place))
        for place, after in zip(places, [*places[1:], period], strict=True)
    ]


@dataclass(frozen=True, eq=False)
class SampledMotions:
    """The small motions `X = [y, u, z]` (n,) of a mechanism with sampled controllers.

    - `outputs`: with the equations between samples, `model`; what the controllers measure, by the inputs `f`.
    - `instants`, and the `samples` at them: `X -> maps X + by_input [f, f', f'', u]`, of the states `z` only.
    """

    outputs: Outputs
    instants: list[Instant]
    samples: list[Sample]

    @property
    def model(self) -> FirstOrder:
        """The equations between samples."""
        return self.outputs.model

    @property
    def period(self) -> float:
        """The period of all samples."""
        return sum(instant.until_next for instant in self.instants)

    @property
    def bent(self) -> tuple[str, ...]:
        """The names of controllers with a kink or a jump at the state."""
        return tuple(dict.fromkeys(name for sample in self.samples for name in sample.bent))

    @property
    def seen(self) -> tuple[np.ndarray, np.ndarray]:
        """The effects (m, nf) of the displacements on the samples, and bounds of their errors."""
        nf = self.model.sizes[0]
        return np.vstack([s.slopes[:, :nf] for s in self.samples]), np.vstack([s.error[:, :nf] for s in self.samples])

    @cached_property
    def A(self) -> np.ndarray:
        """The matrix (n, n) of the motions between samples."""
        return np.linalg.solve(self.model.E, self.model.F)

    def maps(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        """The map (n, n) of the motions by a sample, and a bound of its errors."""
        n, nz = len(self.model.F), self.model.sizes[2]
        S, error = np.eye(n), np.zeros((n, n))
        S[n - nz :], error[n - nz :] = sample.slopes[:, :n], sample.error[:, :n]
        return S, error

    def by_input(self, sample: Sample) -> np.ndarray:
        """The changes (n, k) of the motions by a sample, for units of `[f, f', f'', u]` (k,)."""
        n, nz = len(self.model.F), self.model.sizes[2]
        return np.vstack([np.zeros((n - nz, sample.slopes.shape[1] - n)), sample.slopes[:, n:]])

    @cached_property
    def flows(self) -> dict[float, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For each time between samples: the map over a part of it, over all of it, and a bound of its errors."""
        A, A_error = self.A, np.abs(np.linalg.inv(self.model.E)) @ self.model.F_error + ROUNDING * np.abs(self.A)
        units = _units(A, A_error)
        scaled = A * units / units[:, None]
        found = {}
        for h in {instant.until_next for instant in self.instants}:
            part = units[:, None] * expm(scaled * (h / PARTS)) / units
            powers = [np.linalg.matrix_power(part, k) for k in range(PARTS + 1)]
            weights = np.full(PARTS + 1, h / PARTS)
            weights[[0, -1]] *= 0.5
            error = sum(
                weight * np.abs(powers[PARTS - k]) @ A_error @ np.abs(powers[k]) for k, weight in enumerate(weights)
            )
            rounded = ROUNDING * max(1.0, float(np.linalg.norm(scaled, 1)) * h) * np.abs(powers[PARTS])
            found[h] = part, powers[PARTS], error + rounded
        return found

    def over_period(self) -> tuple[np.ndarray, np.ndarray]:
        """The map (n, n) over a period of the motions just before its first sample, and a bound of its errors."""
        n = len(self.model.F)
        M, error = np.eye(n), np.zeros((n, n))
        for instant, sample in zip(self.instants, self.samples, strict=True):
            S, S_error = self.maps(sample)
            _, flow, flow_error = self.flows[instant.until_next]
            error = np.abs(S) @ error + S_error @ np.abs(M)
            M = S @ M
            error = np.abs(flow) @ error + flow_error @ np.abs(M) + ROUNDING * np.abs(flow) @ np.abs(M)
            M = flow @ M
        return M, error

    def turning(self, X: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The mean rates (k,) at which the displacements of motions `X` (n, k) just before the first sample turn in
        the complex plane over a period. `sizes` (nf,): displacements of units of the coordinates."""
        nf, turned, sizes_of = len(sizes), np.zeros(X.shape[1]), np.zeros(X.shape[1])
        rates = self.A[:nf]
        for instant, sample in zip(self.instants, self.samples, strict=True):
            X = self.maps(sample)[0] @ X
            part = self.flows[instant.until_next][0]
            for _ in range(PARTS):
                X = part @ X
                y, rate = sizes[:, None] * X[:nf], sizes[:, None] * (rates @ X)
                turned += instant.until_next * np.einsum("ij,ij->j", y.conj(), rate).imag
                sizes_of += instant.until_next * np.einsum("ij,ij->j", y.conj(), y).real
        return np.divide(turned, sizes_of, out=np.zeros_like(turned), where=sizes_of > 0)


def _units(A: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Units (n,) of the motions in which the entries of `A` (n, n), but for those that are no more than their errors,
    are of comparable size."""
    return balance(np.where(np.abs(A) > error, A, 0.0))[1]


def sampled_motions(
    linear: Any, inputs: Iterable[str] = (), outputs: Mapping[str, Output] | None = None
) -> SampledMotions:
    """The sampled motions of a `LinearisedModel`, with what its `inputs` do to samples, and `outputs`.

    Raises `ControllerError` when the sample times have no common period, and `LawError` when a law fails.
    """
    mechanism, state, own = linear.mechanism, linear.state, sampled_controllers(linear.mechanism)
    within = instants(mechanism)
    states = state.element_states if len(state.element_states) else mechanism.initial_states
    sources = {
        (controller.name, k): signal.source
        for controller in own
        for k, signal in enumerate(controller.signals)
        if signal.sort not in (CONSTANT, FUNCTION)
    }
    wanted = dict(outputs or {})
    measured = wanted | {source: measure(source) for source in sources.values()}
    found = with_outputs(linear, input_output_model(linear, inputs, measured))
    rows = np.hstack([found.state, *found.imposed, found.direct])
    places = {name: k for k, name in enumerate(measured)}
    here = result_of_states(
        mechanism,
        np.array([state.t]),
        state.q[None],
        state.w[None],
        linear.wdot[None],
        linear.multipliers[None],
        angles=state.angles[None] if len(state.angles) else None,
        element_states=states[None],
    )
    n, nz = len(found.model.F), found.model.sizes[2]
    sizes, rate = np.ones(rows.shape[1]), rate_at(compiled(mechanism), state.w, linear.wdot)
    sizes[: n - nz] = np.concatenate([1.0 / linear.sizes, rate / linear.sizes])
    sizes[n - nz : n] = linear.state_sizes
    nf, readings = found.model.sizes[0], {}
    for controller in own:
        slopes = np.zeros((len(controller.signals), rows.shape[1]))
        for k in range(len(slopes)):
            if (controller.name, k) in sources:
                slopes[k] = rows[places[sources[controller.name, k]]]
        error = MEASURED * np.abs(slopes)
        largest = (np.abs(slopes[:, :nf]) * sizes[:nf]).max(axis=1, initial=0.0)
        error[:, :nf] += OF_OTHERS * largest[:, None] / sizes[:nf]
        readings[controller.name] = Reading(inputs_over(controller, here)[:, 0], slopes, error)
    by_due = {
        instant.due: sample_at(
            mechanism, instant.due, state.t, states, [readings[c.name] for c in instant.due], slice(n - nz, n), sizes
        )
        for instant in within
    }
    kept = [k for name, k in places.items() if name in wanted]
    shown = Outputs(found.model, found.state[kept], found.imposed[:, kept], found.direct[kept])
    return SampledMotions(shown, within, [by_due[instant.due] for instant in within])


@shown
@dataclass(frozen=True, eq=False)
class SampledVibration(Vibration):
    """Modes of small motions with sampled controllers: `exp(s t)` times a function with the `period` of the samples.

    `eigenvalues`, `shapes` (just before the samples) and `errors` as of `Vibration`; those of growth rates are bounds
    of what they may be larger.

    - `period`: of all samples; the sample time where there is one.
    - `ended`: the number of motions that end within a period, such as commands and readings that are held.
    """

    period: float = 0.0
    ended: int = 0

    @property
    def multipliers(self) -> np.ndarray:
        """Eigenvalues (k,) of the map over a period, `exp(s T)`; a motion decays if its magnitude is below one."""
        return np.exp(self.eigenvalues * self.period)

    def __str__(self) -> str:
        ended = f"; {self.ended} further motions end within it" if self.ended else ""
        size = float(np.abs(self.multipliers).max(initial=0.0))
        return (
            f"{super().__str__()}\nsamples repeat every {self.period:.6g} (time): the largest multiplier is {size:.6g}"
            f"{ended}; frequencies are known up to multiples of {1 / self.period:.6g}"
        )


def sampled_modes(motions: SampledMotions, apart: Ignorable, sizes: np.ndarray) -> SampledVibration:
    """All modes, those of ignorable coordinates by themselves; dense, O(n^3). `sizes` (nf,): displacements of units of
    the independent coordinates.

    Motions that end within a period are split off, one sample after the other, since their multipliers of zero are
    defective and would spoil others.
    """
    M, M_error = motions.over_period()
    n, k = len(M), apart.basis.shape[1]
    change, back = split_off(apart.basis, sizes, n)
    M, M_error = back @ M @ change, np.abs(back) @ (M_error + PRODUCTS * np.abs(M)) @ np.abs(change)
    carried, M, M_error = M[:k, k:], M[k:, k:], M_error[k:, k:]
    units = _units(M, M_error)
    scaled, error = M * units / units[:, None], M_error * units / units[:, None]
    Q, kept, times = np.eye(len(M)), scaled, 0
    while len(kept):
        U, s, _ = np.linalg.svd(kept)
        rank = int((s > VANISHED * s.max(initial=0.0)).sum())
        if rank == len(kept):
            break
        Q, kept, times = Q @ U[:, :rank], U[:, :rank].T @ kept @ U[:, :rank], times + 1
    mu, z, y = eigenvectors(kept)
    y, left = Q @ y, Q @ z
    for _ in range(times):
        left = scaled.T @ left / mu.conj()
    wrong = np.einsum("ij,ij->j", np.abs(left), error @ np.abs(y))
    wrong += ROUNDING * np.linalg.norm(scaled) * np.linalg.norm(left, axis=0) * np.linalg.norm(y, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = wrong / np.abs(np.einsum("ij,ij->j", left.conj(), y)) / np.abs(mu)
        values, period = np.log(mu), motions.period
    bound = np.where(np.isfinite(bound), bound, np.inf)
    upper = mu.imag >= -bound * np.abs(mu)  # and what rounding alone moves below the real axis
    mu, y, values, bound = mu[upper], y[:, upper], values[upper], bound[upper]
    own, own_shapes = np.linalg.eig(apart.W) if k else (np.zeros(0), np.zeros((0, 0)))
    X = change @ with_ignorable(expm(apart.W * period), own_shapes, carried, mu, y * units[:, None])
    turns = np.round((motions.turning(X[:, k:], sizes) * period - values.imag) / (2 * np.pi))
    values = (values + 2j * np.pi * turns) / period
    values = np.concatenate([own, values])
    bounds = np.concatenate([ROUNDING * np.abs(own), np.log1p(bound) / period])
    below = (values.imag < 0) & (np.arange(len(values)) >= k)
    values, X = np.where(below, values.conj(), values), np.where(below, X.conj(), X)
    found = ordered(values, drawn(motions.model, X), bounds, np.arange(len(values)) < k)
    return SampledVibration(
        found.eigenvalues,
        found.shapes,
        found.errors,
        ignorable=found.ignorable,
        period=period,
        ended=n - k - len(kept),
    )
