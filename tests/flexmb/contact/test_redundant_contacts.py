"""More contacts than bodies need: tables, piles and grippers satisfy the laws, by forces of least norm."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from flexmb.contact import Bounded, Coulomb, Turning, solve_contacts
from flexmb.errors import UnilateralError

SIDES = 64


def axes_of(n, rng):
    n = n / np.linalg.norm(n)
    x = np.cross(n, rng.normal(size=3))
    x /= np.linalg.norm(x)
    return n, x, np.cross(n, x)


def table(rng, count):
    """A body on feet, some of them on slopes: pairs of bodies, places on them and normals; masses; loads."""
    slopes = 0.3 * rng.integers(0, 2)
    feet = np.column_stack([rng.uniform(-1, 1, (count, 2)), np.full(count, -0.5)])
    touching = [(0, -1, foot, foot, np.array([*rng.normal(size=2) * slopes, 1.0])) for foot in feet]
    push = rng.choice([0.1, 0.3, 1.0])
    load = np.array([*rng.normal(size=2) * push, -1.0, *rng.normal(size=3) * push])
    return touching, np.array([1.0, 1.0, 1.0, *rng.uniform(0.1, 1.0, 3)]), load


def pile(rng, count):
    """Bodies on each other and on the ground, of masses from 0.1 to 10."""
    bodies, touching = max(1, count // 4), []
    for c in range(count):
        k = c % bodies
        below = -1 if k == 0 or rng.random() < 0.3 else int(rng.integers(0, k))
        x, y = rng.uniform(-1, 1, 2)
        normal = np.array([*rng.normal(size=2) * rng.choice([0.0, 0.2]), 1.0])
        touching.append((k, below, np.array([x, y, -0.5]), np.array([x, y, 0.5]), normal))
    mass = np.concatenate(
        [10 ** rng.uniform(-1, 1) * np.array([1, 1, 1, *rng.uniform(0.1, 0.6, 3)]) for _ in range(bodies)]
    )
    weight = np.tile([0, 0, -1.0, 0, 0, 0], bodies)
    return touching, mass, mass * (weight + rng.choice([0.0, 0.1, 0.5]) * rng.normal(size=6 * bodies))


def gripper(rng, count):
    """A body between fingers that press on it, and slide along their first axes alone."""
    fingers = int(rng.integers(2, 5))
    mass, load, touching = np.full(6 + 6 * fingers, 1e9), np.zeros(6 + 6 * fingers), []
    mass[:6] = [1, 1, 1, *rng.uniform(0.1, 0.6, 3)]
    load[:6] = [*rng.normal(size=3) * rng.choice([0.1, 0.5]), *rng.normal(size=3) * 0.1]
    for k in range(1, fingers + 1):
        angle = 2 * np.pi * k / fingers
        out, up = np.array([np.cos(angle), np.sin(angle), 0]), np.array([0, 0, 1.0])
        mass[6 * k], load[6 * k] = rng.uniform(0.5, 2), -rng.uniform(0.5, 3)
        for _ in range(max(1, count // fingers)):
            place = out + rng.uniform(-0.5, 0.5) * up + rng.uniform(-0.5, 0.5) * np.cross(up, out)
            touching.append((0, k, place, out, -out + rng.normal(size=3) * 0.05))
    return touching, mass, load


def problem(seed, most=60):
    """Response, free velocities and laws. Odd numbers have friction of turning, too."""
    rng = np.random.default_rng(seed)
    make = (table, pile, gripper)[seed // 2 % 3]
    touching, mass, load = make(rng, int(rng.integers(3, most + 1)))
    rows, turned, blocks, turning = [], [], [], []

    def row(a, b, p, q, d):
        h = np.zeros(len(mass))
        h[6 * a : 6 * a + 6] = *d, *np.cross(p, d)
        if make is gripper:
            h[6 * b] = -d @ q
        elif b >= 0:
            h[6 * b : 6 * b + 6] = *-d, *-np.cross(q, d)
        return h

    for k, (a, b, p, q, normal) in enumerate(touching):
        n, x, y = axes_of(normal, rng)
        smooth = rng.random() < 0.05
        rows += [row(a, b, p, q, d) for d in ((n,) if smooth else (n, x, y))]
        blocks.append(Bounded() if smooth else Coulomb(float(rng.uniform(0, 1.2))))
        for d in ((n,), (x, y)):
            if seed % 2 and rng.random() < 0.5:
                turning.append(Turning(k, float(10 ** rng.uniform(-2.5, -0.3)), len(d)))
                turned += [_turns(a, b, e, len(mass), make) for e in d]
    H = np.array([*rows, *turned])
    return (H / mass) @ H.T, H @ (load / mass), [*blocks, *turning]


def _turns(a, b, d, size, make):
    h = np.zeros(size)
    h[6 * a + 3 : 6 * a + 6] = d
    if b >= 0 and make is not gripper:
        h[6 * b + 3 : 6 * b + 6] = -d
    return h


def frictions(blocks):
    """Of each contact: its normal row, and the rows and coefficients of what its normal impulse bounds."""
    ends = np.cumsum([0, *(block.rows for block in blocks)])
    own = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
    found = {k: (own[k][0], []) for k, block in enumerate(blocks) if not isinstance(block, Turning)}
    for k, block in enumerate(blocks):
        if isinstance(block, Turning):
            found[block.contact][1].append((own[k], block.length))
        elif isinstance(block, Coulomb):
            found[k][1].append((own[k][1:], block.friction))
    return list(found.values())


def broken(W, b, blocks, r):
    """The largest violation of the laws, written out: signs, bounds, complementarity, most dissipation."""
    u, push, speed, worst = W @ r + b, np.abs(r).max(), np.abs(b).max(), 0.0
    for n, bounded in frictions(blocks):
        worst = max(worst, -r[n] / push, -u[n] / speed, abs(r[n] * u[n]) / push / speed)
        for rows, mu in bounded:
            size, slip = np.linalg.norm(r[rows]), np.linalg.norm(u[rows])
            worst = max(worst, (size - mu * r[n]) / push, (r[rows] @ u[rows] + mu * r[n] * slip) / push / speed)
    return worst


def lesser(W, b, blocks, r):
    """The least of `r . s / |r|^2` of all impulses `s` with the velocities of `r`, by a linear programme with polygons
    in the cones: one if and only if `r` is the one of least norm."""
    u, tiny, n = W @ r + b, 1e-8 * np.abs(b).max(), len(r)
    values, vectors = np.linalg.eigh(W)
    equal = list(vectors[:, values > 1e-10 * values[-1]].T)
    fixed, below, bounds = [e @ r for e in equal], [], [(None, None)] * n
    for i, bounded in frictions(blocks):
        bounds[i] = (0, 0 if u[i] > tiny else None)
        for rows, mu in bounded:
            slip = np.linalg.norm(u[rows])
            if slip > tiny:
                for row in rows:
                    equal.append(np.eye(n)[row] + mu * u[row] / slip * np.eye(n)[i])
                    fixed.append(0.0)
                continue
            for angle in 2 * np.pi * np.arange(SIDES) / SIDES if len(rows) == 2 else (0, np.pi):
                d = np.array([np.cos(angle), np.sin(angle)])[: len(rows)]
                below.append(d @ np.eye(n)[rows] - mu * (np.cos(np.pi / SIDES) if len(rows) == 2 else 1) * np.eye(n)[i])
    scale = np.abs(r).max()
    A = np.array(below) if below else None
    found = linprog(
        r / scale, A, np.zeros(len(below)) if below else None, np.array(equal), np.array(fixed) / scale, bounds
    )
    return 1.0 if found.status == 2 else found.fun * scale**2 / (r @ r)  # none within the polygons


@pytest.mark.parametrize("seed", range(36))
def test_random_tables_piles_and_grippers_satisfy_their_laws_with_least_norm(seed):
    W, b, blocks = problem(seed, 12)
    found = solve_contacts(W, b, blocks)
    assert broken(W, b, blocks, found.impulses) < 1e-8
    assert lesser(W, b, blocks, found.impulses) > 1 - 1e-6


@pytest.mark.parametrize("seed", [3, 8, 9, 15, 20, 33, 44, 46])
def test_piles_that_sweeps_and_newtons_method_do_not_solve(seed):
    """Where every body may be lifted off all others there are solutions; the proximal point method finds them."""
    W, b, blocks = problem(seed)
    assert broken(W, b, blocks, solve_contacts(W, b, blocks).impulses) < 1e-8


@pytest.mark.long
def test_nearly_all_tables_piles_and_grippers_have_forces():
    """46 of these 300 had none."""
    unsolved = 0
    for seed in range(300):
        W, b, blocks = problem(seed)
        try:
            impulses = solve_contacts(W, b, blocks).impulses
        except UnilateralError:
            unsolved += 1
            continue
        assert broken(W, b, blocks, impulses) < 1e-8
    assert unsolved <= 1


def test_two_feet_share_a_push_by_the_bound_of_the_lighter_one():
    """By hand: feet at -1 and 1, a weight of 1, a push p = 0.4 that turns by 0.4: the feet carry 0.3 and 0.7. Friction
    of p / 2 each would be of least norm, but the first foot holds 0.5 * 0.3 only."""
    H = np.array([[0, 1, -1.0], [1, 0, 0], [0, 1, 1], [1, 0, 0]])  # x, y, turning; rows n, t of both feet
    b = H @ [0.4, -1, -0.4]
    for start in (None, np.array([0.3, 0.1, 0.7, 0.3])):
        found = solve_contacts(H @ H.T, b, [Coulomb(0.5, rows=2)] * 2, start=start)
        np.testing.assert_allclose(found.impulses, [0.3, -0.15, 0.7, -0.25], atol=1e-12)
