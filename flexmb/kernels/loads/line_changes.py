"""Derivatives of loads along lines in the direction of a motion of their bodies (flexmb/kernels/loads/lines.py)."""

import math

from numba import njit

from flexmb.kernels.base.algebra import add, cross, dot, load3, matrix, rotate_inv, scale, sub
from flexmb.kernels.base.dense import three_rows
from flexmb.kernels.loads.lines import FLOW, pace_of, push_change


@njit(cache=True)
def add_line_changes(flat, q, w, moved, gamma, functions, kinematics, out):
    """Add the changes of the generalised forces of all lines to `out` (nv,), for displacements `moved` (nv,) of the
    bodies, in their axes, and changes `gamma moved` of their velocities. The attitudes of the bodies must be set."""
    for k in range(len(flat.line_kind)):
        b, first, last = flat.line_body[k], flat.line_station[k], flat.line_station[k + 1]
        m, qs, vs = flat.modes[b], flat.q_start[b] + 7, flat.v_start[b]
        eta, rate, moved_eta = q[qs : qs + m], w[vs + 6 : vs + 6 + m], moved[vs + 6 : vs + 6 + m]
        v, omega, number = load3(w, vs), load3(w, vs + 3), flat.line_numbers[k]
        turn = load3(moved, vs + 3)
        dv, domega = scale(gamma, load3(moved, vs)), scale(gamma, turn)
        factor, change = pace_of(flat, k, functions)
        air = scale(factor, rotate_inv(matrix(kinematics.attitude, b), load3(number, 3)))
        dair = cross(air, turn)
        speed, faster, mass = factor * number[1], change * number[1], number[0]
        for s in range(first, last):
            rows, slopes, length = flat.station_rows[s], flat.station_slopes[s], flat.station_length[s]
            r = add(load3(flat.station_point[s], 0), three_rows(rows, 0, eta, m))
            t = add(load3(flat.station_tangent[s], 0), three_rows(slopes, 0, eta, m))
            dr, dt = three_rows(rows, 0, moved_eta, m), three_rows(slopes, 0, moved_eta, m)
            along = 0.0
            if flat.line_kind[k] == FLOW:
                turning = add(cross(omega, t), three_rows(slopes, 0, rate, m))
                dturning = add(add(cross(domega, t), cross(omega, dt)), scale(gamma, dt))
                force = scale(-mass * length, add(scale(2.0 * speed, turning), scale(faster, t)))
                dforce = scale(-mass * length, add(scale(2.0 * speed, dturning), scale(faster, dt)))
                along = mass * speed * speed * length
                if s == first or s == last - 1:
                    thrust = (1.0 if s == first else -1.0) * mass * speed * speed
                    force, dforce = add(force, scale(thrust, t)), add(dforce, scale(thrust, dt))
            else:
                u = sub(air, add(add(v, cross(omega, r)), three_rows(rows, 0, rate, m)))
                du = sub(dair, add(add(dv, cross(domega, r)), add(cross(omega, dr), scale(gamma, dr))))
                share = dot(u, t) / dot(t, t)
                dshare = (dot(du, t) + dot(u, dt) - 2.0 * share * dot(t, dt)) / dot(t, t)
                axial = scale(share, t)
                across = sub(u, axial)
                daxial = add(scale(dshare, t), scale(share, dt))
                dacross = sub(du, daxial)
                force = add(
                    scale(number[0] * length * math.sqrt(dot(across, across)), across),
                    scale(number[1] * length * math.sqrt(dot(axial, axial)), axial),
                )
                dforce = add(
                    push_change(number[0] * length, across, dacross), push_change(number[1] * length, axial, daxial)
                )
            dmoment = add(cross(dr, force), cross(r, dforce))
            for i in range(3):
                out[vs + i] += dforce[i]
                out[vs + 3 + i] += dmoment[i]
            for i in range(m):
                out[vs + 6 + i] += (
                    rows[0, i] * dforce[0] + rows[1, i] * dforce[1] + rows[2, i] * dforce[2]
                    + along * (slopes[0, i] * dt[0] + slopes[1, i] * dt[1] + slopes[2, i] * dt[2])
                )  # fmt: skip
