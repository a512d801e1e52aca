"""Differences of fourth order find steep laws and bound their errors."""

import numpy as np
import pytest

from flexmb.differences import ACCURATE, ROUNDING, measured_derivatives

DEPTHS = np.array([1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-1])


def measured(law, at, scale=1.0):
    """The derivatives of a law at several places, their bounds, and the number of differences."""
    steps = []

    def central(h):
        steps.append(h)
        return (law(at + h) - law(at - h)) / (2 * h)

    rounding = ROUNDING / 2e-4
    found = measured_derivatives(
        central,
        lambda: rounding * np.abs(law(at)),
        lambda value: rounding * np.abs(value),
        lambda value: np.maximum(np.abs(value), scale * np.abs(law(at))),
    )
    return *found, len(steps)


@pytest.mark.parametrize("exponent", [10 / 9, 1.5, 2.5])
def test_a_power_of_the_depth_is_resolved_at_any_depth(exponent):
    """To 1e-8, or to where curvature `(h / d)^4` and rounding `eps / h` are equal: `(eps / d)^(4 / 5)`."""
    value, bound, _ = measured(lambda x: 1e9 * np.maximum(x, 0) ** exponent, DEPTHS)
    exact = 1e9 * exponent * DEPTHS ** (exponent - 1)
    assert (np.abs(value - exact) <= bound).all()
    assert (bound <= np.maximum(1e-8, 4 * (ROUNDING / DEPTHS) ** 0.8) * exact).all()


def test_a_smooth_law_takes_three_differences():
    value, bound, count = measured(np.sin, DEPTHS)
    assert count == 3
    assert (np.abs(value - np.cos(DEPTHS)) <= bound).all()
    assert (bound < 1e-11).all()


def test_a_kink_keeps_its_error():
    """A law without a derivative has none in smaller steps either, and rounding ends their search."""
    value, bound, count = measured(lambda x: np.where(x > 0, 2.0 * x, 0.0) + np.sqrt(np.abs(x)), np.zeros(1))
    assert value[0] == pytest.approx(1.0, abs=bound[0] + 1e-9)
    assert count < 25


@pytest.mark.parametrize("exponent", [1.1, 10 / 9, 1.2, 1.4, 1.7, 1.95])
def test_a_power_below_two_at_its_kink_stays_within_its_bound(exponent):
    """The derivative is zero, and differences fall by less than a half from one step to the next. For the power 10/9 of
    rollers they fall too slowly for any step to improve on the first one, whose bound was a twelfth of its error."""
    value, bound, _ = measured(lambda x: np.sign(x) * np.abs(x) ** exponent, np.zeros(1))
    assert 0.0 < abs(value[0]) <= bound[0] * (1 + 1e-9)


def test_random_sums_of_contacts_stay_within_their_bounds():
    rng = np.random.default_rng(3)
    for _ in range(50):
        begin, stiff = 10.0 ** rng.uniform(-7, -2, 6) * rng.choice([-1, 1], 6), 10.0 ** rng.uniform(3, 9, 6)

        def law(x, begin=begin, stiff=stiff):
            return (stiff * np.maximum(x[:, None] + begin, 0) ** 1.5).sum(axis=1)

        value, bound, _ = measured(law, np.zeros(1))
        exact = (1.5 * stiff * np.sqrt(np.maximum(begin, 0))).sum()
        assert abs(value[0] - exact) <= max(bound[0], ACCURATE * law(np.zeros(1))[0])
        assert bound[0] <= 1e-5 * exact or not exact


@pytest.mark.parametrize("range_", [1e-3, 3e-5, 1e-7])
def test_a_law_that_ends_has_smaller_steps(range_):
    def law(x):
        return np.where(np.abs(x) < range_, 1.0, np.nan) * np.sin(x / range_)

    value, bound, _ = measured(law, np.array([0.0, 0.4 * range_]))
    exact = np.cos([0.0, 0.4]) / range_
    assert (np.abs(value - exact) <= bound).all()
    assert (bound <= 1e-6 * exact).all()


def test_a_law_without_a_value_beside_has_an_infinite_bound():
    value, bound, _ = measured(lambda x: np.where(x <= 0, x, np.nan), np.zeros(1))
    assert value[0] == 0
    assert np.isinf(bound[0])
