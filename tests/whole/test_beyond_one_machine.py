"""Studies on processes of this machine, on Dask and under MPI have the same numbers to the last bit, whoever is killed."""

import json
import os
import random
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
VARIANTS = 8
pytestmark = [pytest.mark.long, pytest.mark.skipif(os.name != "posix", reason="kills processes")]

SCRIPT = """
    import json, os, sys, time
    from pathlib import Path
    import fem, flexmb, reduction
    from flexmb.study import parameter_study

    def model(a):
        with open(os.environ["COMPUTED"], "a") as file:  # some 20 bytes: whole, whoever else writes
            file.write(f"{{a:.1f}} {{os.getpid()}}\\n")
        time.sleep(float(os.environ["PAUSE"]))
        part = fem.Model(fem.structured_meshes.block("hexahedron", (1.0, 0.05, 0.02), (6, 1, 1)), fem.Material.steel())
        part = part.with_interfaces(root="x0")
        system = flexmb.System(gravity=(0, 0, -9.81))
        bar = system.add(flexmb.flexible_body(part, reduction.craig_bampton(part, 3)))
        system.revolute("hinge", system.ground.at((0, 0, 0)), bar["root"], axis=(0, 1, 0))
        system.drive("hinge", flexmb.time_functions.constant_speed(1.0 + a))
        return system

    def study(**where):
        done = parameter_study(
            model, [{{"a": 0.1 * k}} for k in range({variants})], 0.02, step=1e-3, checkpoint={folder!r} + "/kept.jsonl", **where
        )
        rows = [None if r.outcome is None else {{n: v.hex() for n, v in r.outcome.items()}} for r in done.rows]
        (Path({folder!r}) / "rows").write_text(json.dumps(rows))

    if __name__ == "__main__":
        {run}
"""
HERE = "study(workers=2)"
MPI = """
        from mpi4py.futures import MPIPoolExecutor
        with MPIPoolExecutor() as executor:
            study(executor=executor)
"""
DASK = """
        from dask.distributed import Client
        with Client(sys.argv[1]) as client:
            study(executor=client.get_executor())
"""


def script(folder, run):
    """A script of a study, written into a folder of its own."""
    folder.mkdir(exist_ok=True)
    file = folder / "script.py"
    file.write_text(textwrap.dedent(SCRIPT.format(folder=str(folder), run=run.strip(), variants=VARIANTS)))
    return file


def environment(folder, pause=0.0):
    """What the model gets from outside: where it counts, and how long a variant takes; not MPI's own of the tests."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI", "PMI", "MPI"))}
    return outside | {"PYTHONPATH": str(ROOT), "COMPUTED": str(folder / "computed"), "PAUSE": str(pause)}


def mpi(folder, pause=0.0):
    command = ["mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures"]
    return subprocess.Popen(
        [*command, str(script(folder, MPI))],
        env=environment(folder, pause),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def rows(folder):
    return json.loads((folder / "rows").read_text())


def computed(folder):
    """The variants that were begun, and the processes that began them."""
    file = folder / "computed"
    lines = file.read_text().splitlines() if file.exists() else []
    return [(float(a), int(process)) for a, process in map(str.split, lines)]


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    subprocess.run([sys.executable, script(folder, HERE)], env=environment(folder), check=True, timeout=300)
    found = rows(folder)
    assert len({json.dumps(row) for row in found}) == VARIANTS
    return found


@pytest.fixture
def needs_mpi():
    pytest.importorskip("mpi4py")
    if shutil.which("mpiexec") is None:
        pytest.skip("needs mpiexec")


@pytest.mark.usefixtures("needs_mpi")
def test_a_study_under_mpi_has_the_same_bits(expected, tmp_path):
    process = mpi(tmp_path / "all")
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert rows(tmp_path / "all") == expected
    assert len({who for _, who in computed(tmp_path / "all")}) == 2


@pytest.mark.usefixtures("needs_mpi")
@pytest.mark.parametrize("who", ["worker", "client", "mpiexec"])
def test_an_mpi_run_ends_with_a_killed_process_and_resumes(who, expected, tmp_path):
    folder = tmp_path / "all"
    process = mpi(folder, 1.0)
    wait_until(lambda: (folder / "kept.jsonl").exists() and len(computed(folder)) >= 5)
    workers = {number for _, number in computed(folder)}
    ranks = [p for p in psutil.Process(process.pid).children(recursive=True) if "mpi4py.futures" in p.cmdline()]
    (client,) = [p for p in ranks if p.pid not in workers]
    began = time.monotonic()
    {"worker": psutil.Process(min(workers)), "client": client, "mpiexec": psutil.Process(process.pid)}[who].kill()
    process.communicate(timeout=60)
    assert process.returncode != 0
    _, alive = psutil.wait_procs(ranks, timeout=60)
    assert not alive
    assert time.monotonic() - began < 60
    kept = len((folder / "kept.jsonl").read_text().splitlines()) - 1
    before = len(computed(folder))
    again = mpi(folder)
    _, errors = again.communicate(timeout=300)
    assert again.returncode == 0, errors
    assert rows(folder) == expected
    assert len(computed(folder)) - before <= VARIANTS - kept + 1  # one line may have been cut


def dask(folder, *arguments, **variables):
    command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
    variables = environment(folder, 0.7) | variables
    return subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def cluster(tmp_path):
    """Address, scheduler and two workers; processes of their own, as on other machines."""
    pytest.importorskip("distributed")
    information = tmp_path / "scheduler.json"
    processes = [dask(tmp_path / "all", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(information))]  # fmt: skip
    wait_until(information.exists)
    wait_until(lambda: information.read_text().strip().endswith("}"))
    address = json.loads(information.read_text())["address"]
    processes += [dask(tmp_path / "all", "worker", address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path / f"w{k}")) for k in (0, 1)]  # fmt: skip
    yield address, processes
    for process in processes:
        for p in [*psutil.Process(process.pid).children(recursive=True), process] if process.poll() is None else []:
            p.kill()
        process.wait()


def test_a_study_on_dask_has_the_same_bits_with_a_killed_worker(cluster, expected, tmp_path):
    address, (_, first, _) = cluster
    folder = tmp_path / "all"
    process = subprocess.Popen([sys.executable, script(folder, DASK), address], env=environment(folder))
    wait_until(lambda: len(computed(folder)) >= 3)
    time.sleep(random.Random(0).random())
    for p in [*psutil.Process(first.pid).children(recursive=True), psutil.Process(first.pid)]:
        p.kill()
    assert process.wait(timeout=120) == 0
    assert rows(folder) == expected


def test_work_on_dask_ends_with_its_killed_client(cluster, tmp_path):
    """What has not begun is not computed: the workers are free for others within a minute."""
    address, _ = cluster
    folder = tmp_path / "all"
    process = subprocess.Popen([sys.executable, script(folder, DASK), address], env=environment(folder))
    wait_until(lambda: len(computed(folder)) >= 2)
    process.kill()
    process.wait()
    began, count = time.monotonic(), len(computed(folder))
    while time.monotonic() - began < 60:
        time.sleep(3.0)
        if len(computed(folder)) == count:
            break
        count = len(computed(folder))
    assert len(computed(folder)) < VARIANTS


def test_a_client_ends_whose_scheduler_was_killed(cluster, tmp_path):
    address, (scheduler, *_) = cluster
    folder = tmp_path / "all"
    process = subprocess.Popen(
        [sys.executable, script(folder, DASK), address], env=environment(folder), stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(computed(folder)) >= 3)
    scheduler.kill()
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode != 0 or None in rows(folder), errors


def test_a_worker_without_flexmb_answers_that_it_has_none(cluster, tmp_path):
    """Its variants have an error; it does not close, and its client does not wait for ever."""
    address, (_, *workers) = cluster
    for worker in workers:
        for p in [*psutil.Process(worker.pid).children(recursive=True), psutil.Process(worker.pid)]:
            p.kill()
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "sitecustomize.py").write_text(
        textwrap.dedent("""
        import sys
        class None_:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name.partition(".")[0] in ("flexmb", "fem", "reduction"):
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        sys.meta_path.insert(0, None_)
    """)
    )
    folder = tmp_path / "all"
    lacking = dask(
        folder, "worker", address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path / "w"), PYTHONPATH=str(bare),
    )  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, script(folder, DASK), address], env=environment(folder), stderr=subprocess.PIPE, text=True
    )
    try:
        _, errors = process.communicate(timeout=120)
    finally:
        for p in (process, lacking):
            p.kill()
            p.wait()
    assert "has no flexmb" in errors
    assert "install it on all hosts" in errors
    assert not computed(folder)
