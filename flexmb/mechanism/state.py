"""`State`: the configuration and the velocities of a mechanism at one time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np
from jaxtyping import Float

from fem.shown import shown
from flexmb.errors import MechanismError


@dataclass(frozen=True)
class Topology:
    """The changes of a mechanism by events.

    - `locked`: the events whose lock or lasting contact is active, each with the value of the locked coordinate.
    - `released`: the joints and events that have been removed.
    - `fastest`: the speed of the fastest impact on each stop so far.
    - `sliding`: the sign of the sliding rate of each joint with dry friction that does not stick (`System.friction`), 0
      where a driver holds it. Those that stick are `locked`, under "NAME sticks".
    """

    locked: Mapping[str, float] = field(default_factory=dict)
    released: frozenset[str] = frozenset()
    fastest: Mapping[str, float] = field(default_factory=dict)
    sliding: Mapping[str, float] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether the joints are others than at first."""
        return bool(self.locked or self.released)

    def __str__(self) -> str:
        parts = [("locked by", sorted(self.locked)), ("released:", sorted(self.released))]
        return "; ".join(f"{word} {', '.join(map(repr, names))}" for word, names in parts if names)


@shown
@dataclass(frozen=True, eq=False)
class State:
    """Configuration `q`, velocity `w` and time of a mechanism.

    - `q` (nq,): per body position (3), quaternion (4, scalar first) and elastic coordinates (m).
    - `w` (nv,): per body velocity (3) and angular velocity (3), both in body axes, and elastic rates (m).
    - `angles` (na,): continuous angles (radians), measured from the initial configuration, of the joints that rotate
      about their axis and then of the bushings (`Mechanism.turning`). An empty array stands for angles within half a
      turn.
    - `element_states` (nz,): the states of the force elements between frames (`System.force`), in their order, then
      those of the controllers (`System.controller`), with the commands that sampled ones hold. An empty array stands
      for their initial values.
    - `topology`: the changes by events up to this time. A simulation that starts from this state adopts them and needs
      the same events.

    Raises `MechanismError` when an array is not one row of real numbers.
    """

    t: float
    q: Float[np.ndarray, "nq"]
    w: Float[np.ndarray, "nv"]
    angles: Float[np.ndarray, "na"] = field(default_factory=lambda: np.zeros(0))
    topology: Topology = Topology()
    element_states: Float[np.ndarray, "nz"] = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        for name in ("q", "w", "angles", "element_states"):
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

    def __str__(self) -> str:
        changed = f"; {self.topology}" if str(self.topology) else ""
        return f"state at t = {self.t:.6g} (time): {len(self.q)} coordinates, {len(self.w)} velocities{changed}"
