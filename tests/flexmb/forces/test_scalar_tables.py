"""Tables and maps as force laws: against scipy, their continuity, their ends, what is refused, and their cost."""

import math
import time

import numpy as np
import pytest
from numba import njit
from scipy.interpolate import PchipInterpolator

import flexmb
from flexmb.errors import LawError, TableError
from flexmb.forces.scalar.force_map import force_map, force_map_from_csv
from flexmb.forces.scalar.table import table, table_from_csv
from flexmb.study.gradients.held import held_by

X = np.array([-0.2, -0.1, 0.0, 0.05, 0.2, 0.3])
Y = np.array([90.0, 30.0, 0.0, 0.0, -40.0, -200.0])


def compiled_over(law, *states):
    function = law.compiled
    return np.array([function(*state) for state in np.broadcast(*states)])


@pytest.mark.filterwarnings("ignore::flexmb.NegativeHeatWarning")  # over the rate it drives
@pytest.mark.parametrize("argument", ["x", "xdot", "t"])
def test_a_table_is_the_monotone_cubic_of_scipy(argument):
    law, s = table(X, Y, over=argument, scale=-2.0), np.linspace(-0.2, 0.3, 201)
    states = [s if name == argument else 7.0 for name in ("t", "x", "xdot")]
    exact = PchipInterpolator(X, -2.0 * Y)
    np.testing.assert_allclose(law.over(*states), exact(s), rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(compiled_over(law, *states), exact(s), rtol=1e-13, atol=1e-12)
    number = 1 + ("t", "x", "xdot").index(argument)
    np.testing.assert_allclose(law.slopes(*states)[number], exact(s, 1), rtol=1e-12, atol=1e-10)
    assert law(*(x if np.ndim(x) == 0 else x[3] for x in states)) == pytest.approx(exact(s[3]), rel=1e-13)


def test_a_periodic_table_repeats_itself_with_a_continuous_slope():
    """Exact between the points of a sine to third order, the same many turns away, whether or not it is closed."""
    angles = np.linspace(0.3, 0.3 + 2 * np.pi, 401)
    s = np.linspace(-40.0, 40.0, 1001)
    for count in (401, 400):
        law = table(angles[:count], np.sin(angles[:count]), period=2 * np.pi)
        np.testing.assert_allclose(law.over(0.0, s, 0.0), np.sin(s), atol=3e-5)
        np.testing.assert_allclose(compiled_over(law, 0.0, s, 0.0), law.over(0.0, s, 0.0), atol=1e-12)
        at = 0.3 + 2 * np.pi * np.array([-3, 0, 5])
        before, after = (law.slopes(0.0, at + e, 0.0)[2] for e in (-1e-9, 1e-9))
        np.testing.assert_allclose(before, after, atol=1e-6)
        np.testing.assert_allclose(before, np.cos(0.3), atol=1e-3)


def test_what_tables_do_outside_their_points():
    s = np.array([-0.5, -0.2, 0.3, 0.4])
    held, onward = (table(X, Y, outside=outside) for outside in ("hold", "extrapolate"))
    slopes = PchipInterpolator(X, Y)(X[[0, -1]], 1)
    np.testing.assert_allclose(held.over(0.0, s, 0.0), [90.0, 90.0, -200.0, -200.0])
    np.testing.assert_allclose(onward.over(0.0, s, 0.0), [90 - 0.3 * slopes[0], 90, -200, -200 + 0.1 * slopes[1]])
    for law in (held, onward):
        np.testing.assert_allclose(compiled_over(law, 0.0, s, 0.0), law.over(0.0, s, 0.0), rtol=1e-13)
    assert held.slopes(0.0, 0.4, 0.0)[2] == 0.0
    strict = table(X, Y, source="bump stop")
    assert math.isnan(strict.compiled(0.0, 0.4, 0.0))
    with pytest.raises(TableError, match=r"bump stop: expected x from -0.2 to 0.3; found 0.4. Extend"):
        strict.over(0.0, np.array([0.1, 0.4]), 0.0)


def test_a_map_of_a_product_is_exact_and_smooth():
    """`x` and `xdot` up to second order are between points what PCHIP makes of them in each direction."""
    x, v = np.linspace(-1, 2, 13), np.array([-3.0, -1.0, 0.0, 0.5, 4.0])
    law = force_map(x, v, np.outer(2 - 3 * x, 1 + 5 * v))
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-1, 2, 60), rng.uniform(-3, 4, 60)
    np.testing.assert_allclose(law.over(0.0, a, b), (2 - 3 * a) * (1 + 5 * b), rtol=1e-12, atol=1e-12)
    bent = force_map(x, v, np.sin(x)[:, None] * np.tanh(v)[None, :])
    along = PchipInterpolator(x, np.sin(x))
    across = PchipInterpolator(v, np.tanh(v))
    np.testing.assert_allclose(bent.over(0.0, a, b), along(a) * across(b), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(compiled_over(bent, 0.0, a, b), bent.over(0.0, a, b), rtol=1e-12, atol=1e-13)


def test_what_maps_do_outside_their_points_and_beyond_their_period():
    x, v = np.linspace(0, 2 * np.pi, 61), np.linspace(-1, 1, 5)
    values = np.sin(x)[:, None] * (1 + 0.5 * v)
    again = force_map(x, v, values, period=2 * np.pi, outside="extrapolate")
    a, b = np.linspace(-30, 30, 101), np.linspace(-2, 2, 101)
    np.testing.assert_allclose(again.over(0.0, a, b), np.sin(a) * (1 + 0.5 * b), atol=3e-3)
    np.testing.assert_allclose(compiled_over(again, 0.0, a, b), again.over(0.0, a, b), atol=1e-12)
    later = force_map(x + 2.0, v, values, period=2 * np.pi)  # one period is as good as another, wherever it begins
    np.testing.assert_allclose(later.over(0.0, a + 2.0, b / 2), again.over(0.0, a, b / 2), atol=1e-12)
    np.testing.assert_allclose(compiled_over(later, 0.0, a + 2.0, b / 2), again.over(0.0, a, b / 2), atol=1e-12)
    held = force_map(x, v, values, outside="hold")
    assert held(0.0, 1.0, 5.0) == pytest.approx(held(0.0, 1.0, 1.0), rel=1e-13)
    np.testing.assert_allclose(compiled_over(held, 0.0, a, b), held.over(0.0, a, b), atol=1e-12)
    strict = force_map(x, v, values, source="valve")
    assert math.isnan(strict.compiled(0.0, -0.1, 0.0))
    with pytest.raises(TableError, match=r"valve: expected x from 0 to 6.28.*; found 1 and 1.5"):
        strict(0.0, 1.0, 1.5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0,1\n1,2.5\n2,4\n", [[0, 1], [1, 2.5], [2, 4]]),
        ("angle;torque\nrad;N m\n0,5;1\n1,5;2,5\n", [[0.5, 1], [1.5, 2.5]]),
        ("# measured\n\n'x' 'y'\n0 1  # first\n1e-1  2\n", [[0, 1], [0.1, 2]]),
        ("x [m]\ty [N]\n0\t1\n1\t2\n", [[0, 1], [1, 2]]),
        ("0,5\t1\n1,5\t2,5\n", [[0.5, 1], [1.5, 2.5]]),
    ],
)
def test_files_of_many_forms(tmp_path, text, expected):
    path = tmp_path / "points.csv"
    path.write_text(text)
    law = table_from_csv(path)
    np.testing.assert_allclose(np.column_stack([law.x, law.y]), expected)


def test_columns_by_title(tmp_path):
    path = tmp_path / "bench.csv"
    path.write_text("t [s],speed [m/s],force [N]\n0,-1,20\n1,0,0\n2,1,-30\n")
    law = table_from_csv(path, columns=("speed", "force [N]"), over="xdot")
    np.testing.assert_allclose([law.x, law.y], [[-1, 0, 1], [20, 0, -30]])
    with pytest.raises(TableError, match=r"bench.csv: There is no column named 'forces'. Did you mean 'force \[N\]'"):
        table_from_csv(path, columns=("speed", "forces"))
    with pytest.raises(TableError, match="expected a column from 0 to 2; found 3"):
        table_from_csv(path, columns=(0, 3))


def test_titles_after_a_mark_are_titles(tmp_path):
    """As `numpy.savetxt(header=...)` writes them; a sentence is none."""
    path = tmp_path / "bench.txt"
    for header in (
        "measured on the bench of the laboratory\ntravel [m],force [N]",
        "travel,force\nm,N",
        "bench 3, on Monday\ntravel,force\nm,N",
    ):
        np.savetxt(path, [[0, 1], [1, 2]], delimiter=",", header=header)
        law = table_from_csv(path, columns=("travel", "force"))
        np.testing.assert_allclose([law.x, law.y], [[0, 1], [1, 2]])
    np.savetxt(path, [[0, 1], [1, 2]], header="travel [mm] force [N]")
    with pytest.raises(TableError, match=r"column 'travel \[mm\]'.*by 0.001"):
        slider_in("SI").joint_spring("strut", "rail", law=table_from_csv(path))
    np.savetxt(path, [[0, 1], [90, 2]], header="angle [deg] torque [N m]")
    with pytest.raises(TableError, match=r"column 'angle \[deg\]': expected angles in radians"):
        table_from_csv(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n1,2\n1,3\n", r"points.csv, line 3: expected increasing numbers x, each with one value; found 1, which is repeated"),
        ("x,y\n0,1\n2,2\n1,3\n", "points.csv, line 4: expected increasing.*found 1, which follows 2"),
        ("0,1\n1,nan\n2,3\n", "points.csv, line 2: expected a finite value; found nan"),
        ("0,1\ninf,2\n", "points.csv, line 2: expected a finite number x; found inf"),
        ("0,1\n1\n", "points.csv, line 2: expected 2 numbers; found '1'"),
        ("x,y\n0,1\n1,two\n", "points.csv, line 3: expected 2 numbers; found '1,two'"),
        ("x,y\nm,N\na,b\n1,2\n", "points.csv, line 3: expected numbers, or a row of titles; found 'a,b'"),
        ("x,y\n", "expected rows of numbers; found none"),
        ("0,1\n", "expected at least two numbers x"),
        ("angle [deg],torque\n0,1\n90,2\n", r"column 'angle \[deg\]': expected angles in radians.*by pi / 180"),
        ("angle;torque\n°;N m\n0;1\n90;2\n", "points.csv, column '°': expected angles in radians"),
        ("speed (deg/s);torque\n0;1\n90;2\n", "expected angles in radians"),
    ],
)  # fmt: skip
def test_what_is_no_table(tmp_path, text, message):
    path = tmp_path / "points.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        table_from_csv(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: table([0, 1, 1], [1, 2, 3]), "Table, point 3: .*found 1, which is repeated"),
        (lambda: table([0, 1], [1, 2, 3]), r"as many values as arguments, \(2,\); found \(3,\)"),
        (lambda: table([0, "a"], [1, 2]), "expected numbers x; found"),
        (lambda: table([0, 1], [1, 2], over="speed"), "no argument of a table.* named 'speed'"),
        (lambda: table([0, 1], [1, 2], outside="clamp"), "no behaviour outside a table named 'clamp'"),
        (lambda: table([0, 1], [1, 2], outside="ex"), "no behaviour outside a table named 'ex'"),
        (lambda: table([0, 1, 2], [1, 2, 3], period=1.0), "a period of at least the range of the points, 2; found 1.0"),
        (lambda: table([0, 1, 2], [1, 2, 3], period=2.0), "equal values at both ends of the period 2; found 1.0 and 3"),
        (lambda: table([0, 1], [1, 2], period=2.0), "at least three points within a period; found 2"),
        (lambda: force_map([0, 1], [0, 1], [[1, 2], [3, math.inf]]), "Force map, point 2, 2: expected a finite value"),
        (lambda: table_from_csv("missing.csv"), "There is no table 'missing.csv'"),
    ],
)  # fmt: skip
def test_what_is_refused(make, message):
    with pytest.raises(TableError, match=message):
        make()


def test_a_map_from_a_file(tmp_path):
    path = tmp_path / "map.csv"
    path.write_text("# rates in the first row\n0; -1; 0; 2\n0,0; 1; 2; 3\n0,5; 4; 5; 6,5\n")
    law = force_map_from_csv(path, scale=10.0)
    np.testing.assert_allclose(law.values, [[10, 20, 30], [40, 50, 65]])
    np.testing.assert_allclose([law(0.0, 0.5, 2.0), law(0.0, 0.0, -1.0)], [65.0, 10.0])
    assert "map.csv: 2 by 3 points over x from 0 to 0.5 and xdot from -1 to 2, error outside" in str(law)
    path.write_text("angle [deg];slow;fast\n0;1;2\n0;3;4\n90;5;6\n")
    with pytest.raises(TableError, match="expected angles in radians"):
        force_map_from_csv(path)
    path.write_text("0,1\n1,2\n")
    with pytest.raises(TableError, match="expected a row of rates, and at least two rows"):
        force_map_from_csv(path)


@pytest.mark.parametrize(
    "make",
    [
        lambda: table([0, 1e-200, 2e-200], [0, 1e200, 0]),
        lambda: table([0, 1e-300, 1], [-1e300, 1e300, 1e300]),
        lambda: table([0, 1e-5, 2e-5], [0, 1e300, 0]),  # with slopes that are finite
        lambda: force_map([0, 1e-200, 2e-200], [0, 1, 2], [[0, 0, 0], [1e200, 0, 0], [0, 0, 0]]),
        lambda: force_map([0, 1, 2], [0, 1e-200, 2e-200], [[0, 1e200, 0], [0, 0, 0], [0, 0, 0]]),
        lambda: flexmb.controllers.curve([0, 1e-200, 2e-200], [0, 1e200, 0]),
    ],
)
def test_a_curve_that_overflows_is_refused(make):
    with pytest.raises(TableError, match=r"[uU]se other units"):
        make()


def test_tables_are_their_content():
    law, same, other = table(X, Y), table(X, Y), table(X, Y, scale=2.0)
    assert held_by(law) == held_by(same) != held_by(other)
    assert str(law) == "Table: 6 points over x from -0.2 to 0.3, error outside"


def pendulum_on(law):
    system = flexmb.System()
    mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1), points={"middle": (0, 0, 0)}))
    system.prismatic("rail", system.ground, mass["middle"], axis=(1, 0, 0))
    system.set_speed("rail", 2.0)
    system.motor("spring", "rail", law)
    return system


def test_a_motion_on_a_table_keeps_the_energy_of_its_curve():
    """The integral of the cubic, from scipy."""
    x = np.linspace(-0.5, 0.5, 21)
    run = flexmb.simulate(pendulum_on(table(x, -400 * x**3)), 0.3, method="radau", tolerance=1e-8, output_step=0.03)
    potential = PchipInterpolator(x, 400 * x**3).antiderivative()
    s, v = run.coordinate("rail"), run.coordinate_rate("rail")
    assert v.min() < 0.0
    np.testing.assert_allclose(v**2 / 2 + potential(s) - potential(0.0), 2.0, rtol=1e-6)


def test_a_motion_beyond_a_table_ends_with_its_range():
    with pytest.raises(
        LawError, match=r"The law of 'spring' failed at t = .*TableError: Table: expected x from -0.1 to 0.1"
    ):
        flexmb.simulate(pendulum_on(table([-0.1, 0.1], [1.0, -1.0])), 0.3, step=1e-3)  # fmt: skip


def test_a_law_costs_less_than_a_third_of_a_microsecond():
    """Tables and maps of a thousand points, in a compiled loop."""
    x = np.linspace(-1, 1, 1000)
    for law in (table(x, np.sin(x)), force_map(x, x[::10], np.outer(np.sin(x), np.cos(x[::10])))):
        function = law.compiled

        @njit
        def loop(n, function=function):
            total = 0.0
            for k in range(n):
                total += function(0.0, math.sin(0.37 * k), math.cos(0.11 * k))
            return total

        loop(10)
        spent = []
        for _ in range(20):  # the least: other processes disturb single ones
            begin = time.process_time()
            loop(5_000)
            spent.append((time.process_time() - begin) / 5_000)
        assert min(spent) < 0.3e-6


def slider_in(units):
    """A body on a rail and a hinge, in a system of these units."""
    system = flexmb.System(units=units, name="bench")
    body = system.add(flexmb.rigid_body("body", mass=1.0, inertia=(1, 1, 1)))
    system.prismatic("rail", system.ground, body, axis=(1, 0, 0), at=(0, 0, 0))
    lever = system.add(flexmb.rigid_body("lever", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("hinge", system.ground, lever, axis=(0, 0, 1), at=(0, 0, 0))
    return system


def titled(tmp_path, first, second, rows="-1, 2\n1, -2\n"):
    path = tmp_path / "strut.csv"
    path.write_text(f"{first}, {second}\n{rows}")
    return path


@pytest.mark.parametrize(
    ("titles", "units", "joint", "options", "message"),
    [
        (("travel [mm]", "force [N]"), "SI", "rail", {}, r"'travel \[mm\]'.*unit of length of the system, m,.*found mm. Multiply the column \(and a period along it\) by 0.001"),
        (("travel (m)", "force (kN)"), "SI", "rail", {}, r"'force \(kN\)'.*of force of the system, N,.*by 1000 .*or give scale=1000"),
        (("travel [m]", "force [N]"), "mm-t-s", "rail", {}, r"'travel \[m\]'.*of the system, mm,.*by 1000"),
        (("speed [mm/s]", "force [N]"), "SI", "rail", {"over": "xdot"}, r".*unit of velocity of the system, m/s,.*found mm/s"),
        (("speed [rpm]", "torque [N m]"), "SI", "hinge", {"over": "xdot"}, r".*of angular velocity .*found rpm. .*by 0.104719755"),
        (("angle [rad]", "torque [Nmm]"), "SI", "hinge", {"scale": -1.0}, r".*unit of moment of the system, N m,.*scale=-0.001"),
        (("speed [1/min]", "torque [N m]"), "SI", "hinge", {"over": "xdot"}, r".*of angular velocity .*found 1/min. .*by 0.104719755"),
        (("speed [min⁻¹]", "torque [N m]"), "SI", "hinge", {"over": "xdot"}, r".*of angular velocity .*by 0.104719755"),
        (("angle [rad]", "torque [N-mm]"), "SI", "hinge", {}, r".*unit of moment of the system, N m,.*scale=0.001"),
        (("angle [rad]", "torque [N.mm]"), "SI", "hinge", {}, r".*unit of moment of the system, N m,.*scale=0.001"),
        (("travel [\u03bcm]", "force [N]"), "SI", "rail", {}, r".*unit of length .*by 1e-06"),  # the Greek letter
        (("time [ms]", "force [N]"), "SI", "rail", {"over": "t"}, r".*unit of time of the system, s,.*found ms"),
        (("time [s]", "force [N]"), "SI", "rail", {}, r".*unit of length.*found s, which measures something else"),
        (("angle [rad]", "force [N]"), "SI", "hinge", {}, r".*unit of moment .*found N, which measures something else"),
    ],
)  # fmt: skip
def test_units_in_titles_that_contradict_the_system_are_refused(tmp_path, titles, units, joint, options, message):
    law = table_from_csv(titled(tmp_path, *titles), **options)
    system = slider_in(units)
    with pytest.raises(TableError, match=r"^The law of 'strut' in 'bench' .*strut.csv, column " + message):
        system.joint_spring("strut", joint, law=law)
    if ("something else" in message and titles[0] != "time [s]") or "angular velocity" in message:  # in every system
        with pytest.raises(TableError, match=r"^The law of 'strut' in 'bench': .*strut.csv, column .*found"):
            slider_in(None).joint_spring("strut", joint, law=law)
    else:
        slider_in(None).joint_spring("strut", joint, law=law)  # nothing is known of the system
    slider_in("yard-stone-s").joint_spring("strut", "rail", law=table_from_csv(titled(tmp_path, "a [mm]", "b [kN]")))


@pytest.mark.parametrize(
    ("titles", "units", "joint", "options"),
    [
        (("travel [mm]", "force [N]"), "mm-t-s", "rail", {}),
        (("travel [mm]", "force [kN]"), "mm-kg-ms", "rail", {}),
        (("travel [m]", "force [kN]"), "SI", "rail", {"scale": -1000.0}),
        (("travel", "force"), "SI", "rail", {}),
        (("travel [front]", "force (measured)"), "SI", "rail", {}),
        (("speed [m/s]", "force [kg m/s^2]"), "SI", "rail", {"over": "xdot"}),
        (("speed [rad/s]", "torque [N·m]"), "SI", "hinge", {"over": "xdot"}),
        (("speed [1/s]", "torque [Nm]"), "SI", "hinge", {"over": "xdot"}),
        (("stroke [in]", "force [lbf]"), "in-lbf-s", "rail", {}),
    ],
)
def test_units_in_titles_that_are_those_of_the_system_are_accepted(tmp_path, titles, units, joint, options):
    slider_in(units).joint_spring("strut", joint, law=table_from_csv(titled(tmp_path, *titles), **options))


@pytest.mark.parametrize(
    ("titles", "units", "message"),
    [
        (("stretch [mm]", "force [N]"), "mm-t-s", ""),
        (("stretch [m]", "force [N]"), "SI", ""),
        (("stretch [m]", "force [N]"), "mm-t-s", r"'stretch \[m\]'.*unit of length of the system, mm,"),
        (("stretch [m]", "force [kN]"), "SI", r"'force \[kN\]'.*unit of force of the system, N,"),
        (("angle [rad]", "torque [N m]"), "SI", "unit of length .*found rad, which measures something else"),
        (("stretch [m]", "torque [N m]"), "SI", "unit of force .*found N m, which measures something else"),
    ],
)
def test_springs_between_places_stretch_in_lengths_and_pull_with_forces(tmp_path, titles, units, message):
    system = slider_in(units)
    ends = system.ground.at((0, 0, 0)), system.add(flexmb.rigid_body("far", mass=1.0, inertia=(1, 1, 1))).at((0, 0, 2))
    law = table_from_csv(titled(tmp_path, *titles))
    if message:
        with pytest.raises(TableError, match="^The law of 'strut' in 'bench' .*" + message):
            system.spring_damper("strut", *ends, law=law)
    else:
        system.spring_damper("strut", *ends, law=law)


def test_units_in_a_row_of_their_own_and_in_maps_and_files(tmp_path):
    below = table_from_csv(titled(tmp_path, "travel", "force", "mm, N\n-1, 2\n1, -2\n"))
    with pytest.raises(TableError, match=r"column 'travel \[mm\]'.*found mm"):
        slider_in("SI").joint_spring("strut", "rail", law=below)
    (tmp_path / "blanks.csv").write_text("travel [mm] force [N m]\n-1 2\n1 -2\n")
    blanks = table_from_csv(tmp_path / "blanks.csv", columns=("travel", "force"))
    assert blanks.titles == ("travel [mm]", "force [N m]")
    with pytest.raises(TableError, match=r"blanks.csv, column 'travel \[mm\]'.*found mm"):
        slider_in("SI").joint_spring("strut", "rail", law=blanks)
    (tmp_path / "map.csv").write_text("travel [mm], F, F\n0, -1, 1\n-1, 3, 1\n1, -1, -3\n")
    surface = force_map_from_csv(tmp_path / "map.csv")
    with pytest.raises(TableError, match=r"map.csv, column 'travel \[mm\]'.*found mm"):
        slider_in("SI").joint_spring("strut", "rail", law=surface)
    for law in (below, surface):
        system = slider_in("mm-t-s")
        system.joint_spring("strut", "rail", law=law)
        path = flexmb.files.save_result(flexmb.simulate(system, 0.01, step=1e-3), tmp_path / "bench.h5")
        again = flexmb.files.load_result(path).mechanism.laws[0].function
        assert (again.titles, getattr(again, "scale", 1.0)) == (law.titles, 1.0)
        with pytest.raises(TableError, match="found mm"):
            slider_in("SI").joint_spring("strut", "rail", law=again)
    scaled = table_from_csv(titled(tmp_path, "travel (m)", "force (kN)"), scale=1000.0)
    system = slider_in("SI")
    system.joint_spring("strut", "rail", law=scaled)
    path = flexmb.files.save_result(flexmb.simulate(system, 0.01, step=1e-3), tmp_path / "bench.h5")
    again = flexmb.files.load_result(path).mechanism.laws[0].function
    assert again(0.0, 0.5, 0.0) == pytest.approx(-1000.0)
    slider_in("SI").joint_spring("strut", "rail", law=again)  # the file tells that its kilonewtons are newtons now


def test_a_model_file_refuses_units_that_contradict_its_own(tmp_path):
    titled(tmp_path, "travel [mm]", "force [N]")
    text = """
units = "{}"
simulation = {{ duration = 1.0, step = 0.01 }}
[bodies.body]
kind = "rigid"
mass = 1.0
inertia = [1, 1, 1]
[[joints]]
name = "rail"
kind = "prismatic"
a = "ground"
b = "body"
at = [0, 0, 0]
axis = [1, 0, 0]
[[joint_springs]]
name = "strut"
joint = "rail"
law = {{ kind = "table", csv = "strut.csv" }}
"""
    model = tmp_path / "model.toml"
    model.write_text(text.format("mm-t-s"))
    flexmb.files.load_model(model)
    model.write_text(text.format("SI"))
    with pytest.raises(flexmb.FlexmbError, match=r"(?s)strut.*column 'travel \[mm\]'.*found mm. Multiply"):
        flexmb.files.load_model(model)
