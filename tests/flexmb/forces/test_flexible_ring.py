"""Rolling bearings in elastic rings: compliances of meshes, loads of the elements, order, files, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from model_files import model_of
from scipy.optimize import brentq
from test_frame_library import answer

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import tube
from flexmb.errors import LawError, ModelFileError
from flexmb.files.results.result_file import load_result, save_result
from flexmb.forces import (
    RingCompliance,
    flexible_ring_bearing,
    raceway_sectors,
    ring_compliance,
    ring_compliance_from_csv,
    rolling_bearing,
)
from flexmb.linear import equilibrium

STIFFNESS, COUNT = 1e10, 12
DOWN = -np.pi / 2


@pytest.fixture(scope="module")
def meshed():
    """A ring of hexahedra held at a foot below, its sectors, and the reduced body."""
    mesh = tube("hexahedron", (0.05, 0.06), 0.02, (1, 24, 1))
    foot = np.flatnonzero((np.hypot(*mesh.points.T[:2]) > 0.0599) & (mesh.points[:, 1] < -0.055))
    model = fem.Model(mesh, fem.Material.steel())
    sectors = raceway_sectors(model, "inner", COUNT, first=DOWN)
    model = model.with_interfaces(foot=foot, **sectors)
    basis = reduction.craig_bampton(model, modes=2, reference_frame="foot")
    return model, list(sectors), flexmb.flexible_body(model, basis, name="ring")


@pytest.fixture(scope="module")
def ring(meshed):
    return ring_compliance(meshed[2], meshed[1], held="foot")


def test_the_compliance_is_that_of_the_mesh(meshed, ring):
    model, sectors, _ = meshed
    B = [
        model.interfaces[name].interface_matrix(model).toarray()[:, :3] @ [np.cos(a), np.sin(a), 0]
        for name, a in zip(sectors, ring.angles, strict=True)
    ]
    B, held = np.column_stack(B), model.interfaces["foot"].dofs
    kept = np.setdiff1d(np.arange(len(B)), held)
    expected = B[kept].T @ sp.linalg.spsolve(sp.csc_matrix(model.K)[kept][:, kept], B[kept])
    assert np.abs(ring.matrix - expected).max() < 1e-8 * np.abs(expected).max()
    assert np.allclose(ring.at(ring.angles), ring.matrix, rtol=1e-12, atol=1e-14 * np.abs(expected).max())


def test_the_compliance_does_not_depend_on_the_frame_of_the_body(meshed, ring):
    model, sectors, _ = meshed
    free = flexmb.flexible_body(model, reduction.craig_bampton(model, modes=2), name="ring")
    assert np.allclose(ring_compliance(free, sectors, held="foot").matrix, ring.matrix, rtol=1e-6, atol=1e-14)
    shuffled = [*sectors[:1], *sectors[:0:-1]]
    assert np.allclose(ring_compliance(free, shuffled, held=["foot"]).matrix, ring.matrix, rtol=1e-6, atol=1e-14)


def loads(ring, place, cage, count, exponent):
    """The loads of the elements by iteration, and their resultant (2,)."""
    angles = cage + 2 * np.pi * np.arange(count) / count
    e, C = np.array([np.cos(angles), np.sin(angles)]), ring.at(angles)
    Q = np.zeros(count)
    for _ in range(100_000):
        found = STIFFNESS * np.maximum(e.T @ place - C @ Q, 0.0) ** exponent
        if np.abs(found - Q).max() <= 1e-13 * found.max():
            return Q, e @ Q
        Q += 0.02 * (found - Q)
    raise AssertionError


@pytest.mark.parametrize(("count", "exponent"), [(9, 1.5), (12, 10 / 9)])
def test_the_elements_carry_their_loads_in_equilibrium(ring, count, exponent):
    stiffness = STIFFNESS if exponent == 1.5 else STIFFNESS * 1e-2
    law = flexible_ring_bearing(elements=count, stiffness=stiffness, exponent=exponent, **ring.parameters)
    place, cage = np.array([3e-6, -2e-5]), 0.3
    scaled = RingCompliance(ring.matrix * stiffness / STIFFNESS, ring.first)
    expected = loads(scaled, place, cage, count, exponent)[1] * stiffness / STIFFNESS
    out = answer(law, d=(*place, 0), states=[cage])
    assert -out[:2] == pytest.approx(expected, rel=1e-9)
    for axis in range(2):  # the energy is the potential of the force
        h = 1e-9 * np.eye(3)[axis]
        ahead, behind = (answer(law, d=(*place, 0) + s * h, states=[cage])[6] for s in (1, -1))
        assert (behind - ahead) / 2e-9 == pytest.approx(out[axis], rel=1e-6, abs=1e-4)


def test_a_stiff_ring_is_a_rigid_one_and_a_soft_one_carries_the_load_itself():
    stiff = RingCompliance(1e-20 * np.eye(8))
    place, cage = (1e-6, -2e-5, 0), [0.4]
    rigid = answer(rolling_bearing(elements=7, stiffness=STIFFNESS), d=place, states=cage)
    found = answer(flexible_ring_bearing(elements=7, stiffness=STIFFNESS, **stiff.parameters), d=place, states=cage)
    assert found == pytest.approx(rigid, rel=1e-7)
    soft = RingCompliance(1e-3 * np.eye(8), 0.3)  # elements on sectors, each a spring of 1e3
    law = flexible_ring_bearing(elements=8, stiffness=STIFFNESS, **soft.parameters)
    force = answer(law, d=(1e-3, 0, 0), states=[0.3])
    expected = sum(max(np.cos(a), 0.0) * np.cos(a) for a in soft.angles)
    assert -force[0] == pytest.approx(expected, rel=1e-3)


def test_a_ring_without_clearance_and_load_is_slack(ring):
    law = flexible_ring_bearing(elements=8, stiffness=STIFFNESS, clearance=5e-5, **ring.parameters)
    assert not answer(law, d=(0, -2e-5, 0))[:7].any()


def shaft_in(ring, start, spin=2.0):
    system = flexmb.System(gravity=(0, -9.81, 0), name="ring")
    shaft = system.add(
        flexmb.rigid_body("shaft", mass=50.0, inertia=(1, 1, 1)), position=(0, start, 0), angular_velocity=(0, 0, spin)
    )
    law = flexible_ring_bearing(
        elements=8, stiffness=STIFFNESS, cage_ratio=0.4, damping=2e3, initial=(DOWN,), **ring.parameters
    )
    system.force("bearing", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), law)
    return system


@pytest.mark.long
def test_the_motion_is_of_second_order_and_balances_the_energy(ring):
    found = {}
    for step in (5e-4, 2.5e-4, 6.25e-5):
        result = flexmb.simulate(shaft_in(ring, -2e-5, 40.0), 0.01, step=step, output_step=1e-3)
        found[step] = result.q[:, :2], np.abs(result.ledger.residual).max() / result.ledger.exchange
    errors = [np.abs(found[step][0] - found[6.25e-5][0]).max() for step in (5e-4, 2.5e-4)]
    assert 3.5 < errors[0] / errors[1] < 4.6
    assert found[2.5e-4][1] < 0.3 * found[5e-4][1]


def test_a_saved_result_moves_again(ring, tmp_path):
    system = shaft_in(ring, -1e-5)
    result = flexmb.simulate(system, 0.01, step=5e-4)
    save_result(result, tmp_path / "ring.h5")
    loaded = load_result(tmp_path / "ring.h5")
    again = flexmb.simulate(loaded.mechanism, 0.01, step=5e-4, initial_state=loaded.state(0))
    assert np.array_equal(again.q, result.q)


TEXT = """
[simulation]
duration = 0.01
step = 1e-3
[bodies.shaft]
kind = "rigid"
mass = 50.0
inertia = [1, 1, 1]
position = [0, -1e-5, 0]
[[forces]]
name = "bearing"
a = "ground"
b = "shaft"
law = "flexible-ring-bearing"
compliance = "ring.csv"
parameters = { elements = 8, stiffness = 1e10 }
"""


def test_a_model_file_reads_the_compliance_from_a_file(ring, tmp_path):
    ring.write_csv(tmp_path / "ring.csv")
    read = ring_compliance_from_csv(tmp_path / "ring.csv")
    assert np.array_equal(read.matrix, ring.matrix)
    assert read.first == ring.first
    mechanism = model_of(tmp_path, TEXT).system.build()
    expected = flexible_ring_bearing(elements=8, stiffness=1e10, **ring.parameters)
    assert mechanism.frame_forces[0].parameters == expected.parameters


def test_what_is_no_ring_is_refused(meshed, ring, tmp_path):
    model, sectors, body = meshed
    with pytest.raises(LawError, match="3 to 24 sectors; found shape"):
        RingCompliance(np.eye(2))
    with pytest.raises(LawError, match=r"symmetric; its entries \(1, 3\) and \(3, 1\) differ by 1"):
        RingCompliance(np.eye(3) + np.outer([1, 0, 0], [0, 0, 1]))
    with pytest.raises(LawError, match="positive; its smallest eigenvalue is -1"):
        RingCompliance(np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(LawError, match=r"finite, with entries below 1e\+100"):
        RingCompliance(np.eye(5) * 1e300)
    with pytest.raises(LawError, match=r"'sector 5' is 21\.8 degrees beside its place"):
        ring_compliance(body, [s for s in sectors if s != "sector 4"], held="foot")
    with pytest.raises(LawError, match="Did you mean 'foot'"):
        ring_compliance(body, sectors, held="fot")
    with pytest.raises(LawError, match="at least one interface at which it is held"):
        ring_compliance(flexmb.flexible_body(model, reduction.craig_bampton(model, modes=2)), sectors, held=[])
    with pytest.raises(LawError, match="Sector 1 of 24 has 0 nodes"):
        raceway_sectors(model, np.flatnonzero(model.points[:, 0] < -0.03), 24)
    (tmp_path / "bad.csv").write_text("0;1;0\n1;0;1\n")
    with pytest.raises(LawError, match=r"bad\.csv: needs at least three|bad\.csv needs at least three"):
        ring_compliance_from_csv(tmp_path / "bad.csv")
    law = flexible_ring_bearing(elements=8, stiffness=1e10, **ring.parameters | {"compliance_3_3": -1e-6})
    assert np.isnan(answer(law, d=(0, -2e-5, 0), states=[DOWN + 2 * np.pi / 12])[0])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (('"flexible-ring-bearing"', '"rolling-bearing"'), "compliance is that of the ring of a bearing"),
        (('compliance = "ring.csv"\n', ""), "needs compliance ="),
        (('"ring.csv"', '"none.csv"'), "none.csv"),
    ],
)
def test_model_files_name_what_is_missing(changed, message, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        model_of(tmp_path, TEXT, *changed).system.build()


def test_a_shaft_rests_where_the_elements_carry_its_weight(ring):
    """The equilibrium of the weight, against the sum over the elements."""
    system = flexmb.System(gravity=(0, -9.81, 0), name="ring")
    shaft = system.add(flexmb.rigid_body("shaft", mass=50.0, inertia=(1, 1, 1)), position=(0, -2e-5, 0))
    system.prismatic("slot", system.ground, shaft, axis=(0, 1, 0), at=(0, 0, 0))
    law = flexible_ring_bearing(elements=8, stiffness=STIFFNESS, initial=(DOWN,), **ring.parameters)
    system.force("bearing", system.ground.at((0, 0, 0)), shaft.at((0, 0, 0)), law)
    found = float(equilibrium(system).state.q[1])

    def unbalanced(y):
        return loads(ring, np.array([0.0, y]), DOWN, 8, 1.5)[1][1] + 50 * 9.81

    assert found == pytest.approx(brentq(unbalanced, -1e-3, -1e-7, rtol=1e-10), rel=1e-8)
