"""Contact among all shapes of a group, as a part of a mechanism."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from flexmb.contact.shape import ContactShape
from flexmb.errors import LawError
from flexmb.kernels.base.law_call import LawCall


class GroupCall(LawCall):
    """The record of failures of a group of contacts; `labels` name its shapes."""

    def __init__(self, name: str, labels: tuple[str, ...]) -> None:
        super().__init__(name, 3)
        self.labels = labels

    def __reduce__(self) -> tuple[Any, ...]:
        return GroupCall, (self.name, self.labels)

    def _repeat(self, arguments: np.ndarray) -> None:
        i, j, depth = int(arguments[0]), int(arguments[1]), float(arguments[2])
        if i < 0:
            self._failure = LawError(
                f"The contacts of the group {self.name!r} have more pairs within reach than there is room for: their "
                "shapes are drawn in each other, or very different in size. Divide them into several groups."
            )
        else:
            self._failure = LawError(
                f"The contacts of the group {self.name!r} failed: the {self.labels[i]} and the {self.labels[j]} "
                f"overlap by {depth:.6g}, more than their size. Take smaller steps or a stiffer contact."
            )


@dataclass(frozen=True, eq=False)
class ContactGroup:
    """Contact of every shape with every other one that is on another body.

    - `markers`, `shapes`: the markers of the shapes, which have their axes.
    - `parameters` (11,): of the law of the normal force and of friction, after those of the shapes of a contact.
    """

    name: str
    markers: tuple[int, ...]
    shapes: tuple[ContactShape, ...]
    parameters: tuple[float, ...]
    call: GroupCall
