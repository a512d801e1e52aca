"""Derivatives of the virtual power of loads along lines, with respect to the motion of their bodies.

With the force `F` of a station (flexmb/kernels/loads/lines.py) and its virtual displacement `g = y_v + y_w x r + Psi
y_e`, the virtual power is `sum g . F + along (Psi' y_e) . r'`. It is differentiated in reverse: `by_x` is its
derivative with respect to `x`. The position `r` and the tangent `r'` follow from the elastic coordinates, `r' = t +
Psi' eta`, and the velocity of the air in axes of the body turns against the body.
"""

import math

from numba import njit

from flexmb.kernels.base.algebra import add, cross, dot, load3, matrix, rotate_inv, scale, store, sub
from flexmb.kernels.base.dense import three_rows
from flexmb.kernels.loads.lines import FLOW, pace_of, push_change


@njit(cache=True)
def _add_along(rows, x, factor, m, out):
    """`out += factor rows^T x` (m,), with `rows` (3, m) and a vector `x`."""
    for i in range(m):
        out[i] += factor * (rows[0, i] * x[0] + rows[1, i] * x[1] + rows[2, i] * x[2])


@njit(cache=True)
def add_lines_transposed(flat, q, w, y, functions, kinematics, to_q, to_w):
    """Subtract the derivatives of the power of all lines at the virtual velocities `y` (nv,) from `to_q` and `to_w`
    (nv,). The attitudes of the bodies must be set."""
    for k in range(len(flat.line_kind)):
        b, first, last = flat.line_body[k], flat.line_station[k], flat.line_station[k + 1]
        m, qs, vs = flat.modes[b], flat.q_start[b] + 7, flat.v_start[b]
        eta, rate, virtual = q[qs : qs + m], w[vs + 6 : vs + 6 + m], y[vs + 6 : vs + 6 + m]
        v, omega, yv, yw, number = load3(w, vs), load3(w, vs + 3), load3(y, vs), load3(y, vs + 3), flat.line_numbers[k]
        factor, change = pace_of(flat, k, functions)
        air = scale(factor, rotate_inv(matrix(kinematics.attitude, b), load3(number, 3)))
        speed, faster, mass = factor * number[1], change * number[1], number[0]
        of_q, of_w = to_q[vs + 6 : vs + 6 + m], to_w[vs + 6 : vs + 6 + m]
        by_v, by_omega, by_turn = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for s in range(first, last):
            rows, slopes, length = flat.station_rows[s], flat.station_slopes[s], flat.station_length[s]
            r = add(load3(flat.station_point[s], 0), three_rows(rows, 0, eta, m))
            t = add(load3(flat.station_tangent[s], 0), three_rows(slopes, 0, eta, m))
            g = add(add(yv, cross(yw, r)), three_rows(rows, 0, virtual, m))
            if flat.line_kind[k] == FLOW:
                turning = add(cross(omega, t), three_rows(slopes, 0, rate, m))
                thrust = -mass * length * faster
                if s == first or s == last - 1:
                    thrust += (1.0 if s == first else -1.0) * mass * speed * speed
                coriolis = -2.0 * mass * length * speed
                force = add(scale(coriolis, turning), scale(thrust, t))
                by_r = cross(force, yw)
                by_t = add(scale(thrust, g), scale(coriolis, cross(g, omega)))
                by_t = add(by_t, scale(mass * speed * speed * length, three_rows(slopes, 0, virtual, m)))
                by_omega = add(by_omega, scale(coriolis, cross(t, g)))
                _add_along(slopes, g, -coriolis, m, of_w)
            else:
                u = sub(air, add(add(v, cross(omega, r)), three_rows(rows, 0, rate, m)))
                share = dot(u, t) / dot(t, t)
                axial = scale(share, t)
                across = sub(u, axial)
                size, sliding = math.sqrt(dot(across, across)), math.sqrt(dot(axial, axial))
                force = scale(length, add(scale(number[0] * size, across), scale(number[1] * sliding, axial)))
                by_u = push_change(number[0] * length, across, g)
                by_axial = sub(push_change(number[1] * length, axial, g), by_u)
                part = dot(by_axial, t) / dot(t, t)
                by_u = add(by_u, scale(part, t))
                by_t = add(scale(share, by_axial), scale(part, sub(u, scale(2.0 * share, t))))
                by_r = add(cross(force, yw), cross(omega, by_u))
                by_v, by_omega = sub(by_v, by_u), sub(by_omega, cross(r, by_u))
                by_turn = add(by_turn, cross(by_u, air))
                _add_along(rows, by_u, 1.0, m, of_w)
            _add_along(rows, by_r, -1.0, m, of_q)
            _add_along(slopes, by_t, -1.0, m, of_q)
        store(to_q, vs + 3, sub(load3(to_q, vs + 3), by_turn))
        store(to_w, vs, sub(load3(to_w, vs), by_v))
        store(to_w, vs + 3, sub(load3(to_w, vs + 3), by_omega))
