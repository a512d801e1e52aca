"""Cables, belts and elastic relations of a mechanism under construction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from flexmb.errors import MechanismError
from flexmb.forces.scalar.one_sided import cable
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.attachments import Attachment, non_negative
from flexmb.mechanism.construction.forces import Effort, WithForces
from flexmb.mechanism.relations.elastic import belt_factors, belt_law, cable_row


class WithElasticRelations(WithForces):
    """Force elements along sums of coordinates; see `System`."""

    def cable(
        self,
        name: str,
        places: Sequence[Attachment],
        *,
        stiffness: float,
        damping: float = 0.0,
        length: float | None = None,
    ) -> None:
        """Add a cable that runs from the first of the `places` over the others, small pulleys without friction, to the
        last one. It pulls with one tension in all pieces where it is longer than its free length, and never pushes.

        - `stiffness`, `damping`: force per elongation, and per rate of elongation, of the whole cable.
        - `length`: free length of the whole cable (default: as drawn).

        `Result.effort` is minus the tension, `Result.stretch` the elongation; the energy is stored, the damping heat.

        Raises `MechanismError` when there are fewer than two places, neighbours coincide, or neighbours are on one
        flexible body; all pieces within one body need another body somewhere.
        """
        self._require_free(name)
        if not isinstance(places, Sequence):
            raise MechanismError(
                f"Cable {name!r} runs over a list of places, such as [body.at(point), ...]; found {places!r}."
            )
        markers, drawn, pairs, fixed = [], [], [], 0.0
        for k, place in enumerate(places):
            if not isinstance(place, Attachment):
                raise MechanismError(f"Cable {name!r} runs over places, such as body.at(point); found {place!r}.")
            markers.append(self._marker(f"{name}.{k}", place, np.eye(3)))
        for k, (one, other) in enumerate(pairwise(places)):
            apart = float(np.linalg.norm(self._world(other) - self._world(one)))
            if not apart > 0:
                raise MechanismError(f"Cable {name!r}: its places {k + 1} and {k + 2} coincide at {self._world(one)}.")
            if one.body != other.body:
                pairs.append((markers[k], markers[k + 1]))
                drawn.append(apart)
            elif one.body != GROUND and self._bodies[one.body].modes:
                raise MechanismError(
                    f"Cable {name!r}: its places {k + 1} and {k + 2} are on the flexible body "
                    f"{self._bodies[one.body].name!r}. Let it run over another body between them, or use a spring."
                )
            else:
                fixed += apart
        if not pairs:
            raise MechanismError(f"Cable {name!r} needs at least two places on different bodies; found {len(places)}.")
        law = self._law(name, cable(stiffness, damping=damping))
        self._forces[name] = [cable_row(name, pairs, drawn, fixed, length, law)]

    def belt(
        self,
        name: str,
        first: str,
        second: str,
        *,
        radii: Sequence[float],
        stiffness: float,
        damping: float = 0.0,
        preload: float = 0.0,
        crossed: bool = False,
    ) -> None:
        """Add an elastic belt between the wheels of two joints, without slip.

        - `first`, `second`: revolute joints with parallel axes and axes at rest to each other; `radii` (2,) of their
          wheels.
        - `stiffness`, `damping`: of each strand, per elongation and rate of elongation. `preload`: tension of both
          strands as drawn. A strand pulls and never pushes.
        - `crossed`: the wheels turn against each other.

        `Result.effort` is the moment on the first wheel. The forces on the bearings are not included, as in `gear`.

        Raises `MechanismError` when a number is negative or zero, and `JointError` when a joint has no angle.
        """
        factors = belt_factors(name, first, second, radii, crossed)
        self.elastic_relation(name, factors, law=belt_law(name, radii[0], stiffness, damping, preload))

    def elastic_relation(
        self,
        name: str,
        factors: Mapping[str, float],
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        law: Effort | None = None,
    ) -> None:
        """Add a spring and damper along a sum of joint coordinates: an elastic gear mesh, a gear with play, a coupling.

        `factors` are those of `relation`, which holds such a sum exactly. The coordinate `x` is the sum divided by the
        first factor, beyond its value as drawn; the effort acts on the first coordinate, and on the others times their
        relative factors. `stiffness`, `damping` and `law(t, x, xdot)` are as in `joint_spring`.

        Raises `JointError` as `relation`, and `MechanismError` when a constant is negative.
        """
        row = self._related(name, factors)
        self._require_free(name)
        number_of_law = -1 if law is None else self._law(name, law)
        k, c = non_negative(stiffness, name), non_negative(damping, name)
        self._forces[name] = [replace(row, law=number_of_law, stiffness=k, damping=c)]
