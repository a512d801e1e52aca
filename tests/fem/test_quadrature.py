"""Quadrature rules: monomials up to the degree that each promises."""

from itertools import product
from math import factorial

import numpy as np
import pytest

from fem.elements.quadrature import tetrahedron, triangle, wedge


@pytest.mark.parametrize("degree", [1, 2, 5])
@pytest.mark.parametrize("rule", [triangle, tetrahedron])
def test_rules_of_simplices_integrate_all_monomials_of_their_degree(rule, degree):
    """`int x^a y^b z^c = a! b! c! / (a + b + c + n)!` over the unit simplex of n dimensions."""
    points, weights = rule(degree)
    n = points.shape[1]
    for powers in product(range(degree + 1), repeat=n):
        if sum(powers) <= degree:
            exact = np.prod([factorial(p) for p in powers]) / factorial(sum(powers) + n)
            assert weights @ (points**powers).prod(axis=1) == pytest.approx(exact, rel=1e-13), powers


def test_the_rule_of_a_wedge_is_the_product_of_those_of_a_triangle_and_a_line():
    points, weights = wedge(2, 3)
    for a, b, c in product(range(3), range(3), range(6)):
        if a + b <= 2:
            exact = factorial(a) * factorial(b) / factorial(a + b + 2) * (0.0 if c % 2 else 2.0 / (c + 1))
            assert weights @ (points ** (a, b, c)).prod(axis=1) == pytest.approx(exact, abs=1e-15)
