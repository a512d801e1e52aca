"""Bodies to and from other programs' formats: what they say must be the equations of the same body."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.io

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import block
from flexmb.bodies.dynamics import inertia_force, mass_matrix
from flexmb.errors import FileError
from flexmb.files import load_body, save_body
from flexmb.files.bodies.modal_data import body_of, data_of
from flexmb.spatial.lie import skew

FORMATS = (".h5", ".npz", ".mat", ".sid", ".SID_FEM", ".fem")


@pytest.fixture(scope="module", params=["second-order", "none"])
def body(request):
    model = fem.Model(block("hexahedron20", (1.0, 0.1, 0.06), (6, 1, 1)), fem.Material.steel())
    model = model.with_interfaces(root="x0", tip=fem.Interface("x1", kind="average"))
    basis = reduction.craig_bampton(model, 4, reference_frame="root")
    return flexmb.flexible_body(
        model, basis, name="bar", modal_damping=0.01, geometric_stiffness=request.param, rayleigh=(1.0, 0.0)
    )


def state(body, size=1e-3, seed=3):
    rng = np.random.default_rng(seed)
    eta = size * rng.normal(size=body.modes) * 200 / np.sqrt(body.stiffness)
    return eta, np.concatenate([np.zeros(3), rng.normal(size=3), rng.normal(size=body.modes) * size])


@pytest.mark.parametrize("ending", FORMATS)
def test_a_body_comes_back(body, ending, tmp_path):
    again = load_body(save_body(body, tmp_path / f"bar{ending}"))
    np.testing.assert_allclose(again.stiffness, body.stiffness, rtol=1e-13)
    np.testing.assert_allclose(again.damping, body.damping, rtol=1e-13)
    np.testing.assert_allclose(again.invariants.mass, body.invariants.mass, rtol=1e-14)
    eta, w = state(body, 1e-4)
    whole = ending in (".h5", ".npz", ".mat")
    # SID merges the terms of second order: equal to second order in the elastic coordinates; MBDyn's format has none of them
    reference = body
    if ending == ".fem" and body.invariants.second_order:
        reference = _without_second_order(body)
    exact = whole or not body.invariants.second_order or ending == ".fem"
    for quantity in (lambda b: mass_matrix(b, eta), lambda b: inertia_force(b, eta, w)):
        ours, theirs = quantity(reference), quantity(again)
        scale = np.abs(ours).max()
        assert np.abs(ours - theirs).max() < (1e-12 if exact else 1e-6) * scale
    rows = [i.rows for i in body.interfaces.values()]
    for there, ours in zip(again.interfaces.values(), rows, strict=True):
        np.testing.assert_allclose(there.rows, ours, atol=1e-13 * np.abs(ours).max() + 1e-300)
    assert list(again.interfaces) == (list(body.interfaces) if whole else ["1", "2"])


@pytest.mark.parametrize("ending", [".npz", ".mat"])
def test_an_interface_keeps_its_second_order_beside_one_without(body, ending, tmp_path):
    mixed = replace(body, interfaces=body.interfaces | {"root": replace(body.interfaces["root"], second=None)})
    again = load_body(save_body(mixed, tmp_path / f"bar{ending}"))
    eta, _ = state(body, 0.1)
    for name, interface in mixed.interfaces.items():
        np.testing.assert_allclose(again.interfaces[name].motion(eta), interface.motion(eta), rtol=1e-12, atol=1e-15)


def _without_second_order(body):
    inv = body.invariants
    h = 0.5 * (inv.h - inv.h.transpose(0, 2, 1))
    return replace(body, invariants=replace(inv, SG=np.zeros_like(inv.SG), PG=np.zeros_like(inv.PG), h=h))


def test_sid_is_right_to_second_order(body, tmp_path):
    """What SID leaves out falls with the third power of the deformation: the kinetic energy is kept to second order."""
    again = load_body(save_body(body, tmp_path / "bar.sid"))
    errors = []
    for size in (1e-2, 5e-3):
        eta, w = state(body, size)
        errors.append(abs(w @ (mass_matrix(body, eta) - mass_matrix(again, eta)) @ w))
    assert errors[1] < max(errors[0] / 5.6, 1e-13)


def read_blocks(text):
    """Blocks of a SID file as dense arrays; a reader of its own."""
    found = {}
    for name, inside in re.findall(r"^ {10}(\w+)\n(.*?)^ {10}end \1", text, re.DOTALL | re.MULTILINE):
        sizes = {k: int(v) for k, v in re.findall(r"^ +(\w+) += (\d+)$", inside, re.MULTILINE)}
        if name in ("refmod", "frame"):
            continue
        m0 = np.eye(sizes["nrow"]) if sizes["structure"] == 4 else np.zeros((sizes["nrow"], sizes["ncol"]))
        m1 = np.zeros((sizes["nrow"], sizes["nq"], sizes["ncol"]))
        for kind, at, value in re.findall(r"(m[01])\(([ \d,]+)\) += (\S+)", inside):
            index = tuple(int(k) - 1 for k in at.split(","))
            (m0 if kind == "m0" else m1)[index] = float(value.replace("D", "E"))
        found[name] = m0, m1
    return found


def test_sid_holds_the_equations_of_the_format(body, tmp_path):
    """Mass matrix and velocity terms put together from the file, as Wallrapp's equations have it, against ours; to first order in eta."""
    text = save_body(body, tmp_path / "bar.sid").read_text()
    B = read_blocks(text)
    mass = float(re.search(r" mass += (\S+)", text)[1].replace("D", "E"))
    for size, allowed in ((1e-4, 1e-6), (1e-5, 1e-8)):
        eta, w = state(body, size)
        omega, rate = w[3:6], w[6:] / size  # the elastic velocity need not be small
        w = np.concatenate([w[:6], rate])
        of = {name: m0 + np.einsum("rqc,q->rc", m1, eta) for name, (m0, m1) in B.items()}
        J = np.zeros((3, 3))
        for value, (a, b) in zip(of["J"][:, 0], ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)), strict=True):
            J[a, b] = J[b, a] = value
        s = skew(of["mdCM"][:, 0])
        M = np.block([[mass * np.eye(3), -s, of["Ct"].T], [s, J, of["Cr"].T], [of["Ct"], of["Cr"], of["Me"]]])
        ours = mass_matrix(body, eta)
        assert np.abs(M - ours).max() < max(allowed * 100, 1e-10) * np.abs(ours).max()
        Gr, Ge = (np.einsum("rkc,k->rc", B[k][0].reshape(-1, body.modes, 3), rate) for k in ("Gr", "Ge"))
        products = omega[[0, 1, 2, 0, 1, 0]] * omega[[0, 1, 2, 1, 2, 2]]
        k = np.concatenate(
            [
                skew(omega) @ skew(omega) @ of["mdCM"][:, 0] + 2 * skew(omega) @ (of["Ct"].T @ rate),
                np.cross(omega, J @ omega) + Gr @ omega,
                Ge @ omega + of["Oe"] @ products,
            ]
        )
        bias = inertia_force(body, eta, w)
        if (
            not body.invariants.second_order
        ):  # with it there are terms in the squares of elastic velocities, which the format leaves out
            assert np.abs(k - bias).max() < max(allowed * 1e3, 1e-9) * np.abs(bias).max()


def test_mbdyn_holds_the_equations_of_its_modal_element(tmp_path, body):
    """Inertia forces put together from the invariants, as the manual's modal element does, against ours; exactly."""
    body = _without_second_order(body)
    text = save_body(body, tmp_path / "bar.fem").read_text()
    m = body.modes
    groups = {
        int(k): inside for k, inside in re.findall(r"\*\* RECORD GROUP (\d+),[^\n]*\n(.*?)(?=\n\*\*)", text, re.DOTALL)
    }
    numbers = {k: np.array(v.split(), float) for k, v in groups.items() if k > 8}
    mass, centre, J7 = numbers[12][0], numbers[12][1:4], numbers[12][4:].reshape(3, 3)
    J7 = J7 - mass * skew(centre) @ skew(centre)
    inv3, inv4 = numbers[14].reshape(3, m), numbers[15].reshape(3, m)
    inv8 = numbers[16].reshape(3, m, 3).transpose(1, 0, 2)
    inv5 = numbers[17].reshape(3, m, m)
    inv9 = numbers[18].reshape(3, m, m, 3).transpose(1, 2, 0, 3)
    eta, w = state(body, 0.02)
    w[6:] *= 50
    omega, rate = w[3:6], w[6:]
    acceleration = np.random.default_rng(1).normal(size=6 + m)
    vP, wP, etaPP = acceleration[:3], acceleration[3:6], acceleration[6:]
    S = mass * centre + inv3 @ eta
    inv8a, inv8rate = np.einsum("j,jab->ab", eta, inv8), np.einsum("j,jab->ab", rate, inv8)
    inv9aa = np.einsum("j,k,jkab->ab", eta, eta, inv9)
    inv9arate = np.einsum("j,k,jkab->ab", eta, rate, inv9)
    J = J7 + inv8a + inv8a.T - inv9aa
    force = mass * vP - np.cross(S, wP) + np.cross(omega, np.cross(omega, S)) + inv3 @ etaPP + 2 * np.cross(omega, inv3 @ rate)  # fmt: skip
    coupling = inv4 + np.einsum("j,cjk->ck", eta, inv5)
    moment = np.cross(S, vP) + J @ wP + np.cross(omega, J @ omega) + coupling @ etaPP + 2 * (inv8rate - inv9arate) @ omega  # fmt: skip
    elastic = etaPP + inv3.T @ vP + coupling.T @ wP + 2 * np.einsum("j,cjk->ck", rate, inv5).T @ omega
    elastic -= np.array([omega @ (inv8[j].T - np.einsum("k,kab->ab", eta, inv9[j])) @ omega for j in range(m)])
    ours = mass_matrix(body, eta) @ acceleration + inertia_force(body, eta, w)
    np.testing.assert_allclose(np.concatenate([force, moment, elastic]), ours, atol=1e-11 * np.abs(ours).max())


def test_lumped_masses_of_mbdyn_make_its_invariants(tmp_path):
    """A file of MBDyn's Nastran interface has masses at the nodes instead of invariants."""
    rng = np.random.default_rng(5)
    n, m = 6, 2
    X, w = rng.normal(size=(n, 3)), rng.uniform(1, 2, n)
    shapes = np.concatenate([rng.normal(size=(m, n, 3)), np.zeros((m, n, 3))], axis=2)
    M = np.einsum("p,ipa,jpa->ij", w, shapes[..., :3], shapes[..., :3])
    K = M @ np.diag([100.0, 400.0])
    K = 0.5 * (K + K.T) + 200 * np.eye(m)

    def lines(A):
        return "\n".join(" ".join(f"{v:.16E}" for v in row) for row in np.atleast_2d(A))

    modes = "\n".join(f"**    NORMAL MODE SHAPE #  {k + 1}\n{lines(shapes[k])}" for k in range(m))
    text = f"""** MBDyn MODAL DATA FILE
** RECORD GROUP 1, HEADER
**   REVISION,  NODE,  NORMAL, ATTACHMENT, CONSTRAINT, REJECTED MODES.
     REV0  {n}  {m}  0  0  0
**
** RECORD GROUP 2, FINITE ELEMENT NODE LIST
{" ".join(str(10 * k) for k in range(1, n + 1))}
**
** RECORD GROUP 5, NODAL X COORDINATES
{lines(X[:, 0:1])}
**
** RECORD GROUP 6, NODAL Y COORDINATES
{lines(X[:, 1:2])}
**
** RECORD GROUP 7, NODAL Z COORDINATES
{lines(X[:, 2:3])}
**
** RECORD GROUP 8, MODE SHAPES
{modes}
**
** RECORD GROUP 9, MODAL MASS MATRIX
{lines(M)}
**
** RECORD GROUP 10, MODAL STIFFNESS MATRIX
{lines(K)}
**
** RECORD GROUP 11, DIAGONAL OF LUMPED MASS MATRIX
{lines(np.column_stack([w, w, w, 0 * w, 0 * w, 0 * w]))}
**
"""
    (tmp_path / "cloud.fem").write_text(text)
    body = load_body(tmp_path / "cloud.fem")
    assert list(body.interfaces) == ["10", "20", "30", "40", "50", "60"]
    eta, velocity = rng.normal(size=m) * 0.1, rng.normal(size=6 + m)
    energy = 0.0
    for p, name in enumerate(body.interfaces):
        rows = body.interfaces[name].rows[:3]
        place = X[p] + rows @ eta
        energy += 0.5 * w[p] * np.sum((velocity[:3] + np.cross(velocity[3:6], place) + rows @ velocity[6:]) ** 2)
    assert 0.5 * velocity @ mass_matrix(body, eta) @ velocity == pytest.approx(energy, rel=1e-12)
    (tmp_path / "none.fem").write_text(text[: text.index("** RECORD GROUP 11")])
    with pytest.raises(FileError, match="neither invariants"):
        load_body(tmp_path / "none.fem")
    (tmp_path / "short.fem").write_text(text.replace("RECORD GROUP 10,", "RECORD GROUP 99,"))
    with pytest.raises(FileError, match="RECORD GROUP 10 is missing"):
        load_body(tmp_path / "short.fem")


def test_a_mechanism_runs_on_a_foreign_body(body, tmp_path):
    """The same pendulum from our own file and from SID."""
    tips = []
    for ending in (".h5", ".SID_FEM"):
        again = load_body(save_body(body, tmp_path / f"bar{ending}"))
        system = flexmb.System(gravity=(0, 0, -9.81))
        names = list(again.interfaces)
        handle = system.add(again, name="bar")
        system.revolute("hinge", system.ground.at((0, 0.05, 0.03)), handle[names[0]], axis=(0, 1, 0))
        result = flexmb.simulate(system, 0.05, step=1e-4)
        tips.append(result.position(f"bar.{names[1]}"))
    assert np.abs(tips[0] - tips[1]).max() < 1e-9
    assert np.ptp(tips[0][:, 2]) > 0.01


def test_orthonormality_is_made(body, tmp_path):
    """Modes of any scale and mixture: the body is the same."""
    path = save_body(_without_second_order(body), tmp_path / "bar.fem")
    data = data_of(load_body(path))
    rng = np.random.default_rng(0)
    A = rng.normal(size=(body.modes, body.modes))
    B = rng.normal(size=(body.modes, body.modes))
    coupled = data.D + 0.1 * np.sqrt(np.outer(np.diag(data.D), np.diag(data.D))) * (B + B.T)
    data = replace(data, D=coupled)  # as foam between shells has it
    mixed = replace(
        data, S1=data.S1 @ A, J1=np.einsum("ai,akl->ikl", A, data.J1), h0=data.h0 @ A,
        J2=np.einsum("ai,bj,abkl->ijkl", A, A, data.J2), h=np.einsum("kab,ai,bj->kij", data.h, A, A), SG=0 * data.SG,
        M=A.T @ A, K=A.T @ data.K @ A, D=A.T @ data.D @ A, nodes={k: (p, r @ A, None) for k, (p, r, _) in data.nodes.items()},
    )  # fmt: skip
    again = body_of(mixed, "mixed", path)
    np.testing.assert_allclose(again.stiffness, body.stiffness, rtol=1e-9)
    eta, _ = state(body)
    signs = np.sign(np.einsum("ki,ki->i", again.interfaces["2"].rows, body.interfaces["tip"].rows))
    flip = np.concatenate([np.ones(6), signs])
    there = mass_matrix(again, signs * eta) * np.outer(flip, flip)
    ours = mass_matrix(_without_second_order(body), eta)
    np.testing.assert_allclose(there, ours, atol=1e-9 * np.abs(ours).max())
    damping = (np.diag(again.damping) + again.velocity_matrix[6:, 6:]) * np.outer(signs, signs)
    np.testing.assert_allclose(damping, coupled, atol=1e-9 * coupled.max())
    assert (again.damping > 0).all()
    assert not again.velocity_matrix[:6].any()


def test_refusals(body, tmp_path):
    rigid = flexmb.rigid_body("block", mass=1.0, inertia=(1, 1, 1))
    for ending in (".sid", ".fem"):
        with pytest.raises(FileError, match="is rigid"):
            save_body(rigid, tmp_path / f"block{ending}")
    for ending in (".npz", ".mat"):
        again = load_body(save_body(rigid, tmp_path / f"block{ending}"))
        assert again.modes == 0
        (tmp_path / f"noise{ending}").write_bytes(b"not a file of arrays")
        with pytest.raises(FileError):
            load_body(tmp_path / f"noise{ending}")
        (tmp_path / f"empty{ending}").write_bytes(b"")
        with pytest.raises(FileError):
            load_body(tmp_path / f"empty{ending}")
    found = dict(np.load(tmp_path / "block.npz"))
    for name, wrong, what in (
        ("mass", -1.0, "positive, finite mass"),
        ("s0", np.array(["a", "b", "c"]), "should hold numbers"),
    ):
        np.savez(tmp_path / "wrong.npz", **{**found, name: wrong})
        with pytest.raises(FileError, match=f"wrong.npz.*{what}"):
            load_body(tmp_path / "wrong.npz")
    (tmp_path / "noise.sid").write_text("hello\nworld\n")
    with pytest.raises(FileError, match=r"no complete SID file: .* missing"):
        load_body(tmp_path / "noise.sid")
    text = save_body(body, tmp_path / "bar.sid").read_text()
    unsealed = re.sub("flexmb check .*", "", text)
    (tmp_path / "damaged.sid").write_text(unsealed.replace("m0(   1,   1)", "m0(   1,  99)"))
    with pytest.raises(FileError, match="outside of its shape"):
        load_body(tmp_path / "damaged.sid")
    (tmp_path / "noise.fem").write_text("** nothing\n")
    with pytest.raises(FileError, match="no RECORD GROUP 1"):
        load_body(tmp_path / "noise.fem")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(FileError, match=r"mass, .* missing; it holds a"):
        load_body(tmp_path / "other.npz")
    with pytest.raises(FileError, match="There is no body file"):
        load_body(tmp_path / "nowhere.sid")


def test_matlab_sees_plain_names(body, tmp_path):
    found = scipy.io.loadmat(save_body(body, tmp_path / "bar.mat"), squeeze_me=True)
    assert found["stiffness"].shape == (body.modes,)
    assert list(found["interface_names"]) == ["root", "tip"]
    assert found["S1"].shape == (3, body.modes)
