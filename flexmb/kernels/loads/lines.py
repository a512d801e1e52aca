"""Loads along lines of bodies: fluid that flows through a pipe, and wind.

A line is a sequence of stations, fixed to a body, with positions `x`, unit tangents `t` and lengths (the weights of a
quadrature), the elastic displacements `Psi` and their slopes `Psi'` along the line. In body axes, a station is at `r =
x + Psi eta`, has the tangent `r' = t + Psi' eta`, and the rates

    r^ = v + omega x r + Psi etadot,    r'^ = omega x r' + Psi' etadot.

**Flow** with the speed `U(t)` relative to the pipe and the mass `m` per length accelerates by `2 U r'^ + U' r' + U^2
r''` beyond the pipe itself, whose acceleration acts on its own mass and that of the fluid. The virtual work of the last
term is integrated by parts,

    - m U^2 [r' . dr] + int m U^2 r' . dr' ds,

so that its stiffness is symmetric and the Coriolis matrix of a pipe with held ends is skew. Source: Paidoussis,
Fluid-Structure Interactions 1 (1998), chapter 3.

**Wind** presses across the line with `density diameter |u| u / 2` times a coefficient, and along it with another one,
in which `u` is the velocity of the air relative to the station.
"""

import math

from numba import njit

from flexmb.kernels.base.algebra import add, cross, dot, load3, matrix, rotate_inv, scale, sub
from flexmb.kernels.base.dense import three_rows

FLOW, WIND = 0, 1
"""Kinds of lines."""


@njit(cache=True)
def pace_of(flat, k, functions):
    """The factor of line `k` at the instant of `functions`, and its rate."""
    f = flat.line_function[k]
    return (functions[f, 0], functions[f, 1]) if f >= 0 else (1.0, 0.0)


@njit(cache=True)
def push_change(factor, x, dx):
    """The change of `factor |x| x` with that of `x`: the product of its derivative, which is symmetric, with `dx`."""
    size = math.sqrt(dot(x, x))
    if size == 0.0:
        return (0.0, 0.0, 0.0)
    return add(scale(factor * size, dx), scale(factor * dot(x, dx) / size, x))


@njit(cache=True)
def line_force(flat, k, q, w, functions, kinematics, out):
    """Add the generalised forces of line `k` to `out` (nv,). The attitudes of the bodies must be set."""
    b, first, last = flat.line_body[k], flat.line_station[k], flat.line_station[k + 1]
    m, qs, vs = flat.modes[b], flat.q_start[b] + 7, flat.v_start[b]
    eta, rate = q[qs : qs + m], w[vs + 6 : vs + 6 + m]
    v, omega, number = load3(w, vs), load3(w, vs + 3), flat.line_numbers[k]
    factor, change = pace_of(flat, k, functions)
    air = scale(factor, rotate_inv(matrix(kinematics.attitude, b), load3(number, 3)))
    speed, faster, mass = factor * number[1], change * number[1], number[0]
    for s in range(first, last):
        rows, slopes, length = flat.station_rows[s], flat.station_slopes[s], flat.station_length[s]
        r = add(load3(flat.station_point[s], 0), three_rows(rows, 0, eta, m))
        t = add(load3(flat.station_tangent[s], 0), three_rows(slopes, 0, eta, m))
        along = 0.0  # force in the direction of the tangent that works on its changes
        if flat.line_kind[k] == FLOW:
            turning = add(cross(omega, t), three_rows(slopes, 0, rate, m))
            force = scale(-mass * length, add(scale(2.0 * speed, turning), scale(faster, t)))
            along = mass * speed * speed * length
            if s == first or s == last - 1:
                force = add(force, scale((1.0 if s == first else -1.0) * mass * speed * speed, t))
        else:
            u = sub(air, add(add(v, cross(omega, r)), three_rows(rows, 0, rate, m)))
            axial = scale(dot(u, t) / dot(t, t), t)
            across = sub(u, axial)
            force = add(
                scale(number[0] * length * math.sqrt(dot(across, across)), across),
                scale(number[1] * length * math.sqrt(dot(axial, axial)), axial),
            )
        moment = cross(r, force)
        for i in range(3):
            out[vs + i] += force[i]
            out[vs + 3 + i] += moment[i]
        for i in range(m):
            out[vs + 6 + i] += (
                rows[0, i] * force[0] + rows[1, i] * force[1] + rows[2, i] * force[2]
                + along * (slopes[0, i] * t[0] + slopes[1, i] * t[1] + slopes[2, i] * t[2])
            )  # fmt: skip


@njit(cache=True)
def add_lines(flat, q, w, functions, kinematics, out):
    """Add the generalised forces of all lines to `out` (nv,)."""
    for k in range(len(flat.line_kind)):
        line_force(flat, k, q, w, functions, kinematics, out)
