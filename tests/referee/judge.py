"""The referee: what runs of one random mechanism must agree in, and how far."""

import warnings
from dataclasses import dataclass, field

import numpy as np

from fem.errors import FlexmbError
from flexmb.errors import IntegratorError
from flexmb.mechanism.compile import compiled
from referee.build import conditions, sound
from referee.description import describe
from referee.floor import floor
from referee.motion import How, difference, run, scales, seen
from referee.newton_euler import Forces, impulses_left
from referee.units import HERE, SI, SYSTEMS, Frame

STEP, DURATION, SPACING = 2e-3, 0.4, 2.5e-3
SHORT = 24 * SPACING
"""Duration of the runs by other methods."""
SAME = 1e-9
"""Fixed steps in other units and frames: of lengths, angles, speeds, forces; reactions of generalised-alpha and HHT to their floor, times the largest
condition of the joint equations that the motion has met."""
DISTURBED, GROWN = 1e-9, 1e-6
"""A run is judged until a disturbance of the first size has grown to the second."""
TOLERANCE = 1e-7
"""Of adaptive methods: in other units and frames they agree to ten times as much."""
IMPULSE, PEER = 1e-6, 1e-8

FIXED = (
    How("generalised-alpha", "joint", step=STEP), How("hht", step=STEP), How("hht", "joint", step=STEP), How("radau", step=STEP),
    How("bdf", step=STEP), How("explicit", step=STEP), How("explicit", "joint", step=STEP), How("energy-momentum", step=STEP),
)  # fmt: skip
ADAPTIVE = (
    How("generalised-alpha", tolerance=TOLERANCE), How("generalised-alpha", "joint", tolerance=TOLERANCE), How("radau", tolerance=TOLERANCE),
    How("bdf", tolerance=TOLERANCE), How("explicit", tolerance=TOLERANCE), How("explicit", "joint", tolerance=TOLERANCE),
)  # fmt: skip
ORDER = {"generalised-alpha": 2, "hht": 2, "energy-momentum": 2}
"""Methods whose fixed steps are judged by halving them."""


@dataclass
class Report:
    """What the referee found: `faults` in words, `figures` by what was compared (the largest difference of each), and why a run was not made."""

    seed: int
    faults: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    condition: np.ndarray | None = None

    def compare(self, what, size, limit, key=None):
        """Note a difference; it is a fault beyond the limit."""
        key = key or what
        self.figures[key] = max(self.figures.get(key, 0.0), float(size))
        if not size <= limit:
            self.faults.append(f"seed {self.seed}: {what}: {size:.2e} > {limit:.1e}")


def judge(seed, pin=None):
    """The report on the mechanism of a seed: its runs in other units and frames, by other methods, and its forces."""
    report = Report(seed)
    d = sound(describe(seed))
    rng = np.random.default_rng([seed, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        first = _attempt(report, "baseline", lambda: run(d, How("generalised-alpha", step=STEP), DURATION))
        if first is None:
            return report
        base = seen(d, first)
        s = scales(base, sum(b.mass for b in d.bodies))
        report.condition = conditions(d, first)
        upto = _horizon(d, base, s)
        for other, frame in _observers(rng, seed):
            _as_seen(report, d, How("generalised-alpha", step=STEP), DURATION, base, s, upto, other, frame)
        fixed, adaptive = FIXED[int(rng.integers(len(FIXED)))], ADAPTIVE[int(rng.integers(len(ADAPTIVE)))]
        for how in (fixed, adaptive):
            spacing = None if how.step else SPACING
            mine = _attempt(
                report, str(how), lambda how=how, spacing=spacing: _seen_run(d, how, SHORT, spacing=spacing)
            )
            if mine is not None:
                boosted = (
                    how.step is None and not d.grounded and not d.far
                )  # a step of fixed size has an error that depends on the speed
                for other, frame in _observers(rng, seed // len(SYSTEMS), boosted=boosted):
                    _as_seen(report, d, how, SHORT, mine, s, upto, other, frame)
        _against_reference(report, d, s, base, upto, (fixed, adaptive, mine), pin)
    return report


def _attempt(report, what, function):
    """The result; None where the run cannot be made, which is noted: a refusal is no fault, an error of another sort is."""
    try:
        made = function()
        report.ran.append(what)
        return made
    except IntegratorError as error:
        report.skipped[what] = f"refused: {error}"
    except FlexmbError as error:
        report.skipped[what] = f"stopped: {type(error).__name__}: {error}"
    except Exception as error:
        report.faults.append(f"seed {report.seed}: {what}: {type(error).__name__}: {error}")
    return None


def _seen_run(d, how, duration, units=SI, frame=HERE, spacing=None):
    return seen(d, run(d, how, duration, units=units, frame=frame, output_step=spacing), units, frame)


def _observers(rng, turn, *, boosted=False):
    """Another unit system, each in its turn, and another frame; one that moves when `boosted`."""
    return [(SYSTEMS[1 + turn % (len(SYSTEMS) - 1)], HERE), (SI, Frame.random(rng, boosted))]


def _horizon(d, base, s):
    """Number of stored times that are judged."""
    try:
        disturbed = seen(d, run(d, How("generalised-alpha", step=STEP), DURATION, disturbed=DISTURBED))
    except FlexmbError:
        return 2
    grown = difference(base, disturbed, s)[0]
    late = np.flatnonzero(grown > GROWN)
    return int(late[0]) if len(late) else len(grown)


def _as_seen(report, d, how, duration, mine, s, upto, units, frame):
    """The same run in other units, or by another observer."""
    who = units.name if units is not SI else "moved and turned"
    spacing = None if how.step else SPACING
    made = _attempt(report, f"{how} in {who}", lambda: _seen_run(d, how, duration, units, frame, spacing))
    if made is None:
        if not report.faults or who not in report.faults[-1]:
            report.faults.append(
                f"seed {report.seed}: {how} runs in SI, but in {who} it does not: {report.skipped[f'{how} in {who}']}"
            )
        return
    n = min(upto, len(mine.t), len(made.t))
    motion, reactions = difference(mine, made, s, n)
    kind = "frame" if units is SI else "units"
    if how.step is not None:
        far = s.length + float(np.linalg.norm(frame.shift))  # from the origin of the world, in SI
        report.compare(f"{how} in {who}, motion", motion.max(initial=0.0), SAME, f"{kind}, fixed steps")
        first = min((t for _, t in mine.instants), default=np.inf)  # steps shortened to meet an event raise the floor
        reactions = reactions[: 0 if d.redundant else int(np.searchsorted(mine.t[:n], first))]
        rounding = report.condition[: len(reactions)] * s.mass * floor(how, far) / s.force
        worst = int(np.argmax(reactions / (SAME + rounding))) if len(reactions) else 0
        for size, limit in zip(reactions[worst:][:1], SAME + rounding[worst:][:1], strict=True):
            report.compare(f"{how} in {who}, reactions", size, limit, f"{kind}, reactions")
    else:
        report.compare(f"{how} in {who}, motion", motion.max(initial=0.0), 10 * how.tolerance, f"{kind}, adaptive")
    for (one, t), (other, u) in zip(mine.instants, made.instants, strict=False):
        if min(t, u) < mine.t[n - 1]:
            report.compare(
                f"{how} in {who}, instants of {one} and {other}",
                abs(t - u) if one == other else np.inf,
                SAME * DURATION if how.step else 10 * how.tolerance,
                "instants",
            )


def _against_reference(report, d, s, base, upto, others, pin):
    """Methods against an accurate run, and that run against Newton, Euler and Pinocchio. `others`: a fixed method, an adaptive one, and the motion that this found."""
    fixed, adaptive, made = others
    exact = _attempt(report, "reference", lambda: run(d, How("radau", tolerance=1e-9), SHORT, output_step=SPACING))
    if exact is None:
        return
    reference = seen(d, exact)
    late = base.t[min(upto, len(base.t)) - 1]
    n = int(np.searchsorted(reference.t, late))
    report.compare(
        "momenta of the bodies against the impulses of their forces", impulses_left(d, exact), IMPULSE, "Newton-Euler"
    )
    bushing = any(f.kind == "bushing" for f in d.forces)
    if pin is not None and d.rigid and not (d.loops or d.events or bushing):
        _against_pinocchio(report, pin, d, exact)
    if made is not None:
        motion, _ = difference(reference, made, s, min(n, len(made.t), len(reference.t)))
        report.compare(
            f"{adaptive} against the reference",
            motion.max(initial=0.0),
            1e3 * adaptive.tolerance,
            "adaptive methods against the reference",
        )
    for how in (How("generalised-alpha", step=SPACING), How(fixed.integrator, fixed.coordinates, step=SPACING)):
        if how.integrator in ORDER:
            _converges(report, d, how, reference, s, n)


def _against_pinocchio(report, pin, d, result):
    from referee.pinocchio_peer import accelerations

    applied, starts = Forces(d, result, applied=True), compiled(result.mechanism).v_start[:-1]
    for at in (0, len(result.t) // 2, len(result.t) - 1):
        peer = accelerations(pin, d, result, at, applied.wrench[:, at])
        mine = np.array([result.wdot[at, k : k + 6] for k in starts])
        report.compare(
            "accelerations against Pinocchio",
            np.abs(peer - mine).max() / max(1.0, np.abs(mine).max()),
            PEER,
            "Pinocchio",
        )


def _converges(report, d, how, reference, s, n):
    """Half the step leaves at most 0.45 of the error, or less than can be seen: a method that converges to something else does not."""
    errors = []
    for part in (1, 2):
        finer = How(how.integrator, how.coordinates, step=how.step / part)
        made = _attempt(
            report, f"{finer} for its order", lambda finer=finer: _seen_run(d, finer, SHORT, spacing=SPACING)
        )
        if made is None:
            return
        errors.append(difference(reference, made, s, min(n, len(made.t), len(reference.t)))[0].max(initial=0.0))
    report.compare(
        f"{how} against the reference, the error {errors[0]:.1e} at half the step",
        errors[1],
        max(0.45 * errors[0], 1e-7),
        "fixed methods against the reference",
    )
