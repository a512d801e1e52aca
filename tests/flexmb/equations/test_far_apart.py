"""Masses many decades apart: accelerations against 60 digits, whatever the ratio; what cannot be done is told."""

import contextlib
import warnings

import mpmath as mp
import numpy as np
import pytest

import flexmb
from flexmb.equations.evaluation import Equations
from flexmb.equations.projection import as_sparse, independent_rows, on_saddle, spread
from flexmb.errors import MassRatioWarning, RedundantConstraintWarning
from flexmb.mechanism.compile import compiled

RATIOS = (1e-6, 1e-10, 1e-12, 1e-14)


def bar(system, name, mass, at, to):
    """A body from one point to another, its mass centre off the line between them."""
    d = np.subtract(to, at)
    body = flexmb.rigid_body(
        name, mass=mass, inertia=mass * np.diag([0.02, 0.08, 0.09]), centre=d / 2 + [0.01, 0.1, 0.05]
    )
    return system.add(body, position=at), d


def chain(
    masses,
    kinds=("revolute",),
    grounded=True,
    corners=((0, 0, 0), (1, 0.2, 0), (1.7, 1, 0.1), (2.9, 0.8, 0), (3, 2, 0)),
):
    """Bars one behind the other."""
    s = flexmb.System(gravity=(0, -9.81, 1))
    before = s.ground.at(corners[0]) if grounded else None
    for k, mass in enumerate(masses):
        body, d = bar(s, f"b{k}", mass, corners[k], corners[k + 1])
        if before is not None:
            kind = kinds[k % len(kinds)]
            s.joint(
                kind,
                f"j{k}",
                before,
                body.at((0, 0, 0)),
                **({} if kind in ("fixed", "spherical") else {"axis": (0, 0, 1)}),
            )
        before = body.at(d)
    return s, before


def four_bar(masses, last="revolute"):
    """A planar loop: with four hinges, three joint equations are redundant."""
    s, end = chain(masses, corners=((0, 0, 0), (0.3, 1, 0), (1.7, 1.4, 0), (1.5, 0, 0)))
    s.joint(last, "closing", end, s.ground.at((1.5, 0, 0)), **({} if last == "spherical" else {"axis": (0, 0, 1)}))
    return s, end


CASES = {
    "light between heavy": lambda r: chain([1, r, 1]),
    "light carries heavy": lambda r: chain([r, 1]),
    "two light between heavy": lambda r: chain([1, r, r, 1], ("spherical", "revolute")),
    "light at the end": lambda r: chain([1, r]),
    "free": lambda r: chain([r, 1, r, 1], grounded=False),
    "of three sizes": lambda r: chain([1, r, np.sqrt(r), 1], ("revolute", "cylindrical", "fixed")),
    "redundant loop of light cranks": lambda r: four_bar([r, 1, r]),
    "redundant loop with a light coupler": lambda r: four_bar([1, r, 1]),
    "loop": lambda r: four_bar([r, 1, r], "point-on-line"),
}  # fmt: skip


def built(system):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RedundantConstraintWarning)
        return system.build()


def in_many_digits(e, force, wanted):
    """The same accelerations with 60 digits, from the equations that are independent by geometry."""
    G = as_sparse(e.flat, e.workspace.G)[: e.flat.joint_rows]
    kept = independent_rows(G, e.flat)
    A, n = G.toarray()[kept], len(force)
    K = np.block([[e.mass().toarray(), A.T], [A, np.zeros((len(A), len(A)))]])
    with mp.workdps(60):
        x = mp.lu_solve(mp.matrix(K.tolist()), mp.matrix([*force, *wanted[kept]]))
        return np.array([float(v) for v in x[:n]])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_accelerations_at_any_mass_ratio(name, ratio):
    m = built(CASES[name](ratio)[0])
    e, functions = Equations(m, m.initial.q), m.function_values(0.0)
    rng = np.random.default_rng(0)
    w = np.zeros(len(m.initial.w))
    force = -e.residual(functions, m.initial.q, w, np.zeros(len(w)), np.zeros(e.flat.joint_rows))[0]
    G = as_sparse(e.flat, e.workspace.G)[: e.flat.joint_rows]
    wanted = G @ rng.normal(size=len(w))  # what is possible
    for f, target in ((force, 0 * wanted), (0 * force, wanted), (force, wanted)):
        x, multipliers = e.on_joints(f.copy(), target)
        exact = in_many_digits(e, f, target)
        np.testing.assert_allclose(x, exact, rtol=0, atol=1e-9 * np.abs(exact).max())
        left = e.mass() @ x + G.T @ multipliers - f
        assert np.abs(left).max() <= 1e-12 * max(np.abs(multipliers).max(), np.abs(f).max())


@pytest.mark.parametrize("name", [name for name in CASES if "loop" in name])
def test_redundant_reactions_are_shared_alike_at_any_mass_ratio(name):
    """Both ways to solve the joint equations choose the same of all possible reactions, where both can."""
    m = built(CASES[name](1e-2)[0])
    e, nv = Equations(m, m.initial.q), len(m.initial.w)
    force = -e.residual(m.function_values(0.0), m.initial.q, m.initial.w, np.zeros(nv), np.zeros(e.flat.joint_rows))[0]
    G = as_sparse(e.flat, e.workspace.G)[: e.flat.joint_rows]
    none = np.zeros(e.flat.joint_rows)
    x, multipliers = e.on_joints(force.copy(), none)
    again = on_saddle(G, independent_rows(G, e.flat), e.masses(), force, none, e.flat)
    np.testing.assert_allclose(again[0], x, atol=1e-9 * np.abs(x).max())
    np.testing.assert_allclose(again[1], multipliers, atol=1e-9 * np.abs(multipliers).max())


@pytest.mark.filterwarnings("ignore::flexmb.RedundantConstraintWarning")
@pytest.mark.parametrize(
    ("method", "name", "least"),
    [
        ("explicit", "light between heavy", 1e-14),
        ("radau", "light between heavy", 1e-12),
        ("radau", "redundant loop with a light coupler", 1e-11),
        ("bdf", "redundant loop with a light coupler", 1e-11),
    ],
)
def test_steps_without_the_inverse_of_the_masses_do_not_see_that_of_a_light_body(method, name, least):
    ends = []
    for ratio in (1e-7, least):
        result = flexmb.simulate(built(CASES[name](ratio)[0]), 0.1, method=method, tolerance=1e-8, output_step=0.05)
        assert result.verdict.sound
        ends.append(result.frame("b2")[0][-1])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_generalised_alpha_names_the_bodies(coordinates):
    """Whether the run fails or not: the reason is given before."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with contextlib.suppress(flexmb.ConvergenceError):
            flexmb.simulate(built(chain([1, 1e-13, 1])[0]), 0.01, step=1e-3, coordinates=coordinates)
    assert any(w.category is MassRatioWarning and "'b1'" in str(w.message) for w in told)


@pytest.mark.filterwarnings("ignore::flexmb.RedundantConstraintWarning")
@pytest.mark.parametrize(
    ("name", "ratio", "method", "options"),
    [
        ("redundant loop with a light coupler", 1e-11, "generalised-alpha", {"step": 1e-3}),
        ("light between heavy", 1e-14, "radau", {"tolerance": 1e-8}),
    ],
)
def test_a_step_that_fails_names_the_bodies(name, ratio, method, options):
    """Also where no equation is dropped at the start. Of the two cranks, which are alike, either may be named."""
    with pytest.raises(flexmb.ConvergenceError, match=r"inertias of 'b1' and 'b[02]' of .*method='explicit'"):
        flexmb.simulate(built(CASES[name](ratio)[0]), 0.1, method=method, **options)


def test_the_spread_of_masses_does_not_depend_on_where_bodies_are_drawn():
    """The least moment of inertia about a mass centre over the square of the length, beside the largest mass, however far
    the centre is from the frame of its body."""
    for centre in ((0.0, 0.0, 0.0), (0.3, -0.5, 0.2)):
        system, inertia = flexmb.System(), (0.02, 0.05, 0.06)
        system.add(flexmb.rigid_body("light", mass=0.1, inertia=inertia, centre=centre), position=np.negative(centre))
        system.add(flexmb.rigid_body("heavy", mass=40.0, inertia=(9.0, 8.0, 7.0)), position=(2, 0, 0))
        mechanism = system.build()
        ratio, light, heavy = spread(compiled(mechanism))
        largest = max(40.0, 9.0 / mechanism.length**2)
        assert ratio == pytest.approx(min(0.1, 0.02 / mechanism.length**2) / largest, rel=1e-12)
        assert [mechanism.bodies[b].name for b in (light, heavy)] == ["light", "heavy"]


def test_light_bodies_that_do_no_harm_are_not_named():
    for system in (chain([1, 1e-13])[0], four_bar([1, 1, 1])[0], chain([1, 1e-6, 1])[0]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RedundantConstraintWarning)
            flexmb.simulate(system, 0.002, step=1e-3)
