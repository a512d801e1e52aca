"""Bodies, results and ParaView files: round trips are exact, damage is noticed, a failed write changes nothing."""

import errno
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import fields, is_dataclass, replace

import h5py
import meshio
import numpy as np
import pytest
from mechanisms import double_pendulum, random_flexible_body

import fem
import flexmb
import reduction
from fem.mesh.mesh import CellBlock, Mesh
from flexmb.bodies.body import Body
from flexmb.errors import FileError, MotionError
from flexmb.files import export_vtk, load_body, load_result, save_body, save_result
from flexmb.files.storage.tree import FORMAT, read_tree, write_tree
from flexmb.mechanism.time_functions import TimeFunction

RNG = np.random.default_rng(11)


def differences(a, b, where=""):
    """Paths at which two values differ in type, shape or content; functions of time are compared by other tests."""
    if isinstance(a, TimeFunction):
        return [] if isinstance(b, TimeFunction) else [where]
    if is_dataclass(a):
        names = [f.name for f in fields(a)]
        return [d for n in names for d in differences(getattr(a, n), getattr(b, n), f"{where}.{n}")]
    if isinstance(a, dict):
        if list(a) != list(b):
            return [f"{where}: {list(a)} and {list(b)}"]
        return [d for key in a for d in differences(a[key], b[key], f"{where}[{key!r}]")]
    if isinstance(a, list | tuple):
        if type(a) is not type(b) or len(a) != len(b):
            return [f"{where}: {a!r} and {b!r}"]
        return [d for k, (x, y) in enumerate(zip(a, b, strict=True)) for d in differences(x, y, f"{where}[{k}]")]
    if isinstance(a, np.ndarray):
        same = isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
        return [] if same else [f"{where}: {a!r} and {b!r}"]
    return [] if a == b and isinstance(b, type(a) | type(b)) else [f"{where}: {a!r} and {b!r}"]


def small_mesh():
    """A hexahedron with a tetrahedron on its top, with every kind of set and numbers of its own."""
    cube = np.array([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))], dtype=float)
    points = np.vstack([cube, [[0.3, 0.3, 2.0]]])
    cells = (CellBlock("hexahedron", np.arange(8)[None]), CellBlock("tetra", np.array([[4, 5, 7, 8]])))
    return Mesh(
        points,
        cells,
        node_sets={"low/left": np.array([0, 3]), "empty": np.zeros(0, dtype=int)},
        cell_sets={"top": np.array([1])},
        face_sets={"wall": np.array([[0, 2], [1, 0]])},
        node_ids=np.arange(9) + 100,
        name="brick",
        warnings=("one line was dropped", ""),
    )


def meshed_body(rng=RNG):
    """A random flexible body whose recovered displacements live on `small_mesh`."""
    body = random_flexible_body(rng, name="brick", damping=0.4, second_order=True)
    return replace(body, mesh=small_mesh(), Psi=rng.normal(size=(27, body.modes)).astype(np.float32))


BODIES = {
    "rigid": lambda: flexmb.rigid_body("crank/1", mass=2, inertia=(1, 2, 2.5), centre=(0.1, 0, 0), points={"a.b": (1, 0, 0), "a": (0, 1, 0)}),
    "flexible": lambda: random_flexible_body(RNG, second_order=True),
    "meshed": meshed_body,
    "meshed, made rigid": lambda: meshed_body().rigid(),
}  # fmt: skip


def everything():
    """A mechanism with every sort of part: joints, drivers, initial speed, springs, bushing, motor, loads."""
    system = flexmb.System(gravity=(0.1, -9.81, 0.2), name="every part")
    arm = system.add(meshed_body(np.random.default_rng(3)), name="arm")
    disc = system.add(flexmb.rigid_body("disc", mass=0.3, inertia=(0.01, 0.01, 0.02)), position=(1, 0, 0))
    cart = system.add(flexmb.rigid_body("cart", mass=1, inertia=(0.1, 0.1, 0.1)), position=(0, 2, 0))
    bob = system.add(flexmb.rigid_body("bob", mass=1, inertia=(0.1, 0.1, 0.1), points={"eye": (0, 0.1, 0)}), position=(0, 3, 0))  # fmt: skip
    system.revolute("hinge", system.ground.at((0, 0, 0)), arm["start"], axis=(0, 0, 1))
    system.cylindrical("pin", arm["end"], disc, axis=(0, 0, 1))
    system.drive("hinge", flexmb.time_functions.harmonic(0.2, 3.0))
    system.set_speed("pin", 2.0, dof="rotation")
    system.prescribe(
        "shaker", system.ground.at((0, 2, 0)), cart, x=flexmb.time_functions.smooth_step(0, 0.02, 0.1, derivatives=3)
    )
    system.bushing("rubber", cart, bob["eye"], stiffness=[900.0] * 6, damping=[1.0] * 6)
    system.spring_damper("spring", system.ground.at((1, 4, 0)), bob.at((0, 0, 0)), stiffness=50, damping=0.5)
    system.joint_spring("clock spring", "pin", stiffness=0.3, free=0.1, dof="rotation")
    system.motor("motor", "pin", flexmb.time_functions.pulse(0.0, 0.01, 0.2), damping=0.01, dof="rotation")
    system.load(
        "wind", bob.at((0, 0, 0.1)), force=(1, 2, 3), moment=(0, 0.1, 0), factor=flexmb.time_functions.harmonic(1, 5)
    )
    system.load("jet", arm["end"], force=(0, 0.5, 0), follower=True)
    return system


@pytest.fixture(scope="module")
def result():
    return flexmb.simulate(everything(), 0.03, step=5e-4)


@pytest.mark.parametrize("kind", BODIES)
def test_a_loaded_body_equals_the_saved_one(kind, tmp_path):
    body = BODIES[kind]()
    assert isinstance(body, Body)
    assert differences(body, load_body(save_body(body, tmp_path / "body.h5"))) == []


TREES = {
    "numbers": {"i": -(2**62), "f": 0.1, "tiny": 5e-324, "inf": np.inf, "t": True, "n": None},
    "texts": {"plain": "a", "empty": "", "greek": "\u03b7 = 1", "lines": "a\nb", "long": "x" * 100_000},
    "names": {"a/b": 1, "": 2, ".": 3, "..": 4, "%": 5, "%2E": 6, "Stra\u00dfe [1]": 7, "z": 8, "a": 9},
    "nests": {"empty": {}, "list": [], "deep": [{"x": [1, None, {"y": "z"}]}, [], "s"], "many": list(range(12))},
    "arrays": {
        "f": RNG.normal(size=(3, 4)), "small": np.zeros((3, 0)), "long": RNG.normal(size=(90, 90)).astype(np.float32),
        "i": np.arange(5, dtype=np.int32), "b": np.array([True, False]), "fortran": np.asfortranarray(RNG.normal(size=(80, 70))),
    },
}  # fmt: skip


@pytest.mark.parametrize("content", TREES)
def test_a_tree_comes_back_with_types_names_and_order(content, tmp_path):
    tree = TREES[content]
    assert differences(tree, read_tree(write_tree(tmp_path / "x.h5", "test", tree), "test")) == []


def test_a_loaded_result_equals_the_saved_one(result, tmp_path):
    loaded = load_result(save_result(result, tmp_path / "result.h5"))
    assert differences(result, loaded) == []
    assert len(loaded.mechanism.functions) == len(result.mechanism.functions) == 4
    for joint in result.mechanism.joints:
        assert np.array_equal(result.reaction(joint.name), loaded.reaction(joint.name))
    for marker in ("arm.end", "bob.eye"):
        assert np.array_equal(result.position(marker), loaded.position(marker))
        assert np.array_equal(result.deflection(marker), loaded.deflection(marker))


def test_saving_a_loaded_result_again_changes_nothing(result, tmp_path):
    once = load_result(save_result(result, tmp_path / "1.h5"))
    twice = load_result(save_result(once, tmp_path / "2.h5"))
    assert differences(once, twice) == []
    for f, g, original in zip(once.mechanism.functions, twice.mechanism.functions, result.mechanism.functions, strict=True):  # fmt: skip
        assert [f(t) for t in result.t] == [g(t) for t in result.t] == [original(t) for t in result.t]
        assert f.description == g.description == original.description + (" (stored values)" if f.stored_times else "")


def test_a_loaded_mechanism_moves_again_in_the_same_way(result, tmp_path):
    loaded = load_result(save_result(result, tmp_path / "result.h5"))
    again = flexmb.simulate(loaded.mechanism, 0.03, step=5e-4)
    assert np.abs(again.q - result.q).max() < 1e-8 * np.abs(result.q).max()


def test_stored_functions_are_interpolated_with_order_six(tmp_path):
    """Quintic Hermite: value h^6, rate h^5, acceleration h^4; nothing is known outside the stored times."""
    exact = replace(flexmb.time_functions.harmonic(0.7, 1.0, 0.3), made_by=None)  # as one of a user
    errors = []
    for steps in (8, 16, 32):
        system = double_pendulum()
        system.drive("hinge", exact)
        result = flexmb.simulate(system, 1.0, step=1 / 32, output_step=1 / steps)
        (stored,) = load_result(save_result(result, tmp_path / "result.h5")).mechanism.functions
        t = np.linspace(0, 1, 301)
        errors.append(np.abs([np.subtract(stored(x), exact(x)) for x in t]).max(axis=0))
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(slopes - [6, 5, 4]).max() < 0.3, slopes
    with pytest.raises(MotionError, match=r"defined from t = 0\.0 to 1\.0 only; it was evaluated at 1\.1"):
        stored(1.1)


# damage -------------------------------------------------------------------------------------------------------------


def foreign_hdf5(path):
    with h5py.File(path, "w") as file:
        file["x"] = 1


def with_attribute(name, value):
    def make(path):
        save_body(meshed_body(), path)
        with h5py.File(path, "r+") as file:
            file.attrs[name] = value

    return make


def with_other_array(path):
    save_body(meshed_body(), path)
    with h5py.File(path, "r+") as file:
        file["content/stiffness"][0] *= 1.0 + 1e-15


def with_other_name(path):
    save_body(meshed_body(), path)
    with h5py.File(path, "r+") as file:
        file.move("content/mesh/cell_sets/top", "content/mesh/cell_sets/tip")


def without(name):
    def make(path):
        save_body(meshed_body(), path)
        with h5py.File(path, "r+") as file:
            del file[name]

    return make


WRONG_FILES = {
    "absent": (lambda path: None, ["There is no body file", "wrong.h5", "looked in"]),
    "text": (lambda path: path.write_text("hello"), ["wrong.h5", "not an HDF5 file"]),
    "empty": (lambda path: path.write_bytes(b""), ["wrong.h5", "not an HDF5 file"]),
    "of another program": (foreign_hdf5, ["is not a flexmb body file", "another program"]),
    "of another kind": (lambda path: write_tree(path, "result", {}), ["is not a flexmb body file", "flexmb result"]),
    "newer": (with_attribute("format", FORMAT + 1), [f"format {FORMAT + 1}", f"reads format {FORMAT}", "Update flexmb"]),
    "older": (with_attribute("format", 0), ["format 0", "Write it again"]),
    "changed in one bit": (with_other_array, ["damaged", "checksum"]),
    "with a set renamed": (with_other_name, ["damaged", "checksum"]),
    "without an entry": (without("content/stiffness"), ["damaged", "checksum"]),
    "without its content": (without("content"), ["cannot be read", "damaged"]),
    "of a wrong shape": (lambda path: write_tree(path, "body", {"name": "x"}), ["does not hold a body", "invariants"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG_FILES)
def test_a_wrong_file_is_refused_with_its_name_and_the_reason(kind, tmp_path):
    make, words = WRONG_FILES[kind]
    path = tmp_path / "wrong.h5"
    make(path)
    with pytest.raises(FileError) as caught:
        load_body(path)
    for word in words:
        assert word in str(caught.value)


def test_a_truncated_file_is_refused(tmp_path):
    whole = save_body(meshed_body(), tmp_path / "whole.h5").read_bytes()
    cut = tmp_path / "cut.h5"
    for part in np.linspace(0, 1, 40, endpoint=False):
        cut.write_bytes(whole[: int(part * len(whole))])
        with pytest.raises(FileError, match=r"cut\.h5"):
            load_body(cut)


def test_a_flipped_byte_is_noticed_or_harmless(tmp_path):
    body = meshed_body()
    whole = save_body(body, tmp_path / "whole.h5").read_bytes()
    damaged = tmp_path / "damaged.h5"
    noticed = 0
    for place in np.random.default_rng(5).integers(0, len(whole), 300):
        content = bytearray(whole)
        content[place] ^= 0xFF
        damaged.write_bytes(content)
        try:
            loaded = load_body(damaged)
        except FileError:
            noticed += 1
        else:
            assert differences(body, loaded) == [], place
    assert noticed > 0


# failed writes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_as_it_was(step, tmp_path, monkeypatch):
    path = save_body(meshed_body(), tmp_path / "body.h5")
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(FileError) as caught:
        save_body(random_flexible_body(RNG), path)
    for word in ("body.h5", "No space left on device", "MB", "nothing was changed", "Free disk space"):
        assert word in str(caught.value)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["body.h5"]


LIMITED = """
import resource, signal, sys
import numpy as np
from flexmb.files.storage.tree import write_tree
from flexmb.errors import FileError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    write_tree(sys.argv[1], "test", {"noise": np.random.default_rng(0).normal(size=100_000)})
except FileError as error:
    print("refused:", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
def test_a_file_that_the_system_refuses_to_grow_leaves_the_old_one(tmp_path):
    path = write_tree(tmp_path / "x.h5", "test", {"a": 1})
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True)
    assert "refused:" in done.stdout
    assert "It needs 0.7" in done.stdout
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.h5"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(
        FileError, match=r"Cannot write body file .*body\.h5: No such file or directory.* folder .*nowhere"
    ):
        save_body(meshed_body(), tmp_path / "nowhere" / "body.h5")


def test_a_text_that_hdf5_cannot_hold_is_refused(tmp_path):
    with pytest.raises(FileError, match="NUL"):
        save_body(replace(meshed_body(), name="a\0b"), tmp_path / "body.h5")
    assert list(tmp_path.iterdir()) == []


# ParaView -----------------------------------------------------------------------------------------------------------


def test_paraview_files_hold_moved_and_deformed_points(result, tmp_path):
    collection = export_vtk(result, tmp_path / "motion", every=20)
    entries = ET.parse(collection).getroot().findall("./Collection/DataSet")
    assert [float(e.get("timestep")) for e in entries] == list(result.t[::20])
    assert {e.get("name") for e in entries} == {"arm"}
    body = result.mechanism.bodies[0]
    for entry, q in zip(entries, result.q[::20], strict=True):
        frame = meshio.read(collection.parent / entry.get("file"))
        w, x, y, z = q[3:7]
        R = np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ])  # fmt: skip
        u = np.zeros((9, 3))
        for mode in range(body.modes):
            u += q[7 + mode] * body.Psi[:, mode].reshape(-1, 3)
        for node in range(9):
            assert frame.points[node] == pytest.approx(q[:3] + R @ (body.mesh.points[node] + u[node]), abs=1e-12)
            assert frame.point_data["displacement"][node] == pytest.approx(R @ u[node], abs=1e-12)
        assert [(b.type, b.data.tolist()) for b in frame.cells] == [
            (b.kind, b.connectivity.tolist()) for b in body.mesh.cells
        ]


def test_paraview_export_says_what_it_cannot_do(result, tmp_path):
    system = flexmb.System(name="stone")
    system.add(flexmb.rigid_body("stone", mass=1.0, inertia=(1, 1, 1)))
    rigid = flexmb.simulate(system, 0.01, step=1e-3)
    with pytest.raises(FileError, match="No body of 'stone' has a mesh or a shape"):
        export_vtk(rigid, tmp_path)
    with pytest.raises(FileError, match="every = 0"):
        export_vtk(result, tmp_path, every=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="Cannot write the ParaView files"):
        export_vtk(result, tmp_path / "file")


def test_the_mesh_of_a_kept_body_knows_its_instances_and_what_it_lost(tmp_path):
    """`mesh.numbered("B.3")` finds the node again, and no part is made of the mesh without its rigid link."""
    bar = fem.structured_meshes.block("hexahedron", (1.0, 0.2, 0.3), (4, 1, 1))
    points = np.vstack([bar.points, [1.1, 0.1, 0.15]])
    numbers = 200 + np.arange(len(points))
    link = fem.RigidLink(bar.nodes("x1"), reference=len(bar.points), source="RIGID BODY, line 9 of bar.inp")
    mesh = fem.Mesh(points, bar.cells, node_ids=numbers, constraints=(link,), instances=(("A", 100), ("B", 200)))
    part = fem.Model(mesh, fem.Material.steel()).with_interfaces(tip=[len(bar.points)])
    body = flexmb.flexible_body(part, reduction.craig_bampton(part, 2))
    for _ in range(2):
        body = load_body(save_body(body, tmp_path / "bar.h5"))
        assert body.mesh.instances == mesh.instances
        assert body.mesh.numbered("B.3").tolist() == [3]
        again = fem.Model(body.mesh, fem.Material.steel())
        with pytest.raises(fem.MeshError, match=r"lost: RIGID BODY, line 9 of bar\.inp"):
            reduction.modal(again, 2)
