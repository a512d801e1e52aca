"""Unilateral contact with dry friction: velocities `u = W r + b` and impulses (or forces) `r` within cones.

`W` (n, n) is symmetric and positive semidefinite. The rows are grouped in blocks `first[k] <= i < first[k + 1]`:

    one row             u = 0 where low < r < high, u >= 0 where r = low, u <= 0 where r = high
    two or three rows   a contact, the normal row first: r_n >= 0, u_n >= 0, r_n u_n = 0 and
                        |r_t| <= mu r_n where u_t = 0, otherwise r_t = -mu r_n u_t / |u_t|
    one or two rows     friction of turning at contact `owner[k]`: the law of r_t with r_n of this contact
    with an owner

A bilateral row has the bounds -inf and inf, a unilateral one without friction 0 and inf. The law of friction is that of
Coulomb itself: slip causes no separation, as it would in the convex relaxation.

With `v = u + (mu |u_t|, 0)` a contact is the projection `r = P(r - rho v)` on the cone `|r_t| <= mu r_n` for any
`rho > 0` (de Saxce and Feng, "The bipotential method", 1998). The largest entry of `(r - P(r - rho v)) / rho`, a
velocity, measures how far a solution is from satisfying the conditions (`natural_map`).

Block Gauss-Seidel, with the exact solution of each block, is followed by the semismooth Newton method of Alart and
Curnier (1991), whose matrix contains `W + eps I`; the residual is that of `W`. Both may end at impulses that are no
solution: Newton's iterations change between the same modes of contacts for ever, and sweeps hand impulses on from
contact to contact with a residual that hardly changes. The proximal point method follows: each of its steps solves the
problem of `W + e I` with the velocities `b - e r` of the impulses `r` before, which is the easier the larger `e` is; a
solution that reproduces itself is one of `W`. Sources: Acary and Brogliato, Numerical Methods for Nonsmooth Dynamical
Systems (2008), chapter 13; Acary, Bremond, Huber, "On solving contact problems with Coulomb friction" (2018).
"""

import math

import numpy as np
from numba import njit

from flexmb.kernels.base.dense import row_inner, solve_small

ROOTS = 200
"""Iterations for the slip of one contact; bisection alone needs less."""
ROUNDING = 1e-15
"""Relative accuracy of the slip of one contact."""
NO_RESPONSE = 1e-14
"""Response of a contact in a tangential direction, relative to that along the normal, which is replaced by this one."""
EPSILON = float(np.finfo(float).eps)
"""Round-off of one."""
WEAK = 1e-12
"""Response of a block relative to the mean, below which its natural map is scaled by this response."""
ROUNDS, NEWTONS, STAGNANT = 3, 30, 12
"""Rounds of sweeps and Newton iterations, the latter in a round, and those without improvement after which it ends."""
FIRST_CHECKS, CHECKS = 3, 4
"""Sweeps at the beginning after which the residual is evaluated every time, and the interval of evaluations later."""
PROXIMAL = (1e-6, 1e-10, 1e-4)
"""`eps` of successive rounds, relative to the mean diagonal entry of `W`."""
FIRST_SHIFT, LEAST_SHIFT, SHIFTS = 0.1, 1e-13, 60
"""`e` of the first step of the proximal point method and the least one, relative to the mean diagonal entry of `W`, and
the number of steps, at most."""
EASIER, HARDER = 4.0, 0.3
"""Factors of `e` after a step without and with a solution."""


@njit(cache=True)
def stick_or_slip(w, i, size, bn, b1, b2, mu, r):
    """Solve the contact in rows `i` to `i + size - 1` of the matrix `w`, for the velocities `bn`, `b1`, `b2` without
    its own impulses, which are written to `r`.

    Slip means `u_t = -a r_t` with `a > 0`. With the normal row eliminated and the tangential response diagonalised,
    `r_t(a)` is explicit, and `|r_t(a)| - mu r_n(a)` changes sign once on `(0, inf)` if the block neither separates nor
    sticks: Newton's method within a bracket finds `a`.
    """
    r[i] = r[i + 1] = r[i + size - 1] = 0.0
    if bn >= 0.0:
        return
    wn = w[i, i]
    if mu == 0.0:
        r[i] = -bn / wn
        return
    q1, s1 = b1 - w[i + 1, i] * bn / wn, w[i + 1, i + 1] - w[i + 1, i] * w[i + 1, i] / wn
    cosine, sine, q2, s2, w1, w2 = 1.0, 0.0, 0.0, 1.0, w[i, i + 1], 0.0
    if size == 3:
        p2, s12 = b2 - w[i + 2, i] * bn / wn, w[i + 1, i + 2] - w[i + 1, i] * w[i + 2, i] / wn
        s22 = w[i + 2, i + 2] - w[i + 2, i] * w[i + 2, i] / wn
        turn = 0.5 * math.atan2(2.0 * s12, s1 - s22)
        cosine, sine = math.cos(turn), math.sin(turn)
        mean, spread = 0.5 * (s1 + s22), math.hypot(0.5 * (s1 - s22), s12)
        s1, s2 = mean + spread, mean - spread
        q1, q2 = cosine * q1 + sine * p2, -sine * q1 + cosine * p2
        w1, w2 = cosine * w[i, i + 1] + sine * w[i, i + 2], -sine * w[i, i + 1] + cosine * w[i, i + 2]
    s1, s2 = max(s1, NO_RESPONSE * wn), max(s2, NO_RESPONSE * wn)
    low, high, a = 0.0, -1.0, 0.0
    x = y = push = 0.0
    for k in range(ROOTS):
        x, y = -q1 / (s1 + a), -q2 / (s2 + a)
        push = -(bn + w1 * x + w2 * y) / wn
        grip = math.hypot(x, y)
        excess = grip - mu * push
        if k == 0 and excess <= 0.0:
            break
        if excess > 0.0:
            low = a
        else:
            high = a
        dx, dy = -x / (s1 + a), -y / (s2 + a)
        slope = (x * dx + y * dy) / grip + mu * (w1 * dx + w2 * dy) / wn
        new = a - excess / slope if slope != 0.0 else -1.0
        if not (new > low and (high < 0.0 or new < high)):
            new = 0.5 * (low + high) if high > 0.0 else 2.0 * low + s1
        if abs(new - a) <= ROUNDING * new or abs(excess) <= ROUNDING * grip:
            break
        a = new
    r[i], r[i + 1] = push, cosine * x - sine * y
    if size == 3:
        r[i + 2] = sine * x + cosine * y


@njit(cache=True)
def turn_or_rest(w, i, size, b1, b2, radius, r):
    """Solve the friction of turning in rows `i` to `i + size - 1` of the matrix `w`, of at most `radius`, for the
    velocities `b1`, `b2` without its own impulses, which are written to `r`.

    As in `stick_or_slip`, `u = -a r`, and the size of `r(a) = -(w + a I)^-1 b` falls with `a`.
    """
    r[i] = r[i + size - 1] = 0.0
    if radius <= 0.0:
        return
    if size == 1:
        if w[i, i] > 0.0:
            r[i] = min(max(-b1 / w[i, i], -radius), radius)
        return
    s1, s2, s12 = w[i, i], w[i + 1, i + 1], w[i, i + 1]
    turn = 0.5 * math.atan2(2.0 * s12, s1 - s2)
    cosine, sine = math.cos(turn), math.sin(turn)
    mean, spread = 0.5 * (s1 + s2), math.hypot(0.5 * (s1 - s2), s12)
    q1, q2 = cosine * b1 + sine * b2, -sine * b1 + cosine * b2
    s1, s2 = mean + spread, max(mean - spread, NO_RESPONSE * mean)
    if s1 <= 0.0:
        return
    a = x = y = 0.0
    for _ in range(ROOTS):
        x, y = -q1 / (s1 + a), -q2 / (s2 + a)
        size_of = math.hypot(x, y)
        if size_of <= radius * (1.0 + ROUNDING):
            break
        # Newton's method for 1 / |r(a)| = 1 / radius, which is concave: from below, monotone (More and Sorensen 1983)
        change = (size_of - radius) / radius * size_of * size_of / (x * x / (s1 + a) + y * y / (s2 + a))
        if change <= ROUNDING * a:
            break
        a += change
    r[i], r[i + 1] = cosine * x - sine * y, sine * x + cosine * y


@njit(cache=True)
def natural_map(first, owner, mu, low, high, rho, u, r, out):
    """Write `(r - P(r - rho v)) / rho` to `out` (n,), with `rho` (nb,) of each block; returns its largest entry."""
    worst = 0.0
    for k in range(len(mu)):
        i, size, h = first[k], first[k + 1] - first[k], rho[k]
        if owner[k] >= 0:
            last, z = i + size - 1, size - 1.0
            y1, y2 = r[i] - h * u[i], z * (r[last] - h * u[last])
            grip, radius = math.hypot(y1, y2), mu[k] * max(r[first[owner[k]]], 0.0)
            share = radius / grip if grip > radius else 1.0
            out[i] = (r[i] - share * y1) / h
            if size == 2:
                out[last] = (r[last] - share * y2) / h
            worst = max(worst, abs(out[i]), abs(out[last]))
            continue
        if size == 1:
            out[i] = (r[i] - min(max(r[i] - h * u[i], low[k]), high[k])) / h
            worst = max(worst, abs(out[i]))
            continue
        z = 1.0 if size == 3 else 0.0
        last = i + size - 1
        slip = math.sqrt(u[i + 1] ** 2 + z * u[last] ** 2)
        x1, x2 = r[i + 1] - h * u[i + 1], z * (r[last] - h * u[last])
        xn, grip = r[i] - h * (u[i] + mu[k] * slip), math.sqrt(x1 * x1 + x2 * x2)
        push, share = xn, 1.0
        if mu[k] * grip <= -xn:
            push, share = 0.0, 0.0
        elif grip > mu[k] * xn:
            push = (xn + mu[k] * grip) / (1.0 + mu[k] * mu[k])
            share = mu[k] * push / grip
        out[i], out[i + 1] = (r[i] - push) / h, (r[i + 1] - share * x1) / h
        if size == 3:
            out[last] = (r[last] - share * x2) / h
        for j in range(i, last + 1):
            worst = max(worst, abs(out[j]))
    return worst


@njit(cache=True)
def _sweep(W, b, first, owner, mu, low, high, r):
    """Solve all blocks, one after the other (Gauss-Seidel)."""
    n = len(r)
    for k in range(len(mu)):
        i, size = first[k], first[k + 1] - first[k]
        if owner[k] >= 0:
            last = i + size - 1
            r[i] = r[last] = 0.0
            b1, b2 = row_inner(W, i, r, n) + b[i], row_inner(W, last, r, n) + b[last]
            turn_or_rest(W, i, size, b1, b2, mu[k] * r[first[owner[k]]], r)
            continue
        if size == 1:
            if W[i, i] > 0.0:
                u = row_inner(W, i, r, n) + b[i]
                r[i] = min(max(r[i] - u / W[i, i], low[k]), high[k])
            continue
        last = i + size - 1
        r[i] = r[i + 1] = r[last] = 0.0
        bn, b1 = row_inner(W, i, r, n) + b[i], row_inner(W, i + 1, r, n) + b[i + 1]
        b2 = row_inner(W, last, r, n) + b[last]
        stick_or_slip(W, i, size, bn, b1, b2, mu[k], r)


@njit(cache=True)
def _bound_friction(W, eps, o, i, size, mu, h, ho, closed, radius, y1, y2, r, J, f):
    """Write the rows `i` to `i + size - 1` of `_linearise` for friction of turning at its bound, `radius`, which is
    that of the row `o`."""
    last, z, n, grip = i + size - 1, size - 1.0, len(r), math.hypot(y1, y2)
    d1, d2 = (y1 / grip, y2 / grip) if grip > 0.0 else (0.0, 0.0)
    f[i] = (r[i] - radius * d1) / h
    if size == 2:
        f[last] = (r[last] - radius * d2) / h
    share = radius / grip if grip > 0.0 else 0.0
    g11, g12, g22 = share * (1.0 - d1 * d1), -share * d1 * d2, share * (1.0 - d2 * d2)
    slope = mu / h if closed else 0.0
    for c in range(n):
        normal = slope * (ho * (W[o, c] + (eps if c == o else 0.0)) - (1.0 if c == o else 0.0))
        t1, t2 = J[i, c], z * J[last, c]
        J[i, c] = d1 * normal + g11 * t1 + g12 * t2
        if size == 2:
            J[last, c] = d2 * normal + g12 * t1 + g22 * t2
    J[i, i] += (1.0 - g11) / h
    if size == 2:
        J[i, last] -= g12 / h
        J[last, i] -= g12 / h
        J[last, last] += (1.0 - g22) / h


@njit(cache=True)
def _linearise(W, eps, first, owner, mu, low, high, rho, u, r, J, f):
    """The function of Alart and Curnier in units of velocity, `f` (n,), and its derivative `J` (n, n) with `W + eps I`
    in the place of `W`."""
    n = len(r)
    for k in range(len(mu)):
        i, size, h = first[k], first[k + 1] - first[k], rho[k]
        for j in range(i, i + size):
            for c in range(n):
                J[j, c] = W[j, c]
            J[j, j] += eps
            f[j] = u[j]
        if owner[k] >= 0:
            o = first[owner[k]]
            x = r[o] - rho[owner[k]] * u[o]
            last, z = i + size - 1, size - 1.0
            y1, y2 = r[i] - h * u[i], z * (r[last] - h * u[last])
            grip, radius = math.hypot(y1, y2), mu[k] * max(x, 0.0)
            if grip > radius or x <= 0.0:
                _bound_friction(W, eps, o, i, size, mu[k], h, rho[owner[k]], x > 0.0, radius, y1, y2, r, J, f)
            continue
        x = r[i] - h * u[i]
        lower, upper = (low[k], high[k]) if size == 1 else (0.0, np.inf)
        if x < lower or x > upper:
            f[i] = (r[i] - (lower if x < lower else upper)) / h
            for c in range(n):
                J[i, c] = 0.0
            J[i, i] = 1.0 / h
        if size == 1:
            continue
        z = 1.0 if size == 3 else 0.0
        last = i + size - 1
        y1, y2 = r[i + 1] - h * u[i + 1], z * (r[last] - h * u[last])
        grip, radius = math.hypot(y1, y2), mu[k] * max(x, 0.0)
        if x > 0.0 and grip <= radius:
            continue
        d1, d2 = (y1 / grip, y2 / grip) if grip > 0.0 else (0.0, 0.0)
        f[i + 1] = (r[i + 1] - radius * d1) / h
        if size == 3:
            f[last] = (r[last] - radius * d2) / h
        share = radius / grip if grip > 0.0 else 0.0
        g11, g12, g22 = share * (1.0 - d1 * d1), -share * d1 * d2, share * (1.0 - d2 * d2)
        opens = 1.0 if x > 0.0 else 0.0
        for c in range(n):
            normal = opens * mu[k] * (W[i, c] + (eps if c == i else 0.0))
            t1, t2 = J[i + 1, c], z * J[last, c]
            J[i + 1, c] = d1 * normal + g11 * t1 + g12 * t2
            if size == 3:
                J[last, c] = d2 * normal + g12 * t1 + g22 * t2
        J[i + 1, i] -= opens * mu[k] * d1 / h
        J[i + 1, i + 1] += (1.0 - g11) / h
        if size == 3:
            J[i + 1, last] -= g12 / h
            J[last, i] -= opens * mu[k] * d2 / h
            J[last, i + 1] -= g12 / h
            J[last, last] += (1.0 - g22) / h


@njit(cache=True)
def _velocities(W, b, r, u):
    for j in range(len(r)):
        u[j] = b[j] + row_inner(W, j, r, len(r))


@njit(cache=True)
def _rounding(W, b, r):
    """The velocity that round-off leaves open: that of the largest sum of the terms of `W r + b`."""
    largest = 0.0
    for j in range(len(r)):
        total = abs(b[j])
        for c in range(len(r)):
            total += abs(W[j, c] * r[c])
        largest = max(largest, total)
    return EPSILON * largest


@njit(cache=True)
def _scales(W, first, mean, rho):
    """Write the inverse response of each block, not of less than a weak one, to `rho` (nb,)."""
    for k in range(len(rho)):
        rho[k] = 0.0
        for j in range(first[k], first[k + 1]):
            rho[k] += W[j, j] / (first[k + 1] - first[k])
        rho[k] = 1.0 / max(rho[k], WEAK * mean, 1e-300)


@njit(cache=True)
def _by_rounds(W, b, first, owner, mu, low, high, mean, tolerance, sweeps, rounds, r):
    """Sweeps and Newton's method, as `solve_cones`, in a number of rounds; `mean` of the diagonal of `W`."""
    n = len(b)
    u, best, f, J, rho = np.empty(n), np.empty(n), np.empty(n), np.empty((n, n)), np.empty(len(mu))
    _scales(W, first, mean, rho)
    _velocities(W, b, r, u)
    residual = natural_map(first, owner, mu, low, high, rho, u, r, f)
    least, swept, iterated = residual, 0, 0
    for j in range(n):
        best[j] = r[j]
    for k in range(rounds):
        for s in range(sweeps):
            if residual <= tolerance:
                break
            _sweep(W, b, first, owner, mu, low, high, r)
            swept += 1
            if s % CHECKS == CHECKS - 1 or swept <= FIRST_CHECKS:
                _velocities(W, b, r, u)
                residual = natural_map(first, owner, mu, low, high, rho, u, r, f)
        if residual < least:
            least = residual
            for j in range(n):
                best[j] = r[j]
        idle = 0
        for _ in range(NEWTONS):
            if residual <= tolerance:
                break
            _velocities(W, b, r, u)
            _linearise(W, PROXIMAL[k % 3] * mean, first, owner, mu, low, high, rho, u, r, J, f)
            solve_small(J, f)
            iterated += 1
            for j in range(n):
                r[j] -= f[j]
            _velocities(W, b, r, u)
            residual = natural_map(first, owner, mu, low, high, rho, u, r, f)
            idle += 1
            if residual < least:
                least, idle = residual, 0
                for j in range(n):
                    best[j] = r[j]
            if idle > STAGNANT or not np.isfinite(residual):
                break
        for j in range(n):
            r[j] = best[j]
        residual = least
        if least <= tolerance:
            break
    return least, swept, iterated


@njit(cache=True)
def _by_proximal_points(W, b, first, owner, mu, low, high, mean, tolerance, least, r):
    """The proximal point method from `r = 0`, where `r`, of the residual `least`, is no solution; returns the residual
    of the better one, which `r` becomes, and the number of Newton iterations."""
    n, iterated, e = len(b), 0, FIRST_SHIFT * mean
    before, new, shifted, diagonal = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    u, f, rho = np.empty(n), np.empty(n), np.empty(len(mu))
    _scales(W, first, mean, rho)
    for j in range(n):
        diagonal[j] = W[j, j]
    for _ in range(SHIFTS):
        for j in range(n):
            new[j], shifted[j] = before[j], b[j] - e * before[j]
            W[j, j] = diagonal[j] + e
        residual, _, count = _by_rounds(W, shifted, first, owner, mu, low, high, mean, tolerance, 0, 1, new)
        iterated += count
        for j in range(n):
            W[j, j] = diagonal[j]
        rounding = _rounding(W, b, new)
        if not residual <= max(tolerance, rounding):
            e *= EASIER
            continue
        for j in range(n):
            before[j] = new[j]
        _velocities(W, b, new, u)
        residual = natural_map(first, owner, mu, low, high, rho, u, new, f)
        if residual < least:
            least = residual
            for j in range(n):
                r[j] = new[j]
        e *= HARDER
        if least <= max(tolerance, rounding) or e < LEAST_SHIFT * mean:
            break
    return least, iterated


@njit(cache=True)
def solve_cones(W, b, first, owner, mu, low, high, tolerance, sweeps, r):
    """Overwrite the impulses `r` (n,), a guess, by a solution; returns the residual, and the numbers of sweeps and of
    Newton iterations.

    `owner` (nb,): of friction of turning, the block of its contact; -1 for other blocks.
    `tolerance`: largest permitted entry of the natural map, a velocity. A residual above it and above the round-off of
    `W r + b` is a failure; `r` is then the best that was found. `sweeps`: sweeps in a round, at most; 0 leaves all to
    Newton's method, which from `r = 0` finds forces close to those of least norm where `W` is singular. Entries of `W`
    outside its first `n` rows and columns are ignored.
    """
    n, mean = len(b), 0.0
    for j in range(n):
        mean += W[j, j] / n
    least, swept, iterated = _by_rounds(W, b, first, owner, mu, low, high, mean, tolerance, sweeps, ROUNDS, r)
    if least <= tolerance or least <= _rounding(W, b, r):
        return least, swept, iterated
    least, count = _by_proximal_points(W, b, first, owner, mu, low, high, mean, tolerance, least, r)
    return least, swept, iterated + count
