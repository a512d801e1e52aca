"""`parameter_study`: one model function for many parameters, on several processes, threads or workers of a cluster."""

import platform
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import cloudpickle
import loky

from fem.errors import FlexmbError
from fem.renamed import refuse_old_names, renamed
from flexmb.errors import StudyError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.simulation.simulate import Progress, simulate
from flexmb.study.identity import identity
from flexmb.study.kept import KeptOutcomes
from flexmb.study.parameters import Parameters, checked
from flexmb.study.peaks import Measure, numbers_by_name, peaks, require_function
from flexmb.study.readings import files_read, listening
from flexmb.study.table import Row, Study
from flexmb.study.workers import one_thread, packed, pool, received
from flexmb.version import __version__

Model = Callable[..., System | Mechanism | Mapping[str, float]]
Answer = tuple[dict[str, float] | None, str | None, dict[str, str]]
"""The outcome of a variant or its error, and, if outcomes are stored, the digests of files on which it may depend."""
Run = Callable[[Parameters], Answer]
Task = tuple[Model, Measure, float | None, dict[str, Any]]
"""Model, measure, duration and options of the simulations."""

DIED = "its process died"
LOST = "the connection to Dask's scheduler was lost; run the study again with the same checkpoint to continue it"
LOOK = 1.0
"""Seconds after which the connection to Dask's scheduler is looked at."""


@renamed(keep="checkpoint")
def parameter_study(
    model: Model,
    parameters: Iterable[Mapping[str, Any]],
    duration: float | None = None,
    *,
    measure: Measure = peaks,
    workers: int | None = None,
    threads: bool = False,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Study:
    """Run `model(**variant)` for every variant of the parameters, and return the measures in one table.

    - `model` returns a `System` or `Mechanism`, which is simulated for `duration` with `options` (those of `simulate`)
      and measured. Or it returns the measures themselves, as numbers by name, for a study of anything else, such as
      reductions. Functions of scripts and notebooks can be used: they are sent to other processes with everything they
      refer to, and to an `executor` with the modules beside the script that are imported.
    - `parameters`: mappings with the same names; `full_factorial` makes them from lists of values.
    - `measure(result)`: numbers by name; default `peaks`.
    - `workers`: number of processes on this machine (default: one for each core), each with one thread.
    - `threads`: whether threads of this process take the place of processes. They start at once, share the memory of
      bodies, and give the same numbers; time steps run at the same time, code in Python and laws in Python take turns.
      The model function must not change what variants share, and a crash of the process ends all variants.
    - `executor`: an object with the method `submit` of `concurrent.futures.Executor`, in place of these processes; for
      a Dask cluster, `client.get_executor()`.
    - `checkpoint`: a file in which every outcome is stored when it is computed. Started again with the same file, an
      interrupted study resumes; two studies cannot use it at the same time. The file of another study is refused: one
      with another model or measure (code, constants, what they refer to), other contents of named files, other options,
      or another version of flexmb. Outcomes of variants that have read a file, or imported a module of yours, that has
      changed since are computed again.
    - `progress`: called with the fraction of variants that are done.

    A variant that fails does not stop the others; its row contains the error. When a process of its own dies (killed,
    out of memory), the variants that were running are started again one at a time, so that only the variant that kills
    its process twice fails.

    Raises `StudyError` when all variants fail, when the parameters or options do not fit, or when outcomes cannot be
    stored.
    """
    variants = checked(parameters)
    require_function(measure)
    _check_simulation(duration, options)
    if threads and executor is not None:
        raise StudyError("Variants run in threads of this process, or on an executor: give threads=True or executor=.")
    kept = None if checkpoint is None else KeptOutcomes(checkpoint, _about(model, measure, duration, options))
    rows: dict[int, Row] = {}
    if kept is not None:
        for number, variant in enumerate(variants):
            if (outcome := kept.get(variant)) is not None:
                rows[number] = Row(variant, outcome)
    left = [number for number in range(len(variants)) if number not in rows]
    keeping = kept is not None
    try:
        if threads:
            answers = _in_threads((model, measure, duration, options), keeping, variants, left, workers)
        else:
            task = packed((model, measure, duration, options), executor is not None)
            answers = (
                _here(task, keeping, variants, left, workers)
                if executor is None
                else _over(executor, task, keeping, variants, left)
            )
        for number, (outcome, error, files) in answers:
            rows[number] = Row(variants[number], outcome, error)
            if kept is not None and outcome is not None:
                kept.put(variants[number], outcome, files)
            if progress is not None:
                progress(len(rows) / len(variants))
    finally:
        if kept is not None:
            kept.close()
    study = Study(tuple(rows[number] for number in range(len(variants))))
    if len(study.failed) == len(variants):
        raise StudyError(f"All {len(variants)} variants failed; the first, {variants[0]}: {study.rows[0].error}")
    return study


def _about(model: Model, measure: Measure, duration: float | None, options: dict[str, Any]) -> dict[str, str]:
    told = {name: value for name, value in options.items() if name != "history"}
    return identity(model=model, measure=measure, duration=duration, options=told)


def _check_simulation(duration: float | None, options: dict[str, Any]) -> None:
    if duration is None and options:
        raise StudyError(
            f"Options of a simulation ({', '.join(options)}) need a duration: parameter_study(model, parameters, "
            "duration, ...)."
        )


@lru_cache(maxsize=2)
def _unpacked(task: bytes) -> Task:
    unpacked: Task = cloudpickle.loads(task)
    return unpacked


def _run(task: bytes, keeping: bool, variant: Parameters) -> Answer:
    """Run one variant in a worker: its outcome or the text of its error and, if needed, the files it may depend on."""
    with one_thread():
        return _outcome(lambda: _unpacked(task), keeping, variant)


def _outcome(task: Callable[[], Task], keeping: bool, variant: Parameters) -> Answer:
    """The outcome of a variant, or the text of its error."""
    try:
        with listening() if keeping else nullcontext():
            model, measure, duration, options = task()
            made = model(**variant)
            if isinstance(made, System | Mechanism):
                if duration is None:
                    raise StudyError("The model function returned a mechanism: give the duration of the simulation.")
                made = measure(simulate(made, duration, **options))
            outcome = numbers_by_name(made)
        return outcome, None, files_read() if keeping else {}
    except Exception as error:
        told = str(error) if isinstance(error, FlexmbError) else f"{type(error).__name__}: {error}"
        return None, told, {}


def _run_sent(key: str, keeping: bool, variant: Parameters) -> Answer:
    return _run(received(key), keeping, variant)


def _run_elsewhere(version: str, task: bytes, keeping: bool, variant: Parameters) -> Answer:
    """Run one variant in a worker of the user's executor, which needs the `version` of flexmb that the script has."""
    if __version__ != version:
        return None, (
            f"the worker on {platform.node()!r} has flexmb {__version__}, and the script has {version}; install the "
            "same version on all hosts"
        ), {}  # fmt: skip
    return _run(task, keeping, variant)


def _by_value() -> Callable[..., Answer]:
    """`_run_elsewhere` for the workers of a Dask cluster: a nested function, which is sent by value. A worker without
    flexmb could not read a function sent by its name, and would close."""

    def run(version: str, *arguments: Any) -> Answer:
        import platform
        from importlib import import_module

        try:
            elsewhere: Callable[..., Answer] = import_module("flexmb.study.many")._run_elsewhere
        except ImportError as error:
            return (
                None,
                f"the worker on {platform.node()!r} has no flexmb {version} ({error}); install it on all hosts",
                {},
            )
        return elsewhere(version, *arguments)

    return run


def _over(
    executor: Executor, task: bytes, keeping: bool, variants: list[Parameters], left: list[int]
) -> Iterator[tuple[int, Answer]]:
    """Yield answers from the user's executor as they arrive; if a worker dies, its variant gets an error.

    The executor of a Dask client sends the task to each worker once; others send it with each variant.
    """
    scatter = getattr(getattr(executor, "_client", None), "scatter", None)
    sent = task if scatter is None else scatter(task, broadcast=True)

    run = _run_elsewhere if scatter is None else _by_value()

    def submit(task: Any, number: int) -> "Future[Answer]":
        return executor.submit(run, __version__, task, keeping, variants[number])

    futures = {submit(sent, number): number for number in left}
    again: set[int] = set()
    while futures:
        done = wait(futures, None if scatter is None else LOOK, FIRST_COMPLETED).done
        lost = _is_lost(executor)
        for future in done:
            # remove the future at once: Dask repeats the work of a killed worker while a reference exists
            number = futures.pop(future)
            try:
                error = future.exception()
            except CancelledError as cancelled:  # the workers that held the task are gone: it is sent with the variant
                if scatter is not None and not lost and number not in again:
                    again.add(number)
                    futures[submit(task, number)] = number
                    continue
                error = cancelled
            yield number, (future.result() if error is None else (None, LOST if lost else f"{DIED}: {error}", {}))
        if lost:  # Dask has cancelled the others, but may leave some unanswered for ever
            for number in futures.values():
                yield number, (None, LOST, {})
            return


def _is_lost(executor: Executor) -> bool:
    """Whether the client of a Dask executor has no connection to its scheduler."""
    client = getattr(executor, "_client", None)
    return getattr(client, "status", "running") != "running"


def _in_threads(
    task: Task, keeping: bool, variants: list[Parameters], left: list[int], workers: int | None
) -> Iterator[tuple[int, Answer]]:
    """Yield answers of threads of this process. If their reader stops, simulations end at their next progress."""
    stopped = Event()

    def proceed(done: float) -> None:
        if stopped.is_set():
            raise CancelledError

    model, measure, duration, options = task
    watched = task if duration is None else (model, measure, duration, options | {"progress": proceed})
    with one_thread(), ThreadPoolExecutor(_count(workers, left)) as pool:
        futures = {pool.submit(_outcome, lambda: watched, keeping, variants[number]): number for number in left}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)


def _count(workers: int | None, left: list[int]) -> int:
    """Number of processes or threads for the variants that are left."""
    return min(workers or loky.cpu_count(only_physical_cores=True), max(len(left), 1))


def _here(
    task: bytes, keeping: bool, variants: list[Parameters], left: list[int], workers: int | None
) -> Iterator[tuple[int, Answer]]:
    """Yield answers from processes of this machine, which are replaced when one of them dies."""
    key = sha256(task).hexdigest()
    run = partial(_run_sent, key, keeping)
    count = _count(workers, left)
    waiting, suspects, deaths = deque(left), deque[int](), Counter[int]()
    while waiting or suspects:
        alone = bool(suspects)
        processes = pool(1 if alone else count, key, task)
        try:
            for number, answer in _from_pool(
                processes, run, variants, suspects if alone else waiting, 1 if alone else 2 * count
            ):
                if answer is not None:
                    yield number, answer
                    continue
                deaths[number] += 1
                if alone and deaths[number] > 1:
                    yield number, (None, f"{DIED} {deaths[number]} times (killed, or out of memory)", {})
                else:
                    suspects.append(number)
        finally:
            processes.shutdown(wait=True, kill_workers=True)


def _from_pool(
    pool: Executor, run: Run, variants: list[Parameters], queue: deque[int], at_once: int
) -> Iterator[tuple[int, Answer | None]]:
    """Yield answers of a pool until the queue is empty or the pool breaks; None for variants that were running then."""
    futures: dict[Future, int] = {}
    broken = False
    while (queue or futures) and not broken:
        while queue and len(futures) < at_once and not broken:
            try:
                futures[pool.submit(run, variants[queue[0]])] = queue[0]
                queue.popleft()
            except BrokenProcessPool:
                broken = True
        for future in sorted(wait(futures, return_when=FIRST_COMPLETED).done, key=futures.__getitem__):
            broken |= isinstance(future.exception(), BrokenProcessPool)
            yield futures.pop(future), (None if future.exception() else future.result())
    for future, number in futures.items():  # of a broken pool: finished or lost
        yield number, (None if future.exception() else future.result())


refuse_old_names(__name__)
