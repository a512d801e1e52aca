"""Loads of a mechanism whose motion is prescribed completely: actuator torques and reactions of a column that turns, and of an arm hinged to it.

Schiehlen ("Dynamic loads in kinematically determined multibody systems", EUROMECH Colloquium 524, 2012): if f rheonomic and q scleronomic constraints determine all coordinates of p bodies, 6 p = f + q, the first set of equations gives the loads of
the actuators, the second the reactions; both serve for the strength of the bodies, first without their vibrations. He prints no data; those here are ours. The reference is Newton's and Euler's equations of both bodies,
by hand, with all twelve components in space.

Then the arm is an elastic beam that vibrates hardly (its first frequency is 38 Hz, the motion takes 2 s), and its largest stress is that of the load of the section next to its root.
"""

import numpy as np

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.linear import equilibrium
from flexmb.mechanism.time_functions import smooth_step
from flexmb.results.stress import largest_stress
from validation.plot import Plot
from validation.row import Row

CASE = "rheonomic-loads"
GRAVITY = np.array([0.0, 0.0, -9.81])
COLUMN, COLUMN_CENTRE, COLUMN_INERTIA = 8.0, np.array([0.03, -0.02, 0.4]), np.array([0.6, 0.5, 0.1])
SHOULDER = np.array([0.1, 0.05, 0.9])
LENGTH, SIDE, DENSITY = 0.8, 0.03, 2700.0
ARM = DENSITY * LENGTH * SIDE**2
ARM_INERTIA = ARM * np.array([2 * SIDE**2, SIDE**2 + LENGTH**2, SIDE**2 + LENGTH**2]) / 12
DURATION = 2.0
TURN, LIFT = (smooth_step(0.0, DURATION, height, derivatives=6) for height in (2.0, 1.2))
X, Y, Z = np.eye(3)


def rigid_arm() -> flexmb.Body:
    """The uniform square bar, along its x."""
    return flexmb.rigid_body("arm", mass=ARM, inertia=tuple(ARM_INERTIA), centre=(LENGTH / 2, 0, 0), points={"root": (0, 0, 0)})  # fmt: skip


def elastic_arm() -> flexmb.Body:
    """The same bar of aluminium, by beam elements; its static shapes are exact for a force at the root and the inertia forces that balance it."""
    beam = fem.Beam(fem.Material.isotropic(7e10, 0.3, DENSITY), fem.Section.rectangle(SIDE, SIDE))
    part = fem.Model(line((0, 0, 0), (LENGTH, 0, 0), 20), beam, name="arm").with_interfaces(root="start")
    return flexmb.flexible_body(part, reduction.krylov(part, 4, reference_frame="root"))


def build(arm: flexmb.Body) -> flexmb.System:
    """The column turns about z, the arm about the column's y."""
    system = flexmb.System(gravity=tuple(GRAVITY), name=CASE)
    points = {"foot": (0, 0, 0), "shoulder": tuple(SHOULDER)}
    column = system.add(flexmb.rigid_body("column", mass=COLUMN, inertia=tuple(COLUMN_INERTIA), centre=tuple(COLUMN_CENTRE), points=points))  # fmt: skip
    bar = system.add(arm, position=tuple(SHOULDER))
    system.revolute("foot", system.ground, column["foot"], axis=tuple(Z))
    system.revolute("shoulder", column["shoulder"], bar["root"], axis=tuple(-Y))
    system.drive("foot", TURN)
    system.drive("shoulder", LIFT)
    return system


def _turned(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation matrix (3, 3), by Rodrigues' formula."""
    K = np.cross(np.eye(3), axis)
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)


def loads(t: float, cut: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Force and moment (6,) on the column at its foot, on the arm at the distance `cut` from its root, by Newton and Euler for what lies beyond; and the arm's axes (3, 3)."""
    length, mass = LENGTH - cut, ARM * (1 - cut / LENGTH)
    J2 = mass * np.array([2 * SIDE**2, SIDE**2 + length**2, SIDE**2 + length**2]) / 12
    (a, da, dda), (b, db, ddb) = TURN(t), LIFT(t)
    R = _turned(Z, a)
    hinge = R @ -Y
    S = R @ _turned(-Y, b)
    w, dw = da * Z, dda * Z
    v, dv = w + db * hinge, dw + ddb * hinge + np.cross(w, db * hinge)

    def inertia_load(m: float, J: np.ndarray, axes: np.ndarray, acceleration: np.ndarray, w: np.ndarray, dw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        world = axes @ np.diag(J) @ axes.T
        return m * (acceleration - GRAVITY), world @ dw + np.cross(w, world @ w)

    def carried(arm: np.ndarray, w: np.ndarray, dw: np.ndarray) -> np.ndarray:
        return np.asarray(np.cross(dw, arm) + np.cross(w, np.cross(w, arm)))

    shoulder, centre, middle = R @ SHOULDER, R @ COLUMN_CENTRE, S @ ((LENGTH + cut) / 2 * X)
    F2, N2 = inertia_load(mass, J2, S, carried(shoulder, w, dw) + carried(middle, v, dv), v, dv)
    root = np.concatenate([F2, N2 + np.cross(middle - S @ (cut * X), F2)])
    F1, N1 = inertia_load(COLUMN, COLUMN_INERTIA, R, carried(centre, w, dw), w, dw)
    foot = np.concatenate([F1 + F2, N1 + np.cross(centre, F1) + root[3:] + np.cross(shoulder, F2)])
    return foot, root, S


def run() -> list[Row | Plot]:
    """Twelve components, two torques, and the largest stress."""
    system = build(rigid_arm())
    result = flexmb.simulate(system, DURATION, method="radau", tolerance=1e-11, output_step=DURATION / 200)
    t = np.array(result.t)
    hand = [loads(float(x)) for x in t]
    references = {"foot": np.array([h[0] for h in hand]), "shoulder": np.array([h[1] for h in hand])}
    jacobian = flexmb.constraint_jacobian(system, result.state(0)).toarray()
    lacking = float(abs(jacobian.shape[0] - 12) + 12 - np.linalg.matrix_rank(jacobian))
    rows: list[Row | Plot] = [Row(CASE, "6 p = f + q equations, less independent ones", 0.0, "exact", lacking, lacking, 0.0)]  # fmt: skip
    lines: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for joint, axis in (("foot", Z), ("shoulder", -Y)):
        reference = references[joint]
        for part, columns in (("force", slice(0, 3)), ("moment", slice(3, 6))):
            error = float(np.abs(result.reaction(joint)[:, columns] - reference[:, columns]).max() / np.abs(reference[:, columns]).max())  # fmt: skip
            rows.append(Row(CASE, f"{part} in the {joint}, largest error / largest component", 0.0, "recomputed", error, error, 1e-9))  # fmt: skip
        directions = np.array([_turned(Z, TURN(float(x))[0]) @ axis for x in t])
        torque = np.einsum("ti,ti->t", reference[:, 3:], directions)
        ours = result.drive_effort(joint)
        error = float(np.abs(ours - torque).max() / np.abs(torque).max())
        rows.append(Row(CASE, f"actuator of the {joint}, largest error / largest torque", 0.0, "recomputed", error, error, 1e-9))  # fmt: skip
        lines |= {joint: (t, ours), f"reference: {joint}": (t, torque)}
    bent = build(elastic_arm())
    elastic = flexmb.simulate(bent, DURATION, initial_state=equilibrium(bent), method="radau", tolerance=1e-8, output_step=DURATION / 200)  # fmt: skip
    largest = largest_stress(elastic, "arm")  # at the Gauss point next to the root
    stress = largest.values
    exact = np.array([_largest_normal_stress(*loads(float(x), float(p[0]))[1:]) for x, p in zip(t, largest.x, strict=True)])  # fmt: skip
    error = float(np.abs(stress - exact).max() / exact.max())
    rows.append(
        Row(CASE, "elastic arm: error of the largest stress / its peak", 0.0, "exact", error, error, 2e-3)
    )  # elements and vibration
    stresses = {"elastic arm": (t, stress / 1e6), "reference: rigid arm, by hand": (t, exact / 1e6)}
    return [*rows, Plot("Torques of the actuators", "time (s)", "N m", lines), Plot("Largest stress of the arm", "time (s)", "MPa", stresses)]  # fmt: skip


def _largest_normal_stress(wrench: np.ndarray, axes: np.ndarray) -> float:
    """The largest normal stress at the corners of the section."""
    force, moment = axes.T @ wrench[:3], axes.T @ wrench[3:]
    return float(abs(force[0]) / SIDE**2 + 6 * (abs(moment[1]) + abs(moment[2])) / SIDE**3)
