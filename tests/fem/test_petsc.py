"""The PETSc backend under MPI: two processes, one factor, the answer of one process."""

import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import fem
import reduction
from fem.mesh.structured_meshes import block

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        importlib.util.find_spec("petsc4py") is None or shutil.which("mpiexec") is None,
        reason="needs petsc4py and mpiexec",
    ),
]

SCRIPT = """
    import sys
    import numpy as np
    from petsc4py import PETSc
    import fem, reduction
    from fem.mesh.structured_meshes import block
    from fem.linear_algebra.factor import factor

    part = fem.Model(block("tetra10", (1.0, 0.2, 0.1), (10, 3, 2)), fem.Material.steel())
    part = part.with_interfaces(a="x0", b="x1").with_solver(backend="petsc", memory={memory!r}, scratch={scratch!r})
    basis = reduction.craig_bampton(part, 10)
    assert factor(part.K, keep=np.arange(40), solver=part.solver).backend == "petsc"
    shifted = factor(part.K - 1e6 * part.M, "symmetric", solver=part.solver)
    size, rank = PETSc.COMM_WORLD.size, PETSc.COMM_WORLD.rank
    assert (size, shifted.inertia, shifted.record.disk > 0) == (2, (part.ndof - 6, 6, 0), {memory!r} is not None)
    np.save({out!r} + str(rank), basis.eigenvalues)
"""


def two_processes(script, seconds=300):
    """The end of an MPI run of a script in two processes."""
    command = ["mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, str(script)]
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI", "PMI", "MPI"))}
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=outside)


@pytest.mark.parametrize("memory", [None, "2GiB"])
def test_two_processes_give_what_one_gives(memory, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    script = tmp_path / "reduce.py"
    script.write_text(textwrap.dedent(SCRIPT.format(memory=memory, scratch=str(scratch), out=str(tmp_path / "found"))))
    done = two_processes(script)
    assert done.returncode == 0, done.stderr
    part = fem.Model(block("tetra10", (1.0, 0.2, 0.1), (10, 3, 2)), fem.Material.steel()).with_interfaces(
        a="x0", b="x1"
    )
    expected = reduction.craig_bampton(part, 10).eigenvalues
    for rank in (0, 1):
        np.testing.assert_allclose(np.load(tmp_path / f"found{rank}.npy"), expected, rtol=1e-9)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    "what",
    ["one_process_solves_counts_and_frees", "python_survives_a_pipe_that_is_closed", "what_petsc_cannot_do_is_told"],
)
def test_in_a_process_of_its_own(what):
    """MPI and what tests fork do not go together."""
    code = f"import petsc_alone; petsc_alone.{what}()"
    outside = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    }
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=outside)
    assert done.returncode == 0, done.stderr


DISAGREEING = """
    import sys
    from petsc4py import PETSc
    import numpy as np
    import fem
    from fem.mesh.structured_meshes import block
    from fem.linear_algebra.factor import factor

    rank = PETSc.COMM_WORLD.rank
    here = {folder!r} + "/" + str(rank)  # as on a disk of its own
    divisions, columns = (4, 2, 2), 3
    {change}
    part = fem.Model(block("hexahedron", (1.0, 0.2, 0.1), divisions), fem.Material.steel())
    solver = fem.SolverOptions(backend="petsc", **options)
    keep = np.arange(30, part.ndof)
    B = np.random.default_rng(0).standard_normal((len(keep), columns))
    try:
        X = factor(part.K, keep=keep, solver=solver).solve(B)
        told = "solved " + repr(float(abs(X).sum()))
    except fem.FlexmbError as error:
        told = "refused " + str(error)
    with open({folder!r} + "/told " + str(rank), "w") as file:  # not printed, where both could meet in one line
        file.write(told)
"""


def told(folder):
    """What both processes of `DISAGREEING` tell."""
    done = two_processes(folder / "script.py", 60)
    assert done.returncode == 0, done.stderr
    return [(folder / f"told {rank}").read_text() for rank in (0, 1)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('options = {"memory": "2GiB", "scratch": here}', "Process 1: Factors that do not fit the memory cannot be"),
        ('options = {"checkpoint": here + "/file/within"}', "Process 0: Solutions cannot be kept in"),
        ("options, divisions = {}, (4 + rank, 2, 2)", "have different matrices: process 0 105 equations, "),
        ("options, columns = {}, 3 + rank", "have different right-hand sides: process 0 3 columns"),
        ('options = {"memory": "2GiB" if rank else None}', "memory None; process 1 "),
    ],
)
def test_processes_that_disagree_end_with_one_error(change, words, tmp_path):
    """A scratch folder that one of them lacks, a place of checkpoints that is a file, other models: all are told."""
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "file").touch()
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(DISAGREEING.format(folder=str(tmp_path), change=change)))
    for text in told(tmp_path):
        assert text.startswith("refused ")
        assert words in text


def test_solutions_that_one_process_lacks_are_solved_again_by_all(tmp_path):
    """Checkpoints on disks of their own, one of which is lost; and a file that is damaged."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(DISAGREEING.format(folder=str(tmp_path), change='options = {"checkpoint": here + "/kept"}'))
    )

    first = told(tmp_path)
    assert first[0] == first[1]
    assert first[0].startswith("solved ")
    assert told(tmp_path) == first  # read
    shutil.rmtree(tmp_path / "1" / "kept")
    assert told(tmp_path) == first
    (damaged,) = (tmp_path / "0" / "kept").rglob("*.npy")
    damaged.write_bytes(b"")
    assert told(tmp_path) == first
    assert len(list((tmp_path / "1" / "kept").rglob("*.npy"))) == 1
