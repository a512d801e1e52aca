"""What acts on a mechanism and what is seen of it: inputs by their names, outputs as functions of a result."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fem.errors import unknown_name
from flexmb.initial import row_jacobian
from flexmb.integrators.equations import Equations
from flexmb.kernels.data import ANGLE_SINE, TRANSLATION
from flexmb.kernels.step import displace
from flexmb.linear.linearise import Linear, LinearError
from flexmb.linear.tangent import DIFFERENCE
from flexmb.mechanism import Mechanism
from flexmb.result import Result, result_of_states

Output = Callable[[Result], np.ndarray]
"""One number for each stored time, of the positions, velocities, reactions at that time: `lambda r: r.position("arm.end")[:, 2]`."""


def input_names(mechanism: Mechanism) -> list[str]:
    """Everything that can act: loads (their factor), efforts of motors and springs, motions prescribed in joints."""
    return [*_loads(mechanism), *_efforts(mechanism), *_motions(mechanism)]


def _loads(mechanism: Mechanism) -> dict[str, int]:
    return {load.name: k for k, load in enumerate(mechanism.loads)}


def _efforts(mechanism: Mechanism) -> dict[str, int]:
    single = {name: rows[0] for name, rows in mechanism.force_elements.items() if len(rows) == 1}
    parts = ("x", "y", "z", "rx", "ry", "rz")
    bushings = {
        f"{name}.{parts[i]}": row
        for name, rows in mechanism.force_elements.items()
        if len(rows) == len(parts)
        for i, row in enumerate(rows)
    }
    return single | bushings


def _motions(mechanism: Mechanism) -> dict[str, int]:
    """Joint equations that hold a coordinate, or let it follow a function of time."""
    found: dict[str, int] = {}
    for joint in mechanism.joints:
        held = [r for r in joint.rows if mechanism.rows[r].kind in (TRANSLATION, ANGLE_SINE)]
        if joint.kind != "prescribed":
            held = [r for r in held if mechanism.rows[r].function >= 0]
        for r in held:
            row = mechanism.rows[r]
            turning = row.kind == ANGLE_SINE
            if joint.kind == "prescribed":
                found[f"{joint.name}.{'rotation' if turning else 'xyz'[row.axes[0]]}"] = r
            elif len(held) == 1:
                found[joint.name] = r
            else:
                found[f"{joint.name}.{'rotation' if turning else 'translation'}"] = r
    return found


@dataclass(frozen=True, eq=False)
class Ports:
    """Small motions `x = T xi` with `xi = [y, f]`: independent coordinates and imposed motions; outputs `z = Z[0] xi + Z[1] xi' + Z[2] xi'' + direct u`.

    `inputs` in the order they were given; `force` (nv, nu): generalised force of each unit of force-like input `u`; `T` (nv, nf + nf_imposed). `is_motion` (ni,) marks imposed motions.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    is_motion: np.ndarray
    T: np.ndarray
    force: np.ndarray
    Z: tuple[np.ndarray, np.ndarray, np.ndarray]
    direct: np.ndarray


def ports(linear: Linear, inputs: Iterable[str], outputs: Mapping[str, Output]) -> Ports:
    """Inputs and outputs of small motions. Outputs are differentiated by central differences (nine digits), joint reactions included."""
    mechanism, names = linear.mechanism, tuple(inputs)
    if not names or not outputs:
        raise LinearError(
            f"Small motions need at least one input and one output; inputs of {mechanism.name!r}: {input_names(mechanism)}."
        )
    loads, efforts, motions = _loads(mechanism), _efforts(mechanism), _motions(mechanism)
    for name in names:
        if name not in {*loads, *efforts, *motions}:
            raise LinearError(unknown_name("input", name, input_names(mechanism)))
    is_motion = np.array([name in motions for name in names])
    functions = mechanism.function_values(linear.state.t)
    rows = row_jacobian(mechanism, mechanism.flat(), linear.state.q, functions)[1]
    force = [
        _load_force(linear, loads[name]) if name in loads else rows[efforts[name]].toarray().ravel()
        for name in names
        if name not in motions
    ]
    G = linear.G.toarray()
    imposed = np.zeros((len(G), int(is_motion.sum())))
    for k, name in enumerate(n for n in names if n in motions):
        imposed[motions[name], k] = 1.0
    weight = mechanism.flat().weight
    carried = np.linalg.lstsq(G / weight, imposed, rcond=1e-9)[0] / weight[:, None] if len(G) else imposed[:0]
    T = np.hstack([linear.N, carried.reshape(len(weight), -1)])
    B = np.array(force).reshape(-1, len(weight)).T
    Z, by_multiplier = _seen(linear, T, outputs)
    if len(G):
        back = by_multiplier @ np.linalg.pinv(G.T, rcond=1e-9)  # reactions balance what the accelerations leave
        Z = [z - back @ (X @ T) for z, X in zip(Z, (linear.K, linear.D, linear.M), strict=True)]
        direct = back @ B
    else:
        direct = np.zeros((len(outputs), B.shape[1]))
    return Ports(names, tuple(outputs), is_motion, T, B, (Z[0], Z[1], Z[2]), direct)


def _load_force(linear: Linear, number: int) -> np.ndarray:
    """Generalised force (nv,) of a load with a factor of one."""
    mechanism = linear.mechanism
    alone = replace(mechanism, loads=(replace(mechanism.loads[number], function=-1),))
    e = Equations(alone, linear.state.q)
    none = np.zeros(len(linear.state.w))
    e.residual(mechanism.function_values(linear.state.t), linear.state.q, linear.state.w, none, linear.multipliers)
    return e.terms.loads.copy()


def _seen(linear: Linear, T: np.ndarray, outputs: Mapping[str, Output]) -> tuple[list[np.ndarray], np.ndarray]:
    """Derivatives of the outputs by displacement, velocity, acceleration along `T`, and by the multipliers."""
    mechanism, state = linear.mechanism, linear.state
    flat, n, nj = mechanism.flat(), T.shape[1], len(linear.multipliers)
    sizes = (np.abs(T) * flat.weight[:, None]).max(axis=0)
    step = DIFFERENCE / np.where(sizes > 0, sizes, 1.0)
    none, still = np.zeros((n, len(flat.weight))), np.zeros((n, nj))
    by_place = (T * step).T, (linear.carried @ T * step).T, (linear.turned @ T * step).T, still
    by_speed = none, T.T, (linear.carried @ T).T, still
    by_acceleration = none, none, T.T, still
    flat_none = np.zeros((nj, len(flat.weight)))
    by_multiplier = flat_none, flat_none, flat_none, np.eye(nj)
    x, w, wdot, multipliers = (
        np.vstack(part) for part in zip(by_place, by_speed, by_acceleration, by_multiplier, strict=True)
    )
    x, w, wdot, multipliers = (np.vstack([part, -part]) for part in (x, w, wdot, multipliers))
    q = np.empty((len(x), len(state.q)))
    for k in range(len(x)):
        displace(flat, state.q, x[k], q[k])
    seen = result_of_states(
        mechanism, np.full(len(x), state.t), q, state.w + w, linear.wdot + wdot, linear.multipliers + multipliers
    )
    table = np.array([_values(name, output, seen) for name, output in outputs.items()])
    change = 0.5 * (table[:, : len(x) // 2] - table[:, len(x) // 2 :])
    Z = [change[:, :n] / step, change[:, n : 2 * n], change[:, 2 * n : 3 * n]]
    return Z, change[:, 3 * n :]


def _values(name: str, output: Output, seen: Result) -> np.ndarray:
    values = np.asarray(output(seen), dtype=float)
    if values.shape != seen.t.shape or not np.isfinite(values).all():
        raise LinearError(
            f"Output {name!r} must be one finite number for each time of a result, of that time alone (no energies, no derivatives along the times), such as "
            f'lambda r: r.position("{seen.mechanism.markers[-1].name}")[:, 0]; found shape {values.shape} for {len(seen.t)} times'
            f"{'' if np.isfinite(values).all() else ', with values that are not finite'}."
        )
    return values
