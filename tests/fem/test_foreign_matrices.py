"""M and K in the formats of Nastran and Ansys."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import fem
from fem.errors import MatrixError
from fem.files.nastran.op2 import read_op2
from fem.files.nastran.op4 import read_op4
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


def over_six_dofs(part):
    """K and M over six dofs of every node, in the order of their numbers, as Nastran's g-set has them."""
    wide = (6 * np.argsort(np.argsort(NUMBERS))[:, None] + np.arange(3)).ravel()
    for name, A in (("KGG", part.K), ("MGG", part.M)):
        B = np.zeros((48, 48))
        B[np.ix_(wide, wide)] = A.toarray()
        yield name, B


def runs(column, sparse):
    """First row and values of the runs of a column, from its first nonzero to its last, or without the zeros."""
    nonzero = np.flatnonzero(column)
    if len(nonzero):
        breaks = np.flatnonzero(np.diff(nonzero) > 1) + 1 if sparse else []
        for run in np.split(nonzero, breaks):
            yield run[0] + 1, column[run[0] : run[-1] + 1]


def op4_text(name, A, layout, kind=2):
    """One matrix as OUTPUT4 writes it in text: 1P,3E23.16."""
    n, lines = len(A), []
    lines.append(f"{n:8d}{-n if layout == 'bigmat' else n:8d}{6:8d}{kind:8d}{name:8s}1P,3E23.16")
    for j in range(n):
        found = list(runs(A[:, j], layout != "dense"))
        header = {"dense": 0, "sparse": 1, "bigmat": 2}[layout]
        if found:
            words = sum(header + 2 * len(values) for _, values in found)
            lines.append(f"{j + 1:8d}{found[0][0] if layout == 'dense' else 0:8d}{words:8d}")
        for row, values in found:
            if layout != "dense":
                length = 2 * len(values) + 1
                lines.append(f"{length:8d}{row:8d}" if layout == "bigmat" else f"{65536 * length + row:8d}")
            lines += ["".join(f"{v:23.16E}" for v in values[k : k + 3]) for k in range(0, len(values), 3)]
    return "\n".join([*lines, f"{n + 1:8d}{1:8d}{1:8d}", " 1.0000000000000000E+00"]) + "\n"


def op4_binary(name, A, layout, order, word, kind=2):
    """The same as Fortran records, with words of 4 or 8 bytes; numbers of kind 1 fill one word."""
    integer, n, width = f"{order}i{word}", len(A), word if kind == 1 else 8
    whole = lambda *numbers: np.array(numbers, integer).tobytes()  # noqa: E731
    label = f"{name:8s}" if word == 4 else f"{name[:4]:8s}{name[4:]:8s}"
    records = [whole(n, -n if layout == "bigmat" else n, 6, kind) + label.encode()]
    for j in range(n):
        found = list(runs(A[:, j], layout != "dense"))
        inside = b""
        for row, values in found:
            length = len(values) * width // word + 1
            head = {"dense": (), "sparse": (65536 * length + row,), "bigmat": (length, row)}[layout]
            inside += whole(*head) + values.astype(f"{order}f{width}").tobytes()
        if found:
            records.append(whole(j + 1, found[0][0] if layout == "dense" else 0, len(inside) // word) + inside)
    records.append(whole(n + 1, 1, 8 // word) + np.ones(1, f"{order}f8").tobytes())
    count = lambda record: np.array([len(record)], f"{order}i4").tobytes()  # noqa: E731
    return b"".join(count(record) + record + count(record) for record in records)


OP4 = {
    **{f"text, {layout}": partial(op4_text, layout=layout) for layout in ("dense", "sparse", "bigmat")},
    **{
        f"binary, {layout}, {order}{word}": partial(op4_binary, layout=layout, order=order, word=word)
        for layout in ("dense", "sparse", "bigmat")
        for order in "<>"
        for word in (4, 8)
    },
}


@pytest.mark.parametrize("form", OP4)
def test_op4(part, form, tmp_path):
    path, made = tmp_path / "part.op4", [OP4[form](name, A) for name, A in over_six_dofs(part)]
    path.write_bytes(b"".join(text.encode() if isinstance(text, str) else text for text in made))
    given = fem.read_nastran(path, "KGG", "MGG", nodes=NUMBERS)
    equal(given, part, 1e-15)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(MatrixError, match="cannot be read as an OUTPUT4 file, after matrix 'KGG'"):
        fem.read_nastran(path, "KGG", "MGG", nodes=NUMBERS)


@pytest.mark.parametrize("word", [4, 8])
@pytest.mark.parametrize("layout", ["dense", "sparse", "bigmat"])
def test_numbers_of_single_precision_fill_one_word(layout, word, tmp_path):
    A = np.array([[2.0, 0.0, 0.5], [0.0, 4.0, 0.0], [0.5, 0.0, 8.0]])
    (tmp_path / "part.op4").write_bytes(op4_binary("KGG", A, layout, "<", word, kind=1))
    ((_, found),) = read_op4(tmp_path / "part.op4")
    np.testing.assert_array_equal(found.toarray(), A)


def test_op4_that_does_not_fit_is_told(part, tmp_path):
    path, (K, M) = tmp_path / "part.op4", (op4_text(name, A, "sparse") for name, A in over_six_dofs(part))
    path.write_text(K + M)
    with pytest.raises(MatrixError, match="does not name its nodes"):
        fem.read_nastran(path, "KGG", "MGG")
    with pytest.raises(MatrixError, match=r"There is no OUTPUT4 matrix named 'KAA'.*'KGG', 'MGG'"):
        fem.read_nastran(path, "KAA", "MGG", nodes=NUMBERS)
    with pytest.raises(MatrixError, match=r"shape \(48, 48\), expected six dofs for each of the 7 nodes"):
        fem.read_nastran(path, "KGG", "MGG", nodes=NUMBERS[1:])
    path.write_text(K + M + M)
    with pytest.raises(MatrixError, match="expected one matrix MGG, found 2"):
        fem.read_nastran(path, "KGG", "MGG", nodes=NUMBERS)
    path.write_text(op4_text("KGG", np.diag(np.arange(1.0, 49.0)), "dense", kind=7))
    with pytest.raises(MatrixError, match=r"cannot be read .*'KGG     ' states 48 rows, 48 columns and type 7"):
        fem.read_nastran(path, "KGG", "MGG", nodes=NUMBERS)
    path.write_text("")
    with pytest.raises(MatrixError, match="holds no matrix"):
        fem.read_nastran(path, "KGG", "MGG", nodes=NUMBERS)


def test_complex_op4_is_told(part, tmp_path):
    """Type 4: pairs of numbers."""
    line = "".join(f"{v:23.16E}" for v in (3.0, -4.0))
    text = f"{1:8d}{1:8d}{6:8d}{4:8d}KGG     1P,3E23.16\n{1:8d}{1:8d}{4:8d}\n{line}\n{2:8d}{1:8d}{1:8d}\n 1.0E+00\n"
    path = tmp_path / "part.op4"
    path.write_text(text + text.replace("KGG", "MGG"))
    (name, A), _ = read_op4(path)
    assert (name, A.toarray().item()) == ("KGG", 3.0 - 4.0j)
    with pytest.raises(MatrixError, match="KGG is complex"):
        fem.read_nastran(path, "KGG", "MGG", nodes=NUMBERS)


def test_op4_of_another_program(part, tmp_path):
    pytest.importorskip("pyNastran.op4.op4", reason="pyNastran is not installed")
    from pyNastran.op4 import op4

    six = {name: (6, A) for name, A in over_six_dofs(part)}
    op4.OP4().write_op4(str(tmp_path / "part.op4"), six, is_binary=False, precision="double")
    equal(fem.read_nastran(tmp_path / "part.op4", "KGG", "MGG", nodes=NUMBERS), part)


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
    before = files[0].read_text().splitlines()
    files[0].write_text("\n".join([*before[:3], before[3].replace("I", "e", 1), *before[4:]]))
    with pytest.raises(MatrixError, match=r"stiff.matrix cannot be read as a Harwell-Boeing file \(formats '\(\d+e"):
        fem.read_ansys(*files)
    files[0].write_text("\n".join(before))
    files[2].write_text("\n".join([*lines[:-1], lines[-1][:-2] + "TEMP"]))
    with pytest.raises(MatrixError, match="dof TEMP"):
        fem.read_ansys(*files)
    files[2].write_text("\n".join(lines[:-1]))
    with pytest.raises(MatrixError, match="names 23 equations"):
        fem.read_ansys(*files)
    files[0].write_text("nothing\n")
    with pytest.raises(MatrixError, match="no assembled real Harwell-Boeing"):
        fem.read_ansys(*files)
    files[2].write_text("  Matrix Eqn       Node      DOF\n")
    with pytest.raises(MatrixError, match=r"does not map equations 1, 2, \.\.\. .*found 0"):
        fem.read_ansys(*files)


def op2(name, A, order, word, kind=2):
    """One matrix as OUTPUT2 writes it: markers, the trailer, and for each column its runs of values. Without a `kind`,
    a table."""

    def record(data):
        size = np.array([len(data)], f"{order}i4").tobytes()
        return size + data + size

    def words(*values):
        return record(np.array(values, f"{order}i{word}").tobytes())

    def markers(*values):
        return b"".join(words(k) for k in values)

    def named(text):
        return "".join(f"{text:8}"[k : k + 4].ljust(word) for k in (0, 4)).encode()

    number = f"{order}{'c16' if kind > 2 else 'f4' if kind == 1 and word == 4 else 'f8'}"
    text = markers(2) + record(named(name)) + markers(-1, 7) + words(101, A.shape[1], A.shape[0], 6, kind, 0, 0)
    text += markers(-2, 1, 0, 2) + record(named(name))
    group = -3
    for column in A.T if kind else []:
        text += markers(group, 1, 1)
        there = np.flatnonzero(column)
        for run in np.split(there, np.flatnonzero(np.diff(there) > 1) + 1) if len(there) else []:
            values = column[run].astype(number).tobytes()
            text += markers(len(values) // word)
            text += record(np.array([run[0] + 1], f"{order}i{word}").tobytes() + values)
        group -= 1
    return text + markers(group, 1, 0, 0)


@pytest.mark.parametrize("form", [(order, word) for order in "<>" for word in (4, 8)], ids=str)
def test_op2(part, form, tmp_path):
    """Two matrices between tables; cut anywhere it is told; what is no matrix, and complex ones, too."""
    order, word = form
    path, made = tmp_path / "part.op2", [op2(name, A, order, word) for name, A in over_six_dofs(part)]
    table = op2("OUGV1", np.zeros((1, 1)), order, word, kind=0)
    path.write_bytes(table + made[0] + table + made[1])
    equal(fem.read_nastran(path, "KGG", "MGG", nodes=NUMBERS), part, 1e-15)
    whole = path.read_bytes()
    for cut in (len(table + made[0]) + 30, len(whole) - 3):
        path.write_bytes(whole[:cut])
        with pytest.raises(MatrixError, match="cannot be read as an OUTPUT2 file, after matrix 'KGG'"):
            fem.read_nastran(path, "KGG", "MGG", nodes=NUMBERS)
    path.write_bytes(op2("KGG", 1j * np.eye(4), order, word, kind=4))
    ((name, A),) = read_op2(path)
    assert name == "KGG"
    np.testing.assert_array_equal(A.toarray(), 1j * np.eye(4))
    single = np.array([[1.0, 0.5], [0.0, -3.0]])  # words of eight bytes hold single precision, too
    path.write_bytes(op2("KGG", single, order, word, kind=1))
    np.testing.assert_array_equal(read_op2(path)[0][1].toarray(), single)


def test_op2_of_nastran(tmp_path):
    """A file that Nastran wrote: matrices of its input, in single precision, and their products."""
    path = Path(__file__).parent / "nastran_decks" / "mymatrix.op2"
    found = {name: A.toarray() for name, A in read_op2(path)}
    assert list(found) == ["A", "B", "ATB", "BTA", "MYDOF"]
    assert found["MYDOF"].shape == (36, 1)
    np.testing.assert_array_equal(found["ATB"], found["A"].T @ found["B"])
    np.testing.assert_array_equal(found["A"].T, [[1, 3, 5, 0], [0, 6, 0, 8]])
    (tmp_path / "job.op2").write_bytes(bytes(8))
    with pytest.raises(MatrixError, match="does not begin with a marker"):
        fem.read_nastran(tmp_path / "job.op2", nodes=NUMBERS)
    with pytest.raises(MatrixError, match="an OUTPUT2 file does not name its nodes"):
        fem.read_nastran(path)
    with pytest.raises(MatrixError, match="There is no OUTPUT2 matrix named 'KAAX'"):
        fem.read_nastran(path, nodes=NUMBERS)


@pytest.mark.parametrize("word", [4, 8])
def test_names_of_eight_letters_in_op2(word, tmp_path):
    """Names that differ in their last letters only, in words of four letters and of four letters and four blanks."""
    (tmp_path / "part.op2").write_bytes(b"".join(op2(f"STIFFNE{k}", k * np.eye(2), "<", word) for k in (1, 2)))
    assert [name.strip() for name, _ in read_op2(tmp_path / "part.op2")] == ["STIFFNE1", "STIFFNE2"]


@pytest.mark.parametrize("word", [4, 8])
def test_names_of_eight_letters_in_op4(word, tmp_path):
    """In words of eight bytes a name takes two, four letters and four blanks each."""
    (tmp_path / "part.op4").write_bytes(op4_binary("STIFFNES", np.eye(2), "dense", "<", word))
    ((name, A),) = read_op4(tmp_path / "part.op4")
    assert name == "STIFFNES"
    np.testing.assert_array_equal(A.toarray(), np.eye(2))


def words(*values):
    return np.array(values, "<i4").tobytes()


def markers(*values):
    return b"".join(words(4, value, 4) for value in values)


LAST = words(12, 2) + np.array([2.0]).tobytes()
"""The run of the second column of the file below: its length, its first row, its value."""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (LAST, words(12, 3) + LAST[8:], "1 values from row 3 of column 2 are outside of 'KGG', 2 by 2"),
        (LAST, words(12, 0) + LAST[8:], "1 values from row 0 of column 2 are outside of 'KGG', 2 by 2"),
        (words(101, 2, 2), words(101, 1, 2), "1 values from row 2 of column 2 are outside of 'KGG', 2 by 1"),
        (markers(-1, 7), words(4, -1, 5) + markers(7), "the record at byte 28 does not end with its length"),
        (markers(-1, 7), markers(-1, 8), r"at byte 40, a marker 7 should stand, found \[8\]"),
        (markers(-4, 1, 1), markers(-5, 1, 1), "group -4 of 'KGG' should follow, found -5 before byte 232"),
        (markers(2) + LAST, markers(3) + LAST, "a record of 3 words has 12 bytes before byte 288"),
        (b"", markers(5), "a data block begins with 2; found 5 before byte 12"),
        (b"", markers(0), ""),
        (LAST, words(12, 1) + LAST[8:], ""),
    ],
    ids=[str(k) for k in range(10)],
)
def test_op2_that_is_damaged_says_what_is_wrong(old, new, said, tmp_path):
    data = op2("KGG", np.diag([1.0, 2.0]), "<", 4)
    assert data.count(old) == 1 or not old
    (tmp_path / "part.op2").write_bytes(data.replace(old, new, 1) if old else new + data)
    if not said:
        assert len(read_op2(tmp_path / "part.op2")) == 1
        return
    with pytest.raises(MatrixError, match=rf"cannot be read as an OUTPUT2 file: {said}\.$"):
        read_op2(tmp_path / "part.op2")


def test_op2_without_matrices_and_records_of_op4_without_their_end(tmp_path):
    (tmp_path / "part.op2").write_bytes(op2("OUG", np.eye(2), "<", 4, kind=0))
    with pytest.raises(MatrixError, match=r"holds no matrix; OUTPUT2 files with results alone have none"):
        read_op2(tmp_path / "part.op2")
    whole = op4_binary("KGG", np.diag([1.0, 2.0]), "dense", "<", 4)
    for byte, record in ((28, 0), (len(whole) - 1, 88)):
        damaged = bytearray(whole)
        damaged[byte] ^= 1
        (tmp_path / "part.op4").write_bytes(damaged)
        with pytest.raises(MatrixError, match=f"the record at byte {record} does not end with its length"):
            read_op4(tmp_path / "part.op4")


THREE = "1,1,1,1,2.\n1,2,1,2,2.\n1,3,1,3,2.\n"


@pytest.mark.parametrize(
    ("stiffness", "damping", "said"),
    [
        (THREE.replace("1,1,1,1,2.", "1,1,1,1,1e36"), THREE, r"k\.mtx: 1 dofs of 1 nodes \(first: \[1\]\) are supported"),
        (THREE.replace("1,1,1,1,2.", "1,1,1,1,9e29"), THREE, ""),
        (THREE + "1,1,1,2,1e36\n", THREE, ""),
        ("** nothing\n", THREE, r"k\.mtx holds no matrix entries"),
        ("1,1,1,2.\n", THREE, r"k\.mtx: 5 numbers a line are expected"),
        (THREE.replace("1,2,1,2", "1,2.5,1,2"), THREE, "expected whole numbers and a finite value; found '1 2.5 1 2 2.' in entry 2"),
        (THREE.replace("1,2,1,2,2.", "1,2,1,2,nan"), THREE, "found '1 2 1 2 nan' in entry 2"),
        (THREE.replace("1,3,1,3", "2147483648,3,1,3"), THREE, "found '2147483648 3 1 3 2.' in entry 3"),
        (THREE + "1,7,1,7,2.\n", THREE, r"expected the dofs 1 to 6 of numbered nodes; found dof 7 of node 1 \(1 such dofs\)"),
        (THREE + "0,1,0,1,2.\n", THREE, "found dof 1 of node 0"),
        (THREE, "1,1,5,2,3.\n", "D acts on dof 1 of node 1 and dof 2 of node 5; one of them has neither mass nor stiffness"),
        (THREE, "1,1,1,4,3.\n", "D acts on dof 1 of node 1 and dof 4 of node 1"),
        (THREE, "1,1,1,0,3.\n", "D acts on dof 1 of node 1 and dof 0 of node 1"),
        (THREE, "1,1,1,3,3.\n", ""),
    ],
)  # fmt: skip
def test_matrices_of_abaqus_that_cannot_be_are_refused(stiffness, damping, said, tmp_path):
    for name, text in (("k", stiffness), ("m", THREE), ("d", damping)):
        (tmp_path / f"{name}.mtx").write_text(text)
    files = [tmp_path / f"{name}.mtx" for name in "kmd"]
    if not said:
        assert fem.read_abaqus(*files).K.shape == (3, 3)
        return
    with pytest.raises(MatrixError, match=said):
        fem.read_abaqus(*files)


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**64])
def test_numbers_of_nodes_beyond_those_of_the_machine_are_refused(number, tmp_path):
    """Between 2^63 and 2^64 they were read as negative ones."""
    text = ""
    for name in ("KAAX", "MAAX"):
        text += f"DMIG,{name},0,6,2,0,,,3\n" + "".join(
            f"DMIG,{name},{number},{c},,{number},{c},1.\n" for c in (1, 2, 3)
        )
    (tmp_path / "part.pch").write_text(text)
    if number < 2**63:
        assert fem.read_nastran(tmp_path / "part.pch").nodes.tolist() == [number]
        return
    with pytest.raises(MatrixError, match=rf"'part': expected numbers of nodes below 2\^63; found {number}\.$"):
        fem.read_nastran(tmp_path / "part.pch")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("DMIG,KAAX,7,2,,7,2,2.", "DMIG,KAAX,0,6,2,0,,,3", "line 3: DMIG matrix 'KAAX' has a second header; the first one is in line 1"),
        ("DMIG,KAAX,7,2,,7,2,2.", "DMIG,KAAX,7,1,,7,1,2.", "'KAAX' gives its entry at dof 1 of node 7 and dof 1 of node 7 twice"),
        ("DMIG,KAAX,7,3", "DMIG,KAAX,7,1,,7,2,1.\nDMIG,KAAX,7,3", "at dof 1 of node 7 and dof 2 of node 7 twice, or on both sides"),
        ("DMIG,KAAX,0,6", "DMIG,KAAX,0,1", "'KAAX' is square .form 1. and has an entry at dof 1 of node 7 and dof 2 of node 7, but none on"),
        ("DMIG,KAAX,0,6", "DMIG,KAAX,0,9", "'KAAX' is rectangular .form 9."),
        ("7,2,2.\n", "7,2,2.,7,3,1.\n", "line 3: cannot be read as a DMIG card"),
        ("7,2,2.", "7,2,1.+999", "expected finite values; found inf in K"),
    ],
)  # fmt: skip
def test_dmig_that_gives_a_matrix_twice_or_in_part_is_refused(old, new, said, tmp_path):
    """Values of both were added, those of a second header were read as a column, and a square matrix was mirrored."""
    text = "DMIG,KAAX,0,6,2,0,,,3\nDMIG,KAAX,7,1,,7,1,2.\nDMIG,KAAX,7,2,,7,2,2.\n,7,1,1.\nDMIG,KAAX,7,3,,7,3,2.\n"
    text += "DMIG,MAAX,0,6,2,0,,,3\n" + "".join(f"DMIG,MAAX,7,{k},,7,{k},2.\n" for k in (1, 2, 3))
    path = tmp_path / "part.pch"
    path.write_text(text)
    expected = [[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
    np.testing.assert_array_equal(fem.read_nastran(path).K.toarray(), expected)
    whole = text.replace("KAAX,0,6", "KAAX,0,1").replace("7,1,,7,1,2.", "7,1,,7,1,2.\n,7,2,1.", 1)
    path.write_text(whole)
    np.testing.assert_array_equal(fem.read_nastran(path).K.toarray(), expected)
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(MatrixError, match=said):
        fem.read_nastran(path)


def test_values_of_op4_outside_of_their_matrix_and_given_twice_are_refused(tmp_path):
    """They ended in words of SciPy, which count from zero, and two values at one place were added."""
    path, whole = tmp_path / "part.op4", op4_text("KGG", np.diag([1.0, 2.0]), "dense")
    path.write_text(whole)
    np.testing.assert_array_equal(read_op4(path)[0][1].toarray(), np.diag([1.0, 2.0]))
    column = next(
        line
        for line in whole.splitlines()
        if line.split()[:2] == ["2", "2"] and "E" not in line and len(line.split()) == 3
    )
    for place, said in (
        ((2, 3), "1 values from row 3 of column 2 are outside of 'KGG', 2 by 2"),
        ((0, 2), "1 values from row 2 of column 0 are outside"),
        ((1, 1), "the value in row 1 of column 1 of 'KGG' is given twice"),
    ):
        path.write_text(whole.replace(column, column.replace("       2       2", "".join(f"{k:8d}" for k in place), 1)))
        with pytest.raises(MatrixError, match=f"cannot be read as an OUTPUT4 file: {said}"):
            read_op4(path)


def test_matrices_without_entries_and_nodes_that_a_mesh_lacks_are_refused(part, tmp_path):
    (tmp_path / "part.pch").write_text("DMIG,KAAX,0,6,2,0,,,3\nDMIG,MAAX,0,6,2,0,,,3\n")
    with pytest.raises(MatrixError, match="'part': expected entries of M and K; found none"):
        fem.read_nastran(tmp_path / "part.pch")
    for name in ("k", "m"):
        (tmp_path / f"{name}.mtx").write_text(
            THREE.replace("1,1,1,1", "9,1,9,1").replace("1,2,1,2", "9,2,9,2").replace("1,3,1,3", "9,3,9,3")
        )
    nine = fem.read_abaqus(tmp_path / "k.mtx", tmp_path / "m.mtx")
    mesh = block("hexahedron", (1.0, 1.0, 1.0), (1, 1, 1))
    said = (
        r"'k': 1 of 1 nodes \(first: \[9\]\) are not in mesh 'block of hexahedron', whose node numbers run from 0 to 7"
    )
    with pytest.raises(MatrixError, match=said):
        nine.points_of(mesh)
    named = replace(mesh, node_ids=np.arange(2, 10))
    np.testing.assert_array_equal(nine.points_of(named), mesh.points[7:])


@pytest.mark.parametrize(("entry", "refused"), [("2 2 2.", False), ("2 2 x", True), ("3 2 2.", True)])
def test_entries_of_matrix_market_that_cannot_be_are_refused(entry, refused, tmp_path):
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.\n{entry}\n")
    if not refused:
        assert fem.read_matrix_market(tmp_path / "a.mtx").trace() == 3
        return
    with pytest.raises(MatrixError, match=r"a\.mtx cannot be read as a Matrix Market file: .*[Ll]ine 4"):
        fem.read_matrix_market(tmp_path / "a.mtx")
