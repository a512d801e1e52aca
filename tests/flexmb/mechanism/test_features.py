"""What mechanisms may have: every method and analysis includes it, or refuses it by name."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import fem
import flexmb
import flexmb.linear
import reduction
from fem.mesh.structured_meshes import block
from flexmb import controllers
from flexmb.contact import LocalHertz, Plane, Sphere, power_law
from flexmb.errors import ControllerError, EquilibriumError, MechanismError
from flexmb.forces import plastic_hinge
from flexmb.integrators.method import methods
from flexmb.linear import equilibrium, linearise, steady_running
from flexmb.mechanism.features import FEATURES, refuse

METHODS = methods()
DOCS = Path(__file__).parents[3] / "docs" / "time.md"


def ball_on_a_rail():
    system = flexmb.System()
    ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    system.prismatic("rail", system.ground, ball.at((0, 0, 0)), axis=(0, 0, 1))
    system.spring_damper("spring", system.ground.at((0, 0, -1)), ball.at((0, 0, 0)), stiffness=10.0)
    return system, ball


def lines():
    system = flexmb.System()
    tube = system.add(flexmb.uniform_rod("tube", mass=1.0, length=1.0))
    system.revolute("pivot", system.ground, tube["start"], axis=(0, 0, 1))
    system.pipe_flow("here", tube, [(0.25 * k, 0, 0) for k in range(5)], mass_per_length=0.5, speed=1.0)
    return system


def velocity_matrices():
    part = fem.Model(block("hexahedron", (1.0, 0.1, 0.06), (4, 1, 1)), fem.Material.steel())
    part = part.with_interfaces(root=fem.on_plane((0, 0, 0), (1, 0, 0)))
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, 2), name="here", geometric_stiffness="none")
    system = flexmb.System()
    rates = np.diag(np.r_[np.zeros(6), np.ones(body.modes)])
    own = system.add(replace(body, velocity_matrix=rates))
    system.fixed("root", system.ground, own["root"])
    return system


def velocity_rows():
    system = flexmb.System()
    skate = system.add(flexmb.rigid_body("skate", mass=1.0, inertia=(1, 1, 1)), velocity=(1, 0, 0))
    system.knife_edge("here", system.ground, skate, heading=(1, 0, 0), at=(0, 0, 0))
    return system


def with_element(law, **inputs):
    system, ball = ball_on_a_rail()
    system.force("here", system.ground.at((0, 0, 0)), ball.at((0, 0, 0)), law, inputs=inputs)
    return system


def law_with_inputs():
    @flexmb.law(inputs=("stretch",))
    def follow(t, relative, inputs, states, parameters, wrench, rates):
        wrench[2] = -inputs[0]

    return with_element(follow, stretch="stretch:spring")


def element_states():
    @flexmb.law(states=("follower",))
    def lag(t, relative, states, parameters, wrench, rates):
        rates[0] = relative.d[2] - states[0]

    return with_element(lag())


def with_controller(law):
    system, _ = ball_on_a_rail()
    system.controller(
        "here", law, inputs={"measured": "coordinate:rail", "reference": 1.0}, outputs={"command": "effort:rail"}
    )
    return system


def friction(**options):
    system, _ = ball_on_a_rail()
    system.friction("here", "rail", 0.2, **options)
    return system


def touching(**options):
    system, ball = ball_on_a_rail()
    floor = Plane().on(system.ground.at((0, 0, -0.2)), axis=(0, 0, 1))
    system.contact("here", Sphere(0.1).on(ball.at((0, 0, 0))), floor, **options)
    return system


def groups():
    system, ball = ball_on_a_rail()
    floor = Plane().on(system.ground.at((0, 0, -0.2)), axis=(0, 0, 1))
    system.contact_group("here", [Sphere(0.1).on(ball.at((0, 0, 0))), floor], law=power_law(1e4, 1.5))
    return system


@cache
def rubber():
    material = fem.Material.isotropic(1e7, 0.3, 1000.0)
    part = fem.Model(block("hexahedron", (0.3, 0.2, 0.1), (3, 2, 1)), material).with_surfaces(below="z0")
    return flexmb.flexible_body(part, reduction.contact_basis(part, 6), name="block", geometric_stiffness="none")


def surfaces(**options):
    system = flexmb.System()
    body = system.add(rubber(), position=(0, 0, 0.1))
    floor = Plane().on(system.ground.at((0, 0, 0)), axis=(0, 0, 1))
    system.contact("here", floor, body.surface("below"), **options)
    return system


@cache
def finer_rubber():
    material = fem.Material.isotropic(1e7, 0.3, 1000.0)
    part = fem.Model(block("hexahedron", (0.2, 0.2, 0.1), (4, 4, 2)), material).with_surfaces(above="z1")
    return flexmb.flexible_body(part, reduction.contact_basis(part, 6), name="block", geometric_stiffness="none")


def local():
    system = flexmb.System()
    body = system.add(finer_rubber())
    ball = Sphere(0.1).on(system.ground.at((0, 0, 1)))
    system.contact("here", ball, body.surface("above"), local=LocalHertz(1e7, 0.3))
    return system


def facing():
    system = flexmb.System()
    below, above = (system.add(rubber(), name=name, position=(0, 0, z)) for name, z in (("low", 0.0), ("up", 0.2)))
    system.contact("here", below.surface("below"), above.surface("below"))
    return system


MADE = {
    "lines": lines,
    "velocity matrices": velocity_matrices,
    "velocity rows": velocity_rows,
    "element states": element_states,
    "new states": lambda: with_element(plastic_hinge(stiffness=1.0, limit=1.0)),
    "inputs of laws": law_with_inputs,
    "controllers": lambda: with_controller(controllers.pid(1.0)),
    "controllers with states": lambda: with_controller(controllers.pid(1.0, 2.0)),
    "sampled controllers": lambda: with_controller(controllers.pid(1.0, sample_time=0.002)),
    "friction that sticks": friction,
    "regularised friction": lambda: friction(regularised=0.01),
    "groups of contacts": groups,
    "exact contacts": touching,
    "surface contacts": surfaces,
    "rubbing surfaces": lambda: surfaces(friction=0.2),
    "local contacts": local,
    "facing surfaces": facing,
}
"""A mechanism with each feature, at a part "here"."""


def test_every_feature_has_a_mechanism():
    assert MADE.keys() == FEATURES.keys()


@pytest.mark.parametrize("feature", MADE)
def test_what_is_not_stated_is_refused_by_name(feature):
    mechanism = MADE[feature]().build()
    refuse(mechanism, "All", includes=FEATURES)
    with pytest.raises((MechanismError, ControllerError), match=r"Nothing does not include .* has 'here'"):
        refuse(mechanism, "Nothing", includes=())


@pytest.mark.parametrize("feature", MADE)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_integrates_or_refuses(method, feature):
    mechanism = MADE[feature]().build()
    if feature in METHODS[method].includes:
        result = flexmb.simulate(mechanism, 0.004, method=method, step=1e-3)
        assert np.isfinite(result.q).all()
    else:
        with pytest.raises((MechanismError, ControllerError), match=f"The method '{method}' does not .* has 'here'"):
            flexmb.simulate(mechanism, 0.004, method=method, step=1e-3)


@pytest.mark.parametrize("feature", MADE)
@pytest.mark.parametrize("analysis", [equilibrium, linearise, steady_running, flexmb.linear.steady_motion])
def test_every_analysis_includes_or_refuses(analysis, feature):
    """What is refused names its part; everything else is found, or is not steady."""
    try:
        analysis(MADE[feature]().build())
    except (MechanismError, ControllerError) as error:
        message = str(error)
    except EquilibriumError:
        return
    else:
        return
    assert re.search("does not include .* has 'here'", message)


def test_the_page_of_the_methods_says_what_each_includes():
    text = DOCS.read_text(encoding="utf-8")
    _, _, rest = text.partition("| mechanisms may have |")
    assert rest, "docs/time.md has no table of what each method includes."
    names = re.findall(r'`"([\w-]+)"`', rest.splitlines()[0])
    assert set(names) == METHODS.keys()
    rows = {}
    for line in rest.splitlines()[2:]:
        if not line.startswith("|"):
            break
        what, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[what] = dict(zip(names, cells, strict=True))
    expected = {
        kind.title: {name: "yes" if feature in METHODS[name].includes else "no" for name in names}
        for feature, kind in FEATURES.items()
    }
    assert rows == expected
