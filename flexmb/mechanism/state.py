"""`State`: where a mechanism is and how it moves, at one time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np
from jaxtyping import Float

from flexmb.errors import MechanismError


@dataclass(frozen=True)
class Topology:
    """What events have made of a mechanism: `locked`, the events whose lock or lasting contact is in force, each with the value at which it holds its coordinate; `released`, the joints and events that are gone; `fastest`, the speed of the fastest impact on each stop so far."""

    locked: Mapping[str, float] = field(default_factory=dict)
    released: frozenset[str] = frozenset()
    fastest: Mapping[str, float] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether the joints are others than at first."""
        return bool(self.locked or self.released)

    def __str__(self) -> str:
        parts = [("held by", sorted(self.locked)), ("released:", sorted(self.released))]
        return "; ".join(f"{word} {', '.join(map(repr, names))}" for word, names in parts if names)


@dataclass(frozen=True, eq=False)
class State:
    """Configuration `q`, velocity `w` and time of a mechanism.

    Per body `q` holds position (3), quaternion (4, scalar first), eta (m); `w` holds v (3) and omega (3) in
    body axes and etadot (m).

    `angles` (na,): from the place as drawn, turns counted, of the joints that turn about their axis and then of the bushings (`Mechanism.turning`). An empty one
    stands for angles within half a turn.

    `topology`: what events had changed until then; a simulation that starts from this state takes it over, and needs the same events.

    Raises `MechanismError` for arrays that are no rows of real numbers.
    """

    t: float
    q: Float[np.ndarray, "nq"]
    w: Float[np.ndarray, "nv"]
    angles: Float[np.ndarray, "na"] = field(default_factory=lambda: np.zeros(0))
    topology: Topology = Topology()

    def __post_init__(self) -> None:
        for name in ("q", "w", "angles"):
            found = np.asarray(getattr(self, name))
            if found.dtype.kind not in "fiu" or found.ndim != 1:
                raise MechanismError(
                    f"State: {name} is a row of real numbers; found {found.dtype} of shape {found.shape}."
                )
            object.__setattr__(self, name, np.ascontiguousarray(found, dtype=float))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
