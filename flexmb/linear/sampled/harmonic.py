"""Responses of small motions with sampled controllers to harmonic inputs.

Samples turn one frequency into many: the motion is `exp(i w t)` times a function with the period `T` of the samples.
Just before the first sample, `X` follows from `exp(i w T) X = (map over a period) X + (what the input does)`. The
response is the part of an output with the frequency of the input, its mean over a period of `exp(-i w t)` times it,
which a spectrum shows there.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.linalg import expm

from flexmb.linear.input_output import RESONANT, Output, require_restrained
from flexmb.linear.sampled.period import sampled_motions


def sampled_responses(
    linear: Any, inputs: Iterable[str], outputs: Mapping[str, Output], is_motion: np.ndarray, frequencies: np.ndarray
) -> np.ndarray:
    """Complex amplitudes (nf, no, ni) of the outputs of a `LinearisedModel` for units of the inputs.

    `is_motion` (ni,) marks imposed motions; the others are loads and efforts. Raises `LinearError` in
    resonance.
    """
    motions = sampled_motions(linear, inputs, outputs)
    found, model, A = motions.outputs, motions.model, motions.A
    forced = np.linalg.solve(model.E, np.hstack([*model.imposed, model.force]))
    n, count, nu = len(A), len(is_motion), model.force.shape[1]
    values = np.zeros((len(frequencies), len(found.state), count), dtype=complex)
    for k, s in enumerate(2j * np.pi * frequencies):
        unit = np.zeros((forced.shape[1], count), dtype=complex)  # of [f, f', f'', u], for units of the inputs
        unit[: forced.shape[1] - nu, is_motion] = np.vstack([s**p * np.eye(count - nu) for p in range(3)])
        unit[forced.shape[1] - nu :, ~is_motion] = np.eye(nu)
        push = forced @ unit
        flows = {h: _mean_flow(A - s * np.eye(n), push, h) for h in motions.flows}
        # [X, 1] after each part of the period, for [X, 1] before it, and the integral of X
        X, c = np.eye(n, dtype=complex), np.zeros((n, count), dtype=complex)
        total, total_c = np.zeros((n, n), dtype=complex), np.zeros((n, count), dtype=complex)
        for instant, sample in zip(motions.instants, motions.samples, strict=True):
            S = motions.maps(sample)[0]
            X, c = S @ X, S @ c + motions.by_input(sample) @ unit
            flow, flow_c, mean, mean_c = flows[instant.until_next]
            total, total_c = total + mean @ X, total_c + mean @ c + mean_c
            X, c = flow @ X, flow @ c + flow_c
        require_restrained(np.eye(n) - X, RESONANT * (np.eye(n) + np.abs(X)), frequencies[k])
        begin = np.linalg.solve(np.eye(n) - X, c)
        mean = (total @ begin + total_c) / motions.period
        direct = np.hstack([*found.imposed, found.direct])
        values[k] = found.state @ mean + direct @ unit
    return values


def _mean_flow(A: np.ndarray, push: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """For `X' = A X + push c` over the time `h`: the maps of `X` and `c` to `X` at the end, and to its integral."""
    n, count = push.shape
    whole = np.zeros((2 * n + count,) * 2, dtype=complex)
    whole[:n, n : 2 * n], whole[n : 2 * n, n : 2 * n], whole[n : 2 * n, 2 * n :] = np.eye(n), A, push
    found = expm(whole * h)
    end, summed = found[n : 2 * n], found[:n]
    return end[:, n : 2 * n], end[:, 2 * n :], summed[:, n : 2 * n], summed[:, 2 * n :]
