"""Input that would take the memory, hang, crash or quote what is none of it: refused, with the limit, in a moment."""

import os
import re
import struct
import subprocess
import sys
import zipfile
import zlib
from itertools import pairwise
from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np
import psutil
import pytest
from fuzz.targets import MODELS, _saved_body
from test_beyond_one_machine import wait_until

import fem
import flexmb
import reduction
from fem.errors import FlexmbError, MeshError
from fem.files import vtk_process
from fem.mesh.structured_meshes import block
from fem.meshing import cad_process
from flexmb.cli.parts.materials import beam_section
from flexmb.cli.vary import span_of, values_of
from flexmb.errors import FileError, HistoryError, IntegratorError, ModelFileError, StudyError
from flexmb.files import load_body, load_model, save_body
from flexmb.forces.frame.ring_compliance import RingCompliance
from flexmb.mechanism.time_functions import table
from flexmb.plots.animation import write_animation
from flexmb.plots.axes import save_figure
from flexmb.study import full_factorial, parameter_study
from flexmb.study.kept import KeptOutcomes
from flexmb.units import read_unit

BLOCK = (MODELS / "block.inp").read_text()
PENDULUM = (MODELS / "pendulum.toml").read_text()
PENDULUM_FILE = load_model(MODELS / "pendulum.toml")
posix = pytest.mark.skipif(os.name != "posix", reason="links and names of POSIX")


def deck(folder, text):
    (folder / "part.inp").write_text(BLOCK + text)
    return fem.read_mesh(folder / "part.inp")


def model(folder, old, new=""):
    """The model of the pendulum with `new` in place of a text, or with `old` added."""
    assert not new or old in PENDULUM
    (folder / "model.toml").write_text(PENDULUM.replace(old, new) if new else PENDULUM + old)
    return load_model(folder / "model.toml")


# decks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["NSET, NSET", "ELSET, ELSET"])
@pytest.mark.parametrize(
    "lines", ["1, 2000000000", "-2000000000, 2000000000", "1, 6000000\n1, 6000000", "1, 2000000000, 7"]
)
def test_generated_sets_have_a_limit(kind, lines, tmp_path):
    with pytest.raises(MeshError, match=r"part.inp, line \d+: GENERATE adds more than 10000000 members"):
        deck(tmp_path, f"*{kind}=ANY, GENERATE\n{lines}\n")


@pytest.mark.parametrize("kind", ["NSET", "ELSET"])
def test_sets_that_double_forty_times_are_read(kind, tmp_path):
    text = f"*{kind}, {kind}=S0\n1, 2\n" + "".join(f"*{kind}, {kind}=S{k + 1}\nS{k}, S{k}\n" for k in range(40))
    mesh = deck(tmp_path, text)
    sets = mesh.node_sets if kind == "NSET" else mesh.cell_sets
    assert len(sets["S40"]) == 2


@pytest.mark.parametrize("kind", ["NSET", "ELSET"])
def test_sets_inside_sets_have_a_depth(kind, tmp_path):
    names = [f"S{k}" for k in range(3000)]
    text = "".join(f"*{kind}, {kind}={a}\n{b}\n" for a, b in pairwise(names)) + f"*{kind}, {kind}=S2999\n1\n"
    with pytest.raises(MeshError, match="inside each other more than 50 deep"):
        deck(tmp_path, text)


@pytest.mark.parametrize(("ending", "line"), [("inp", "*INCLUDE, INPUT={}\n"), ("bdf", "INCLUDE '{}'\n")])
def test_a_file_that_includes_itself_by_another_path_is_told(ending, line, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / f"f0.{ending}").write_text(line.format(f"inside/../f0.{ending}"))
    with pytest.raises(MeshError, match="the file includes itself"):
        fem.read_mesh(tmp_path / f"f0.{ending}")


@pytest.mark.parametrize(("ending", "line"), [("inp", "*INCLUDE, INPUT={}\n"), ("bdf", "INCLUDE '{}'\n")])
@pytest.mark.parametrize(("times", "message"), [(1, "more than 50 deep"), (2, "more than 1000 files")])
def test_included_files_have_a_depth_and_a_number(ending, line, times, message, tmp_path):
    """A chain of two thousand files, and thirty files each of which includes the next twice: 2^30 in all."""
    count = 2000 if times == 1 else 30
    for k in range(count):
        (tmp_path / f"f{k}.{ending}").write_text(line.format(f"f{k + 1}.{ending}") * times)
    (tmp_path / f"f{count}.{ending}").write_text("$\n" if ending == "bdf" else "**\n")
    with pytest.raises(MeshError, match=message):
        fem.read_mesh(tmp_path / f"f0.{ending}")


# what is outside of the folder ------------------------------------------------------------------------------------------

SECRET = "root:x:hidden\n" * 3
LAW = '[[joint_springs]]\nname = "x"\njoint = "hinge"\nlaw = {{ kind = "{}", csv = "{}" }}\n'
DRIVE = 'at = [0, 0, 0]\ndrive = {{ kind = "table", csv = "{}" }}'


@pytest.mark.parametrize("kind", ["drive", "table", "map"])
@pytest.mark.parametrize("way", ["../secret.txt", "absolute", "link"])
def test_tables_outside_the_folder_are_named_and_not_quoted(kind, way, tmp_path):
    (tmp_path / "secret.txt").write_text(SECRET)
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    name = {"absolute": str(tmp_path / "secret.txt"), "link": "link.txt"}.get(way, way)
    with pytest.raises(ModelFileError, match=r"line \d+.*outside the folder") as error:
        model(folder, "at = [0, 0, 0]", DRIVE.format(name)) if kind == "drive" else model(
            folder, LAW.format(kind, name)
        )
    assert "hidden" not in str(error.value)
    assert Path(name).name in str(error.value)


@pytest.mark.parametrize(
    "element",
    [
        '[[controllers]]\nname = "c"\nlaw = { kind = "curve", csv = "../secret.txt" }\ninputs = { input = "coordinate:hinge" }\noutputs = { command = "effort:hinge" }\n',
        '[[forces]]\nname = "f"\na = "ground"\nb = "rod"\nat = [0, 0, 0]\nlaw = "flexible-ring-bearing"\ncompliance = "../secret.txt"\n',
        '[[joints]]\nname = "j"\nkind = "point-on-curve"\na = "ground"\nb = "rod"\ncurve = { csv = "../secret.txt" }\n',
    ],
    ids=["controller", "ring", "curve"],
)
def test_other_files_of_numbers_outside_the_folder_are_not_quoted(element, tmp_path):
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "inside").mkdir()
    with pytest.raises(ModelFileError, match=r"secret.txt, line \d+.*outside the folder") as error:
        model(tmp_path / "inside", element)
    assert "hidden" not in str(error.value)


def test_tables_inside_the_folder_are_quoted(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("1, 2\nwrong\n")
    with pytest.raises(ModelFileError, match=r"a.txt, line 2: .*found 'wrong'"):
        model(tmp_path, "at = [0, 0, 0]", DRIVE.format("sub/a.txt"))


@pytest.mark.parametrize(
    ("ending", "line", "content"),
    [
        ("inp", "*NODE\n1, 0, 0, 0\n*INCLUDE, INPUT=../secret.txt\n", SECRET),
        ("inp", "*NODE, INPUT=../secret.txt\n", SECRET),
        ("inp", BLOCK + "*NSET, NSET=A\n*INCLUDE, INPUT=../secret.txt\n", SECRET),
        ("bdf", "INCLUDE '../secret.txt'\n", "GRID,hidden,0,0,0,0\n"),
    ],
)
def test_decks_outside_the_folder_are_named_and_not_quoted(ending, line, content, tmp_path):
    (tmp_path / "secret.txt").write_text(content)
    (tmp_path / "inside").mkdir()
    path = tmp_path / "inside" / f"part.{ending}"
    path.write_text(line)
    with pytest.raises(MeshError, match=r"outside its folder .*secret.txt") as error:
        fem.read_mesh(path)
    assert "hidden" not in str(error.value).lower()
    assert "root:x" not in str(error.value).lower()


# model files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 5000 + "]" * 5000,
        "x = " + "{a=" * 3000 + "1" + "}" * 3000,
        "[" + ".".join("a" * 5000) + "]\nb = 1",
    ],
)
def test_deep_tables_are_refused(text, tmp_path):
    with pytest.raises(ModelFileError, match=r"model.toml.*(inside each other too deep|key 'a')"):
        model(tmp_path, "\n" + text + "\n")


def test_numbers_of_thousands_of_digits_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"model.toml is not valid TOML: .*5000 digits"):
        model(tmp_path, "mass = 1", "mass = " + "9" * 5000)


@pytest.mark.parametrize("factor", ["derivatives = 1000000", "derivatives = 31", "derivatives = 1"])
def test_smooth_steps_have_a_largest_number_of_derivatives(factor, tmp_path):
    load = '[[loads]]\nname = "l"\nplace = "rod"\nforce = [1, 0, 0]\nfactor = { kind = "smooth-step", duration = 1.0, height = 1.0, X }\n'
    with pytest.raises(ModelFileError, match=r"loads\[1\] \('l'\).factor.derivatives"):
        model(tmp_path, load.replace("X", factor))


def test_a_table_whose_spline_overflows_is_refused():
    with pytest.raises(flexmb.errors.MotionError, match="spline through a table is not finite"):
        table([0, 1e-300, 2e-300, 3e-300], [0, 1e300, -1e300, 1e300])
    with pytest.raises(flexmb.errors.MotionError, match="finite points"):
        table([0, 1, 2, np.inf], [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("gravity", "gravity = [0, -9.81, 0]", "gravity = [0, -1e200, 0]"),
        ("bodies.rod", "bodies.rod = {", "bodies.rod = { position = [1e200, 0, 0],"),
        ("joints[1] ('hinge')", "at = [0, 0, 0]", "at = [1e200, 0, 0]"),
    ],
)
def test_places_that_overflow_are_refused_by_key(key, old, new, tmp_path):
    with pytest.raises(ModelFileError, match=rf"model.toml: key '{re.escape(key)}'.* at most 1e\+100"):
        model(tmp_path, old, new)


@pytest.mark.parametrize(
    "unit", ["mm^" + "9" * 400, "kg^99", "GPa^9 GPa^9 GPa^9 GPa^9 GPa^9", "1/GPa^9/GPa^9/GPa^9/GPa^9/GPa^9"]
)
def test_units_that_overflow_are_none(unit, tmp_path):
    """The title of a column with such a unit was an OverflowError."""
    assert read_unit(unit) is None
    (tmp_path / "gas.csv").write_text(f"travel,force\n{unit},N m\n0,1\n1,2\n2,4\n3,5\n")
    law = 'joint_springs = [{ name = "gas", joint = "hinge", law = { kind = "table", csv = "gas.csv", outside = "hold" } }]'
    (tmp_path / "model.toml").write_text('units = "SI"\n' + law + "\n" + PENDULUM)
    assert load_model(tmp_path / "model.toml").system.units == "SI"


@pytest.mark.parametrize("section", ["circle=1e80", "tube=1e300,0", "rectangle=1e200,1", "box=1e200,1e200,1"])
def test_sections_that_overflow_are_refused(section):
    with pytest.raises(fem.MaterialError, match=r"section needs a positive .* of at most 1e\+50; found 1e\+"):
        beam_section(section)


# times and studies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": 1e-15}, "step = 1e-15 makes 5e[+]13 steps"),
        ({"max_step": 1e-15}, "max_step = 1e-15 makes 5e[+]13 steps"),
        ({"method": "radau", "step": 1e-300}, "step = 1e-300 makes"),
        ({"step": 1e-3, "output_step": 1e-15}, "output_step = 1e-15 stores 5e[+]13 times"),
    ],
)
def test_steps_that_no_one_can_compute_are_refused(options, message, tmp_path):
    with pytest.raises(IntegratorError, match=message):
        flexmb.simulate(model(tmp_path, "\n").system, 0.05, **options)


def test_a_duration_whose_square_vanishes_is_refused(tmp_path):
    with pytest.raises(IntegratorError, match=r"duration must be at least 1e-100; found 1e-300"):
        flexmb.simulate(model(tmp_path, "\n").system, 1e-300)


def test_an_endless_duration_is_refused(tmp_path):
    with pytest.raises(IntegratorError, match=r"makes 1e\+303 steps"):
        flexmb.simulate(model(tmp_path, "\n").system, 1e300, step=1e-3)


def test_a_motion_beyond_the_memory_is_refused(tmp_path, monkeypatch):
    system = model(tmp_path, "\n").system
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 10_000})())
    with pytest.raises(HistoryError, match=r"51 stored times takes .* GB of memory are available"):
        flexmb.simulate(system, 0.05, step=1e-3)
    flexmb.simulate(system, 0.05, step=1e-3, history=tmp_path / "run.history")


def test_many_steps_between_stored_times_are_those_of_few(tmp_path, monkeypatch):
    """Functions of time are tabulated in blocks; the bits do not depend on them."""
    monkeypatch.setattr("flexmb.integrators.alpha_run.LONGEST_RUN", 7)
    system = load_model(MODELS / "rotor.toml").system
    few = flexmb.simulate(system, 0.05, step=1e-3, output_step=0.05)
    monkeypatch.undo()
    many = flexmb.simulate(system, 0.05, step=1e-3, output_step=0.05)
    assert np.abs(few.q - many.q).max() < 1e-13 * np.abs(many.q).max()


@pytest.mark.parametrize("text", ["a.b=1:2:1000000000", "a.b=1:2:-5", "a.b=1:2:0", "a.b=nan:2:3", "a.b=1:inf:3"])
def test_values_of_a_command_line_have_a_limit(text):
    with pytest.raises(StudyError, match="COUNT is from 1 to 1000000"):
        values_of(text)


def test_a_range_of_a_command_line_without_a_count_is_refused():
    """And a text with a colon that is no range, such as a material with its units, is a value."""
    with pytest.raises(StudyError, match="FIRST:LAST:COUNT; the COUNT of values is missing"):
        values_of("bodies.crank.mass=1:2.5")
    assert values_of("bodies.rod.material=steel:mm") == ("bodies.rod.material", ["steel:mm"])


@pytest.mark.parametrize("text", ["1:100:10:5", "1", "100:1", "0:5", "1:2:1", "1:2:x"])
def test_bands_of_a_command_line_have_two_or_three_parts(text):
    with pytest.raises(StudyError, match="--band expects FIRST:LAST or FIRST:LAST:COUNT"):
        span_of("--band", text, 400)


def test_bands_and_studies_have_a_limit():
    with pytest.raises(StudyError, match="COUNT from 2 to 1000000"):
        span_of("--band", "1:100:1000000000", 400)
    with pytest.raises(StudyError, match=r"has 1e\+10 variants; at most 1000000"):
        full_factorial(a=range(100_000), b=range(100_000))
    with pytest.raises(StudyError, match="at most 1000000"):
        full_factorial(a=iter(int, 1))
    with pytest.raises(StudyError, match="at most 1000000"):
        parameter_study(dict, ({"a": k} for k in iter(int, 1)))


# devices, pipes, huge files ---------------------------------------------------------------------------------------------


def pipes(folder):
    made = folder / "pipe"
    os.mkfifo(made)
    return made


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("what", ["pipe", "/dev/zero", "folder"])
def test_devices_pipes_and_folders_are_no_files(what, tmp_path):
    path = {"pipe": lambda: pipes(tmp_path), "folder": lambda: tmp_path}.get(what, lambda: Path(what))()
    (tmp_path / "in").mkdir()
    body = flexmb.rigid_body("x", mass=1, inertia=(1, 1, 1))
    for act in (
        lambda: load_model(path),
        lambda: load_body(path),
        lambda: fem.read_mesh(path),
        lambda: fem.read_matrix_market(path),
        lambda: flexmb.files.load_result(path),
        lambda: save_body(body, path),
        lambda: flexmb.table_from_csv(path),
        lambda: parameter_study(lambda a: {"x": a}, [{"a": 1.0}], checkpoint=path, workers=1),
        lambda: model(tmp_path / "in", "at = [0, 0, 0]", DRIVE.format(path)),
    ):
        with pytest.raises(FlexmbError, match=re.escape(str(path.name))):
            act()


def brick():
    return fem.Model(block("hexahedron", (1, 1, 1), (1, 1, 1)), fem.Material.steel()).with_interfaces(a="x0")


WRITERS = {
    ".h5": lambda path: save_body(flexmb.rigid_body("x", mass=1, inertia=(1, 1, 1)), path),
    ".mat": lambda path: fem.write_matrices(brick(), path),
    ".mapping": lambda path: fem.write_matrices(brick(), path),
    ".npz": lambda path: reduction.craig_bampton(brick(), 1).save(path),
    ".vtu": lambda path: fem.write_mesh(brick().mesh, path),
    ".json": lambda path: KeptOutcomes(path, {"model": "1"}).close(),
    ".csv": lambda path: RingCompliance(np.eye(5)).write_csv(path),
    ".png": lambda path: save_figure(plt.figure(), path),
    ".gif": lambda path: write_animation([np.zeros((8, 8, 3), np.uint8)] * 2, Path(path), 10),
    ".history": lambda path: flexmb.simulate(PENDULUM_FILE.system, 0.05, step=1e-2, history=path),
}
READERS = {
    ".toml": load_model, ".h5": load_body, ".npz": fem.read_matrices, ".mtx": fem.read_matrix_market, ".inp": fem.read_mesh,
    ".step": fem.read_mesh, ".stl": flexmb.contact.mesh, ".csv": flexmb.table_from_csv, ".op2": fem.read_nastran,
}  # fmt: skip


@posix
@pytest.mark.parametrize("ending", [*WRITERS, *READERS], ids=lambda ending: ending[1:])
def test_names_that_no_file_can_have_are_told(ending, tmp_path):
    """Too long, with a null character, a loop of links, inside a file, of a folder that is not there, nothing."""
    (tmp_path / "file").write_text("x")
    (tmp_path / f"loop{ending}").symlink_to(tmp_path / f"loop{ending}")
    (tmp_path / f"broken{ending}").symlink_to(tmp_path / "not" / f"there{ending}")
    for name in (f"{'n' * 300}{ending}", f"a\0b{ending}", f"broken{ending}", f"file/x{ending}", f"not/there{ending}"):
        for act in (acts[ending] for acts in (WRITERS, READERS) if ending in acts):
            with pytest.raises(FlexmbError):
                act(f"{tmp_path}/{name}")
    if ending in READERS:
        with pytest.raises(FlexmbError):
            READERS[ending](tmp_path / f"loop{ending}")
    assert {p.name for p in tmp_path.iterdir()} == {"file", f"loop{ending}", f"broken{ending}"}


@posix
@pytest.mark.parametrize("ending", WRITERS, ids=lambda ending: ending[1:])
def test_long_and_foreign_names_are_written(ending, tmp_path):
    """Names as long as the system allows, letters of other scripts, and bytes that are no text."""
    other = os.fsdecode(b"\xff\xfe" + ending.encode())
    for name in ("n" * (255 - len(ending)) + ending, f"Größe Ω 日本{ending}", other):
        WRITERS[ending](f"{tmp_path}/{name}")
        assert [p for p in os.listdir(tmp_path) if p == name or ending == ".mapping"]
        for path in tmp_path.iterdir():
            path.unlink()


def test_huge_texts_are_refused_by_their_size(tmp_path):
    for name, read in (
        ("big.toml", load_model),
        ("big.inp", fem.read_mesh),
        ("big.bdf", fem.read_mesh),
        ("big.csv", flexmb.table_from_csv),
    ):
        with (tmp_path / name).open("wb") as file:
            file.truncate(10**12)
        with pytest.raises(FlexmbError, match=rf"{name} takes 1e\+06 MB; at most"):
            read(tmp_path / name)


# containers ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def container(tmp_path):
    path = tmp_path / "bad.h5"
    with h5py.File(path, "w") as file:
        file.attrs.update({"kind": "flexmb body", "format": 1, "writer": "x", "checksum": 0})
        group = file.create_group("content", track_order=True)
        group.attrs["type"] = "dictionary"
    (tmp_path / "body.h5").write_bytes(_saved_body())
    return path


def make_external_link(file):
    file["content"]["x"] = h5py.ExternalLink("body.h5", "/content")


def make_external_root(file):
    del file["content"]
    file["content"] = h5py.ExternalLink("body.h5", "/content")


def make_loop(file):
    file["content"]["x"] = h5py.SoftLink("/content")


def make_hard_loop(file):
    file["content"]["x"] = file["content"]


def make_raw_file(file):
    file["content"].create_dataset("x", (10,), "f8", external=[("body.h5", 0, 80)])


def make_virtual(file):
    layout = h5py.VirtualLayout((4,), "f8")
    layout[:] = h5py.VirtualSource("body.h5", "content/invariants/s0", (4,))
    file["content"].create_virtual_dataset("x", layout)


def make_empty_giant(file):
    file["content"].create_dataset("x", (10**11,), "f8", chunks=(10**6,), compression="gzip")


def make_many_empty(file):
    """None of them claims more than an array of this file could hold, and all of them more."""
    for k in range(40):
        file["content"].create_dataset(f"x{k}", (10**6,), "f8", chunks=(10**5,), compression="gzip")


def make_deep(file):
    group = file["content"]
    for _ in range(60):
        group = group.create_group("x", track_order=True)
        group.attrs["type"] = "dictionary"


def make_laughs(file):
    """Forty groups, each of which holds the next one twice: 10^12 to read."""
    group = file["content"]
    for _ in range(40):
        group["a"] = file.create_group(None, track_order=True)
        group["a"].attrs["type"] = "dictionary"
        group["b"] = group["a"]
        group = group["a"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (make_external_link, "a link"),
        (make_external_root, "a link"),
        (make_loop, "a link"),
        (make_deep, "more than 50 deep"),
        (make_hard_loop, "two names for the same data"),
        (make_laughs, "two names for the same data"),
        (make_many_empty, r"claims .* MB for /content/x\d+ and the arrays before it"),
        (make_raw_file, "data of another file"),
        (make_virtual, "data of another file"),
        (make_empty_giant, r"claims 8e\+05 MB"),
    ],
)
def test_hdf5_files_lead_nowhere_else(make, message, container, monkeypatch):
    monkeypatch.chdir(container.parent)
    with h5py.File(container, "a") as file:
        make(file)
    with pytest.raises(FileError, match=rf"bad.h5.*{message}"):
        load_body(container)


def test_archives_of_many_zeros_are_refused(tmp_path, monkeypatch):
    with (
        zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("stiffness.npy", "w", force_zip64=True) as file,
    ):
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (1_000_000,)})
        file.write(bytes(8_000_000))
    monkeypatch.setattr("flexmb.files.bodies.array_file.LARGEST", 10**6)
    with pytest.raises(FileError, match=r"bomb.npz holds 8 MB of arrays, of which stiffness.*at most 1 MB"):
        load_body(tmp_path / "bomb.npz")


def packed_zeros(path, count):
    """A MATLAB file with a sparse matrix of zeros that claims `count` entries, and one that is dense."""
    words = lambda *values: struct.pack(f"<{len(values)}I", *values)  # noqa: E731
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    inside = (
        words(14, 12 * count + 80, 6, 8, 5, count, 5, 8, count, 1, 1, 1) + b"M".ljust(8, b"\0") + words(5, 4 * count)
    )
    element = zlib.compress(inside + bytes(1000))
    path.write_bytes(head + words(15, len(element)) + element)
    return path


def test_packed_zeros_of_matlab_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    path = packed_zeros(tmp_path / "bomb.mat", 2**28)
    with pytest.raises(FileError, match=r"bomb.mat, unpacked, takes 3221 MB; at most 1074 MB can be read"):
        load_body(path)
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 4e9})())
    with pytest.raises(fem.errors.MatrixError, match=r"bomb.mat holds arrays of 3.22 GB; at most 50% of the 4 GB"):
        fem.read_matrices(path)


class Told:
    """Tells when it is unpickled."""

    def __reduce__(self):
        return open, ("unpickled", "w")


@pytest.mark.parametrize("read", [load_body, fem.read_matrices, lambda path: reduction.Basis.load(path, brick())])
def test_nothing_is_unpickled(read, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("M", "K", "Psi", "stiffness", "format", "mass")
    np.savez("x.npz", **dict.fromkeys(names, np.array([Told()], dtype=object)))
    with pytest.raises(FlexmbError, match=r"x\.npz"):
        read(tmp_path / "x.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["x.npz"]


# libraries that crash -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 \xbc\xff\n",
            "line 3: expected the characters of ASCII",
        ),
        (b"%%MatrixMarket matrix array real symmetric\n%\xe4\n3 3\n", "line 2: expected the characters of ASCII"),
        (b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1\0 2\n", "line 3: found the byte 0x00"),
        (
            b"%%MatrixMarket matrix coordinate real general\n2000000000 2000000000 1\n1 1 2\n",
            "each row of M and K has an entry",
        ),
        (b"%%MatrixMarket matrix array real general\n100000 100000\n1\n", "the file has 1 lines"),
        (b"%%MatrixMarket matrix coordinate real general\n-3 3 1\n1 1 2\n", "line 2: expected rows and columns"),
        (b"hello", "line 1 should begin"),
        (b"", "line 1 should begin"),
    ],
)
def test_damaged_matrix_market_files_do_not_end_the_process(content, message, tmp_path):
    (tmp_path / "K.mtx").write_bytes(content)
    with pytest.raises(fem.errors.MatrixError, match=f"K.mtx.*{message}"):
        fem.read_matrix_market(tmp_path / "K.mtx")


CUBE = block("tetra", (1.0, 1.0, 1.0), (1, 1, 1))


def part_for(reader, tmp_path):
    """A sound file of a part, and how it is read in a process of its own."""
    if reader == "VTK":
        fem.write_mesh(CUBE, tmp_path / "part.vtk")
        return tmp_path / "part.vtk", fem.read_mesh
    gmsh = pytest.importorskip("gmsh")
    path = tmp_path / "part.step"
    gmsh.initialize(readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.model.occ.addBox(0, 0, 0, 1, 1, 1)
        gmsh.model.occ.synchronize()
        gmsh.write(str(path))
    finally:
        gmsh.finalize()
    return path, lambda file: fem.mesh_cad(file, order=1)


PROGRAMS = {"VTK": ("fem.files.vtk_files", vtk_process), "Gmsh": ("fem.files.cad", cad_process)}


@pytest.mark.parametrize("reader", PROGRAMS)
def test_files_that_crash_or_block_their_reader_end_its_process_only(reader, tmp_path, monkeypatch):
    """The program that reads is replaced by one that crashes, by one that computes without end, and by one that waits:
    limits of processor time, and of the clock."""
    path, read = part_for(reader, tmp_path)
    caller, module = PROGRAMS[reader]
    program = tmp_path / "program.py"
    monkeypatch.setattr(module, "__file__", str(program))
    program.write_text("import os; os.kill(os.getpid(), 11)")
    with pytest.raises(MeshError, match=rf"{path.name}.*ended with code -11"):
        read(path)
    monkeypatch.setattr(f"{caller}.SECONDS", 0.5)
    monkeypatch.setattr("fem.user_files.alone.PATIENCE", 6.0)
    for blocks in ("while True: pass", "import time; time.sleep(1000)"):
        program.write_text(blocks)
        with pytest.raises(
            MeshError, match=rf"{reader} has not read .*{path.name}.*after .* s of processor time in .* s"
        ):
            read(path)


@pytest.mark.long
@pytest.mark.parametrize("reader", PROGRAMS)
def test_a_busy_machine_does_not_end_the_process_that_reads(reader, tmp_path, monkeypatch):
    """The limit counts the time of the process: it may wait twice as long, and then reads a sound file."""
    path, read = part_for(reader, tmp_path)
    caller, module = PROGRAMS[reader]
    (tmp_path / "reads.py").write_text(Path(module.__file__).read_text())
    (tmp_path / "program.py").write_text(
        "import time\n\n\ndef main(*words):\n    time.sleep(8.0)\n    import reads\n    reads.main(*words)\n"
    )
    monkeypatch.setattr(module, "__file__", str(tmp_path / "program.py"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(f"{caller}.SECONDS", 4.0)
    assert len(read(path).points) >= 8


@pytest.mark.long
def test_a_part_that_has_been_read_may_take_any_time_to_mesh(tmp_path, monkeypatch):
    """The limit is that of reading: many small cells are what the user asked for."""
    path, _ = part_for("Gmsh", tmp_path)
    (tmp_path / "reads.py").write_text(Path(cad_process.__file__).read_text())
    (tmp_path / "program.py").write_text(
        "import time\nfrom pathlib import Path\n\n\ndef main(output, path, made, read, *options):\n"
        "    Path(read).touch()\n    while time.process_time() < 4.0:\n        pass\n"
        "    import reads\n    reads.main(output, path, made, read, *options)\n"
    )
    monkeypatch.setattr(cad_process, "__file__", str(tmp_path / "program.py"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("fem.files.cad.SECONDS", 2.0)
    assert fem.mesh_cad(path, order=1).kinds["tetra"] > 8


def test_a_cell_that_names_points_that_are_not_there(tmp_path):
    text = "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 1 5\n4 0 1 2 {}\nCELL_TYPES 1\n10\n"
    path = tmp_path / "part.vtk"
    path.write_text(text.format(3))
    assert fem.read_mesh(path).kinds == {"tetra": 1}
    path.write_text(text.format(7))
    with pytest.raises(MeshError, match=r"part.vtk.*(points 0 to 7; it holds 4|VTK cannot read)"):
        fem.read_mesh(path)


def test_coordinates_whose_volume_overflows_are_refused(tmp_path):
    path = tmp_path / "part.inp"
    path.write_text(BLOCK.replace("3, 2, 0, 0", "3, 1e200, 0, 0"))
    with pytest.raises(MeshError, match=r"number 3 in the file\) has the coordinates"):
        fem.read_mesh(path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no such signal")
def test_the_process_that_reads_ends_with_the_one_that_waits_for_it(tmp_path):
    program, started = tmp_path / "sleeps.py", tmp_path / "started"
    program.write_text(
        f"import os, time\ndef main(output):\n    open({str(started)!r}, 'w').write(str(os.getpid()))\n    time.sleep(60)\n"
    )
    words = f"from fem.user_files import alone; alone.ended({str(program)!r}, seconds=60, memory=2**32)"
    waiting = subprocess.Popen([sys.executable, "-c", words], cwd=Path(__file__).parents[2])
    wait_until(lambda: started.exists() and started.read_text().isdigit(), seconds=30)
    reader = psutil.Process(int(started.read_text()))
    waiting.kill()
    waiting.wait()
    wait_until(lambda: not reader.is_running() or reader.status() == psutil.STATUS_ZOMBIE, seconds=30)
