"""Cases in forked processes, which are reused until one of them crashes, hangs or takes too much memory."""

import contextlib
import faulthandler
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import psutil

from fem.errors import FlexmbError

SECONDS = 30.0
MEMORY = 2 * 2**30
"""Limits of one case."""
PATIENCE = 4
"""How many times longer than the limit of its processor time a case may take."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case: "result", "refused", or a `fault` in words."""

    case: Any
    kind: str
    text: str = ""

    @property
    def fault(self) -> bool:
        return self.kind not in ("result", "refused")


def outcomes(
    cases: Iterable[Any], run: Callable[[Any], object], workers: int = 2, seconds: float = SECONDS
) -> Iterator[Outcome]:
    """Yield the outcome of every case, as they come. `run(case)` returns, raises a `FlexmbError` or `UnnamedError`, or is at fault."""
    waiting = iter(cases)
    busy: dict[Connection, tuple[Any, Any, float, float]] = {}
    idle: list[tuple[Connection, Any]] = []
    done = False
    try:
        while True:
            while not done and len(busy) < workers:
                case = next(waiting, None)
                if case is None:
                    done = True
                    break
                pipe, process = idle.pop() if idle else _worker(run)
                pipe.send(case)
                busy[pipe] = case, process, time.monotonic(), _processor_time(process.pid)
            if not busy:
                return
            ready = wait(list(busy), timeout=1.0)
            for pipe in list(busy):
                case, process, began, used = busy[pipe]
                if pipe in ready:
                    try:
                        kind, text = pipe.recv()
                        idle.append((pipe, process))
                    except (EOFError, OSError):
                        process.join()
                        kind, text = "crash", _death(process.exitcode)
                        pipe.close()
                elif time.monotonic() - began > seconds and _hangs(
                    process.pid, used, time.monotonic() - began, seconds
                ):
                    process.kill()
                    process.join()
                    pipe.close()
                    kind, text = "hang", f"no outcome after {seconds:g} s"
                else:
                    continue
                del busy[pipe]
                yield Outcome(case, kind, text)
    finally:
        for pipe, process in [*idle, *((pipe, process) for pipe, (_, process, _, _) in busy.items())]:
            process.kill()
            process.join()
            pipe.close()


def _processor_time(pid: int) -> float:
    """Processor time of a process and of its children, those that have ended too."""
    total = 0.0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += sum(each.cpu_times()[:4])
    return total


def _hangs(pid: int, used: float, passed: float, seconds: float) -> bool:
    """Whether a case has computed for longer than its limit, or waited for several times as long: on a machine that is
    busy with other work, a case may wait for its turn."""
    return passed > PATIENCE * seconds or _processor_time(pid) - used > seconds


def _worker(run: Callable[[Any], object]) -> tuple[Connection, Any]:
    ours, theirs = multiprocessing.Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forks beside threads
        process = multiprocessing.get_context("fork").Process(target=_serve, args=(theirs, run), daemon=False)
        process.start()
    theirs.close()
    return ours, process


def _serve(pipe: Connection, run: Callable[[Any], object]) -> None:
    faulthandler.disable()
    _limit_memory()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        sys.stdout, sys.stderr = nowhere, nowhere
        while True:
            try:
                case = pipe.recv()
            except (EOFError, OSError):
                os._exit(0)
            pipe.send(_outcome(run, case))


def _limit_memory() -> None:
    """At most 2 GiB more than the process has mapped already."""
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class UnnamedError(Exception):
    """An error of ours that does not name the file, line or key."""


def _outcome(run: Callable[[Any], object], case: Any) -> tuple[str, str]:
    try:
        run(case)
    except UnnamedError as error:
        return "unnamed", str(error)
    except FlexmbError as error:
        return "refused", f"{type(error).__name__}: {error}"
    except MemoryError:
        return "memory", "".join(traceback.format_exc(limit=-4))
    except BaseException as error:
        with contextlib.suppress(Exception):
            return "traceback", "".join(traceback.format_exception(error, limit=-5))[-3000:]
        return "traceback", type(error).__name__
    return "result", ""


def _death(code: int | None) -> str:
    return (
        f"the process died of {signal.Signals(-code).name}"
        if code is not None and code < 0
        else f"the process ended with code {code}"
    )
