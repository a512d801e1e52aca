"""Division of a part into several flexible bodies, for deformations beyond the range of a single body."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import fem
from fem.model import Model
from fem.renamed import refuse_old_names, renamed
from flexmb.bodies.body import flexible_body
from flexmb.errors import MechanismError
from flexmb.mechanism.attachments import Attachment, BodyHandle
from flexmb.mechanism.system import System
from reduction.basis import Basis


@dataclass(frozen=True, eq=False)
class SplitBody:
    """The pieces of a part in a `System`; `split_body["tip"]` is an interface of the part, on whichever piece it lies.

    Raises `MechanismError` when the part has no interface of that name.
    """

    name: str
    handles: tuple[BodyHandle, ...]
    homes: Mapping[str, BodyHandle]

    def __getitem__(self, interface: str) -> Attachment:
        if interface not in self.homes:
            raise MechanismError(fem.errors.unknown_name(f"interface of {self.name!r}", interface, self.homes))
        return self.homes[interface][interface]


@renamed(pieces="n_parts")
def split(
    system: System,
    model: Model,
    n_parts: int,
    reduce: Callable[[Model], Basis],
    *,
    placement: Mapping[str, Any] | None = None,
    **options: Any,
) -> SplitBody:
    """Divide `model` into `n_parts` bodies, add them to `system` and weld them at the cuts, so that each deforms less.

    - `reduce`: a function that computes the basis of a piece, for instance
      `lambda part: reduction.craig_bampton(part, modes=6)`.
    - `placement`: `position`, `orientation`, `velocity` and `angular_velocity` of the whole part, as in `System.add`.
    - `options`: those of `flexible_body` (damping, geometric stiffness).

    The bodies are named "NAME 1", "NAME 2", ... and the welds "NAME cut 1", .... Each interface of the part must lie in
    a single piece; see `fem.split`, also for the errors raised.
    """
    parts = fem.split(model, n_parts)
    handles = tuple(
        system.add(flexible_body(part, reduce(part), name=part.name, **options), **(placement or {})) for part in parts
    )
    for k in range(n_parts - 1):
        cut = f"cut {k + 1}"
        system.fixed(f"{model.name} {cut}", handles[k][cut], handles[k + 1][cut])
    homes = {
        name: handle
        for part, handle in zip(parts, handles, strict=True)
        for name in part.interfaces
        if name in model.interfaces
    }
    return SplitBody(model.name, handles, homes)


refuse_old_names(__name__)
