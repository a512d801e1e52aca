"""Krylov and balanced truncation against pyMOR, on models small enough for it."""

import numpy as np
import pytest
import scipy.linalg as sl
from test_response import modal_of, part

import reduction
from reduction.build import reduction_context, size_spec
from reduction.error.inputs import resolve_inputs
from reduction.methods.balanced_truncation import position_factor

pytest.importorskip("pymor", reason="pyMOR is not installed")
from pymor.core.logger import set_log_levels
from pymor.models.iosys import SecondOrderModel
from pymor.reductors.interpolation import SOBHIReductor
from pymor.reductors.sobt import SOBTpvReductor

set_log_levels({"pymor": "ERROR"})
BAND, ALPHA, BETA, KEPT = (0, 2500), 300.0, 2e-5, 5


def scaled(model):
    """All elastic modes in time units of the first: eigenvalues, load rows, and the unit of frequency."""
    values, rows = modal_of(model)
    return values / values[0], rows, np.sqrt(values[0])


def test_balanced_truncation_is_pymors_position_velocity_balancing():
    model = part(("rigid", "rigid"), (3, 1, 1))
    context = reduction_context(model, size_spec(3, BAND, None, least=0), None, None)
    values, rows, unit = scaled(model)
    damping = ALPHA / unit + BETA * unit * values
    peer = SecondOrderModel.from_matrices(np.eye(len(values)), np.diag(damping), np.diag(values), rows.T, rows)
    theirs = peer.pvsv()
    while isinstance(theirs, tuple):
        theirs = theirs[0]
    Z, _ = position_factor(context, ALPHA, BETA)
    squares, turn = sl.eigh(Z.T @ (model.M @ Z))
    np.testing.assert_allclose(squares[::-1][:8] * unit**3, theirs[:8], rtol=1e-4)
    reduced = SOBTpvReductor(peer).reduce(KEPT)
    everything = reduction.modal(model, len(values)).Psi
    V = np.linalg.qr(everything.T @ (model.M @ (Z @ turn[:, ::-1][:, :KEPT])))[0]
    small = [V.T @ (diagonal[:, None] * V) for diagonal in (np.ones_like(values), damping, values)]
    for omega in (0.5, 1.0, 2.0, 3.0):
        s = 1j * omega
        ours = rows @ V @ np.linalg.solve(s**2 * small[0] + s * small[1] + small[2], V.T @ rows.T)
        full = peer.transfer_function.eval_tf(s)
        assert np.linalg.norm(ours - reduced.transfer_function.eval_tf(s)) < 1e-6 * np.linalg.norm(full)


@pytest.mark.parametrize("frequency", [300.0, 900.0])
def test_krylov_is_pymors_interpolation(frequency):
    model = part(("rigid", "rigid"), (3, 1, 1))
    load = resolve_inputs(model, None).loads[:, 1]
    basis = reduction.krylov(model, shifts=[frequency], moments=1, static=False, inputs=[load])
    values, rows, unit = scaled(model)
    b = rows[1][:, None]
    peer = SecondOrderModel.from_matrices(np.eye(len(values)), np.zeros((len(values),) * 2), np.diag(values), b, b.T)
    reduced = SOBHIReductor(peer).reduce(np.array([2j * np.pi * frequency / unit]), np.ones((1, 1)), np.ones((1, 1)))
    theirs = sl.eigvals(np.asarray(reduced.K.matrix), np.asarray(reduced.M.matrix))
    assert basis.frequencies[0] == pytest.approx(float(np.sqrt(np.abs(theirs[0]))) * unit / (2 * np.pi), rel=1e-8)
