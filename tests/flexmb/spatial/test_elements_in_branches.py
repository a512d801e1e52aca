"""Laws between frames in trees of rigid bodies, eliminated along the branches: one Newton step against dense matrices,
and motions against those of the matrix of the rows."""

import numpy as np
import pytest
from test_elimination import dense_solution

import flexmb
from flexmb.kernels.base.data import COUPLED, GROUND, INACTIVE, make_marker_kinematics, make_workspace
from flexmb.kernels.calls import residual
from flexmb.kernels.steps.coupled import NEGLIGIBLE, YIELDING
from flexmb.kernels.steps.solve import solve_again, solve_step
from flexmb.mechanism.compile import compiled
from flexmb.study import adjoint_gradient, direct_gradient


@flexmb.law(parameters={"k": 50.0, "c": 0.5, "turn": 3.0, "swirl": 0.0})
def tie(t, relative, states, parameters, wrench, rates):
    """A spring and damper; with `swirl`, forces across the displacement, whose tangent has no symmetric part."""
    k, c, turn, swirl = parameters
    d, S, v, omega = relative.d, relative.S, relative.v, relative.omega
    for i in range(3):
        p, q = (i + 1) % 3, (i + 2) % 3
        wrench[i] = -k * d[i] * (1.0 + d[i] * d[i]) - c * v[i] + swirl * (d[p] - d[q])
        wrench[3 + i] = -0.5 * turn * (S[q, p] - S[p, q]) - 0.1 * turn * omega[i]


LINKS = ("element", "joint", "joint and element", "two elements", "spring and element", "child first", "free")
ELEMENTS = {"joint": 0, "free": 0, "two elements": 2}


def tree(seed, *, law=None, loop=False):
    """A random tree of rigid bodies, in which every kind of link occurs, some to the ground."""
    rng, system, law = np.random.default_rng(seed), flexmb.System(gravity=(1.0, 2.0, -9.81)), law or tie()
    bodies = []
    for k, kind in enumerate(rng.permutation([*LINKS, *LINKS[:4]])):
        mass, place = 10.0 ** rng.uniform(-1, 1), tuple(rng.normal(size=3))
        box = flexmb.rigid_body(
            f"body {k}",
            mass=mass,
            inertia=tuple(mass * rng.uniform(0.1, 0.19, 3)),
            centre=tuple(rng.normal(size=3) / 9),
        )
        body = system.add(box, position=place, orientation=tuple(rng.normal(size=3)))
        parent = system.ground if rng.random() < 0.2 or not bodies else bodies[rng.integers(len(bodies))]
        ends = (body, parent) if kind == "child first" else (parent, body)
        if kind == "joint":
            system.universal(f"joint {k}", parent, body, axis=(1, 0, 0), second_axis=(0, 1, 0), at=place)
        elif kind == "joint and element":
            system.revolute(f"joint {k}", parent, body, axis=tuple(rng.normal(size=3)), at=place)
        elif kind == "spring and element":
            there = tuple(np.array(place) + rng.normal(size=3))
            system.spring_damper(f"spring {k}", parent.at(there, frame="world"), body.at((0, 0, 0)), stiffness=40.0)
        for j in range(ELEMENTS.get(kind, 1)):
            at = tuple(np.array(place) + 0.3 * rng.normal(size=3))
            system.force(f"tie {k} {j}", *(end.at(at, frame="world") for end in ends), law)
        bodies.append(body)
    if loop:
        system.force("loop", bodies[0].at((0, 0, 0)), bodies[-1].at((0, 0, 0)), law)
        system.force("ground", bodies[-1].at((0, 0, 0)), system.ground.at((0, 0, 0)), law)
        system.force("other", bodies[0].at((0, 0, 0)), system.ground.at((0, 0, 0)), law)
    return system.build()


def evaluated(mechanism, rng):
    """The arrays of a mechanism after an evaluation near its initial state."""
    flat = compiled(mechanism)
    workspace, nv, nr = make_workspace(flat), int(flat.v_start[-1]), len(flat.row_kind)
    q = mechanism.initial.q + 1e-2 * rng.standard_normal(len(mechanism.initial.q))
    residual(flat, q, rng.standard_normal(nv), np.zeros(nv), np.zeros(flat.joint_rows), np.zeros((1, 3)), np.zeros(nr), make_marker_kinematics(flat), workspace, np.zeros(nv), np.zeros(5))  # fmt: skip
    compliance = np.where(np.arange(nr) < flat.joint_rows, 0.0, 1e-4)
    for r in flat.element_row:
        compliance[r : r + 6] = COUPLED
    return flat, workspace, compliance


def inertia_seen(flat, workspace, beta, r):
    """The inverse of the diagonal (6,) of `G A^-1 G^T` for the element whose rows begin with `r`."""
    total = np.zeros(6)
    for i in range(6):
        for side in range(2):
            b = flat.marker_body[flat.row_markers[r, side]]
            if b != GROUND:
                row = workspace.G[r + i, side]
                total[i] += row @ np.linalg.solve(beta * workspace.Mrr[b], row)
    return 1.0 / total


SKEW = {"a little unsymmetric": 2e-5, "unsymmetric": 0.05, "very unsymmetric": 3.0}


def give_tangents(flat, workspace, rng, beta, kind):
    """Set random tangents of all elements; for the comparison, what the matrix of a step adds to them."""
    for e, r in enumerate(flat.element_row):
        size = inertia_seen(flat, workspace, beta, r)
        rank = {"singular": e % 3}.get(kind, 6)
        B = np.sqrt(size)[:, None] * 10.0 ** rng.uniform(-2, 3) * rng.normal(size=(6, rank))
        K = B @ B.T if kind != "diagonal" else np.diag(size * 10.0 ** rng.uniform(-3, 6, 6))
        if e % 3 == 1 and kind in SKEW:
            K += SKEW[kind] * np.outer(np.sqrt(size), np.sqrt(size)) * (np.eye(6, k=1) - np.eye(6, k=-1))
        if e == 2 and kind == "indefinite":
            K = -0.1 * np.diag(size)
        workspace.tangents[e] = K
    return [YIELDING * np.diag(inertia_seen(flat, workspace, beta, r)) for r in flat.element_row]


@pytest.mark.long  # compiles the solution of a step
@pytest.mark.parametrize("off", [False, True])
@pytest.mark.parametrize("kind", ["symmetric", "singular", "diagonal", *SKEW, "indefinite"])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_is_that_of_dense_matrices(seed, kind, off):
    """Anew and again, with an inactive row. Tangents whose symmetric part is not positive, or whose antisymmetric part is
    large, leave the branches; with a small one, solutions are repeated until they settle."""
    rng, beta = np.random.default_rng(seed), 1e4
    flat, workspace, compliance = evaluated(tree(seed), rng)
    nv, nr, null_rows = int(flat.v_start[-1]), len(flat.row_kind), np.zeros((0, 0))
    assert (len(flat.branch_row), len(flat.branch_body)) == (nr, len(flat.modes))
    assert min(flat.branch_parent) == GROUND < max(flat.branch_parent)
    compliance[0] = INACTIVE if off else 0.0
    added, along = give_tangents(flat, workspace, rng, beta, kind), kind not in ("very unsymmetric", "indefinite")
    accuracy = NEGLIGIBLE if along and kind in SKEW else 1e-9
    if kind == "singular":  # the inverse of what is added enlarges the rounding of the 36 entries
        accuracy = 36 * np.finfo(float).eps / YIELDING
    for again in (False, True):
        rhs, row_rhs, x, multipliers = rng.standard_normal(nv), rng.standard_normal(nr), np.zeros(nv), np.zeros(nr)
        if again:
            solve_again(flat, workspace, null_rows, beta, compliance, rhs, row_rhs, x, multipliers)
        else:
            outcome, null_rows = solve_step(
                True, null_rows, flat, workspace, beta, 1e2, compliance, rhs, row_rhs, x, multipliers
            )
            assert (outcome, workspace.branched[0] > 0.0) == (0, along)
            assert (workspace.branched[0] == 2.0) == (along and SKEW.get(kind, 0.0) > 0.01)
        kept = workspace.tangents.copy()
        workspace.tangents[:] += added if along else 0.0
        expected = dense_solution(flat, workspace, beta, 1e2, compliance, rhs, row_rhs)
        workspace.tangents[:] = kept
        for found, right in zip((x, multipliers), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=0, atol=accuracy * np.abs(right).max())


def test_elements_that_close_a_loop_are_not_branches():
    assert len(compiled(tree(0, loop=True)).branch_body) == 0


def by_rows(monkeypatch):
    """Mechanisms that are compiled from now on have no branches."""
    made = flexmb.mechanism.compile.elimination_of
    monkeypatch.setattr(
        flexmb.mechanism.compile, "elimination_of", lambda *given, branches=True: made(*given, branches=False)
    )


ABSOLUTE, JOINT = {"coordinates": "absolute"}, {"coordinates": "joint"}


@pytest.mark.parametrize("swirl", [0.0, 1.0])
@pytest.mark.parametrize(("method", "options"), [("generalised-alpha", ABSOLUTE), ("generalised-alpha", JOINT), ("hht", {}), ("energy-momentum", {})])  # fmt: skip
def test_motions_are_those_of_the_matrix_of_the_rows(monkeypatch, method, options, swirl):
    law = tie(swirl=swirl)
    along = flexmb.simulate(tree(5, law=law), 0.2, step=2e-3, method=method, **options)
    by_rows(monkeypatch)
    whole = flexmb.simulate(tree(5, law=law), 0.2, step=2e-3, method=method, **options)
    assert np.abs(along.q - along.q[0]).max() > 0.1
    assert along.statistics.iterations <= 1.03 * whole.statistics.iterations  # those at round-off are chance
    np.testing.assert_allclose(along.q, whole.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(along.w, whole.w, rtol=0, atol=1e-8)


def askew(count, angle, k, across, n, c=0.0, turning=0.0):
    """A body of 1 kg on elements side by side, stiff in a direction at an angle to their axes, with a force `n` across the
    displacement and one of `turning` across the velocity."""

    @flexmb.law(
        parameters={
            "k": k,
            "across": across,
            "n": n,
            "c": c,
            "turning": turning,
            "ca": np.cos(angle),
            "sa": np.sin(angle),
        }
    )
    def bed(t, relative, states, parameters, wrench, rates):
        k, across, n, c, turning, ca, sa = parameters
        d, v = relative.d, relative.v
        p, q = ca * d[0] + sa * d[1], -sa * d[0] + ca * d[1]
        wrench[0] = -ca * k * p + sa * across * q - c * v[0] + n * d[1] - turning * v[1]
        wrench[1] = -sa * k * p - ca * across * q - c * v[1] - n * d[0] + turning * v[0]
        wrench[2] = -across * d[2]
        for i in range(3):
            wrench[3 + i] = -10.0 * 0.5 * (relative.S[(i + 2) % 3, (i + 1) % 3] - relative.S[(i + 1) % 3, (i + 2) % 3])

    system = flexmb.System()
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(0.1, 0.1, 0.1)), velocity=(1.0, 0.5, 0.2))
    for e in range(count):
        system.force(f"bed {e}", system.ground.at((0, 0, 0)), body.at((0, 0, 0)), bed())
    return system.build()


@pytest.mark.filterwarnings("ignore::flexmb.errors.EnergyBalanceWarning")
@pytest.mark.long
@pytest.mark.parametrize("given", [
    (1, np.pi / 4, 1e10, 1e6, 5e8, 1e3),  # contracts by 4 where the diagonals show 0.1
    (3, np.pi / 4, 1e9, 1e3, 1.5e7, 100.0),
    (8, 0.0, 10.0, 10.0, 0.0, 0.0, 200.0),  # by 0.1 each, 0.8 together
    (4, 0.0, 10.0, 10.0, 0.0, 0.0, 500.0),
])  # fmt: skip
def test_solutions_that_do_not_settle_leave_the_branches(monkeypatch, given):
    """Contractions that no element shows by itself: of stiffness askew to its axes, and of elements side by side."""
    along = flexmb.simulate(askew(*given), 0.05, step=1e-3)
    by_rows(monkeypatch)
    whole = flexmb.simulate(askew(*given), 0.05, step=1e-3)
    assert along.statistics.iterations <= whole.statistics.iterations + 5
    motion = np.abs(whole.q[:, :3]).max()
    np.testing.assert_allclose(along.q, whole.q, rtol=0, atol=1e-7 * motion)


def heights(result):
    """The sum of the heights of all bodies (n,)."""
    return sum(result.position(body.name)[:, 2] for body in result.mechanism.bodies)


def test_gradients_are_those_of_the_matrix_of_the_rows(monkeypatch):
    """By the adjoint and by the direct method."""
    options = {"step": 2e-3, "output_step": 2e-3, "newton_tolerance": 1e-11}

    def gradients():
        given = (lambda k: tree(5, law=tie(k=k)), {"k": 50.0}, 0.05)
        back = adjoint_gradient(*given, heights, over="final", **options).of("result")
        forth = direct_gradient(*given, measure=lambda r: {"height": float(heights(r)[-1])}, **options).of("height")
        return float(np.squeeze(back)), float(np.squeeze(forth))

    back, forth = gradients()
    by_rows(monkeypatch)
    assert abs(back) > 1e-6
    assert [forth, *gradients()] == pytest.approx([back] * 3, rel=1e-7)
