"""The effect of a parameter along a recorded motion: the virtual work of the parts of a mechanism that depend on it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexmb.kernels.base.data import CompiledModel, make_marker_kinematics, make_workspace
from flexmb.kernels.base.pointed import fields_of, pointed
from flexmb.kernels.calls import difference_of_work, element_forces, friction_forces, power_of_skins, rigid_slopes
from flexmb.kernels.derivatives.adjoint import Track
from flexmb.mechanism.compile import compiled, part_of
from flexmb.simulation.recorded import Recording
from flexmb.spatial.layout import elastic_places
from flexmb.study.gradients.rates import BENDING, FRICTION, LINES, SKINS, Rates

BODY = ("mass", "s0", "J0", "rest_Mrr", "rest_Mre")
ROW = ("row_stiffness", "row_damping", "row_offset")
MOVED = 4e-3
"""Change of a number to both sides, relative to its size. It must be large against the rounding of positions, which
affects multipliers divided by the square of the step.
"""
MOVED_LAWS = 1e-5
"""The same for force elements between frames, controllers and dry friction, which may be nonlinear over lengths of a
thousandth, and are evaluated with the multipliers of the motion.
"""
MOVED_POINTS = 2e-6
"""The same for points of flexible surfaces, which must move by less than they slip in a step, and not by round-off."""
OF_LAWS = ("element_parameters", "control_parameters", "signal_given")
MARKER = ("marker_point", "marker_axes", "marker_rows")


@dataclass(frozen=True, eq=False)
class EffectsOfLaws:
    """Derivatives of frame forces, of commands of controllers and of dry friction with respect to a parameter, along a
    recorded motion.

    - `forces` (n, nv): of their part of the residuals of the steps.
    - `states`, `state_rates` (n, nz): of their states and of the rates of these at the ends of the steps, with the same
      states at the beginnings.
    """

    forces: np.ndarray
    states: np.ndarray
    state_rates: np.ndarray


def effects_of_laws(recording: Recording, rates: Rates, steps: int) -> EffectsOfLaws | None:
    """The derivatives of frame forces, commands and dry friction in the first `steps` steps; None if the parameter does
    not change them."""
    mechanism, d = recording.result.mechanism, rates.arrays
    flat = compiled(mechanism)
    elements = (flat.element_row[:, None] + np.arange(6)).ravel()
    rows = np.union1d(elements, np.flatnonzero(flat.row_command >= 0)).astype(np.int64)
    loads = np.flatnonzero(flat.load_command >= 0)
    rubbing = flat.friction_row
    places = [flat.row_markers[[*rows, *rubbing]].ravel(), flat.signal_markers.ravel(), flat.load_marker[loads]]
    markers = np.concatenate(places)
    moved = _moved_markers(flat, d)[markers[markers >= 0]].any() or (bool(rates.functions) and flat.follows == 1)
    given = any(name in d for name in (*OF_LAWS, *FRICTION, *(("load_wrench",) if len(loads) else ())))
    given = given or _changing(d, ("row_offset",), len(flat.row_kind))[rubbing].any()
    if not (moved or given or rates.own_laws):
        return None
    table, nv, nz = recording.functions[:steps], len(flat.weight), len(recording.run.motion.states)

    def at(size: float) -> np.ndarray:
        changed, functions = rates.moved(mechanism, table, size)
        own, found = part_of(by_laws(changed), rows, loads), [np.zeros((steps, n)) for n in (nv, nz, nz)]
        workspace = make_workspace(own)
        element_forces(own, recording.track, recording.h, functions, make_marker_kinematics(own), workspace, *found)
        if len(rubbing):
            rubbed, workspace = np.zeros((steps, nv)), make_workspace(changed)
            friction_forces(changed, recording.track, functions, make_marker_kinematics(changed), workspace, rubbed)
            found[0] += rubbed
        return np.hstack(found)

    def central(size: float) -> np.ndarray:
        return np.asarray((at(size) - at(-size)) / (2 * size))

    if rates.own_laws:  # known at both sides only
        slopes = central(0.5 * rates.distance)
    else:
        size = rates.size(mechanism, MOVED_LAWS, (*BENDING, *OF_LAWS, *FRICTION))
        slopes = (4 * central(0.5 * size) - central(size)) / 3
    return EffectsOfLaws(slopes[:, :nv], slopes[:, nv : nv + nz], slopes[:, nv + nz :])


def by_laws(flat: CompiledModel) -> CompiledModel:
    """The arrays of a mechanism whose rows exert nothing but frame forces and commands."""
    none = {
        name: np.zeros_like(getattr(flat, name)) for name in ("row_stiffness", "row_damping", "row_law", "row_store")
    }
    none |= {
        "row_function": np.full_like(flat.row_function, -1),
        "line_kind": flat.line_kind[:0],
        "skin_body": flat.skin_body[:0],
    }
    return pointed(CompiledModel(**{**fields_of(flat), **none}))


def without_laws(flat: CompiledModel) -> CompiledModel:
    """The arrays of a mechanism whose frame forces, controllers, dry friction and surfaces do not act."""
    changed = {"element_row": flat.element_row[:0], "control_law": flat.control_law[:0], "follows": 0}
    changed |= {name: getattr(flat, name)[:0] for name in ("friction_row", "friction_speed", "skin_body")}
    changed["row_command"] = np.full_like(flat.row_command, -1)
    changed["load_command"] = np.full_like(flat.load_command, -1)
    changed["load_wrench"] = np.where(flat.load_command[:, None] >= 0, 0.0, flat.load_wrench)
    return pointed(CompiledModel(**{**fields_of(flat), **changed}))


class Work:
    """The sum `y . residual + mu . g` over the steps of a recorded motion, and its derivatives.

    `y` (n, nv), `mu` (n, nj): adjoint variables; `by_gravity` (3,): the derivative with respect to gravity;
    `of_states`: the costates (n, nz) of the states of force elements and of their rates; `of_points` (n, 4 nn): the
    adjoint variables of the points of flexible surfaces, and their modes.
    """

    def __init__(
        self,
        recording: Recording,
        y: np.ndarray,
        mu: np.ndarray,
        by_gravity: np.ndarray,
        of_states: tuple[np.ndarray, np.ndarray],
        of_points: np.ndarray,
    ) -> None:
        self._recording, self._y, self._mu, self._by_gravity = recording, y, mu, by_gravity
        self._of_states, self._of_points = of_states, of_points
        self._by_inertia: dict[int, np.ndarray] = {}
        self._mechanism, self._flat = recording.result.mechanism, compiled(recording.result.mechanism)
        rates, coordinates = elastic_places(self._flat)
        track, n = recording.track, len(y)
        self._by_stiffness = np.einsum("ti,ti->i", y[:, rates], track.q[1 : n + 1, coordinates])
        self._by_damping = np.einsum("ti,ti->i", y[:, rates], track.w[1 : n + 1, rates])
        self._rates, self._coordinates = rates, coordinates

    def slope(self, rates: Rates) -> float:
        """The derivative with respect to the parameter of `rates`."""
        flat, d = self._flat, rates.arrays
        bodies = self._bodies(d)
        rigid, bodies = bodies[flat.modes[bodies] == 0], bodies[flat.modes[bodies] > 0]
        still = np.ones(len(flat.stiffness), dtype=bool)  # bodies in `bodies` include their stiffness and damping
        for b in bodies:
            first = flat.v_start[b] - 6 * b
            still[first : first + flat.modes[b]] = False
        slope = 0.0
        parts = (
            ("stiffness", self._by_stiffness * still),
            ("damping", self._by_damping * still),
            ("gravity", self._by_gravity),
        )
        for name, by in parts:
            slope += by @ d[name] if name in d else 0.0
        for k in rigid:
            own = [
                np.ravel(d[name][k]) if name in d else np.zeros(n) for name, n in (("mass", 1), ("s0", 3), ("J0", 9))
            ]
            slope += self._slopes(int(k)) @ np.concatenate(own)
        slope += self._coupled(rates) + self._laws(rates) + self._skins(rates)
        rows, loads = self._rows(rates), self._loads(rates)
        if len(bodies) or len(rows) or len(loads) or self._lines(rates):
            slope += self._difference(rates, bodies, rows, loads)
        return float(slope)

    def _coupled(self, rates: Rates) -> float:
        """The part of the derivative due to stiffness and damping between elastic coordinates."""
        slope, n, track = 0.0, len(self._y), self._recording.track
        for b, (stiffness, damping) in rates.couplings.items():
            first = self._flat.v_start[b] - 6 * b
            own = slice(first, first + self._flat.modes[b])
            y = self._y[:, self._rates[own]]
            slope += np.einsum("ti,ij,tj->", y, stiffness, track.q[1 : n + 1, self._coordinates[own]])
            slope += np.einsum("ti,ij,tj->", y, damping, track.w[1 : n + 1, self._rates[own]])
        return float(slope)

    def _laws(self, rates: Rates) -> float:
        """The part of the derivative due to frame forces and controllers."""
        effects = effects_of_laws(self._recording, rates, len(self._y))
        if effects is None:
            return 0.0
        to_states, to_rates = self._of_states
        states = np.vdot(to_states, effects.states) + np.vdot(to_rates, effects.state_rates)
        return float(np.vdot(self._y, effects.forces) + states)

    def _skins(self, rates: Rates) -> float:
        """The part of the derivative due to flexible surfaces that touch."""
        flat, d = self._flat, rates.arrays
        if not (any(name in d for name in SKINS) or _moved_markers(flat, d)[flat.skin_marker].any()):
            return 0.0
        mechanism = self._recording.result.mechanism

        def power(size: float) -> float:
            changed, _ = rates.moved(mechanism, self._recording.functions, size)
            space = make_marker_kinematics(changed), make_workspace(changed)
            return power_of_skins(changed, self._recording.track, self._y, self._of_points, *space)

        def central(size: float) -> float:
            return (power(size) - power(-size)) / (2 * size)

        size = min(0.5 * rates.distance, rates.size(mechanism, MOVED_POINTS, (*SKINS, *MARKER)))
        return (4 * central(0.5 * size) - central(size)) / 3

    def _slopes(self, body: int) -> np.ndarray:
        """Derivatives (13,) with respect to the mass, first moments and inertia of a rigid body."""
        if body not in self._by_inertia:
            self._by_inertia[body] = np.zeros(13)
            rigid_slopes(self._flat, body, self._recording.track, self._y, self._by_inertia[body])
        return self._by_inertia[body]

    def _bodies(self, d: Mapping[str, np.ndarray]) -> np.ndarray:
        """Indices of the bodies whose inertia changes."""
        flat, change = self._flat, _changing(d, BODY, len(self._flat.modes))
        for k, m in enumerate(flat.modes):
            for name, count in (("linear", 12 * m), ("quadratic", int(flat.slices[k]) * m * m)):
                start = getattr(flat, f"{name}_start")[k]
                change[k] |= name in d and bool(d[name][start : start + count].any())
        return np.flatnonzero(change)

    def _rows(self, rates: Rates) -> np.ndarray:
        flat, d = self._flat, rates.arrays
        nr, moved = len(flat.row_kind), _moved_markers(flat, d)[flat.term_markers].any(axis=1)
        change = _changing(d, ROW, nr)
        moved[nr:] |= _changing(d, ("term_factor",), len(moved) - nr)
        change[flat.term_row[moved]] = True
        change |= np.isin(flat.row_function, list(rates.functions))
        change[rates.laws] = True
        acts = (flat.row_stiffness != 0) | (flat.row_damping != 0) | (flat.row_law != 0) | (flat.row_function >= 0)
        acts[: flat.joint_rows] = True
        return np.flatnonzero(change & (acts | _changing(d, ROW, len(acts))))

    def _loads(self, rates: Rates) -> np.ndarray:
        flat, d = self._flat, rates.arrays
        change = _changing(d, ("load_wrench",), len(flat.load_marker)) | _moved_markers(flat, d)[flat.load_marker]
        return np.flatnonzero(change | np.isin(flat.load_function, list(rates.functions)))

    def _lines(self, rates: Rates) -> bool:
        """Whether fluid in pipes or wind changes."""
        moved = np.isin(self._flat.line_function, list(rates.functions)).any()
        return bool(moved) or any(name in rates.arrays for name in LINES)

    def _difference(self, rates: Rates, bodies: np.ndarray, rows: np.ndarray, loads: np.ndarray) -> float:
        """The derivative due to some bodies, rows and loads, and to all lines, by evaluation on both sides.

        If they are not linear in the changed numbers, two distances are used.
        """
        joint = rows[rows < self._flat.joint_rows]
        track = self._recording.track
        multipliers = np.ascontiguousarray(track.multipliers[:, joint])
        of_rows = pointed(
            Track(
                q=track.q,
                w=track.w,
                wdot=track.wdot,
                a=track.a,
                multipliers=multipliers,
                angles=track.angles,
                states=track.states,
                state_rates=track.state_rates,
            )
        )
        mu, out = np.ascontiguousarray(self._mu[:, joint]), np.zeros(len(self._flat.weight))
        acting = len(rows) + len(loads) + self._lines(rates)

        def central(size: float) -> float:
            table = self._recording.functions[: len(self._y)]
            (a, functions), (b, others) = (rates.moved(self._mechanism, table, sign * size) for sign in (-1.0, 1.0))
            low, high = (part_of(without_laws(flat), rows, loads) for flat in (a, b))
            change: float = difference_of_work(
                low,
                high,
                acting,
                bodies,
                functions,
                others,
                of_rows,
                self._y,
                mu,
                make_marker_kinematics(low),
                make_marker_kinematics(high),
                make_workspace(low),
                out,
            )
            return change / (2 * size)

        size = rates.size(self._mechanism, MOVED)
        if not rates.bends:
            return central(size)
        return (4 * central(0.5 * size) - central(size)) / 3


def _moved_markers(flat: CompiledModel, d: Mapping[str, np.ndarray]) -> np.ndarray:
    """Which markers the parameter moves in their bodies."""
    change = _changing(d, MARKER, len(flat.marker_body))
    return change | (flat.marker_second_of >= 0) if "marker_second" in d else change


def _changing(d: Mapping[str, np.ndarray], names: tuple[str, ...], count: int) -> np.ndarray:
    """Which entries of any of the arrays change, (count,)."""
    change = np.zeros(count, dtype=bool)
    for name in names:
        if name in d:
            change |= d[name].reshape(count, -1).any(axis=1)
    return change
