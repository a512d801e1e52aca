"""Stretches, efforts, forces, powers and energies by element: against the compiled loop, the ledger and closed forms."""

import math

import numpy as np
import pytest
from mechanisms import random_flexible_body
from typer.testing import CliRunner

import flexmb
from flexmb.cli.main import app
from flexmb.equations.evaluation import Equations
from flexmb.errors import CoarseOutputWarning, JointError, MeasureError, MechanismError, TableRangeWarning
from flexmb.files import load_result, save_result
from flexmb.forces import gap_spring
from flexmb.kernels.base.data import make_marker_kinematics
from flexmb.kernels.calls import powers_of, row_wrenches
from flexmb.kernels.equations.residual import DAMPER_HEAT, DRIVER, LOAD, MODAL_HEAT
from flexmb.mechanism.compile import compiled

ELEMENTS = ("strut", "mount", "coil", "drive", "controller")


def controller(t, x, xdot):
    return 3.0 * math.sin(5.0 * t) - 0.7 * x - 0.2 * xdot


def everything():
    """A flexible body on a bushing, a driven crank, and every sort of element and load."""
    system = flexmb.System(gravity=(0.3, -0.5, -9.81))
    body = random_flexible_body(np.random.default_rng(5), modes=3, damping=0.4)
    beam = system.add(body, position=(0.1, 0.0, 0.2), orientation=(0.2, 0.1, -0.3), angular_velocity=(0.5, 1.0, 2.0))
    rigid = flexmb.rigid_body(
        "arm", mass=0.7, inertia=(0.02, 0.03, 0.04), points={"near": (0, 0, 0), "far": (0.4, 0.1, 0)}
    )
    arm = system.add(rigid, position=(1.0, 0.2, 0.1), orientation=(0.1, 0.3, 0.2))
    first, second = list(body.interfaces)[:2]
    system.bushing(
        "mount", system.ground.at((0, 0, 0)), beam[first], axis=(1, 2, 3), free=(0.05, 0.0, -0.02),
        stiffness=(300, 200, 400, 6, 9, 4), damping=(3, 2, 1, 0.2, 0.1, 0.3),
    )  # fmt: skip
    system.cylindrical("guide", system.ground.at((1.0, 0.2, 0.1)), arm["near"], axis=(1, 1, 0))
    law = flexmb.expression("-k*x**3 - c*min(xdot, 0)", k=900.0, c=2.0)
    system.spring_damper("strut", beam[second], arm["far"], stiffness=50, damping=1.5, length=0.6, law=law)
    coil = flexmb.table([-3.0, -1.0, 0.0, 1.0, 3.0], [9.0, 1.0, 0.0, -2.0, -9.0], outside="extrapolate")
    system.joint_spring("coil", "guide", stiffness=4, damping=0.3, free=0.2, dof="rotation", law=coil)
    system.joint_spring("stay", "guide", stiffness=40, damping=0.3, dof="translation")
    system.motor("drive", "guide", flexmb.time_functions.harmonic(2.0, 3.0), damping=0.1, dof="rotation")
    system.motor("controller", "guide", controller, dof="translation")
    system.load(
        "gust", beam[second], force=(1, 2, 3), moment=(0.1, 0.0, 0.2), factor=flexmb.time_functions.harmonic(1.0, 2.0)
    )
    system.load("jet", arm["far"], force=(0, 1, 0), moment=(0.3, 0.0, 0.0), follower=True)
    crank = system.add(
        flexmb.rigid_body(
            "crank", mass=0.2, inertia=(0.01, 0.01, 0.01), centre=(0.1, 0, 0), points={"tip": (0.3, 0, 0)}
        ),
        position=(2, 0, 0),
    )
    system.revolute("bearing", system.ground.at((2, 0, 0)), crank, axis=(0, 0, 1))
    system.drive("bearing", flexmb.time_functions.harmonic(1.0, 1.0))
    system.spring_damper("link", arm["far"], crank["tip"], stiffness=20, damping=0.5)
    system.bushing(
        "pad", arm["far"], crank["tip"], axis=(0, 1, 1), free="drawn",
        stiffness=(3, 2, 4, 0.6, 0.9, 0.4), damping=(0.3, 0.2, 0.1, 0.02, 0.01, 0.03),
    )  # fmt: skip
    return system  # fmt: skip


@pytest.fixture(scope="module")
def moving():
    return flexmb.simulate(everything(), 0.5, step=1e-3, output_step=0.01)


def in_the_loop(result):
    """Stretches, rates and efforts of all rows, and powers, of the compiled loop at each stored time."""
    mechanism, flat = result.mechanism, compiled(result.mechanism)
    rows, powers = [], []
    for k, t in enumerate(result.t):
        e = Equations(mechanism, result.q[k], result.angles[k])
        functions = mechanism.function_values(t)
        e.residual(functions, result.q[k], result.w[k], result.wdot[k], result.multipliers[k])
        stretch = e.workspace.values - flat.row_offset
        rows.append([stretch.copy(), e.workspace.rates.copy(), e.workspace.efforts.copy()])
        power = np.zeros(4)
        powers_of(flat, functions, np.array(result.multipliers[k]), np.array(result.w[k]), e.workspace, power)
        powers.append(power)
    return np.array(rows), np.array(powers)


def test_what_elements_do_is_what_the_loop_computes(moving):
    rows, _ = in_the_loop(moving)
    flat, kinematics = compiled(moving.mechanism), make_marker_kinematics(compiled(moving.mechanism))
    functions = moving.mechanism.function_table(moving.t)
    for name, indices in moving.mechanism.force_elements.items():
        for dof, r in zip(moving.element_dofs(name), indices, strict=True):
            for found, exact in zip(
                (moving.stretch(name, dof), moving.stretch_rate(name, dof), moving.effort(name, dof)),
                rows[:, :, r].T, strict=True,
            ):  # fmt: skip
                np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-11 * np.abs(exact).max())
        wrench = np.zeros((len(moving.t), 6))
        efforts = -np.ascontiguousarray(rows[:, 2])
        row_wrenches(flat, np.array(indices), moving.q, functions, efforts, kinematics, wrench)
        np.testing.assert_allclose(moving.force(name), wrench, atol=1e-11 * np.abs(wrench).max())


def test_the_elements_add_up_to_the_ledger(moving):
    """Powers and stored energies to round-off; heat and work to the error of integrals over the stored times."""
    _, powers = in_the_loop(moving)
    found = moving.energy_by_element()

    def total(field, kinds=None):
        return sum(getattr(e, field) for e in found.elements if kinds is None or e.kind in kinds)

    def check(ours, exact):
        np.testing.assert_allclose(ours, exact, rtol=1e-9, atol=1e-11 * np.abs(exact).max())

    check(total("heat_power", ("body",)), powers[:, MODAL_HEAT])
    coil = next(law for law in moving.mechanism.laws if law.name == "coil")
    rate = moving.stretch_rate("coil")
    storing = coil.stored.function.slopes(moving.t, moving.stretch("coil"), rate)[2] * rate
    taken = (
        total("heat_power", ("spring", "bushing", "joint force")) + storing
    )  # of which the ledger subtracts the store
    check(taken, powers[:, DAMPER_HEAT])
    check(total("work_power", ("driver",)), powers[:, DRIVER])
    check(total("work_power", ("spring", "bushing", "joint force", "load")), powers[:, LOAD])
    check(total("stored", ("body",)), moving.ledger.elastic)
    check(total("stored", ("spring", "bushing", "joint force")), moving.ledger.springs)
    exchange = moving.ledger.exchange
    assert max(np.abs(found.heat_apart).max(), np.abs(found.work_apart).max()) < 5e-3 * exchange
    fine = flexmb.simulate(everything(), 0.5, step=1e-3, output_step=2e-3).energy_by_element()
    assert max(np.abs(fine.heat_apart).max(), np.abs(fine.work_apart).max()) < 2e-4 * exchange
    assert all(e.heat[0] == e.work[0] == 0.0 for e in found.elements)
    np.testing.assert_allclose(found["gust"].work_power, moving.power("gust"), rtol=1e-12)
    with pytest.raises(MechanismError, match=r"no element named 'guts'\. Did you mean 'gust'"):
        found["guts"]
    assert "ledger minus the sum" in str(found)


def test_powers(moving):
    for name in ELEMENTS:
        dofs = moving.element_dofs(name)
        power = sum(moving.effort(name, dof) * moving.stretch_rate(name, dof) for dof in dofs)
        np.testing.assert_allclose(moving.power(name), power, rtol=1e-12)
    rate = 2 * np.pi * np.cos(2 * np.pi * moving.t)
    np.testing.assert_allclose(moving.power("bearing"), moving.drive_effort("bearing") * rate, rtol=1e-12)


def test_measures_tables_and_plots_of_elements(moving, tmp_path):
    texts = ["force:strut:size", "moment:mount:z", "force:gust:x", "effort:strut", "stretch:mount:rotation x", "stretch-rate:coil", "power:drive", "power:bearing", "stretch:coil:rotation"]  # fmt: skip
    frame = moving.to_dataframe(texts, units="m-kg-s")
    np.testing.assert_allclose(frame["force:strut:size"], np.abs(moving.effort("strut")), rtol=1e-12)
    np.testing.assert_array_equal(frame["stretch:coil:rotation"], moving.stretch("coil"))
    np.testing.assert_array_equal(frame["moment:mount:z"], moving.force("mount")[:, 5])
    assert np.abs(frame["moment:mount:z"]).max() > 0
    assert [frame.attrs["units"][text] for text in texts] == ["N", "N m", "N", "N", "rad", "rad/s", "W", "W", "rad"]
    columns = moving.columns()
    np.testing.assert_array_equal(columns["mount rotation x effort"].values, moving.effort("mount", "rotation x"))
    np.testing.assert_array_equal(columns["strut power"].values, moving.power("strut"))
    assert columns["strut stretch"].dimension == "length"
    moving.plot(["power:strut", "effort:strut"], tmp_path / "strut.png")
    assert (tmp_path / "strut.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda r: r.stretch("strutt"), MechanismError, "no force element named 'strutt'. Did you mean 'strut'"),
        (lambda r: r.effort("guide"), MechanismError, r"'guide' is a joint, not a force element; its reaction is result.reaction\('guide'\)"),
        (lambda r: r.effort("mount"), JointError, "'mount': no coordinate is named. Name one of: 'translation x', .*'rotation z'"),
        (lambda r: r.effort("strut", "rotation"), JointError, "'strut': found dof='rotation'. Name one of: 'length'"),
        (lambda r: r.power("nothing"), MechanismError, "no force element, load or joint named 'nothing'"),
        (lambda r: r.columns(["efort:strut"]), MeasureError, "no measure named 'efort'. Did you mean 'effort'"),
        (lambda r: r.columns(["efort:strut:x"]), MeasureError, "no measure named 'efort'. Did you mean 'effort'"),
    ],
)  # fmt: skip
def test_what_there_is_not(moving, ask, error, message):
    with pytest.raises(error, match=message):
        ask(moving)


def test_a_saved_result_tells_the_same(moving, tmp_path):
    """Also of laws whose code is not in the file; expressions and tables move a mechanism again."""
    again = load_result(save_result(load_result(save_result(moving, tmp_path / "one.h5")), tmp_path / "two.h5"))
    for name in ELEMENTS:
        np.testing.assert_allclose(again.force(name), moving.force(name), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(again.power(name), moving.power(name), rtol=1e-9, atol=1e-9)
    laws = {law.name: law.function for law in again.mechanism.laws}
    assert str(laws["strut"]) == "-k*x**3 - c*min(xdot, 0) with k = 900, c = 2"
    assert laws["coil"](0.0, 1.0, 0.0) == -2.0
    found, ours = again.energy_by_element(), moving.energy_by_element()
    for a, b in zip(found.elements, ours.elements, strict=True):
        assert (a.name, a.kind) == (b.name, b.kind)
        np.testing.assert_allclose(a.work, b.work, rtol=1e-9, atol=1e-9)


def test_the_command_prints_draws_and_writes_the_energies(moving, tmp_path):
    path = save_result(moving, tmp_path / "run.h5")
    words = ["energy", str(path), "--elements", "--plot", str(tmp_path / "e.png"), "--table", str(tmp_path / "e.csv")]
    done = CliRunner().invoke(app, [*words, "--units", "m-kg-s"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "energy ledger" in done.output
    (row,) = [line.split() for line in done.output.splitlines() if line.startswith("mount ")]
    mount = moving.energy_by_element()["mount"]
    np.testing.assert_allclose(
        [float(x) for x in row[2:]], [mount.stored[0], mount.stored[-1], mount.heat[-1], 0.0], rtol=1e-4
    )
    assert (tmp_path / "e.png").stat().st_size > 10_000
    table = np.genfromtxt(tmp_path / "e.csv", delimiter=",", names=True, deletechars="")
    np.testing.assert_allclose(table["mount_heat_[J]"], mount.heat, rtol=1e-12)


def test_units_that_are_asked_for_prevail_over_those_of_the_model(tmp_path):
    system = flexmb.System(units="m-kg-s")
    mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(1, 1, 1)), velocity=(1, 0, 0))
    system.bushing("mount", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), stiffness=(1,) * 6)
    path = save_result(flexmb.simulate(system, 0.01, step=1e-3), tmp_path / "run.h5")
    for words, unit in (((), "J"), (("--units", "mm-t-s"), "mJ")):
        done = CliRunner().invoke(app, ["energy", str(path), "--table", str(tmp_path / "e.csv"), *words])
        assert done.exit_code == 0, done.output
        assert f"[{unit}]" in (tmp_path / "e.csv").read_text().splitlines()[0]


def on_a_rail(speed=1.0, **element):
    system = flexmb.System()
    body = flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1), points={"middle": (0, 0, 0)})
    system.prismatic("rail", system.ground, system.add(body)["middle"], axis=(1, 0, 0))
    system.set_speed("rail", speed)
    system.joint_spring("element", "rail", **element)
    return system


def test_a_loaded_law_moves_the_mechanism_again(tmp_path):
    first = flexmb.simulate(on_a_rail(law=gap_spring(400.0, 0.05, opening=True)), 0.2, step=1e-3)
    again = load_result(save_result(first, tmp_path / "result.h5"))
    np.testing.assert_allclose(flexmb.simulate(again.mechanism, 0.2, step=1e-3).q, first.q, atol=1e-12)


def test_a_damper_turns_the_motion_into_heat():
    """`v = v0 exp(-c t / m)`: heat `m v0^2 (1 - exp(-2 c t / m)) / 2`, effort `-c v`."""
    run = flexmb.simulate(on_a_rail(damping=3.0), 1.0, method="radau", tolerance=1e-9, output_step=0.01)
    heat = run.energy_by_element()["element"].heat
    np.testing.assert_allclose(heat, 1 - np.exp(-3.0 * run.t), atol=2e-6)
    np.testing.assert_allclose(run.effort("element"), -3 * np.exp(-1.5 * run.t), rtol=1e-6)


def test_a_hanging_spring_carries_the_weight():
    system = flexmb.System(gravity=(0, 0, -9.81))
    mass = system.add(flexmb.rigid_body("mass", mass=2.0, inertia=(1, 1, 1)), position=(0, 0, -1))
    system.spring_damper(
        "spring", system.ground.at((0, 0, 0)), mass.at((0, 0, 0)), stiffness=400, length=1 - 2 * 9.81 / 400
    )
    run = flexmb.simulate(system, 0.1, step=1e-3)
    np.testing.assert_allclose(run.force("spring"), np.tile([0, 0, 2 * 9.81, 0, 0, 0], (len(run.t), 1)), atol=1e-9)
    np.testing.assert_allclose(run.stretch("spring"), 2 * 9.81 / 400, rtol=1e-9)
    np.testing.assert_allclose(run.effort("spring"), -2 * 9.81, rtol=1e-9)


def test_a_table_that_is_left_is_reported_once_the_run_ends():
    held = flexmb.table([-0.01, 0.01], [4.0, -4.0], outside="hold", source="bump stop")
    with pytest.warns(
        TableRangeWarning,
        match=r"law of 'element' .* beyond its points. bump stop: x reached from .* to 0.\d+, beyond the points from -0.01 to 0.01",
    ):
        run = flexmb.simulate(on_a_rail(law=held), 0.1, step=1e-3)  # fmt: skip
    assert not run.verdict.sound
    inside = flexmb.simulate(on_a_rail(law=flexmb.table([-1, 1], [400.0, -400.0], outside="hold")), 0.1, step=1e-3)
    assert inside.verdict.sound


def test_stored_times_that_do_not_resolve_the_powers_are_reported():
    run = flexmb.simulate(on_a_rail(speed=4.0, stiffness=2e4, damping=6.0), 0.3, step=1e-4, output_step=0.05)
    with pytest.warns(CoarseOutputWarning, match=r"The heat of the elements .* over 7 stored times, differs .* Store"):
        run.energy_by_element()


def test_a_load_that_follows_its_body_begins_in_world_axes():
    """Also on a body that is drawn turned, whose own axes are others; later it turns with the body."""
    system = flexmb.System()
    body = flexmb.rigid_body("jet", mass=2.0, inertia=(1, 1, 1))
    turned = system.add(body, orientation=(0, 0, 0.5 * np.pi), angular_velocity=(0, 0, 1.0))
    system.load("thrust", turned.at((0, 0, 0)), force=(3.0, 0, 0), follower=True)
    moved = flexmb.simulate(system, 1.0, step=1e-2)
    turning = np.column_stack([np.cos(moved.t), np.sin(moved.t), 0 * moved.t])
    np.testing.assert_allclose(moved.force("thrust")[:, :3], 3.0 * turning, atol=1e-3)
