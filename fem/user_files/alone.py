"""Programs that read files of users in a process of their own: a damaged file that crashes or blocks them ends this
process only.

    python alone.py BYTES PROGRAM WORDS...

runs `main(output, *words)` of the file PROGRAM, which may take so many bytes of memory, and writes to `output` what
`ended` returns; what its libraries print goes to the standard error. Imports nothing of fem.
"""

import contextlib
import ctypes
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

END_WITH_PARENT = 1
"""The number of this wish for `prctl` of Linux."""
PATIENCE = 15.0
"""Time that a process may take in all, relative to its processor time: one that only waits ends then."""
LOOK = 0.2
"""Seconds between two looks at the processor time."""


def ended(
    program: str, *words: object, seconds: float, memory: int, reads: Callable[[], bool] = lambda: True
) -> subprocess.CompletedProcess[bytes] | str:
    """The process of a program that has ended by itself, or the time after which it was killed.

    - `program`: its file; `words`: the arguments of its `main` beside the output, as texts.
    - `seconds`: processor time that it may take while it reads, so that a machine that is busy with other work delays
      it and does not end it; or `PATIENCE` times as long by the clock.
    - `memory`: bytes that it may take where less is available.
    - `reads`: whether it still reads, by default until it ends; afterwards there is no limit of time.
    """
    most = max(psutil.virtual_memory().available, memory)
    command = [sys.executable, "-P", __file__, *map(str, (most, program, *words))]
    began = time.monotonic()
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as process:
        try:
            while True:
                try:
                    out, told = process.communicate(timeout=LOOK)
                except subprocess.TimeoutExpired:
                    used, taken = _processor_time(process.pid), time.monotonic() - began
                else:
                    return subprocess.CompletedProcess(command, process.returncode, out, told)
                if (used > seconds or taken > PATIENCE * seconds) and reads():
                    return f"{used:.3g} s of processor time in {taken:.3g} s"
        finally:
            process.kill()  # of one that has ended, it does nothing


def ending(done: subprocess.CompletedProcess[bytes]) -> str:
    """How a process ended that wrote nothing, for messages: its code, and the last line that it printed."""
    last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
    return f"its process ended with code {done.returncode}{''.join(f' ({text})' for text in last)}"


def _processor_time(process: int) -> float:
    """Seconds that a process has computed; 0 for one that has just ended."""
    try:
        times = psutil.Process(process).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _run(memory: str, program: str, *words: str) -> None:
    """Run a program within the limits of this process, which ends with the one that waits for it."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # other systems than Linux have none
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # for libraries that print
    with contextlib.suppress(ImportError, OSError, ValueError):  # no limits in this system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    spec = importlib.util.spec_from_file_location(Path(program).stem, program)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with output:
        module.main(output, *words)


if __name__ == "__main__":
    _run(*sys.argv[1:])
