"""The compiled solution of a Newton step against dense matrices, and what it costs in chains and loops."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from mechanisms import random_flexible_body

import flexmb
from flexmb.equations.initial_conditions import start
from flexmb.kernels.base.data import (
    COUPLED,
    GROUND,
    INACTIVE,
    SECOND_ORDER,
    make_marker_kinematics,
    make_workspace,
)
from flexmb.kernels.base.dense import factor6, invert6
from flexmb.kernels.calls import displace, residual
from flexmb.kernels.steps.solve import (
    _factor_symmetric,
    _solve_symmetric,
    solve_again,
    solve_rows,
    solve_step,
)
from flexmb.mechanism.compile import compiled
from flexmb.spatial.elimination import elimination_of


def chain(count):
    return [[k - 1, k] if k else [GROUND, 0] for k in range(count) for _ in range(5)]


@pytest.mark.parametrize("count", [1, 10, 200])
def test_the_envelope_of_a_chain_is_linear(count):
    order = np.random.default_rng(2).permutation(count)
    rows = chain(count)
    shuffled = [rows[5 * k + r] for k in order for r in range(5)]
    made = elimination_of(shuffled, list(range(len(shuffled))), np.zeros(count, dtype=np.int64), [])
    assert made["envelope_start"][-1] <= 10 * len(rows)
    assert sorted(made["row_place"]) == list(range(len(rows)))
    assert made["incident_size"] == 6 * (10 * count - 5 + count)


def test_a_loop_widens_it_by_one_joint():
    count = 100
    rows = [*chain(count), *([[count - 1, GROUND]] * 5)]
    made = elimination_of(rows, list(range(len(rows))), np.zeros(count, dtype=np.int64), [])
    assert made["envelope_start"][-1] <= 20 * len(rows)


def test_without_rows_nothing_is_eliminated():
    made = elimination_of([], [], np.array([4]), [])
    assert (made["envelope_start"].tolist(), made["incident_size"]) == ([0], 10)


def dense_solution(flat, workspace, beta, gamma, compliance, rhs, row_rhs):
    """`[A G^T; G -C]` with every block written out."""
    nv, nr = len(rhs), len(row_rhs)
    A, G = np.zeros((nv, nv)), np.zeros((nr, nv))
    for b, m in enumerate(flat.modes):
        s = slice(flat.v_start[b], flat.v_start[b + 1])
        e = slice(flat.v_start[b] - 6 * b, flat.v_start[b] - 6 * b + m)
        Mrr, Mre, M0 = workspace.Mrr[b], workspace.Mre[b][:, :m], flat.rest_Mre[b][:, :m]
        Mee = np.eye(m)
        if flat.slices[b] == SECOND_ORDER:
            Mee = Mee + Mre.T @ np.linalg.solve(Mrr, Mre) - M0.T @ np.linalg.solve(flat.rest_Mrr[b], M0)
        elastic = beta * Mee + np.diag(gamma * flat.damping[e] + flat.stiffness[e])
        A[s, s] = np.block([[beta * Mrr, beta * Mre], [beta * Mre.T, elastic]])
    for r in range(nr):
        for side in range(2):
            b = flat.marker_body[flat.row_markers[r, side]]
            if b != GROUND:
                n = 6 + flat.modes[b]
                G[r, flat.v_start[b] : flat.v_start[b] + n] += workspace.G[r, side, :n]
    active = compliance != INACTIVE
    left, C, right = G.copy(), np.diag(compliance), row_rhs.copy()
    for r, K in zip(flat.element_row, workspace.tangents, strict=True):
        if compliance[r] == COUPLED:  # s = K (G x - d)
            own = slice(r, r + 6)
            left[own], C[own, own], right[own] = K @ G[own], np.eye(6), K @ row_rhs[own]
    G, left, C = G[active], left[active], C[np.ix_(active, active)]
    solution = np.linalg.solve(np.block([[A, G.T], [left, -C]]), np.concatenate([rhs, right[active]]))
    multipliers = np.zeros(nr)
    multipliers[active] = solution[nv:]
    return solution[:nv], multipliers


@pytest.mark.parametrize("field", ["second-order", "none"])
def test_a_newton_step_is_that_of_dense_matrices(field):
    import fem
    import reduction

    part = fem.Model(fem.structured_meshes.block("hexahedron", (1.0, 0.1, 0.1), (8, 2, 2)), fem.Material.steel())
    part = part.with_interfaces(a="x0", b="x1")
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, 4), geometric_stiffness=field, modal_damping=0.02)
    system = flexmb.System(gravity=(0, 0, -9.81))
    one, two = system.add(body, name="one"), system.add(body, name="two", position=(1.0, 0, 0))
    system.revolute("root", system.ground.at(one["a"].point), one["a"], axis=(0, 1, 0))
    system.spherical("elbow", one["b"], two["a"])
    system.spring_damper("spring", system.ground.at((2.0, 0.0, 1.0)), two["b"], stiffness=1e3, damping=3.0)
    mechanism = system.build()
    flat = compiled(mechanism)
    begin = start(mechanism, flat)
    rng = np.random.default_rng(8)
    workspace, nv, nr = make_workspace(flat), len(begin.state.w), len(flat.row_kind)
    q = begin.state.q + 1e-3 * rng.standard_normal(len(begin.state.q))
    residual(flat, q, rng.standard_normal(nv), np.zeros(nv), np.zeros(flat.joint_rows), np.zeros((0, 3)), np.zeros(nr), make_marker_kinematics(flat), workspace, np.zeros(nv), np.zeros(4))  # fmt: skip
    compliance = np.zeros(nr)
    compliance[flat.joint_rows :] = 1e-4
    for off in (False, True):
        compliance[2] = INACTIVE if off else 0.0
        rhs, row_rhs = rng.standard_normal(nv), rng.standard_normal(nr)
        x, multipliers = np.zeros(nv), np.zeros(nr)
        assert solve_rows(flat, workspace, 1e4, 1e2, 1.0, compliance, rhs, row_rhs, x, multipliers)[0] == 0
        expected = dense_solution(flat, workspace, 1e4, 1e2, compliance, rhs, row_rhs)
        np.testing.assert_allclose(x, expected[0], rtol=0, atol=1e-9 * np.abs(expected[0]).max())
        np.testing.assert_allclose(multipliers, expected[1], rtol=0, atol=1e-9 * np.abs(expected[1]).max())


def branched(*, twice=False, closed=False):
    """Rigid bodies with two branches, a spring in a joint, one that hangs on the ground from its end, and a free pair."""
    rng, system = np.random.default_rng(3), flexmb.System()
    a, b, c, d, e, f = (
        system.add(flexmb.uniform_rod(name, mass=rng.uniform(0.5, 2), length=1.0, radius=0.1), position=(k, 0, 0))
        for k, name in enumerate("abcdef")
    )
    system.revolute("root", a["start"], system.ground.at((0, 0, 0)), axis=(0, 1, 0))
    system.spherical("branch", a["end"], b["start"])
    system.spring_damper("spring", b["end"], a["start"], stiffness=1e3, damping=3.0)
    system.universal("other branch", c["start"], a["end"], axis=(0, 1, 0), second_axis=(0, 0, 1))
    system.prismatic("slider", c["end"], d["start"], axis=(1, 0, 0))
    system.revolute("pair", e["end"], f["start"], axis=(0, 0, 1))
    if twice:
        system.revolute("again", e["end"], f["start"], axis=(0, 0, 1))
    if closed:
        system.spring_damper("loop", b["end"], d["end"], stiffness=1e3)
    return system.build()


@pytest.mark.parametrize("off", [False, True])
def test_rigid_bodies_are_eliminated_along_their_branches(off):
    """Against dense matrices, anew and again, with an inactive row."""
    mechanism, rng = branched(), np.random.default_rng(4)
    flat = compiled(mechanism)
    assert sorted(flat.branch_body) == list(range(6))
    assert len(flat.branch_row) == len(flat.row_kind)
    workspace, nv, nr = make_workspace(flat), int(flat.v_start[-1]), len(flat.row_kind)
    q = mechanism.initial.q + 1e-2 * rng.standard_normal(len(mechanism.initial.q))
    residual(flat, q, rng.standard_normal(nv), np.zeros(nv), np.zeros(flat.joint_rows), np.zeros((0, 3)), np.zeros(nr), make_marker_kinematics(flat), workspace, np.zeros(nv), np.zeros(5))  # fmt: skip
    compliance = np.zeros(nr)
    compliance[flat.joint_rows :] = 1e-4
    compliance[2] = INACTIVE if off else 0.0
    null_rows = np.zeros((0, 0))
    for again in (False, True):
        rhs, row_rhs, x, multipliers = rng.standard_normal(nv), rng.standard_normal(nr), np.zeros(nv), np.zeros(nr)
        if again:
            solve_again(flat, workspace, null_rows, 1e4, compliance, rhs, row_rhs, x, multipliers)
        else:
            outcome, null_rows = solve_step(
                True, null_rows, flat, workspace, 1e4, 1e2, compliance, rhs, row_rhs, x, multipliers
            )
            assert (outcome, workspace.branched[0]) == (0, 1.0)
        expected = dense_solution(flat, workspace, 1e4, 1e2, compliance, rhs, row_rhs)
        np.testing.assert_allclose(x, expected[0], rtol=0, atol=1e-12 * np.abs(expected[0]).max())
        np.testing.assert_allclose(multipliers, expected[1], rtol=0, atol=1e-12 * np.abs(expected[1]).max())


def test_loops_and_dependent_links_are_not_branches():
    """A spring closes a loop; a hinge that is given twice makes the rows of its link dependent."""
    assert len(compiled(branched(closed=True)).branch_body) == 0
    mechanism = branched(twice=True)
    flat = compiled(mechanism)
    workspace, nv, nr = make_workspace(flat), int(flat.v_start[-1]), len(flat.row_kind)
    residual(flat, mechanism.initial.q, np.zeros(nv), np.zeros(nv), np.zeros(flat.joint_rows), np.zeros((0, 3)), np.zeros(nr), make_marker_kinematics(flat), workspace, np.zeros(nv), np.zeros(5))  # fmt: skip
    compliance = np.where(np.arange(nr) < flat.joint_rows, 0.0, 1e-4)
    outcome, null_rows = solve_step(True, np.zeros((0, 0)), flat, workspace, 1e4, 0.0, compliance, np.ones(nv), np.zeros(nr), np.zeros(nv), np.zeros(nr))  # fmt: skip
    assert (outcome, len(null_rows), workspace.branched[0]) == (1, 5, 0.0)


@pytest.mark.parametrize("lost", range(6))
def test_an_inertia_that_rounding_loses_is_told(lost):
    """A pivot of zero is no division by zero; such a step is that of the matrix of the rows."""
    inertia = np.eye(6)[None]
    inertia[0, lost, lost] = 0.0
    assert not factor6(inertia, 0)
    assert not invert6(inertia, 0)


@pytest.mark.parametrize("stiffness", [1.0, 1e5])
def test_inverses_keep_their_stiff_directions(stiffness):
    """Of soft matrices with a stiff direction: the response in this direction of the inverse beside a unit matrix."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        stiff = rng.normal(size=6)
        C = np.array([stiffness * np.outer(stiff, stiff) + 1e-6 * np.eye(6)])
        right = stiff / (1.0 + 1.0 / (stiffness * stiff @ stiff + 1e-6))
        assert invert6(C, 0)
        found = np.linalg.solve(np.eye(6) + np.tril(C[0]) + np.tril(C[0], -1).T, stiff)
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-8)


def test_the_newton_matrix_is_the_derivative_at_rest():
    """On the manifold, by differences: of the residual along `q o exp(s x)` with velocities `gamma s x` and accelerations `beta s x`; springs included."""
    system = flexmb.System()
    rng = np.random.default_rng(1)
    one, two = (system.add(random_flexible_body(rng, second_order=True, damping=0.4, name=n)) for n in ("one", "two"))
    system.revolute("hinge", system.ground.at((0, 0, 0)), one["start"], axis=(0, 0, 1))
    system.bushing("bush", one["start"], two["start"], stiffness=(30.0,) * 6, damping=(2.0,) * 6, axis=(0, 0, 1))
    mechanism = system.build()
    flat = compiled(mechanism)
    q0, nv, nr, nj = mechanism.initial.q, int(flat.v_start[-1]), len(flat.row_kind), flat.joint_rows
    workspace, kinematics, memory = make_workspace(flat), make_marker_kinematics(flat), np.zeros(nr)
    beta, gamma, x, none = 50.0, 7.0, rng.normal(size=nv), np.zeros((0, 3))

    def forces(s):
        q, out = np.empty_like(q0), np.zeros(nv)
        displace(flat, q0, s * x, q)
        residual(
            flat, q, gamma * s * x, beta * s * x, np.zeros(nj), none, memory, kinematics, workspace, out, np.zeros(4)
        )
        return np.concatenate([out, workspace.values[:nj]])

    h = 1e-5
    slope = (forces(h) - forces(-h)) / (2 * h)
    forces(0.0)
    compliance = np.zeros(nr)
    compliance[nj:] = 1.0 / (flat.row_stiffness[nj:] + gamma * flat.row_damping[nj:])
    found, multipliers = np.zeros(nv), np.zeros(nr)
    row_rhs = np.concatenate([slope[nv:], np.zeros(nr - nj)])
    solve_rows(flat, workspace, beta, gamma, 1.0, compliance, slope[:nv], row_rhs, found, multipliers)
    np.testing.assert_allclose(found, x, rtol=1e-6)  # the matrix takes x to the slope, and no reaction is needed
    np.testing.assert_allclose(multipliers[:nj], 0.0, atol=1e-5)


def test_dependent_rows_take_the_solution_of_least_norm():
    """A matrix of rank 9 in 14 rows, and a right-hand side that no solution fits: against its pseudo-inverse, in the scale of the rows."""
    rng = np.random.default_rng(9)
    n, rank = 14, 9
    B = rng.standard_normal((n, rank)) * rng.uniform(0.1, 10.0, n)[:, None]
    whole = B @ B.T
    start, first = np.concatenate([[0], np.cumsum(np.arange(1, n + 1))]), np.zeros(n, dtype=np.int64)
    S = np.concatenate([whole[r, : r + 1] for r in range(n)])
    L, scale, given = S.copy(), np.empty(n), rng.standard_normal(n)
    found = given.copy()
    null_rows = _factor_symmetric(start, first, L, scale)
    assert len(null_rows) == n - rank
    _solve_symmetric(start, first, L, scale, null_rows, np.zeros(n), found)
    unit = 1 / np.sqrt(np.diag(whole))
    scaled = whole * np.outer(unit, unit)
    expected = unit * (np.linalg.pinv(scaled, rcond=1e-10) @ (unit * given))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    previous_multipliers, change = rng.standard_normal(n), given.copy()
    _solve_symmetric(start, first, L, scale, null_rows, previous_multipliers, change)
    range_of = scaled @ np.linalg.pinv(scaled, rcond=1e-10)
    np.testing.assert_allclose(
        previous_multipliers + change, found + unit * (range_of @ (previous_multipliers / unit)), rtol=1e-9
    )


SWING = """
    import numpy as np, flexmb
    @flexmb.law(parameters={"c": 2.0})
    def drag(t, relative, states, parameters, wrench, rates):
        for i in range(3):
            wrench[i] = -parameters[0] * relative.v[i]
    @flexmb.control_law(inputs=("angle",), commands=("torque",))
    def hold(t, inputs, states, parameters, commands, rates):
        commands[0] = -30.0 * inputs[0]
    system = flexmb.System(gravity=(0, 0, -9.81))
    bar = flexmb.rigid_body("bar", mass=1.0, inertia=(0.01, 0.09, 0.09), centre=(0.5, 0, 0), points={"a": (0, 0, 0)})
    body = system.add(bar)
    system.revolute("hinge", system.ground.at((0, 0, 0)), body["a"], axis=(0, 1, 0))
    system.force("drag", system.ground.at((1, 0, 0)), body.at((1, 0, 0)), drag())
    system.controller("hold", hold(), inputs={"angle": "coordinate:hinge"}, outputs={"torque": "effort:hinge"})
    print(repr(flexmb.simulate(system, 0.03, step=1e-3).q[-1].tolist()))
"""


def test_the_loop_runs_without_its_compiler(monkeypatch):
    found = []
    for disabled in ("1", "0"):
        monkeypatch.setenv("NUMBA_DISABLE_JIT", disabled)
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(SWING)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        found.append(np.array(eval(done.stdout)))
    np.testing.assert_allclose(found[0], found[1], atol=1e-14)


def test_a_chain_of_a_thousand_bars_starts_without_dense_matrices():
    """Its joint equations are independent, though the smallest pivot of their matrix is 4e-9; a dense look at them would take minutes."""
    system = flexmb.System(gravity=(0, 0, -9.81))
    before = system.ground.at((0, 0, 0))
    for k in range(1000):
        bar = system.add(flexmb.uniform_rod(f"bar {k}", mass=1.0, length=1.0), position=(float(k), 0, 0))
        system.revolute(f"hinge {k}", before, bar["start"], axis=(0, 1, 0))
        before = bar["end"]
    result = flexmb.simulate(system, 5e-3, step=1e-3)
    ledger = result.ledger
    assert np.abs(ledger.residual).max() < 1e-5 * ledger.kinetic.max()
    assert np.linalg.norm(result.position("bar 999.end")[-1] - [1000.0, 0, 0]) < 1e-3
