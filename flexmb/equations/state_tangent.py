"""Derivatives of the states of force elements, and of the residual with respect to them, by differences of fourth order
with bounds of their errors."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float

from flexmb.differences import MEASURED, ROUNDING, measured_derivatives
from flexmb.equations.evaluation import Equations
from flexmb.equations.tangent import controlled_bodies
from flexmb.kernels.base.data import GROUND
from flexmb.kernels.calls import displace
from flexmb.mechanism.scales import rate_at
from flexmb.mechanism.state import State


@dataclass(frozen=True, eq=False)
class StateTangent:
    """Derivatives of the rates of the states of force elements, and of the residual forces with respect to the states.

    - `by_speed`, `by_place` (nz, nv): of the rates, with respect to velocities and, at fixed velocities, displacements.
    - `by_state` (nz, nz): of the rates with respect to the states.
    - `force` (nv, nz): of the residual forces with respect to the states.
    """

    by_speed: Float[np.ndarray, "nz nv"]
    by_place: Float[np.ndarray, "nz nv"]
    by_state: Float[np.ndarray, "nz nz"]
    force: Float[np.ndarray, "nv nz"]


@dataclass(frozen=True, eq=False)
class SampledRates:
    """What samples change, over the sample time of each controller, as `rates` (nz,) of the states of sampled
    controllers, with their derivatives `tangent` and bounds of the errors of these, and their usual changes `sizes`
    (nz,) by a motion of the size of the mechanism; zero for all others."""

    rates: Float[np.ndarray, "nz"]
    tangent: StateTangent
    error: StateTangent
    sizes: Float[np.ndarray, "nz"]

    def between(self) -> "SampledRates":
        """The same between samples, where nothing changes."""
        none = StateTangent(*(np.zeros_like(getattr(self.tangent, f.name)) for f in fields(StateTangent)))
        return SampledRates(np.zeros_like(self.rates), none, none, self.sizes)


Samples = Callable[[Equations, np.ndarray, np.ndarray, np.ndarray], SampledRates]
"""The rates by samples at a configuration (nq,), velocities (nv,) and multipliers (nj,), with the states of
`Equations`."""


def state_tangent(
    e: Equations, functions: np.ndarray, q: np.ndarray, w: np.ndarray, wdot: np.ndarray, multipliers: np.ndarray
) -> tuple[StateTangent, StateTangent, Float[np.ndarray, "nz"]]:
    """The derivatives at the states `e.states`, bounds of their errors, and the scale of each state.

    With `e.samples`, the rates of states of sampled controllers, also in `e.workspace`, are those of `SampledRates`.

    Cost: twelve residuals for each velocity of a body on which an element with states acts, and for each state.
    """
    flat, nv, nz = e.flat, len(w), len(e.states)
    rate, kept, moved = rate_at(flat, w, wdot), e.states.copy(), np.empty_like(q)

    def seen(x: np.ndarray, change: np.ndarray, states: np.ndarray) -> np.ndarray:
        displace(flat, q, x, moved)
        e.states[:] = states
        out = e.residual(functions, moved, w + change, wdot, multipliers)[0]
        return np.concatenate([e.workspace.state_rates, out])

    none = np.zeros(nv)
    tables = {key: (np.zeros((nz, nv)), np.zeros((nz, nv))) for key in ("speed", "place")}
    for column in touched(e):
        unit = np.zeros(nv)
        unit[column] = 1.0 / flat.weight[column]
        for key, size in (("place", 1.0), ("speed", rate)):

            def at(h: float, u: np.ndarray = unit * size, moves: bool = key == "place") -> np.ndarray:
                return seen(h * u, none, kept) if moves else seen(none, h * u, kept)

            value, error = derivative_at_zero(at)
            tables[key][0][:, column], tables[key][1][:, column] = (
                x[:nz] / (size * unit[column]) for x in (value, error)
            )
    seen(none, none, kept)
    own: SampledRates | None = e.samples and e.samples(e, q, w, multipliers)
    by_samples = () if own is None else (own.tangent, own.error)
    for place, found in enumerate(by_samples):
        tables["speed"][place][:] += found.by_speed
        tables["place"][place][:] += found.by_place
    rates = np.abs(e.workspace.state_rates + (0.0 if own is None else own.rates))
    columns = 1.0 / flat.weight
    by_speed, by_place = (np.abs(tables[key][0] * columns).max(axis=1, initial=0.0) for key in ("speed", "place"))
    scale = np.max([np.abs(kept), rates / rate, by_place / rate, by_speed], axis=0)
    scale = scale if own is None else np.maximum(scale, own.sizes)
    step = scale.max(initial=0.0) or 1.0
    by_state, force = (np.zeros((nz, nz)), np.zeros((nz, nz))), (np.zeros((nv, nz)), np.zeros((nv, nz)))
    sampled = np.zeros(nz) if own is None else own.sizes
    for k in np.argsort(sampled == 0, kind="stable").tolist():  # sampled ones first, whose commands others may read
        unit = np.zeros(nz)
        unit[k] = scale[k] or step
        differences = derivative_at_zero(lambda h, u=unit: seen(none, none, kept + h * u))  # type: ignore[misc]
        for place, value in enumerate(differences):
            by_state[place][:, k], force[place][:, k] = value[:nz] / unit[k], value[nz:] / unit[k]
        if sampled[k] > 0:
            scale = np.maximum(scale, np.abs(by_state[0][:, k]) * scale[k] / rate)
    for place, found in enumerate(by_samples):
        by_state[place][:] += found.by_state
    seen(none, none, kept)
    e.workspace.state_rates[:] += 0.0 if own is None else own.rates
    best, bound = (StateTangent(tables["speed"][i], tables["place"][i], by_state[i], force[i]) for i in (0, 1))
    return best, bound, _completed(scale, np.abs(by_state[0]) / rate)


def _completed(scale: np.ndarray, effect: np.ndarray) -> np.ndarray:
    """The scales (nz,) of states with those that are zero replaced: by what other states change them by, in the time of
    a radian, or else by what changes others by their scales. `effect` (nz, nz): the changes for units of the states."""
    scale = scale.copy()
    while (scale == 0).any() and (scale > 0).any():
        known = scale > 0
        caused = np.where(known, 0.0, (effect[:, known] * scale[known]).max(axis=1))
        if not caused.any():
            with np.errstate(divide="ignore"):
                causing = (scale[known, None] / effect[known]).min(axis=0)
            caused = np.where(known | np.isinf(causing), 0.0, causing)
        if not caused.any():
            break
        scale = np.where(known, scale, caused)
    scale[scale == 0] = scale.max(initial=0.0) or 1.0
    return scale


def usual_states(e: Equations, state: State, wdot: np.ndarray, multipliers: np.ndarray) -> Float[np.ndarray, "nz"]:
    """The magnitudes of the states of elements at a state of the mechanism; of those that are zero there, the change
    that a motion of the size of the mechanism causes. Errors of states are relative to them, or to later values."""
    found = np.abs(e.states)
    if (found == 0).any():
        functions = e.mechanism.function_values(state.t)
        found = np.where(found > 0, found, state_tangent(e, functions, state.q, state.w, wdot, multipliers)[2])
    return found


def derivative_at_zero(at: Callable[[float], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The derivative of `at` at zero, and a bound of its error."""
    size = np.zeros(0)

    def central(h: float) -> np.ndarray:
        nonlocal size
        ahead, behind = at(h), at(-h)
        if h == MEASURED:
            size = np.abs(ahead) + np.abs(behind)
            size = size if np.isfinite(size).all() else 2 * np.abs(at(0.0))
        return np.asarray((ahead - behind) / (2 * h))

    return measured_derivatives(
        central,
        lambda: ROUNDING / MEASURED * size,
        lambda value: ROUNDING / MEASURED * np.abs(value),
        lambda value: np.maximum(np.abs(value), size),
    )


def touched(e: Equations) -> list[int]:
    """The velocities of all bodies on which an element with states acts, or which its inputs or controllers with states
    measure."""
    flat, found = e.flat, set()
    for element, row in enumerate(flat.element_row):
        if flat.element_state[element + 1] > flat.element_state[element]:
            found |= {int(b) for b in flat.marker_body[flat.row_markers[row]] if b != GROUND}
    if any(controller.begin for controller in e.mechanism.controllers):
        found |= controlled_bodies(e.mechanism)
    if any(force.initial and force.command >= 0 for force in e.mechanism.frame_forces):
        found |= controlled_bodies(e.mechanism)
    return [k for b in sorted(found) for k in range(flat.v_start[b], flat.v_start[b + 1])]
