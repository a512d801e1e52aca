"""Mass blocks, inertia forces and energies of one body; flexmb/bodies/dynamics.py is the readable reference.

Gravity is added in flexmb/kernels/equations/residual.py, `balance_body`. Loops over the elastic coordinates are
branch-free arithmetic on rows of contiguous numbers, for which the compiler generates vector instructions.
"""

from numba import njit

from flexmb.kernels.base.algebra import (
    NOTHING,
    add,
    cross,
    dot,
    load3,
    matrix,
    product,
    rotate,
    scale,
    store,
    sub,
    transposed,
    vector,
)
from flexmb.kernels.base.data import SECOND_ORDER
from flexmb.kernels.base.dense import FAST, add_coupled, cholesky, inner, solve6_all, three_rows


@njit(cache=True, fastmath=FAST)
def _products(columns, first, eta, etadot, P, R):
    """`P = Q_k eta` and, from entry `first` on, `R = Q_k etadot`, for consecutive slices k: the O(m^2) part of a step.

    Row j of `columns` contains column j of all slices. Four columns are processed at a time, so that results are
    written once for four columns.
    """
    m, length = columns.shape
    for r in range(length):
        P[r] = 0.0
        R[r] = 0.0
    for j in range(0, m - 3, 4):
        a, b, c, d = eta[j], eta[j + 1], eta[j + 2], eta[j + 3]
        for r in range(length):
            P[r] += columns[j, r] * a + columns[j + 1, r] * b + columns[j + 2, r] * c + columns[j + 3, r] * d
        a, b, c, d = etadot[j], etadot[j + 1], etadot[j + 2], etadot[j + 3]
        for r in range(first, length):
            R[r] += columns[j, r] * a + columns[j + 1, r] * b + columns[j + 2, r] * c + columns[j + 3, r] * d
    for j in range(m - m % 4, m):
        for r in range(length):
            P[r] += columns[j, r] * eta[j]
        for r in range(first, length):
            R[r] += columns[j, r] * etadot[j]


@njit(cache=True)
def _quadratic_forms(P, first, last, eta, forms):
    """`forms_k = eta^T Q_k eta` from the products `P`, for slices `first` to `last` - 1."""
    m = len(eta)
    for k in range(first, last):
        forms[k] = inner(P[k * m :], eta, m)


@njit(cache=True, inline="always")
def _symmetric(a):
    """The symmetric matrix with components xx, yy, zz, xy, yz, zx."""
    return (a[0], a[3], a[5], a[3], a[1], a[4], a[5], a[4], a[2])


@njit(cache=True, inline="always")
def _moments_from_inertia(J):
    """`P = tr(J) I / 2 - J`."""
    half = 0.5 * (J[0] + J[4] + J[8])
    return (half - J[0], -J[1], -J[2], -J[3], half - J[4], -J[5], -J[6], -J[7], half - J[8])


@njit(cache=True, inline="always")
def _inertia_from_moments(P):
    """`J = tr(P) I - P`."""
    trace = P[0] + P[4] + P[8]
    return (trace - P[0], -P[1], -P[2], -P[3], trace - P[4], -P[5], -P[6], -P[7], trace - P[8])


@njit(cache=True, fastmath=FAST)
def _affine_part(mass, s0, inverse, S1, Sf, P, forms, eta, s, J, dJ, derivatives):
    """The inertia (9) with the second-order field g, from the inertia `J` of the linear field; with `derivatives`,
    updates those of the inertia, `dJ` (6, m), in place.

    About the mass centre, `P` becomes `F P F^T` with `F = I + beta / 2` (see `flexmb.bodies.dynamics`). `inverse` is
    that of the undeformed second moments; `S1` and `Sf` are the derivatives of the first moment without and with g; `s`
    is the first moment with g.
    """
    m = len(eta)
    over = 1.0 / mass
    c0, c1, c2 = s0[0] * over, s0[1] * over, s0[2] * over
    g0, g1, g2 = forms[9], forms[10], forms[11]
    C = (
        forms[12] - g0 * c0, forms[15] - g0 * c1, forms[18] - g0 * c2,
        forms[13] - g1 * c0, forms[16] - g1 * c1, forms[19] - g1 * c2,
        forms[14] - g2 * c0, forms[17] - g2 * c1, forms[20] - g2 * c2,
    )  # fmt: skip
    half = product(C, inverse)
    F = (
        1.0 + 0.5 * half[0], 0.5 * half[1], 0.5 * half[2],
        0.5 * half[3], 1.0 + 0.5 * half[4], 0.5 * half[5],
        0.5 * half[6], 0.5 * half[7], 1.0 + 0.5 * half[8],
    )  # fmt: skip
    l0, l1, l2 = add(s0, three_rows(S1, 0, eta, m))
    M = _moments_from_inertia(J)
    central = (
        M[0] - l0 * l0 * over, M[1] - l0 * l1 * over, M[2] - l0 * l2 * over,
        M[3] - l1 * l0 * over, M[4] - l1 * l1 * over, M[5] - l1 * l2 * over,
        M[6] - l2 * l0 * over, M[7] - l2 * l1 * over, M[8] - l2 * l2 * over,
    )  # fmt: skip
    W = product(central, transposed(F))
    moved = product(F, W)
    follow = product(inverse, W)
    x0, x1, x2 = s[0] * over, s[1] * over, s[2] * over
    for i in range(m if derivatives else 0):
        d0, d1, d2, d3, d4, d5 = dJ[0, i], dJ[1, i], dJ[2, i], dJ[3, i], dJ[4, i], dJ[5, i]
        q = 0.5 * (d0 + d1 + d2)
        u0, u1, u2 = S1[0, i] * over, S1[1, i] * over, S1[2, i] * over
        xx, yy, zz = q - d0 - 2.0 * u0 * l0, q - d1 - 2.0 * u1 * l1, q - d2 - 2.0 * u2 * l2
        xy, yz, zx = -d3 - u0 * l1 - l0 * u1, -d4 - u1 * l2 - l1 * u2, -d5 - u2 * l0 - l2 * u0
        g0, g1, g2 = P[9 * m + i], P[10 * m + i], P[11 * m + i]
        D = (
            P[12 * m + i] - g0 * c0, P[15 * m + i] - g0 * c1, P[18 * m + i] - g0 * c2,
            P[13 * m + i] - g1 * c0, P[16 * m + i] - g1 * c1, P[19 * m + i] - g1 * c2,
            P[14 * m + i] - g2 * c0, P[17 * m + i] - g2 * c1, P[20 * m + i] - g2 * c2,
        )  # fmt: skip
        A = product(product(F, (xx, xy, zx, xy, yy, yz, zx, yz, zz)), transposed(F))
        B = product(D, follow)
        v0, v1, v2 = Sf[0, i], Sf[1, i], Sf[2, i]
        o0 = A[0] + 2.0 * (B[0] + v0 * x0)
        o1 = A[4] + 2.0 * (B[4] + v1 * x1)
        o2 = A[8] + 2.0 * (B[8] + v2 * x2)
        trace = o0 + o1 + o2
        dJ[0, i] = trace - o0
        dJ[1, i] = trace - o1
        dJ[2, i] = trace - o2
        dJ[3, i] = -(A[1] + B[1] + B[3] + v0 * x1 + x0 * v1)
        dJ[4, i] = -(A[5] + B[5] + B[7] + v1 * x2 + x1 * v2)
        dJ[5, i] = -(A[2] + B[2] + B[6] + v2 * x0 + x2 * v0)
    return _inertia_from_moments(
        (
            moved[0] + x0 * s[0], moved[1] + x0 * s[1], moved[2] + x0 * s[2],
            moved[3] + x1 * s[0], moved[4] + x1 * s[1], moved[5] + x1 * s[2],
            moved[6] + x2 * s[0], moved[7] + x2 * s[1], moved[8] + x2 * s[2],
        )
    )  # fmt: skip


@njit(cache=True, fastmath=FAST)
def _elastic_blocks(second, m, linear, P, eta, dJ, Mre):
    """Derivatives `dJ` (6, m) of the inertia of the linear field, and the coupling block `Mre = [S_f; H_f]` (6, m)."""
    for k in range(len(dJ)):  # with a constant length the compiler would unroll the loop
        for i in range(m):
            dJ[k, i] = linear[3 + k, i] + 2.0 * P[k * m + i]
    for k in range(len(Mre) // 2):
        for i in range(m):
            Mre[k, i] = linear[k, i]
            Mre[3 + k, i] = linear[9 + k, i] - P[(6 + k) * m + i]
        if second:
            a, b = 12 + 3 * ((k + 1) % 3) + (k + 2) % 3, 12 + 3 * ((k + 2) % 3) + (k + 1) % 3  # X x g
            for i in range(m):
                Mre[k, i] += P[(9 + k) * m + i]
                Mre[3 + k, i] += P[a * m + i] - P[b * m + i]


@njit(cache=True, fastmath=FAST)
def _elastic_bias(m, Mre, R, dJ, arm, back, turning, uw, omega, bias):
    """Velocity-dependent inertia forces of the elastic coordinates, `bias[6:]`."""
    ox, oy, oz = omega
    ux, uy, uz = uw
    e0 = 0.5 * (ux * ux - 2.0 * ux * ox)
    e1 = 0.5 * (uy * uy - 2.0 * uy * oy)
    e2 = 0.5 * (uz * uz - 2.0 * uz * oz)
    e3 = ux * uy - ux * oy - ox * uy
    e4 = uy * uz - uy * oz - oy * uz
    e5 = uz * ux - uz * ox - oz * ux
    f0, f1, f2 = arm[0] + back[0], arm[1] + back[1], arm[2] + back[2]
    t0, t1, t2 = turning
    for i in range(m):
        bias[6 + i] = (
            Mre[0, i] * f0 + Mre[1, i] * f1 + Mre[2, i] * f2 + Mre[3, i] * t0 + Mre[4, i] * t1 + Mre[5, i] * t2
            - 2.0 * (ux * R[6 * m + i] + uy * R[7 * m + i] + uz * R[8 * m + i])
            + e0 * dJ[0, i] + e1 * dJ[1, i] + e2 * dJ[2, i] + e3 * dJ[3, i] + e4 * dJ[4, i] + e5 * dJ[5, i]
        )  # fmt: skip


@njit(cache=True, inline="always")
def products_of(flat, b, first, eta, etadot, P, R):
    """`P = Q_k eta` and, from slice `first` on, `R = Q_k etadot`, for consecutive slices k of the quadratic inertia of
    body `b`."""
    m, length, start = flat.modes[b], flat.slices[b] * flat.modes[b], flat.quadratic_start[b]
    _products(flat.quadratic[start : start + length * m].reshape(m, length), first * m, eta, etadot, P, R)


@njit(cache=True, inline="always")
def inertia_at(flat, b, eta, P, forms, dJ, Mre, derivatives):
    """First moment (3) and inertia (9) of body `b` about the origin of its frame, at `eta` (m,) with products `P`.

    Fills the coupling block `Mre = [S_f; H_f]` (6, m) and, with `derivatives`, those of the inertia, `dJ` (6, m);
    `forms` (slices,) is a work array.
    """
    m, s0, J0 = flat.modes[b], vector(flat.s0, b), matrix(flat.J0, b)
    if m == 0:
        return s0, J0
    second = flat.slices[b] == SECOND_ORDER
    linear = flat.linear[flat.linear_start[b] : flat.linear_start[b] + 12 * m].reshape(12, m)
    _elastic_blocks(second, m, linear, P, eta, dJ, Mre)
    _quadratic_forms(P, 0, flat.slices[b], eta, forms)
    for k in range(6):
        forms[k] += inner(linear[3 + k], eta, m)
    D = _symmetric(forms)
    J = (
        J0[0] + D[0], J0[1] + D[1], J0[2] + D[2],
        J0[3] + D[3], J0[4] + D[4], J0[5] + D[5],
        J0[6] + D[6], J0[7] + D[7], J0[8] + D[8],
    )  # fmt: skip
    s = add(s0, three_rows(linear, 0, eta, m))
    if second:
        s = add(s, scale(0.5, (forms[9], forms[10], forms[11])))
        J = _affine_part(
            flat.mass[b], s0, matrix(flat.rest_moments, b), linear, Mre, P, forms, eta, s, J, dJ, derivatives
        )
    return s, J


@njit(cache=True)
def rigid_block(mass, s, J, Mrr):
    """Fill the mass matrix `Mrr` (6, 6) of the rigid velocities."""
    for r in range(3):
        for c in range(3):
            Mrr[r, c] = mass if r == c else 0.0
            Mrr[3 + r, 3 + c] = J[3 * r + c]
    Mrr[0, 3], Mrr[0, 4], Mrr[0, 5] = 0.0, s[2], -s[1]
    Mrr[1, 3], Mrr[1, 4], Mrr[1, 5] = -s[2], 0.0, s[0]
    Mrr[2, 3], Mrr[2, 4], Mrr[2, 5] = s[1], -s[0], 0.0
    for r in range(3):
        for c in range(3):
            Mrr[3 + c, r] = Mrr[r, 3 + c]


@njit(cache=True)
def lower_factor(Mrr, Lrr):
    """The Cholesky factor `Lrr` (6, 6), with inverted diagonal, of the mass matrix `Mrr` (6, 6)."""
    for r in range(6):
        for c in range(r + 1):
            Lrr[r, c] = Mrr[r, c]
    cholesky(Lrr)


@njit(cache=True)
def body_terms(flat, b, eta, w, scratch, Mrr, Lrr, Mre, sixes, bias):
    """Fill the mass blocks and the velocity-dependent inertia force of body `b`; returns its kinetic energy and first
    moment.

    Inputs: `eta` (m,) and `w = [v, omega, etadot]` (6+m,). Outputs: `Mrr` (6, 6), its Cholesky factor `Lrr` if the body
    has a second-order field, `Mre = [S_f; H_f]` (6, m) and `bias` (6+m,). The equations of the body are
    `M wdot + bias = forces`, where `M_ee = I` or, with a second-order field, the matrix of `add_elastic_inertia`.
    `scratch` (see `scratch_size`) and `sixes` (2, 6) are work arrays.
    """
    length = flat.slices[b] * flat.modes[b]
    if length > 0:
        products_of(flat, b, 6, eta, w[6 : 6 + flat.modes[b]], scratch[:length], scratch[length : 2 * length])
    return terms_of_products(flat, b, eta, w, scratch, Mrr, Lrr, Mre, sixes, bias)


@njit(cache=True)
def terms_of_products(flat, b, eta, w, scratch, Mrr, Lrr, Mre, sixes, bias):
    """`body_terms` with the products of `products_of` at the beginning of `scratch`, those with eta and with etadot."""
    m, mass = flat.modes[b], flat.mass[b]
    v, omega = load3(w, 0), load3(w, 3)
    momentum, angular = scale(mass, v), NOTHING
    sdot, spread, turned = NOTHING, NOTHING, NOTHING  # sdot, SG(etadot, etadot), Hdot etadot
    Jdot = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    second = flat.slices[b] == SECOND_ORDER
    length = flat.slices[b] * m
    etadot, P, R = w[6 : 6 + m], scratch[:length], scratch[length : 2 * length]
    forms, dJ = scratch[2 * length + 6 * m :], scratch[2 * length : 2 * length + 6 * m].reshape(6, m)
    s, J = inertia_at(flat, b, eta, P, forms, dJ, Mre, True)
    if m > 0:
        sdot = three_rows(Mre, 0, etadot, m)
        momentum, angular = add(momentum, sdot), three_rows(Mre, 3, etadot, m)
        if second:
            _quadratic_forms(R, 9, SECOND_ORDER, etadot, forms)
            spread = (forms[9], forms[10], forms[11])
            turned = (forms[17] - forms[19], forms[18] - forms[14], forms[13] - forms[15])
        a, c = three_rows(dJ, 0, etadot, m), three_rows(dJ, 3, etadot, m)
        Jdot = _symmetric((a[0], a[1], a[2], c[0], c[1], c[2]))

    momentum = add(momentum, cross(omega, s))
    angular = add(angular, add(cross(s, v), rotate(J, omega)))
    rigid_block(mass, s, J, Mrr)

    drift = add(cross(omega, sdot), spread)  # rates of the momenta at constant velocities
    swing = add(add(cross(sdot, v), rotate(Jdot, omega)), turned)
    store(bias, 0, add(drift, cross(omega, momentum)))
    store(bias, 3, add(swing, add(cross(omega, angular), cross(v, momentum))))
    kinetic = 0.5 * (dot(v, momentum) + dot(omega, angular))
    if m == 0:
        return kinetic, s
    uv, uw = v, omega  # the rigid velocity with the same momenta
    back, turning = NOTHING, NOTHING
    if second:
        lower_factor(Mrr, Lrr)
        one, six = sixes[:1], sixes[0]
        store(six, 0, momentum)
        store(six, 3, angular)
        solve6_all(Lrr, one)
        uv, uw = load3(six, 0), load3(six, 3)
        store(six, 0, sub(drift, cross(uw, sdot)))
        store(six, 3, sub(swing, add(cross(sdot, uv), rotate(Jdot, uw))))
        solve6_all(Lrr, one)
        back, turning = load3(six, 0), load3(six, 3)
        six[:] = 0.0
        add_coupled(flat.rest_Mre[b], m, 1.0, etadot, six)
        rest, rest_turn = load3(six, 0), load3(six, 3)
        solve6_all(flat.rest_chol[b], one)
        kinetic = 0.5 * (
            dot(uv, momentum) + dot(uw, angular) - dot(rest, load3(six, 0)) - dot(rest_turn, load3(six, 3))
        )
        kinetic += 0.5 * inner(etadot, etadot, m)
    else:
        forward = three_rows(Mre, 0, etadot, m), three_rows(Mre, 3, etadot, m)
        kinetic += 0.5 * (inner(etadot, etadot, m) + dot(forward[0], v) + dot(forward[1], omega))
    arm = sub(cross(uv, uw), add(cross(uv, omega), cross(v, uw)))
    _elastic_bias(m, Mre, R, dJ, arm, back, turning, uw, omega, bias)
    return kinetic, s


@njit(cache=True)
def add_elastic_inertia(flat, b, Lrr, Mre, rate, sixes, out):
    """`out += M_ee rate` (m,), where `M_ee` is the identity or, with a second-order field,
    `I + M_re^T M_rr^-1 M_re - M_re0^T M_rr0^-1 M_re0`; `Lrr` is the factor of `M_rr`."""
    m = flat.modes[b]
    for i in range(m):
        out[i] += rate[i]
    if flat.slices[b] != SECOND_ORDER or m == 0:
        return
    now, rest = sixes[0], sixes[1]
    now[:] = 0.0
    rest[:] = 0.0
    add_coupled(Mre, m, 1.0, rate, now)
    solve6_all(Lrr, sixes[:1])
    Mre0 = flat.rest_Mre[b]
    add_coupled(Mre0, m, 1.0, rate, rest)
    solve6_all(flat.rest_chol[b], sixes[1:])
    a, b_, c, d, e, f = now[0], now[1], now[2], now[3], now[4], now[5]
    p, q, r, t, u, v = rest[0], rest[1], rest[2], rest[3], rest[4], rest[5]
    for i in range(m):  # both products in one loop: two calls of `add_transposed` would slow a residual by a twelfth
        out[i] += Mre[0, i] * a + Mre[1, i] * b_ + Mre[2, i] * c + Mre[3, i] * d + Mre[4, i] * e + Mre[5, i] * f
        out[i] -= Mre0[0, i] * p + Mre0[1, i] * q + Mre0[2, i] * r + Mre0[3, i] * t + Mre0[4, i] * u + Mre0[5, i] * v
