"""Transposed derivatives of the residual: derivatives of the virtual power `y . residual` with respect to the motion.

The virtual power of the inertia of a body follows from the bilinear form `B(a, b) = a . M(eta) b` of its kinetic
energy. With `c = ad_w y` (rigid part), a prime for the derivative along an elastic direction, and gravity included in
the accelerations,

    Phi = B(y, wdot) + B(c, w) + B'(y, w; etadot) - B'(w, w; y_e) / 2 .

All derivatives of Phi therefore consist of products `M a`, gradients of `B(a, b)` with respect to eta, and the
derivatives of both along `etadot` and `y_e`, which are computed by differences.

Rows are functions `delta(q)` of the configuration. Their second derivatives are symmetric up to the commutator of the
frames in which they are taken: `x . d(G y) = (dG along y) x + G ad_x y`. A Jacobian `G` displaced along `y` gives all
of them.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import add, cross, load3, matrix, rotate_inv, scale, store, sub
from flexmb.kernels.base.data import SECOND_ORDER, CompiledModel, MarkerKinematics, make_marker_kinematics
from flexmb.kernels.base.dense import FAST, add_coupled, add_transposed, copy, solve6_all
from flexmb.kernels.base.exponential import commuted_back
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.equations.bodies import (
    add_elastic_inertia,
    inertia_at,
    lower_factor,
    products_of,
    rigid_block,
)
from flexmb.kernels.equations.displacement import displace
from flexmb.kernels.equations.residual import law_slopes
from flexmb.kernels.equations.rows import add_row_forces, add_wrench, add_wrenches, row_rates, rows_from
from flexmb.kernels.joint_coordinates.tree import marker_velocity

DIFFERENCE = 3e-8
"""Difference step relative to the length of the mechanism. The errors of the second derivatives by curvature and by
rounding are about 1e-8."""


class Scratch(NamedTuple):
    """Work arrays of `transposed`."""

    P: np.ndarray  # (SECOND_ORDER mmax,) products of the quadratic inertia with eta
    R: np.ndarray  # products with etadot
    Y: np.ndarray  # products with y
    A: np.ndarray  # products with etaddot
    moved: np.ndarray  # products with eta displaced along a direction
    forms: np.ndarray  # (SECOND_ORDER,) quadratic forms of eta
    eta: np.ndarray  # (mmax,)
    dJ: np.ndarray  # (6, mmax)
    Mre: np.ndarray  # (6, mmax)
    Mrr: np.ndarray  # (6, 6)
    Lrr: np.ndarray  # (6, 6)
    dJ_moved: np.ndarray  # (6, mmax)
    Lrr_moved: np.ndarray  # (6, 6)
    six: np.ndarray  # (12, 6)
    q: np.ndarray  # (nq,)
    G: np.ndarray  # (nt, 2, 6+mmax)
    values: np.ndarray  # (nr,)
    efforts: np.ndarray  # (nr,)
    rates: np.ndarray  # (nr,)
    forces: np.ndarray  # (nv,)
    moved_forces: np.ndarray  # (nv,)
    change: np.ndarray  # (nv,)
    body: np.ndarray  # (6+mmax,)


def make_scratch(flat: CompiledModel) -> tuple[Scratch, MarkerKinematics]:
    """Work arrays of `transposed`, and marker kinematics for displaced configurations."""
    nt, nr, mmax, nv = len(flat.term_row), len(flat.row_kind), flat.marker_rows.shape[2], int(flat.v_start[-1])
    products = SECOND_ORDER * mmax
    shapes = {
        "P": products, "R": products, "Y": products, "A": products, "moved": products, "forms": SECOND_ORDER,
        "eta": mmax, "dJ": (6, mmax), "Mre": (6, mmax), "Mrr": (6, 6), "Lrr": (6, 6), "dJ_moved": (6, mmax),
        "Lrr_moved": (6, 6), "six": (12, 6), "q": int(flat.q_start[-1]), "G": (nt, 2, 6 + mmax), "values": nr,
        "efforts": nr, "rates": nr, "forces": nv, "moved_forces": nv, "change": nv, "body": 6 + mmax,
    }  # fmt: skip
    return pointed(Scratch(**{name: np.zeros(shape) for name, shape in shapes.items()})), make_marker_kinematics(flat)


@njit(cache=True, fastmath=FAST)
def _momentum(second, m, Mrr, Mre, Lrr, rigid, elastic, carrier, p):
    """Momenta `p` (6,) of the velocities `rigid` (6,) and `elastic` (m,), and the rigid velocity `carrier` (6,) with
    these momenta."""
    for i in range(6):
        total = 0.0
        for k in range(6):
            total += Mrr[i, k] * rigid[k]
        p[0, i] = total
    add_coupled(Mre, m, 1.0, elastic, p[0])
    if second:
        copy(p[0], carrier[0])
        solve6_all(Lrr, carrier)
    else:
        copy(rigid, carrier[0])


@njit(cache=True)
def _moments(a, b, sign):
    """Coefficients of the first moment (3) and the inertia (6) in `sign a . M_rr b`."""
    v = add(cross(load3(a, 0), load3(b, 3)), cross(load3(b, 0), load3(a, 3)))
    x, y, z = load3(a, 3)
    p, q, r = load3(b, 3)
    return (
        scale(sign, v),
        scale(sign, (x * p, y * q, z * r)),
        scale(sign, (x * q + y * p, y * r + z * q, z * p + x * r)),
    )


@njit(cache=True, fastmath=FAST)
def _add_gradient(second, m, Mre, dJ, a, ua, Ra, b, ub, Rb, factor, out):
    """`out += factor dB(a, b)/deta` (m,), for velocities `a`, `b` (6,) with their carriers `ua`, `ub` and the products
    `Ra`, `Rb` of their elastic parts."""
    f, d, e = _moments(a, b, factor)
    u, v, p, q = load3(ua, 0), load3(ua, 3), load3(ub, 0), load3(ub, 3)
    if second:
        za, zb = sub(u, load3(a, 0)), sub(p, load3(b, 0))
        wa, wb = sub(v, load3(a, 3)), sub(q, load3(b, 3))
        g = add(cross(za, wb), cross(zb, wa))
        f = sub(f, scale(factor, g))
        d = sub(d, scale(factor, (wa[0] * wb[0], wa[1] * wb[1], wa[2] * wb[2])))
        e = sub(
            e,
            scale(
                factor, (wa[0] * wb[1] + wa[1] * wb[0], wa[1] * wb[2] + wa[2] * wb[1], wa[2] * wb[0] + wa[0] * wb[2])
            ),
        )
    for i in range(m):
        out[i] += (
            f[0] * Mre[0, i] + f[1] * Mre[1, i] + f[2] * Mre[2, i]
            + d[0] * dJ[0, i] + d[1] * dJ[1, i] + d[2] * dJ[2, i]
            + e[0] * dJ[3, i] + e[1] * dJ[4, i] + e[2] * dJ[5, i]
            + factor * (v[0] * Rb[6 * m + i] + v[1] * Rb[7 * m + i] + v[2] * Rb[8 * m + i])
            + factor * (q[0] * Ra[6 * m + i] + q[1] * Ra[7 * m + i] + q[2] * Ra[8 * m + i])
        )  # fmt: skip
    if second:
        for i in range(m):
            out[i] += factor * (
                u[0] * Rb[9 * m + i] + u[1] * Rb[10 * m + i] + u[2] * Rb[11 * m + i]
                + v[0] * (Rb[17 * m + i] - Rb[19 * m + i])
                + v[1] * (Rb[18 * m + i] - Rb[14 * m + i])
                + v[2] * (Rb[13 * m + i] - Rb[15 * m + i])
                + p[0] * Ra[9 * m + i] + p[1] * Ra[10 * m + i] + p[2] * Ra[11 * m + i]
                + q[0] * (Ra[17 * m + i] - Ra[19 * m + i])
                + q[1] * (Ra[18 * m + i] - Ra[14 * m + i])
                + q[2] * (Ra[13 * m + i] - Ra[15 * m + i])
            )  # fmt: skip


@njit(cache=True)
def _configure(flat, b, eta, P, forms, dJ, Mrr, Mre, Lrr):
    """Inertia of body `b` at `eta` (m,), with products `P`."""
    s, J = inertia_at(flat, b, eta, P, forms, dJ, Mre, True)
    rigid_block(flat.mass[b], s, J, Mrr)
    if flat.slices[b] == SECOND_ORDER:
        lower_factor(Mrr, Lrr)


@njit(cache=True)
def _difference(weight, direction, length):
    """The factor of a `direction` (m,) that gives a displacement of `DIFFERENCE`; zero for a zero direction."""
    size = 0.0
    for i in range(length):
        size = max(size, abs(direction[i]) * weight[i])
    return DIFFERENCE / size if size > 0.0 else 0.0


@njit(cache=True)
def _move(flat, b, eta, P, along, products, epsilon, scratch):
    """Inertia of body `b` at `eta + epsilon along`, from the products of both."""
    m = flat.modes[b]
    for i in range(m):
        scratch.eta[i] = eta[i] + epsilon * along[i]
    for r in range(flat.slices[b] * m):
        scratch.moved[r] = P[r] + epsilon * products[r]
    _configure(
        flat,
        b,
        scratch.eta,
        scratch.moved,
        scratch.forms,
        scratch.dJ_moved,
        scratch.Mrr,
        scratch.Mre,
        scratch.Lrr_moved,
    )


@njit(cache=True, inline="always")
def _body_transposed(flat, b, q, w, wdot, y, kinematics, workspace, scratch, to_q, to_w, to_wdot):
    """Add the derivatives of the virtual power of inertia, stiffness, damping and weight of body `b`; store its mass
    blocks in `workspace`."""
    m, qs, vs = flat.modes[b], flat.q_start[b], flat.v_start[b]
    first, n, second = vs - 6 * b, vs + 6 + m, flat.slices[b] == SECOND_ORDER and m > 0
    eta, rate, virtual, rate2 = q[qs + 7 : qs + 7 + m], w[vs + 6 : n], y[vs + 6 : n], wdot[vs + 6 : n]
    P, R, Y, A, six = scratch.P, scratch.R, scratch.Y, scratch.A, scratch.six
    Mrr, Mre, Lrr, dJ = workspace.Mrr[b], workspace.Mre[b], scratch.Lrr, scratch.dJ
    if m > 0:
        products_of(flat, b, 0, eta, rate, P, R)
        products_of(flat, b, 6, virtual, rate2, Y, A)
    _configure(flat, b, eta, P, scratch.forms, dJ, Mrr, Mre, Lrr)
    g = rotate_inv(matrix(kinematics.attitude, b), load3(flat.gravity, 0))
    acceleration, c, none = six[0], six[1], six[2]
    store(acceleration, 0, sub(load3(wdot, vs), g))
    store(acceleration, 3, load3(wdot, vs + 3))
    v, omega, yv, yw = load3(w, vs), load3(w, vs + 3), load3(y, vs), load3(y, vs + 3)
    store(c, 0, add(cross(yv, omega), cross(yw, v)))
    store(c, 3, cross(yw, omega))
    p, uy, uw, ua = six[3:4], six[4:5], six[5:6], six[6:7]
    _momentum(second, m, Mrr, Mre, Lrr, y[vs : vs + 6], virtual, uy, p)
    for i in range(6):
        to_wdot[vs + i] += p[0, i]
    store(none, 3, add(load3(to_q, vs + 3), cross(g, load3(p[0], 0))))
    copy(none[3:], to_q[vs + 3 : vs + 6])
    _momentum(second, m, Mrr, Mre, Lrr, w[vs : vs + 6], rate, uw, p)
    l, pi = load3(p[0], 0), load3(p[0], 3)
    store(none, 0, cross(l, yw))
    store(none, 3, add(cross(l, yv), cross(pi, yw)))
    for i in range(6):
        total = none[i]
        for k in range(6):
            total += Mrr[i, k] * c[k]
        to_w[vs + i] += total
    if m == 0:
        return
    add_elastic_inertia(flat, b, Lrr, Mre, virtual, six[7:9], to_wdot[vs + 6 : n])
    add_transposed(Mre, m, 1.0, y[vs : vs + 6], to_wdot[vs + 6 : n])
    add_transposed(Mre, m, 1.0, c, to_w[vs + 6 : n])
    _momentum(second, m, Mrr, Mre, Lrr, acceleration, rate2, ua, p)
    _add_gradient(second, m, Mre, dJ, y[vs:], uy[0], Y, acceleration, ua[0], A, 1.0, to_q[vs + 6 : n])
    _add_gradient(second, m, Mre, dJ, y[vs:], uy[0], Y, w[vs:], uw[0], R, 1.0, to_w[vs + 6 : n])
    A[: flat.slices[b] * m] = 0.0  # c has no elastic part
    _add_gradient(second, m, Mre, dJ, c, c, A, w[vs:], uw[0], R, 1.0, to_q[vs + 6 : n])
    for i in range(m):
        to_q[vs + 6 + i] += flat.stiffness[first + i] * virtual[i]
        to_w[vs + 6 + i] += flat.damping[first + i] * virtual[i]
    weight, moved = flat.weight[vs + 6 :], scratch.dJ_moved
    epsilon = _difference(weight, rate, m)
    if epsilon > 0.0:
        _move(flat, b, eta, P, rate, R, epsilon, scratch)
        for factor in (1.0 / epsilon, -1.0 / epsilon):
            if factor < 0.0:
                Mrr, Mre, Lrr, slopes = workspace.Mrr[b], workspace.Mre[b], scratch.Lrr, dJ
            else:
                Mrr, Mre, Lrr, slopes = scratch.Mrr, scratch.Mre, scratch.Lrr_moved, moved
            _momentum(second, m, Mrr, Mre, Lrr, w[vs : vs + 6], rate, uw, p)
            _momentum(second, m, Mrr, Mre, Lrr, y[vs : vs + 6], virtual, uy, p)
            for i in range(6):
                to_w[vs + i] += factor * p[0, i]
            add_transposed(Mre, m, factor, uy[0], to_w[vs + 6 : n])
            _add_gradient(second, m, Mre, slopes, y[vs:], uy[0], Y, w[vs:], uw[0], R, factor, to_q[vs + 6 : n])
    epsilon = _difference(weight, virtual, m)
    if epsilon > 0.0:
        _move(flat, b, eta, P, virtual, Y, epsilon, scratch)
        for factor in (-1.0 / epsilon, 1.0 / epsilon):
            if factor > 0.0:
                Mrr, Mre, Lrr, slopes = workspace.Mrr[b], workspace.Mre[b], scratch.Lrr, dJ
            else:
                Mrr, Mre, Lrr, slopes = scratch.Mrr, scratch.Mre, scratch.Lrr_moved, moved
            _momentum(second, m, Mrr, Mre, Lrr, w[vs : vs + 6], rate, uw, p)
            for i in range(6):
                to_w[vs + i] += factor * p[0, i]
            add_transposed(Mre, m, factor, uw[0], to_w[vs + 6 : n])
            _add_gradient(second, m, Mre, slopes, w[vs:], uw[0], R, w[vs:], uw[0], R, 0.5 * factor, to_q[vs + 6 : n])


@njit(cache=True)
def add_turned(flat, x, forces, factor, out):
    """`out += factor ad_x^T forces` for all bodies."""
    for b in range(len(flat.modes)):
        s = flat.v_start[b]
        linear, angular = commuted_back((load3(x, s), load3(x, s + 3)), (load3(forces, s), load3(forces, s + 3)))
        store(out, s, add(load3(out, s), scale(factor, linear)))
        store(out, s + 3, add(load3(out, s + 3), scale(factor, angular)))


@njit(cache=True)
def _add_change_of_forces(
    flat, first, q, along, functions, angles, wrenches, efforts, kinematics, scratch, factor, out
):
    """Add `factor` times the derivative of the power `along . scratch.forces` with respect to the configuration.

    The power is that of rows from `first` on and, for `first` = 0, of loads, with constant efforts and world wrenches.
    """
    forces, moved, change = scratch.forces, scratch.moved_forces, scratch.change
    add_turned(flat, along, forces, -factor, out)
    epsilon = 0.0
    for i in range(len(along)):
        epsilon = max(epsilon, abs(along[i]) * flat.weight[i])
    if epsilon == 0.0:
        return
    epsilon = DIFFERENCE / epsilon
    for i in range(len(along)):
        change[i] = epsilon * along[i]
    displace(flat, q, change, scratch.q)
    rows_from(flat, first, scratch.q, functions, angles, kinematics, scratch.values, scratch.G)
    moved[:] = 0.0
    if first == 0:
        add_wrenches(flat, wrenches, kinematics, scratch.body, moved)
    add_row_forces(flat, scratch.G, efforts, moved)
    for i in range(len(along)):
        out[i] += factor * (moved[i] - forces[i]) / epsilon


@njit(cache=True)
def _add_turning_of_loads(flat, y, kinematics, wrenches, scratch, out):
    """Add the contribution of the rotation of loaded markers: followers rotate with them, and moments have no
    potential."""
    for l in range(len(flat.load_marker)):
        k = flat.load_marker[l]
        velocity, spin = marker_velocity(flat, k, kinematics, y)
        if flat.load_follower[l] == 1:
            moment = cross(load3(wrenches[l], 0), velocity)
        else:
            moment = cross(spin, load3(wrenches[l], 3))
        add_wrench(flat, k, (0.0, 0.0, 0.0), scale(-1.0, moment), kinematics, scratch.body, out)


@njit(cache=True, inline="always")
def _rows_transposed(flat, q, w, y, functions, angles, kinematics, workspace, scratch, displaced, to_q, to_w):
    """Add the derivatives of the virtual power of rows and loads."""
    nj, nr = flat.joint_rows, len(flat.row_kind)
    G, efforts, wrenches = workspace.G, workspace.efforts, workspace.wrenches
    forces = scratch.forces
    copy(workspace.loads, forces)
    add_row_forces(flat, G, efforts, forces)
    _add_change_of_forces(flat, 0, q, y, functions, angles, wrenches, efforts, displaced, scratch, -1.0, to_q)
    _add_turning_of_loads(flat, y, kinematics, wrenches, scratch, to_q)
    if nr == nj:
        return
    powers, damped = scratch.rates, False
    row_rates(flat, G, y, powers)
    scratch.efforts[:nj] = 0.0
    for r in range(nj, nr):
        stiffness, damping = law_slopes(flat, workspace, functions, r)
        scratch.efforts[r] = powers[r] * (flat.row_stiffness[r] + stiffness)
        powers[r] *= flat.row_damping[r] + damping
        damped = damped or powers[r] != 0.0
    add_row_forces(flat, G, scratch.efforts, to_q)
    if not damped:
        return
    for r in range(nr):
        scratch.efforts[r] = powers[r] if r >= nj else 0.0
    add_row_forces(flat, G, scratch.efforts, to_w)
    forces[:] = 0.0
    add_row_forces(flat, G, scratch.efforts, forces)
    _add_change_of_forces(flat, nj, q, w, functions, angles, wrenches, scratch.efforts, displaced, scratch, 1.0, to_q)


@njit(cache=True, inline="always")
def transposed(flat, q, w, wdot, y, functions, angles, kinematics, workspace, scratch, displaced, to_q, to_w, to_wdot):
    """Derivatives `to_q`, `to_w`, `to_wdot` (nv,) of `y . residual` with respect to the configuration (twists of the
    bodies, elastic increments), velocities and accelerations.

    `balance_rows` must have been evaluated at this state; the mass blocks in `workspace` are updated to it. `scratch`
    and `displaced` are from `make_scratch`. Cost: two further evaluations of the rows and about five of the inertia.
    """
    to_q[:] = 0.0
    to_w[:] = 0.0
    to_wdot[:] = 0.0
    _rows_transposed(flat, q, w, y, functions, angles, kinematics, workspace, scratch, displaced, to_q, to_w)
    for b in range(len(flat.modes)):
        _body_transposed(flat, b, q, w, wdot, y, kinematics, workspace, scratch, to_q, to_w, to_wdot)
