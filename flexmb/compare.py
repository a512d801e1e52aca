"""`compare`: the same mechanism rigid and flexible, side by side."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from flexmb.mechanism import Mechanism, MechanismError
from flexmb.result import Result
from flexmb.simulate import Progress, simulate
from flexmb.system import System


@dataclass(frozen=True, eq=False)
class Comparison:
    """A rigid and a flexible result of one mechanism, stored at the same times."""

    rigid: Result
    flexible: Result

    @property
    def t(self) -> Float[np.ndarray, "nt"]:
        """The common times."""
        return self.flexible.t

    def difference(self, marker: str) -> Float[np.ndarray, "nt 3"]:
        """World position of a marker, flexible minus rigid."""
        return self.flexible.position(marker) - self.rigid.position(marker)

    def moving_markers(self) -> list[str]:
        """Markers at the interfaces of the mechanism's bodies."""
        return [
            m.name
            for m in self.flexible.mechanism.markers
            if m.interface is not None and m.name == _interface_name(self.flexible.mechanism, m)
        ]

    def __str__(self) -> str:
        lines = [f"rigid:    {self.rigid.statistics}", f"flexible: {self.flexible.statistics}", ""]
        lines.append(f"{'largest over time':32}{'rigid':>14}{'flexible':>14}{'difference':>14}")
        for joint in self.flexible.mechanism.joints:
            a, b = (np.linalg.norm(r.reaction(joint.name)[:, :3], axis=1) for r in (self.rigid, self.flexible))
            lines.append(f"{'force in ' + joint.name:32}{a.max():14.6g}{b.max():14.6g}{np.abs(a - b).max():14.6g}")
        for marker in self.moving_markers():
            d = np.linalg.norm(self.difference(marker), axis=1).max()
            e = np.linalg.norm(self.flexible.deflection(marker), axis=1).max()
            lines.append(
                f"{'path of ' + marker:32}{'':14}{'':14}{d:14.6g}"
                + (f"   (deflection in its body {e:.4g})" if e else "")
            )
        for name in ("kinetic", "elastic"):
            a, b = (getattr(r.ledger, name) for r in (self.rigid, self.flexible))
            lines.append(f"{name + ' energy':32}{a.max():14.6g}{b.max():14.6g}{np.abs(a - b).max():14.6g}")
        a, b = (np.abs(r.ledger.residual).max() for r in (self.rigid, self.flexible))
        lines.append(f"{'|residual| of the energy ledger':32}{a:14.6g}{b:14.6g}")
        return "\n".join(lines)


def _interface_name(mechanism: Mechanism, marker: object) -> str:
    return f"{mechanism.bodies[marker.body].name}.{marker.interface}"  # type: ignore[attr-defined]


def compare(
    system: System | Mechanism, duration: float, *, progress: Progress | None = None, **options: Any
) -> Comparison:
    """Simulate a mechanism with its flexible bodies made rigid, then as it is; `options` are those of `simulate`.

    Raises `MechanismError` when no body is flexible. The rigid bodies keep mass, inertia and interfaces.
    """
    mechanism = system.build() if isinstance(system, System) else system
    if not any(b.is_flexible for b in mechanism.bodies):
        raise MechanismError(
            f"No body of {mechanism.name!r} is flexible, so there is nothing to compare. Make one with flexmb.flexible_body(model, basis)."
        )

    def run(m: Mechanism, first: float) -> Result:
        report = None if progress is None else lambda done: progress(first + 0.5 * done)
        return simulate(m, duration, progress=report, **options)

    return Comparison(run(mechanism.rigid(), 0.0), run(mechanism, 0.5))
