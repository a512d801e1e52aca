"""One line of the table of benchmarks."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """A quantity measured for us and for a peer in the same run; smaller is better.

    `goal` is the largest ratio ours / peer that is acceptable; `command` repeats the measurement.
    """

    benchmark: str
    ours: float
    peer: float
    goal: float
    unit: str
    command: str

    @property
    def ratio(self) -> float:
        """Ours over the peer's."""
        return self.ours / self.peer

    @property
    def met(self) -> bool:
        """Whether the ratio keeps the goal."""
        return self.ratio <= self.goal

    def as_dict(self) -> dict[str, str | float | bool]:
        """For a JSON file."""
        return {**asdict(self), "ratio": self.ratio, "met": self.met}
