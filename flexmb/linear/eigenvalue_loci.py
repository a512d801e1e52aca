"""Vibrations that change: with speed (Campbell), with any parameter, along a motion; and maps of stability."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment

from fem.shown import shown
from flexmb.errors import EquilibriumError, LinearError
from flexmb.linear.equilibrium import Equilibrium, equilibrium, steady_motion
from flexmb.linear.linearise import LinearisedModel, linearise
from flexmb.linear.vibration import Vibration
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.simulation.simulate import Progress
from flexmb.spatial.layout import pose

FLAT = 1e-9
"""Relative change of eigenvalues that is none."""

EQUAL = 1e-5
"""Relative distance of eigenvalues that are the same but for the noise of a mesh: any mixture of their shapes may have been found."""

Family = Callable[[float], System | Mechanism]
"""A mechanism for each value of a parameter."""


@shown
@dataclass(frozen=True, eq=False)
class EigenvalueLoci:
    """Eigenvalues (n, k) at each value of a parameter, each column one vibration followed by its shape; `seen` (n, k): their frequencies seen from the ground, nan where only those of the
    turning axes are known. `growth` (n,): growth rate of the least stable of all motions, also of those that are not followed; `stable` (n,): whether none grows by more than the error of its
    eigenvalue."""

    parameter: str
    values: np.ndarray
    eigenvalues: np.ndarray
    seen: np.ndarray
    growth: np.ndarray
    stable: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """Cycles per unit of time (n, k), in the axes of the bodies."""
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
    of: Family, speeds: ArrayLike, count: int = 10, parameter: str = "speed", progress: Progress | None = None
) -> EigenvalueLoci:
    """Frequencies against speed: `of(speed)` is the mechanism that turns with it (its drivers or start say so); at each speed its steady motion and the vibrations about it.

    Drivers that take time to get up to speed are taken when they have (`steady_motion`). A parameter that changes neither speeds nor vibrations is refused: it is not what the mechanism turns with.

    Eigenvalues are those that an observer sees who turns with the bodies (blades, strain gauges). `seen` are the frequencies of whirling shafts seen from the ground, that is
    plus or minus the speed by the sense of the whirl: right where the bodies turn about one axis and their supports are isotropic.
    """
    found: list[np.ndarray] = []

    def at_speed(mechanism: System | Mechanism) -> Equilibrium:
        steady = steady_motion(mechanism)
        found.append(steady.state.w)
        return steady

    loci = _followed(of, speeds, count, parameter, at_speed, progress)
    _require_change(loci, found)
    return loci


def root_locus(
    of: Family, values: ArrayLike, count: int = 10, parameter: str = "parameter", progress: Progress | None = None
) -> EigenvalueLoci:
    """Vibrations about the equilibrium, against any parameter of a mechanism."""
    return _followed(of, values, count, parameter, equilibrium, progress)


def along_motion(result: Result, count: int = 10, times: int = 50, progress: Progress | None = None) -> EigenvalueLoci:
    """Vibrations about the states that a result went through, as if each were held: what a measurement in short windows sees. `times`: how many, evenly spread."""
    chosen = np.unique(np.linspace(0, len(result.t) - 1, times).round().astype(int))
    cases = ((float(result.t[k]), linearise(result.mechanism, result.state(int(k)))) for k in chosen)
    return _branches(cases, len(chosen), count, "time", progress)


def _require_change(loci: EigenvalueLoci, velocities: list[np.ndarray]) -> None:
    """Refuse a diagram over a parameter with which neither velocities nor vibrations change."""
    if np.ptp(loci.values) == 0:
        return
    same = all((w == velocities[0]).all() for w in velocities)
    scale = np.abs(loci.eigenvalues).max(initial=0.0)
    if same and np.ptp(loci.eigenvalues.imag, axis=0).max(initial=0.0) <= FLAT * scale:
        still = "" if velocities[0].any() else ", and nothing turns"
        raise LinearError(
            f"Speeds and vibrations are the same for every value of {loci.parameter!r} from {loci.values.min():.6g} to {loci.values.max():.6g}{still}. "
            "Each mechanism must turn with its value from the start: drive it with motion.constant_speed(value), or set_speed; a driver that gets up to speed later and is a function of your own "
            "does not say when it has: follow linearise(steady_motion(system, t)) with a time t after that."
        )


def _followed(
    of: Family, values: ArrayLike, count: int, parameter: str, rest: Callable, progress: Progress | None
) -> EigenvalueLoci:
    given = np.atleast_1d(np.asarray(values, dtype=float))
    if not len(given) or not np.isfinite(given).all():
        raise LinearError(f"Values of {parameter!r} must be finite numbers, at least one; found {values!r}.")

    def cases() -> Iterator[tuple[float, LinearisedModel]]:
        for value in given:
            found = rest(of(float(value)))
            yield float(value), linearise(found.mechanism, found.state)

    return _branches(cases(), len(given), count, parameter, progress)


def _branches(
    cases: Iterator[tuple[float, LinearisedModel]], total: int, count: int, parameter: str, progress: Progress | None
) -> EigenvalueLoci:
    values, eigenvalues, seen, growth, stable = [], [], [], [], []
    before: Vibration | None = None
    for k, (value, linear) in enumerate(cases):
        weight = compiled(linear.mechanism).weight[:, None]
        found = linear.modes()
        growth.append(found.eigenvalues.real.max(initial=-np.inf))
        stable.append(found.stable)
        if before is None:
            before = found.of(np.arange(min(count, len(found.eigenvalues))))
        else:
            if len(found.shapes) != len(before.shapes):
                raise LinearError(
                    f"The mechanism must keep its bodies and modes as {parameter!r} changes; at {value:.6g} it has {len(found.shapes)} coordinates, before {len(before.shapes)}."
                )
            before = continued(before, found, weight)
        values.append(value)
        eigenvalues.append(before.eigenvalues)
        seen.append(_from_ground(linear, before))
        if progress is not None:
            progress((k + 1) / total)
    return EigenvalueLoci(
        parameter, np.array(values), np.array(eigenvalues), np.array(seen), np.array(growth), np.array(stable)
    )


def continued(before: Vibration, found: Vibration, weight: np.ndarray) -> Vibration:
    """Those of the modes `found` that continue those `before`, by shape (modal assurance criterion) and frequency.

    Of equal eigenvalues only the space of their shapes has a meaning, whatever basis of it was found: shapes are compared with that space, and continued within it.
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
    chosen = np.asarray(linear_sum_assignment(apart - 0.5 * (alike + spaces))[1])
    shapes = found.shapes[:, chosen]
    for group in groups:
        mine = np.flatnonzero(np.isin(chosen, group))
        if len(group) > 1 and len(mine):
            within = np.linalg.lstsq(b[:, group], a[:, mine], rcond=None)[0]
            U, _, V = np.linalg.svd(within, full_matrices=False)
            turned = (b[:, group] @ (U @ V)) / weight
            shapes[:, mine] = turned / turned[np.abs(turned).argmax(axis=0), np.arange(len(mine))]
    return Vibration(found.eigenvalues[chosen], shapes, found.errors[chosen])


def _unit(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.linalg.norm(x, axis=0))


def _space(x: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the columns."""
    U, sizes, _ = np.linalg.svd(x, full_matrices=False)
    return np.asarray(U[:, sizes > 1e-6 * sizes.max(initial=0.0)])


def _from_ground(linear: LinearisedModel, vibration: Vibration) -> np.ndarray:
    """Frequencies (k,) of motions across the axis of rotation as the ground sees them; not a number where bodies do not turn about one axis."""
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
        if size > 0:  # of equal vibrations any mixture is one: those that turn one way
            shares = eigh(with_it - against, total + 1e-9 * size * np.eye(len(group)), eigvals_only=True)
            w = omega[group].mean()
            seen[group] = np.where(shares > 0.5, w + speed, np.where(shares < -0.5, np.abs(w - speed), w))
    return seen / (2 * np.pi)


def equal(eigenvalues: np.ndarray, tolerance: float = EQUAL) -> list[np.ndarray]:
    """Groups of vibrations whose eigenvalues are the same, up to a relative `tolerance`."""
    left, groups = list(range(len(eigenvalues))), []
    while left:
        near = [k for k in left if abs(eigenvalues[k] - eigenvalues[left[0]]) <= tolerance * abs(eigenvalues[k])]
        near = near or [left[0]]
        groups.append(np.array(near))
        left = [k for k in left if k not in near]
    return groups


@dataclass(frozen=True, eq=False)
class StabilityMap:
    """Growth rate (ny, nx) of the least stable motion over two parameters, nan where there is no equilibrium, and that motion's frequency; `stable` (ny, nx): where there is one about which
    nothing grows by more than the error of its eigenvalue."""

    x_name: str
    y_name: str
    x: np.ndarray
    y: np.ndarray
    growth: np.ndarray
    frequency: np.ndarray
    stable: np.ndarray

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
    """Stability of the equilibrium (with `moving`, of the steady motion) of `of(x, y)` for every pair of values.

    Raises `LinearError` when no pair has an equilibrium near its start.
    """
    xs, ys = np.atleast_1d(np.asarray(x, dtype=float)), np.atleast_1d(np.asarray(y, dtype=float))
    growth, frequency = np.full((2, len(ys), len(xs)), np.nan)
    stable = np.zeros((len(ys), len(xs)), bool)
    for j, b in enumerate(ys):
        for i, a in enumerate(xs):
            try:
                rest = (steady_motion if moving else equilibrium)(of(float(a), float(b)))
            except EquilibriumError:
                continue
            found = linearise(rest.mechanism, rest.state).modes()
            values, stable[j, i] = found.eigenvalues, found.stable
            worst = values[values.real.argmax()] if len(values) else 0j
            growth[j, i], frequency[j, i] = worst.real, abs(worst.imag) / (2 * np.pi)
        if progress is not None:
            progress((j + 1) / len(ys))
    if np.isnan(growth).all():
        raise LinearError("None of the pairs of values has an equilibrium near its start.")
    return StabilityMap(*names, xs, ys, growth, frequency, stable)
