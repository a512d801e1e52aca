"""The blade of the NREL 5 MW reference turbine, twisted and tapered, from its section tables: vibrations at rest and at 12.1 rpm.

Why this blade: its tables (Jonkman et al., "Definition of a 5-MW reference wind turbine for offshore system development", NREL/TP-500-38060, 2009) are public as the 6 x 6 matrices of the blade file of BeamDyn (OpenFAST,
Apache 2.0; the columns of nrel_5mw_blade.csv are their entries, in units of m, kg, s and degrees), and so are frequencies that another program computed from them: of the clamped blade at 12.1 rpm, one spectral element of
order 5, in the regression tests of OpenFAST (r-test, 5MW_Land_BD_Linear, frequencies.txt, blade 1). An element of order 5 does not resolve the higher modes, nor the second flapwise one to better than 4 %: the reference here is
the same kind of element, written independently of the beams of flexmb (displacements, strains by differentiation, trapezoidal sums over the stations). With order 5 it has the published frequencies; with order 16 it has
converged, and ours agree with it. Edgewise the published linearisation holds no centrifugal softening of the turning axes, (12.1 rpm)^2 = 0.041 Hz^2 of 1.235.
"""

from functools import cache
from pathlib import Path

import numpy as np
import scipy.linalg as sl
from numpy.polynomial import legendre

import fem
import flexmb
import reduction
from flexmb.linear import linearise, steady_motion
from validation.plot import Plot
from validation.row import Row

CASE = "reference-blade"
HUB = 1.5
SPEED = 12.1 * 2 * np.pi / 60
PUBLISHED = (0.740438615, 1.111274933, 2.088817603, 3.785403199, 4.954502781, 5.658668464, 8.460067837, 9.946689419)
NAMES = ("1st flap", "1st edge", "2nd flap", "2nd edge", "3rd flap", "1st torsion")
CELLS = 48


@cache
def _table() -> np.ndarray:
    return np.loadtxt(Path(__file__).with_name("nrel_5mw_blade.csv"), delimiter=",", skiprows=1)


def spectral(order: int, speed: float, count: int = 8) -> np.ndarray:
    """Frequencies (Hz) of one element with Gauss-Lobatto nodes; axes x flapwise out of the rotor, y, z along the blade."""
    z, twist, EA, GA, EIx, EIy, GJ, mass, Jx, Jy = _table().T
    length, n = z[-1], order + 1
    nodes = np.concatenate([[-1], legendre.Legendre.basis(order).deriv().roots().real, [1]])
    values = np.linalg.inv(legendre.legvander(nodes, order))
    s = 2 * z / length - 1
    N = legendre.legvander(s, order) @ values
    D = np.stack([legendre.Legendre(c).deriv()(s) for c in values.T], axis=1) * 2 / length
    w = (np.diff(z, append=length) + np.diff(z, prepend=0.0)) / 2
    pull = np.array([np.trapezoid((mass * (z + HUB))[k:], z[k:]) for k in range(len(z))]) * speed**2
    K, M = np.zeros((2, 6 * n, 6 * n))
    for k in range(len(z)):
        c, d = np.cos(np.deg2rad(twist[k])), np.sin(np.deg2rad(twist[k]))
        turn = np.kron(np.eye(2), [[c, d, 0], [-d, c, 0], [0, 0, 1]])
        S = turn @ np.diag([GA[k], GA[k], EA[k], EIx[k], EIy[k], GJ[k]]) @ turn.T
        m = turn @ np.diag([*3 * [mass[k]], Jx[k], Jy[k], Jx[k] + Jy[k]]) @ turn.T
        fields, strain = np.kron(N[k], np.eye(6)), np.kron(D[k], np.eye(6))
        slopes = strain[:2].copy()
        strain[0] -= fields[4]  # u' - theta x e_z
        strain[1] += fields[3]
        softening = speed**2 * mass[k] * fields[1:3].T @ fields[1:3]
        twisted = (EIx[k] + EIy[k]) / EA[k] * strain[5:].T @ strain[5:]  # the pull along turned fibres
        propeller = speed**2 * (m[3, 3] - m[4, 4]) * fields[5:].T @ fields[5:]
        K += w[k] * (strain.T @ S @ strain + pull[k] * (slopes.T @ slopes + twisted) - softening + propeller)
        M += w[k] * fields.T @ m @ fields
    return np.asarray(np.sqrt(sl.eigh(K[6:, 6:], M[6:, 6:], eigvals_only=True)[:count]) / (2 * np.pi))


def blade() -> flexmb.Body:
    """The blade as one reduced body of beams of its table, along z from the hub, its rotor turning about x."""
    z, twist, EA, GA, EIx, EIy, GJ, mass, Jx, Jy = _table().T
    stiffness, inertia = np.zeros((2, len(z), 6, 6))  # axes x along the blade, y flapwise, z edgewise
    for k, values in enumerate((EA, GA, GA, GJ, EIx, EIy)):
        stiffness[:, k, k] = values
    for k, values in enumerate((mass, mass, mass, Jx + Jy, Jx, Jy)):
        inertia[:, k, k] = values
    angle = np.deg2rad(twist)
    y = np.column_stack([np.cos(angle), -np.sin(angle), 0 * angle])
    table = fem.BeamTable(z + HUB, stiffness, inertia, y, along=(0.0, 0.0, 1.0), name="NREL 5 MW blade")
    mesh = fem.structured_meshes.line((0, 0, HUB), (0, 0, HUB + z[-1]), CELLS)
    model = fem.Model(mesh, table).with_interfaces(root=fem.Interface("start", point=(0, 0, 0)))
    return flexmb.flexible_body(model, reduction.craig_bampton(model, modes=16, reference_frame="root"), name="blade")


def turning(body: flexmb.Body) -> np.ndarray:
    """Frequencies (Hz) about steady rotation."""
    system = flexmb.System(name=CASE)
    placed = system.add(body)
    system.revolute("rotor", system.ground.at((0, 0, 0)), placed["root"], axis=(1, 0, 0))
    system.drive("rotor", flexmb.time_functions.constant_speed(SPEED))
    return np.asarray(linearise(steady_motion(system)).modes().frequencies)


def run() -> list[Row | Plot]:
    """Published frequencies, the converged reference, and ours."""
    body = blade()
    z, mass = _table()[:, 0], _table()[:, 7]
    total = float(np.trapezoid(mass, z))
    coarse = spectral(5, SPEED)
    rows: list[Row | Plot] = [
        Row(CASE, "mass", total, "recomputed", body.invariants.mass, abs(body.invariants.mass / total - 1), 1e-3)
    ]
    for k, (a, b) in enumerate(zip(PUBLISHED, coarse, strict=True)):
        rows.append(
            Row(
                CASE, f"frequency {k + 1} at 12.1 rpm, order 5", a, "paper", b, abs(b / a - 1), 2e-2 if k == 1 else 3e-3
            )
        )
    at_rest, at_speed = spectral(16, 0.0), spectral(16, SPEED)
    ours = turning(body)
    for k, name in enumerate(NAMES):
        a, b = float(at_rest[k]), float(body.frequencies[k])
        rows.append(Row(CASE, f"{name} at rest", a, "recomputed", b, abs(b / a - 1), 5e-3))
        a, b = float(at_speed[k]), float(ours[k])
        rows.append(Row(CASE, f"{name} at 12.1 rpm", a, "recomputed", b, abs(b / a - 1), 5e-3))
    for k in (0, 1):
        a, b = PUBLISHED[k], float(ours[k])
        rows.append(Row(CASE, f"{NAMES[k]} at 12.1 rpm, published", a, "paper", b, abs(b / a - 1), (1e-2, 2.5e-2)[k]))
    orders = np.array([4, 5, 6, 8, 10, 12, 16])
    found = np.array([spectral(int(p), SPEED) for p in orders])
    lines = {f"{name}, spectral": (orders.astype(float), found[:, k] / ours[k]) for k, name in enumerate(NAMES)}
    lines["published"] = (np.full(6, 5.0), np.array(PUBLISHED[:6]) / ours[:6])
    return [*rows, Plot("Frequencies of the blade at 12.1 rpm", "order of the spectral element", "frequency over ours", lines)]  # fmt: skip
