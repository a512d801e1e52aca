"""Springs that act on one side, or behind a preload, as expressions."""

from fem.axes.limits import is_number
from flexmb.errors import LawError
from flexmb.forces.scalar.expression import Expression, expression

_SLACK = "stiffness*max(x, 0)**2/2"
"""The energy of a spring that only pulls."""


def gap_spring(
    stiffness: float, gap: float = 0.0, *, damping: float = 0.0, exponent: float = 1.0, opening: bool = False
) -> Expression:
    """A buffer behind a gap: no force until the coordinate has fallen by `gap`, then a spring and damper that push.

    With the depth `d = -x - gap` the effort is `max(0, stiffness d^exponent (1 + damping d'))` for `d > 0`, else zero.
    It never pulls, and for `damping > 0` it begins and ends without a jump (Hunt and Crossley).

    - `stiffness`: force per length to the power `exponent` (1 linear, 1.5 a sphere on a plane).
    - `gap`: free travel from `x = 0`: in a `spring_damper`, by how much the ends approach from the free length.
    - `damping`: per unit of velocity.
    - `opening`: act when the coordinate has risen by `gap`, against it: a rebound stop, or the upper end of a joint.

    Source: Hunt and Crossley, "Coefficient of restitution interpreted as damping in vibroimpact", J. Appl. Mech. 42
    (1975) 440-445.

    Raises `LawError` when a number is negative or not finite, or the exponent is below one.
    """
    _require(stiffness=stiffness, damping=damping)
    if not is_number(gap):
        raise LawError(f"A gap spring needs a finite gap; found {gap!r}.")
    if not (is_number(exponent) and exponent >= 1):
        raise LawError(f"A gap spring needs an exponent of at least 1; found {exponent!r}.")
    depth, rate, sign = ("x - gap", "xdot", "-") if opening else ("-x - gap", "-xdot", "")
    depth = depth if gap else depth.removesuffix(" - gap")
    power = "" if exponent == 1 else "**exponent"
    text, given = f"{sign}stiffness*max({depth}, 0){power}", {"stiffness": float(stiffness)}
    if damping:
        text, given = f"{text}*max(1 + damping*({rate}), 0)", given | {"damping": float(damping)}
    given |= {"gap": float(gap)} if gap else {}
    energy = (
        f"stiffness*max({depth}, 0)**2/2"
        if exponent == 1
        else f"stiffness*max({depth}, 0)**(exponent + 1)/(exponent + 1)"
    )
    return expression(text, stored=energy, **given, **({"exponent": float(exponent)} if power else {}))


def cable(stiffness: float, *, damping: float = 0.0) -> Expression:
    """A cable: pulls with `stiffness x + damping xdot` where it is longer than its free length, else not at all.

    The damping is at most the force of the spring, `|damping xdot| <= stiffness x`: the cable never pushes, and it
    becomes taut and slack without a jump of its force. `stiffness`: force per length; `damping`: force per velocity.
    For a `spring_damper`, whose `length` is that of the slack cable; `System.cable` runs over pulleys.

    Raises `LawError` when a number is negative or not finite.
    """
    _require(stiffness=stiffness, damping=damping)
    if not damping:
        return expression("-stiffness*max(x, 0)", stored=_SLACK, stiffness=float(stiffness))
    return expression(
        "-(stiffness*x + max(min(damping*xdot, stiffness*x), -stiffness*x)) if x > 0 else 0",
        stored=_SLACK,
        stiffness=float(stiffness),
        damping=float(damping),
    )


def preloaded_spring(stiffness: float, preload: float, *, seat: float) -> Expression:
    """A spring held between seats with a preload: it yields to either side only to more than the `preload`.

    Within the seats, up to `|x| = preload/seat`, the effort is `-seat x`; beyond, it rises with the `stiffness` of the
    spring: `-(preload + stiffness (|x| - preload/seat)) sign(x)`.

    - `stiffness` of the spring and of its `seat`, per length or angle, with `seat > stiffness`; `preload`: a force or
      moment.

    A spring that is merely shorter or longer than its free length as drawn needs no law: `spring_damper(length=...)`.

    Raises `LawError` when a number is negative or not finite, or the seat is not stiffer than the spring.
    """
    _require(stiffness=stiffness, preload=preload)
    if not (is_number(seat) and seat > stiffness):
        raise LawError(f"The seat of a preloaded spring must be stiffer than the spring, {stiffness}; found {seat!r}.")
    return expression(
        "-stiffness*x - (seat - stiffness)*max(min(x, preload/seat), -preload/seat)",
        stored="stiffness*x**2/2 + (seat - stiffness)*(min(abs(x), preload/seat)**2/2"
        " + preload/seat*max(abs(x) - preload/seat, 0))",
        stiffness=float(stiffness),
        preload=float(preload),
        seat=float(seat),
    )


def _require(**numbers: float) -> None:
    for name, value in numbers.items():
        if not (is_number(value) and value >= 0):
            raise LawError(f"A force law needs a {name} that is finite and not negative; found {value!r}.")
