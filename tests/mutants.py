"""Mutation campaign: wrong edits of physics, numerics, checks and readers, each of which the tests must catch.

    python -m tests.mutants                        # all edits, in a copy of the project
    python -m tests.mutants --sample 6 --seed 3    # some of them
    python -m tests.mutants --only kernels         # those whose file or name contains this
    python -m tests.mutants --record outcomes.csv  # write what is found; edits that the file has are not run again
    python -m tests.mutants --list

Each edit names a file, the text it replaces (which occurs once), what it writes instead, and the tests that reach it.
All edits of compiled functions are in one library, which is built once: a process has the edit whose number is in its
environment (tests/switches.py). Edits of what numba reads when it compiles, such as constants, are compiled by numba, one
to five minutes each.

An edit is caught by a test that fails with it and passes without it, that does not end in time, or whose process dies. Survivors are listed
with a code 1. An `equivalent` edit changes nothing that can be seen, for the reason given, and is not run.
"""

import argparse
import csv
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests import switches

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
    "setup.py",
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


@dataclass
class Copy:
    """A copy of the project: the numbers of the edits that its library holds, tests that pass without any edit, and the
    largest time of a run."""

    place: Path
    switched: dict[Edit, int] = field(default_factory=dict)
    sound: set[str] = field(default_factory=set)
    seconds: float = SECONDS

    def run(self, words: list[str], **environment: str) -> subprocess.CompletedProcess:
        """pytest in the copy. Its cache tells which tests fail."""
        known = {
            "PYTHONPATH": str(self.place),
            "OPENBLAS_NUM_THREADS": "1",
            "NUMBA_CACHE_DIR": str(self.place / ".numba"),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:randomly", *words]
        return subprocess.run(
            command,
            cwd=self.place,
            env=os.environ | known | environment,
            capture_output=True,
            text=True,
            timeout=self.seconds,
        )

    def failed(self) -> list[str]:
        """The tests that failed in the last run."""
        path = self.place / ".pytest_cache/v/cache/lastfailed"
        return list(json.loads(path.read_text())) if path.is_file() else []


def caught(edit: Edit, copy: Copy) -> tuple[bool, str]:
    """Whether a test of an edit fails with it, and passes without it; the test, or why none was needed."""
    shutil.rmtree(copy.place / ".pytest_cache", ignore_errors=True)
    path = copy.place / edit.file
    before = path.read_text()
    words = shlex.split(edit.tests)
    with tempfile.TemporaryDirectory() as cache:
        try:
            if edit in copy.switched:
                done = copy.run(words, **{switches.VARIABLE: str(copy.switched[edit])})
            else:
                path.write_text(before.replace(edit.old, edit.new))
                alone = {"FLEXMB_KERNELS": "numba", "NUMBA_CACHE_DIR": cache} if _compiled(edit) else {}
                done = copy.run(words, **alone)
        except subprocess.TimeoutExpired:
            return True, f"no end after {copy.seconds:.0f} s"
        finally:
            path.write_text(before)
    failed = copy.failed()
    if done.returncode == 0:
        return False, ""
    if done.returncode < 0 and not copy.run(words).returncode:
        return True, f"the process died of signal {-done.returncode}"
    if not failed:
        raise SystemExit(
            f"{edit.what}: the tests do not run (code {done.returncode}):\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    if failed[0] not in copy.sound:
        if (without := copy.run([*words, "--last-failed"])).returncode:
            raise SystemExit(f"{failed[0]} fails without an edit, too:\n{without.stdout[-2000:]}")
        copy.sound.add(failed[0])
    return True, failed[0]


def _compiled(edit: Edit) -> bool:
    return edit.file.startswith("flexmb/kernels/")


def copied(place: Path, edits: list[Edit]) -> Copy:
    """A copy of the project, without caches; edits of compiled functions are in its library."""
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
    numbers = {edit: number for number, edit in enumerate(filter(_compiled, edits), 1)}
    if not numbers:
        return Copy(place)
    alone = switches.build(place, [(number, e.file, e.old, e.new) for e, number in numbers.items()])
    return Copy(place, {edit: number for edit, number in numbers.items() if number not in alone})


def campaign(edits: list[Edit], record: Path | None = None) -> list[Edit]:
    """Run the edits and print what catches each; returns the survivors."""
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        copy = copied(Path(place), edits)
        for number, edit in enumerate(edits, 1):
            began = time.monotonic()
            found, how = caught(edit, copy)
            if not found:
                survivors.append(edit)
            print(
                f"{number}/{len(edits)} {'caught' if found else 'SURVIVES'} {edit.what} ({edit.file}, {time.monotonic() - began:.0f} s) {how}",
                flush=True,
            )
            if record:
                with record.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow(
                        [edit.what, edit.file, how or "survives", f"{datetime.now(UTC):%Y-%m-%d}"]
                    )
    return survivors


def recorded(path: Path | None) -> dict[str, str]:
    """What catches each edit of a record of earlier runs."""
    if path is None or not path.is_file():
        return {}
    with path.open(newline="") as file:
        return {row[0]: row[2] for row in csv.reader(file)}


def main() -> int:
    from tests.edits import EDITS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="number of edits, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the path of the file, or of the name of the edit")
    parser.add_argument("--record", type=Path, help="table of outcomes; edits that are in it are not run")
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
    known = recorded(chosen.record)
    runs = [e for e in edits if not e.equivalent and e.what not in known]
    if chosen.sample:
        runs = random.Random(chosen.seed).sample(runs, min(chosen.sample, len(runs)))
    survivors = campaign(runs, chosen.record)
    print(
        f"{len(runs) - len(survivors)} of {len(runs)} caught ({(len(runs) - len(survivors)) / max(len(runs), 1):.1%})"
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
