"""Force laws as formulas: values and slopes, what is refused and where, and the motion that they cause."""

import math
import pickle

import numpy as np
import pytest

import flexmb
from flexmb.errors import ExpressionError, LawError
from flexmb.study import adjoint_gradient
from flexmb.study.gradients.held import held_by
from flexmb.study.identity import identity

K, K3, C = 1.7, 0.8, 0.5
FORMULAS = {
    "k*x + k3*x**3 + c*min(xdot, 0)": lambda t, x, v: K * x + K3 * x**3 + C * min(v, 0),
    "k*x/(1 + abs(x)) + k3*tanh(xdot/c)": lambda t, x, v: K * x / (1 + abs(x)) + K3 * math.tanh(v / C),
    "max(k*(x - 0.1), 0)**1.5*(1 + c*xdot) - k3": lambda t, x, v: max(K * (x - 0.1), 0) ** 1.5 * (1 + C * v) - K3,
    "k*sin(3*x)*exp(-c*t) + k3*atan(x/(1 + xdot**2))": lambda t, x, v: K * math.sin(3 * x) * math.exp(-C * t) + K3 * math.atan(x / (1 + v**2)),
    "k*x**-2 + sqrt(k3 + x*x) - +c*log(2 + x)": lambda t, x, v: K / x**2 + math.sqrt(K3 + x * x) - C * math.log(2 + x),
    "k**k3*cos(pi*x) + c*abs(x)**k3*sign(x)": lambda t, x, v: K**K3 * math.cos(math.pi * x) + C * math.copysign(abs(x) ** K3, x),
    "-k*x if x > 0 and not xdot < 0.1 else c*atan2(xdot, x) + k3": lambda t, x, v: -K * x if x > 0 and v >= 0.1 else C * math.atan2(v, x) + K3,
    "sinh(k*x) + cosh(c*x)*tan(k3*x) + max(t, x, xdot)": lambda t, x, v: math.sinh(K * x) + math.cosh(C * x) * math.tan(K3 * x) + max(t, x, v),
    "k*asin(x/2) - c*acos(xdot/2)*k3": lambda t, x, v: K * math.asin(x / 2) - C * math.acos(v / 2) * K3,
    "(k if -0.5 <= x < 0.5 or t > 9 else c)*x - k3": lambda t, x, v: (K if -0.5 <= x < 0.5 else C) * x - K3,
}  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_values_and_slopes(text):
    """Against Python and central differences, for arrays; the compiled functions return the same."""
    law, rng = flexmb.expression(text, k=K, k3=K3, c=C), np.random.default_rng(3)
    points = rng.uniform(0.05, 1.0, (3, 40)) * np.where(rng.random((3, 40)) < 0.5, -1.0, 1.0) ** [[0], [1], [1]]
    exact = np.array([FORMULAS[text](*p) for p in points.T])
    np.testing.assert_allclose(law.over(*points), exact, rtol=1e-13, atol=1e-13)
    slopes = law.slopes(*points)
    np.testing.assert_allclose(slopes[0], exact, rtol=1e-13, atol=1e-13)
    for k, step in enumerate(1e-6 * np.eye(3)):
        ahead, behind = points + step[:, None], points - step[:, None]
        np.testing.assert_allclose(slopes[1 + k], (law.over(*ahead) - law.over(*behind)) / 2e-6, rtol=2e-7, atol=2e-7)


def test_the_compiled_functions_return_the_same():
    text = "(k*x**3 if x > 0 else 0) + c*max(xdot, -1, t)*sign(x) + abs(k3*x)**1.5 + atan2(x, 2) - 3**k"
    law = flexmb.expression(text, k=K, k3=K3, c=C)
    compiled, slopes = law.compiled, law.compiled_slopes
    for point in np.random.default_rng(4).uniform(-1.0, 1.0, (40, 3)):
        assert compiled(*point) == pytest.approx(law(*point), rel=1e-13, abs=1e-13)
        np.testing.assert_allclose(slopes(*point), law.slopes(*point), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "max(log(x), 0)",
        "min(sqrt(x), 1)",
        "sign(log(x))",
        "1 if log(x) > 0 else 2",
        "1 if not sqrt(x) < 1 else 2",
        "1 if log(x) > 0 or x < 0 else 2",
        "1 if log(x) > 0 and x > 0 else 2",
    ],
)
def test_what_is_not_defined_is_not_hidden_by_a_comparison(text):
    law = flexmb.expression(text)
    compiled = law.compiled
    assert np.isnan(compiled(0.0, -1.0, 0.0))
    assert compiled(0.0, 2.0, 0.0) == law(0.0, 2.0, 0.0)
    assert np.isnan(law(0.0, -1.0, 0.0))


def test_the_second_condition_counts_only_where_the_first_leaves_it_open():
    law = flexmb.expression("1 if x > 0 and log(x) > 0 else 2 if x <= 0 or log(x) < 0 else 3")
    assert [law.compiled(0.0, x, 0.0) for x in (2.0, -1.0, 0.5, 1.0)] == [1.0, 2.0, 2.0, 3.0]


@pytest.mark.parametrize(("sign", "values"), [("<", "100"), ("<=", "110"), (">", "001"), (">=", "011"), ("==", "010"), ("!=", "101")])  # fmt: skip
def test_comparisons_at_and_beside_equality(sign, values):
    law = flexmb.expression(f"1 if x {sign} 0.25 else 0")
    assert [law(0.0, x, 0.0) for x in (0.125, 0.25, 0.5)] == [float(value) for value in values]


def test_the_branch_not_taken_does_not_count():
    law = flexmb.expression("sqrt(x)/x if x > 0 else 0")
    assert law(0.0, -1.0, 0.0) == law.compiled(0.0, -1.0, 0.0) == law.compiled(0.0, 0.0, 0.0) == 0.0
    np.testing.assert_array_equal(law.slopes(0.0, np.array([-1.0, 4.0]), 0.0)[2], [0.0, -0.0625])


REFUSED = [
    ("k*y", "column 3: expected one of the names t, x, xdot, k, pi; found 'y'"),
    ("k*x + xdt", r"column 7: .*found 'xdt' \(did you mean 'xdot'\?\)"),
    ("k*sn(x)", r"column 3: expected one of the functions .*; found 'sn' \(did you mean 'sin'\?\)"),
    ("x.real*k", "column 1: expected numbers, names.*; found attribute access"),
    ("__import__('os').system('ls')", "column 1: expected the name of a function; found attribute access"),
    ("(lambda: x)()", "column 1: expected the name of a function; found a function definition"),
    ("[x for x in (1, 2)]", "column 1: .*found a comprehension"),
    ("k*x^2", r"column 1: .*found \^, which is written \*\* for powers"),
    ("k*x +", "column 6: expected an expression; found a syntax error"),
    ("x = 1", "column 3: expected an expression; found a syntax error"),
    ("x < 1", "column 1: expected a number; found a condition. Write 1 if"),
    ("k if x else 1", "column 6: expected a condition such as x > 0; found x"),
    ("k if x is 1 else 1", "column 6: expected a condition"),
    ("x**xdot*k", "column 4: expected an exponent of numbers and parameters; found one that depends on t, x, xdot"),
    ("k*x**99", "column 6: expected an exponent of at most 64 in size; found 99"),
    ("k + 9**64**64", "column 8: expected an exponent of at most 64"),
    ("k + 9**60*9**60*9**60*9**60*9**60*9**60", "column 5: expected a finite number; found"),
    ("1e400*x", "column 1: expected a number below 1e300"),
    ("k + 1/0", "column 5: expected a finite number; found 1 / 0"),
    ("k*sqrt(-1)", r"column 3: expected a finite number; found sqrt\(-1\)"),
    ("True*x", "column 1: .*found bool True"),
    ("1j*x", "column 1: .*found complex 1j"),
    ("'k'", "column 1: .*found str 'k'"),
    ("min(x)", "column 1: expected 2 or more arguments of min; found 1"),
    ("k*sin(a=1)", "column 3: expected arguments of sin without names; found 'a'"),
    ("max(x, *t)", "column 8: .*found a starred argument"),
    ("k*sin", "column 3: expected arguments in parentheses after the function 'sin'"),
    ("-" * 500 + "x", "expected at most 100 nested operations"),
    ("(" * 300 + "x" + ")" * 300, "column 201: expected an expression"),
    ("x + " * 900 + "x", "at most 2000 characters; found 3601"),
    ("  k*x + ö", "column 9: .*found 'ö'"),
    ("", "Expected the text of an expression such as .*; found nothing"),
    (3.0, "Expected the text of an expression such as .*; found float 3.0"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_refused_and_where(text, message):
    with pytest.raises(ExpressionError, match=message):
        flexmb.expression(text, k=1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 1.0, "c": 2.0}, r"parameters that it contains \(k\); found 'c'"),
        ({"k": math.nan}, "Parameter 'k': expected a finite number; found nan"),
        ({"k": "stiff"}, "Parameter 'k': expected a finite number; found 'stiff'"),
        ({"k": 1.0, "xdot": 1.0}, "found 'xdot', which has a meaning"),
        ({"k": 1.0, "if": 1.0}, "found 'if', which has a meaning"),
    ],
)
def test_parameters_that_are_refused(parameters, message):
    with pytest.raises(ExpressionError, match=message):
        flexmb.expression("k*x", **parameters)


def oscillator(**element):
    """A mass of 1 on a rail that leaves x = 0 with a speed of 2, and what pulls it back."""
    system = flexmb.System()
    body = flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1), points={"middle": (0, 0, 0)})
    mass = system.add(body)
    system.prismatic("rail", system.ground, mass["middle"], axis=(1, 0, 0))
    system.set_speed("rail", 2.0)
    for kind, keys in element.items():
        getattr(system, kind)("element", "rail", **keys)
    return system


def test_a_hardening_spring_exchanges_its_energy():
    """`m v^2 / 2 + k3 x^4 / 4` is constant, as a motor and as a spring in the joint."""
    law = flexmb.expression("-k3*x**3", k3=400.0)
    for element in ({"motor": {"effort": law}}, {"joint_spring": {"law": law}}):
        swing = flexmb.simulate(oscillator(**element), 0.3, method="radau", tolerance=1e-8, output_step=0.03)
        x, v = swing.coordinate("rail"), swing.coordinate_rate("rail")
        assert v.min() < 0.0  # it turned back
        np.testing.assert_allclose(v**2 / 2 + 100 * x**4, 2.0, rtol=1e-7)


def test_a_law_beside_the_linear_terms_of_a_joint_spring_sees_the_coordinate_beyond_free():
    linear = oscillator(joint_spring={"stiffness": 30.0, "damping": 0.4, "free": 0.2})
    law = flexmb.expression("-k*x - c*xdot", k=20.0, c=0.4)
    split = oscillator(joint_spring={"stiffness": 10.0, "free": 0.2, "law": law})
    ours, theirs = (flexmb.simulate(s, 1.0, step=1e-3, output_step=0.1) for s in (split, linear))
    np.testing.assert_allclose(ours.q, theirs.q, atol=1e-8)


def test_a_formula_that_is_not_finite_ends_the_run():
    with pytest.raises(LawError, match="The law of 'element' returned nan at t = "):
        flexmb.simulate(oscillator(motor={"effort": flexmb.expression("log(0.1 - x)")}), 1.0, step=1e-3)


@pytest.mark.parametrize("method", ["generalised-alpha", "energy-momentum"])
def test_a_root_that_has_no_value_beside_the_start_is_named(method):
    """The step that follows the failure is not a number, and so are the arguments of the law in it."""
    system = oscillator(motor={"effort": flexmb.expression("sqrt(-x)")})
    with pytest.raises(LawError, match=r"The law of 'element' returned nan at t = .*, x = \d.*, xdot = \d"):
        flexmb.simulate(system, 0.1, step=1e-3, method=method)


def test_a_law_of_the_wrong_sign_is_said_to_grow():
    system = oscillator(motor={"effort": lambda t, x, xdot: 1000.0 * x + 50.0 * xdot})
    with pytest.raises(flexmb.ConvergenceError, match=r"grown without bound.*check its sign"):
        flexmb.simulate(system, 3.0, step=1e-3)


def test_an_expression_is_its_content():
    """For other processes, for derivatives and for the identity of a study."""
    law, same, other = (flexmb.expression("-k*x", k=k) for k in (2.0, 2.0, 3.0))
    assert pickle.loads(pickle.dumps(law))(0.0, 1.5, 0.0) == -3.0
    before = held_by(law)
    law.compiled(0.0, 1.0, 0.0)
    assert before == held_by(law) == held_by(same) != held_by(other)
    assert identity(law=law) == identity(law=same) != identity(law=other)
    assert str(law) == "-k*x with k = 2"


def test_the_adjoint_derivative_by_a_parameter():
    """A mass on `-k x`: its position after T changes with k as the closed form does."""
    duration, k = 0.5, 40.0

    def model(k):
        return oscillator(motor={"effort": flexmb.expression("-k*x", k=k)})

    found = adjoint_gradient(
        model, {"k": k}, duration, lambda r: r.coordinate("rail"), over="final", step=5e-4, output_step=5e-4
    )
    w = np.sqrt(k)
    exact = (2 * duration * np.cos(w * duration) / w - 2 * np.sin(w * duration) / w**2) / (2 * w)
    assert found.of("result")[0] == pytest.approx(exact, rel=1e-4)
