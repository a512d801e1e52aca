"""Bodies, shapes and files of bodies that cannot be are refused by name, and their nearest neighbours are accepted."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from refusals import refused_beside

import fem
import flexmb
import reduction
from fem.errors import InterfaceError, MatrixError, MeshError
from fem.mesh.structured_meshes import block
from flexmb.bodies.body import BodyInterface
from flexmb.errors import FileError, FlexmbError
from flexmb.files import load_body, save_body
from flexmb.files.bodies.modal_data import body_of, data_of

ONES = np.ones((6, 2))


@cache
def flexible(surface=False):
    """A bar of two modes."""
    model = fem.Model(block("hexahedron", (1.0, 0.2, 0.1), (3, 1, 1)), fem.Material.steel()).with_interfaces(tip="x1")
    model = model.with_surfaces(top="z1") if surface else model
    return flexmb.flexible_body(model, reduction.modal(model, 2), name="bar", modal_damping=0.01)


def interface(**changed):
    return BodyInterface(**{"point": np.zeros(3), "rows": ONES, **changed})


def with_tip(**changed):
    bar = flexible()
    return replace(bar, interfaces={"tip": replace(bar.interfaces["tip"], **changed)})


def with_top(**changed):
    bar = flexible(True)
    return replace(bar, surfaces={"top": replace(bar.surfaces["top"], **changed)})


def inertia(**changed):
    return replace(flexible().invariants, **changed)


def rigid(**changed):
    return flexmb.rigid_body("cart", **{"mass": 1.0, "inertia": (1, 1, 1), **changed})


def shape(points):
    return flexmb.solids.Shape(np.array(points, dtype=float), np.array([[0, 1, 2]]))


def nodes(n):
    return f"A surface of {n} nodes: "


CORNERS = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
TOP = len(flexible(True).surfaces["top"].nodes)

REFUSED = {
    "complex rows": (
        lambda: interface(rows=1j * ONES),
        "The rows of an interface is complex; it must be real.",
        interface,
    ),
    "complex stiffness": (
        lambda: replace(flexible(), stiffness=1j * flexible().stiffness),
        "Body 'bar': stiffness is complex; it must be real.",
        lambda: replace(flexible(), stiffness=2 * flexible().stiffness),
    ),
    "damping of three coordinates": (
        lambda: replace(flexible(), damping=np.ones(3)),
        "Body 'bar': damping has shape (3,), expected (2,): one entry for each elastic coordinate.",
        lambda: replace(flexible(), damping=np.zeros(2)),
    ),
    "rows of three coordinates": (
        lambda: with_tip(rows=np.ones((6, 3))),
        "Body 'bar', interface 'tip': rows have shape (6, 3), expected (6, 2).",
        lambda: with_tip(rows=ONES),
    ),
    "second order of three coordinates": (
        lambda: with_tip(second=np.ones((6, 2, 3))),
        "Body 'bar', interface 'tip': second has shape (6, 2, 3), expected (6, 2, 2).",
        lambda: with_tip(second=np.zeros((6, 2, 2))),
    ),
    "rows of a surface of three coordinates": (
        lambda: with_top(rows=np.ones((TOP, 3, 3))),
        f"Body 'bar', surface 'top': rows have shape ({TOP}, 3, 3), expected the last dimension 2.",
        lambda: with_top(rows=np.ones((TOP, 3, 2))),
    ),
    "areas of other nodes": (
        lambda: with_top(areas=np.ones(TOP + 1)),
        nodes(TOP) + f"areas should be ({TOP},) finite numbers; found ({TOP + 1},).",
        lambda: with_top(areas=np.ones(TOP)),
    ),
    "normals without value": (
        lambda: with_top(normals=np.full((TOP, 3), np.nan)),
        nodes(TOP) + f"normals should be ({TOP}, 3) finite numbers; found ({TOP}, 3).",
        lambda: with_top(normals=np.ones((TOP, 3))),
    ),
    "displacements of a rigid body": (
        lambda: rigid().displacements(np.zeros(0)),
        "Body 'cart' has no mesh and therefore no nodal displacements.",
        lambda: flexible().displacements(np.zeros(2)),
    ),
    "displacements of a node of a rigid body": (
        lambda: rigid().node_shapes(0),
        "Body 'cart' has no mesh and therefore no nodal displacements.",
        lambda: flexible().node_shapes(0),
    ),
    "inertia of four numbers": (
        lambda: rigid(inertia=(1, 1, 1, 1)),
        "Rigid body 'cart': inertia has shape (4,), expected (3, 3) or its 3 diagonal entries.",
        lambda: rigid(inertia=np.eye(3)),
    ),
    "a mass of a word": (
        lambda: rigid(mass="x"),
        "Rigid body 'cart': the mass is a number; found 'x'.",
        lambda: rigid(mass=1),
    ),
    "a mass of a list": (
        lambda: rigid(mass=[1.0]),
        "Rigid body 'cart': the mass is a number; found [1.0].",
        lambda: rigid(mass=np.float64(1.0)),
    ),
    "inertia of a word": (
        lambda: rigid(inertia="x"),
        "Rigid body 'cart': inertia has shape (0,), expected (3, 3) or its 3 diagonal entries.",
        lambda: rigid(inertia=[1, 1, 1]),
    ),
    "inertia of two rows": (
        lambda: rigid(inertia=np.eye(3)[:2]),
        "Rigid body 'cart': inertia has shape (2, 3), expected (3, 3) or its 3 diagonal entries.",
        lambda: rigid(inertia=np.eye(3).tolist()),
    ),
    "a moment of inertia beyond the others": (
        lambda: rigid(inertia=(1, 1, 2.001)),
        "Rigid body 'cart': ",
        lambda: rigid(inertia=(1, 1, 2)),
    ),
    "a moment of inertia below zero": (
        lambda: rigid(inertia=(-0.001, 1, 1)),
        "Rigid body 'cart': ",
        lambda: rigid(inertia=(0.001, 1, 1)),
    ),
    "no mass": (lambda: rigid(mass=0.0), "Rigid body 'cart': ", lambda: rigid(mass=1e-9)),
    "a mass without value": (lambda: rigid(mass=np.nan), "Rigid body 'cart': ", lambda: rigid(mass=1e9)),
    "a centre of a word": (
        lambda: rigid(centre="x"),
        "Rigid body 'cart': centre must be 3 finite coordinates, found [].",
        lambda: rigid(centre=[1, 2, 3]),
    ),
    "a density of a word": (
        lambda: flexmb.rigid_body("cart", mesh=flexmb.solids.sphere(1.0), density="x"),
        "Rigid body 'cart': the density should be above zero; found x.",
        lambda: flexmb.rigid_body("cart", mesh=flexmb.solids.sphere(1.0), density=1),
    ),
    "no density": (
        lambda: flexmb.rigid_body("cart", mesh=flexmb.solids.sphere(1.0), density=0.0),
        "Rigid body 'cart': the density should be above zero; found 0.0.",
        lambda: flexmb.rigid_body("cart", mesh=flexmb.solids.sphere(1.0), density=1e-9),
    ),
    "a density beside a mass": (
        lambda: flexmb.rigid_body("cart", mesh=flexmb.solids.sphere(1.0), density=1.0, mass=1.0),
        "takes mass, centre and inertia from mesh = ...; found mass beside it.",
        lambda: flexmb.rigid_body("cart", mesh=flexmb.solids.sphere(1.0), density=1.0),
    ),
    "a density of no shape": (
        lambda: flexmb.rigid_body("cart", density=1.0),
        "takes mass, centre and inertia from mesh = ...; found no mesh.",
        lambda: flexmb.rigid_body("cart", mesh=flexmb.solids.sphere(1.0), mass=1.0, inertia=(1, 1, 1)),
    ),
    "a centre of two numbers": (
        lambda: rigid(centre=(1.0, 2.0)),
        "Rigid body 'cart': centre must be 3 finite coordinates, found [1. 2.].",
        lambda: rigid(centre=(1.0, 2.0, 3.0)),
    ),
    "a centre without value": (
        lambda: rigid(centre=(1.0, 2.0, np.nan)),
        "Rigid body 'cart': centre must be 3 finite coordinates, found [ 1.  2. nan].",
        rigid,
    ),
    "a complex invariant": (
        lambda: inertia(S1=1j * flexible().invariants.S1),
        "Inertia invariant S1 is complex; it must be real.",
        inertia,
    ),
    "an invariant without value": (
        lambda: inertia(h0=np.nan * flexible().invariants.h0),
        "Inertia invariant h0 contains NaN or infinity.",
        lambda: inertia(h0=2 * flexible().invariants.h0),
    ),
    "a shape in a plane": (
        lambda: shape([[0, 0], [1, 0], [0, 1]]),
        "The points of a shape are (n, 3) finite numbers; found an array of shape (3, 2).",
        lambda: shape(CORNERS),
    ),
    "a shape without value": (
        lambda: shape([*CORNERS, [0, 0, np.inf]]),
        "The points of a shape are (n, 3) finite numbers; found an array of shape (4, 3).",
        lambda: shape([*CORNERS, [0, 0, 1]]),
    ),
    "a prism of two corners": (
        lambda: flexmb.solids.prism([(0, 0), (1, 0)], 0.0, 1.0),
        "The outline of a prism has at least 3 points (x, y); found an array of shape (2, 2).",
        lambda: flexmb.solids.prism([(0, 0), (1, 0), (0, 1)], 0.0, 1.0),
    ),
    "a prism in space": (
        lambda: flexmb.solids.prism(CORNERS, 0.0, 1.0),
        "The outline of a prism has at least 3 points (x, y); found an array of shape (3, 3).",
        lambda: flexmb.solids.prism([(0, 0), (2, 0), (0, 1)], 0.0, 1.0),
    ),
    "a prism without value": (
        lambda: flexmb.solids.prism([(0, 0), (1, 0), (0, np.nan)], 0.0, 1.0),
        "The outline of a prism has at least 3 points (x, y); found an array of shape (3, 2).",
        lambda: flexmb.solids.prism([(0, 0), (1, 0), (0.5, 1)], 0.0, 1.0),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_and_its_neighbour_is_not(case, monkeypatch):
    refused, words, accepted = REFUSED[case]
    refused_beside((MatrixError, MeshError, InterfaceError), words, refused, accepted, monkeypatch)


def modal(**changed):
    return body_of(replace(data_of(flexible()), **changed), "bar", Path("bar.fem"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"M": np.array([[1.0, 3e-6], [0.0, 1.0]])}, "bar.fem: the modal mass matrix is not symmetric."),
        ({"K": np.array([[2.0, 0.0], [5e-6, 3.0]])}, "bar.fem: the modal stiffness matrix is not symmetric."),
        ({"M": np.diag([1.0, -1.0])}, "bar.fem: the modal mass matrix must be positive definite ("),
        (
            {"K": np.diag([1e-11, 2.0])},
            "bar.fem: the softest mode has the stiffness 1e-11 (largest 2): a rigid motion is among the modes.",
        ),
    ],
)
def test_modal_matrices_of_no_free_elastic_body_are_refused(given, words):
    with pytest.raises(FileError) as caught:
        modal(**given)
    assert words in str(caught.value)
    modal(M=np.array([[1.0, 0.9e-6], [0.0, 1.0]]), K=np.diag([1e-9, 2.0]))


SID = {
    "rows of a block": (r"(mdCM\n(?:.*\n)*? +nrow +)= 3", r"\1= 4", "mdCM has nrow, ncol = (4, 1), expected (3, 1)."),
    "columns of a block": (r"(Ke\n(?:.*\n)*? +ncol +)= 2", r"\1= 1", "Ke has nrow, ncol = (2, 1), expected (2, 2)."),
    "rows of a node": (r"(phi\n(?:.*\n)*? +nrow +)= 3", r"\1= 2", "phi of node 1 has nrow, ncol = (2, 2), expected"),
    "a number": (r"nelastq( +)= 2", r"nelastq\1= two", "line 6: cannot be read as SID: 'nelastq"),
    "a contradiction": (r"(Oe\n(?:.*\n)*? +m0\(.*= )\S+", r"\g<1>9.0D+03", "J and Oe contradict each other about the"),
}
FEM = {
    "rejected modes": (r"(REV0.*) 0\n", r"\1 3\n", "holds 3 rejected modes; write it without them."),
    "modes that are none": (r"(REV0.*) 0   0\n", r"\1 x   0\n", "it has no RECORD GROUP 1 with revision, nodes and"),
    "rejected modes that are none": (r"(REV0.*) 0\n", r"\1 x\n", "it has no RECORD GROUP 1 with revision, nodes and"),
    "a word": (r"(RECORD GROUP 13,.*\n)\S+", r"\1one", "RECORD GROUP 13: could not convert string to float: 'one'."),
    "a number too few": (r"(RECORD GROUP 13,.*\n)\S+", r"\1", "GROUP 13 has 3 numbers, expected 4 (shape (2, 2))."),
    "rotary inertias": (
        r"RECORD GROUP 14,(.*\n)*",
        "RECORD GROUP 11, LUMPED\n1 1 1 0 0 1e-9\n",
        "RECORD GROUP 11 has rotary inertias; only masses are read. Write the invariants (RECORD GROUPS 14 to 18).",
    ),
}


@pytest.mark.parametrize(
    ("ending", "case"), [*(("sid", case) for case in SID), *(("fem", case) for case in FEM)], ids=lambda x: x
)
def test_files_of_other_programs_that_contradict_themselves_are_refused(ending, case, tmp_path):
    path = save_body(flexible(), tmp_path / f"bar.{ending}")
    text = re.sub("; flexmb check .*|flexmb check .*", "", path.read_text())
    path.write_text(text)
    load_body(path)
    old, new, words = (SID if ending == "sid" else FEM)[case]
    changed, count = re.subn(old, new, text, count=1)
    assert count == 1
    path.write_text(changed)
    with pytest.raises(FileError) as caught:
        load_body(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_arrays_of_another_size_are_refused(tmp_path):
    path = save_body(flexible(), tmp_path / "bar.npz")
    content = dict(np.load(path))
    np.savez(path, **content | {"damping": np.ones(3)})
    with pytest.raises(FileError, match=r"bar\.npz: damping has shape \(3,\), expected \(2,\)\."):
        load_body(path)
    np.savez(path, **content | {"damping": np.ones((2, 1))})
    assert load_body(path).damping.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("method", ["read_bytes", "read_text", "open"])
@pytest.mark.parametrize("ending", ["sid", "fem", "h5"])
def test_bodies_that_the_system_does_not_give_are_named(ending, method, tmp_path, monkeypatch):
    path = save_body(flexible(), tmp_path / f"bar.{ending}")
    load_body(path)

    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, method, denied)
    if (ending == "h5") != (method == "open"):
        return
    with pytest.raises(FlexmbError, match=rf"bar\.{ending}.*Permission denied\."):
        load_body(path)


def test_a_shape_of_a_file_names_the_file(tmp_path):
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 nan\nf 1 2 3\n")
    with pytest.raises(MeshError) as caught:
        flexmb.rigid_body("cart", mass=1.0, inertia=(1, 1, 1), mesh=tmp_path / "flat.obj")
    assert "flat.obj" in str(caught.value)
    assert "finite" in str(caught.value)
