"""Simulations with events that go on from files, and are killed or find no place: they end with the bits of one run that nothing interrupted."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from test_faults import ROOT, mounted, mounts, posix

from flexmb.errors import StudyError
from flexmb.study.kept import KeptOutcomes

MODEL = """
import os, sys, time
from pathlib import Path
import flexmb
from flexmb.files import load_result, save_result
from flexmb.simulation.events import stop


def swing(speed):  # a mass that hits a stop, again and again
    system = flexmb.System(gravity=(0, 0, -9.81))
    mass = system.add(flexmb.rigid_body("mass", mass=1.0, inertia=(0.1, 0.1, 0.1)), velocity=(0, 0, speed))
    system.prismatic("guide", system.ground.at((0, 0, 0)), mass, axis=(0, 0, 1))
    system.spring_damper("spring", system.ground.at((0.3, 0, 0)), mass.at((0, 0, 0)), stiffness=50.0, damping=0.1)
    return system


def events():
    return [stop("floor", "guide", -0.1, upper=False, restitution=0.7)]

"""
CHUNKS = """
path, state, number = Path(sys.argv[1]), None, 0
if path.exists():
    before = load_result(path)
    state, number = before.state(-1), round(before.t[-1] / 0.05)
for _ in range(number, 12):
    result = flexmb.simulate(swing(1.0), 0.05, step=1e-3, events=events(), **({} if state is None else {"initial_state": state}))
    save_result(result, path)
    state = result.state(-1)
print([x.hex() for part in (state.q, state.w) for x in part.tolist()])
"""


def begun(script, path):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, script, path], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip


def said(script, path):
    answer, errors = begun(script, path).communicate(timeout=600)
    assert answer, errors
    return answer.splitlines()[-1]


@posix
@pytest.mark.long
def test_what_is_killed_at_any_moment_ends_with_the_same_bits(tmp_path):
    """Ended four times at random moments of its run, which is timed once without a kill."""
    script, (whole, ended) = tmp_path / "script.py", (tmp_path / name for name in ("whole", "ended"))
    script.write_text(MODEL + CHUNKS)
    whole.mkdir(), ended.mkdir()
    name = "run.h5"
    begin = time.monotonic()
    expected = said(script, whole / name)
    span, rng = time.monotonic() - begin, np.random.default_rng(5)
    for _ in range(4):
        process = begun(script, ended / name)
        time.sleep(float(rng.uniform(0.3, 1.0)) * span)
        process.kill()
        process.communicate(timeout=120)
    assert said(script, ended / name) == expected
    assert [p.name for p in ended.iterdir()] == [name]


@pytest.mark.long
@pytest.mark.skipif(not mounts(), reason="needs the right to mount")
def test_what_finds_the_disk_full_goes_on_with_the_same_bits(tmp_path):
    """A disk of 200 kB is filled by another file but for some bytes, and freed."""
    (tmp_path / "script.py").write_text(MODEL + CHUNKS)
    (tmp_path / "disk").mkdir()
    expected = said(tmp_path / "script.py", tmp_path / "whole")
    script = """
mount -t tmpfs -o size=200k none "$1"
dd if=/dev/zero of="$1/foreign" bs=1k count="$3" 2> /dev/null
"$PYTHON" "$2" "$1/own" 2> "$4" && echo "it fits" || true
tail -n 1 "$4"; ls -A "$1" | tr '\\n' ' '; echo; stat -c %s "$1/foreign"
rm "$1/foreign"; "$PYTHON" "$2" "$1/own" | tail -n 1; ls -A "$1"
"""
    filled = 170
    answer, errors = mounted(script, tmp_path / "disk", tmp_path / "script.py", filled, tmp_path / "errors")
    error, there, size, bits, *left = answer.splitlines()
    assert "own" in error, answer + errors
    assert "Error" in error
    assert set(there.split()) <= {"foreign", "own"}
    assert size == str(1024 * filled)
    assert bits == expected
    assert left == ["own"]


def test_the_beginning_of_a_checkpoint_is_one_without_outcomes(tmp_path):
    """A disk was full, or a machine without power, while the first line was written: the study asked for another file."""
    identity = {"model": "1" * 40, "options": "2"}
    path, line = tmp_path / "kept.json", json.dumps(identity, sort_keys=True)
    for written in ("", line[:1], line[:-1], line):
        path.write_text(written)
        kept = KeptOutcomes(path, identity)
        kept.put({"a": 1}, {"x": 0.1})
        kept.close()
        again = KeptOutcomes(path, identity)
        assert again.get({"a": 1}) == {"x": 0.1}
        again.close()
    for foreign in (line[:5] + "x", "{}", line[1:], line[:9] + "\nmore"):
        path.write_text(foreign)
        with pytest.raises(StudyError, match="another study"):
            KeptOutcomes(path, identity)
        assert path.read_text() == foreign
