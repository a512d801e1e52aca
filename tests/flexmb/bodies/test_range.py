"""The range of a reduced body: where it turns and stretches most, the warning, and the cut into pieces."""

import re
import warnings

import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block, line
from flexmb.bodies.validity import Validity, out_of_range, validity
from validation import spin_up

SOFT = fem.Material.isotropic(2e8, 0.3, 1000.0)


def strip(kind="solid"):
    if kind == "beam":
        mesh, material = line((0, 0, 0), (1, 0, 0), 10), fem.Beam(SOFT, fem.Section.rectangle(0.02, 0.02))
        return fem.Model(mesh, material, name="strip").with_interfaces(root="start", tip="end")
    mesh = block("hexahedron20", (1.0, 0.02, 0.02), (10, 1, 1))
    return fem.Model(mesh, SOFT, name="strip").with_interfaces(root="x0", tip="x1")


@pytest.mark.parametrize("kind", ["solid", "beam"])
def test_gauge_of_a_bent_strip(kind):
    """Tip force on a cantilever: the rotation at the tip and the bending strain at the root are those of the beam."""
    part = strip(kind)
    basis = reduction.craig_bampton(part, modes=0, reference_frame="root")
    force = basis.interface_modes["tip"][1] * 0.01
    eta = force / basis.eigenvalues
    inertia = 0.02**4 / 12
    record = validity(part, basis)
    turned, where, stretched, there = record.largest(eta[None])
    assert turned[0] == pytest.approx(0.01 / (2 * 2e8 * inertia), rel=0.02)
    assert record.x[where[0], 0] > 0.9
    # xx strain y M / EI, with the lateral contraction where there is a solid
    longitudinal = 0.01 * 0.01 / (2e8 * inertia)
    assert 0.7 * longitudinal < stretched[0] < 1.3 * longitudinal
    assert record.x[there[0], 0] < 0.1


@pytest.mark.parametrize("kind", ["solid", "beam", "block"])
def test_the_gauge_holds_the_largest_values_of_each_shape(kind):
    """Of all points at which a part has gradients, rotations and strains by their definitions. A block is sheared and
    stretched most at different points."""
    if kind == "block":
        mesh = block("hexahedron20", (1.0, 0.5, 0.4), (4, 3, 2))
        part = fem.Model(mesh, SOFT).with_interfaces(root="x0", tip="x1")
    else:
        part = strip(kind)
    basis = reduction.craig_bampton(part, modes=12 if kind == "block" else 4)
    H = np.concatenate([found for _, found in part.gradients(basis.Psi)])
    W, E = 0.5 * (H - H.swapaxes(1, 2)), 0.5 * (H + H.swapaxes(1, 2))
    record = validity(part, basis)
    turned, stretched = record.largest(np.eye(basis.n_modes))[::2]
    assert np.allclose(turned, np.sqrt((W**2).sum(axis=(1, 2)) / 2).max(axis=0), rtol=1e-12)
    assert np.allclose(stretched, np.sqrt((E**2).sum(axis=(1, 2))).max(axis=0), rtol=1e-12)


def whirled(speed, pieces=1, geometric_stiffness="second-order", kind="beam"):
    """The strip hinged at its root, gravity across it, released from the horizontal."""
    system = flexmb.System(gravity=(0, -speed, 0))
    part = strip(kind)
    if pieces == 1:
        basis = reduction.craig_bampton(part, modes=6)
        handle = system.add(flexmb.flexible_body(part, basis, geometric_stiffness=geometric_stiffness))
    else:
        handle = flexmb.split(system, part, pieces, lambda piece: reduction.craig_bampton(piece, modes=4))
    system.fixed("root", system.ground.at(part.interfaces["root"].point), handle["root"])
    return system


def test_a_run_inside_the_range_is_silent_and_one_outside_says_where_and_when():
    with warnings.catch_warnings():
        warnings.simplefilter("error", flexmb.SmallDeformationWarning)
        flexmb.simulate(whirled(0.01), 0.5, step=1e-3)
    words = r"Body 'strip' leaves the range of its expansion of second order at t = 0\.\d+: its rotation inside exceeds 0\.3 rad near .*flexmb\.split"
    with pytest.warns(flexmb.SmallDeformationWarning, match=words):
        flexmb.simulate(whirled(12.0), 0.5, step=1e-3)
    with pytest.warns(flexmb.SmallDeformationWarning, match=r"first order at .*exceeds 0\.1 rad"):
        flexmb.simulate(whirled(4.0, geometric_stiffness="none"), 0.5, step=1e-3)


@pytest.mark.parametrize("kind", ["beam", "solid"])
def test_pieces_are_the_same_mechanism(kind):
    """Small motion: the tip of four pieces follows that of one body; masses and interfaces are all there."""
    parts = fem.split(strip(kind), 4)
    assert sum(p.mass for p in parts) == pytest.approx(strip(kind).mass)
    assert [sorted(p.interfaces) for p in parts] == [
        ["cut 1", "root"],
        ["cut 1", "cut 2"],
        ["cut 2", "cut 3"],
        ["cut 3", "tip"],
    ]
    one = flexmb.simulate(whirled(0.01, kind=kind), 0.5, step=1e-3)
    four = flexmb.simulate(whirled(0.01, pieces=4, kind=kind), 0.5, step=1e-3)
    a, b = one.position("strip.tip"), four.position("strip 4.tip")
    assert np.abs(a - b).max() < 2e-3 * np.abs(a - a[0]).max()


def test_pieces_go_where_one_body_cannot():
    """A tip that falls through half its length: two pieces against five, both inside their range."""
    results = {n: flexmb.simulate(whirled(8.0, pieces=n), 0.4, step=5e-4) for n in (2, 5)}
    tips = [results[n].position(f"strip {n}.tip")[-1] for n in (2, 5)]
    fall = -tips[1][1]
    assert fall > 0.1
    assert np.linalg.norm(tips[0] - tips[1]) < 0.01 * fall


def test_the_spin_up_of_pieces_is_that_of_one_body():
    system = flexmb.System()
    pieces = flexmb.split(system, spin_up.beams(8), 2, lambda part: reduction.craig_bampton(part, modes=6))
    system.revolute("hub", system.ground.at((0, 0, 0)), pieces["hub"], axis=(0, 0, 1))
    system.drive("hub", flexmb.time_functions.spin_up(spin_up.SPEED, spin_up.RISE))
    result = flexmb.simulate(system, 8.0, step=4e-3)
    arm = result.position("beam 2.tip")
    axes = result.axes("beam 1.hub")
    y = np.einsum("tji,tj->ti", axes, arm)[:, 1]
    assert y.min() == pytest.approx(-0.5740, rel=5e-3)


def test_what_cannot_be_cut_is_refused():
    with pytest.raises(fem.MeshError, match="can be cut into one piece or more, a whole number; found 0"):
        fem.split(strip(), 0)
    with pytest.raises(fem.MeshError, match=r"cannot be cut into 30 pieces.*layers of cells.*at most"):
        fem.split(strip(), 30)
    with pytest.raises(fem.InterfaceError, match="a cut goes through the interface 'side'"):
        fem.split(strip().with_interfaces(side="z0"), 2)
    model = strip()
    with pytest.raises(fem.MatrixError, match="needs its elements"):
        fem.split(fem.Model.from_matrices(model.M, model.K, model.points), 2)


def test_rotations_and_strains_are_told_where_they_are():
    """A shape that turns at one place and another one that stretches at another, with the times at which they begin to."""
    x = np.array([[1.0, 0, 0], [2.0, 0, 0], [3.0, 0, 0]])
    rotation, strain = np.zeros((3, 3, 2)), np.zeros((3, 6, 2))
    rotation[0, 2, 0], strain[2, 0, 1] = 1.0, 1.0
    t, eta = np.array([0.0, 1.0, 2.0]), np.array([[0.0, 0.0], [0.5, 0.04], [0.0, 0.08]])
    turned, stretched = out_of_range("bar", Validity(x, rotation, strain), True, t, eta)
    assert re.search(r"at t = 1: .* exceeds 0\.3 rad near \[1\. 0\. 0\.\] .* largest is 0\.5 rad at t = 1\.", turned)
    assert re.search(r"from t = 2 near \[3\. 0\. 0\.\] .*at most 8\.00% at t = 2", stretched)
