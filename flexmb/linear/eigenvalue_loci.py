"""Vibrations over speed (Campbell diagram), over any parameter, and along a motion; stability maps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from fem.axes.limits import floats, is_whole
from fem.renamed import refuse_old_names
from fem.shown import shown
from flexmb.errors import EquilibriumError, LinearError
from flexmb.linear.equilibrium import Equilibrium, equilibrium, steady_motion
from flexmb.linear.linearise import LinearisedModel, linearised_at, warn_of_changes
from flexmb.linear.steady_running import SteadyRunning, steady_running
from flexmb.linear.vibration import Vibration
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.simulation.simulate import Progress
from flexmb.spatial.layout import pose

FLAT = 1e-9
"""Relative change of eigenvalues up to which they are constant."""

EQUAL = 1e-5
"""Relative distance up to which eigenvalues are equal except for the noise of a mesh. Their computed shapes may be any
combination.
"""

ALIKE = 0.5
"""Modal assurance criterion from which a motion may continue an aperiodic one, or one that was not there."""

SAME_SPEED = 1e-6
"""Relative difference up to which a body turns at the speed that is the parameter."""

MISSING = complex(np.nan, np.nan)
"""An eigenvalue of a column that follows nothing at a value of the parameter."""

Family = Callable[[float], System | Mechanism]
"""A mechanism for each value of a parameter."""


@shown
@dataclass(frozen=True, eq=False)
class EigenvalueLoci:
    """Eigenvalues over a parameter.

    - `values` (n,): of the parameter.
    - `eigenvalues` (n, k): per unit of time; each column follows one vibration by its shape. A vibration that becomes
      aperiodic has two real eigenvalues, of which another column shows the second; that column is NaN where they are
      one vibration.
    - `seen` (n, k): frequencies as seen from the ground, in cycles per unit of time; NaN where only those in the axes
      of the bodies are known.
    - `growth` (n,): growth rate of the least stable of all motions, including those that are not followed. Motions of
      ignorable coordinates (`Vibration.ignorable`) are left out everywhere.
    - `stable` (n,): whether no motion grows by more than the error of its eigenvalue.
    - `units`: the names of the units of the model; `dimension`: what the parameter is where that is known ("time", or
      "angular velocity" where a body turns at this speed, in radians per unit of time). Both are for plots.
    """

    parameter: str
    values: np.ndarray
    eigenvalues: np.ndarray
    seen: np.ndarray
    growth: np.ndarray
    stable: np.ndarray
    units: str | None = None
    dimension: str | None = None

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies (n, k) in the axes of the bodies, in cycles per unit of time."""
        return np.asarray(self.eigenvalues.imag / (2 * np.pi))

    def __str__(self) -> str:
        shown = self.frequencies[:, :8]
        lines = [
            f"{self.parameter:>16}"
            + "".join(f"{f'mode {k + 1}':>12}" for k in range(shown.shape[1]))
            + f"{'growth':>12}"
        ]
        lines += [
            f"{v:16.6g}" + "".join(f"{x:12.5g}" for x in row) + f"{g:12.3g}"
            for v, row, g in zip(self.values, shown, self.growth, strict=True)
        ]
        return "\n".join(lines)


def campbell(
    of: Family,
    speeds: ArrayLike,
    count: int = 10,
    parameter: str = "speed",
    progress: Progress | None = None,
    *,
    running: bool | None = None,
) -> EigenvalueLoci:
    """Vibrations about the steady motion, over the speed (Campbell diagram).

    `of(speed)`: the mechanism that rotates with the speed, by its drivers or its initial velocities. Drivers that reach
    their speed later are taken at that time (`steady_motion`). `count`: number of vibrations to follow. `running`: the
    mechanism is a vehicle in `steady_running`; by default if wheels roll or edges glide.

    The eigenvalues are those for an observer who rotates with the bodies (blades, strain gauges). `seen` contains the
    frequencies of whirling shafts as seen from the ground, which differ by plus or minus the speed, depending on the
    sense of the whirl. They are correct if the bodies rotate about one axis and their supports are isotropic.

    Raises `LinearError` when neither velocities nor vibrations depend on the parameter, and `EquilibriumError` when
    there is no steady motion.
    """
    found: list[np.ndarray] = []
    turning: list[np.ndarray] = []

    def at_speed(system: System | Mechanism) -> Equilibrium | SteadyRunning:
        mechanism = system.build() if isinstance(system, System) else system
        rolls = compiled(mechanism).velocity_rows > 0 if running is None else running
        steady = steady_running(mechanism) if rolls else steady_motion(mechanism)
        w = steady.state.w
        found.append(w)
        starts = compiled(steady.mechanism).v_start[:-1]
        turning.append(np.array([np.linalg.norm(w[s + 3 : s + 6]) for s in starts]))
        return steady

    loci = _followed(of, speeds, count, parameter, at_speed, progress)
    _require_change(loci, found)
    size = np.abs(loci.values).max()
    turns = all((np.abs(v - abs(x)) <= SAME_SPEED * size).any() for v, x in zip(turning, loci.values, strict=True))
    return replace(loci, dimension="angular velocity") if turns and size > 0 else loci


def root_locus(
    of: Family, values: ArrayLike, count: int = 10, parameter: str = "parameter", progress: Progress | None = None
) -> EigenvalueLoci:
    """Vibrations about the equilibrium, over any parameter of a mechanism.

    `of(value)`: the mechanism for a value; `count`: number of vibrations to follow. Raises `LinearError` when the
    values are not finite numbers, and `EquilibriumError` when there is no equilibrium.
    """
    return _followed(of, values, count, parameter, equilibrium, progress)


def along_motion(result: Result, count: int = 10, times: int = 50, progress: Progress | None = None) -> EigenvalueLoci:
    """Vibrations about states of a result, as if the mechanism remained there.

    A measurement in short time windows shows these vibrations. `times`: number of states, evenly spread over the stored
    times, and at most all of them; `count`: number of vibrations to follow. Raises `LinearError` when `times` is less
    than one.
    """
    if not is_whole(times) or times < 1:
        raise LinearError(f"Vibrations along a motion are those at one or more stored times; found times={times!r}.")
    chosen = np.unique(np.linspace(0, len(result.t) - 1, min(times, len(result.t))).round().astype(int))
    cases = ((float(result.t[k]), linearised_at(result.mechanism, result.state(int(k)))) for k in chosen)
    return replace(_branches(cases, len(chosen), count, "time", progress), dimension="time")


def _require_change(loci: EigenvalueLoci, velocities: list[np.ndarray]) -> None:
    """Raise `LinearError` when neither velocities nor vibrations change with the parameter."""
    if np.ptp(loci.values) == 0:
        return
    same = all((w == velocities[0]).all() for w in velocities)
    scale = np.abs(loci.eigenvalues).max(initial=0.0)  # NaN, so that they change, where a vibration becomes aperiodic
    if same and np.ptp(loci.eigenvalues.imag, axis=0).max(initial=0.0) <= FLAT * scale:
        still = "" if velocities[0].any() else ", and nothing rotates"
        raise LinearError(
            f"Speeds and vibrations are the same for every value of {loci.parameter!r} from {loci.values.min():.6g} to "
            f"{loci.values.max():.6g}{still}. Each mechanism must rotate with its value from the start: drive it with "
            "motion.constant_speed(value), or set_speed. If a function of your own drives it and reaches its speed "
            "later, use linearise(steady_motion(system, t)) with a time t after that."
        )


def _followed(
    of: Family, values: ArrayLike, count: int, parameter: str, rest: Callable, progress: Progress | None
) -> EigenvalueLoci:
    given = np.atleast_1d(floats(values))
    if given.ndim != 1 or not len(given) or not np.isfinite(given).all():
        raise LinearError(f"Values of {parameter!r} must be finite numbers, at least one; found {values!r}.")

    def cases() -> Iterator[tuple[float, LinearisedModel]]:
        told = False
        for value in given:
            found = rest(of(float(value)))
            model = linearised_at(found.mechanism, found.state)
            told = _told(found, model, told)
            yield float(value), model

    return _branches(cases(), len(given), count, parameter, progress)


def _told(found: Equilibrium | SteadyRunning, model: LinearisedModel, told: bool) -> bool:
    """Whether a warning has told, now or before, that coefficients change along the steady motions of a diagram."""
    if told or not found.state.w.any():
        return told
    warn_of_changes(model)
    return True


def _branches(
    cases: Iterator[tuple[float, LinearisedModel]], total: int, count: int, parameter: str, progress: Progress | None
) -> EigenvalueLoci:
    if not is_whole(count) or count < 1:
        raise LinearError(f"count is a number of vibrations to follow, at least 1; found {count!r}.")
    values, eigenvalues, seen, growth, stable = [], [], [], [], []
    before: Vibration | None = None
    units: str | None = None
    for k, (value, linear) in enumerate(cases):
        weight = compiled(linear.mechanism).weight[:, None]
        found, units = linear.modes(), linear.mechanism.units
        found = found.of(~found.ignorable)
        growth.append(found.eigenvalues.real.max(initial=-np.inf))
        stable.append(found.stable)
        if before is None:
            before = found.of(np.arange(min(count, len(found.eigenvalues))))
            here = np.ones(len(before.eigenvalues), bool)
        else:
            if len(found.shapes) != len(before.shapes):
                raise LinearError(
                    f"The bodies and modes of the mechanism must not depend on {parameter!r}; at {value:.6g} it has "
                    f"{len(found.shapes)} coordinates, before {len(before.shapes)}."
                )
            before, here = continued(before, found, weight, here, count)
        values.append(value)
        eigenvalues.append(np.where(here, before.eigenvalues, MISSING))
        seen.append(np.full(len(here), np.nan))
        seen[-1][here] = _from_ground(linear, before.of(here))
        if progress is not None:
            progress((k + 1) / total)
    columns = max(map(len, eigenvalues), default=0)
    followed, whirl = (
        np.array([np.pad(row, (0, columns - len(row)), constant_values=missing) for row in rows])
        for rows, missing in ((eigenvalues, MISSING), (seen, np.nan))
    )
    order = _lower_first(followed)
    followed, whirl = followed[:, order], whirl[:, order]
    return EigenvalueLoci(parameter, np.array(values), followed, whirl, np.array(growth), np.array(stable), units)


def _lower_first(followed: np.ndarray) -> np.ndarray:
    """The order of branches in which, of those that begin as one, the first is the slowest where they part: rounding
    would decide it."""
    order = np.arange(followed.shape[1])
    for group in equal(followed[0]) if len(followed) else []:
        parted = np.ptp(followed[:, group].imag, axis=1) > EQUAL * np.abs(followed[:, group]).max(axis=1)
        if parted.any():
            order[group] = group[np.argsort(followed[parted.argmax(), group].imag, kind="stable")]
    return order


def continued(
    before: Vibration, found: Vibration, weight: np.ndarray, live: np.ndarray, count: int
) -> tuple[Vibration, np.ndarray]:
    """The modes of `found` that continue those of `before`, by shape (modal assurance criterion) and frequency, and
    which of them (k,) are there.

    `weight` (nv, 1): scale of each coordinate. For equal eigenvalues only the space of the shapes is determined; the
    shapes are compared with that space, and continued within it.

    Two aperiodic motions may become one vibration, or the reverse: a mode that nothing continues is kept as it was, not
    `live` (k,), until one of its kind and its shape (`ALIKE`) is left over by the live ones. No motion of another shape
    continues an aperiodic one. Where there are fewer than `count`, the others of `found` are added.
    """
    a, b = _unit(before.shapes * weight), _unit(found.shapes * weight)
    alike = np.abs(a.conj().T @ b) ** 2
    spaces = np.zeros_like(alike)
    groups = equal(found.eigenvalues)
    for old in equal(before.eigenvalues):
        for new in groups:
            spaces[np.ix_(old, new)] = np.linalg.norm(_space(a[:, old]).conj().T @ _space(b[:, new]), 2) ** 2
    scale = np.abs(before.eigenvalues).max(initial=0.0) or 1.0
    apart = np.abs(before.eigenvalues[:, None] - found.eigenvalues[None, :]) / scale
    cost = apart - 0.5 * (alike + spaces)
    cost[~live] += np.ptp(cost) * (len(live) + 1) if cost.size else 0.0
    old, chosen = map(np.asarray, scipy.optimize.linear_sum_assignment(cost))
    aperiodic, other = before.eigenvalues[old].imag == 0, np.maximum(alike, spaces)[old, chosen] < ALIKE
    changes = aperiodic != (found.eigenvalues[chosen].imag == 0)
    ends = np.where(live[old], aperiodic & other, changes | other)
    old, chosen = old[~ends], chosen[~ends]
    shapes = found.shapes[:, chosen]
    for group in groups:
        mine = np.flatnonzero(np.isin(chosen, group))
        if len(group) > 1 and len(mine):
            within = np.linalg.lstsq(b[:, group], a[:, old[mine]], rcond=None)[0]
            U, _, V = np.linalg.svd(within, full_matrices=False)
            turned = (b[:, group] @ (U @ V)) / weight
            shapes[:, mine] = turned / turned[np.abs(turned).argmax(axis=0), np.arange(len(mine))]
    added = np.setdiff1d(np.arange(len(found.eigenvalues)), chosen)[: max(count - len(live), 0)]
    places = np.concatenate([old, np.arange(len(live), len(live) + len(added))])
    shapes, chosen = np.hstack([shapes, found.shapes[:, added]]), np.concatenate([chosen, added])

    def entered(kept: np.ndarray, new: np.ndarray) -> np.ndarray:
        out = np.concatenate([kept, np.zeros((*kept.shape[:-1], len(added)), kept.dtype)], axis=-1)
        out[..., places] = new
        return out

    here = entered(np.zeros(len(live), bool), np.ones(len(places), bool))
    values, errors = (
        entered(before.eigenvalues, found.eigenvalues[chosen]),
        entered(before.errors, found.errors[chosen]),
    )
    return Vibration(values, entered(before.shapes, shapes), errors, found.units), here


def _unit(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.linalg.norm(x, axis=0))


def _space(x: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns."""
    U, sizes, _ = np.linalg.svd(x, full_matrices=False)
    return np.asarray(U[:, sizes > 1e-6 * sizes.max(initial=0.0)])


def _from_ground(linear: LinearisedModel, vibration: Vibration) -> np.ndarray:
    """Frequencies (k,) as seen from the ground; NaN where bodies do not rotate about one axis."""
    mechanism, state, flat = linear.mechanism, linear.state, compiled(linear.mechanism)
    turning, momenta = [], linear.M @ vibration.shapes
    for b in range(len(flat.modes)):
        R, s = pose(flat, state.q, b)[1], flat.v_start[b]
        turning.append(R @ state.w[s + 3 : s + 6])
        momenta[s : s + 3] = R @ momenta[s : s + 3]
        momenta[s + 3 : s + 6] = R @ momenta[s + 3 : s + 6] / mechanism.length
    speed = np.linalg.norm(turning[0])
    if speed == 0:
        return vibration.frequencies
    if np.abs(np.array(turning) - turning[0]).max() > 1e-6 * speed:
        return np.full(len(vibration.eigenvalues), np.nan)
    axis = turning[0] / speed
    e1 = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    e1 /= np.linalg.norm(e1)
    e2 = np.cross(axis, e1)
    rows = np.concatenate([flat.v_start[:-1], flat.v_start[:-1] + 3])
    parts = np.stack([momenta[s : s + 3] for s in rows])
    forward, backward = (np.einsum("d,pdk->pk", e1 + sign * e2, parts) for sign in (1j, -1j))
    along = np.sqrt(2) * np.einsum("d,pdk->pk", axis, parts)
    omega = vibration.eigenvalues.imag
    seen = omega.copy()
    for group in equal(vibration.eigenvalues):
        with_it, against, axial = (x[:, group].conj().T @ x[:, group] for x in (forward, backward, along))
        total = with_it + against + axial
        size = np.trace(total).real / len(group)
        if size > 0:  # among combinations of equal vibrations, take those that whirl in one sense
            shares = eigh(with_it - against, total + 1e-9 * size * np.eye(len(group)), eigvals_only=True)
            w = omega[group].mean()
            seen[group] = np.where(shares > 0.5, w + speed, np.where(shares < -0.5, np.abs(w - speed), w))
    return seen / (2 * np.pi)


def equal(eigenvalues: np.ndarray, tolerance: float = EQUAL) -> list[np.ndarray]:
    """Groups of the indices of eigenvalues that are equal up to a relative `tolerance`."""
    left, groups = list(range(len(eigenvalues))), []
    while left:
        near = [k for k in left if abs(eigenvalues[k] - eigenvalues[left[0]]) <= tolerance * abs(eigenvalues[k])]
        near = near or [left[0]]
        groups.append(np.array(near))
        left = [k for k in left if k not in near]
    return groups


@dataclass(frozen=True, eq=False)
class StabilityMap:
    """The least stable motion over two parameters `x` (nx,) and `y` (ny,).

    - `growth` (ny, nx): its growth rate per unit of time, NaN where there is no equilibrium.
    - `frequency` (ny, nx): its frequency, in cycles per unit of time.
    - `stable` (ny, nx): whether there is an equilibrium and no motion about it grows by more than the error of its
      eigenvalue.
    - `units`: the names of the units of the model, for plots.
    """

    x_name: str
    y_name: str
    x: np.ndarray
    y: np.ndarray
    growth: np.ndarray
    frequency: np.ndarray
    stable: np.ndarray
    units: str | None = None

    def __str__(self) -> str:
        known = np.isfinite(self.growth)
        return (
            f"{known.sum()} of {known.size} points have an equilibrium; {int(self.stable.sum())} are stable; "
            f"growth rates from {np.nanmin(self.growth):.4g} to {np.nanmax(self.growth):.4g}"
        )


def stability_map(
    of: Callable[[float, float], System | Mechanism],
    x: ArrayLike,
    y: ArrayLike,
    names: tuple[str, str] = ("x", "y"),
    moving: bool = False,
    progress: Progress | None = None,
) -> StabilityMap:
    """Stability of the equilibrium of `of(x, y)` for every pair of values; with `moving`, of the steady motion.

    `names`: of the two parameters. Raises `LinearError` when no pair has an equilibrium near its initial state.
    """
    xs, ys = np.atleast_1d(np.asarray(x, dtype=float)), np.atleast_1d(np.asarray(y, dtype=float))
    growth, frequency = np.full((2, len(ys), len(xs)), np.nan)
    stable = np.zeros((len(ys), len(xs)), bool)
    units: str | None = None
    told = False
    for j, b in enumerate(ys):
        for i, a in enumerate(xs):
            try:
                rest = (steady_motion if moving else equilibrium)(of(float(a), float(b)))
            except EquilibriumError:
                continue
            model = linearised_at(rest.mechanism, rest.state)
            told = _told(rest, model, told)
            found, units = model.modes(), rest.mechanism.units
            values, stable[j, i] = found.eigenvalues, found.stable
            worst = values[values.real.argmax()] if len(values) else 0j
            growth[j, i], frequency[j, i] = worst.real, abs(worst.imag) / (2 * np.pi)
        if progress is not None:
            progress((j + 1) / len(ys))
    if np.isnan(growth).all():
        raise LinearError("None of the pairs of values has an equilibrium near its initial state.")
    return StabilityMap(*names, xs, ys, growth, frequency, stable, units)


refuse_old_names(__name__)
