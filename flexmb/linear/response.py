"""Responses of small motions to inputs: frequency responses, and state-space models for control design."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import ArrayLike

from fem.axes.limits import floats
from fem.errors import unknown_name
from fem.shown import shown
from flexmb.errors import LinearError
from flexmb.linear.input_output import (
    RESONANT,
    InputOutputModel,
    Outs,
    dimensions_of,
    input_output_model,
    named,
    require_restrained,
    with_outputs,
)
from flexmb.linear.linearise import LinearisedModel
from flexmb.linear.sampled.harmonic import sampled_responses
from flexmb.linear.vibration import Vibration
from flexmb.mechanism.features import few
from flexmb.results.table import write_numbers
from flexmb.simulation.sampling import sampled_controllers

FLANKS = 10
"""Frequencies on each side of a peak, each four times as far from it as the one before."""


@shown
@dataclass(frozen=True, eq=False)
class Response:
    """Complex amplitudes `values` (nf, no, ni) of the outputs for a unit of each input.

    `frequencies` (nf,): in cycles per unit of time. For plots: `units`, the names of the units of the model, and
    `dimensions`, what the "inputs" and the "outputs" measure, by their names, where it is known.
    """

    frequencies: np.ndarray
    values: np.ndarray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: str | None = None
    dimensions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of(self, output: str, to: str) -> np.ndarray:
        """The complex amplitudes (nf,) of one output for one input. Raises `LinearError` for an unknown name."""
        for what, name, known in (("output", output, self.outputs), ("input", to, self.inputs)):
            if name not in known:
                raise LinearError(unknown_name(what, name, known))
        return self.values[:, self.outputs.index(output), self.inputs.index(to)]

    def write_csv(self, path: str | Path) -> Path:
        """Write frequencies, magnitudes and phases (degrees) as a table; return the path.

        Raises `FileError` when the file cannot be written.
        """
        columns = {"frequency": self.frequencies}
        for o, output in enumerate(self.outputs):
            for i, given in enumerate(self.inputs):
                value = self.values[:, o, i]
                columns[f"|{output} / {given}|"] = np.abs(value)
                columns[f"phase of {output} / {given}"] = np.degrees(np.unwrap(np.angle(value)))
        return write_numbers(columns, path)

    def __str__(self) -> str:
        lines = [f"{len(self.frequencies)} frequencies, {self.frequencies[0]:.6g} to {self.frequencies[-1]:.6g}"]
        for o, output in enumerate(self.outputs):
            for i, given in enumerate(self.inputs):
                size = np.abs(self.values[:, o, i])
                top = int(size.argmax())
                lines.append(f"{output} / {given}: largest {size[top]:.4g} at {self.frequencies[top]:.6g}")
        return "\n".join(lines)


def _frequencies(given: ArrayLike) -> np.ndarray:
    """The frequencies (nf,) of one number or a list. Raises `LinearError` for anything else, and for negative ones."""
    f = np.atleast_1d(floats(given))
    if f.ndim != 1 or not len(f) or not (np.isfinite(f) & (f >= 0)).all():
        raise LinearError(f"frequencies must be finite and not negative; found {given!r}.")
    return f


def with_peaks(frequencies: ArrayLike, vibration: Vibration) -> np.ndarray:
    """The ascending `frequencies` (nf,), and among them those of damped vibrations and of the flanks of their peaks.

    A peak is as wide as its frequency times twice its damping ratio, and frequencies that are farther apart step over
    it. Its flanks are at 1, 4, 16, ... damping ratios from it, up to the largest relative distance of `frequencies`.
    Vibrations that do not decay by more than the error of their eigenvalue are left out, because there the response is
    infinite. Raises `LinearError` when the frequencies do not ascend, or one is negative or not finite.
    """
    given = _frequencies(frequencies)
    if not (np.diff(given) > 0).all():
        raise LinearError(f"frequencies must ascend; found {frequencies!r}.")
    widest = (np.diff(given) / given[1:]).max(initial=0.0)
    decaying = vibration.eigenvalues.real < -vibration.errors
    parts = [given]
    for at, ratio in zip(vibration.frequencies[decaying], vibration.damping_ratios[decaying], strict=True):
        flanks = ratio * 4.0 ** np.arange(FLANKS)
        flanks = flanks[flanks < widest]
        parts.append(at * np.concatenate([1 - flanks, [1.0], 1 + flanks]))
    added = np.unique(np.concatenate(parts))
    return added[(added >= given[0]) & (added <= given[-1])]


def frequency_response(
    linear: LinearisedModel, frequencies: ArrayLike, inputs: Iterable[str], outputs: Outs
) -> Response:
    """Steady-state responses to harmonic inputs.

    - `frequencies` (nf,): in cycles per unit of time; `with_peaks` adds those of lightly damped vibrations.
    - `inputs`: names of loads (a unit of their factor), motors and springs (a unit of force or torque), driven joints
      and `prescribe`d coordinates (a unit of motion); `input_names` lists them.
    - `outputs`: texts of measures, `["position:arm.end:z"]`, or functions of a result and measures by names of yours,
      `{"tip": "position:arm.end:z"}`.

    With sampled controllers the motion contains other frequencies, too; the response is the part of an output with the
    frequency of the input.

    Cost: O(nf^3) for each frequency.

    Raises `LinearError` when a frequency is negative or not finite, where an undamped motion is in resonance to within
    rounding, and at the frequency 0 where a motion is not restrained.

    Source of the transfer from imposed motion to reaction: Waiboer (EUROMECH Colloquium 524, 2012).
    """
    f = _frequencies(frequencies)
    names, functions = named(linear.mechanism, inputs, outputs)
    p = input_output_model(linear, names, functions)
    dimensions = dimensions_of(linear, names, functions)
    if linear.sampled is not None:
        values = sampled_responses(linear, names, functions, p.is_motion, f)
        return Response(f, values, p.inputs, p.outputs, linear.mechanism.units, dimensions)
    if linear.is_first_order:
        return _of_first_order(linear, p, f, dimensions)
    nf = linear.degrees_of_freedom
    along = linear.along(p.moving)
    M, D, K = (p.T.T @ X for X in along)
    heavy, damped, stiff = (RESONANT * np.abs(p.T[:, :nf]).T @ np.abs(X[:, :nf]) for X in along)
    B = p.T[:, :nf].T @ p.force
    if not f.all():
        require_restrained(K[:nf, :nf], np.abs(p.T[:, :nf]).T @ linear.errors_along(p.moving)[2][:, :nf])
    values = np.zeros((len(f), len(p.outputs), len(p.inputs)), dtype=complex)
    for k, s in enumerate(2j * np.pi * f):
        A = K + s * D + s * s * M
        Z = p.Z[0] + s * p.Z[1] + s * s * p.Z[2]
        if s:
            require_restrained(A[:nf, :nf], stiff + abs(s) * damped + abs(s) ** 2 * heavy, f[k])
        y = np.linalg.solve(A[:nf, :nf], np.hstack([B, -A[:nf, nf:]]))
        nu = B.shape[1]
        values[k][:, ~p.is_motion] = Z[:, :nf] @ y[:, :nu] + p.direct
        values[k][:, p.is_motion] = Z[:, :nf] @ y[:, nu:] + Z[:, nf:]
    return Response(f, values, p.inputs, p.outputs, linear.mechanism.units, dimensions)


def _of_first_order(
    linear: LinearisedModel, p: InputOutputModel, f: np.ndarray, dimensions: Mapping[str, Mapping[str, str]]
) -> Response:
    found = with_outputs(linear, p)
    model, values = found.model, np.zeros((len(f), len(p.outputs), len(p.inputs)), dtype=complex)
    if not f.all():
        require_restrained(model.F, model.F_error)
    for k, s in enumerate(2j * np.pi * f):
        powers = np.array([1.0, s, s * s])
        driven = np.tensordot(powers, model.imposed, 1)
        if s:
            require_restrained(s * model.E - model.F, RESONANT * (abs(s) * np.abs(model.E) + np.abs(model.F)), f[k])
        X = np.linalg.solve(s * model.E - model.F, np.hstack([model.force, driven]))
        nu = model.force.shape[1]
        values[k][:, ~p.is_motion] = found.state @ X[:, :nu] + found.direct
        values[k][:, p.is_motion] = found.state @ X[:, nu:] + np.tensordot(powers, found.imposed, 1)
    return Response(f, values, p.inputs, p.outputs, linear.mechanism.units, dimensions)


def _first_order_space(linear: LinearisedModel, p: InputOutputModel) -> "scipy.signal.StateSpace":
    found = with_outputs(linear, p)
    model, size = found.model, len(found.model.F)
    imposed = np.flatnonzero(p.is_motion)
    ni, inputs = len(imposed), len(p.inputs)
    rates = np.linalg.solve(model.E, np.hstack([model.F, *model.imposed, model.force]))
    by_x, by_f, by_rate, by_acceleration, by_force = np.split(rates, np.cumsum([size, ni, ni, ni]), axis=1)
    none, unit = np.zeros((ni, size)), np.eye(ni)
    A = np.block([[by_x, by_f, by_rate], [none, 0 * unit, unit], [none, 0 * unit, 0 * unit]])
    B, D = np.zeros((size + 2 * ni, inputs)), np.zeros((len(p.outputs), inputs))
    B[:size, ~p.is_motion], B[:size, imposed], B[size + ni :, imposed] = by_force, by_acceleration, unit
    D[:, ~p.is_motion], D[:, imposed] = found.direct, found.imposed[2]
    C = np.hstack([found.state, found.imposed[0], found.imposed[1]])
    return scipy.signal.StateSpace(A, B, C, D)


def state_space(linear: LinearisedModel, inputs: Iterable[str], outputs: Outs) -> "scipy.signal.StateSpace":
    """The small motions as `scipy.signal.StateSpace`; for python-control `control.ss(p.A, p.B, p.C, p.D)`.

    The states are the independent coordinates, the imposed motions, and the rates of both. The inputs have the given
    order: loads and efforts as in `frequency_response`, imposed motions by their ACCELERATION, since reactions depend
    on it and a state-space model cannot differentiate. `outputs` as in `frequency_response`. With states of force
    elements or rows for velocities, the states of the model are the independent coordinates, the independent
    velocities, the states of the elements, and the imposed motions with their rates. Raises `LinearError` for unknown
    inputs and invalid outputs, and for mechanisms with sampled controllers.
    """
    names, functions = named(linear.mechanism, inputs, outputs)
    if linear.sampled is not None:
        own = [controller.name for controller in sampled_controllers(linear.mechanism)]
        raise LinearError(
            f"{linear.mechanism.name!r} with the sampled controllers {few(own)} has no state-space model in continuous "
            "time. For a design, build the mechanism without them; LinearisedModel.period_matrix() is the map of the "
            "closed loop over a period, and frequency_response includes them."
        )
    p = input_output_model(linear, names, functions)
    if linear.is_first_order:
        return _first_order_space(linear, p)
    nf, n = linear.degrees_of_freedom, p.T.shape[1]
    M, D, K = (p.T.T @ X for X in linear.along(p.moving))
    accelerations = np.zeros((n, n + n + len(p.inputs)))  # of xi, for units of xi, xi' and inputs
    imposed = np.flatnonzero(p.is_motion)
    given = np.zeros((nf, len(p.inputs)))
    given[:, ~p.is_motion] = p.T[:, :nf].T @ p.force
    given[:, imposed] = -M[:nf, nf:]
    accelerations[:nf] = np.linalg.solve(M[:nf, :nf], np.hstack([-K[:nf], -D[:nf], given]))
    accelerations[nf + np.arange(n - nf), 2 * n + imposed] = 1.0
    A = np.vstack([np.eye(n, 2 * n, n), accelerations[:, : 2 * n]])
    B = np.vstack([np.zeros((n, len(p.inputs))), accelerations[:, 2 * n :]])
    C = np.hstack([p.Z[0], p.Z[1]]) + p.Z[2] @ accelerations[:, : 2 * n]
    E = p.Z[2] @ accelerations[:, 2 * n :]
    E[:, ~p.is_motion] += p.direct
    return scipy.signal.StateSpace(A, B, C, E)
