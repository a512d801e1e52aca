"""Locks and impacts of stops at one instant, and the contacts that last after it.

The laws of impacts are those of flexmb/simulation/contacts.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from flexmb.errors import EventError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.simulation.contacts import Contacts, Force
from flexmb.simulation.detection.arming import Arming
from flexmb.simulation.detection.in_force import InForce
from flexmb.simulation.detection.looks import Look

GRAZING, BACK = 1e-3, 1e-6
"""Distance, relative to the touching distance, by which rounding may return a contact that separates with an
acceleration, or with a speed, before it counts as closed again."""
PASSED = 2.0
"""Distance beyond a stop, relative to the touching distance, at which a driver has passed it."""
CARRIED, LEAVING = 1e-9, 0.25
"""Tensile force of a contact due to rounding, relative to its largest force; and the fraction of it at which the
contact separates at an instant of another event."""
COLLAPSE = 50
"""Rounds of impacts at one instant, plus ten for every contact, after which impacts are plastic."""


class Impacts:
    """Locks and impacts in a simulation of the length `span` in time.

    They change what is `in_force` and the levels of `arming`. `driven`: the work of drivers in the impacts since it was
    last set to zero.
    """

    def __init__(self, in_force: InForce, arming: Arming, span: float) -> None:
        self._in_force, self._arming, self._span = in_force, arming, span
        self.driven = 0.0

    def touching(self, look: Look, passed: Mapping[str, float]) -> list[str]:
        """The stops in contact: those that last, those of the events that have `passed` their levels, and others that
        are near."""
        in_force = self._in_force
        near = {e.name: value for e, value in zip(in_force.events, look.values, strict=True)}
        return [
            name
            for name in in_force.stops
            if name not in in_force.released
            and (name in in_force.held or name in passed or abs(near[name]) <= in_force.reach(name))
        ]

    def after(self, state: State, locks: Sequence[str], stops: Sequence[str], lost: dict[str, float]) -> State:
        """The state after `locks` and impacts of the `stops`; updates the losses of their events and the contacts that
        last.

        A driver may lead a coordinate to its stop, as a cylinder to its end, and so far beyond that the stop touches.

        Raises `EventError` when joints and drivers prescribe the motion of a coordinate that an event stops.
        """
        in_force, arming = self._in_force, self._arming
        seen = in_force.seen(state)
        values = {name: in_force.held.get(name, in_force.value(seen, name)) for name in (*locks, *stops)}
        lasted = [name for name in stops if name in in_force.held]
        for name in lasted:
            del in_force.held[name]
        mechanism = in_force.variant({**in_force.held, **values})
        contacts = Contacts(mechanism, in_force.state_in(mechanism, state), {n: -in_force.sign(n) for n in values})
        w = contacts.on_joints(state.w, lasted)
        within = {e.name for e in in_force.events if e.name in stops and e.when(seen)[0] <= in_force.reach(e.name)}
        led = [name for name in stops if name in within and contacts.led(w, name) < 0]
        for name in values:
            if name not in led and ((rate := contacts.led(w, name)) < 0 or (rate and name in locks)):
                raise EventError(
                    f"At t = {state.t:.6g} joints and drivers prescribe a speed of {abs(rate):.3g} of the coordinate "
                    f"of {name!r}; no impact can stop it. Change the driver, or remove the event."
                )
        forces = contacts.forces(w, [], lasted)
        response = contacts.response_of(stops)
        lasting = [name for name, f in forces.items() if f.push * response[name] > f.noise]
        for k, name in enumerate(locks):
            w, losses = contacts.locked(w, name, locks[:k], lasting)
            _add(lost, losses, (name,))
        w = self._bounce(contacts, w, locks, stops, lasting, lost)
        self.driven += contacts.driven
        resting = [n for n in stops if response[n] and contacts.separation(w, n) <= contacts.noise(n)]
        forces = contacts.forces(w, locks, resting)
        levels = {n: self._level(n, f, response[n], n in lasted and n in lost) for n, f in forces.items()}
        staying = [name for name, f in forces.items() if f.rate <= LEAVING * levels[name] * response[name]]
        for name in {*staying} ^ {*lasted}:
            lost.setdefault(name, 0.0)
        for name in (*locks, *staying):
            in_force.hold(name, values[name], state.t)
        for name in stops:
            if name in staying:
                arming.set_level(name, levels[name])
                in_force.strongest[name] = forces[name].push
            else:
                leaves = contacts.separation(w, name) > contacts.noise(name)
                part = PASSED if name in led else BACK if leaves else GRAZING
                arming.set_level(name, part * in_force.reach(name))
        return replace(state, w=w)

    def press(self, mechanism: Mechanism, look: Look, lasting: Sequence[str]) -> None:
        """Set the levels of the contacts that a simulation takes over: the pulls at which they leave."""
        if not lasting:
            return
        in_force, s = self._in_force, look.snapshot
        contacts = Contacts(mechanism, in_force.state_in(mechanism, s), {n: -in_force.sign(n) for n in lasting})
        forces, response = contacts.forces(s.w, [], lasting), contacts.response_of(lasting)
        for name, f in forces.items():
            self._arming.set_level(name, self._level(name, f, response[name], False))

    def _level(self, name: str, force: Force, response: float, pulled: bool) -> float:
        """The tensile force at which a contact separates: the rounding error of its forces so far, or twice the last
        level if it has just persisted at that level."""
        if not response:
            return np.inf
        before = 2 * self._arming.level(name) if pulled else 0.0
        slow = 2 * self._in_force.reach(name) / self._span**2  # less than the touching distance in the whole simulation
        largest = max(force.push, self._in_force.strongest.get(name, 0.0))
        return max(max(force.noise, slow) / response, CARRIED * largest, before)

    def _bounce(
        self,
        contacts: Contacts,
        w: np.ndarray,
        locks: Sequence[str],
        stops: Sequence[str],
        lasting: Sequence[str],
        lost: dict[str, float],
    ) -> np.ndarray:
        """Velocities after impacts, repeated until no contact closes.

        Each round contains the closing contacts together with the persistent ones.
        """
        rounds = 0
        while True:
            speeds = {name: -contacts.separation(w, name) for name in stops}
            closing = [name for name in stops if speeds[name] > contacts.noise(name)]
            if not closing:
                return w
            if rounds > COLLAPSE + 10 * len(stops):
                meeting = dict.fromkeys(stops, 0.0)
            else:
                meeting = {name: self._restitution(name, speeds[name]) for name in closing}
                meeting |= {n: 0.0 for n in lasting if abs(speeds[n]) <= contacts.noise(n)}
            w, losses = contacts.bounced(w, meeting, locks)
            _add(lost, losses, [name for name in meeting if abs(speeds[name]) > contacts.noise(name)])
            rounds += 1

    def _restitution(self, stop: str, speed: float) -> float:
        """The coefficient of restitution of an impact; zero if it is slow compared with the fastest one so far."""
        do, fastest = self._in_force.stops[stop], self._in_force.fastest
        fastest[stop] = max(fastest.get(stop, 0.0), speed)
        return do.restitution if speed > do.rest * fastest[stop] else 0.0


def _add(lost: dict[str, float], losses: Mapping[str, float], names: Sequence[str]) -> None:
    for name in names:
        lost[name] = lost.get(name, 0.0) + losses[name]
