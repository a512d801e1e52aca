"""Order reduction along a motion: few elastic coordinates for each body, derived for one nominal motion.

A nominal motion, for instance that of the rigid mechanism, gives the shapes into which its inertia and joint forces
bend the bodies at every time, and the shapes that the inertia of these shapes adds. Their leading directions, in the
norm of the strain energy, are the new coordinates of each body. The equations remain those of the whole nonlinear
mechanism, with its energy balance. The reduced mechanism has no stiff coordinates, so that steps can be larger.

The reduced coordinates do not represent loads that the nominal motion lacks, nor deformations outside of the span of
the bodies' own coordinates.

Sources: Aarts, ten Hoopen, Boer, Hakvoort, "Model order reduction of non-linear flexible multibody models", and Naets,
Desmet, on a subspace along a nominal motion (both EUROMECH Colloquium 524, 2012).
"""

from dataclasses import replace

import numpy as np

from fem.axes.limits import is_whole
from flexmb.bodies.body import Body
from flexmb.bodies.subspace import in_subspace, own_coordinates
from flexmb.equations.evaluation import Equations
from flexmb.errors import MechanismError
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.results.result import Result
from flexmb.spatial.layout import elastic_places, starts_of

INERTIA = 0.1
"""Weight of the shapes due to inertia relative to those due to the loads of the motion, and for each further order."""
SMALL = 1e-6
"""Size, relative to the leading direction, below which a direction is round-off."""
MOST_SHAPES = 200
"""Largest number of times at which deformed shapes are taken."""


def adapted(system: System | Mechanism, nominal: Result, coordinates: int) -> Mechanism:
    """The mechanism with few elastic coordinates in each flexible body, derived for the motion `nominal`.

    A body has fewer coordinates where the motion excites fewer. `nominal`: a simulation of the same mechanism, rigid
    (`simulate(mechanism.rigid(), ...)`) or flexible. Cost: that simulation, and some hundred evaluations of the
    residual.

    Raises `MechanismError` when `coordinates` is less than 1, or `nominal` is a motion of another mechanism.
    """
    mechanism = system.build() if isinstance(system, System) else system
    if not is_whole(coordinates) or coordinates < 1:
        raise MechanismError(f"A flexible body needs at least one coordinate; found {coordinates}.")
    ours, theirs = ([*(b.name for b in m.bodies), *(j.name for j in m.joints)] for m in (mechanism, nominal.mechanism))
    if ours != theirs:
        raise MechanismError(
            f"The nominal motion is that of another mechanism ({nominal.mechanism.name!r}): its bodies and joints are "
            f"{theirs}, expected {ours}."
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
    initial = replace(mechanism.initial, q=np.concatenate(q), w=np.concatenate(w))
    return replace(mechanism, bodies=tuple(bodies), initial=initial)


def _leading(body: Body, bent: np.ndarray, count: int) -> np.ndarray:
    """The leading directions (m, k), in the norm of the strain energy, of deformed shapes `bent` (m, n); k <= `count`.

    The shapes into which the inertia of deformed shapes bends the body are included: this Krylov sequence contains the
    vibrations that the motion excites, and no others. A body that nothing deforms keeps its softest coordinate.
    """
    stiff, shapes = np.sqrt(body.stiffness)[:, None], []
    for order in range(3):
        shape = stiff * bent / body.stiffness[:, None] ** order
        size = np.linalg.norm(shape, axis=0).max(initial=0.0)
        shapes.append(shape * INERTIA**order / size if size > 0 else shape)
    found, size, _ = np.linalg.svd(np.hstack(shapes), full_matrices=False)
    k = int(np.clip((size > SMALL * size[0]).sum(), 1, count)) if size[0] > 0 else 0
    return np.asarray(found[:, :k] / stiff) if k else np.eye(body.modes)[:, [body.stiffness.argmin()]]


def _bent(mechanism: Mechanism, nominal: Result) -> np.ndarray:
    """Elastic coordinates (sum m, nt) of all bodies along the nominal motion, up to a factor.

    They are those of the motion itself if its bodies have the same coordinates. Otherwise they are the static
    deformations by inertia, gravity, loads and joints at the positions of its bodies, which are mostly rigid.
    """
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
        e.states[:] = nominal.state(int(chosen[k])).element_states
        force, _ = e.residual(mechanism.function_values(float(nominal.t[chosen[k]])), *state)
        bent.append(-force[rates] / np.concatenate([b.stiffness for b in mechanism.bodies]))
    return np.array(bent).T
