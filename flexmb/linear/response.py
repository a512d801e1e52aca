"""Responses of small motions to inputs: frequency responses, and state-space models for control design."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import ArrayLike

from fem.errors import unknown_name
from fem.shown import shown
from flexmb.errors import LinearError
from flexmb.linear.first_order import FirstOrder, first_order
from flexmb.linear.input_output import InputOutputModel, Output, dimensions_of, input_output_model
from flexmb.linear.linearise import LinearisedModel
from flexmb.linear.velocity_freedom import velocity_freedom
from flexmb.linear.vibration import Vibration
from flexmb.results.table import write_numbers

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


def with_peaks(frequencies: ArrayLike, vibration: Vibration) -> np.ndarray:
    """The ascending `frequencies` (nf,), and among them those of damped vibrations and of the flanks of their peaks.

    A peak is as wide as its frequency times twice its damping ratio, and frequencies that are farther apart step over
    it. Its flanks are at 1, 4, 16, ... damping ratios from it, up to the largest relative distance of `frequencies`.
    Vibrations that do not decay by more than the error of their eigenvalue are left out, because there the response is
    infinite. Raises `LinearError` when the frequencies do not ascend.
    """
    given = np.atleast_1d(np.asarray(frequencies, dtype=float))
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
    linear: LinearisedModel, frequencies: ArrayLike, inputs: Iterable[str], outputs: Mapping[str, Output]
) -> Response:
    """Steady-state responses to harmonic inputs.

    - `frequencies` (nf,): in cycles per unit of time; `with_peaks` adds those of lightly damped vibrations.
    - `inputs`: names of loads (a unit of their factor), motors and springs (a unit of force or torque), driven joints
      and `prescribe`d coordinates (a unit of motion); `input_names` lists them.
    - `outputs`: functions of a result, by name.

    Cost: O(nf^3) for each frequency.

    Raises `LinearError` when a frequency is negative or not finite, and where an undamped motion is in resonance.

    Source of the transfer from imposed motion to reaction: Waiboer (EUROMECH Colloquium 524, 2012).
    """
    f = np.atleast_1d(np.asarray(frequencies, dtype=float))
    if f.ndim != 1 or not len(f) or not (np.isfinite(f) & (f >= 0)).all():
        raise LinearError(f"frequencies must be finite and not negative; found {frequencies!r}.")
    p = input_output_model(linear, inputs, outputs)
    dimensions = dimensions_of(linear, p.inputs, outputs)
    if linear.is_first_order:
        return _of_first_order(linear, p, f, dimensions)
    nf = linear.degrees_of_freedom
    M, D, K = (p.T.T @ X for X in linear.along(p.moving))
    B = p.T[:, :nf].T @ p.force
    values = np.zeros((len(f), len(p.outputs), len(p.inputs)), dtype=complex)
    for k, s in enumerate(2j * np.pi * f):
        A = K + s * D + s * s * M
        Z = p.Z[0] + s * p.Z[1] + s * s * p.Z[2]
        try:
            y = np.linalg.solve(A[:nf, :nf], np.hstack([B, -A[:nf, nf:]]))
        except np.linalg.LinAlgError:
            raise _resonance(f[k]) from None
        nu = B.shape[1]
        values[k][:, ~p.is_motion] = Z[:, :nf] @ y[:, :nu] + p.direct
        values[k][:, p.is_motion] = Z[:, :nf] @ y[:, nu:] + Z[:, nf:]
    return Response(f, values, p.inputs, p.outputs, linear.mechanism.units, dimensions)


def _resonance(frequency: float) -> LinearError:
    return LinearError(
        f"At the frequency {frequency:.6g} the response is infinite: an undamped motion is in resonance."
    )


@dataclass(frozen=True, eq=False)
class _Outputs:
    """`out = state X + imposed[0] f + imposed[1] f' + imposed[2] f'' + direct u` for equations of first order."""

    model: FirstOrder
    state: np.ndarray
    imposed: np.ndarray
    direct: np.ndarray


def _with_outputs(linear: LinearisedModel, p: InputOutputModel) -> _Outputs:
    """Outputs in terms of `X = [y, u, z]` and the inputs, with `xi' = V [u, f'] + W xi` along the motion."""
    nf, n = linear.degrees_of_freedom, p.T.shape[1]
    freedom = velocity_freedom(linear.independent, p.moving, nf)
    model = first_order(linear, p.moving, freedom, nf, p.force)
    V, W, (_, nu, nz) = freedom.V, freedom.W, model.sizes
    size = len(model.F)
    xi = np.hstack([np.eye(n, nf), np.zeros((n, nu + nz))])
    f = np.eye(n)[:, nf:]
    fast = np.zeros((V.shape[1], size))  # [u, f'] for units of X
    fast[:nu, nf : nf + nu] = np.eye(nu)
    f_rate = np.eye(V.shape[1])[:, nu:]
    rates = np.linalg.solve(model.E, np.hstack([model.F, *model.imposed, model.force]))[nf : nf + nu]
    parts = np.split(rates, np.cumsum([size, n - nf, n - nf, n - nf]), axis=1)
    speed, speed_f, speed_rate = V @ fast + W @ xi, W @ f, V @ f_rate
    turned = freedom.W_rate + W @ W
    carried = freedom.V_rate + W @ V
    second = V[:, :nu] @ parts[0] + carried @ fast + turned @ xi
    second_f = V[:, :nu] @ parts[1] + turned @ f
    second_rate = V[:, :nu] @ parts[2] + carried @ f_rate
    second_acceleration = V[:, :nu] @ parts[3] + V @ f_rate
    Z0, Z1, Z2 = p.Z
    state = Z0 @ xi + Z1 @ speed + Z2 @ second
    state[:, nf + nu :] += p.by_state
    imposed = np.stack(
        [Z0 @ f + Z1 @ speed_f + Z2 @ second_f, Z1 @ speed_rate + Z2 @ second_rate, Z2 @ second_acceleration]
    )
    return _Outputs(model, state, imposed, p.direct + Z2 @ V[:, :nu] @ parts[4])


def _of_first_order(
    linear: LinearisedModel, p: InputOutputModel, f: np.ndarray, dimensions: Mapping[str, Mapping[str, str]]
) -> Response:
    found = _with_outputs(linear, p)
    model, values = found.model, np.zeros((len(f), len(p.outputs), len(p.inputs)), dtype=complex)
    for k, s in enumerate(2j * np.pi * f):
        powers = np.array([1.0, s, s * s])
        driven = np.tensordot(powers, model.imposed, 1)
        try:
            X = np.linalg.solve(s * model.E - model.F, np.hstack([model.force, driven]))
        except np.linalg.LinAlgError:
            raise _resonance(f[k]) from None
        nu = model.force.shape[1]
        values[k][:, ~p.is_motion] = found.state @ X[:, :nu] + found.direct
        values[k][:, p.is_motion] = found.state @ X[:, nu:] + np.tensordot(powers, found.imposed, 1)
    return Response(f, values, p.inputs, p.outputs, linear.mechanism.units, dimensions)


def _first_order_space(linear: LinearisedModel, p: InputOutputModel) -> "scipy.signal.StateSpace":
    found = _with_outputs(linear, p)
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


def state_space(
    linear: LinearisedModel, inputs: Iterable[str], outputs: Mapping[str, Output]
) -> "scipy.signal.StateSpace":
    """The small motions as `scipy.signal.StateSpace`; for python-control `control.ss(p.A, p.B, p.C, p.D)`.

    The states are the independent coordinates, the imposed motions, and the rates of both. The inputs have the given
    order: loads and efforts as in `frequency_response`, imposed motions by their ACCELERATION, since reactions depend
    on it and a state-space model cannot differentiate. `outputs`: functions of a result, by name. With states of force
    elements or rows for velocities, the states of the model are the independent coordinates, the independent
    velocities, the states of the elements, and the imposed motions with their rates. Raises `LinearError` for unknown
    inputs and invalid outputs.
    """
    p = input_output_model(linear, inputs, outputs)
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
