"""The reference response and every error measured by it, against direct solves, dense algebra and closed forms."""

from dataclasses import replace
from functools import cache

import dense
import mpmath
import numpy as np
import pytest
import scipy.linalg as sl

import fem
import reduction
from fem.errors import ConvergenceError, InterfaceError, MatrixError
from fem.mesh.structured_meshes import block, line
from reduction.build import reduction_context, size_spec
from reduction.error.inputs import resolve_inputs
from reduction.error.reference_response import modal_response, reference_response
from reduction.methods.balanced_truncation import position_factor
from reduction.methods.gramian import gramian_shape_generator, position_gramian, singular_values
from reduction.methods.irka import h2_shapes
from reduction.solutions.statics import statics

STEEL = fem.Material.isotropic(2.1e11, 0.3, 7850.0)
BAND = (0, 2500)


@cache
def part(kinds=("rigid", "average"), divisions=(4, 2, 1), element="hexahedron"):
    ends = {
        f"end {k}": fem.Interface(side, kind=kind)
        for k, (side, kind) in enumerate(zip(("x0", "x1"), kinds, strict=False))
    }
    return fem.Model(block(element, (1.0, 0.2, 0.1), divisions), STEEL, name="bar").with_interfaces(**ends)


def modal_of(model):
    """All elastic eigenvalues and the load rows (p, N) of the full model, dense."""
    made = resolve_inputs(model, None)
    basis = reduction.modal(model, statics(model).free_modes_available)
    return basis.eigenvalues, made.loads.T @ basis.Psi


KINDS = [("rigid", "average"), ("rigid", "rigid"), ("average", "average"), ("rigid",), ("average",)]


@pytest.mark.parametrize("kinds", KINDS)
def test_reference_response_is_the_direct_one_within_its_bound(kinds):
    model = part(kinds, (6, 2, 1))
    for tolerance in (1e-1, 1e-3, 1e-6):
        found = reduction.frequency_response(model, band=BAND, tolerance=tolerance)
        picked = np.linspace(1, len(found.frequencies) - 1, 12).astype(int)
        direct = reduction.frequency_response(model, found.frequencies[picked])
        error = np.linalg.norm(direct.elastic - found.elastic[picked], axis=(1, 2))
        assert found.bound.max() <= tolerance * found.magnitude.max()
        assert (error <= found.bound[picked] * 1.01 + 1e-9 * direct.magnitude).all()
        seen = error > 1e-8 * direct.magnitude  # beyond round-off
        assert (found.bound[picked][seen] < 10 * error[seen]).all()  # the bound is not empty talk


def test_a_stated_error_contains_that_of_its_reference():
    """A basis of all modes is far better than a reference to a tenth: what is stated is the bound of the reference."""
    model = part()
    full = reduction.modal(model, statics(model).free_modes_available)
    found = reduction.response_error(model, full, band=BAND, tolerance=1e-1)
    assert found.bound.max() > 1e-4
    seen = found.bound > 1e-9  # above rounding
    assert (found.relative >= found.bound)[seen].all()
    assert (found.relative <= 2 * found.bound)[seen].all()


def test_errors_do_not_depend_on_the_unit_of_length():
    """Moments are inputs beside forces: both in one norm, by the size of the part."""
    mesh = block("hexahedron", (1.0, 0.2, 0.1), (4, 2, 1))
    found = []
    for unit in (1.0, 1e3):  # metres; millimetres, with tonnes and N/mm2
        material = fem.Material.isotropic(2.1e11 * unit**-2, 0.3, 7850.0 * unit**-4)
        model = fem.Model(fem.Mesh(mesh.points * unit, mesh.cells), material)
        model = model.with_interfaces(a=mesh.nodes("x0"), b=fem.Interface(mesh.nodes("x1"), "average"))
        found.append(reduction.response_error(model, reduction.craig_bampton(model, 2), band=BAND, tolerance=1e-6))
    np.testing.assert_allclose(found[1].relative, found[0].relative, rtol=1e-6)
    assert list(found[0].by_input) == list(found[1].by_input)


def test_the_grid_resolves_every_resonance():
    model = part(("rigid", "rigid"))
    found = reduction.frequency_response(model, band=BAND)
    natural = reduction.modal(model, 10).frequencies
    for f in natural[natural < BAND[1]]:
        near = found.frequencies[np.abs(found.frequencies - f) < 0.021 * f]
        assert len(near) >= 5
        assert np.abs(found.frequencies - f).min() < 1e-3 * f


def test_an_error_is_looked_for_at_the_resonances_of_the_reduced_body_too():
    """Those of static shapes alone are far above those of the part."""
    model = part(("rigid", "rigid"))
    basis = reduction.guyan(model)
    found = reduction.response_error(model, basis, BAND)
    inside = basis.frequencies[basis.frequencies < BAND[1]]
    assert len(inside) >= 3
    for f in inside:
        assert np.abs(found.frequencies - f).min() < 1e-3 * f
    fine = np.linspace(0.98, 1.02, 41) * inside[0]
    full, reduced = (reduction.frequency_response(model, fine, basis=b) for b in (None, basis))
    errors = np.linalg.norm(full.elastic - reduced.elastic, axis=(1, 2)) / full.magnitude
    assert found.worst > 0.99 * errors.max()


def test_the_response_of_a_basis_does_not_depend_on_its_frame():
    model = part(("rigid", "rigid"))
    frequencies = [0.0, 300.0, 900.0]
    free, attached = (
        reduction.frequency_response(model, frequencies, basis=reduction.craig_bampton(model, 4, frame)).elastic
        for frame in (None, "end 1")
    )
    np.testing.assert_allclose(attached, free, atol=1e-9 * np.abs(free).max())


def test_response_of_a_rod_is_the_closed_form():
    """Axial force on a slender free rod: `u(0) = -cot(k L) / (E A k)` less the rigid motion."""
    L, a = 1.0, 0.02
    model = fem.Model(line((0, 0, 0), (L, 0, 0), 120), fem.Beam(STEEL, fem.Section.rectangle(a, a))).with_interfaces(
        tip="start"
    )
    f = np.array([500.0, 2000.0, 3000.0, 4000.0])
    found = reduction.frequency_response(model, f, loss_factor=1e-9, inputs=["tip"])
    k = 2 * np.pi * f / np.sqrt(2.1e11 / 7850.0)
    exact = -1 / np.tan(k * L) / (2.1e11 * a**2 * k)
    np.testing.assert_allclose(found.total[:, 0, 0].real, exact, rtol=1e-3, atol=1e-3 * np.abs(exact).max())
    assert found.entry("tip Fx", "tip Fx") == pytest.approx(found.elastic[:, 0, 0])
    with pytest.raises(MatrixError, match=r"no input 'tip Q'.*tip Fx"):
        found.entry("tip Q", "tip Fx")


def test_a_static_response_has_the_loss_of_the_stiffness():
    """At the frequency zero, where no factorisation is made, as just above it."""
    model = part(("rigid", "average"))
    at_rest, slowly = reduction.frequency_response(model, [0.0, 0.1], loss_factor=0.4).elastic
    np.testing.assert_allclose(at_rest, slowly, atol=1e-6 * np.abs(slowly).max())
    np.testing.assert_allclose(at_rest * (1 + 0.4j), (at_rest * (1 + 0.4j)).real, atol=1e-12 * np.abs(at_rest).max())


SIZED = {
    "modal": reduction.modal, "Craig-Bampton": reduction.craig_bampton, "Craig-Chang": reduction.craig_chang, "Herting": reduction.herting,
    "Krylov": reduction.krylov, "Gramian": reduction.gramian, "balanced truncation": reduction.balanced_truncation, "choose": None,
}  # fmt: skip


@pytest.mark.parametrize("method", SIZED)
@pytest.mark.parametrize("kinds", KINDS[:2])
def test_every_method_meets_its_tolerance(method, kinds):
    """Sized by the reference response, judged by direct solves at the frequencies of the largest estimates and between."""
    model, tolerance = part(kinds, (6, 2, 1)), 0.2 if method == "modal" else 0.05
    if method == "choose":
        basis = reduction.choose(model, band=BAND, tolerance=tolerance)
    else:
        basis = SIZED[method](model, band=BAND, tolerance=tolerance)
    reduction.check(basis, model)
    estimate = reduction.response_error(model, basis, BAND)
    assert estimate.worst <= tolerance
    assert basis.options["error"] == pytest.approx(estimate.worst, rel=0.05)
    worst = np.argsort(estimate.relative)[-5:]
    f = np.concatenate([estimate.frequencies[worst], np.linspace(200.0, BAND[1], 6)])
    full, reduced = reduction.frequency_response(model, f), reduction.frequency_response(model, f, basis=basis)
    true = np.linalg.norm(full.elastic - reduced.elastic, axis=(1, 2)) / full.magnitude
    assert true.max() <= tolerance
    told = np.interp(f, estimate.frequencies, estimate.relative)[:5]
    assert (told >= 0.9 * true[:5]).all()
    assert (told <= 10 * true[:5] + 1e-9).all()
    assert f"{tolerance:.2g} was asked for" in str(basis)


@pytest.mark.parametrize("high", [1200, 2500])
def test_balanced_truncation_damps_one_per_cent_of_critical_at_both_ends_of_its_band(high):
    """At the first natural frequency and at the end of the band; less between them."""
    model = part(("rigid", "average"), (6, 2, 1))
    alpha, beta = reduction.balanced_truncation(model, 2, band=(0, high)).options["damping"]
    first = 2 * np.pi * reduction.modal(model, 1).frequencies[0]
    ends = np.array([first, 2 * np.pi * high])
    np.testing.assert_allclose(alpha / (2 * ends) + beta * ends / 2, 0.01, rtol=1e-3)


def test_choice_is_the_smallest_of_its_table():
    model = part(("rigid", "rigid"), (6, 2, 1))
    basis = reduction.choose(model, band=BAND, tolerance=0.02, reference_frame="end 0")
    rows = basis.options["candidates"]
    sizes = [row["coordinates"] for row in rows if row["coordinates"]]
    assert basis.n_modes == min(sizes)
    assert {row["method"] for row in rows} == {"Craig-Chang", "Gramian", "Krylov", "Herting", "Craig-Bampton", "modal"}
    assert basis.reference_frame == "end 0"
    assert "Gramian:" in str(basis)
    only = reduction.choose(model, band=BAND, tolerance=0.02, methods=["Krylov"])
    assert only.method == "Krylov"
    with pytest.raises(MatrixError, match=r"no reduction method named 'Krilov'\. Did you mean 'Krylov'"):
        reduction.choose(model, band=BAND, methods=["Krilov"])
    with pytest.raises(ConvergenceError, match="no method meets"):
        reduction.choose(part(("rigid", "rigid"), (10, 3, 2), "tetra10"), band=BAND, tolerance=0.01, methods=["modal"])


def test_static_shapes_count_in_a_choice():
    """Craig-Bampton needs fewer shapes than natural modes beside its six static ones, and more with them."""
    mesh = block("hexahedron20", (1.0, 0.1, 0.06), (6, 1, 1))
    model = fem.Model(mesh, fem.Material.steel()).with_interfaces(root="x0", tip="x1")
    basis = reduction.choose(model, band=(0, 300.0), tolerance=0.4, methods=["Craig-Bampton", "modal"])
    sizes = {row["method"]: row["coordinates"] for row in basis.options["candidates"]}
    assert 0 < sizes["modal"] < sizes["Craig-Bampton"] < 6 + sizes["modal"]
    assert (basis.method, basis.n_modes) == ("modal", sizes["modal"])


STATIC = {k: v for k, v in SIZED.items() if k not in ("modal", "choose")}


@pytest.mark.parametrize("method", STATIC)
@pytest.mark.parametrize("kinds", KINDS[:4])
def test_static_loads_at_interfaces_are_exact(method, kinds):
    """Self-equilibrated loads for all; with inertia relief for all but Craig-Bampton."""
    model = part(kinds)
    basis = STATIC[method](model, 3, **({"band": BAND} if method in ("Gramian", "balanced truncation") else {}))
    loads = resolve_inputs(model, None).loads
    if method == "Craig-Bampton":
        balance = dense.rigid_columns(model.points, model.centre_of_mass).T @ loads
        loads = loads @ np.linalg.svd(balance)[2][6:].T
    reduced = loads.T @ basis.Psi @ ((basis.Psi.T @ loads) / basis.eigenvalues[:, None])
    full = loads.T @ (dense.without_rigid_motion(model, _inertia_relief(model, loads)))
    assert np.abs(reduced - full).max(initial=0) < 1e-8 * np.abs(full).max(initial=1e-300)


def _inertia_relief(model, loads):
    R = dense.rigid_columns(model.points, model.centre_of_mass)
    balanced = loads - (model.M @ R) @ np.linalg.solve(R.T @ (model.M @ R), R.T @ loads)
    return dense.static_shapes(model, balanced, np.zeros((0, model.ndof)), np.zeros((0, loads.shape[1])))


@pytest.mark.parametrize("method", STATIC)
def test_frequencies_come_from_above(method):
    model = part()
    exact = dense.eigenvalues(model)[6:]
    basis = STATIC[method](model, 6, **({"band": BAND} if method in ("Gramian", "balanced truncation") else {}))
    assert (basis.eigenvalues / exact[: basis.n_modes] - 1).min() > -1e-8


def test_full_basis_is_the_full_model():
    model = part(("average", "rigid"), (2, 1, 1), "tetra")
    exact = dense.eigenvalues(model)[6:]
    for basis in (
        reduction.craig_chang(model, len(exact) - 12), reduction.herting(model, len(exact) - 12), reduction.krylov(model, len(exact) - 12),
    ):  # fmt: skip
        np.testing.assert_allclose(basis.eigenvalues, exact, rtol=1e-6)


@pytest.mark.parametrize("shifts", [[0.0], [700.0], [0.0, 900.0]])
@pytest.mark.parametrize("moments", [1, 2])
def test_krylov_matches_moments_in_extended_precision(shifts, moments):
    """2 j derivatives of the undamped transfer matrix at each shift, full against reduced, from the eigenvalues in 40 digits."""
    model = part(("rigid", "average"), (3, 1, 1))
    basis = reduction.krylov(model, shifts=shifts, moments=moments, static=False)
    loads = resolve_inputs(model, None).loads
    values, rows = modal_of(model)
    reduced_rows = loads.T @ basis.Psi
    mpmath.mp.dps = 40

    def derivative(eigenvalues, r, sigma, order):
        weights = [1 / mpmath.power(mpmath.mpf(float(v)) - sigma, order + 1) for v in eigenvalues]
        return np.array((r * np.array([float(w * scale) for w in weights])) @ r.T)

    for shift in shifts:
        sigma = mpmath.mpf((2 * np.pi * shift) ** 2)
        for order in range(2 * moments + 1):
            scale = mpmath.power(mpmath.mpf(float(values[0])), order + 1)
            full = derivative(values, rows, sigma, order)
            error = np.abs(derivative(basis.eigenvalues, reduced_rows, sigma, order) - full).max() / np.abs(full).max()
            if order < 2 * moments:
                assert error < 1e-6
        if moments == len(shifts) == 1:
            assert error > 1e-5  # the next one is not matched: the check is sharp


def test_gramian_equals_dense_integral():
    model = part(("rigid", "rigid"), (3, 1, 1))
    body = statics(model)
    reference = reference_response(body, resolve_inputs(model, None), BAND, 1e-6)
    values, rows = modal_of(model)
    damped = values * (1 + 1j * reference.loss_factor)
    upper = 2 * np.pi * BAND[1]

    def integral(a):  # of 1 / (a - omega^2), from 0 to the end of the band
        root = np.sqrt(a)
        return np.arctanh(upper / root) / root

    I = integral(damped)
    difference = damped.conj()[None, :] - damped[:, None]
    exact = (rows.T @ rows) * ((I[:, None] - integral(damped.conj())[None, :]) / difference).real / upper
    # in the coordinates of all modes
    everything = reduction.modal(model, len(values)).Psi
    turn = reference.shapes.T @ (model.M @ everything)
    found = turn.T @ position_gramian(reference) @ turn
    assert np.abs(found - exact).max() < 1e-5 * np.abs(exact).max()
    largest = np.linalg.eigvalsh(exact)[::-1][:6]
    np.testing.assert_allclose(singular_values(position_gramian(reference))[:6], largest, rtol=1e-4)


def test_gramian_shapes_are_the_best_beside_the_static_responses():
    """No other three shapes leave less of the trace of the Gramian that the static responses leave."""
    model = part(("rigid",), (6, 2, 1))
    context = reduction_context(model, size_spec(3, (0, 6000), None, least=0), None, None)
    P, reference = position_gramian(context.reference), context.reference
    sequence = gramian_shape_generator(context, P)(3)
    static, both = (np.linalg.qr(reference.shapes.T @ (model.M @ V))[0] for V in (sequence.first, sequence.columns(3)))
    outside = np.eye(len(P)) - static @ static.T
    left = np.linalg.eigvalsh(outside @ P @ outside)[:-3].sum()
    assert (np.trace(P) - np.trace(both.T @ P @ both)) / left == pytest.approx(1.0, rel=1e-6)


def small_system(alpha, beta):
    model = part(("rigid", "rigid"), (3, 1, 1))
    context = reduction_context(model, size_spec(3, BAND, None, least=0), None, None)
    values, rows = modal_of(model)
    return model, context, values, rows


@pytest.mark.parametrize(("alpha", "beta"), [(300.0, 2e-5), (3000.0, 1e-5)])
def test_low_rank_gramian_equals_the_dense_lyapunov_solution(alpha, beta):
    """Its size too, of which the singular values are told; with damping that shifts the poles far into the plane."""
    model, context, values, rows = small_system(alpha, beta)
    N = len(values)
    scale = np.sqrt(values[0])  # time in units of the first period: the dense solver needs it
    lam = values / scale**2
    A = np.block([[np.zeros((N, N)), np.eye(N)], [-np.diag(lam), -np.diag(alpha / scale + beta * scale * lam)]])
    B = np.vstack([np.zeros_like(rows.T), rows.T / scale**2])
    P = sl.solve_continuous_lyapunov(A, -B @ B.T)[:N, :N] * scale
    Z, _ = position_factor(context, alpha, beta)
    turn = reduction.modal(model, N).Psi.T @ (model.M @ Z)
    found = turn @ turn.T
    assert np.abs(found - P).max() < 1e-5 * np.abs(P).max()


def test_irka_interpolates_and_beats_plain_modes():
    model = part(("rigid", "rigid"), (6, 2, 1))
    basis = reduction.irka(model, 8, band=BAND, static=False)
    modes = reduction.modal(model, 8, band=BAND)
    assert basis.options["settled"] == 1
    assert basis.options["error"] < modes.options["error"]
    with pytest.raises(MatrixError, match="more than the band needs"):
        reduction.irka(model, 300, band=BAND)


def test_irka_settles_where_its_shapes_are_those_of_its_own_poles():
    """Of the response at the mirror image of each pole, with viscous damping 2 z w of each mode of the full system, the
    span holds the direction in which it is largest."""
    model = part(("rigid", "rigid"))
    reference = reference_response(statics(model), resolve_inputs(model, None), BAND, loss_factor=0.2)
    values, rows, ratio = reference.eigenvalues, reference.rows, reference.loss_factor / 2
    V, _, settled = h2_shapes(reference, np.zeros((len(values), 0)), 6)
    assert settled
    reduced, W = np.linalg.eigh(V.T @ (values[:, None] * V))
    for w, row in zip(np.sqrt(reduced), (rows @ V @ W).T, strict=True):
        s = w * (ratio + 1j * np.sqrt(1 - ratio**2))
        x = (rows.T @ row) / (values + 2 * ratio * np.sqrt(values) * s + s**2)
        largest = np.linalg.svd(np.column_stack([x.real, x.imag]))[0][:, 0]
        assert np.linalg.norm(largest - V @ (V.T @ largest)) < 1e-5


def test_inputs_left_out_are_reported():
    model = part(("rigid", "average"), (6, 2, 1))
    basis = reduction.gramian(model, band=BAND, tolerance=0.02, inputs=["end 0"])
    assert basis.options["error"] <= 0.02
    assert basis.options["unmeasured_inputs"]["end 1"] > 0.02
    assert "not among the inputs: 'end 1'" in str(basis)
    assert reduction.gramian(model, band=BAND, tolerance=0.02).options["unmeasured_inputs"] == {}


def test_loads_of_rotation_are_those_about_the_mass_centre():
    """They have no resultant, wherever the part is drawn: about another point they would accelerate it."""
    loads = []
    for origin in ((0.0, 0.0, 0.0), (3.0, -2.0, 5.0)):
        mesh = block("hexahedron", (1.0, 0.3, 0.2), (4, 2, 2))
        mesh = replace(mesh, points=mesh.points + np.array(origin))
        loads.append(resolve_inputs(fem.Model(mesh, fem.Material.steel()), ["rotation"]).loads)
    np.testing.assert_allclose(loads[0], loads[1], atol=1e-9 * np.abs(loads[0]).max())
    np.testing.assert_allclose(loads[1].reshape(-1, 3, 6).sum(axis=0), 0.0, atol=1e-9 * np.abs(loads[1]).max())


@pytest.mark.parametrize("names", [("gravity", "rotation"), ("gravity centre", "load")])
def test_interfaces_may_have_the_names_of_other_inputs(names):
    """Whatever they are called, their static responses are in a basis, and those of loads that no interface carries."""
    plain = part(("rigid", "average"), (6, 2, 1))
    called = plain.with_interfaces(**dict(zip(names, plain.interfaces.values(), strict=True)))
    F = np.zeros(plain.ndof)
    F[1::3] = np.sin(4 * plain.points[:, 0])
    for method in ("Craig-Bampton", "Craig-Chang"):
        one, other = (SIZED[method](m, 3, inputs=[*m.interfaces, F]) for m in (plain, called))
        np.testing.assert_allclose(other.eigenvalues, one.eigenvalues, rtol=1e-9)


@pytest.mark.parametrize("method", ["modal", "Craig-Bampton", "Craig-Chang", "Herting", "Krylov", "Gramian"])
def test_other_loads_are_inputs_too(method):
    """The loads of rotation: the static response of the body to them is in every basis."""
    model = part(("rigid", "average"), (6, 2, 1))
    F = resolve_inputs(model, ["rotation"]).loads
    basis = SIZED[method](
        model, 4, inputs=["end 0", "end 1", "rotation"], **({"band": BAND} if method == "Gramian" else {})
    )
    full = dense.without_rigid_motion(model, _inertia_relief(model, F))
    reduced = basis.Psi @ ((basis.Psi.T @ F) / basis.eigenvalues[:, None])
    assert np.abs(dense.without_rigid_motion(model, reduced) - full).max() < 1e-8 * np.abs(full).max()


@pytest.mark.parametrize("method", STATIC)
def test_a_part_without_interfaces_is_reduced_for_its_other_loads(method):
    """A body in rotation needs no interface; Craig-Bampton alone is made of motions of interfaces."""
    bare = fem.Model(block("hexahedron", (1.0, 0.2, 0.1), (6, 2, 1)), STEEL, name="bar")
    options = {"inputs": ["rotation"]} | ({"band": BAND} if method in ("Gramian", "balanced truncation") else {})
    if method == "Craig-Bampton":
        with pytest.raises(InterfaceError, match="has no interface"):
            SIZED[method](bare, 3, **options)
        return
    basis = SIZED[method](bare, 3, **options)
    F = resolve_inputs(bare, ["rotation"]).loads
    full = dense.without_rigid_motion(bare, _inertia_relief(bare, F))
    reduced = basis.Psi @ ((basis.Psi.T @ F) / basis.eigenvalues[:, None])
    assert np.abs(dense.without_rigid_motion(bare, reduced) - full).max() < 1e-8 * np.abs(full).max()


def test_gravity_held_at_an_interface_is_exact_where_it_was_asked_for():
    """The deflection of a held body under its weight: Craig-Bampton has it with the input "gravity", free-interface methods always."""
    model = part(("rigid", "rigid"), (6, 2, 1))
    weight = model.M @ model.rigid_body_modes()[:, 2]
    exact = dense.static_shapes(model, weight[:, None], dense.motion(model, "end 0").T, np.zeros((6, 1)))[:, 0]
    size = np.abs(exact).max()
    for basis, good in (
        (reduction.craig_bampton(model, 2, "end 0"), False),
        (reduction.craig_bampton(model, 2, "end 0", inputs=["end 0", "end 1", "gravity"]), True),
        (reduction.craig_chang(model, 2, "end 0"), True),
        (reduction.herting(model, 2, "end 0"), True),
        (reduction.gramian(model, 2, "end 0", band=BAND), True),
    ):
        found = basis.Psi @ ((basis.Psi.T @ weight) / basis.eigenvalues)
        assert (np.abs(found - exact).max() < 1e-7 * size) == good, basis.method
    with pytest.raises(MatrixError, match="nothing that drives it"):
        reduction.response_error(model, reduction.modal(model, 4), BAND, ["gravity"])


def test_dependent_columns_are_named():
    from reduction.error.reference_frame import diagonalise

    model = part(("rigid", "average"))
    V = reduction.modal(model, 5).Psi
    with pytest.raises(MatrixError, match=r"columns involved, counted from 0: 1, 5\)"):
        diagonalise(model, np.hstack([V, V[:, [1]]]))


def test_an_indefinite_mass_matrix_is_refused():
    source = part(("average",), (3, 1, 1), "tetra")
    M = source.M.tolil()
    extra = 0.8 * min(M[k, k] for k in range(6))
    for a, b in ((0, 3), (1, 4), (2, 5)):  # keeps the rigid mass, turns one motion negative
        M[a, b] += extra
        M[b, a] += extra
        M[a, a] -= extra
        M[b, b] -= extra
    model = fem.Model.from_matrices(M.tocsr(), source.K, source.points).with_interfaces(
        a=source.interfaces["end 0"].nodes
    )
    with pytest.raises(MatrixError, match="not positive definite"):
        reduction.modal(model, 6)


WRONG = {
    "unknown input": (
        {"inputs": ["end 9"]},
        "no input named 'end 9'.*Existing: 'end 0', 'end 1', 'gravity', 'rotation'",
    ),
    "no input": ({"inputs": []}, "an empty list of inputs"),
    "short load": ({"inputs": [np.ones(5)]}, "must hold .* finite numbers"),
    "zero load": ({"inputs": [np.zeros(135)]}, "not all zero"),
    "shifts and modes": ({"shifts": [10.0], "modes": 4}, "not both"),
    "negative shift": ({"shifts": [-10.0]}, "not negative"),
    "no moment": ({"shifts": [10.0], "moments": 0, "static": False}, "At least one moment"),
    "tolerance over one": ({"band": BAND, "tolerance": 2.0}, "between 1e-08 .* and 1; found 2"),
}


@pytest.mark.parametrize("case", WRONG)
def test_senseless_requests_are_refused(case, monkeypatch):
    monkeypatch.setattr("jaxtyping.config.jaxtyping_disable", True)
    given, message = WRONG[case]
    with pytest.raises(MatrixError, match=message):
        reduction.krylov(part(), **given)


def test_a_part_without_inputs_is_told():
    bare = fem.Model(block("hexahedron", (1.0, 0.2, 0.1), (3, 1, 1)), STEEL)
    with pytest.raises(MatrixError, match="no interface and no inputs"):
        reduction.krylov(bare, 4)
    with pytest.raises(MatrixError, match="nothing that drives it"):
        reduction.response_error(bare, reduction.modal(bare, 4), BAND)
    with pytest.raises(MatrixError, match="one of them"):
        reduction.frequency_response(part())


def test_error_falls_off_between_resonances_as_modal_sums_say():
    """The measure itself: a basis of one mode has the error of all the others, computed from the full modal sum."""
    model = part(("rigid", "rigid"), (3, 1, 1))
    values, rows = modal_of(model)
    basis = reduction.modal(model, 3)
    error = reduction.response_error(model, basis, BAND)
    f = error.frequencies
    H = modal_response(values, rows, f, 0.02)
    rest = modal_response(values[3:], rows[:, 3:], f, 0.02)
    exact = np.linalg.norm(rest, axis=(1, 2)) / np.linalg.norm(H, axis=(1, 2))
    np.testing.assert_allclose(error.relative, exact, rtol=2e-3, atol=2e-3 * exact.max())
