"""The benchmark bicycle: rider and frame, front fork and two thin wheels that roll without slip, linearised about steady running and simulated.

The bicycle has four rigid bodies, three hinges (rear axle, steering head, front axle) and two wheels that roll on a plane: seven coordinates, but three velocities, since rolling restricts velocities and no positions. Five of the coordinates
(place, heading, angles of the wheels) change nothing; the lean and the steering angle have four eigenvalues, which depend on the speed. Between the weave speed and the capsize speed the bicycle is stable without a rider who balances it. The parameters
and the reference are those of Meijaard, Papadopoulos, Ruina and Schwab (Proceedings of the Royal Society A 463, 2007), who derive the linear equations by hand and give eigenvalues to fourteen digits. A nonlinear simulation with a small push follows the linear equations.
"""

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq

import flexmb
from flexmb.linear import linearise
from validation.plot import Plot
from validation.row import Row

CASE = "bicycle"
G, WHEELBASE, TRAIL, TILT = 9.81, 1.02, 0.08, np.pi / 10
REAR, FRONT = 0.3, 0.35
"""Radii of the wheels."""
MASSES = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
GRAVITY = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
SPEEDED = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
DAMPING = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
"""The matrices of the linear equations of lean and steering angle, published to fourteen digits (table 2)."""
PUBLISHED: dict[float, tuple[complex, ...]] = {
    0.0: (-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393),
    1.0: (-7.11008014637442, -3.13423125066578, 3.52696170990070 + 0.80774027519930j),
    2.0: (-8.67387984831735, -3.07158645641514, 2.68234517512745 + 1.68066296590675j),
    3.0: (-10.35101467245920, -2.63366137253667, 1.70675605663975 + 2.31582447384325j),
    4.0: (-12.15861426576447, -1.42944427361326, 0.41325331521125 + 3.07910818603206j),
    5.0: (-14.07838969279822, -0.32286642900409, -0.77534188219585 + 4.46486771378823j),
    6.0: (-16.08537123098026, -0.00406690076970, -1.52644486584142 + 5.87673060598709j),
    7.0: (-18.15788466125262, 0.10268170574766, -2.13875644258362 + 7.19525913329805j),
    8.0: (-20.27940894394569, 0.14327879765713, -2.69348683581097 + 8.46037971396931j),
    9.0: (-22.43788559040858, 0.15790184030917, -3.21675402252485 + 9.69377351531791j),
    10.0: (-24.62459635017404, 0.16105338653172, -3.72016840437287 + 10.90681139476287j),
}
WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837


def bicycle(speed: float, leaning: float = 0.0) -> flexmb.System:
    """The bicycle upright at `speed` along x (z is up), pushed so that it leans with an initial rate."""
    system = flexmb.System(gravity=(0, 0, -G), name=CASE, units="SI")

    def part(
        name: str, mass: float, at: tuple, inertia: list, spin: float = 0.0
    ) -> flexmb.mechanism.attachments.BodyHandle:
        body = flexmb.rigid_body(name, mass=mass, inertia=np.array(inertia))
        velocity = (speed, -leaning * at[2], 0)
        return system.add(body, position=at, velocity=velocity, angular_velocity=(leaning, spin, 0))

    frame = part("frame", 85.0, (0.3, 0, 0.9), [[9.2, 0, -2.4], [0, 11.0, 0], [-2.4, 0, 2.8]])
    fork = part("fork", 4.0, (0.9, 0, 0.7), [[0.05892, 0, 0.00756], [0, 0.06, 0], [0.00756, 0, 0.00708]])
    rear = part("rear wheel", 2.0, (0, 0, REAR), np.diag([0.0603, 0.12, 0.0603]).tolist(), speed / REAR)
    front = part("front wheel", 3.0, (WHEELBASE, 0, FRONT), np.diag([0.1405, 0.28, 0.1405]).tolist(), speed / FRONT)
    head = (-np.sin(TILT), 0, np.cos(TILT))
    system.revolute("steering", frame, fork, axis=head, at=(WHEELBASE + TRAIL, 0, 0))
    system.revolute("rear axle", frame, rear, axis=(0, 1, 0), at=(0, 0, REAR))
    system.revolute("front axle", fork, front, axis=(0, 1, 0), at=(WHEELBASE, 0, FRONT))
    system.rolling("rear contact", system.ground, rear, radius=REAR, axis=(0, 1, 0), at=(0, 0, REAR))
    system.rolling("front contact", system.ground, front, radius=FRONT, axis=(0, 1, 0), at=(WHEELBASE, 0, FRONT))
    system.set_speed("steering", 0.0)
    return system


def eigenvalues(speed: float) -> np.ndarray:
    """The eigenvalues of lean and steering (real ones, and one of each pair), sorted by their real parts."""
    vibration = linearise(bicycle(speed)).modes()
    own = vibration.eigenvalues[~vibration.ignorable]
    return np.sort_complex(np.delete(own, np.abs(own).argmin()))  # without the zero of the forward speed


def published_matrix(speed: float) -> np.ndarray:
    """The matrix (4, 4) of lean, steering angle and their rates, from the published matrices."""
    stiffness = np.linalg.solve(MASSES, G * GRAVITY + speed**2 * SPEEDED)
    return np.block([[np.zeros((2, 2)), np.eye(2)], [-stiffness, -np.linalg.solve(MASSES, speed * DAMPING)]])


def _eigenvalues() -> list[Row | Plot]:
    speeds = np.array(list(PUBLISHED))
    found = {v: eigenvalues(v) for v in speeds}
    worst = {v: float(np.abs(found[v] - np.sort_complex(np.array(PUBLISHED[v]))).max()) for v in speeds}
    weave = float(brentq(lambda v: eigenvalues(v)[np.abs(eigenvalues(v).imag).argmax()].real, 4.2, 4.4, xtol=1e-11))
    near = np.linspace(6.0, 6.05, 6)  # at the limit itself the eigenvalue is zero within its error
    capsize = float(np.polynomial.Polynomial.fit([eigenvalues(v)[-1].real for v in near], near, 5)(0.0))
    dense = np.linspace(0, 10, 201)
    return [
        Row(CASE, "eigenvalues at 0 to 10 m/s, largest error (1/s)", 0.0, "published", max(worst.values()), max(worst.values()), 2e-8),
        Row(CASE, "weave speed (m/s)", WEAVE, "published", weave, abs(weave / WEAVE - 1), 1e-9),
        Row(CASE, "capsize speed (m/s)", CAPSIZE, "published", capsize, abs(capsize / CAPSIZE - 1), 1e-7),
        Plot("Real parts of the eigenvalues over the speed", "speed (m/s)", "(1/s)", _branches(found) | _reference(dense)),
    ]  # fmt: skip


def _branches(found: dict) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The real parts of the four eigenvalues at every speed, sorted."""
    speeds = np.array(list(found))
    table = np.array(
        [np.sort([x.real for s in found[v] for x in (s, s.conjugate())[: 1 + (s.imag > 0)]]) for v in speeds]
    )
    return {f"flexmb {k + 1}": (speeds, table[:, k]) for k in range(4)}


def _reference(speeds: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    table = np.array([np.sort(np.linalg.eigvals(published_matrix(v)).real) for v in speeds])
    return {f"reference {k + 1}": (speeds, table[:, k]) for k in range(4)}


def _pushed(speed: float, push: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, flexmb.Result]:
    """Times, lean and steering angle (nt, 2), simulated and by the published equations, after a push to lean."""
    result = flexmb.simulate(bicycle(speed, push), 3.0, method="radau", tolerance=1e-11, output_step=0.02)
    lean = np.arcsin(np.clip(result.axes("rear axle.a")[:, 2, 2], -1, 1))
    angles = np.column_stack([lean, -result.coordinate("steering")])
    rates = [result.angular_velocity("frame")[0, 0], -result.coordinate_rate("steering")[0]]
    A, t = published_matrix(speed), np.array(result.t)
    exact = np.array([(expm(A * x) @ np.concatenate([angles[0], rates]))[:2] for x in t])
    return t, angles, exact, result


def _simulated() -> list[Row | Plot]:
    speed, errors = 4.6, []
    for push in (2e-3, 1e-3):
        t, angles, exact, result = _pushed(speed, push)
        errors.append(float(np.abs(angles - exact).max() / np.abs(exact).max()))
    drift = float(np.ptp(result.ledger.total) / result.ledger.kinetic[0])
    order = float(np.log2(errors[0] / errors[1]))
    large_t, large, _, _ = _pushed(speed, 0.5)
    return [
        Row(CASE, "pushed by 0.001 rad/s at 4.6 m/s: lean and steering from the linear equations, relative", 0.0, "published", errors[1], errors[1], 1e-5),
        Row(CASE, "order in the push of that difference", 2.0, "theory", order, abs(order - 2), 0.1),
        Row(CASE, "change of the energy in 3 s, relative", 0.0, "exact", drift, drift, 1e-9),
        Plot("Lean and steering angle after a push of 0.001 rad/s at 4.6 m/s", "time (s)", "(rad)", {
            "lean": (t, angles[:, 0]), "steering": (t, angles[:, 1]),
            "reference: lean, published equations": (t, exact[:, 0]), "reference: steering, published equations": (t, exact[:, 1]),
        }),
        Plot("Lean and steering angle after a push of 0.5 rad/s at 4.6 m/s", "time (s)", "(rad)", {"lean": (large_t, large[:, 0]), "steering": (large_t, large[:, 1])}),
    ]  # fmt: skip


def run() -> list[Row | Plot]:
    """Eigenvalues, critical speeds, a push."""
    return [*_eigenvalues(), *_simulated()]
