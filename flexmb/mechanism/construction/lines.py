"""Loads along lines of bodies of a mechanism under construction: fluid in pipes, and wind."""

import numpy as np
from numpy.typing import ArrayLike

from fem.axes.limits import LARGEST, floats, within_limits
from flexmb.errors import MechanismError
from flexmb.kernels.loads.lines import FLOW, WIND
from flexmb.mechanism.attachments import BodyHandle, not_below_zero, number, vector
from flexmb.mechanism.construction.contacts import WithContacts
from flexmb.mechanism.lines.line import CORNER, Line, nodes_of
from flexmb.mechanism.time_functions import TimeFunction


class WithLines(WithContacts):
    """Loads along lines of bodies."""

    def pipe_flow(
        self,
        name: str,
        body: BodyHandle,
        points: ArrayLike,
        *,
        mass_per_length: float,
        speed: float,
        factor: TimeFunction | None = None,
    ) -> None:
        """Add the flow of a fluid through a pipe: the Coriolis and centrifugal forces of its motion relative to the
        body, and the reaction to its acceleration.

        - `points` (k, 3): the line of the pipe in the frame of the body, in the direction of the flow; of a flexible
          body they are nodes of its mesh, for instance of its beams. A smooth curve runs through them.
        - `mass_per_length` of the fluid; `speed` relative to the pipe (length/time), times `factor(t)`.

        The mass of the fluid itself is part of the body: give the pipe the density of both. The fluid fills the pipe,
        moves as a plug and has no weight of its own; its pressure and friction are not included.

        Raises `MechanismError` when the line has fewer than two points or a corner, or leaves the nodes of a flexible
        body, or a number is not finite.
        """
        mass = not_below_zero(mass_per_length, f"Pipe flow {name!r}: mass_per_length")
        numbers = [mass, number(speed, f"Pipe flow {name!r}: speed"), 0.0, 0.0, 0.0, 0.0]
        self._line(f"Pipe flow {name!r}", name, FLOW, body, points, numbers, factor)

    def wind(
        self,
        name: str,
        body: BodyHandle,
        points: ArrayLike,
        *,
        density: float,
        diameter: float,
        velocity: ArrayLike,
        coefficient: float = 1.2,
        along: float = 0.0,
        factor: TimeFunction | None = None,
    ) -> None:
        """Add the load of wind along a line of a body, such as a cable, a mast or a blade.

        Each piece feels the pressure `density / 2 |u| u` of the velocity `u` of the air relative to it: across the
        line, times `diameter coefficient`, and along it, times `pi diameter along` (the friction of its surface). It is
        also the damping of a body that moves in air at rest.

        - `points` (k, 3): the line in the frame of the body, as in `pipe_flow`.
        - `density` of the air, `diameter` of the line (length), `velocity` (3,) of the wind in world axes
          (length/time), times `factor(t)`.
        - `coefficient`: of drag across the line (1.2 for a cylinder), and `along` it (0.005 to 0.02).

        Raises `MechanismError` as `pipe_flow`.
        """
        what = f"Wind {name!r}"
        pressure = 0.5 * not_below_zero(density, f"{what}: density") * not_below_zero(diameter, f"{what}: diameter")
        across = pressure * not_below_zero(coefficient, f"{what}: coefficient")
        axial = np.pi * pressure * not_below_zero(along, f"{what}: along")
        numbers = [across, axial, 0.0, *vector(velocity, f"{what}: velocity")]
        self._line(what, name, WIND, body, points, numbers, factor)

    def _line(
        self,
        what: str,
        name: str,
        kind: int,
        body: BodyHandle,
        points: ArrayLike,
        numbers: list[float],
        factor: TimeFunction | None,
    ) -> None:
        if not isinstance(body, BodyHandle) or body.index < 0:
            raise MechanismError(f"{what} runs along a body of the system; found {body!r}.")
        line = floats(points)
        if line.ndim != 2 or line.shape[1:] != (3,) or len(line) < 2 or not np.isfinite(line).all():
            raise MechanismError(f"{what} needs a line of at least two points (k, 3); found an array {line.shape}.")
        if not within_limits(line):
            raise MechanismError(f"{what}: its points need numbers of at most {LARGEST:.0e}; found {line.tolist()}.")
        pieces = np.diff(line, axis=0)
        lengths = np.linalg.norm(pieces, axis=1)
        if not (lengths > 0).all():
            raise MechanismError(f"{what}: its points {np.flatnonzero(lengths == 0) + 1} coincide with the next ones.")
        turned = np.einsum("ij,ij->i", pieces[1:], pieces[:-1]) / (lengths[1:] * lengths[:-1])
        if (turned < np.cos(CORNER)).any():
            k = int(turned.argmin()) + 1
            raise MechanismError(
                f"{what}: its line has a corner at point {k + 1}, {line[k]}. Draw the bend by more points, at most "
                f"{np.degrees(CORNER):.0f} degrees apart."
            )
        owner = self._bodies[body.index]
        if owner.modes:
            nodes_of(owner, line, what)
        self._require_free(name)
        function = self._function(factor, f"factor of {name!r}") if factor is not None else -1
        self._lines[name] = Line(name, kind, body.index, line, np.array(numbers, dtype=float), function)
