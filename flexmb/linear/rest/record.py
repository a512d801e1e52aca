"""The record of an equilibrium, at rest or in steady motion."""

from dataclasses import dataclass

import numpy as np

from fem.shown import shown
from flexmb.equations.evaluate import energies
from flexmb.equations.time_features import users_of_functions
from flexmb.mechanism.features import few
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.time_functions import NOTHING_AHEAD, TimeFunction
from flexmb.results.ledger import Ledger
from flexmb.results.result import Result, result_of_states


@shown
@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An equilibrium, at rest or in steady motion.

    - `state`: the configuration and velocities; `multipliers` (nj,): of the joints.
    - `softest`: stiffness of the softest motion that the joints allow, per unit of mass; negative if unstable. Points
      of flexible surfaces that touch stick in it, also those that slip.
    - `error`: a bound of the error of `softest`.
    - `iterations`: those of Newton's method.
    - `slipping`: the number of points of flexible surfaces at the bounds of their friction, which may slip on.
    - `circulating`: whether forces may feed energy to small motions: at rest those without a potential (a stiffness
      that is not symmetric), as of a film of oil, those that push along the velocity, and those of controllers with
      states; also those of force elements with states, such as hydraulic cylinders.
    """

    mechanism: Mechanism
    state: State
    multipliers: np.ndarray
    softest: float
    error: float
    iterations: int
    slipping: int
    circulating: bool

    @property
    def stable(self) -> bool:
        """Whether the potential energy has a minimum at the equilibrium, beyond the error of `softest`, and no points
        slip and no forces feed it energy."""
        return self.verdict == "stable"

    @property
    def verdict(self) -> str:
        """ "stable", "unstable", "undecided", or "not judged".

        It is undecided if the stiffness of the softest motion is within its error, as for a rotor at a critical speed,
        and not judged if points of flexible surfaces slip: these slip on in one direction and stick in the others, so
        that no stiffness decides about small motions, but a simulation from the equilibrium with a small push. It is
        not judged either if forces may feed energy to small motions (`circulating`): a shaft may whirl in a film that
        is stiff in all directions, an integral of a controller may drive it, and the pressures of a cylinder with its
        valve follow late; `linearise(equilibrium).modes()` decides.
        """
        if self.slipping or self.circulating:
            return "not judged"
        if self.softest > self.error:
            return "stable"
        return "unstable" if self.softest < -self.error else "undecided"

    @property
    def result(self) -> Result:
        """A result with one time, for reactions, stresses, energies and pictures; its accelerations, in body axes, are
        zero."""
        none, w = np.zeros((1, len(self.state.w))), self.state.w[None]
        found = energies(self.mechanism, self.state)
        known = np.array([[found.kinetic], [found.elastic], [found.gravity], [found.springs]])
        ledger = Ledger(np.array([self.state.t]), *known, *np.zeros((5, 1)))
        return result_of_states(
            self.mechanism,
            np.array([self.state.t]),
            self.state.q[None],
            w,
            none,
            self.multipliers[None],
            angles=self.state.angles[None],
            element_states=self.state.element_states[None],
            ledger=ledger,
        )

    @property
    def held(self) -> tuple[str, ...]:
        """The functions of time that change later, with the names of the elements that use them: the equilibrium holds
        their values at its time. None in steady motion, whose drivers keep their speeds."""
        t, mechanism = self.state.t, self.mechanism
        if self.state.w.any():
            return ()
        users = zip(mechanism.functions, users_of_functions(mechanism), strict=True)
        return tuple(f"{f.description} of {few(names)}" for f, names in users if names and _changes(f, t))

    def __str__(self) -> str:
        found = "moves steadily" if self.state.w.any() else "rests"
        softest = f"softest motion {self.softest:.4g} per time squared"
        if np.isinf(self.softest):
            softest = "states hold every motion" if self.circulating else "nothing can move"
        if self.slipping:
            softest = f"{self.slipping} points of flexible surfaces slip; {softest} if they stick"
        elif self.circulating:
            softest = f"forces may feed energy to motions, so that linearise(...).modes() decides; {softest}"
        held = f"\nheld at t = {self.state.t:.6g}: {'; '.join(self.held)}" if self.held else ""
        return f"{self.mechanism.name!r} {found}, {self.verdict}: {softest}; {self.iterations} iterations{held}"


def _changes(motion: TimeFunction, t: float) -> bool:
    """Whether a function of time is not known to remain as it is at `t`."""
    if motion.ahead is None or motion.ahead(t) != NOTHING_AHEAD:
        return True
    return bool(np.ptp(motion.over(t + np.array([0.0, 1.0, np.pi]))[:, 0]))
