"""`State`: where a mechanism is and how it moves, at one time."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Topology:
    """What events have made of a mechanism: `locked`, the events whose lock or lasting contact is in force, each with the value at which it holds its coordinate; `released`, the joints and events that are gone."""

    locked: Mapping[str, float] = field(default_factory=dict)
    released: frozenset[str] = frozenset()

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
    """

    t: float
    q: Float[np.ndarray, "nq"]
    w: Float[np.ndarray, "nv"]
    angles: Float[np.ndarray, "na"] = field(default_factory=lambda: np.zeros(0))
    topology: Topology = Topology()
