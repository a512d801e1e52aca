"""Relations between joint coordinates of a mechanism under construction."""

from collections.abc import Mapping

import numpy as np

from flexmb.errors import JointError
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.attachments import Attachment, number
from flexmb.mechanism.construction.curves import WithCurves
from flexmb.mechanism.mechanism import Row
from flexmb.mechanism.relations.linear import Coordinate, relation_row


class WithRelations(WithCurves):
    """Linear relations between joint coordinates: gears, racks, screws and differentials."""

    def relation(self, name: str, factors: Mapping[str, float], *, kind: str = "relation") -> None:
        """Add a linear relation between coordinates of joints: the sum of each coordinate times its factor keeps its
        value in the configuration as drawn.

        `factors`: the factors by coordinate: "JOINT", the first free motion of the joint, or "JOINT:rotation" and
        "JOINT:translation". Angles (radians) count all turns; a factor of a displacement is an angle per length if the
        sum is an angle. `kind` names the relation in pictures and messages.

        A relation is a joint with one equation. Its reaction is the wrench on the second body of the joint of the first
        coordinate (`Result.reaction`); `Result.relation_effort` gives the effort on each coordinate.

        Raises `JointError` when a coordinate does not exist or occurs twice, or a factor is zero or not finite, and
        `MechanismError` when the name is taken; `build` raises `JointError` when a relation follows from other
        relations and drivers.
        """
        if not isinstance(kind, str):
            raise JointError(f"Relation {name!r}: kind is a text; found {kind!r}.")
        row = self._related(name, factors)
        self._require_free(name)
        self._joints[name] = (kind, row.markers, [row])

    def gear(self, name: str, first: str, second: str, *, ratio: float) -> None:
        """Add a gear between two joints: the rate of the angle of the joint `second` is `ratio` times that of `first`.

        For wheels with `z1` and `z2` teeth on parallel axes, `ratio` is `-z1 / z2` outside and `z1 / z2` inside (a ring
        gear). The angles are those of the joints, between their own two bodies; if a joint sits on a moving carrier,
        use `differential`. Friction, play and the elasticity of the teeth are not included. Errors: see `relation`.
        """
        self.relation(name, {f"{first}:rotation": ratio, f"{second}:rotation": -1.0}, kind="gear")

    def rack(self, name: str, pinion: str, rack: str, *, radius: float) -> None:
        """Add a rack and pinion: the displacement of the joint `rack` is `radius` (length) times the angle of `pinion`.

        A negative radius reverses the direction. Errors: see `relation`.
        """
        self.relation(name, {f"{pinion}:rotation": radius, f"{rack}:translation": -1.0}, kind="rack")

    def screw(self, name: str, rotation: str, translation: str | None = None, *, lead: float) -> None:
        """Add a screw: a turn of the joint `rotation` displaces the joint `translation` by `lead` (length).

        `translation` is by default the same joint, which is then cylindrical. A negative lead is that of a left-hand
        thread. Errors: see `relation`.
        """
        slide = f"{rotation if translation is None else translation}:translation"
        self.relation(
            name,
            {f"{rotation}:rotation": number(lead, f"Screw {name!r}: the lead") / (2 * np.pi), slide: -1.0},
            kind="screw",
        )

    def differential(self, name: str, first: str, second: str, carrier: str, *, ratio: float = -1.0) -> None:
        """Add a differential or planetary gear: seen from the carrier, `second` turns `ratio` times as fast as `first`.

        `first`, `second` and `carrier` are joints with parallel axes whose first body is the same, such as the housing:
        `angle_2 - angle_c = ratio (angle_1 - angle_c)`. The ratio of a bevel differential is -1, that of a planetary
        gear with sun `first` and ring `second` is `-z_sun / z_ring`. The planets are not bodies; their inertia is that
        of the carrier. Errors: see `relation`; a ratio of one, which would not contain the carrier, is refused.
        """
        ratio = number(ratio, f"Differential {name!r}: the ratio")
        factors = {f"{first}:rotation": ratio, f"{second}:rotation": -1.0, f"{carrier}:rotation": 1.0 - ratio}
        self.relation(name, factors, kind="differential")

    def _related(self, name: str, factors: Mapping[str, float]) -> Row:
        """The row of the sum of coordinates times their `factors`; raises as `relation`."""
        if not isinstance(factors, Mapping):
            raise JointError(
                f"Relation {name!r}: factors is a dictionary from coordinates of joints to numbers, such as "
                f'{{"pinion": 0.05, "rack": -1.0}}; found {type(factors).__name__}.'
            )
        return relation_row(name, [(self._coordinate(text), factor) for text, factor in factors.items()])

    def _coordinate(self, text: str) -> Coordinate:
        """The coordinate "JOINT", "JOINT:rotation" or "JOINT:translation"."""
        joint, _, dof = text.rpartition(":") if isinstance(text, str) else (text, "", "")
        chosen = (joint, dof) if text not in self._joints and joint in self._joints else (text, None)
        _, pair, dof = self._free_axis(*chosen)
        return Coordinate(chosen[0], dof, pair, self._drawn(pair, dof))

    def _drawn(self, pair: tuple[int, int], dof: str) -> float:
        """The coordinate of a joint in the configuration as drawn: zero for an angle, and for a displacement that of
        the second place of the joint from the first along its axis."""
        if dof == "rotation":
            return 0.0
        a, b = (self._markers[k] for k in pair)
        between = self._world(Attachment(b.body, b.point)) - self._world(Attachment(a.body, a.point))
        axes = a.axes if a.body == GROUND else self._frames[a.body][1] @ a.axes
        return float(axes[:, 2] @ between)
