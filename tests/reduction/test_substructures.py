"""Parts welded to one, bases made of bases, added masses and springs."""

from dataclasses import replace
from functools import cache

import dense
import numpy as np
import pytest

import fem
import flexmb
import reduction
from fem.errors import InterfaceError, MatrixError, MeshError
from fem.join import part_dofs
from fem.mesh.structured_meshes import block, line
from fem.mesh.unread import Unread
from flexmb.bodies.dynamics import mass_matrix

STEEL = fem.Material.steel()
WELDS = {"corner": ("arm tip", "post root")}


def moved(mesh, by):
    return fem.Mesh(
        mesh.points + np.array(by), mesh.cells, face_sets=mesh.face_sets, cell_sets=mesh.cell_sets, name=mesh.name
    )


@cache
def parts():
    arm = fem.Model(block("hexahedron20", (0.5, 0.05, 0.05), (5, 1, 1)), STEEL, name="arm").with_interfaces(
        root="x0", tip="x1"
    )
    post = fem.Model(
        moved(block("hexahedron20", (0.05, 0.05, 0.4), (1, 1, 4)), (0.5, 0, 0)), fem.Material.aluminium(), name="post"
    )
    return {"arm": arm, "post": post.with_interfaces(root="z0", top=fem.Interface("z1", kind="average"))}


@cache
def whole():
    return fem.join(parts(), WELDS)


def test_a_joined_model_is_its_parts():
    model = whole()
    assert model.mass == pytest.approx(sum(p.mass for p in parts().values()))
    assert list(model.interfaces) == ["arm root", "post top", "corner"]
    assert len(model.interfaces["corner"].nodes) == sum(
        len(parts()[p].interfaces[i].nodes) for p, i in (("arm", "tip"), ("post", "root"))
    )
    matrices = {k: fem.Model.from_matrices(p.M, p.K, p.points).with_interfaces(
        **{n: fem.Interface(i.nodes, i.kind, i.point) for n, i in p.interfaces.items()}) for k, p in parts().items()}  # fmt: skip
    imported = fem.join(matrices, WELDS)
    np.testing.assert_allclose(
        reduction.modal(imported, 8).eigenvalues, reduction.modal(model, 8).eigenvalues, rtol=1e-9
    )


def test_an_assembly_has_the_solver_options_that_all_its_parts_share():
    given = parts()
    asked = {name: part.with_solver("2GiB", "superlu") for name, part in given.items()}
    assert fem.join(asked, WELDS).solver == fem.SolverOptions("2GiB", "superlu")
    name = next(iter(given))
    assert fem.join(asked | {name: given[name]}, WELDS).solver == fem.SolverOptions()


def test_welds_need_rigid_interfaces_that_exist():
    with pytest.raises(InterfaceError, match=r"no interface named 'arm top'.*Existing: 'arm root'"):
        fem.join(parts(), {"w": ("arm top", "post root")})
    with pytest.raises(InterfaceError, match="averaging one"):
        fem.join(parts(), {"w": ("arm tip", "post top")})
    with pytest.raises(InterfaceError, match="welded twice"):
        fem.join(parts(), {"w": ("arm tip", "post root"), "v": ("arm root", "post root")})
    with pytest.raises(MatrixError, match="two parts and one weld"):
        fem.join(parts(), {})


def test_interfaces_of_an_assembly_have_names_of_their_own():
    """One of two that would have one name took the place of the other."""
    arm, post = (parts()[name] for name in ("arm", "post"))
    other = post.with_interfaces(**{"left tip": "z0", "top": "z1"})
    with pytest.raises(InterfaceError, match="two of its interfaces would have the name 'arm left tip'"):
        fem.join({"arm": other, "arm left": arm}, {"w": ("arm left tip", "arm top")})
    with pytest.raises(InterfaceError, match="two of its interfaces would have the name 'arm root'"):
        fem.join(parts(), {"arm root": WELDS["corner"]})
    assert "arm tip" in fem.join(parts(), {"arm tip": WELDS["corner"]}).interfaces  # that of the weld itself


def test_what_the_file_of_a_part_says_is_not_lost_in_an_assembly():
    """An assembly with a part from matrices has no mesh that could hold it."""
    arm, post = (parts()[name] for name in ("arm", "post"))
    said = (Unread("SUPER", "arm.inp", 3, "*SUPER"),)
    arm = fem.Model(replace(arm.mesh, unread=said), STEEL).with_interfaces(root="x0", tip="x1")
    assert fem.join({"arm": arm, "post": post}, WELDS).unread == said
    imported = fem.Model.from_matrices(post.M, post.K, post.points)
    imported = imported.with_interfaces(root=post.interfaces["root"].nodes)
    with pytest.raises(MeshError, match="more about the part than flexmb obeys"):
        fem.join({"arm": arm, "post": imported}, WELDS)


@pytest.mark.parametrize("frame", [None, "arm root", "corner"])
def test_synthesis_of_full_bases_is_the_full_model(frame):
    bases = {
        k: reduction.modal(p, reduction.solutions.statics.statics(p).free_modes_available) for k, p in parts().items()
    }
    basis = reduction.synthesise(whole(), parts(), bases, WELDS, frame)
    reduction.check(basis, whole())
    exact = dense.eigenvalues(whole())[6:] if frame is None else dense.eigenvalues(whole(), [frame])
    np.testing.assert_allclose(basis.eigenvalues[:30], exact[:30], rtol=1e-7)


def test_synthesis_converges_from_above():
    exact = reduction.modal(whole(), 8).eigenvalues
    errors = []
    for modes in (2, 6, 12):
        bases = {k: reduction.craig_bampton(p, modes) for k, p in parts().items()}
        basis = reduction.synthesise(whole(), parts(), bases, WELDS)
        assert basis.n_modes == sum(b.n_modes for b in bases.values()) + 12 - 6 - 6
        errors.append(basis.eigenvalues[:8] / exact - 1)
        assert errors[-1].min() > -1e-9
    assert (errors[2] < errors[0]).all()
    assert errors[2][:4].max() < 2e-3
    body = flexmb.flexible_body(whole(), basis)
    assert body.invariants.second_order
    with pytest.raises(MatrixError, match="no basis of a part named 'post'"):
        reduction.synthesise(whole(), parts(), {"arm": bases["arm"]}, WELDS)
    with pytest.raises(MatrixError, match=r"has \d+ dofs and the interfaces"):
        reduction.synthesise(whole(), parts(), {"arm": bases["arm"], "post": bases["arm"]}, WELDS)


def test_beams_weld_to_solids():
    beam = fem.Beam(STEEL, fem.Section.rectangle(0.05, 0.05))
    mast = fem.Model(line((0.5, 0.025, 0.025), (0.5, 0.025, 0.4), 6), beam).with_interfaces(foot="start", top="end")
    model = fem.join({"mast": mast, "arm": parts()["arm"]}, {"weld": ("arm tip", "mast foot")})
    assert model.ndof == mast.ndof + parts()["arm"].ndof
    assert model.mass == pytest.approx(mast.mass + parts()["arm"].mass)
    bases = {"mast": reduction.craig_bampton(mast, 10), "arm": reduction.craig_bampton(parts()["arm"], 10)}
    basis = reduction.synthesise(
        model, {"mast": mast, "arm": parts()["arm"]}, bases, {"weld": ("arm tip", "mast foot")}
    )
    exact = reduction.modal(model, 5).frequencies
    np.testing.assert_allclose(basis.frequencies[:5], exact, rtol=5e-3)
    assert (basis.frequencies[:5] >= exact * (1 - 1e-9)).all()


LUMP = fem.PointMass(1.5, (2e-3, 3e-3, 4e-3), (0.03, 0.01, -0.02))


def test_an_added_mass_is_that_of_a_body_welded_there():
    arm = parts()["arm"]
    heavy = arm.with_point_masses({"tip": LUMP})
    assert heavy.mass == pytest.approx(arm.mass + 1.5)
    centre = arm.interfaces["tip"].point + np.array(LUMP.offset)
    np.testing.assert_allclose(
        heavy.mass * heavy.centre_of_mass, arm.mass * arm.centre_of_mass + 1.5 * centre, rtol=1e-9
    )
    origin = np.zeros(3)
    lump = np.diag(LUMP.inertia) + 1.5 * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    np.testing.assert_allclose(heavy.inertia(origin), arm.inertia(origin) + lump, rtol=1e-9, atol=1e-12)
    body = flexmb.flexible_body(heavy, reduction.craig_bampton(heavy, 6))
    M = mass_matrix(body, np.zeros(body.modes))
    np.testing.assert_allclose(M[:3, :3], heavy.mass * np.eye(3), rtol=1e-9, atol=1e-9)
    assert arm.with_point_masses({}).with_springs([]).mass == pytest.approx(arm.mass)
    twice = heavy.with_point_masses({"tip": LUMP})
    assert twice.mass == pytest.approx(arm.mass + 3.0)


@pytest.mark.parametrize("kind", ["rigid", "average"])
def test_a_lump_turns_as_the_particles_that_it_stands_for(kind):
    """The integrals of the second-order motion `theta x (theta x r)`: what the mass matrix makes of that of the nodes,
    and what the lump adds."""
    random = np.random.default_rng(2)
    m, r = random.uniform(0.1, 1.0, 7), random.uniform(-0.1, 0.1, (7, 3))
    offset = m @ r / m.sum()
    y = r - offset
    lump = fem.PointMass(m.sum(), np.einsum("k,kab->ab", m, (y**2).sum(1)[:, None, None] * np.eye(3) - y[:, :, None] * y[:, None]), offset)  # fmt: skip
    plain = parts()["arm"].with_interfaces(root="x0", tip=fem.Interface("x1", kind=kind, point=(0.52, 0.03, 0.01)))
    heavy = plain.with_point_masses({"tip": lump})
    point = np.array([0.52, 0.03, 0.01])

    def turn(x):
        """(n, 3, 3, 3): second-order motion of points x from the interface, for unit rotations i and j of it."""
        e = np.eye(3)
        return np.stack(
            [[(np.cross(e[i], np.cross(e[j], x)) + np.cross(e[j], np.cross(e[i], x))) / 2 for j in range(3)] for i in range(3)]
        ).transpose(2, 3, 0, 1)  # fmt: skip

    exact = np.einsum("k,kbij->bij", m, turn(r)), np.einsum("k,ka,kbij->abij", m, point + r, turn(r))
    about_its_centre = np.einsum("k,ka,kbij->abij", m, y, turn(y))  # follows from the inertia in line_masses
    p = turn(plain.points - point).reshape(-1, 9)
    first, moments = heavy.second_moments(heavy.rigid_body_modes(point)[:, 3:])
    carried = heavy.rigid_body_modes()[:, :3].T @ ((heavy.M - plain.M) @ p)
    loads = heavy.moment_loads() - plain.moment_loads()
    np.testing.assert_allclose(first + carried.reshape(3, 3, 3), exact[0], atol=1e-12)
    found = moments + (loads.T @ p).reshape(3, 3, 3, 3) + about_its_centre
    np.testing.assert_allclose(found, exact[1], atol=1e-12)


def test_a_weld_of_three_ends_holds_all_of_them():
    bars = {}
    for name, axis in (("one", 0), ("two", 1), ("three", 2)):
        size = np.full(3, 0.1)
        size[axis] = 0.4
        divisions = [1, 1, 1]
        divisions[axis] = 2
        bar = fem.Model(block("hexahedron", tuple(size), tuple(divisions)), STEEL, name=name)
        bars[name] = bar.with_interfaces(hub=f"{'xyz'[axis]}0", tip=f"{'xyz'[axis]}1")
    welds = {"hub": tuple(f"{name} hub" for name in bars)}
    joined = fem.join(bars, welds)
    bases = {name: reduction.craig_bampton(bar, 12) for name, bar in bars.items()}
    basis = reduction.synthesise(joined, bases=bases, parts=bars, welds=welds)
    reduction.check(basis, joined)
    np.testing.assert_allclose(basis.eigenvalues, reduction.modal(joined, basis.n_modes).eigenvalues, rtol=1e-7)


def test_parts_from_matrices_keep_lumps_and_dampers_beside_others():
    """Mass, damping and the integrals of a lump are those of the part that has them."""
    arm, post = (parts()[name] for name in ("arm", "post"))
    ends = [int(arm.interfaces[name].nodes[0]) for name in ("root", "tip")]
    damper = fem.NodeSpring(ends, [0, 0], [-1.0, 1.0], damping=50.0)
    damped = fem.Model(replace(arm.mesh, springs=(damper,)), STEEL).with_interfaces(root="x0", tip="x1")
    heavy = damped.with_point_masses({"tip": LUMP})
    imported = fem.Model.from_matrices(post.M, post.K, post.points)
    imported = imported.with_interfaces(root=post.interfaces["root"].nodes)
    for other in (post, imported):
        joined = fem.join({"post": other, "arm": heavy}, {"corner": ("arm tip", "post root")})
        assert joined.mass == pytest.approx(heavy.mass + post.mass)
        np.testing.assert_allclose(joined.inertia((0, 0, 0)), heavy.inertia((0, 0, 0)) + post.inertia((0, 0, 0)))
        dofs = part_dofs({"post": other, "arm": heavy})["arm"]
        assert abs(joined.D[dofs][:, dofs] - heavy.D).max() == 0.0
        field = np.zeros((joined.ndof, 3))
        field[dofs] = heavy.rigid_body_modes()[:, 3:]
        for ours, theirs in zip(joined.second_moments(field), heavy.second_moments(field[dofs]), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12 * np.abs(theirs).max())


def test_reanalysis_in_the_old_span():
    arm = parts()["arm"]
    changed = arm.with_point_masses({"tip": LUMP}).with_springs([fem.Spring("root", "tip", [1e7] * 3 + [1e4] * 3)])
    exact = reduction.modal(changed, 6).frequencies
    old = reduction.craig_bampton(arm, 12)
    new = reduction.reanalyse(old, changed, "root")
    reduction.check(new, changed)
    assert new.reference_frame == "root"
    free = reduction.reanalyse(old, changed).frequencies[:6]
    assert (free >= exact * (1 - 1e-9)).all()
    np.testing.assert_allclose(free, exact, rtol=5e-3)
    assert np.abs(old.frequencies[:6] / exact - 1).max() > 0.05  # the change is not small
    with pytest.raises(MatrixError, match="must keep its nodes"):
        reduction.reanalyse(old, parts()["post"])


def test_reanalysis_does_not_stiffen_an_interface():
    """Shapes of an average interface would stay softer than the part with a rigid one."""
    whole = fem.Model(block("hexahedron", (1.0, 0.2, 0.1), (4, 2, 1)), STEEL)
    kinds = ("average", "rigid")
    soft, stiff = (whole.with_interfaces(root="x0", tip=fem.Interface("x1", kind=kind)) for kind in kinds)
    with pytest.raises(MatrixError, match=r"deforms the interface 'tip', which is rigid.*reduce the model anew"):
        reduction.reanalyse(reduction.craig_bampton(soft, 4), stiff)
    assert reduction.reanalyse(reduction.craig_bampton(stiff, 4), soft).n_modes == 10


def test_springs_leave_rigid_motion_free():
    arm = parts()["arm"].with_springs([fem.Spring("root", "tip", np.diag([1e8, 2e8, 3e8, 1e5, 2e5, 3e5]))])
    R = arm.rigid_body_modes((0.3, 0.2, 0.1))
    assert np.abs(arm.K @ R).max() < 1e-6 * np.abs(arm.K.diagonal()).max()


def test_joined_parts_keep_their_lumps_and_springs():
    """Those given at interfaces, of beams beside solids too; a cut that could part them is refused."""
    arm, post = (parts()[name] for name in ("arm", "post"))
    rod = fem.Model(line((0.025, 0.025, 0.0), (0.025, 0.025, -0.3), 3), fem.Beam(STEEL, fem.Section.circle(0.02)))
    rod = rod.with_interfaces(top=[0])
    heavy = arm.with_point_masses({"tip": LUMP})
    sprung = post.with_springs([fem.Spring("root", "top", [1e7] * 3 + [1e4] * 3)])
    joined = fem.join({"rod": rod, "arm": heavy, "post": sprung}, {"corner": ("arm tip", "post root"), "hang": ("rod top", "arm root")})  # fmt: skip
    plain = fem.join({"rod": rod, "arm": arm, "post": post}, {"corner": ("arm tip", "post root"), "hang": ("rod top", "arm root")})  # fmt: skip
    assert joined.mass == pytest.approx(rod.mass + arm.mass + post.mass + 1.5)
    centre = arm.interfaces["tip"].point + np.array(LUMP.offset)
    np.testing.assert_allclose(
        joined.mass * joined.centre_of_mass, plain.mass * plain.centre_of_mass + 1.5 * centre, rtol=1e-9
    )
    stiffer = sprung.K - post.K
    assert abs(joined.K - plain.K).sum() == pytest.approx(abs(stiffer).sum(), rel=1e-6)
    n = len(rod.points) + len(arm.points)
    own = slice(3 * n, 3 * n + post.ndof)
    assert abs((joined.K - plain.K)[own, own] - stiffer).max() < 1e-9 * abs(stiffer).max()
    with pytest.raises(MeshError, match="point masses or springs at its interfaces"):
        fem.split(heavy, 2)
    with pytest.raises(MatrixError, match="before point masses and springs"):
        heavy.on_mesh(heavy.mesh)


@pytest.mark.parametrize(
    ("masses", "springs", "error", "message"),
    [
        ({"tap": LUMP}, (), InterfaceError, r"no interface named 'tap'. Did you mean 'tip'"),
        ({"tip": fem.PointMass(-1.0)}, (), MatrixError, "not physical: mass -1"),
        ({"tip": fem.PointMass(1.0, (1.0, 1.0, 3.0))}, (), MatrixError, "sum of the others"),
        ({}, (fem.Spring("root", "tip", [1.0, 2.0]),), MatrixError, r"\(6, 6\) or its 6 diagonal entries"),
        ({}, (fem.Spring("root", "tip", [-1.0, 1, 1, 1, 1, 1]),), MatrixError, "without negative eigenvalues"),
    ],
)  # fmt: skip
def test_unphysical_additions_are_refused(masses, springs, error, message):
    with pytest.raises(error, match=message):
        parts()["arm"].with_point_masses(masses).with_springs(springs)


def test_a_point_mass_of_wrong_shape_is_refused_as_it_is_made():
    with pytest.raises(MatrixError, match=r"inertia \(3,\) or \(3, 3\)"):
        fem.PointMass(1.0, (1.0, 1.0))
