"""Beams of open sections whose warping is held (Vlasov's torsion): closed forms, a model of shells, buckling, and what
interfaces, reductions and mechanisms do with the rates of twist."""

import itertools
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse.linalg as sla

import fem
import flexmb
import reduction
from fem.analysis.model_warnings import warn_of_free_warping
from fem.drawn_sections.draw import section_of_rectangles
from fem.errors import MaterialError, MatrixError, MeshError, MeshWarning
from fem.join import part_dofs
from fem.matrices.beam_matrices import Beams
from fem.sections.twist import Twist
from flexmb.files.models.material_keys import MaterialKeys, material_of
from flexmb.linear import equilibrium
from validation import held_warping

E, NU, DENSITY = 2.1e11, 0.3, 7850.0
G = E / (2 * (1 + NU))
STEEL = fem.Material.isotropic(E, NU, DENSITY)
B, H, T = 0.05, 0.098, 0.002
"""Flange, height between the flanges' middles, wall."""
OUT, IN = H / 2 + T / 2, H / 2 - T / 2
FLANGES = {"I": (-B / 2, B / 2, -B / 2, B / 2), "U": (-T / 2, B, -T / 2, B), "Z": (-B, T / 2, -T / 2, B)}
"""From y to y of the lower flange, then of the upper one."""
line = fem.structured_meshes.line


@cache
def section(shape):
    a, b, c, d = FLANGES[shape]
    return section_of_rectangles([(a, -OUT, b, -IN), (c, IN, d, OUT), (-T / 2, -OUT, T / 2, OUT)])


def part(shape="I", cells=1, length=1.0, **options):
    options = {"torsion": "vlasov", "y_axis": (0, 1, 0)} | options
    return fem.Model(line((0, 0, 0), (length, 0, 0), cells), fem.Beam(STEEL, section(shape), **options))


def decay(s):
    return np.sqrt(G * s.J / (E * s.warping))


def tip_twist(s, length):
    """Twist of a cantilever with warping held at the root under a unit torque at the other end."""
    k = decay(s)
    return (length - np.tanh(k * length) / k) / (G * s.J)


def static(model, held, dof):
    f = np.zeros(model.ndof)
    f[dof] = 1.0
    free = np.setdiff1d(np.arange(model.ndof), held)
    u = np.zeros(model.ndof)
    u[free] = sla.spsolve(model.K[free][:, free].tocsc(), f[free])
    return u


def clamped(model, node):
    d = model.dof_map
    return np.r_[d.translations(node), d.rotations(node), d.warping([node])]


@pytest.mark.parametrize("place", ["start", (0,)])
def test_supports_of_all_six_components_leave_warping_free_and_clamps_hold_it(place):
    model, s = part(cells=2), section("I")
    load = np.zeros(model.ndof)
    load[model.dof_map.rotations(2)[0]] = 1.0
    free = fem.solve_static(model, load, {place: (0, 1, 2, 3, 4, 5)}).rotations[2, 0]
    clamp = fem.solve_static(model, load, [place]).rotations[2, 0]
    assert free == pytest.approx(1 / (G * s.J), rel=1e-9)
    assert clamp == pytest.approx(tip_twist(s, 1.0), rel=1e-9)


@pytest.mark.parametrize("shape", ["I", "U", "Z"])
@pytest.mark.parametrize("cells", [1, 3])
def test_cantilever(shape, cells):
    """Twist, bimoment at the root and the stresses of warping are exact for any number of cells."""
    model, s, k = part(shape, cells), section(shape), decay(section(shape))
    d = model.dof_map
    u = static(model, clamped(model, 0), d.rotations(cells)[0])
    assert u[d.rotations(cells)[0]] == pytest.approx(tip_twist(s, 1.0), rel=1e-10)
    bimoment = float((model.K @ u)[d.warping([0])].item())
    assert bimoment == pytest.approx(-np.tanh(k) / k, rel=1e-10)
    _, x, stress = model.stresses(u[:, None])
    bend = E * k * np.sinh(k * (1 - x[:, 0])) / np.cosh(k) / (G * s.J)  # E theta''
    omega = np.repeat(s.fibre_warping, len(x) // len(s.fibres))
    np.testing.assert_allclose(stress[:, 0, 0], bend * omega, atol=1e-8 * np.abs(bend * omega).max())
    held = part(shape, cells, torsion="saint-venant")
    free = static(held, clamped(held, 0), held.dof_map.rotations(cells)[0])
    assert free[held.dof_map.rotations(cells)[0]] == pytest.approx(1 / (G * s.J), rel=1e-10)


@pytest.mark.parametrize("shape", ["I", "U", "Z"])
def test_warping_function(shape):
    """The warping at the tips of the flanges is the sectorial coordinate of thin walls."""
    s = section(shape)
    if shape == "I":
        expected, tip = B * H / 4, B / 2
    elif shape == "U":
        e = 3 * B**2 / (H + 6 * B)  # from the web to the shear centre
        expected, tip = (B - e) * H / 2, B
    else:
        expected, tip = H / 2 * B - B**2 * H / (2 * (H + 2 * B)), B
    turn = np.deg2rad(s.angle)
    drawn = s.fibres @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) + s.drawn_centroid
    at_tip = np.argsort(np.linalg.norm(drawn - (tip, H / 2), axis=1))[:3]  # the end of the upper flange
    assert abs(np.array(s.fibre_warping)[at_tip].mean()) == pytest.approx(expected, rel=0.02)


def test_frequencies_of_a_supported_beam_converge_with_the_fourth_power():
    s, errors = section("I"), []
    polar = s.Iy + s.Iz
    exact = [
        q**2 * (G * s.J + E * s.warping * q**2) / (DENSITY * (polar + s.warping * q**2)) for q in np.pi * np.r_[1:4]
    ]
    for n in (8, 16):
        model = part("I", n)
        d = model.dof_map
        twist = np.r_[d.rotations(np.arange(1, n))[:, 0], d.warping(np.arange(n + 1))]
        K, M = (A[twist][:, twist].toarray() for A in (model.K, model.M))
        errors.append(np.sqrt(sl.eigh(K, M, eigvals_only=True)[:3] / exact) - 1)
    assert (np.abs(errors[1]) < 1e-4).all()
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 4, atol=0.1)


def test_agrees_with_shells():
    """An I-beam of shells clamped at one end: 2 per cent, where Saint-Venant's torsion is 2.7 times too soft."""
    assert held_warping.twist_of_shells() == pytest.approx(tip_twist(section("I"), 1.0), rel=0.02)


def test_stresses_without_those_of_warping_are_named():
    """The warning names the missing values; a drawn section has them."""
    s = replace(section("I"), fibre_warping=())
    model = fem.Model(line((0, 0, 0), (1, 0, 0), 2), fem.Beam(STEEL, s, torsion="vlasov"))
    with pytest.warns(MeshWarning, match="no fibre_warping"):
        model.stresses(np.zeros((model.ndof, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part("I").stresses(np.zeros((14, 1)))


def supported_in_torsion(model, n):
    """Dofs that a fork at both ends leaves free: sections do not turn about x, and warp freely."""
    d = model.dof_map
    fixed = np.r_[d.translations(0), d.translations(n)[1:], d.rotations(0)[0], d.rotations(n)[0]]
    return np.setdiff1d(np.arange(model.ndof), fixed)


def lowest(K, KG):
    """The smallest positive factor of the load at which `K + factor KG` is singular."""
    values = sl.eigvals(KG, -K).real
    return 1 / values[values > 0].max()


def test_buckling():
    """Torsional buckling of a column, and lateral buckling of a beam under equal moments at its ends."""
    n, s, length = 16, section("I"), 1.0
    s = replace(s, Iy=1e3 * s.Iy)  # the moment bends the beam, before it buckles, by as good as nothing
    model = fem.Model(
        line((0, 0, 0), (length, 0, 0), n), fem.Beam(STEEL, s, (0, 1, 0), theory="euler-bernoulli", torsion="vlasov")
    )
    d, free, q = model.dof_map, supported_in_torsion(model, n), np.pi / length
    torsion = G * s.J + E * s.warping * q**2
    f = np.zeros(model.ndof)
    f[d.translations(n)[0]] = -1.0
    column = np.zeros(model.ndof)
    column[free] = sla.spsolve(model.K[free][:, free].tocsc(), f[free])
    twist = np.intersect1d(free, np.r_[d.rotations(np.arange(n + 1))[:, 0], d.warping(np.arange(n + 1))])
    K, KG = (A[twist][:, twist].toarray() for A in (model.K, model.geometric_stiffness(column)))
    assert lowest(K, KG) == pytest.approx(torsion * s.area / (s.Iy + s.Iz), rel=1e-4)
    f = np.zeros(model.ndof)
    f[d.rotations(0)[1]], f[d.rotations(n)[1]] = 1.0, -1.0
    bent = np.zeros(model.ndof)
    bent[free] = sla.spsolve(model.K[free][:, free].tocsc(), f[free])
    K, KG = (A[free][:, free].toarray() for A in (model.K, model.geometric_stiffness(bent)))
    assert lowest(K, KG) == pytest.approx(q * np.sqrt(E * s.Iz * torsion), rel=2e-3)


@pytest.mark.parametrize("length", [1.0, 10.0, 80.0])
@pytest.mark.filterwarnings("ignore::fem.UnitWarning")
def test_a_stressed_beam_turns_freely(length):
    """In a small rotation a, the forces of a stressed beam turn with it, `a x f`, moments to one half, and bimoments stay,
    whether the warping decays over many beams or in a fortieth of one."""
    model, rng = part("U", 2, length), np.random.default_rng(0)
    n, start = 3 * len(model.points), model.dof_map.start_of_rates
    u = rng.normal(size=model.ndof)
    u[:n] *= length
    u[start:] /= length
    f, K = model.K @ u, model.geometric_stiffness(u)
    size = np.repeat(
        [np.abs(f[:n]).max(), np.abs(f[n:start]).max(), np.abs(f[n:start]).max() * length], [n, n, len(f) - start]
    )
    for a, turn in zip(np.eye(3), model.rigid_body_modes()[:, 3:].T, strict=True):
        turned = np.zeros_like(f)
        turned[:n] = np.cross(a, f[:n].reshape(-1, 3)).ravel()
        turned[n:start] = np.cross(a, f[n:start].reshape(-1, 3)).ravel() / 2
        np.testing.assert_allclose((K @ turn - turned) / size, 0, atol=1e-9)


@pytest.mark.parametrize("along", [1e-6, 0.3, 4.99, 5.01, 30.0, 1e3])
def test_the_interpolation_is_sound_for_any_length(along):
    """The stiffness, formed from the forces at the ends, is the integral of the energy."""
    s = replace(section("U"), warping=G * section("U").J / E / along**2)
    beam = fem.Beam(STEEL, s, torsion="vlasov")
    found = Beams.of(beam, np.array([[[0.0, 0, 0], [1.0, 0, 0]]])).torsion[0][np.ix_([3, 9, 12, 13], [3, 9, 12, 13])]
    xi, w = np.polynomial.legendre.leggauss(200)
    t = Twist.of(beam, np.ones(1), (xi + 1) / 2)
    energy = sum(
        stiff * np.einsum("q,qa,qb->ab", w / 2, A[0], A[0])
        for stiff, A in ((G * s.J, t.rate), (E * s.warping, t.change))
    )
    scale = 1 / np.sqrt(np.diag(energy))
    np.testing.assert_allclose(scale[:, None] * found * scale, scale[:, None] * energy * scale, atol=1e-10)


def test_who_shares_a_rate_of_twist():
    """Beams that continue each other do, whatever way their nodes run; those at a corner have their own."""
    points = np.array([(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 0, 1)], dtype=float)
    cells = fem.CellBlock("line", np.array([(0, 1), (2, 1), (2, 3)]))
    model = fem.Model(fem.Mesh(points, (cells,)), fem.Beam(STEEL, section("I"), torsion="vlasov"))
    rates = model.dof_map.rates
    assert rates.nodes.tolist() == [0, 1, 2, 2, 3]
    assert rates.ends[0, 1] == rates.ends[1, 1]
    assert rates.ends[1, 0] != rates.ends[2, 0]
    R = model.rigid_body_modes()
    assert abs(model.K @ R).max() < 1e-12 * abs(model.K).max()
    assert model.mass == pytest.approx(3 * DENSITY * section("I").area, rel=1e-12)
    with pytest.raises(MeshError, match="which has 2 of them"):
        model.with_constraints(fem.Equation([2], [6], [1.0]))
    held = model.with_constraints(fem.Equation([0], [6], [1.0]))
    assert held.ndof == model.ndof - 1
    assert not held.dof_map.holding


@pytest.mark.parametrize("kind", ["rigid", "average"])
def test_interfaces_and_bodies(kind):
    """A rigid interface holds the warping and an average one does not: in reduced frequencies, and in a mechanism, where
    the root is fixed and the tip twists by the closed form."""
    model = part("U", 6, y_axis=(0, 1, 0)).with_interfaces(
        root=fem.Interface([0], kind), tip=fem.Interface([6], "average")
    )
    held = model.interfaces["root"].warping_dofs
    assert len(held) == (kind == "rigid")
    free = np.setdiff1d(np.arange(model.ndof), held)
    K, M = (A[free][:, free].toarray() for A in (model.K, model.M))
    exact = np.sqrt(sl.eigh(K, M, eigvals_only=True)[6:9])
    basis = reduction.craig_bampton(model, 12)
    body = flexmb.flexible_body(model, basis)
    found = np.sqrt(np.linalg.eigvalsh(basis.Psi.T @ (model.K @ basis.Psi)))[:3]
    np.testing.assert_allclose(found, exact, rtol=2e-3)
    J2 = body.invariants.J2
    np.testing.assert_allclose(np.trace(J2, axis1=2, axis2=3) / 2, np.eye(len(J2)), atol=1e-10)
    system = flexmb.System(gravity=(0, 0, 0))
    beam = system.add(body)
    system.fixed("weld", system.ground.at(beam["root"].point), beam["root"])
    system.load("torque", beam["tip"], moment=(1e-2, 0, 0))
    turned = equilibrium(system).result.axes("torque")[0]
    s = section("U")
    expected = tip_twist(s, 1.0) if kind == "rigid" else 1 / (G * s.J)
    assert turned[2, 1] == pytest.approx(1e-2 * expected, rel=1e-3)


def test_what_cannot_carry_warping_refuses_it():
    model = part("I", 4).with_interfaces(root="start", tip="end")
    with pytest.raises(MeshError, match="would not resist each other's warping"):
        fem.split(model, 2)
    numbered = fem.Model(replace(model.mesh, node_ids=100 + np.arange(len(model.points))), model.materials[0])
    with pytest.raises(MeshError, match=r"goes through node 2 \(number 102 in the file\) of beams"):
        fem.split(numbered, 2)
    with pytest.raises(MatrixError, match="the rates of twist"):
        fem.write_matrices(model, "never.mat")
    with pytest.raises(MaterialError, match="a positive warping constant; found 0"):
        fem.Beam(STEEL, fem.Section.circle(0.1), torsion="vlasov")
    with pytest.raises(MaterialError, match="Did you mean 'vlasov'"):
        fem.Beam(STEEL, section("I"), torsion="vlassov")
    with pytest.raises(MaterialError, match="one number for each of its 4 fibres"):
        fem.Section(1.0, 1.0, 1.0, 1.0, fibre_warping=(1.0,))


def test_joined_parts():
    """Parts that are welded keep their rates of twist apart; the dofs of each are found among those of the assembly."""
    a, b = part("I", 2).with_interfaces(tip="end"), part("I", 3).with_interfaces(root="start")
    whole = fem.join({"a": a, "b": b}, {"weld": ["a tip", "b root"]})
    assert whole.ndof == a.ndof + b.ndof
    for name, model in (("a", a), ("b", b)):
        own = part_dofs({"a": a, "b": b})[name]
        assert abs(whole.K[own][:, own] - model.K).max() == 0.0
    assert len(whole.interfaces["weld"].warping_dofs) == 2


def test_clamped_open_sections_without_held_warping_are_named():
    """The warning gives the factor of the twist; average interfaces, long beams and Vlasov's torsion are silent."""
    s = section("I")
    model = part("I", 4, torsion="saint-venant").with_interfaces(root="start")
    ratio = 1 / (G * s.J) / tip_twist(s, 1.0)
    with pytest.warns(MeshWarning, match=f"up to {ratio:.3g} times as far"):
        reduction.craig_bampton(model, 4)
    quiet = [
        part("I", 4).with_interfaces(root="start"),
        part("I", 4, torsion="saint-venant").with_interfaces(root=fem.Interface("start", "average")),
        part("I", 4, 20.0, torsion="saint-venant").with_interfaces(root="start"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", MeshWarning)
        for model in quiet:
            warn_of_free_warping(model)


def test_the_factor_of_the_warning_where_both_ends_are_clamped():
    """The twist by a torque on an end that only turns, with warping held there, too."""
    s, model = section("I"), part("I", 2)
    d = model.dof_map
    held = np.r_[clamped(model, 0), d.translations(2), d.rotations(2)[1:], d.warping([2])]
    twist = static(model, held, d.rotations(2)[0])[d.rotations(2)[0]]
    free = part("I", 2, torsion="saint-venant").with_interfaces(root="start", tip="end")
    with pytest.warns(MeshWarning, match=f"up to {1 / (G * s.J) / twist:.3g} times as far"):
        warn_of_free_warping(free)


def messages(model):
    """The warnings of a reduction about warping."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_of_free_warping(model)
    return [str(w.message) for w in told]


@pytest.mark.parametrize(("at", "ratio"), [([0, 8], 2), ([4], 1), ([0, 2, 8], 2)])
def test_clamps_divide_the_line_of_beams(at, ratio):
    """The factor of the twist is that of the beams from clamp to clamp or to the end, not of the whole line, whose length
    would hide it."""
    s, length = section("I"), 8.0
    model = part("I", 8, length, torsion="saint-venant").with_interfaces(**{f"n{k}": [k] for k in at})
    stops = sorted({*at, 0, 8})
    factors = []
    for a, b in itertools.pairwise(stops):
        kL, ends = decay(s) * (b - a), (a in at) + (b in at)
        factors.append(1 / (1 - ends * np.tanh(kL / ends) / kL))
    told = messages(model)
    assert len(told) == sum(f > 1.1 for f in factors)
    assert f"up to {max(factors):.3g} times as far" in told[0]


def test_lines_of_several_sections_are_one_run():
    """Two names for one section do not halve the beam of a warning."""
    mesh = replace(line((0, 0, 0), (1.0, 0, 0), 2), cell_sets={"a": np.array([0]), "b": np.array([1])})
    names = {key: fem.Beam(STEEL, section("I"), y_axis=(0, 1, 0)) for key in "ab"}
    told = messages(fem.Model(mesh, names).with_interfaces(root="start"))
    assert f"up to {1 / (G * section('I').J) / tip_twist(section('I'), 1.0):.3g} times" in told[0]


def arc(cells, radius=0.5):
    """A quarter of a circle of I-beams, clamped at one end: deflection across its plane under a force at the other."""
    a = np.linspace(0, np.pi / 2, cells + 1)
    points = radius * np.column_stack([np.sin(a), 1 - np.cos(a), 0 * a])
    rows = np.column_stack([np.arange(cells), np.arange(1, cells + 1)])
    beam = fem.Beam(STEEL, section("I"), torsion="vlasov", y_axis=(0, 0, 1))
    model = fem.Model(fem.Mesh(points, (fem.CellBlock("line", rows),)), beam)
    tip = model.dof_map.translations(cells)[2]
    return model, static(model, clamped(model, 0), tip)[tip]


def test_curved_beams_pass_their_warping_on():
    """The error falls with the square of the angle between the beams; beyond 25 degrees each would warp freely (53 per cent
    too soft), and a warning tells the angle."""
    exact = arc(64)[1]
    errors = [arc(n)[1] / exact - 1 for n in (4, 6, 12)]
    np.testing.assert_allclose(errors, [-0.098, -0.044, -0.011], atol=2e-3)
    assert not messages(arc(4)[0])
    told = messages(arc(3)[0].with_interfaces(root=[0], tip=[3]))
    assert "at 2 nodes (first: 1, 30 degrees)" in told[0]
    assert "Divide a curved beam more finely" in told[0]
    stated = arc(3)[0].with_interfaces(a=fem.Interface([1], "average"), b=fem.Interface([2], "rigid"))
    assert not messages(stated)


TURNS = {"as it is": (1, 1), "y turned": (1, -1), "run back": (-1, 1), "both": (-1, -1)}
SAME = {"I": set(TURNS), "U": {"as it is", "run back"}, "Z": {"as it is", "y turned"}}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("shape", SAME)
def test_sections_that_are_turned_by_180_degrees(shape, turn):
    """Beams share a rate of twist where their sections are one shape, and then no sign depends on the axes; others are
    named."""
    x, y = TURNS[turn]
    points = np.array([(0, 0, 0), (0.4, 0, 0), (1.0, 0, 0)])
    c, s = np.cos(np.deg2rad(section(shape).angle)), np.sin(np.deg2rad(section(shape).angle))
    rows = np.array([(0, 1), (1, 2)[::x]])
    mesh = fem.Mesh(points, (fem.CellBlock("line", rows),), cell_sets={"a": np.array([0]), "b": np.array([1])})
    axes = {"a": (0.0, c, -s), "b": (0.0, y * c, -y * x * s)}  # principal axes along y and z
    beams = {key: fem.Beam(STEEL, section(shape), torsion="vlasov", y_axis=axis) for key, axis in axes.items()}
    model = fem.Model(mesh, beams)
    if turn in SAME[shape]:
        assert not messages(model)
        tip = model.dof_map.rotations(2)[0]
        u = static(model, clamped(model, 0), tip)
        assert u[tip] == pytest.approx(tip_twist(section(shape), 1.0), rel=1e-9)
    else:
        assert model.dof_map.rates.nodes.tolist() == [0, 1, 1, 2]
        assert "turned by 180 degrees or mirrored" in messages(model)[0]


def in_line(*sections, turned=False):
    """Cells of different beams on one line; the second may run back."""
    n = len(sections)
    rows = np.column_stack([np.arange(n), np.arange(1, n + 1)])
    if turned:
        rows[1] = rows[1, ::-1]
    points = np.column_stack([0.5 * np.arange(n + 1), np.zeros((n + 1, 2))])
    mesh = fem.Mesh(points, (fem.CellBlock("line", rows),), cell_sets={str(k): np.array([k]) for k in range(n)})
    beams = {str(k): fem.Beam(STEEL, s, torsion="vlasov", y_axis=(0, 1, 0)) for k, s in enumerate(sections)}
    return fem.Model(mesh, beams)


def scaled(factor):
    x = np.array([(-B / 2, -OUT, B / 2, -IN), (-B / 2, IN, B / 2, OUT), (-T / 2, -OUT, T / 2, OUT)])
    return section_of_rectangles([tuple(row) for row in (factor * x).tolist()])


def test_shapes_that_warp_in_two_ways_are_named_where_they_share_a_rate_of_twist():
    """An I and a U, and an I twice as large; small steps of a taper, one shape by two names, and stated joints are
    silent."""
    stiffer = replace(section("I"), fibre_warping=(), warping=4 * section("I").warping)
    for other in (section("U"), scaled(1.5), replace(section("U"), fibre_warping=()), stiffer):
        model = in_line(section("I"), other)
        assert len(model.dof_map.rates.nodes) == 3
        told = [text for text in messages(model) if "warp in two ways" in text]
        assert "at 1 nodes (first: 1, warping constants" in told[0]
        assert not messages(model.with_interfaces(mid=fem.Interface([1], "average")))
    for other, turned in ((scaled(1.1), False), (section("I"), False), (scaled(1.1), True)):
        assert not messages(in_line(section("I"), other, turned=turned))
    assert not messages(in_line(section("U"), section("U"), turned=True))
    i, u = (section(name).warping for name in "IU")
    told = messages(in_line(section("I"), section("U"), scaled(1.5)))
    assert f"at 2 nodes (first: 1, warping constants {i:.4g} and {u:.4g})" in told[0]


@pytest.mark.parametrize("beams_first", [True, False])
def test_ends_at_links_and_other_cells_are_named(beams_first):
    """Warping is free there; an equation or an interface says what is meant."""
    points = np.array([(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 1, 0), (2, 1, 1), (2, 0, 1.0)])
    cells = (fem.CellBlock("line", np.array([(0, 1), (1, 2)])), fem.CellBlock("quad", np.array([(2, 3, 4, 5)])))
    sets = {"beam": np.array([0, 1]), "plate": np.array([2])}
    if not beams_first:
        cells, sets = cells[::-1], {"beam": np.array([1, 2]), "plate": np.array([0])}
    mesh = fem.Mesh(points, cells, cell_sets=sets)
    beam = fem.Beam(STEEL, section("I"), torsion="vlasov", y_axis=(0, 1, 0))
    model = fem.Model(mesh, {"beam": beam, "plate": fem.Shell(STEEL, 0.01)})
    held = fem.Equation([2], [6], [1.0])
    assert "end at 1 nodes of links or other cells (first: 2)" in messages(model)[0]
    assert not messages(model.with_constraints(held))
    assert not messages(model.with_interfaces(end=fem.Interface([2], "average")))
    linked = model.with_constraints(held, fem.RigidLink([3], 0))
    assert "(first: 0)" in messages(linked)[0]
    assert not messages(linked.with_interfaces(end=fem.Interface([0], "rigid")))


def test_model_files():
    """The keys of a model file."""
    steel = {"youngs_modulus": E, "poissons_ratio": NU, "density": DENSITY}
    constants = {"area": 1e-3, "Iy": 1e-6, "Iz": 1e-7, "J": 1e-9}
    made = material_of(MaterialKeys(**steel, section=constants | {"warping": 1e-10}, torsion="vlasov"))
    assert (made.torsion, made.section.warping) == ("vlasov", 1e-10)
    assert material_of(MaterialKeys(**steel, section=constants)).torsion == "saint-venant"
    with pytest.raises(ValueError, match="warping is given with area"):
        MaterialKeys(**steel, section={"circle": 0.1, "warping": 1e-10})
    with pytest.raises(ValueError, match="their section is missing"):
        MaterialKeys(**steel, torsion="vlasov")


def nastran(folder, warping=2.5e-10, points=((91, 92), (92, 93)), last="2.,0.,0.", **options):
    """Two CBEAM that continue each other, with scalar points at their ends; SPC 1 holds the first end and point."""
    beams = "".join(
        f"CBEAM,{k},5,{k},{k + 1},0.,1.,0.,,+\n+,,,,,,,,,+\n+,{a},{b}\n" for k, (a, b) in enumerate(points, 1)
    )
    lines = [
        "BEGIN BULK\nGRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\n" + f"GRID,3,,{last}\nSPOINT,91,92,93\n" + beams,
        "PBEAM,5,1,4.-4,6.-7,4.-8,,5.-10,,+\n+,,,,,,,,,+\n" + f"+,.8,.8,,,,,{warping}\n",
        f"MAT1,1,{E},,{NU},{DENSITY}\nSPC1,1,123456,1\nSPC1,1,,91\nENDDATA\n",
    ]
    (folder / "part.bdf").write_text("".join(lines))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fem.read_mesh(folder / "part.bdf", **options)


def test_scalar_points_of_nastran(tmp_path):
    """CBEAM with SA and SB and a warping constant hold their warping; without, they do not, as in Nastran."""
    mesh = nastran(tmp_path)
    model = fem.Model(mesh)
    assert not [u for u in model.unread if u.keyword not in ("SPC1",)]
    assert len(model.dof_map.rates.nodes) == 3
    made = model.materials[0]
    assert (made.torsion, made.section.warping) == ("vlasov", 2.5e-10)
    u = static(model, clamped(model, 0), model.dof_map.rotations(2)[0])
    assert u[model.dof_map.rotations(2)[0]] == pytest.approx(tip_twist(made.section, 2.0), rel=1e-9)
    held = fem.Model(nastran(tmp_path, supports="keep"))  # the node, and the point of its rate of twist
    tip = held.dof_map.places(held.dof_map.rotations(2))[0]
    assert static(held, [], tip)[tip] == pytest.approx(tip_twist(made.section, 2.0), rel=1e-9)
    free = fem.Model(nastran(tmp_path, points=(("", ""), ("", ""))))
    assert not len(free.dof_map.rates.nodes)
    assert free.materials[0].section.warping == 2.5e-10
    for options, reason in (
        ({"points": ((91, 92), (94, 93))}, "apart from that of CBEAM 1, which it continues"),
        ({"last": "1.,0.,1."}, "that of CBEAM 1, in whose direction it does not run"),
        ({"points": ((91, ""), (92, 93))}, "warping of one end only"),
        ({"points": ((91, 1), (1, 93))}, "grid points"),
        ({"points": ((91, "92,7"), (92, 93))}, "it has 18 fields, and '7' stands beyond them"),
    ):
        told = [u for u in nastran(tmp_path, **options).unread if u.keyword == "CBEAM"]
        assert reason in told[0].text


@pytest.mark.parametrize(
    ("nodes", "up", "points"),
    [("3,2", "0.,1.,0.", "93,92"), ("2,3", "0.,-1.,0.", "92,93"), ("3,2", "0.,-1.,0.", "93,92")],
)
def test_beams_of_nastran_that_run_against_each_other_share_their_warping(nodes, up, points, tmp_path):
    """One line of two beams, of which the second is turned end for end, or about its line: it twists as before."""
    nastran(tmp_path)
    path = tmp_path / "part.bdf"
    text = (
        path.read_text().replace("CBEAM,2,5,2,3,0.,1.,0.", f"CBEAM,2,5,{nodes},{up}").replace("+,92,93", f"+,{points}")
    )
    assert text != path.read_text()
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fem.Model(fem.read_mesh(path))
    assert {u.keyword for u in model.unread} == {"SPC1"}
    assert len(model.dof_map.rates.nodes) == 3
    u = static(model, clamped(model, 0), model.dof_map.rotations(2)[0])
    expected = tip_twist(model.materials[0].section, 2.0)
    assert u[model.dof_map.rotations(2)[0]] == pytest.approx(expected, rel=1e-9)


def test_beams_of_nastran_with_nodes_of_their_own_share_the_warping_of_a_point(tmp_path):
    """A rigid link joins the second beam's own node to the end of the first: it twists as one line of beams."""
    nastran(tmp_path)
    path = tmp_path / "part.bdf"
    text = (
        path.read_text()
        .replace("CBEAM,2,5,2,3", "CBEAM,2,5,4,3")
        .replace("SPOINT", "GRID,4,,1.,0.,0.\nRBE2,9,2,123456,4\nSPOINT")
    )
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fem.Model(fem.read_mesh(path))
    (tie,) = (c for c in model.mesh.constraints if isinstance(c, fem.Equation))
    assert sorted(zip(tie.nodes, tie.components, tie.coefficients, strict=True)) == [(1, 6, -1.0), (3, 6, 1.0)]
    tip = model.dof_map.places(model.dof_map.rotations(2))[0]
    u = static(model, model.dof_map.places(clamped(model, 0)), tip)
    assert u[tip] == pytest.approx(tip_twist(model.materials[0].section, 2.0), rel=1e-9)
