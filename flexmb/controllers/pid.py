"""PID controllers with limits and anti-windup, continuous and sampled."""

import math
from numbers import Real
from typing import Literal

import numpy as np

from fem.elsewhere import called
from flexmb.controllers import formulas
from flexmb.errors import LawError
from flexmb.mechanism.control.law import BoundController, ControlLaw
from flexmb.mechanism.laws.binding import finite

INPUTS = ("measured", "reference", "feedforward")
PARAMETERS = ("kp", "ki", "kd", "filter", "lower", "upper", "tracking_time", "of_error", "period", "band")
UNLIMITED = 1e300
"""Bound of commands that are not limited."""
BAND = 1e-3
"""Range beyond a limit, relative to the limits, in which a continuous controller stops its integral."""


_CONSTANTS = {"reference": 0.0, "feedforward": 0.0}
PID = ControlLaw(
    formulas.pid, "pid", INPUTS, ("command",), ("integral", "filtered"), PARAMETERS, _CONSTANTS, sampled=False
)
PID_WITH_RATE = ControlLaw(
    formulas.pid,
    "pid-with-rate",
    (*INPUTS, "rate", "reference_rate"),
    ("command",),
    ("integral",),
    PARAMETERS,
    {**_CONSTANTS, "reference_rate": 0.0},
    sampled=False,
    advice=", or give the derivative part a time constant, pid(..., filter=0.01), with which it needs no rate",
)
PID_SAMPLED = ControlLaw(
    formulas.sampled_pid,
    "sampled-pid",
    INPUTS,
    ("command",),
    ("integral", "derivative", "last", "begun"),
    PARAMETERS,
    _CONSTANTS,
    sampled=True,
)


@called(
    Kp="kp=", Ki="ki=", Kd="kd=", Ti="ki=, which is kp / Ti", Td="kd=, which is kp * Td", limit="lower= and upper=",
    limits="lower= and upper=", setpoint='the input "reference" of System.controller', Tf="filter=",
)  # fmt: skip
def pid(
    kp: float,
    ki: float = 0.0,
    kd: float = 0.0,
    *,
    filter: float = 0.0,
    lower: float = -np.inf,
    upper: float = np.inf,
    anti_windup: Literal["back-calculation", "clamping"] | None = "back-calculation",
    tracking_time: float | None = None,
    derivative_of: Literal["measured", "error"] = "measured",
    sample_time: float | None = None,
    initial: float = 0.0,
) -> BoundController:
    """A PID controller: `command = kp e + I + D + feedforward` with `e = reference - measured`, within limits.

    Inputs: "measured", and "reference" and "feedforward" (zero where nothing is connected). Command: "command".

    - `kp`, `ki` (per time), `kd` (times time): the gains; `I' = ki e`.
    - `filter`: time constant of the derivative part, `D = kd s'/(1 + filter d/dt)` of `s = -measured`, or of `s = e`
      with `derivative_of="error"`. The state of a continuous filter is zero at the start, so that an `s` that does not
      start at zero causes a pulse of `D`; a sampled controller starts with `D = 0`. A continuous controller without a
      filter reads the inputs "rate" and "reference_rate" instead: `D = kd (reference_rate - rate)`.
    - `lower`, `upper`: limits of the command.
    - `anti_windup`: "back-calculation" adds `(command - unlimited command) / tracking_time` to `I'` (by
      default `kp / ki`, and at least the sample time; Astrom and Hagglund, PID Controllers (1995), section 3.5);
      "clamping" stops `I` while the command is at a limit and the error drives it farther (continuous controllers stop
      it gradually, while the unlimited command is up to `BAND` of its limits beyond one); None lets it wind up. Limits
      and clamping are kinks: steps that contain one are of lower order.
    - `sample_time`: the controller is sampled, with the backward Euler method for `I` and `D`.
    - `initial`: the integral part at the start.

    A continuous controller with `ki = 0`, or without a filter, keeps the state of what is missing: constant, and an
    eigenvalue of zero in `linearise(...).modes()`.

    Raises `LawError` when a value is not a finite number, `upper` is not above `lower`, a time is not positive, or an
    option is unknown.
    """
    gains = [finite(x, f"{n} of a PID controller") for x, n in ((kp, "kp"), (ki, "ki"), (kd, "kd"), (filter, "filter"))]
    low, high = (float(x) if isinstance(x, Real) else math.nan for x in (lower, upper))
    if not low < high:
        raise LawError(f"The limits of a PID controller must satisfy lower < upper; found {lower} and {upper}.")
    if gains[3] < 0:
        raise LawError(f"The filter time of a PID controller must not be negative; found {filter}.")
    if anti_windup not in ("back-calculation", "clamping", None):
        raise LawError(f"anti_windup is 'back-calculation', 'clamping' or None; found {anti_windup!r}.")
    if derivative_of not in ("measured", "error"):
        raise LawError(f"derivative_of is 'measured' or 'error'; found {derivative_of!r}.")
    tracking = {None: 0.0, "clamping": -1.0}.get(anti_windup)
    unlimited = math.isinf(low) and math.isinf(high)
    if tracking is None and unlimited and tracking_time is None:
        tracking = 0.0
    elif tracking is None:
        natural = gains[0] / gains[1] if gains[1] else math.inf
        if sample_time is not None:
            finite(sample_time, "sample_time of a PID controller")
        natural = max(natural, sample_time or 0.0) if natural > 0 else natural
        tracking = natural if tracking_time is None else finite(tracking_time, "tracking_time of a PID controller")
        if not tracking > 0:
            raise LawError(
                f"The tracking time of back-calculation must be positive; found {tracking:.6g}"
                f"{' = kp / ki; give tracking_time=' if tracking_time is None else ''}."
            )
        if sample_time is not None and tracking < sample_time:
            raise LawError(
                f"The tracking time of a sampled controller must be at least its sample time, {sample_time}, or the "
                f"integral oscillates; found {tracking:.6g}."
            )
        tracking = 0.0 if math.isinf(tracking) or unlimited else tracking
    numbers = {
        "lower": max(low, -UNLIMITED),
        "upper": min(high, UNLIMITED),
        "tracking_time": tracking,
        "of_error": float(derivative_of == "error"),
        "band": BAND * (sum(abs(x) for x in (low, high) if math.isfinite(x)) or 1.0),
    }
    named = dict(zip(PARAMETERS, gains, strict=False)) | numbers
    law = PID_SAMPLED if sample_time is not None else PID_WITH_RATE if kd and not filter else PID
    return law(initial={"integral": initial}, sample_time=sample_time, period=sample_time or 0.0, **named)
