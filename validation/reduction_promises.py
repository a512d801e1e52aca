"""What a reduction promises, on one part: a full basis is the full model, Craig-Bampton frequencies come from above and its static solution is exact, Krylov shapes match moments, the error over a band is
the measured one.

References come from dense matrices of the same part (a bracket of 1,000 dofs), without any of the reduction's own solvers.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import scipy.linalg as sl

import fem
import reduction
from fem.interface import rigid_motion
from fem.mesh.structured_meshes import block
from reduction.error.inputs import resolve_inputs
from reduction.solutions.statics import statics
from validation.plot import Plot
from validation.row import Row

CASE = "reduction-promises"
BAND = (0.0, 4000.0)


@cache
def bracket() -> fem.Model:
    """0.3 x 0.06 x 0.04 m of steel, one end rigid, the other averaging."""
    model = fem.Model(block("hexahedron20", (0.3, 0.06, 0.04), (8, 2, 1)), fem.Material.steel(), name="bracket")
    return model.with_interfaces(foot="x0", head=fem.Interface("x1", kind="average"))


@cache
def modes_of_the_whole() -> tuple[np.ndarray, np.ndarray]:
    """All elastic eigenvalues and shapes of the dense matrices, interfaces as they are."""
    model = bracket()
    foot = model.interfaces["foot"]
    keep = np.setdiff1d(np.arange(model.ndof), foot.dofs)
    T = np.zeros((model.ndof, 6 + len(keep)))  # the rigid interface moves as one
    T[foot.dofs, :6] = foot.rigid_body_modes(model)
    T[keep, 6 + np.arange(len(keep))] = 1.0
    values, shapes = sl.eigh(T.T @ (model.K @ T), T.T @ (model.M @ T))
    return values[6:], (T @ shapes)[:, 6:]


def balanced_loads() -> np.ndarray:
    """Wrenches at the interfaces that leave the free body at rest (ndof, 6)."""
    model = bracket()
    B = np.hstack([i.interface_matrix(model).toarray() for i in model.interfaces.values()])
    balance = rigid_motion(model.points, model.centre_of_mass).T @ B
    return np.asarray(B @ np.linalg.svd(balance)[2][6:].T)


def run() -> list[Row | Plot]:
    """Each promise."""
    model = bracket()
    values, shapes = modes_of_the_whole()
    exact = np.sqrt(values) / (2 * np.pi)
    rows: list[Row | Plot] = []
    full = reduction.modal(model, statics(model).free_modes_available)
    error = float(np.abs(full.frequencies / exact - 1).max())
    rows.append(Row(CASE, f"full basis ({full.n_modes} modes): frequencies of the dense model", 0.0, "recomputed", error, error, 1e-6))  # fmt: skip
    above, converged = [], []
    for kept in (2, 6, 12, 24):
        ratio = reduction.craig_bampton(model, kept).frequencies[:6] / exact[:6] - 1
        above.append(float(ratio.min()))
        converged.append(float(ratio.max()))
    rows.append(Row(CASE, "Craig-Bampton: lowest frequency error (never below zero)", 0.0, "exact", min(above), max(0.0, -min(above)), 1e-9))  # fmt: skip
    falls = max(b / a for a, b in pairwise(converged))
    rows.append(Row(CASE, "Craig-Bampton: its worst error falls with 2, 6, 12, 24 modes; largest ratio of one to the one before", 0.0, "exact", falls, falls, 1.0))  # fmt: skip
    F = balanced_loads()
    basis = reduction.craig_bampton(model, 3)
    ends = np.vstack(list(basis.interface_modes.values()))
    loads = basis.Psi.T @ F
    reduced = ends @ (loads / basis.eigenvalues[:, None])
    motions = np.vstack([np.asarray(i.interface_matrix(model).T @ shapes) for i in model.interfaces.values()])
    whole = motions @ ((shapes.T @ F) / values[:, None])
    R = np.vstack([np.asarray(i.interface_matrix(model).T @ rigid_motion(model.points, model.centre_of_mass)) for i in model.interfaces.values()])  # fmt: skip
    off = reduced - whole
    off = off - R @ np.linalg.lstsq(R, off, rcond=None)[0]  # up to a rigid motion
    error = float(np.abs(off).max() / np.abs(whole).max())
    rows.append(Row(CASE, "Craig-Bampton: interfaces under balanced loads at rest", 0.0, "recomputed", error, error, 1e-7))  # fmt: skip
    inputs = resolve_inputs(model, None).loads
    krylov = reduction.krylov(model, shifts=[0.0], moments=3)
    for moment in range(4):
        a = (inputs.T @ shapes) @ ((shapes.T @ inputs) / values[:, None] ** (1 + moment))
        b = (inputs.T @ krylov.Psi) @ ((krylov.Psi.T @ inputs) / krylov.eigenvalues[:, None] ** (1 + moment))
        error = float(np.abs(a - b).max() / np.abs(a).max())
        rows.append(Row(CASE, f"Krylov at frequency 0, three shapes an input: moment {moment}", 0.0, "recomputed", error, error, 1e-8))  # fmt: skip
    chosen = reduction.choose(model, band=BAND, tolerance=0.02)
    said = reduction.response_error(model, chosen, BAND)
    direct, small = (reduction.frequency_response(model, said.frequencies, basis=b) for b in (None, chosen))
    true = np.linalg.norm(direct.elastic - small.elastic, axis=(1, 2)) / direct.magnitude
    rows.append(Row(CASE, f"{chosen.method}, {chosen.n_modes} coordinates chosen for 2 %: true error over the band", 0.0, "recomputed", float(true.max()), float(true.max()), 0.02))  # fmt: skip
    lines = {"estimate": (said.frequencies, said.relative), "reference: direct solves": (said.frequencies, true)}
    return [*rows, Plot("Error of the chosen basis over the band", "frequency (Hz)", "relative error", lines, logarithmic="y")]  # fmt: skip
