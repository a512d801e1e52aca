"""Forces of bodies that are linear in their own velocities: coupled damping and gyroscopic forces.

The matrix `C` of a body acts on its velocities `[v, omega, etadot]` in body axes: the force is `-C w`.
"""

from numba import njit


@njit(cache=True)
def add_velocity_forces(flat, w, out):
    """Add the forces of the velocity matrices of all bodies to `out` (nv,)."""
    for k in range(len(flat.velocity_body)):
        b = flat.velocity_body[k]
        start, n = flat.v_start[b], 6 + flat.modes[b]
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += flat.velocity_matrix[k, i, j] * w[start + j]
            out[start + i] -= total


@njit(cache=True)
def velocity_heat(flat, w):
    """The power that the velocity matrices of all bodies take."""
    total = 0.0
    for k in range(len(flat.velocity_body)):
        b = flat.velocity_body[k]
        start, n = flat.v_start[b], 6 + flat.modes[b]
        for i in range(n):
            for j in range(n):
                total += w[start + i] * flat.velocity_matrix[k, i, j] * w[start + j]
    return total
