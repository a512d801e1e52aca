"""Transposed derivatives of the residual: derivatives of the virtual power `y . residual` with respect to the motion.

The virtual power of the inertia of a body follows from the bilinear form `B(a, b) = a . M(eta) b` of its kinetic
energy. With `c = ad_w y` (rigid part), a prime for the derivative along an elastic direction, and gravity included in
the accelerations,

    Phi = B(y, wdot) + B(c, w) + B'(y, w; etadot) - B'(w, w; y_e) / 2 .

All derivatives of Phi therefore consist of products `M a`, gradients of `B(a, b)` with respect to eta, and the
derivatives of both along `etadot` and `y_e`, which are computed by differences.

Rows are functions `delta(q)` of the configuration. Their second derivatives are symmetric up to the commutator of the
frames in which they are taken: `x . d(G y) = (dG along y) x + G ad_x y`. A Jacobian `G` displaced along `y` gives all
of them. Three kinds of rows have rates that are not those of a coordinate: spins, slips and skates. For them a term is
added, which their covector `n` gives: `(dn along x) y - (dn along y) x + n_w . (omega_x x omega_y)`, with `x` and `y`
as relative motions in marker `a`. For spins this is the commutator of rotations, since `n` is constant.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from flexmb.kernels.base.algebra import (
    add,
    cross,
    dot,
    load3,
    matrix,
    product,
    rotate,
    rotate_inv,
    rotation_exp,
    scale,
    store,
    sub,
    vector,
)
from flexmb.kernels.base.data import (
    GROUND,
    SECOND_ORDER,
    SKATE,
    SLIP,
    SPIN,
    VELOCITY_KINDS,
    CompiledModel,
    MarkerKinematics,
    make_marker_kinematics,
)
from flexmb.kernels.base.dense import FAST, add_coupled, add_transposed, copy, solve6_all
from flexmb.kernels.base.exponential import commuted_back
from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.derivatives.elements import element_transposed
from flexmb.kernels.derivatives.lines import add_lines_transposed
from flexmb.kernels.derivatives.rubbing import add_pulled_friction
from flexmb.kernels.equations.bodies import (
    add_elastic_inertia,
    inertia_at,
    lower_factor,
    products_of,
    rigid_block,
)
from flexmb.kernels.equations.displacement import displace
from flexmb.kernels.equations.residual import law_slopes
from flexmb.kernels.equations.rows import (
    add_row_forces,
    add_wrench,
    add_wrenches,
    row_geometry,
    row_rates,
    rows_from,
    to_bodies,
)
from flexmb.kernels.joint_coordinates.tree import marker_velocity

DIFFERENCE = 3e-8
"""Difference step relative to the length of the mechanism. The errors of the second derivatives by curvature and by
rounding are about 1e-8."""
TURNED = 1e-5
"""Rotation for central differences of the covector of a row."""


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
    slopes: np.ndarray  # (ne, 6+most, 12+most+inputs) derivatives of frame forces; see kernels/derivatives/elements.py
    pulled: np.ndarray  # (ne, 12+most+inputs) derivatives of their virtual power
    settling: np.ndarray  # (most+1, most)
    states: np.ndarray  # (nz,)
    state_scale: np.ndarray  # (nz,)
    base: np.ndarray  # (nz,) costates of the states at the beginning of a step
    row_G: np.ndarray  # (2, 6+mmax) a row
    control_slopes: np.ndarray  # (nc, most commands and states, most signals and states)
    control_settling: np.ndarray  # (most states+1, most states)
    to_signals: np.ndarray  # (ni,) derivatives with respect to the signals of controllers
    to_commands: np.ndarray  # (nu,) with respect to their commands
    rubbed: np.ndarray  # (nr,) with respect to the rates of the free motions of joints with dry friction
    to_multipliers: np.ndarray  # (nj,) with respect to the multipliers on which this friction depends


def make_scratch(flat: CompiledModel) -> tuple[Scratch, MarkerKinematics]:
    """Work arrays of `transposed`, and marker kinematics for displaced configurations."""
    nt, nr, mmax, nv = len(flat.term_row), len(flat.row_kind), flat.marker_rows.shape[2], int(flat.v_start[-1])
    products, ne, nz = SECOND_ORDER * mmax, len(flat.element_row), int(flat.control_state[-1])
    most, read = int(np.diff(flat.element_state).max(initial=0)), int(flat.element_command[:, 1].max(initial=0))
    ni, nu, nc = len(flat.signal_sort), int(flat.control_command[-1]), len(flat.control_law)
    own = int(np.diff(flat.control_state).max(initial=0))
    given = own + int(np.diff(flat.control_signal).max(initial=0))
    returned = own + int(np.diff(flat.control_command).max(initial=0))
    shapes = {
        "P": products, "R": products, "Y": products, "A": products, "moved": products, "forms": SECOND_ORDER,
        "eta": mmax, "dJ": (6, mmax), "Mre": (6, mmax), "Mrr": (6, 6), "Lrr": (6, 6), "dJ_moved": (6, mmax),
        "Lrr_moved": (6, 6), "six": (12, 6), "q": int(flat.q_start[-1]), "G": (nt, 2, 6 + mmax), "values": nr,
        "efforts": nr, "rates": nr, "forces": nv, "moved_forces": nv, "change": nv, "body": 6 + mmax,
        "slopes": (ne, 6 + most, 12 + most + read), "pulled": (ne, 12 + most + read), "settling": (most + 1, most),
        "states": nz, "state_scale": nz, "base": nz, "row_G": (2, 6 + mmax),
        "control_slopes": (nc, returned, given), "control_settling": (own + 1, own), "to_signals": ni,
        "to_commands": nu, "rubbed": nr, "to_multipliers": flat.joint_rows,
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
def _turned_covector(kind, i, j, given, a, b, kinematics, turn):
    """The covector of a row if its second marker `b` is turned by `turn`, a rotation vector in world axes."""
    B = product(rotation_exp(turn), matrix(kinematics.axes, b))
    _, nv, nw = row_geometry(
        kind,
        i,
        j,
        given,
        0.0,
        0,
        vector(kinematics.position, a),
        matrix(kinematics.axes, a),
        vector(kinematics.position, b),
        B,
    )
    return nv, nw


@njit(cache=True)
def without_coordinate(flat, kind, i, j, given, a, b, along, kinematics):
    """The covector, for unit effort, of the term that a row of a rate without coordinate adds to the derivative of its
    power along the motion `along`; its arguments are those of `row_geometry`, with the markers `a` and `b`."""
    A = matrix(kinematics.axes, a)
    va, wa = marker_velocity(flat, a, kinematics, along)
    vb, wb = marker_velocity(flat, b, kinematics, along)
    apart = sub(vector(kinematics.position, b), vector(kinematics.position, a))
    omega = rotate_inv(A, sub(wb, wa))
    _, nw = _turned_covector(kind, i, j, given, a, b, kinematics, (0.0, 0.0, 0.0))
    linear, angular = (0.0, 0.0, 0.0), cross(omega, nw)
    if kind == SPIN:
        return linear, angular
    v = rotate_inv(A, sub(sub(vb, va), cross(wa, apart)))
    for k in range(3):
        axis = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        before = _turned_covector(kind, i, j, given, a, b, kinematics, scale(-TURNED, rotate(A, axis)))
        after = _turned_covector(kind, i, j, given, a, b, kinematics, scale(TURNED, rotate(A, axis)))
        dv, dw = scale(0.5 / TURNED, sub(after[0], before[0])), scale(0.5 / TURNED, sub(after[1], before[1]))
        angular = add(angular, scale(dot(dv, v) + dot(dw, omega), axis))
        linear = sub(linear, scale(omega[k], dv))
        angular = sub(angular, scale(omega[k], dw))
    return linear, angular


@njit(cache=True)
def add_covector(flat, a, b, linear, angular, factor, kinematics, G, out):
    """Add `factor` times the covector of a coordinate between markers `a` and `b` to the forces `out` (nv,); `G` (2, 6
    + mmax) is a work array."""
    to_bodies(flat, kinematics, a, b, linear, angular, G)
    for side in range(2):
        body = flat.marker_body[a] if side == 0 else flat.marker_body[b]
        if body != GROUND:
            for i in range(flat.v_start[body], flat.v_start[body + 1]):
                out[i] += factor * G[side, i - flat.v_start[body]]


@njit(cache=True)
def _add_rates_without_coordinate(flat, first, along, efforts, kinematics, scratch, factor, out):
    """Add the terms of rows from `first` on whose rates are not those of a coordinate to the derivative of their power
    along the motion `along`, with constant `efforts`."""
    for r in range(first, len(flat.row_kind)):
        kind = flat.row_kind[r]
        if kind not in (SPIN, SLIP, SKATE) or efforts[r] == 0.0:
            continue
        i, j, a, b = flat.row_axes[r, 0], flat.row_axes[r, 1], flat.row_markers[r, 0], flat.row_markers[r, 1]
        linear, angular = without_coordinate(flat, kind, i, j, flat.row_offset[r], a, b, along, kinematics)
        add_covector(flat, a, b, linear, angular, factor * efforts[r], kinematics, scratch.row_G, out)


@njit(cache=True)
def _add_change_of_forces(
    flat, first, loaded, q, along, functions, angles, wrenches, efforts, placed, kinematics, scratch, factor, out
):
    """Add `factor` times the derivative of the power `along . scratch.forces` with respect to the configuration.

    The power is that of rows from `first` on and, if `loaded`, of loads, with constant efforts and world wrenches.
    `placed` are the markers at `q`; those of the displaced configuration are written to `kinematics`.
    """
    forces, moved, change = scratch.forces, scratch.moved_forces, scratch.change
    add_turned(flat, along, forces, -factor, out)
    _add_rates_without_coordinate(flat, first, along, efforts, placed, scratch, factor, out)
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
    if loaded:
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
def _rows_transposed(
    flat, q, w, y, multipliers, functions, angles, kinematics, workspace, scratch, displaced, costates, to_q, to_w
):
    """Add the derivatives of the virtual power of rows and loads, and of the states of frame forces."""
    nj, nr = flat.joint_rows, len(flat.row_kind)
    G, efforts, wrenches = workspace.G, workspace.efforts, workspace.wrenches
    forces = scratch.forces
    forces[:] = 0.0
    add_wrenches(flat, wrenches, kinematics, scratch.body, forces)
    add_row_forces(flat, G, efforts, forces)
    _add_change_of_forces(
        flat, 0, True, q, y, functions, angles, wrenches, efforts, kinematics, displaced, scratch, -1.0, to_q
    )
    _add_turning_of_loads(flat, y, kinematics, wrenches, scratch, to_q)
    add_lines_transposed(flat, q, w, y, functions, kinematics, to_q, to_w)
    if nr == nj:
        return
    powers, rubbed, damped = scratch.rates, scratch.rubbed, len(flat.element_row) > 0
    row_rates(flat, G, y, powers)
    if len(flat.friction_row) > 0:
        rubbed[:], scratch.to_multipliers[:], damped = 0.0, 0.0, True
        add_pulled_friction(flat, workspace, multipliers, powers, rubbed, scratch.to_multipliers)
    for e in range(len(flat.element_row)):
        element_transposed(
            flat, workspace.half[0], e, powers, costates.states, costates.state_rates, scratch, scratch.pulled[e]
        )
    scratch.efforts[:nj] = 0.0
    for r in range(nj, nr):
        stiffness, damping = law_slopes(flat, workspace, functions, r)
        scratch.efforts[r] = powers[r] * (flat.row_stiffness[r] + stiffness)
        powers[r] *= flat.row_damping[r] + damping
        damped = damped or powers[r] != 0.0
    for r in flat.friction_row:
        powers[r] = rubbed[r]
    for e in range(len(flat.element_row)):
        r, first = flat.element_row[e], flat.element_state[e]
        for k in range(6):
            scratch.efforts[r + k], powers[r + k] = scratch.pulled[e, k], scratch.pulled[e, 6 + k]
        for k in range(flat.element_state[e + 1] - first):
            scratch.base[first + k] += scratch.pulled[e, 12 + k]
    add_row_forces(flat, G, scratch.efforts, to_q)
    if not damped:
        return
    for r in range(nr):
        scratch.efforts[r] = powers[r] if r >= nj else 0.0
    add_row_forces(flat, G, scratch.efforts, to_w)
    forces[:] = 0.0
    add_row_forces(flat, G, scratch.efforts, forces)
    _add_change_of_forces(
        flat, nj, False, q, w, functions, angles, wrenches, scratch.efforts, kinematics, displaced, scratch, 1.0, to_q
    )


@njit(cache=True)
def add_rates_transposed(flat, q, w, mu, functions, angles, kinematics, workspace, scratch, displaced, to_q, to_w):
    """Add the derivatives of `mu . G w` for the joint equations for velocities."""
    efforts, forces = scratch.efforts, scratch.forces
    efforts[:] = 0.0
    for r in range(flat.joint_rows):
        if flat.row_kind[r] in VELOCITY_KINDS:
            efforts[r] = mu[r]
    add_row_forces(flat, workspace.G, efforts, to_w)
    forces[:] = 0.0
    add_row_forces(flat, workspace.G, efforts, forces)
    _add_change_of_forces(
        flat, 0, False, q, w, functions, angles, workspace.wrenches, efforts, kinematics, displaced, scratch, 1.0, to_q
    )


@njit(cache=True, inline="always")
def transposed(
    flat,
    q,
    w,
    wdot,
    y,
    multipliers,
    functions,
    angles,
    kinematics,
    workspace,
    scratch,
    displaced,
    costates,
    to_q,
    to_w,
    to_wdot,
):
    """Derivatives `to_q`, `to_w`, `to_wdot` (nv,) of `y . residual` with respect to the configuration (twists of the
    bodies, elastic increments), velocities and accelerations.

    They include those of the states of frame forces at the end of the step, by their `costates`; the derivative with
    respect to the states at its beginning is written to `scratch.base`, and that with respect to the `multipliers`
    (nj,), by dry friction, to `scratch.to_multipliers`. `balance_rows` and `element_slopes` must have been evaluated at
    this state; the mass blocks in `workspace` are updated to it. `scratch` and `displaced` are from
    `make_scratch`. Cost: two further evaluations of the rows and about five of the inertia.
    """
    to_q[:] = 0.0
    to_w[:] = 0.0
    to_wdot[:] = 0.0
    scratch.base[:] = 0.0
    _rows_transposed(
        flat, q, w, y, multipliers, functions, angles, kinematics, workspace, scratch, displaced, costates, to_q, to_w
    )
    for b in range(len(flat.modes)):
        _body_transposed(flat, b, q, w, wdot, y, kinematics, workspace, scratch, to_q, to_w, to_wdot)
