"""Steps of Radau IIA and of backward differentiation beside their own compiled residuals and solutions.

The peer of a run is the time of its residuals, its solutions with sparse factors and on the joints, and its
factorisations, each measured in a loop of its own. What is above is the cost of everything around them. Functions of
both are compiled by numba.
"""

import json
import os
from functools import cache
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from benchmarks.process import in_own_process
from benchmarks.row import Row

COMMAND = "python -m benchmarks implicit-steps"
DURATIONS = {"ten hinged bars": 1.0, "flexible slider-crank": 0.004}
TOLERANCE, REPEATED, RUNS = 1e-8, 2000, 5


def run() -> list[Row]:
    """CPU time of a step over that of its parts; the median of five pairs."""
    rows = in_own_process(__name__)
    return [
        Row(f"implicit-steps: {name}", ours, peer, 1.5, "us CPU a step", COMMAND) for name, (ours, peer) in rows.items()
    ]


def compare(name: str, method: Any) -> tuple[float, float]:
    """CPU microseconds of a step, and of its residuals, solutions and factorisations."""
    from flexmb.equations.initial_conditions import start
    from flexmb.equations.time_features import pace_of
    from flexmb.kernels.implicit.progress import FACTORISATIONS, ITERATIONS, REJECTED, TAKEN
    from flexmb.mechanism.compile import compiled

    mechanism, end = mechanisms()[name], DURATIONS[name]
    pairs = []
    for _ in range(RUNS):
        begin, pace = start(mechanism, compiled(mechanism)), pace_of(mechanism, end, None)
        running = method.begin(mechanism, begin, end=end, longest=end, pace=pace)
        running.prepare()
        clock = process_time()
        running.to(end)
        taken = process_time() - clock
        iterations, factored, steps, failed = (
            running._run.last[k] for k in (ITERATIONS, FACTORISATIONS, TAKEN, REJECTED)
        )
        cost = units(running)
        each = 1 + 2 * (6 + int(max(running.equations.flat.modes)))  # residuals of a new matrix, by differences
        if method.name == "radau":
            solved = (iterations - steps) * (cost["solve"] + cost["solve pair"]) + (steps + failed) * cost["solve"]
            parts = solved + (3 * iterations + each * factored + 3 * steps) * cost["residual"]
            parts += 3 * steps * cost["joints"] + factored * (cost["factors"] + cost["factors of a pair"])
        else:
            # positions and velocities are projected at three nodes and at the end, where powers are evaluated too
            parts = (iterations - steps) * cost["solve"] + factored * cost["factors"]
            parts += (iterations + each * factored + (4 * 3 + 4 * 5) * steps) * cost["residual"]
            parts += (4 * 3 + 4) * steps * cost["joints"]
        pairs.append((1e6 * taken / steps, 1e6 * parts / steps))
    return min(pairs, key=lambda pair: abs(pair[0] / pair[1] - median(a / b for a, b in pairs)))


@cache
def loops() -> dict[str, Any]:
    """Compiled loops of residuals, solutions on the joints, factorisations and solutions with factors."""
    from numba import njit

    from flexmb.kernels.implicit.motion import on_joints
    from flexmb.kernels.implicit.saddle import residual_with_states, step_matrix
    from flexmb.kernels.implicit.sparse import factorise, solve_factors

    @njit
    def residuals(times, flat, states, functions, q, w, a, multipliers, angles, kinematics, workspace, out, energies):  # type: ignore[no-untyped-def]
        for _ in range(times):
            residual_with_states(
                flat, states, functions, q, w, a, multipliers, angles, kinematics, workspace, out, energies
            )

    @njit
    def joints(times, flat, workspace, force, wanted, x, multipliers):  # type: ignore[no-untyped-def]
        for _ in range(times):
            on_joints(flat, workspace, force, wanted, False, x, multipliers)

    @njit
    def factors(times, saddle, s, following, entries, factors, L, U):  # type: ignore[no-untyped-def]
        for _ in range(times):
            step_matrix(saddle, s, following, entries)
            factorise(saddle.start, saddle.rows, entries, factors, L, U)

    @njit
    def solutions(times, factors, L, U, b, x):  # type: ignore[no-untyped-def]
        for _ in range(times):
            solve_factors(factors, L, U, b, x)

    return {"residual": residuals, "joints": joints, "factors": factors, "solve": solutions}


def units(running: Any) -> dict[str, float]:
    """CPU seconds of each part of a step, at the end of a run."""
    e, matrices = running.equations, running._matrices
    now, flat = running.now(), e.flat
    nv, nj, work = len(now.w), flat.joint_rows, np.zeros(len(now.w))
    functions, energies = e.mechanism.function_values(now.t), np.empty(5)
    real, pair, nz = matrices.factors(1), matrices.factors(2), len(e.states)
    complex_, n = pair.L.view(np.complex128), nv + nj
    given: dict[str, tuple[Any, ...]] = {
        "residual": (
            flat, e.states, functions, now.q, now.w, now.wdot, now.multipliers, e.angles, e.kinematics,
            e.workspace, work, energies,
        ),
        "joints": (flat, e.workspace, work, np.zeros(nj), np.empty(nv), np.empty(nj)),
        "factors": (
            matrices.saddle, 1e-4, np.zeros((nz, nv)), np.empty(len(matrices.saddle.M)), real, real.L, real.U,
        ),
        "factors of a pair": (
            matrices.saddle, 1e-4 + 1e-4j, np.zeros((nz, nv), dtype=complex),
            np.empty(len(matrices.saddle.M), dtype=complex), pair, complex_, pair.U.view(np.complex128),
        ),
        "solve": (real, real.L, real.U, np.ones(n), np.empty(n)),
        "solve pair": (
            pair, complex_, pair.U.view(np.complex128), np.ones(n, dtype=complex), np.empty(n, dtype=complex)
        ),
    }  # fmt: skip
    found = {}
    for name, arguments in given.items():
        repeat = loops()[name.removesuffix(" pair").removesuffix(" of a")]
        repeat(1, *arguments)
        clock = process_time()
        repeat(REPEATED, *arguments)
        found[name] = (process_time() - clock) / REPEATED
    return found


def mechanisms() -> dict[str, Any]:
    """A rigid and a flexible mechanism."""
    from benchmarks.chain import chain
    from flexmb import demo

    return {"ten hinged bars": chain(10), "flexible slider-crank": demo.build().build()}


def main() -> None:
    """In a process of its own: prints the times of all runs as one JSON object."""
    os.environ["FLEXMB_KERNELS"] = "numba"
    import flexmb

    methods = {"radau": flexmb.Radau(tolerance=TOLERANCE), "bdf": flexmb.BDF(tolerance=TOLERANCE)}
    print(json.dumps({f"{method}, {name}": compare(name, methods[method]) for method in methods for name in DURATIONS}))


if __name__ == "__main__":
    main()
