"""Processes that are killed, share a folder or a file, or have no place to write: nothing is lost but the last piece, and nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from pathlib import Path

import numpy as np
import psutil
import pytest

import fem
import flexmb
from fem.errors import MeshError
from fem.linear_algebra.factorisations import mumps
from fem.linear_algebra.factorisations.solution_cache import HELD, clear_cache
from fem.linear_algebra.factorisations.storage import PREFIX, SolverOptions, private_directory
from fem.mesh.structured_meshes import block
from fem.user_files import machine, owner, unfinished, written_whole
from fem.user_files.writing import FOLDER
from flexmb.errors import StudyError
from flexmb.files import save_body
from flexmb.files.storage.tree import read_tree, write_tree
from flexmb.study import full_factorial, parameter_study
from flexmb.study.kept import KeptOutcomes
from flexmb.study.workers import packed

ROOT = Path(__file__).parents[2]
DEAD = 2**22 + 1
"""A number that no process has (Linux: at most 2^22)."""
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and locks of POSIX")


def started(code, *arguments, cwd=None, **options):
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | options
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=environment,
    )


# owners -----------------------------------------------------------------------------------------------------------------


def test_factors_of_other_hosts_stay_and_those_of_dead_processes_go(tmp_path):
    """Of four folders in a scratch that hosts share only that of a dead process of this machine is removed."""
    other = "0" * 8 if machine() != "0" * 8 else "1" * 8
    names = [
        f"{PREFIX}{mark}-x" for mark in (f"{machine()}-{DEAD}", f"{other}-{DEAD}", f"{other}-{os.getpid()}", owner())
    ]
    for name in (*names, f"{PREFIX}foreign"):
        (tmp_path / name).mkdir()
    directory, remove = private_directory(SolverOptions(scratch=tmp_path), 0)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*names[1:], f"{PREFIX}foreign", directory.name])
    remove()
    assert not directory.exists()


def test_unfinished_files_of_dead_processes_go(tmp_path):
    dead = tmp_path / f".run.h5.{machine()}-{DEAD}-abcd.part"
    others = [
        tmp_path / f".run.h5.00000000-{DEAD}-abcd.part",
        tmp_path / f".other.h5.{machine()}-{DEAD}-abcd.part",
        tmp_path / f".run.h5.{owner()}-abcd.part",
    ]
    for path in (dead, *others):
        path.write_bytes(b"x")
    write_tree(tmp_path / "run.h5", "test", {"a": 1})
    assert sorted(tmp_path.iterdir()) == sorted([*others, tmp_path / "run.h5"])


@posix
def test_a_name_of_a_killed_process_is_that_of_an_orphan(tmp_path):
    """A process is killed while it writes; the next one that writes removes what it left."""
    code = "import sys, time; from pathlib import Path; from fem.user_files import written_whole\nwith written_whole(Path(sys.argv[1])) as part:\n    part.write_text('half'); print('there', flush=True); time.sleep(60)"
    process = started(code, tmp_path / "table.csv")
    assert process.stdout.readline() == "there\n"
    process.kill()
    process.communicate()
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".part")
    with written_whole(tmp_path / "table.csv") as part:
        part.write_text("whole")
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_whole_or_as_before(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def fail(part):
        part.write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), written_whole(path) as part:
        fail(part)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    assert unfinished(path, ".msh").suffix == ".msh"
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    with written_whole(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"


@posix
@pytest.mark.parametrize(
    "ending", ["msh", *(pytest.param(name, marks=pytest.mark.long) for name in ("inp", "vtu", "vtk"))]
)
def test_a_mesh_that_a_limit_cuts_leaves_the_old_one(ending, tmp_path):
    """The system refuses to let the file grow, as a full disk does."""
    path = fem.write_mesh(block("hexahedron", (1, 1, 1), (1, 1, 1)), tmp_path / f"part.{ending}")
    before = path.read_bytes()
    code = """
import resource, signal, sys, fem
from fem.mesh.structured_meshes import block
mesh = block("hexahedron", (1, 1, 1), (12, 12, 12))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    fem.write_mesh(mesh, sys.argv[1])
except fem.MeshError as error:
    print("refused:", error)
"""
    said, errors = started(code, path).communicate(timeout=120)
    assert f"part.{ending}" in said, errors
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.long
@posix
def test_pictures_that_a_limit_cuts_leave_the_old_ones(tmp_path):
    """The system refuses to let files grow while a plot and animations are written."""
    names = [f"film.{ending}" for ending in ("png", "gif", "webp", "html")]
    for name in names:
        (tmp_path / name).write_bytes(b"old")
    code = """
import resource, signal, sys
from pathlib import Path
import matplotlib
import numpy as np
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from flexmb.errors import PictureError
from flexmb.plots.animation import write_animation
from flexmb.plots.axes import save_figure
noise = np.random.default_rng(0).integers(0, 255, (4, 200, 200, 3), np.uint8)
figure, axes = plt.subplots()
axes.imshow(noise[0])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
for path in map(Path, sys.argv[1:]):
    try:
        save_figure(figure, path) if path.suffix == ".png" else write_animation(noise, path, 10)
    except PictureError as error:
        print("refused:", error)
"""
    said, errors = started(code, *(tmp_path / name for name in names)).communicate(timeout=120)
    assert all(name in said for name in names), said + errors
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == dict.fromkeys(names, b"old")


# two processes ------------------------------------------------------------------------------------------------------------


def test_two_writers_of_one_file_leave_one_of_both(tmp_path):
    path = tmp_path / "table.csv"
    with written_whole(path) as first, written_whole(path) as second:
        first.write_text("one")
        second.write_text("two")
        assert first != second
        assert not path.exists()
    assert path.read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_two_studies_do_not_share_a_checkpoint(tmp_path):
    path = tmp_path / "kept.json"
    first = KeptOutcomes(path, {"model": "1"})
    with pytest.raises(StudyError, match=r"Another study stores its outcomes in .*kept.json now"):
        KeptOutcomes(path, {"model": "1"})
    first.put({"a": 1}, {"x": 2.0})
    first.close()
    assert KeptOutcomes(path, {"model": "1"}).get({"a": 1}) == {"x": 2.0}


@posix
def test_a_checkpoint_is_taken_before_it_is_written(tmp_path):
    """Of two studies that start at the same moment, one holds the file before anything stands in it."""
    fcntl = pytest.importorskip("fcntl")
    path = tmp_path / "kept.json"
    with path.open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        with pytest.raises(StudyError, match="Another study stores its outcomes"):
            KeptOutcomes(path, {"model": "1"})
    assert path.read_text() == ""


@posix
def test_solutions_that_another_process_uses_are_not_removed(tmp_path):
    code = """
import sys, time
from pathlib import Path
from fem.linear_algebra.factorisations import solution_cache as cache
cache._hold(Path(sys.argv[1])); print("held", flush=True); time.sleep(60)
"""
    kept = tmp_path / f"general-{'0' * 32}"
    kept.mkdir()
    (kept / "record.json").write_text("{}")
    process = started(code, tmp_path)
    assert process.stdout.readline() == "held\n"
    clear_cache(tmp_path)
    assert kept.exists()
    process.kill()
    process.communicate()
    clear_cache(tmp_path)
    assert not tmp_path.exists()


def test_damaged_solutions_are_computed_again(tmp_path):
    import scipy.sparse as sp

    from fem.linear_algebra.factor import factor

    A = sp.csr_matrix(np.diag([2.0, 3.0, 4.0]))
    solver, b = SolverOptions(checkpoint=tmp_path, backend="superlu"), np.ones((3, 1))
    x = factor(A, "positive-definite", solver=solver).solve(b)
    files = [p for p in tmp_path.rglob("*") if p.is_file() and p.name != HELD]
    assert len(files) == 2
    for content in (b"", b"{}", b"[1]", b"\x93NUMPY nonsense", b"\xff\xfe"):
        for file in files:
            file.write_bytes(content)
        np.testing.assert_array_equal(factor(A, "positive-definite", solver=solver).solve(b), x)


# workers ------------------------------------------------------------------------------------------------------------------


def threads_seen(a):
    """The largest number of threads of a library, among them those that the variant itself loads."""
    import scipy.linalg
    from threadpoolctl import threadpool_info

    scipy.linalg.lu_factor(np.eye(3))
    with fem_factor() as _:
        pass
    return {"threads": max(entry["num_threads"] for entry in threadpool_info())}


def fem_factor():
    import contextlib

    import scipy.sparse as sp

    from fem.linear_algebra.factor import factor

    factor(sp.csr_matrix(np.eye(50)), "positive-definite").solve(np.ones((50, 1)))
    return contextlib.nullcontext()


def test_every_variant_has_one_thread_also_the_first(monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    study = parameter_study(threads_seen, full_factorial(a=[1, 2]), workers=1)
    assert [row.outcome for row in study.rows] == [{"threads": 1.0}] * 2


def test_modules_beside_the_script_are_sent_to_other_hosts(tmp_path, monkeypatch):
    """A process that cannot import the module of the user runs the function that needs it."""
    (tmp_path / "helper_of_mine.py").write_text("FACTOR = 3\ndef times(a):\n    return FACTOR * a\n")
    monkeypatch.syspath_prepend(tmp_path)
    import helper_of_mine

    (tmp_path / "task").write_bytes(packed(lambda a: helper_of_mine.times(a), True))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))(14))"
    said, errors = started(code, tmp_path / "task", cwd="/").communicate(timeout=60)
    assert said.strip() == "42", errors
    (tmp_path / "task").write_bytes(packed(lambda a: helper_of_mine.times(a), False))
    said, errors = started(code, tmp_path / "task", cwd="/").communicate(timeout=60)
    assert "No module named 'helper_of_mine'" in errors


def test_workers_of_another_version_do_not_mix_in(monkeypatch):
    """One of two workers has an older flexmb: its variants have an error that says so, and no numbers."""
    from flexmb.study import many

    class Mixed(Executor):
        def submit(self, function, *arguments):
            future, version = Future(), "0.0.1" if arguments[-1]["a"] == 2 else many.__version__
            with monkeypatch.context() as there:
                there.setattr(many, "__version__", version)
                future.set_result(function(*arguments))
            return future

    study = parameter_study(lambda a: {"x": a}, full_factorial(a=[1, 2, 3]), executor=Mixed())
    assert [row.outcome for row in study.rows] == [{"x": 1.0}, None, {"x": 3.0}]
    assert "has flexmb 0.0.1, and the script has" in study.rows[1].error


@posix
@pytest.mark.long
def test_workers_end_with_their_killed_client(tmp_path):
    code = """
import sys, os, time
from pathlib import Path
from flexmb.study import parameter_study
def model(a):
    Path(sys.argv[1], f"{os.getpid()}.pid").touch(); time.sleep(30); return {"x": 1.0}
parameter_study(model, [{"a": k} for k in range(4)], workers=2)
"""
    script = tmp_path / "script.py"
    script.write_text(code.replace("sys.argv[1]", repr(str(tmp_path))))
    process = subprocess.Popen([sys.executable, script], env=os.environ | {"PYTHONPATH": str(ROOT)})
    for _ in range(600):
        workers = [int(p.stem) for p in tmp_path.glob("*.pid")]
        if len(workers) == 2:
            break
        time.sleep(0.2)
    assert len(workers) == 2
    process.kill()
    process.wait()
    for _ in range(300):
        alive = [w for w in workers if psutil.pid_exists(w) and psutil.Process(w).status() != psutil.STATUS_ZOMBIE]
        if not alive:
            break
        time.sleep(0.2)
    assert not alive


@posix
@pytest.mark.long
def test_workers_end_whose_client_was_killed_while_they_started():
    """The client is dead, but its parent has not asked for its end, when the worker begins to watch it."""
    worker = "import os, sys, time; from flexmb.study.workers import _begin; _begin('', b'', int(sys.argv[1])); print('begun', flush=True); time.sleep(30)"
    code = f"""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {worker!r}, str(os.getpid())])
time.sleep(60)
"""
    client = started(code)
    while not psutil.Process(client.pid).children():
        time.sleep(0.05)
    (child,) = psutil.Process(client.pid).children()
    client.kill()
    child.wait(timeout=20)
    assert psutil.Process(client.pid).status() == psutil.STATUS_ZOMBIE
    client.communicate()


@posix
@pytest.mark.long
@pytest.mark.parametrize("sort", [signal.SIGKILL, signal.SIGINT])
def test_a_study_that_is_ended_at_any_moment_resumes_with_what_it_had(sort, tmp_path):
    """Ended five times at random moments, a study computes each finished variant once; nothing else is in its folder."""
    kept, counted = tmp_path / "kept.json", tmp_path / "counted"
    script = tmp_path / "script.py"
    script.write_text(f"""
import os, time
from flexmb.study import parameter_study
def model(a):  # a file that it names would belong to the model
    time.sleep(0.05)
    with open(os.environ["COUNTED"], "a") as file:
        file.write(f"{{a}}\\n")
    return {{"x": 2.0 * a}}
print(parameter_study(model, [{{"a": k}} for k in range(40)], workers=1, checkpoint={str(kept)!r}).measure("x").sum())
""")
    rng = np.random.default_rng(0)

    def run():
        environment = os.environ | {"PYTHONPATH": str(ROOT), "COUNTED": str(counted)}
        return subprocess.Popen([sys.executable, script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip

    for _ in range(5):
        process = run()
        time.sleep(float(rng.uniform(1, 6)))
        process.send_signal(sort)
        process.communicate(timeout=60)  # waits for the workers, which hold the output of their client
    said, errors = run().communicate(timeout=300)
    assert said.strip() == f"{2.0 * sum(range(40))}", errors
    runs = counted.read_text().split()
    assert set(runs) == set(map(str, range(40)))
    assert len(runs) <= 40 + 5 * 3  # what ran or waited for the disk when the process was ended
    assert {p.name for p in tmp_path.iterdir()} == {"kept.json", "counted", "script.py"}
    assert all(json.loads(line) for line in kept.read_text().splitlines() if line.endswith("}"))


# places that cannot be written --------------------------------------------------------------------------------------------


def mounts():
    """Whether this process may mount file systems in a namespace of its own."""
    if sys.platform != "linux":
        return False
    try:
        return (
            subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode
            == 0
        )
    except OSError:
        return False


def mounted(script, *arguments, **options):
    """What a shell script in a namespace of mounts of its own says."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHON": sys.executable} | options
    done = subprocess.run(
        ["unshare", "-m", "sh", "-ec", script, "sh", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
    )
    return done.stdout.strip(), done.stderr[-2000:]


SWING = """
import sys, flexmb
system = flexmb.System(gravity=(0, 0, -9.81))
body = system.add(flexmb.rigid_body("b", mass=1, inertia=(1, 1, 1)))
system.revolute("j", system.ground.at((0.3, 0, 1)), body.at((0.3, 0, 1)), axis=(0, 1, 0))
"""


@pytest.mark.long
@pytest.mark.skipif(not mounts(), reason="needs the right to mount")
@pytest.mark.parametrize("kernels", ["library", "numba"])
def test_without_a_home_and_with_a_package_that_cannot_be_written(kernels, tmp_path):
    """The package is mounted read-only, the home does not exist: import works, and with the library a simulation; nothing stays in the temporary folder."""
    (tmp_path / "swing.py").write_text(
        SWING + ("flexmb.simulate(system, 0.1, step=0.01)\n" if kernels == "library" else "") + "print('fine')"
    )
    script = 'mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"; cd /; exec "$PYTHON" "$2"'
    home = {
        "HOME": "/proc/none",
        "XDG_CACHE_HOME": "/proc/none/cache",
        "TMPDIR": str(tmp_path),
        "FLEXMB_KERNELS": kernels,
    }
    said, errors = mounted(script, ROOT, tmp_path / "swing.py", **home)
    assert said == "fine", errors
    assert [p.name for p in tmp_path.iterdir()] == ["swing.py"]


WRITERS = """
from pathlib import Path
import numpy as np, psutil, fem
from fem.linear_algebra.factor import factor
from fem.mesh.structured_meshes import block
from flexmb.files import save_result, write_gltf, write_table
folder = Path(sys.argv[1])
run = flexmb.simulate(system, 2.0, step=1e-3, output_step=1e-3)
n = 10 if sys.argv[2] == "factor" else 5
part = fem.Model(block("tetra10", (1, 1, 1), (n, n, n)), fem.Material.steel())
K = part.K + part.M
def on_disk():
    memory = psutil.Process().memory_info().rss + 125 * 2**20  # three quarters of what it takes
    with factor(K, solver=fem.SolverOptions(memory=memory, backend="mumps", scratch=folder)) as inverse:
        assert inverse.record.disk > 0
        inverse.solve(np.ones((part.ndof, 1)))
acts = {
    "run.h5": lambda: save_result(run, folder / "run.h5"),
    "run.csv": lambda: write_table(run, folder / "run.csv"),
    "run.glb": lambda: write_gltf(run, folder / "run.glb"),
    "run.history": lambda: flexmb.simulate(system, 0.5, step=1e-4, output_step=1e-4, history=folder / "run.history"),
    "part.vtu": lambda: fem.write_mesh(part.mesh, folder / "part.vtu"),
    "factor": on_disk,
}
act = acts[sys.argv[2]]
act()
print("written", flush=True)
while sys.argv[3] == "again":
    act()
"""
"""Writes the file that it is told, once or again and again."""


@posix
@pytest.mark.long
@pytest.mark.parametrize("name", ["run.h5", "run.csv", "run.glb", "run.history", "part.vtu", "factor"])
def test_what_is_killed_while_it_writes_leaves_whole_files(name, tmp_path):
    """Killed four times at random moments; what it wrote is whole, and the next writer clears what was left behind."""
    if name == "factor" and mumps.missing():
        pytest.skip("needs MUMPS")
    rng, whole = np.random.default_rng(1), None
    for _ in range(4):
        process = started(SWING + WRITERS, tmp_path, name, "again")
        assert process.stdout.readline() == "written\n", process.stderr.read()
        time.sleep(rng.uniform(0.0, 0.5))
        process.kill()
        process.communicate()
        if name != "factor":
            whole = (tmp_path / name).read_bytes() if whole is None else whole
            assert len((tmp_path / name).read_bytes()) == len(whole)
    said, errors = started(SWING + WRITERS, tmp_path, name, "once").communicate(timeout=120)
    assert said == "written\n", errors
    assert [p.name for p in tmp_path.iterdir()] == ([] if name == "factor" else [name])


@pytest.mark.long
@pytest.mark.skipif(not mounts(), reason="needs the right to mount")
def test_a_small_disk_that_is_full_leaves_what_was_there(tmp_path):
    """On a disk of one megabyte: results, histories, tables, meshes and checkpoints that do not fit are refused, and what was there is as before."""
    (tmp_path / "fill.py").write_text(
        SWING
        + """
from pathlib import Path
import numpy as np, fem
from fem.mesh.structured_meshes import block
from flexmb.files import save_result, write_table
from flexmb.study import parameter_study
folder = Path(sys.argv[1])
short = flexmb.simulate(system, 0.01, step=0.001)
acts = {
    "run.h5": lambda r, n: save_result(r, folder / "run.h5"),
    "run.csv": lambda r, n: write_table(r, folder / "run.csv"),
    "run.history": lambda r, n: flexmb.simulate(system, 0.01 * n, step=0.001, output_step=0.001, history=folder / "run.history"),
    "part.msh": lambda r, n: fem.write_mesh(block("hexahedron", (1, 1, 1), (n, n, n)), folder / "part.msh"),
    "part.vtu": lambda r, n: fem.write_mesh(block("hexahedron", (1, 1, 1), (n, n, n)), folder / "part.vtu"),
    "part.inp": lambda r, n: fem.write_mesh(block("hexahedron", (1, 1, 1), (n, n, n)), folder / "part.inp"),
}
long = flexmb.simulate(system, 20.0, step=0.001, output_step=0.001)
for name, act in acts.items():
    act(short, 2)
    before = (folder / name).read_bytes()
    try:
        act(long, 40 if name.startswith("part") else 2000)
    except flexmb.FlexmbError as error:
        assert name in str(error), error
    else:
        raise SystemExit(f"{name} fits")
    assert (folder / name).read_bytes() == before, name
    assert [p.name for p in folder.iterdir()] == [name], list(folder.iterdir())
    (folder / name).unlink()
fill = (folder / "fill").open("wb", buffering=0)
try:
    parameter_study(lambda a: {"x": a}, [{"a": 1.0 * k} for k in range(3)], workers=1, checkpoint=folder / "kept", progress=lambda done: fill.write(bytes(2**20)) if done < 1 else None)
except (flexmb.FlexmbError, OSError) as error:
    pass
assert (folder / "kept").read_text().count("variant") >= 1
print("fine")
"""
    )
    (tmp_path / "disk").mkdir()
    script = 'mount -t tmpfs -o size=1m none "$1"; exec "$PYTHON" "$2" "$1"'
    said, errors = mounted(script, tmp_path / "disk", tmp_path / "fill.py")
    assert said == "fine", said + errors


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device_is_told(tmp_path):
    body = flexmb.rigid_body("x", mass=1, inertia=(1, 1, 1))
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(flexmb.FlexmbError, match="full"):
        save_body(body, tmp_path / "full")
    with pytest.raises(StudyError, match="No space left"):
        parameter_study(lambda a: {"x": a}, [{"a": 1.0}], workers=1).write_csv(tmp_path / "full")
    assert read_tree(write_tree(tmp_path / "x.h5", "test", {"a": 1}), "test") == {"a": 1}
    (tmp_path / "full.msh").symlink_to("/dev/full")
    mesh = block("hexahedron", (1, 1, 1), (6, 6, 6))
    with pytest.raises(MeshError, match=r"full\.msh"):
        fem.write_mesh(mesh, tmp_path / "full.msh")


# temporary folders ------------------------------------------------------------------------------------------------------


def groupless_med(folder):
    """A MED file without the table of groups, which is read from a copy with an empty one."""
    import h5py
    import meshio

    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    meshio.write(folder / "part.med", meshio.Mesh(points, [("tetra", np.array([[0, 1, 2, 3]]))]))
    with h5py.File(folder / "part.med", "r+") as file:
        del file["FAS"]
    return folder / "part.med"


def cad_part(folder):
    pytest.importorskip("gmsh")
    path = folder / "part.step"
    path.write_bytes((ROOT / "tests" / "fuzz" / "models" / "block.step").read_bytes())
    return path


@pytest.mark.parametrize("made", [groupless_med, cad_part])
def test_without_a_temporary_folder_meshes_say_so(made, tmp_path, monkeypatch):
    """It was a FileNotFoundError of Python that named none of the files of the user."""
    path = made(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", "/proc/none")
    with pytest.raises(MeshError, match=rf"{path.name}.* temporary folder, .*TMPDIR"):
        fem.read_mesh(path)


@pytest.mark.parametrize("made", [groupless_med, cad_part])
def test_temporary_folders_of_killed_processes_go(made, tmp_path, monkeypatch):
    """A process that is killed while it reads leaves its folder, which the next one removes; that of another stays."""
    path = made(tmp_path)
    (place := tmp_path / "scratch").mkdir()
    dead, other = (place / f"{FOLDER}{mark}-x" for mark in (f"{machine()}-{DEAD}", f"{machine()}-{os.getpid()}"))
    for folder in (dead, other):
        folder.mkdir()
        (folder / "part.msh").write_bytes(b"half")
    monkeypatch.setattr("tempfile.tempdir", str(place))
    assert len(fem.read_mesh(path).points) >= 4
    assert list(place.iterdir()) == [other]


def test_pages_need_no_temporary_folder(tmp_path, monkeypatch):
    """The motion of a page went through a file in a temporary folder, which a kill or a full disk left there."""
    from flexmb.plots.page import write_page

    system = flexmb.System()
    system.add(flexmb.rigid_body("b", mass=1, inertia=(1, 1, 1), mesh=flexmb.solids.box((1, 1, 1))))
    run = flexmb.simulate(system, 0.1, step=0.01)
    monkeypatch.setattr("tempfile.tempdir", "/proc/none")
    assert write_page(run, tmp_path / "run.html").stat().st_size > 1e5
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]
