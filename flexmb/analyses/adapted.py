"""Order reduction along a motion: few elastic coordinates a body, made for one mechanism and one nominal motion.

From the nominal motion, of the rigid mechanism for instance, come the shapes that its inertia and joint forces bend the bodies into, at every time, and those that the inertia of these shapes adds.
Their leading directions, in the norm of the strain energy, are the new coordinates of each body. The equations stay those of the whole nonlinear
mechanism, energy balance included, and stiff coordinates are gone, so that steps can be larger.

What it cannot do: loads that the nominal motion does not have, and bodies that bend beyond the range of their own coordinates.
Sources: Aarts, ten Hoopen, Boer, Hakvoort, "Model order reduction of non-linear flexible multibody models", and Naets, Desmet, on a subspace along a nominal motion (both
EUROMECH Colloquium 524, 2012).
"""

from dataclasses import replace

import numpy as np

from flexmb.bodies.body import Body
from flexmb.bodies.subspace import in_subspace, own_coordinates
from flexmb.equations.evaluation import Equations
from flexmb.errors import MechanismError
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.spatial.layout import elastic_places, starts_of

INERTIA = 0.1
"""Weight of the shapes by inertia beside those by the loads of the motion, and again of the next."""
SMALL = 1e-6
"""Directions this much smaller than the leading one are round-off."""
MOST_SHAPES = 200
"""Times at which the bent shapes are taken."""


def adapted(system: System | Mechanism, nominal: Result, coordinates: int) -> Mechanism:
    """The mechanism with at most `coordinates` elastic coordinates in each flexible body, chosen for the motion `nominal`; fewer where it excites fewer.

    `nominal`: a simulation of the same mechanism, rigid (`simulate(mechanism.rigid(), ...)`) or flexible. Cost: that simulation, and some hundred residuals.
    Raises `MechanismError` for a motion of another mechanism.
    """
    mechanism = system.build() if isinstance(system, System) else system
    if coordinates < 1:
        raise MechanismError(f"A flexible body keeps at least one coordinate, or is rigid; found {coordinates}.")
    ours, theirs = ([*(b.name for b in m.bodies), *(j.name for j in m.joints)] for m in (mechanism, nominal.mechanism))
    if ours != theirs:
        raise MechanismError(
            f"The nominal motion is that of another mechanism ({nominal.mechanism.name!r}): its bodies and joints are {theirs}, expected {ours}."
        )
    bent = _bent(mechanism, nominal)
    q_start, v_start = starts_of(np.array([b.modes for b in mechanism.bodies]))
    bodies, q, w = [], [], []
    for b, body in enumerate(mechanism.bodies):
        T = np.zeros((0, 0))
        if body.is_flexible:
            T = own_coordinates(body, _leading(body, bent[v_start[b] - 6 * b :][: body.modes], coordinates))
            body = in_subspace(body, T)
        bodies.append(body)
        q += [mechanism.initial.q[q_start[b] :][:7], T.T @ mechanism.initial.q[q_start[b] + 7 : q_start[b + 1]]]
        w += [mechanism.initial.w[v_start[b] :][:6], T.T @ mechanism.initial.w[v_start[b] + 6 : v_start[b + 1]]]
    initial = State(mechanism.initial.t, np.concatenate(q), np.concatenate(w), mechanism.initial.angles)
    return replace(mechanism, bodies=tuple(bodies), initial=initial)


def _leading(body: Body, bent: np.ndarray, count: int) -> np.ndarray:
    """The leading directions (m, k), at most `count`, of bent shapes (m, n) and what follows from their inertia, in the norm of the strain energy.

    The inertia of a bent shape bends the body again: Krylov's sequence, which finds the vibrations that the motion excites, and no others. A body that nothing bends keeps its softest coordinate.
    """
    stiff, shapes = np.sqrt(body.stiffness)[:, None], []
    for order in range(3):
        shape = stiff * bent / body.stiffness[:, None] ** order
        size = np.linalg.norm(shape, axis=0).max(initial=0.0)
        shapes.append(shape * INERTIA**order / size if size > 0 else shape)
    found, size, _ = np.linalg.svd(np.hstack(shapes), full_matrices=False)
    k = int(np.clip((size > SMALL * size[0]).sum(), 1, count)) if size[0] > 0 else 0
    return np.asarray(found[:, :k] / stiff) if k else np.eye(body.modes)[:, :1]


def _bent(mechanism: Mechanism, nominal: Result) -> np.ndarray:
    """Elastic coordinates of all bodies (sum m, nt), up to a factor: those of the motion itself, or those that inertia, gravity, loads and joints bend other, mostly rigid, bodies' places into."""
    (rates, places), (their_rates, their_places) = (elastic_places(compiled(m)) for m in (mechanism, nominal.mechanism))
    chosen = np.unique(np.linspace(0, len(nominal.t) - 1, MOST_SHAPES).round().astype(int))
    if [b.modes for b in mechanism.bodies] == [b.modes for b in nominal.mechanism.bodies]:
        return np.asarray(nominal.q[chosen][:, places].T)

    def undeformed(values: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        rigid = np.delete(values, theirs, axis=1)
        wide = np.zeros((len(values), rigid.shape[1] + len(ours)))
        wide[:, np.delete(np.arange(wide.shape[1]), ours)] = rigid
        return wide

    q = undeformed(nominal.q[chosen], places, their_places)
    w, wdot = (undeformed(values[chosen], rates, their_rates) for values in (nominal.w, nominal.wdot))
    e, bent = Equations(mechanism, q[0]), []
    for k, state in enumerate(zip(q, w, wdot, nominal.multipliers[chosen], strict=True)):
        force, _ = e.residual(mechanism.function_values(float(nominal.t[chosen[k]])), *state)
        bent.append(-force[rates] / np.concatenate([b.stiffness for b in mechanism.bodies]))
    return np.array(bent).T
