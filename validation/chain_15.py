"""A chain of fifteen bars with spherical joints: three hanging arches, released at all supports but one; and the same chain between two bars that are driven at 20 rad/s.

Both examples are those of Borri, Franchi and Mantegazza ("More Than Redundant Coordinates Formulation in Rigid Multibody Dynamics", NATO ASI 1993, and gravity 32.174 ft/s^2); the data of the bars are lost, those here are
ours (1 ft, 1 slug). Each of the three arches hangs on nodes 1, 6, 11 and 16 in its equilibrium, in which the slopes of its bars are an arithmetic series. After the release, each bar falls almost freely
until its neighbour jerks it. The reference is Lagrange's equations in the fifteen angles, which are those of a multiple pendulum; drivers and the far support add multipliers.

The driven chain starts by a blow: its initial velocities are those of least kinetic energy with both end bars at speed. Its motion is symmetric, but not stable: disturbances grow 100,000-fold in 0.5 s, and the authors report
that programs differ after the first of three phases. The comparison comprises the first two (0.33 s), in which a spatial simulation must remain in its plane and symmetric.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import flexmb
from validation.plot import Plot
from validation.row import Row

CASE = "chain-15"
BARS, LENGTH, MASS, GRAVITY = 15, 1.0, 1.0, 32.174
SLOPES = np.tile(np.arange(-2.0, 3.0), 3)
"""Of the bars of each arch at rest: weight of a bar over the horizontal force, times the number of bars from the middle."""
ARCHES = np.arctan(SLOPES)
SPEED, DURATION, TWO_PHASES = 20.0, 1.5, 0.33
ACROSS = MASS * (3 * (LENGTH / 100) ** 2 + LENGTH**2) / 12
X = (1.0, 0.0, 0.0)


def nodes(angles: np.ndarray) -> np.ndarray:
    """Places (16, 3) of the joints, in the plane of y and z."""
    steps = LENGTH * np.column_stack([0 * angles, np.cos(angles), np.sin(angles)])
    return np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])


def build(supports: tuple[int, ...], driven: bool = False) -> flexmb.System:
    """The chain as it hangs; `supports`: numbers of the nodes (from 1) that ball joints, or driven hinges, connect to the ground."""
    system = flexmb.System(gravity=(0, 0, -GRAVITY), name=CASE)
    places, before = nodes(ARCHES), None
    rod = flexmb.uniform_rod("bar", mass=MASS, length=LENGTH)
    for k, angle in enumerate(ARCHES):
        attitude = Rotation.from_rotvec([angle, 0, 0]) * Rotation.from_rotvec([0, 0, np.pi / 2])
        bar = system.add(rod, name=f"bar {k + 1}", position=places[k], orientation=attitude.as_rotvec())
        if before is not None:
            system.spherical(f"joint {k + 1}", before["end"], bar["start"])
        if k + 1 in supports:
            _support(system, k + 1, bar["start"], SPEED if driven else None)
        before = bar
    if BARS + 1 in supports and before is not None:
        _support(system, BARS + 1, before["end"], -SPEED if driven else None)
    return system


def _support(
    system: flexmb.System, node: int, place: flexmb.mechanism.attachments.Attachment, speed: float | None
) -> None:
    at = system.ground.at(nodes(ARCHES)[node - 1])
    if speed is None:
        system.spherical(f"support {node}", at, place)
    else:
        system.revolute(f"support {node}", at, place, axis=X)
        system.drive(f"support {node}", flexmb.time_functions.constant_speed(speed))


def _lagrange(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients (15, 15) of the products of speeds in the kinetic energy without their cosines, the mass matrix, and the moments of the weights."""
    later = BARS - 1 - np.arange(BARS)
    A = MASS * LENGTH**2 * (0.5 + np.minimum.outer(later, later))
    np.fill_diagonal(A, MASS * LENGTH**2 * (0.25 + later) + ACROSS)
    M = A * np.cos(angles[:, None] - angles)
    return A, M, -MASS * GRAVITY * LENGTH * (0.5 + later) * np.cos(angles)


def exact(times: np.ndarray, driven: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles, speeds and accelerations (nt, 15) of the chain on node 1; `driven`: its end bars turn and node 16 is held."""

    def rows(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, v = y[:BARS], y[BARS:]
        if not driven:
            return np.zeros((0, BARS)), np.zeros(0)
        ends = np.eye(BARS)[[0, -1]]
        loop = LENGTH * np.array([-np.sin(q), np.cos(q)])
        bend = LENGTH * np.array([-np.cos(q), -np.sin(q)]) @ v**2
        return np.vstack([ends, loop]), np.concatenate([[0.0, 0.0], bend])

    def accelerations(y: np.ndarray) -> np.ndarray:
        q, v = y[:BARS], y[BARS:]
        A, M, F = _lagrange(q)
        G, gamma = rows(y)
        F = F - (A * np.sin(q[:, None] - q)) @ v**2
        K = np.block([[M, G.T], [G, np.zeros((len(G), len(G)))]])
        return np.asarray(np.linalg.solve(K, np.concatenate([F, -gamma]))[:BARS])

    v0 = np.zeros(BARS)
    if driven:
        y0 = np.concatenate([ARCHES, v0])
        M, (G, _) = _lagrange(ARCHES)[1], rows(y0)
        K = np.block([[M, G.T], [G, np.zeros((4, 4))]])
        v0 = np.linalg.solve(K, np.concatenate([v0, [SPEED, -SPEED, 0.0, 0.0]]))[:BARS]
    y = solve_ivp(
        lambda t, y: np.concatenate([y[BARS:], accelerations(y)]),
        (0.0, times[-1]),
        np.concatenate([ARCHES, v0]),
        method="DOP853",
        t_eval=times,
        rtol=1e-13,
        atol=1e-13,
    ).y.T
    return y[:, :BARS], y[:, BARS:], np.array([accelerations(one) for one in y])


def _centres(angles: np.ndarray) -> np.ndarray:
    """Places (nt, 15, 3) of the mass centres."""
    return np.array([(nodes(a)[1:] + nodes(a)[:-1]) / 2 for a in angles])


def joint_force(angles: np.ndarray, speeds: np.ndarray, accelerations: np.ndarray, bar: int) -> np.ndarray:
    """Force (nt, 3) on the first end of `bar`, which accelerates it and all bars behind it."""
    along = np.stack([0 * angles, np.cos(angles), np.sin(angles)], axis=-1)
    across = np.stack([0 * angles, -np.sin(angles), np.cos(angles)], axis=-1)
    steps = LENGTH * (accelerations[..., None] * across - speeds[..., None] ** 2 * along)
    centres = np.cumsum(steps, axis=1) - steps / 2
    return np.asarray(MASS * (centres[:, bar - 1 :] + [0, 0, GRAVITY]).sum(axis=1))


def _released() -> list[Row | Plot]:
    result = flexmb.simulate(build((1,)), DURATION, method="radau", tolerance=1e-10, output_step=1.5e-3)
    angles, speeds, accelerations = exact(np.array(result.t))
    centres = _centres(angles)
    rows: list[Row | Plot] = []
    lines: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for bar in (3, 8, 13):
        ours = result.position(f"bar {bar}", point=(LENGTH / 2, 0, 0))
        error = float(np.abs(ours - centres[:, bar - 1]).max())
        rows.append(Row(CASE, f"released: mass centre of bar {bar}, largest error (ft)", 0.0, "recomputed", error, error, 1e-6))  # fmt: skip
        lines |= {f"bar {bar}": (result.t, ours[:, 2]), f"reference {bar}": (result.t, centres[:, bar - 1, 2])}
    force, reference = (np.linalg.norm(f, axis=1) for f in (result.reaction("joint 8")[:, :3], joint_force(angles, speeds, accelerations, 8)))  # fmt: skip
    error = float(np.abs(force - reference).max() / reference.max())
    rows.append(Row(CASE, "released: force in joint 8, largest error / its peak", 0.0, "recomputed", error, error, 1e-5))  # fmt: skip
    forces = {"joint 8": (result.t, force), "reference": (result.t, reference)}
    return [*rows, Plot("Released: mass centres", "time (s)", "z (ft)", lines), Plot("Released: force in joint 8", "time (s)", "lbf", forces)]  # fmt: skip


def _driven() -> list[Row | Plot]:
    result = flexmb.simulate(build((1, BARS + 1), driven=True), TWO_PHASES, method="radau", tolerance=1e-10, output_step=1e-3)  # fmt: skip
    centres = _centres(exact(np.array(result.t), driven=True)[0])
    ours = np.stack([result.position(f"bar {k + 1}", point=(LENGTH / 2, 0, 0)) for k in range(BARS)], axis=1)
    error = float(np.abs(ours - centres).max())
    mirrored = ours[:, ::-1] * [1, -1, 1] + [0, nodes(ARCHES)[-1, 1], 0]
    asymmetry, outside = float(np.abs(ours - mirrored).max()), float(np.abs(ours[..., 0]).max())
    lines = {"bar 8": (result.t, ours[:, 7, 2]), "reference 8": (result.t, centres[:, 7, 2])}
    return [
        Row(CASE, "driven: mass centres of all bars, largest error (ft)", 0.0, "recomputed", error, error, 1e-6),
        Row(CASE, "driven: deviation from symmetry (ft)", 0.0, "exact", asymmetry, asymmetry, 1e-6),
        Row(CASE, "driven: motion out of the plane (ft)", 0.0, "exact", outside, outside, 1e-9),
        Plot("Driven ends: mass centre of the middle bar", "time (s)", "z (ft)", lines),
    ]


def run() -> list[Row | Plot]:
    """The arches at rest, the release, and the driven chain."""
    held = build((1, 6, 11, 16)).build()
    unrest = float(np.abs(flexmb.accelerations(held, held.initial)[0]).max() / GRAVITY)
    hanging = Row(
        CASE, "arches at rest: largest acceleration / gravity", 0.0, "exact", unrest, unrest, 1e-10
    )  # round-off of the weights over the axial inertia of a thin bar (5e-5)
    return [hanging, *_released(), *_driven()]
