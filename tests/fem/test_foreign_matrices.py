"""M and K in the formats of Nastran and Ansys."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import fem
from fem.errors import MatrixError
from fem.mesh.structured_meshes import block

NUMBERS = np.array([12, 3, 40, 7, 100, 55, 8, 21])
"""Numbers of the eight nodes of the part, not in order."""


@pytest.fixture(scope="module")
def part():
    mesh = block("hexahedron", (1.0, 2.0, 0.5), (1, 1, 1))
    return fem.Model(replace(mesh, node_ids=NUMBERS), fem.Material.steel())


def nastran_number(value):
    """Nastran's short form, 1.5-3, as some programs write it."""
    mantissa, exponent = f"{value:.9E}".split("E")
    return f"{mantissa}{int(exponent):+d}"


def dmig(name, A, style):
    """One triangle of a symmetric matrix as DMIG cards."""
    lines = [f"DMIG    {name:8s}       0       6       2       0                {A.shape[0]:8d}"]
    A = sp.tril(A).tocsc()
    for column in range(A.shape[1]):
        entries = [(i, v) for i, v in zip(A[:, [column]].indices, A[:, [column]].data, strict=True) if v]
        if not entries:
            continue
        g, c = NUMBERS[column // 3], column % 3 + 1
        if style == "large":
            lines.append(f"DMIG*   {name:16s}{g:16d}{c:16d}")
            lines += [f"*       {NUMBERS[i // 3]:16d}{i % 3 + 1:16d}{v:16.9E}".replace("E", "D") for i, v in entries]
        else:
            for i, v in entries:
                lines.append(f"DMIG,{name},{g},{c},,{NUMBERS[i // 3]},{i % 3 + 1},{nastran_number(v)}")
    return lines


def equal(given, part, digits=1e-8):
    order = np.argsort(NUMBERS)
    assert list(given.nodes) == sorted(NUMBERS)
    dofs = (3 * order[:, None] + np.arange(3)).ravel()
    for ours, theirs in ((part.K, given.K), (part.M, given.M)):
        assert abs(ours[dofs][:, dofs] - theirs).max() < digits * abs(ours).max()
    np.testing.assert_allclose(given.points_of(part.mesh), part.points[order])


@pytest.mark.parametrize("style", ["large", "free"])
def test_dmig(part, style, tmp_path):
    path = tmp_path / "part.pch"
    path.write_text("\n".join(["$TITLE = PART", *dmig("KAAX", part.K, style), *dmig("MAAX", part.M, style), "ENDDATA"]) + "\n")  # fmt: skip
    equal(fem.read_nastran(path), part)
    with pytest.raises(MatrixError, match="There is no DMIG matrix named 'KGG'"):
        fem.read_nastran(path, stiffness="KGG")
    path.write_text(path.read_text().replace("       6       2", "       6       4", 1))
    with pytest.raises(MatrixError, match="is complex"):
        fem.read_nastran(path)


def test_op4(part, tmp_path):
    pytest.importorskip("pyNastran.op4.op4", reason="pyNastran is not installed")
    from pyNastran.op4.op4 import OP4

    order = np.argsort(NUMBERS)
    wide = (6 * np.argsort(order)[:, None] + np.arange(3)).ravel()
    six = {}
    for name, A in (("KGG", part.K), ("MGG", part.M)):
        B = np.zeros((48, 48))
        B[np.ix_(wide, wide)] = A.toarray()
        six[name] = (6, B)
    OP4().write_op4(str(tmp_path / "part.op4"), six, is_binary=False, precision="double")
    equal(fem.read_nastran(tmp_path / "part.op4", "KGG", "MGG", nodes=NUMBERS), part)
    with pytest.raises(MatrixError, match="does not name its nodes"):
        fem.read_nastran(tmp_path / "part.op4", "KGG", "MGG")


def test_harwell_boeing_with_mapping(part, tmp_path):
    rng = np.random.default_rng(0)
    equation = rng.permutation(24)  # Ansys numbers equations to its own liking
    for name, A in (("stiff", part.K), ("mass", part.M)):
        B = sp.tril(sp.csc_matrix(A[equation][:, equation])).tocsc()
        scipy.io.hb_write(tmp_path / f"{name}.matrix", B)
        text = (tmp_path / f"{name}.matrix").read_text()
        assert "RUA" in text
        (tmp_path / f"{name}.matrix").write_text(text.replace("RUA", "RSA", 1))
    lines = [f"{k + 1:10d} {NUMBERS[dof // 3]:10d}    {['UX', 'UY', 'UZ'][dof % 3]}" for k, dof in enumerate(equation)]
    (tmp_path / "stiff.mapping").write_text("\n".join(["  Matrix Eqn       Node      DOF", *lines]) + "\n")
    files = [tmp_path / name for name in ("stiff.matrix", "mass.matrix", "stiff.mapping")]
    equal(fem.read_ansys(*files), part, 1e-7)
    files[2].write_text("\n".join([*lines[:-1], lines[-1][:-2] + "TEMP"]))
    with pytest.raises(MatrixError, match="dof TEMP"):
        fem.read_ansys(*files)
    files[2].write_text("\n".join(lines[:-1]))
    with pytest.raises(MatrixError, match="names 23 equations"):
        fem.read_ansys(*files)
    files[0].write_text("nothing\n")
    with pytest.raises(MatrixError, match="no assembled real Harwell-Boeing"):
        fem.read_ansys(*files)
