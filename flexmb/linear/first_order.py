"""Small motions as equations of first order, for mechanisms with element states or rows for velocities.

With displacements `x = T xi`, `xi = [y, f]` (independent coordinates and imposed motions), independent velocities `u`,
`xi' = V u + W xi`, and the states `z` of force elements, the equations of small motions become

    E [y, u, z]' = F [y, u, z] + (terms of f, f', f'' and of applied forces) .

Coordinates that change neither accelerations nor states, such as the place and heading of a rolling vehicle and the
angles of its wheels, are *ignorable*. Their space is split off before eigenvalues are computed: its own eigenvalues
(zero, or plus and minus the rate of turning) would otherwise spoil those of the other motions, because zeros of chains
such as heading and lateral place are defective.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import matrix_balance, null_space, qr

from flexmb.differences import ROUNDING
from flexmb.linear.independent import Changing
from flexmb.linear.velocity_freedom import VelocityFreedom
from flexmb.linear.vibration import VECTORS, Vibration, eigenvectors, ordered

BEYOND = 10.0
"""Effect of an ignorable coordinate relative to the bound of the errors."""
SAME = 1e-9
"""Relative singular value below which motions are dependent."""
INVARIANT = 1e-8
"""Relative rate at which an ignorable coordinate may change others."""
PRODUCTS = 16 * ROUNDING
"""Relative rounding error of the products with other coordinates."""
ORTHOGONAL = 1e-6
"""Product of left and right vectors of unit size below which they do not belong to each other."""
SMALL = 1e-12
"""Relative size of displacements beside velocities below which a shape is that of its velocities."""


@dataclass(frozen=True, eq=False)
class FirstOrder:
    """`E X' = F X + input terms` for `X = [y, u, z]`, with bounds of the errors of the entries of `F`.

    - `E`, `F`, `F_error` (n, n); `imposed` (3, n, ni): terms of the imposed motions, their rates and accelerations;
      `force` (n, nu): of the applied forces.
    - `shapes` and `rates` (nv, n): the displacements `x` and their rates for units of `X`.
    - `sizes`: numbers of `y`, `u` and `z`.
    """

    E: np.ndarray
    F: np.ndarray
    F_error: np.ndarray
    imposed: np.ndarray
    force: np.ndarray
    shapes: np.ndarray
    rates: np.ndarray
    sizes: tuple[int, int, int]


def first_order(
    linear: Any, T: Changing, freedom: VelocityFreedom, count: int, force: np.ndarray | None = None
) -> FirstOrder:
    """The equations for displacements `T xi` (nv, n), of which the first `count` are independent.

    `linear`: a `LinearisedModel`; `force` (nv, nu): generalised forces of units of the inputs.
    """
    V, W, V_rate, W_rate = freedom.V, freedom.W, freedom.V_rate, freedom.W_rate
    first, rate, _ = T
    MT, DT, KT = linear.along(T)
    M_error, D_error, K_error = linear.errors_along(T)
    n, nu = first.shape[1], V.shape[1] - (first.shape[1] - count)
    left = (first[:, :count] @ V[:count, :nu]).T
    mass = left @ MT @ V
    by_u = left @ (MT @ (V_rate + W @ V) + DT @ V)
    by_xi = left @ (MT @ (W @ W + W_rate) + DT @ W + KT)
    size, v, x = np.abs(left), np.abs(V), np.abs(W)
    u_error = size @ (
        M_error @ (np.abs(V_rate) + x @ v) + D_error @ v + np.abs(MT) @ (freedom.W_error @ v + freedom.V_rate_error)
    )
    xi_error = size @ (
        M_error @ (x @ x + np.abs(W_rate))
        + D_error @ x
        + K_error
        + np.abs(MT) @ (freedom.W_error @ x + x @ freedom.W_error + freedom.W_rate_error)
        + np.abs(DT) @ freedom.W_error
    )
    nz = len(linear.states.by_state) if linear.states is not None else 0
    total = count + nu + nz
    at_y, at_u, at_z = slice(0, count), slice(count, count + nu), slice(count + nu, total)
    E, F, F_error = np.eye(total), np.zeros((total, total)), np.zeros((total, total))
    given = np.zeros((3, total, n - count))
    applied = np.zeros((total, 0 if force is None else force.shape[1]))
    E[at_u, at_u] = mass[:, :nu]
    F[at_y, at_y], F[at_y, at_u] = W[:count, :count], V[:count, :nu]
    F_error[at_y, at_y] = freedom.W_error[:count, :count]
    F[at_u, at_y], F[at_u, at_u] = -by_xi[:, :count], -by_u[:, :nu]
    F_error[at_u, at_y], F_error[at_u, at_u] = xi_error[:, :count], u_error[:, :nu]
    given[0, at_y], given[1, at_y] = W[:count, count:], V[:count, nu:]
    given[0, at_u], given[1, at_u], given[2, at_u] = -by_xi[:, count:], -by_u[:, nu:], -mass[:, nu:]
    if force is not None:
        applied[at_u] = left @ force
    if nz:
        s, errors = linear.states, linear.states_error
        speed, place = s.by_speed @ first, s.by_speed @ (first @ W + rate) + s.by_place @ first
        F[at_u, at_z], F[at_z, at_z] = -left @ s.force, s.by_state
        F[at_z, at_y], F[at_z, at_u] = place[:, :count], (speed @ V)[:, :nu]
        F_error[at_u, at_z], F_error[at_z, at_z] = size @ errors.force, errors.by_state
        F_error[at_z, at_u] = (errors.by_speed @ (np.abs(first) @ v))[:, :nu]
        own = errors.by_speed @ (np.abs(first) @ x + np.abs(rate)) + errors.by_place @ np.abs(first)
        own += np.abs(s.by_speed) @ (np.abs(first) @ freedom.W_error)
        F_error[at_z, at_y] = own[:, :count]
        given[0, at_z], given[1, at_z] = place[:, count:], (speed @ V)[:, nu:]
    shapes, rates = np.zeros((len(first), total)), np.zeros((len(first), total))
    shapes[:, at_y] = first[:, :count]
    rates[:, at_y], rates[:, at_u] = first @ W[:, :count] + rate[:, :count], first @ V[:, :nu]
    return FirstOrder(E, F, F_error + ROUNDING * np.abs(F), given, applied, shapes, rates, (count, nu, nz))


@dataclass(frozen=True, eq=False)
class Ignorable:
    """Coordinates that affect neither accelerations nor states: `basis` (nf, k) of their space in the independent
    coordinates, such that it is the identity in `places` (k,) of the coordinates of joints, and the matrix `W` (k, k)
    of their own rates."""

    basis: np.ndarray
    places: np.ndarray
    W: np.ndarray


def ignorable(
    model: FirstOrder,
    in_joints: np.ndarray,
    scale: np.ndarray,
    likely: np.ndarray,
    further: tuple[np.ndarray, np.ndarray] | None = None,
) -> Ignorable:
    """The ignorable coordinates.

    `in_joints` (ny, nf): independent coordinates in those of joints; `scale` (nf,): displacement of a unit of each.
    `likely` (nf, n): motions that are tried first, such as coordinates of joints and translations and rotations of the
    whole mechanism. They are known to rounding, whereas a space of small effects contains errors of the matrices, which
    matter near a limit of stability. `further`: effects (m, nf) of the coordinates, on samples of controllers, and
    bounds of their errors.
    """
    nf, ny = model.sizes[0], len(in_joints)
    effect, bound = model.F[nf:, :nf] / scale, model.F_error[nf:, :nf] / scale
    if further is not None:
        effect, bound = np.vstack([effect, further[0] / scale]), np.vstack([bound, further[1] / scale])
    tried = likely * scale[:, None]
    without = (np.abs(effect @ tried) <= BEYOND * (bound @ np.abs(tried))).all(axis=0)
    left, sizes, _ = np.linalg.svd(tried[:, without], full_matrices=True)
    rank = int((sizes > SAME * sizes.max(initial=0.0)).sum())
    space, rest = left[:, :rank], left[:, rank:]
    noise = np.linalg.norm(bound, axis=1)
    known = noise > 0
    if known.any() and rest.shape[1]:
        _, s, right = np.linalg.svd(effect[known] @ rest / noise[known, None])
        magnitude = np.concatenate([s, np.zeros(nf)])[: rest.shape[1]]
        space = np.hstack([space, rest @ right[magnitude <= BEYOND].T])
    W = scale[:, None] * model.F[:nf, :nf] / scale
    top = float(np.abs(W).max(initial=0.0))
    while space.shape[1] and top > 0:
        leaves = W @ space - space @ (space.T @ (W @ space))
        _, s, right = np.linalg.svd(leaves)
        magnitude = np.concatenate([s, np.zeros(space.shape[1])])[: space.shape[1]]
        kept = magnitude <= INVARIANT * top
        if kept.all():
            break
        space = space @ right[kept].T
    k = space.shape[1]
    if not k:
        return Ignorable(np.zeros((nf, 0)), np.zeros(0, int), np.zeros((0, 0)))
    basis = space / scale[:, None]
    seen = in_joints @ basis
    places = np.sort(qr(seen.T, mode="r", pivoting=True)[1][:k]) if ny else np.zeros(0, int)
    basis = basis @ np.linalg.inv(seen[places])
    own = np.linalg.lstsq(basis, model.F[:nf, :nf] @ basis, rcond=None)[0]
    own[np.abs(own) <= INVARIANT * np.abs(own).max(initial=0.0)] = 0.0
    own[np.abs(own) <= INVARIANT * top * np.abs(in_joints).max(initial=1.0)] = 0.0
    return Ignorable(basis, places, own)


def first_order_modes(model: FirstOrder, apart: Ignorable, scale: np.ndarray) -> Vibration:
    """All modes, those of ignorable coordinates by themselves; dense, O(n^3). `scale` as in `ignorable`."""
    n, k = len(model.F), apart.basis.shape[1]
    change, back = split_off(apart.basis, scale, n)
    E = back @ model.E @ change
    F = back @ model.F @ change
    F_error = np.abs(back) @ (model.F_error + PRODUCTS * np.abs(model.F)) @ np.abs(change)
    balanced, units = balance(np.linalg.solve(E[k:, k:], F[k:, k:]))
    noise = np.abs(np.linalg.inv(E[k:, k:])) @ F_error[k:, k:] * units / units[:, None]
    s, z, y = eigenvectors(balanced)
    together = _in_pairs(balanced, float(np.linalg.norm(noise)), s, z, y)
    vectors_error = ROUNDING * np.linalg.norm(balanced)
    z, y = z / units[:, None], y * units[:, None]
    z = np.linalg.solve(E[k:, k:].T, z)
    own = np.einsum("ij,ij->j", z.conj(), E[k:, k:] @ y)
    off = np.einsum("ij,ij->j", z.conj(), F[k:, k:] @ y) - s * own
    per_entry = F_error[k:, k:] + ROUNDING * np.abs(F[k:, k:])
    bound = np.einsum("ij,ij->j", np.abs(z), per_entry @ np.abs(y)) + ROUNDING * np.abs(s) * np.einsum(
        "ij,ij->j", np.abs(z), np.abs(E[k:, k:]) @ np.abs(y)
    )
    if len(together):
        changes = np.abs(z[:, together]).T @ per_entry @ np.abs(y[:, together])
        bound[together] = np.abs(np.linalg.eigvals(changes)).max()  # of matrices with entries up to these
    with np.errstate(divide="ignore", invalid="ignore"):
        step = off / own
        errors = np.where(bound == 0, 0.0, (bound + vectors_error) / np.abs(own))
    s = np.where(np.isfinite(step) & (np.abs(step) <= np.abs(s)), s + step, s)
    turning, own_shapes = np.linalg.eig(apart.W) if k else (np.zeros(0), np.zeros((0, 0)))
    whole = with_ignorable(apart.W, own_shapes, F[:k, k:], s, y)
    values = np.concatenate([turning, s])
    x = drawn(model, change @ whole)
    bounds = np.concatenate([ROUNDING * np.abs(turning), np.where(np.isfinite(errors), errors, np.inf)])
    return ordered(values, x, bounds, np.arange(len(values)) < k)


def _in_pairs(A: np.ndarray, noise: float, s: np.ndarray, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The indices of the eigenvalues `s` (n,) of `A` (n, n) that are zero but for rounding, if they have as many
    vectors but for the `noise` of `A`; these are changed, in `z` and `y` (n, n), to those of which each left one
    belongs to one right one.

    LAPACK finds the vectors of each of several equal eigenvalues by itself, and left and right ones may be all but
    orthogonal: the error of the eigenvalue is not known then.
    """
    size = np.linalg.norm(A)
    own = np.abs(np.einsum("ij,ij->j", z.conj(), y)) / np.linalg.norm(z, axis=0) / np.linalg.norm(y, axis=0)
    zero = np.flatnonzero(np.abs(s) <= VECTORS * size)
    if len(zero) < 2 or own[zero].min() > ORTHOGONAL:
        return np.zeros(0, int)
    U, sizes, V = np.linalg.svd(A)
    count = len(zero)
    if sizes[-count] > max(VECTORS * size, min(noise, SAME * size)):
        return np.zeros(0, int)
    left, right = U[:, -count:], V[-count:].T
    both = left.T @ right
    if np.linalg.svd(both, compute_uv=False).min() <= ORTHOGONAL:
        return np.zeros(0, int)
    s[zero], y[:, zero], z[:, zero] = 0.0, right, left @ np.linalg.inv(both).T
    return zero


def with_ignorable(
    own: np.ndarray, own_shapes: np.ndarray, carried: np.ndarray, values: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """The vectors (n, k + m) of the ignorable coordinates, `own_shapes` (k, k), then those of the other motions
    `y` (n - k, m) with the ignorable ones that they carry along.

    `own` (k, k): the matrix of the ignorable coordinates by themselves; `carried` (k, n - k): the effect of the others
    on them; `values` (m,): eigenvalues of the others.
    """
    k = len(own)
    upper = np.zeros((k, len(values)), complex)
    for j in range(len(values) if k else 0):
        upper[:, j] = np.linalg.lstsq(own - values[j] * np.eye(k), -carried @ y[:, j], rcond=1e-9)[0]
    alone = np.vstack([own_shapes, np.zeros((len(y), k))])
    return np.hstack([alone, np.vstack([upper, y])])


def split_off(basis: np.ndarray, scale: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The change (n, n) to coordinates of which the first are those of `basis` (nf, k), and its inverse.

    The others are orthogonal to them in the displacements `scale` (nf,). Rounding, which couples motions, is left out.
    """
    nf, k = basis.shape
    change, back = np.eye(n), np.eye(n)
    if k:
        own = basis * scale[:, None]
        rest = null_space(own.T)
        rest[np.abs(rest) <= ROUNDING] = 0.0
        change[:nf, :nf] = np.hstack([own, rest]) / scale[:, None]
        back[:nf, :nf] = np.vstack([np.linalg.pinv(own), rest.T]) * scale
    return change, back


def drawn(model: FirstOrder, X: np.ndarray) -> np.ndarray:
    """The shapes (nv, k) of motions `X` (n, k): their displacements, or velocities where these vanish beside them."""
    x, rates = model.shapes @ X, model.rates @ X
    still = np.abs(x).max(axis=0, initial=0.0) <= SMALL * np.abs(rates).max(axis=0, initial=0.0)
    x = np.where(still, rates, x)
    return np.asarray(np.where(np.abs(x).max(axis=0, initial=0.0) == 0, 1.0, x))


def balance(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matrix (n, n) in units (n,) in which its entries are of comparable size, `A * units / units[:, None]`, and
    these units."""
    with np.errstate(invalid="ignore"):  # SciPy also looks for permutations in units, which may be beyond integers
        balanced, (units, _) = matrix_balance(A, permute=False, separate=True)
    return balanced, units
