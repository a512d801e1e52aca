"""One line of a validation report."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A quantity of a case: reference with its kind (exact, recomputed, paper), ours, error against what is allowed."""

    case: str
    quantity: str
    reference: float
    kind: str
    ours: float
    error: float
    allowed: float

    @property
    def passed(self) -> bool:
        """Whether the error is within what is allowed (NaN fails)."""
        return bool(self.error <= self.allowed)

    def as_dict(self) -> dict[str, object]:
        """The row as `flexmb validate --json` writes it."""
        keys = ("case", "quantity", "reference", "kind", "ours", "error", "allowed", "passed")
        values = {key: getattr(self, key) for key in keys}
        return {key: float(value) if hasattr(value, "dtype") else value for key, value in values.items()}
