"""Mutation campaign: wrong edits of physics, numerics, checks and readers, each of which the tests must catch.

    python -m tests.mutants                      # all edits, in a copy of the project
    python -m tests.mutants --sample 6 --seed 3  # some of them
    python -m tests.mutants --only kernels       # those whose file has this in its path
    python -m tests.mutants --list

Each edit names a file, the text it replaces (which occurs once), what it writes instead, and the tests that reach it.
Edits of kernels compile with numba (FLEXMB_KERNELS=numba), with a cache of their own, 60 to 90 s each; the others use
the library. A test that fails, or a run that exceeds its time, catches the edit; survivors are listed with a code 1.
An `equivalent` edit changes nothing that can be seen, for the reason given, and is not run.
"""

import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = (
    "fem",
    "reduction",
    "flexmb",
    "meshes",
    "benchmarks",
    "validation",
    "tests",
    "docs",
    "pyproject.toml",
    "CHANGELOG.md",
    "README.md",
)
SECONDS = 900
"""Largest time of the tests of one edit."""


@dataclass(frozen=True)
class Edit:
    """`old` in `file` becomes `new`; `tests`: what runs, as pytest takes it; `equivalent`: why nothing can see it."""

    what: str
    file: str
    old: str
    new: str
    tests: str
    equivalent: str = ""


def problem(edit: Edit, root: Path = ROOT) -> str:
    """Why an edit does not fit the present code; empty if it does."""
    path = root / edit.file
    if not path.is_file():
        return f"{edit.file} is not there"
    count = path.read_text().count(edit.old)
    if count != 1:
        return f"{edit.old!r} occurs {count} times in {edit.file}, expected once"
    missing = [
        word
        for word in shlex.split(edit.tests)
        if word.startswith("tests/") and not (root / word.partition("::")[0]).exists()
    ]
    return f"{missing[0]} is not there" if missing else ""


def caught(edit: Edit, copy: Path) -> tuple[bool, str]:
    """Whether the tests of an edit fail in a copy of the project, and the first failure or the reason."""
    path = copy / edit.file
    before = path.read_text()
    kernel = edit.file.startswith("flexmb/kernels/")
    environment = os.environ | {"PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as cache:
        if kernel:
            environment |= {"FLEXMB_KERNELS": "numba", "NUMBA_CACHE_DIR": cache}
        try:
            path.write_text(before.replace(edit.old, edit.new))
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-x",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:randomly",
                *shlex.split(edit.tests),
            ]
            done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return True, f"no end after {SECONDS} s"
        finally:
            path.write_text(before)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode == 1 and failed:
        return True, failed[0]
    if done.returncode == 0:
        return False, ""
    raise SystemExit(
        f"{edit.what}: the tests do not run (code {done.returncode}):\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    )


def copied(place: Path) -> Path:
    """A copy of the project, without caches."""
    for library in ROOT.glob("_flexmb_kernels.*"):  # without it, numba compiles all for every copy
        shutil.copy(library, place / library.name)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, place / name, ignore=shutil.ignore_patterns("__pycache__", "site", "*.nbi", "*.nbc")
            )
        else:
            shutil.copy(source, place / name)
    return place


def campaign(edits: list[Edit]) -> list[Edit]:
    """Run the edits and print what catches each; returns the survivors."""
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        copy = copied(Path(place))
        for number, edit in enumerate(edits, 1):
            began = time.monotonic()
            found, how = caught(edit, copy)
            if not found:
                survivors.append(edit)
            print(
                f"{number}/{len(edits)} {'caught' if found else 'SURVIVES'} {edit.what} ({edit.file}, {time.monotonic() - began:.0f} s) {how}",
                flush=True,
            )
    return survivors


def main() -> int:
    from tests.edits import EDITS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="number of edits, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the path of the file, or of the name of the edit")
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args()
    edits = [e for e in EDITS if chosen.only in e.file or chosen.only in e.what]
    unfit = [f"{e.what}: {why}" for e in edits if (why := problem(e))]
    if unfit:
        print("\n".join(unfit))
        return 2
    if chosen.list:
        print(
            "\n".join(f"{e.file}: {e.what}" + (f" (equivalent: {e.equivalent})" if e.equivalent else "") for e in edits)
        )
        return 0
    runs = [e for e in edits if not e.equivalent]
    if chosen.sample:
        runs = random.Random(chosen.seed).sample(runs, min(chosen.sample, len(runs)))
    survivors = campaign(runs)
    print(
        f"{len(runs) - len(survivors)} of {len(runs)} caught ({(len(runs) - len(survivors)) / max(len(runs), 1):.1%})"
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
