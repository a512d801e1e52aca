"""Bushing with a progressive radial stiffness and a coupling of displacement and tilt."""

from typing import Any

from flexmb.mechanism.frame_law import law


def _tangent(t: Any, relative: Any, states: Any, parameters: Any, stiffness: Any, damping: Any) -> None:
    """The derivatives of the wrench of `nonlinear_bushing`; `B` is the derivative of `(p, q, s)` by rotations."""
    radial, axial, tilt, twist = parameters[0], parameters[1], parameters[2], parameters[3]
    progressive, coupling = parameters[4], parameters[5]
    d, S = relative.d, relative.S
    trace = S[0, 0] + S[1, 1] + S[2, 2]
    along = (tilt, tilt, twist)
    g = (
        0.5 * tilt * (S[2, 1] - S[1, 2]) - coupling * d[1],
        0.5 * tilt * (S[0, 2] - S[2, 0]) + coupling * d[0],
        0.5 * twist * (S[1, 0] - S[0, 1]),
    )
    for i in range(3):
        damping[i, i], damping[3 + i, 3 + i] = parameters[6], parameters[7]
        stiffness[i, i] = radial + progressive * (d[0] * d[0] + d[1] * d[1]) if i < 2 else axial
        own = 0.5 * trace if i == 0 else 0.0, 0.5 * trace if i == 1 else 0.0  # row 0 and 1 of B = (tr(S) I - S) / 2
        first, second = own[0] - 0.5 * S[0, i], own[1] - 0.5 * S[1, i]
        stiffness[0, 3 + i], stiffness[1, 3 + i] = coupling * second, -coupling * first
        stiffness[3 + i, 0], stiffness[3 + i, 1] = coupling * second, -coupling * first
        for j in range(3):
            p, q = (j + 1) % 3, (j + 2) % 3
            total = 0.5 * (S[p, q] - S[q, p]) * g[i] + 0.5 * (S[q, i] * g[p] - S[p, i] * g[q])
            for k in range(3):
                left = 0.5 * ((trace if k == i else 0.0) - S[k, i])
                total += left * along[k] * 0.5 * ((trace if k == j else 0.0) - S[k, j])
            stiffness[3 + i, 3 + j] = total
    for i in range(2):
        for j in range(2):
            stiffness[i, j] += 2.0 * progressive * d[i] * d[j]


@law(
    parameters={
        "radial": None,
        "axial": None,
        "tilt": 0.0,
        "twist": 0.0,
        "progressive": 0.0,
        "coupling": 0.0,
        "damping": 0.0,
        "rotary_damping": 0.0,
    },
    non_negative=("radial", "axial", "tilt", "twist", "progressive", "damping", "rotary_damping"),
    tangent=_tangent,
)
def nonlinear_bushing(t: Any, relative: Any, states: Any, parameters: Any, wrench: Any, rates: Any) -> Any:
    """A rubber bushing about the axis z, with the stored energy

        radial r^2 / 2 + progressive r^4 / 4 + axial z^2 / 2
        + tilt (p^2 + q^2) / 2 + twist s^2 / 2 + coupling (x q - y p)

    in which `(x, y, z)` is the displacement, `r^2 = x^2 + y^2`, and `(p, q, s)` the sine of the angle of rotation times
    its axis (rotations of less than a quarter turn). `radial`, `axial` (force/length), `progressive` (force/length^3),
    `tilt`, `twist` (moment/rad), `coupling` (force/rad), `damping` (force time/length), `rotary_damping`
    (moment time/rad). The energy is positive if `coupling^2 < radial tilt`; other numbers, and rotations of a quarter
    turn, where the moment would fall, are errors.
    """
    radial, axial, tilt, twist = parameters[0], parameters[1], parameters[2], parameters[3]
    progressive, coupling, damping, rotary = parameters[4], parameters[5], parameters[6], parameters[7]
    d, S, v, omega = relative.d, relative.S, relative.v, relative.omega
    trace = S[0, 0] + S[1, 1] + S[2, 2]
    if trace <= 1.0:
        raise ValueError("the bushing is rotated by more than a quarter turn")
    if coupling != 0.0 and coupling * coupling >= radial * tilt:
        raise ValueError("coupling^2 must be less than radial * tilt, or the bushing would give energy")
    p, q, s = 0.5 * (S[2, 1] - S[1, 2]), 0.5 * (S[0, 2] - S[2, 0]), 0.5 * (S[1, 0] - S[0, 1])
    r2 = d[0] * d[0] + d[1] * d[1]
    stiff = radial + progressive * r2
    wrench[0] = -stiff * d[0] - coupling * q - damping * v[0]
    wrench[1] = -stiff * d[1] + coupling * p - damping * v[1]
    wrench[2] = -axial * d[2] - damping * v[2]
    # the rate of (p, q, s) is (tr(S) I - S) omega / 2
    a, b, c = tilt * p - coupling * d[1], tilt * q + coupling * d[0], twist * s
    for i in range(3):
        along = (a, b, c)[i]
        turned = S[0, i] * a + S[1, i] * b + S[2, i] * c
        wrench[3 + i] = -0.5 * (trace * along - turned) - rotary * omega[i]
    energy = 0.5 * radial * r2 + 0.25 * progressive * r2 * r2 + 0.5 * axial * d[2] * d[2]
    return energy + 0.5 * tilt * (p * p + q * q) + 0.5 * twist * s * s + coupling * (d[0] * q - d[1] * p)
