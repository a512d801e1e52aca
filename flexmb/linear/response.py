"""Responses of small motions to inputs: frequency responses, and state-space models for control design."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import ArrayLike

from fem.shown import shown
from flexmb.errors import LinearError
from flexmb.linear.input_output import Output, input_output_model
from flexmb.linear.linearise import LinearisedModel


@shown
@dataclass(frozen=True, eq=False)
class Response:
    """Complex amplitudes `values` (nf, no, ni) of the outputs for a unit of each input.

    `frequencies` (nf,): in cycles per unit of time.
    """

    frequencies: np.ndarray
    values: np.ndarray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def of(self, output: str, to: str) -> np.ndarray:
        """The complex amplitudes (nf,) of one output for one input."""
        return self.values[:, self.outputs.index(output), self.inputs.index(to)]

    def write_csv(self, path: str | Path) -> Path:
        """Write frequencies, magnitudes and phases (degrees) as a table; return the path."""
        columns, names = [self.frequencies], ["frequency"]
        for o, output in enumerate(self.outputs):
            for i, given in enumerate(self.inputs):
                columns += [np.abs(self.values[:, o, i]), np.degrees(np.unwrap(np.angle(self.values[:, o, i])))]
                names += [f"|{output} / {given}|", f"phase of {output} / {given}"]
        path = Path(path)
        np.savetxt(path, np.column_stack(columns), delimiter=",", header=",".join(names), comments="")
        return path

    def __str__(self) -> str:
        lines = [f"{len(self.frequencies)} frequencies, {self.frequencies[0]:.6g} to {self.frequencies[-1]:.6g}"]
        for o, output in enumerate(self.outputs):
            for i, given in enumerate(self.inputs):
                size = np.abs(self.values[:, o, i])
                top = int(size.argmax())
                lines.append(f"{output} / {given}: largest {size[top]:.4g} at {self.frequencies[top]:.6g}")
        return "\n".join(lines)


def frequency_response(
    linear: LinearisedModel, frequencies: ArrayLike, inputs: Iterable[str], outputs: Mapping[str, Output]
) -> Response:
    """Steady-state responses to harmonic inputs.

    - `frequencies` (nf,): in cycles per unit of time.
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
            raise LinearError(
                f"At the frequency {f[k]:.6g} the response is infinite: an undamped motion is in resonance."
            ) from None
        nu = B.shape[1]
        values[k][:, ~p.is_motion] = Z[:, :nf] @ y[:, :nu] + p.direct
        values[k][:, p.is_motion] = Z[:, :nf] @ y[:, nu:] + Z[:, nf:]
    return Response(f, values, p.inputs, p.outputs)


def state_space(
    linear: LinearisedModel, inputs: Iterable[str], outputs: Mapping[str, Output]
) -> "scipy.signal.StateSpace":
    """The small motions as `scipy.signal.StateSpace`; for python-control `control.ss(p.A, p.B, p.C, p.D)`.

    The states are the independent coordinates, the imposed motions, and the rates of both. The inputs have the given
    order: loads and efforts as in `frequency_response`, imposed motions by their ACCELERATION, since reactions depend
    on it and a state-space model cannot differentiate. `outputs`: functions of a result, by name. Raises `LinearError`
    for unknown inputs and invalid outputs.
    """
    p = input_output_model(linear, inputs, outputs)
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
