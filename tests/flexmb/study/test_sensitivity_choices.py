"""Derivatives where building a model makes choices: signs and mixtures of modes, frames of axes, scales of numbers, values that functions hold; and where motions enlarge their errors."""

import warnings
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import mechanisms
import numba
import numpy as np
import pytest
import scipy
from mechanisms import random_flexible_body

import flexmb
from flexmb.bodies.subspace import transformed
from flexmb.errors import SensitivityWarning, StudyError
from flexmb.spatial.lie import frame_with_axis, rotation_exp
from flexmb.study import adjoint_gradient, direct_gradient, gradient
from flexmb.study.gradients.aligned import aligned
from flexmb.study.gradients.scales import scale_of
from flexmb.study.gradients.trust import error_of, suspicious

STEP = 2e-3


def both(model, at, series, duration=0.1, over="final", **options):
    """By the adjoint and by the direct method, which agree."""
    given = {"step": STEP, "output_step": STEP, "newton_tolerance": 1e-11, **options}
    back = adjoint_gradient(model, at, duration, series, over=over, **given).of("result")
    forth = direct_gradient(model, at, duration, measure=lambda r: {"x": series(r)[-1]}, **given).of("x")
    np.testing.assert_allclose(back, forth, rtol=2e-6, atol=2e-6 * np.abs(back).max())
    return back


def differences(model, at, series, part, duration=0.1):
    """Extrapolated central differences of simulations."""
    found = []
    for name, value in at.items():
        h = part * (abs(value) or 1.0)

        def value_at(x, name=name):
            mechanism = model(**{**at, name: x})
            return series(flexmb.simulate(mechanism, duration, step=STEP, output_step=STEP, newton_tolerance=1e-13))[-1]

        far, near = ((value_at(value + d) - value_at(value - d)) / (2 * d) for d in (h, h / 2))
        found.append((4 * near - far) / 3)
    return np.array(found)


def base_body(double=False):
    body = random_flexible_body(np.random.default_rng(7), modes=3, second_order=True)
    stiffness = np.array([400.0, 400.0, 900.0]) if double else body.stiffness
    return replace(body, stiffness=stiffness, damping=0.02 * np.sqrt(stiffness))


def rebuilt(E, split, count, double):
    """The body as a reduction gives it, with the signs, order and mixtures of its modes as they happen to come out: other ones every time."""
    body = base_body(double)
    rng = np.random.default_rng(count)
    K = np.diag(body.stiffness) * E
    K[0, 1] += split
    K[1, 0] += split
    k, V = np.linalg.eigh(K)
    if double and split == 0.0:
        V[:, :2] = V[:, :2] @ rotation_exp((0, 0, rng.uniform(0, 6)))[:2, :2]
    V = V * rng.choice([-1.0, 1.0], 3)
    D = V.T @ np.diag(body.damping) @ V
    return replace(transformed(body, V), stiffness=k, damping=np.diag(D) if not double else 0.02 * np.sqrt(k))


def swinging(body):
    system = flexmb.System(gravity=(0, -9.81, 1.0))
    body = system.add(body)
    system.revolute("hinge", system.ground.at((0, 0, 0)), body["start"], axis=(0, 0, 1))
    return system


def numbered(make):
    """A model that is told how often it was built."""
    count = [0]

    def model(**values):
        count[0] += 1
        return make(count=count[0], **values)

    return model


def test_signs_of_modes_do_not_matter():
    model = numbered(lambda E, count: swinging(rebuilt(E, 0.0, count, False)))
    still = lambda E: swinging(replace(base_body(), stiffness=base_body().stiffness * E))  # noqa: E731

    def tip(result):
        return result.position("random.end")[:, 1]

    expected = differences(still, {"E": 1.0}, tip, 1e-3)
    np.testing.assert_allclose(both(model, {"E": 1.0}, tip), expected, rtol=2e-6)


def test_nor_do_mixtures_of_modes_of_one_frequency():
    """A parameter that splits a double mode turns its shapes at once; the elastic coordinates compared are those of the body as simulated."""
    model = numbered(lambda E, split, count: swinging(rebuilt(E, split, count, True)))

    def tip(result):
        return result.position("random.end")[:, 1]

    at = {"E": 1.0, "split": 0.0}
    expected = differences(model, at, tip, 1e-2)
    np.testing.assert_allclose(both(model, at, tip), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    given = {"step": STEP, "output_step": STEP, "newton_tolerance": 1e-13, "workers": 1}
    found = gradient(model, at, 0.1, measure=lambda r: {"tip": tip(r)[-1]}, **given).of("tip")
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def elastic(result):
    return {str(k): x for k, x in enumerate(result.elastic("random")[-1])}


def test_differences_of_elastic_coordinates_are_those_of_one_set_of_them():
    given = {"step": STEP, "output_step": 0.02, "newton_tolerance": 1e-12, "workers": 1, "measure": elastic}
    still = lambda E: swinging(replace(base_body(), stiffness=base_body().stiffness * E))  # noqa: E731
    expected = gradient(still, {"E": 1.0}, 0.1, **given)
    found = gradient(numbered(lambda E, count: swinging(rebuilt(E, 0.0, count, False))), {"E": 1.0}, 0.1, **given)
    for k, ascending in enumerate(np.argsort(base_body().stiffness)):  # eigenvalues come in this order; up to the sign
        name, other = str(k), str(ascending)
        sign = np.sign(found.outcome[name] / expected.outcome[other])
        assert sign * found.outcome[name] == pytest.approx(expected.outcome[other], rel=1e-9)
        assert sign * found.of(name)[0] == pytest.approx(expected.of(other)[0], rel=1e-6)


@pytest.mark.parametrize("double", [False, True])
def test_elastic_coordinates_to_start_with_mean_the_same_in_every_build(double):
    """In any mixture, also of modes of one frequency: derivatives are smooth."""

    def model(E, count):
        system = flexmb.System(gravity=(0, -9.81, 1.0))
        body = system.add(rebuilt(E, 0.0, count, double), eta=(0.01, 0.02, -0.01))
        system.revolute("hinge", system.ground.at((0, 0, 0)), body["start"], axis=(0, 0, 1))
        return system

    given = {"step": STEP, "output_step": 0.02, "newton_tolerance": 1e-12, "workers": 1, "measure": elastic}
    found = gradient(numbered(model), {"E": 1.0}, 0.1, **given)
    largest = max(abs(x[0]) for x in found.derivatives.values())
    assert max(x[0] for x in found.errors.values()) < 1e-6 * largest


def test_numbers_of_elastic_coordinates_before_and_after_are_told():
    fewer = random_flexible_body(np.random.default_rng(7), modes=2, second_order=True)
    with pytest.raises(StudyError, match="number of elastic coordinates of body 'random' from 3 to 2"):
        aligned(swinging(fewer).build(), swinging(base_body()).build(), 1e-3)


def test_bodies_are_aligned_whatever_their_signs_order_and_mixtures():
    rng = np.random.default_rng(8)
    for seed in range(5):
        body = base_body(double=True)
        V = np.eye(3)
        V[:2, :2] = rotation_exp((0, 0, rng.uniform(0, 6)))[:2, :2]
        V = V[:, rng.permutation(3)] * rng.choice([-1.0, 1.0], 3)
        other = replace(transformed(body, V), stiffness=np.einsum("ai,a,ai->i", V, body.stiffness, V))
        built = swinging(other).build()
        q, w = built.initial.q.copy(), built.initial.w.copy()
        q[7:10], w[6:9] = (0.01, 0.02, -0.03), (0.3, -0.1, 0.2)
        built = replace(built, initial=replace(built.initial, q=q, w=w))
        found = aligned(built, swinging(body).build(), 1e-3)
        np.testing.assert_allclose(V @ found.turns[0], np.eye(3), atol=1e-9, err_msg=str(seed))
        np.testing.assert_allclose(found.mechanism.bodies[0].invariants.S1, body.invariants.S1, atol=1e-9)
        np.testing.assert_allclose(found.mechanism.bodies[0].stiffness, body.stiffness, rtol=1e-9)
        for numbers, given, rigid in (
            (found.built.initial.q, q, 7),
            (found.built.initial.w, w, 6),
        ):  # numbers to begin with
            np.testing.assert_allclose(found.turned(numbers, rigid), given, atol=1e-12)


def test_frames_of_axes_are_smooth():
    """Beside and between the coordinate axes; rotations, and as they were along these."""
    rng = np.random.default_rng(9)
    for axis in [*np.eye(3), *-np.eye(3), *rng.normal(size=(30, 3)), (1, 1, 0), (1, 1, 1), (0, 1, -1)]:
        F = frame_with_axis(np.array(axis, dtype=float))
        np.testing.assert_allclose(F.T @ F, np.eye(3), atol=1e-14)
        assert np.linalg.det(F) > 0
        for d in 1e-7 * rng.normal(size=(4, 3)):
            np.testing.assert_allclose(frame_with_axis(np.array(axis) + d), F, atol=1e-4 if np.linalg.norm(axis) else 0)
    n = scipy.optimize.brentq(lambda n: n**-2 + n**-6 + 0.36 * n**-10 - 1, 1.0, 2.0)
    for sign in (1.0, -1.0):  # where the field of directions is along the axis
        F = frame_with_axis(sign * np.array([1 / n, n**-3, 0.6 * n**-5]))
        np.testing.assert_allclose(F.T @ F, np.eye(3), atol=1e-14)
    np.testing.assert_array_equal(frame_with_axis(np.array([0.0, 0, 1])), np.eye(3))
    assert (frame_with_axis(np.array([0.0, 1, 0]))[:, 0] == [1, 0, 0]).all()
    assert (frame_with_axis(np.array([1.0, 0, 0]))[:, 0] == [0, 1, 0]).all()


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, -1, 0), (1, 0, 0)])
def test_derivatives_by_the_direction_of_an_axis(axis):
    aside = np.roll(axis, 1)

    def model(a, b):
        system = flexmb.System(gravity=(3.0, -9.81, 2.0))
        rod = system.add(flexmb.uniform_rod("rod", mass=1, length=1.0), orientation=(0.2, 0.3, 0.4))
        direction = np.array(axis, dtype=float) + a * aside + b * np.roll(aside, 1)
        system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=direction)
        system.bushing("soft", system.ground.at((0, 0, 0)), rod["start"], stiffness=(1, 1, 1, 5, 5, 5), axis=direction)
        return system

    def tip(result):
        return result.position("rod.end") @ [1.0, 0.7, -0.4]

    at = {"a": 0.0, "b": 0.0}
    np.testing.assert_allclose(both(model, at, tip), differences(model, at, tip, 1e-3), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("stiff", [1e3, 1e8, 1e14])
def test_a_soft_spring_beside_a_stiff_one(stiff):
    """A stiff bushing that hardly moves; the derivative by the soft spring is that without it."""

    def model(soft, seat, light):
        system = flexmb.System(gravity=(0, -9.81, 0))
        rod = system.add(flexmb.uniform_rod("rod", mass=1, length=1.0))
        system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
        system.joint_spring("spring", "hinge", stiffness=soft, damping=0.1 * soft)
        other = system.add(flexmb.uniform_rod("other", mass=light * stiff, length=1.0), position=(0, 0, 1))
        system.fixed("weld", system.ground.at((0, 0, 1)), other["start"])
        system.bushing("seat", system.ground.at((1, 0, 1)), other["end"], stiffness=(seat * stiff,) * 6, damping=(seat * stiff,) * 6)  # fmt: skip
        return system

    def tip(result):
        return result.position("rod.end")[:, 1]

    at = {"soft": 1.0, "seat": 1.0, "light": 1.0}
    found = both(model, at, tip)
    expected = differences(lambda soft: model(soft, 1.0, 1.0), {"soft": 1.0}, tip, 1e-3)
    assert found[0] == pytest.approx(expected[0], rel=1e-6)
    assert abs(found[1:]).max() < 1e-9 * abs(found[0])


def held_constant(k):
    return lambda t, x, v: -k * x


def keyword_only(k):
    def law(t, x, v, *, stiffness=k):
        return -stiffness * x

    return law


def default(k):
    return lambda t, x, v, k=k: -k * x


def partly(k):
    return partial(lambda k, t, x, v: -k * x, k)


def partly_by_keyword(k):
    return partial(lambda t, x, v, k: -k * x, k=k)


def unset(k):
    if k < 0:
        other = -k
    return lambda t, x, v: -k * x if k >= 0 else -other * x


class Callable:
    def __init__(self, k):
        self.k = k

    def __call__(self, t, x, v):
        return -self.k * x

    def method(self, t, x, v):
        return -self.k * x


def bound(k):
    return Callable(k).method


def nested(k):
    def inner(x):
        return -k * x

    return lambda t, x, v: inner(x)


def compiled(k):
    return numba.njit(lambda t, x, v: -k * x)


def listed(k):
    values = [0.0, k]
    return lambda t, x, v: -values[1] * x


def pendulum_with(law):
    system = flexmb.System(gravity=(0, -9.81, 0))
    rod = system.add(flexmb.uniform_rod("rod", mass=1, length=1.0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
    system.motor("law", "hinge", law)
    return system


@pytest.mark.parametrize(
    "make",
    [held_constant, keyword_only, default, partly, partly_by_keyword, unset, Callable, bound, nested, compiled, listed],
)
def test_values_that_laws_hold_are_seen_however_they_hold_them(make):
    def tip(result):
        return result.position("rod.end")[:, 1]

    at = {"k": 3.0}
    found = adjoint_gradient(lambda k: pendulum_with(make(k)), at, 0.1, tip, over="final", step=STEP).of("result")
    expected = adjoint_gradient(lambda k: pendulum_with(held_constant(k)), at, 0.1, tip, over="final", step=STEP).of("result")  # fmt: skip
    assert expected[0] > 1e-5
    assert found[0] == pytest.approx(expected[0], rel=1e-6)


SHARED = {"k": 0.0}
GLOBAL = 0.0


class Settings:
    k = 0.0


class Derived(Settings):
    """Reads what its base has."""


def test_values_that_builds_share_are_refused(monkeypatch):
    monkeypatch.setattr(mechanisms, "GAIN", 0.0, raising=False)

    def by_global(k):
        globals()["GLOBAL"] = k
        return pendulum_with(lambda t, x, v: -GLOBAL * x)

    def by_object(k):
        SHARED["k"] = k
        return pendulum_with(lambda t, x, v: -SHARED["k"] * x)

    def in_a_function_of_time(k):
        SHARED["k"] = k
        system = pendulum_with(lambda t, x, v: -x)
        factor = flexmb.time_functions.function(lambda t: SHARED["k"] * t, lambda t: SHARED["k"], lambda t: 0.0)
        system.load("pull", system._bodies and flexmb.mechanism.attachments.BodyHandle(0, system._bodies[0])["end"], force=(0, 1, 0), factor=factor)  # fmt: skip
        return system

    def by_class(k):
        Settings.k = k
        return pendulum_with(lambda t, x, v: -Derived.k * x)

    def by_module(k):
        mechanisms.GAIN = k
        return pendulum_with(lambda t, x, v: -mechanisms.GAIN * x)

    for model in (by_global, by_object, in_a_function_of_time, by_class, by_module):
        with pytest.raises(StudyError, match="reads a variable that the model changes"):
            adjoint_gradient(model, {"k": 3.0}, 0.1, lambda r: r.position("rod.end")[:, 1], step=STEP)


@pytest.mark.parametrize("kind", ["jump", "kink"])
def test_models_that_are_not_smooth_are_reported(kind):
    def model(mass):
        system = flexmb.System(gravity=(0, -9.81, 0))
        own = 1.0 + (mass > 2.0) if kind == "jump" else 1.0 + abs(mass - 2.0)
        rod = system.add(flexmb.uniform_rod("rod", mass=own, length=1.0))
        system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
        return system

    def force(result):
        return np.linalg.norm(result.reaction("hinge")[:, :3], axis=1)

    with pytest.warns(SensitivityWarning, match="smoothly on 'mass' at 2"):
        adjoint_gradient(model, {"mass": 2.0}, 0.02, force, step=STEP)
    adjoint_gradient(model, {"mass": 2.5}, 0.02, force, step=STEP)


def chaotic(length):
    system = flexmb.System(gravity=(0, -9.81, 0))
    first = system.add(flexmb.uniform_rod("first", mass=1.0, length=length))
    second = system.add(flexmb.uniform_rod("second", mass=1.0, length=1.0), position=(length, 0, 0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), first, axis=(0, 0, 1))
    system.revolute("elbow", first["end"], second, axis=(0, 0, 1))
    return system


def test_effects_that_begin_late_are_no_enlarged_errors():
    """The motion changes only after the blow, which a swinging pendulum does not amplify: one simulation is enough."""

    def struck(blow):
        system = flexmb.System(gravity=(0, -9.81, 0))
        rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=1.0))
        system.revolute("hinge", system.ground.at((0, 0, 0)), rod, axis=(0, 0, 1))
        pulse = flexmb.time_functions.pulse(start=0.8, duration=0.1, height=1.0)
        system.load("blow", rod["end"], force=(0, blow, 0), factor=pulse)
        return system

    slope = direct_gradient(
        struck, {"blow": 5.0}, 1.0, measure=lambda r: {"end": r.position("rod.end")[-1, 1]}, step=2e-3
    )
    higher, lower = (flexmb.simulate(struck(blow), 1.0, step=2e-3).position("rod.end")[-1, 1] for blow in (5.01, 4.99))
    assert slope.of("end")[0] == pytest.approx((higher - lower) / 0.02, rel=1e-4)
    assert np.isnan(slope.errors["end"][0])


def test_motions_that_enlarge_their_errors_are_reported_with_an_estimate():
    def tip(result):
        return result.position("second.end")[:, 1]

    at, long = {"length": 1.0}, {"step": 5e-3, "output_step": 0.05}
    with pytest.warns(SensitivityWarning, match="amplifies small disturbances"):
        back = adjoint_gradient(chaotic, at, 6.0, tip, over="final", **long)
    fine = {"step": 5e-4, "output_step": 0.05}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SensitivityWarning)
        right = adjoint_gradient(chaotic, at, 6.0, tip, over="final", **fine)
    off = abs(back.of("result")[0] - right.of("result")[0])
    assert 0.3 * off < back.errors["result"][0] < 30 * off
    with pytest.warns(SensitivityWarning, match="amplifies small disturbances"):
        forth = direct_gradient(chaotic, at, 6.0, measure=lambda r: {"tip": tip(r)[-1]}, **long)
    assert forth.of("tip")[0] == pytest.approx(back.of("result")[0], rel=1e-3)
    assert forth.errors["tip"][0] == pytest.approx(back.errors["result"][0], rel=1e-2)
    calm = adjoint_gradient(chaotic, at, 0.5, tip, over="final", step=1e-3)
    assert np.isnan(calm.errors["result"][0])


@pytest.mark.parametrize(("growth", "found"), [(2e4, True), (5e3, False)])
def test_growth_over_the_whole_time_is_the_square_of_that_over_half(growth, found):
    """A disturbance that grows exponentially, and steps whose errors add up to 1e-8 of the length."""
    flat = SimpleNamespace(weight=np.array([1.0]))
    run = SimpleNamespace(equations=SimpleNamespace(flat=flat), scheme=SimpleNamespace(error_constant=0.1))
    jumps = SimpleNamespace(a=np.cumsum(np.full((101, 1), 1e-5), axis=0))
    recording = SimpleNamespace(run=run, track=jumps, h=1e-2)
    assert suspicious(recording, growth ** np.linspace(0.0, 1.0, 201)) is found


@pytest.mark.parametrize("ratio", [0.5, 0.8])
def test_the_error_of_second_order_from_a_shorter_step(ratio):
    error = np.array([3e-3, -2e-4])
    np.testing.assert_allclose(error_of(1.0 + error, 1.0 + ratio**2 * error, ratio), np.abs(error), rtol=1e-9)


def test_scales_of_lengths_have_their_unit_and_those_of_angles_none():
    """Free lengths and angles of springs, which are short beside the mechanism, in metres and in millimetres."""

    def scales(unit):
        system = flexmb.System()
        rod = system.add(flexmb.uniform_rod("rod", mass=1, length=2.0 * unit))
        system.revolute("hinge", system.ground.at((0, 0, 0)), rod["start"], axis=(0, 0, 1))
        system.joint_spring("turning", "hinge", stiffness=unit**2, free=0.01)
        slide = system.add(flexmb.uniform_rod("slide", mass=1, length=0.5 * unit), position=(0, unit, 0))
        system.prismatic("rail", system.ground.at((0, unit, 0)), slide["start"], axis=(1, 0, 0))
        system.joint_spring("sliding", "rail", stiffness=1.0, free=0.01 * unit)
        system.spring_damper("between", rod["end"], slide["end"], stiffness=1.0, length=0.02 * unit)
        mechanism = system.build()
        found = scale_of("row_offset", mechanism)
        return {name: found[list(rows)] for name, rows in mechanism.force_elements.items()}

    metres, millimetres = scales(1.0), scales(1e3)
    for name, ratio in (("turning", 1.0), ("sliding", 1e3), ("between", 1e3)):
        np.testing.assert_allclose(millimetres[name] / metres[name], ratio, rtol=1e-12)
