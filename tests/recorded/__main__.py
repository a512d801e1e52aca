"""`python -m tests.recorded [--write] [GROUP/NAME ...]`: compare what small models give with what was recorded, or record it anew.
`python -m tests.recorded --watch [TEST ...]`: record what tests see, as pytest names them; by default, those that are recorded."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .shaken import CHILDREN, SHAKEN, shake_libraries

if TYPE_CHECKING:
    from .summary import Seen

ROOT = Path(__file__).parents[2]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
OTHERS = (
    {"OPENBLAS_CORETYPE": "Sandybridge", "MKL_CBWR": "COMPATIBLE", **ONE_THREAD},
    {
        "OPENBLAS_CORETYPE": "Haswell",
        "MKL_CBWR": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512F AVX512_SKX AVX512_ICL AVX512_SPR",
        **ONE_THREAD,
    },
    {SHAKEN: "1", "PYTHONPATH": str(CHILDREN), **ONE_THREAD},
)
"""Other kinds of processors, two that exist and one that does not: numbers that differ on them are rounding, and are not recorded."""

PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-m",
    "not long",
    "-p",
    "no:cacheprovider",
    "-W",
    "ignore::ImportWarning",
)
"""NumPy warns, while it is imported, of names of features that its version does not have."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.recorded", description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--write", action="store_true", help="record what is found")
    parser.add_argument("--watch", action="store_true", help="record what tests see")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seen", metavar="FILE", help="write what is found to a file, without comparing")
    given = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    import matplotlib

    matplotlib.use("Agg")
    if SHAKEN in os.environ:
        shake_libraries()
    if given.watch:
        watch(given.names)
    else:
        compare(given)


def compare(given: argparse.Namespace) -> None:
    """Run cases, and compare or record them."""
    from recorded.cases import CASES
    from recorded.record import differences, recorded, run, same, write
    from recorded.shaken import shake_project

    if SHAKEN in os.environ:
        shake_project()
    chosen = [name for name in CASES if not given.names or name.startswith(tuple(given.names))]
    if given.list:
        print("\n".join(chosen))
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{k}.json" for k in range(len(OTHERS))] if given.write else []
        others = [_elsewhere(chosen, path, kind) for path, kind in zip(paths, OTHERS, strict=False)]
        found = {}
        for name in chosen:
            began = time.perf_counter()
            try:
                found[name] = run(name)
            except Exception as error:
                if not given.seen:
                    raise
                found[name] = {}  # nothing of it is sure
                print(f"{name}: {type(error).__name__}: {error}")
            print(f"{time.perf_counter() - began:6.1f} s {len(found[name]):6d}  {name}", file=sys.stderr, flush=True)
        ended = [other.wait() for other in others]  # all of them
        if any(ended):
            sys.exit("The run as another kind of processor failed; nothing is recorded.")
        for path in paths:
            seen = json.loads(path.read_text())
            found = {name: same(found[name], seen[name]) for name in chosen}
        if given.write:
            write(found)
            return
    if given.seen:
        Path(given.seen).write_text(json.dumps(found))
        return
    wrong = {name: told for name in chosen if (told := differences(recorded(name), found[name]))}
    for name, told in wrong.items():
        print(name, *told[:10], sep="\n    ")
    sys.exit(bool(wrong))


def _elsewhere(names: list[str], path: Path, kind: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Begin the cases as another kind of processor, which writes what it finds to a file."""
    command = [sys.executable, "-m", "tests.recorded", *names, "--seen", str(path)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **kind}, stderr=subprocess.DEVNULL)


def watch(tests: list[str]) -> None:
    """Run tests as each kind of processor, and record what all of them saw."""
    from recorded.record import same
    from recorded.watch import FOLDER, names, write

    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place) / str(k) for k in range(1 + len(OTHERS))]
        running = []
        for folder, kind in zip(folders, (ONE_THREAD, *OTHERS), strict=True):
            folder.mkdir()
            (folder / "names").write_text("\n".join(tests or names()))
            command = [*PYTEST, f"@{folder / 'names'}"]
            environment = {**os.environ, **kind, FOLDER: str(folder)}
            with (folder / "output").open("w") as output:
                running.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output))
        for process in running:
            process.wait()
        kinds = [dict(_seen(folder)) for folder in folders]
        found = dict(kinds[0])
        for seen in kinds[1:]:
            found = {test: same(found[test], seen[test]) for test in found if test in seen}
        for test in kinds[0].keys() - found.keys():
            print(f"left out, since it fails on another kind of processor: {test}")
        print((folders[0] / "output").read_text()[-2000:])
        write(found)


def _seen(folder: Path) -> "list[tuple[str, Seen]]":
    """What the tests of a run saw."""
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return [(one["test"], one["seen"]) for one in kept]


main()
