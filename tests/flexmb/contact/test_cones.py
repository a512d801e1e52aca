"""The cone problem: the laws of contact and friction themselves, problems with solutions in closed form, and Siconos."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from flexmb.contact import Bounded, Coulomb, solve_contacts
from flexmb.errors import UnilateralError
from flexmb.simulation.unilateral import complementary

DEBIAN = "/usr/bin/python3"
SICONOS = """
import json, sys
import numpy as np
import siconos.numerics as sn
answers = []
for problem in json.load(sys.stdin):
    W, b, mu = (np.array(problem[key]) for key in ("W", "b", "mu"))
    options = sn.SolverOptions(sn.SICONOS_FRICTION_3D_NSGS)
    options.dparam[sn.SICONOS_DPARAM_TOL], options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 1e-12, 100000
    r, u = np.zeros(len(b)), np.zeros(len(b))
    sn.fc3d_nsgs(sn.FrictionContactProblem(3, len(mu), W, b, mu), r, u, options)
    answers.append((W @ r + b).tolist())
json.dump(answers, sys.stdout)
"""


def broken(r, u, b, blocks):
    """How far impulses and velocities are from the laws, written out: complementarity, the cone, opposite directions;
    relative to the free velocities `b`."""
    worst, i = 0.0, 0
    push, speed = np.abs(r).max() or 1.0, np.abs(b).max()
    for block in blocks:
        if isinstance(block, Bounded):
            if r[i] > block.lower + 1e-9 * push:
                worst = max(worst, u[i])
            if r[i] < block.upper - 1e-9 * push:
                worst = max(worst, -u[i])
            worst = max(worst, speed * (block.lower - r[i]) / push, speed * (r[i] - block.upper) / push)
        else:
            t, slip = r[i + 1 : i + block.rows], u[i + 1 : i + block.rows]
            size, grip = np.linalg.norm(slip), np.linalg.norm(t)
            worst = max(worst, -u[i], -speed * r[i] / push, abs(u[i]) * (r[i] > 1e-9 * push))
            worst = max(worst, speed * (grip - block.friction * r[i]) / push)
            if size > 1e-7 * speed:
                worst = max(worst, speed * np.linalg.norm(t + block.friction * r[i] * slip / size) / push)
        i += block.rows
    return worst / speed


def problem(seed, contacts, rank, rows=3):
    rng = np.random.default_rng(seed)
    blocks = [Coulomb(float(mu), rows) for mu in rng.uniform(0.1, 1.0, contacts)]
    H = rng.standard_normal((rows * contacts, rank))
    return H @ H.T, H @ rng.standard_normal(rank), blocks


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("contacts", [1, 4, 16])
@pytest.mark.parametrize("part", [2.0, 0.7])
def test_random_contacts_satisfy_their_laws(rows, contacts, part):
    """With more and with fewer freedoms than rows, from nothing and from a guess."""
    for seed in range(6):
        W, b, blocks = problem(seed, contacts, max(int(part * rows * contacts), rows), rows)
        nearby = b + 1e-3 * W @ np.ones(len(b))
        cold = solve_contacts(W, b, blocks)
        warm = solve_contacts(W, nearby, blocks, start=cold.impulses)
        for solution, free in ((cold, b), (warm, nearby)):
            assert solution.residual <= 1e-10 * np.abs(free).max()
            assert broken(solution.impulses, solution.velocities, free, blocks) < 1e-7


def test_one_contact_sticks_inside_the_cone_and_slips_outside():
    """A point of mass one that hits a plane: the tangential impulse is its momentum, or the bound of friction."""
    free = np.array([-2.0, 0.3, 0.4])
    for mu, expected in ((0.3, [2.0, -0.3, -0.4]), (0.1, [2.0, -0.12, -0.16])):
        np.testing.assert_allclose(solve_contacts(np.eye(3), free, [Coulomb(mu)]).impulses, expected, atol=1e-12)
    apart = solve_contacts(np.eye(3), np.array([2.0, 0.3, 0.4]), [Coulomb(0.3)])
    assert not apart.impulses.any()


@pytest.mark.parametrize("excess", [-1e-6, 1e-6])
def test_a_point_on_a_slope_slides_above_the_angle_of_friction_only(excess):
    mu, g = 0.3, 9.81
    slope = np.arctan(mu + excess)
    free = np.array([-g * np.cos(slope), g * np.sin(slope)])
    solution = solve_contacts(np.eye(2), free, [Coulomb(mu, rows=2)], tolerance=1e-14)
    expected = max(0.0, g * (np.sin(slope) - mu * np.cos(slope)))
    assert solution.velocities[1] == pytest.approx(expected, abs=1e-12)


def test_a_slipping_contact_with_coupled_directions_slips_against_its_friction():
    """Of a lopsided response, the direction of slip is found: it differs from that without friction."""
    W = np.array([[1.0, 0.4, -0.2], [0.4, 2.0, 0.5], [-0.2, 0.5, 0.7]])
    free = np.array([-1.0, 3.0, -2.0])
    solution = solve_contacts(W, free, [Coulomb(0.4)])
    assert broken(solution.impulses, solution.velocities, free, [Coulomb(0.4)]) < 1e-9
    assert np.linalg.norm(solution.velocities[1:]) > 1.0


def table(mu, wrench):
    """A table on four legs; rows n, x, y of each foot, for a plate of mass and inertia one at height one."""
    feet = np.array([(1, 1, -1), (1, -1, -1), (-1, 1, -1), (-1, -1, -1.0)])
    n, x, y = np.eye(3)[[2, 0, 1]]
    H = np.vstack([np.concatenate([d, np.cross(foot, d)]) for foot in feet for d in (n, x, y)])
    return H @ H.T, H @ wrench, [Coulomb(mu)] * 4


def test_velocities_are_solved_to_the_scale_that_is_given():
    """A guess is a solution if what is left is round-off beside the motion that it belongs to, and else is not."""
    free, guess = np.array([-1e-12]), np.zeros(1)
    assert solve_contacts(np.eye(1), free, [Bounded()], start=guess, scale=1.0).impulses == 0.0
    assert solve_contacts(np.eye(1), free, [Bounded()], start=guess).impulses == pytest.approx(1e-12, rel=1e-9)


def test_redundant_contacts_share_their_load_with_least_norm():
    W, b, blocks = table(0.5, np.array([0.1, 0, -1, 0.2, 0, 0]))
    found = solve_contacts(W, b, blocks)
    np.testing.assert_allclose(found.impulses, -np.linalg.pinv(W) @ b, atol=1e-9)
    again = solve_contacts(W, b, blocks, start=np.array([0.3, 0.1, 0, 0.3, 0, 0.1, 0.1, 0, 0, 0.3, 0, -0.1]))
    np.testing.assert_allclose(again.impulses, found.impulses, atol=1e-8)


def test_least_norm_does_not_leave_the_cones():
    """A table that is pushed sideways to near its limit: the front legs slip before the least norm is reached."""
    for push in (0.30, 0.40, 0.49):
        W, b, blocks = table(0.5, np.array([push, 0, -1, 0, 0, 0]))
        found = solve_contacts(W, b, blocks)
        assert broken(found.impulses, found.velocities, b, blocks) < 1e-8


def test_least_norm_does_not_leave_the_cones_for_forces_that_pull():
    """The way to the least norm may lead out of a cone and into the opposite one; contacts without a normal force then
    had friction."""
    rng = np.random.default_rng(7)
    for _ in range(400):
        contacts = int(rng.integers(2, 5))
        H = rng.standard_normal((3 * contacts, int(rng.integers(2, 3 * contacts))))
        b, blocks = H @ rng.standard_normal(H.shape[1]), [Coulomb(1.0)] * contacts
        try:
            r = solve_contacts(H @ H.T, b, blocks).impulses
        except UnilateralError:
            continue  # friction of this size may jam
        assert (np.hypot(r[1::3], r[2::3]) - r[::3]).max() < 1e-8 * np.abs(b).max()


def pressed_ring(soft, count=24, stiff=2e6, overlap=0.02):
    """A ring that `count` points press with the stiffness `stiff` each; rows n, t, z. As a body it moves by `soft`."""
    rows = []
    for k, angle in enumerate(2 * np.pi * np.arange(count) / count):
        n, t, z = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])
        place = n + 0.7 * (-1) ** k * z
        rows += [np.concatenate([d, np.cross(place, d)]) for d in (n, t, z)]
    H, b = np.array(rows), np.zeros(3 * count)
    b[::3] = -overlap
    return np.eye(3 * count) / stiff + soft / count * H @ H.T, b, [Coulomb(0.4)] * count


@pytest.mark.parametrize("soft", [1e-5, 10.0, 1e3, 1e5])
def test_round_off_of_large_responses_is_no_failure(soft):
    """Nothing but the contacts holds the ring, so that as a body it responds to forces 1e11 times as much as at a
    point: velocities cancel to the round-off of the terms of their sum, which exceeds the tolerance. The response at
    the points is small beside that of the body, but their impulses are no redundant ones."""
    W, b, blocks = pressed_ring(soft)
    found = solve_contacts(W, b, blocks)
    rounding = np.finfo(float).eps * (np.abs(W) @ np.abs(found.impulses)).max()
    assert np.abs(found.velocities).max() <= 2 * max(1e-10 * 0.02, rounding)
    assert np.abs(found.impulses[::3] / 4e4 - 1).max() < 1e-4  # overlap times stiffness


def test_without_friction_it_agrees_with_the_other_solver():
    rng = np.random.default_rng(3)
    for _ in range(20):
        G = rng.standard_normal((6, 4))
        W, b, both = G @ G.T, G @ rng.standard_normal(4), rng.uniform(size=6) < 0.3
        blocks = [Bounded(-np.inf) if x else Bounded() for x in both]
        np.testing.assert_allclose(
            solve_contacts(W, b, blocks).velocities, complementary(W, b, both).velocity, atol=1e-9
        )


def test_bounded_rows_yield_at_their_bounds():
    found = solve_contacts(np.eye(2), np.array([-3.0, 0.5]), [Bounded(-1.0, 1.0), Bounded(-1.0, 1.0)])
    np.testing.assert_allclose(found.impulses, [1.0, -0.5], atol=1e-12)
    whole = solve_contacts(np.eye(2), np.array([-3, 1]), [Bounded(-1, 1), Bounded(0, 1)])  # integers are numbers
    np.testing.assert_allclose(whole.impulses, [1.0, 0.0], atol=1e-12)


KANE = (
    # restitution, friction, normal and tangential impulse, tangential and normal velocity after, energy lost
    (0.0, 0.0, 1.2553, 0.0, -0.7758, 0.0, 0.8216),
    (0.0, 0.2, 0.9720, 0.1944, -0.7365, 0.0, 0.9686),
    (0.2, 0.2, 1.1665, 0.2333, -0.3472, 0.2618, 0.9642),
    (0.3, 0.45, 0.9856, 0.4435, -0.1140, 0.3927, 1.0719),
    (0.35, 0.59, 0.9141, 0.5357, 0.0, 0.4582, 1.1076),
    (0.4, 0.04, 1.6649, 0.0635, 0.0, 0.5236, 0.7390),
    (0.7, 0.0, 2.1340, 0.0, 0.5594, 0.9163, 0.4190),
    (1.0, 0.0, 2.5106, 0.0, 1.1316, 1.3090, 0.0),
    (0.5, 0.2, 2.657, -0.2 * 2.657, 0.071, 0.6545, 0.175),
    (0.7, 0.45, 6.170, None, 0.0, 0.9163, -2.504),
)


@pytest.mark.parametrize("row", KANE, ids=lambda row: f"e {row[0]}, mu {row[1]}")
def test_kanes_double_pendulum_hits_a_floor(row):
    """Newton's restitution with friction: thin unit rods at 18 and 30 degrees (Pereira and Nikravesh 1993). The last
    row gains energy, as Newton's law may."""
    e, mu, push, grip, slip, rebound, lost = row
    a, b = np.radians([18, 30])
    M = np.array([[4 / 3, 0.5 * np.cos(b - a)], [0.5 * np.cos(b - a), 1 / 3]])
    J = np.array([[np.sin(a), np.sin(b)], [np.cos(a), np.cos(b)]])
    before, W = J @ [-1.0, -2.0], J @ np.linalg.solve(M, J.T)
    found = solve_contacts(W, before * [1 + e, 1], [Coulomb(mu, rows=2)])
    after, digits = before + W @ found.impulses, 1e-3 if row in KANE[8:] else 1e-4
    np.testing.assert_allclose([found.impulses[0], after[1], after[0]], [push, slip, rebound], atol=digits)
    assert grip is None or found.impulses[1] == pytest.approx(grip, abs=digits)
    assert -found.impulses @ (before + after) / 2 == pytest.approx(lost, abs=digits)


def test_an_arch_of_16_stones_stands_where_a_thrust_line_fits_into_it():
    """The other way to the same answer: a linear programme asks whether any admissible forces balance the weights."""
    from validation.masonry_arch import joints_and_weights

    for thickness, stands in ((0.1083, True), (0.1061, False)):
        H, weights, masses, blocks = joints_and_weights(16, thickness)
        bounds = [(0, None) if block.lower == 0 else (None, None) for block in blocks]
        programme = linprog(np.zeros(len(bounds)), A_eq=H.T, b_eq=-weights, bounds=bounds)
        response = (H / masses) @ H.T
        found = solve_contacts(response, H @ (weights / masses), blocks)
        moves = np.abs(weights + H.T @ found.impulses).max() > 1e-7
        assert (programme.status == 0) == stands == (not moves)


def test_what_does_not_fit_is_refused():
    with pytest.raises(UnilateralError, match=r"coefficient of friction is a number >= 0; found -0.1"):
        Coulomb(-0.1)
    with pytest.raises(UnilateralError, match="2 or 3 rows; found 1"):
        Coulomb(0.1, rows=1)
    with pytest.raises(UnilateralError, match=r"lower bound .* found 1.0 and 0.0"):
        Bounded(1.0, 0.0)
    with pytest.raises(UnilateralError, match=r"3 rows, so that the response is \(3, 3\)"):
        solve_contacts(np.eye(2), np.zeros(2), [Coulomb(0.1)])
    with pytest.raises(UnilateralError, match="must be symmetric"):
        solve_contacts(np.array([[1.0, 0.5], [0.0, 1.0]]), np.zeros(2), [Coulomb(0.1, rows=2)])


def test_a_problem_without_solution_is_refused_by_its_blocks():
    """A row that closes and does not respond, and joints that ask for two velocities of one freedom."""
    with pytest.raises(UnilateralError, match="block 1 closes with 1"):
        solve_contacts(np.diag([1.0, 0.0]), np.array([-1.0, -1.0]), [Bounded(), Bounded()])
    with pytest.raises(UnilateralError, match="contradict each other"):
        solve_contacts(np.ones((2, 2)), np.array([1.0, -1.0]), [Bounded(-np.inf)] * 2)


@pytest.mark.foreign
@pytest.mark.long
def test_siconos_finds_the_same_velocities():
    asked = []
    for seed in range(10):
        for contacts in (1, 4, 16):
            W, b, blocks = problem(seed, contacts, 6 * contacts)
            asked.append({"W": W.tolist(), "b": b.tolist(), "mu": [block.friction for block in blocks]})
    ran = subprocess.run([DEBIAN, "-c", SICONOS], input=json.dumps(asked), capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip("needs python3-siconos of Debian")
    for one, answer in zip(asked, json.loads(ran.stdout[ran.stdout.index("[") :]), strict=True):
        found = solve_contacts(one["W"], one["b"], [Coulomb(mu) for mu in one["mu"]])
        np.testing.assert_allclose(found.velocities, answer, atol=1e-8 * np.abs(one["b"]).max())


def published(path):
    """Response, free velocities and coefficients of a local problem of Siconos' collection (`*.dat`): a dense matrix by
    columns, or blocks by rows."""
    words = iter(path.read_text(errors="replace").split())

    def numbers(count, kind=int):
        return np.array([next(words) for _ in range(count)], dtype=kind)

    rows, contacts, storage, n, _ = numbers(5)
    if storage == 0:
        W = numbers(numbers(2).prod(), float).reshape(n, n).T
    else:
        assert storage == 1
        _, down, across = numbers(3)
        places = [np.concatenate([[0], numbers(count)]) for count in (down, across)]
        counts = numbers(2)
        starts, columns = (numbers(count) for count in counts)
        W = np.zeros((n, n))
        for i in range(len(starts) - 1):
            for j in columns[starts[i] : starts[i + 1]]:
                numbers(1)
                a, b = (slice(place[k], place[k + 1]) for place, k in zip(places, (i, j), strict=True))
                W[a, b] = numbers((a.stop - a.start) * (b.stop - b.start), float).reshape(b.stop - b.start, -1).T
    b = numbers(n, float)
    return int(rows), 0.5 * (W + W.T), b, numbers(contacts, float)


def natural_map(W, b, friction, rows, impulses):
    """The residual of the projection of impulses minus velocities on the cones, relative to the free velocities."""
    size = np.trace(W) / len(W)
    r, u = impulses * size, W @ impulses + b
    left = []
    for i, mu in enumerate(friction):
        own = slice(rows * i, rows * i + rows)
        x = r[own] - u[own]
        x[0] -= mu * np.linalg.norm(u[own][1:])
        across = np.linalg.norm(x[1:])
        if mu * across <= -x[0]:
            x[:] = 0.0
        elif across > mu * x[0]:
            x[0] = (x[0] + mu * across) / (1 + mu**2)
            x[1:] *= mu * x[0] / across
        left.append(r[own] - x)
    return np.linalg.norm(np.concatenate(left)) / np.linalg.norm(b)


@pytest.mark.foreign
@pytest.mark.long
def test_published_problems_have_a_natural_map_of_round_off():
    """The folder `numerics/src/FrictionContact/test/data` of the sources of Siconos, named by the environment variable
    FLEXMB_CONE_PROBLEMS: some thirty problems with up to 225 contacts, such as Rover, Confeti, Capsules and BoxesStack."""
    if not (folder := os.environ.get("FLEXMB_CONE_PROBLEMS")):
        pytest.skip("needs FLEXMB_CONE_PROBLEMS, a folder with the problems of Siconos")
    names = ("Rover*", "Confeti-ex03*", "Confeti-ex13-4*", "FC3D_Example1*", "FC2D_Slider*", "NESpheres_10_1*")
    names += (
        "FrictionContactProblem000*",
        "FrictionContactProblem003*",
        "OneObject*",
        "BoxesStack1*",
        "Capsules-i101*",
    )
    paths = sorted({path for name in names for path in Path(folder).glob(name) if path.suffix == ".dat"})
    assert len(paths) > 20
    for path in paths:
        rows, W, b, friction = published(path)
        found = solve_contacts(W, b, [Coulomb(float(mu), rows) for mu in friction])
        assert natural_map(W, b, friction, rows, found.impulses) < 1e-8, path.name
