"""`State`: where a mechanism is and how it moves, at one time."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class State:
    """Configuration `q`, velocity `w` and time of a mechanism.

    Per body `q` holds position (3), quaternion (4, scalar first), eta (m); `w` holds v (3) and omega (3) in
    body axes and etadot (m).

    `angles` (na,): from the place as drawn, turns counted, of the joints that turn about their axis and then of the bushings (`Mechanism.turning`). An empty one
    stands for angles within half a turn.
    """

    t: float
    q: Float[np.ndarray, "nq"]
    w: Float[np.ndarray, "nv"]
    angles: Float[np.ndarray, "na"] = field(default_factory=lambda: np.zeros(0))
