"""Flexible bodies whose deformation is confined to a subspace of their elastic coordinates."""

from dataclasses import replace

import numpy as np
import scipy.linalg
from jaxtyping import Float

from flexmb.bodies.body import Body
from flexmb.bodies.surfaces import confined_compliance, transformed_surface
from reduction.second_order_modes import SecondOrderModes


def in_subspace(body: Body, T: Float[np.ndarray, "m k"]) -> Body:
    """The body with elastic coordinates z, `eta = T z`: its full nonlinear equations, confined to the span of `T` (m,
    k).

    The new coordinates are mass-orthonormal and diagonalise the stiffness, in ascending order of frequency. Of the
    damping matrix `T^T D T` only the diagonal is kept; the velocity matrix of a body is transformed in full.
    """
    return transformed(body, own_coordinates(body, T))


def transformed(body: Body, T: Float[np.ndarray, "m k"]) -> Body:
    """The body with elastic coordinates z, `eta = T z`, for orthonormal `T` (m, k); it keeps the diagonals of the
    stiffness and the damping matrix in these coordinates."""
    Psi = None if body.Psi is None else (body.Psi @ T).astype(body.Psi.dtype)
    compliance = body.compliance
    if compliance is not None:
        how = (body.surfaces, body.invariants, body.stiffness, T, body.name)
        compliance = confined_compliance(compliance, *how)
    return replace(
        body,
        invariants=body.invariants.transformed(T),
        stiffness=np.einsum("ai,a,ai->i", T, body.stiffness, T),
        damping=np.einsum("ai,a,ai->i", T, body.damping, T),
        velocity_matrix=None if body.velocity_matrix is None else _velocities(body.velocity_matrix, T),
        deflection=_deflection(Psi, body.deflection, T),
        interfaces={name: interface.transformed(T) for name, interface in body.interfaces.items()},
        Psi=Psi,
        quadratic=None if body.quadratic is None else _combined(body.quadratic, T),
        surfaces={
            name: transformed_surface(surface, T, *_combination(surface.pairs, T))
            for name, surface in body.surfaces.items()
        },
        compliance=compliance,
        validity=None
        if body.validity is None
        else replace(body.validity, rotation=body.validity.rotation @ T, strain=body.validity.strain @ T),
        beams=None if body.beams is None else body.beams.transformed(T),
        stress=None
        if body.stress is None
        else replace(body.stress, rows=(body.stress.rows @ T).astype(body.stress.rows.dtype)),
    )


def _velocities(C: np.ndarray, T: np.ndarray) -> np.ndarray:
    """A velocity matrix for other elastic coordinates."""
    W = scipy.linalg.block_diag(np.eye(6), T)
    return np.asarray(W.T @ C @ W)


def own_coordinates(body: Body, T: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
    """Mass-orthonormal coordinates of the span of `T` that diagonalise the stiffness, the softest first; those of T
    itself if it already does."""
    k = T.shape[1]
    if not np.allclose(T.T @ T, np.eye(k), rtol=0, atol=1e-14):
        T = np.linalg.qr(T)[0]
    stiffness = T.T @ (body.stiffness[:, None] * T)
    off = np.abs(stiffness - np.diag(np.diag(stiffness))).max(initial=0.0)
    if off <= 1e-13 * np.abs(stiffness).max(initial=0.0):
        return np.asarray(T[:, np.argsort(np.diag(stiffness), kind="stable")])
    return np.asarray(T @ scipy.linalg.eigh(stiffness)[1])


def _deflection(Psi: np.ndarray | None, before: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Largest nodal displacement per unit of each new coordinate; without a mesh, an estimate from the old
    coordinates."""
    if Psi is None:
        return np.asarray(np.sqrt((before**2) @ T**2))
    return np.asarray(np.sqrt((Psi.reshape(-1, 3, T.shape[1]) ** 2).sum(axis=1)).max(axis=0), dtype=float)


def _combined(quadratic: SecondOrderModes, T: np.ndarray) -> SecondOrderModes:
    """The same second-order field in the new coordinates."""
    pairs, weight = _combination(quadratic.pairs, T)
    return SecondOrderModes(pairs, lambda: (quadratic.shapes @ weight).astype(np.float32))


def _combination(before: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs (q, 2) of new coordinates, and the weights (p, q) of the shapes of the old ones in theirs."""
    i, j = before.T
    pairs = np.column_stack(np.triu_indices(T.shape[1]))
    a, b = pairs.T
    weight = 0.5 * (T[i][:, a] * T[j][:, b] + T[j][:, a] * T[i][:, b])  # weight of pair (i, j) in (a, b)
    weight *= np.where(i == j, 1.0, 2.0)[:, None]
    kept = np.abs(weight).max(axis=0, initial=0.0) > 0
    return pairs[kept], weight[:, kept]
