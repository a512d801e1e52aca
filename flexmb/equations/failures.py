"""Why a step fails: the error to raise, with what caused it at the last evaluated state."""

from typing import Any

import numpy as np

from fem.errors import ConvergenceError, FlexmbError
from flexmb.equations.evaluation import Equations
from flexmb.equations.snapshot import Snapshot
from flexmb.errors import CurveError, TiltError
from flexmb.kernels.base.data import ANGLE, CURVE, FORCES, TILT
from flexmb.kernels.base.law_call import require_sound
from flexmb.kernels.calls import residual
from flexmb.kernels.equations.rows import OPPOSED
from flexmb.mechanism.contacts.element import rubs
from flexmb.mechanism.features import few
from flexmb.mechanism.force_law import ForceLaw
from flexmb.mechanism.frame_law import FrameLawCall
from flexmb.mechanism.mechanism import Mechanism

RUNAWAY = 100.0
"""Displacement in a step, relative to the length of the mechanism, or angle, beyond which a motion has grown without
bound."""
COLLAPSED = 1e-9
"""Size of a step, relative to the time since the beginning, below which variable steps have become too small."""
FALLS = 0.5
"""Fall of the error in an iteration from which on it needs too many corrections."""
FOLLOWED = 1e-6
"""Error of states, relative to them or to their change in a step, up to which they follow their rates."""


def fastest_body(equations: Equations, w: np.ndarray) -> str:
    """Name of the body with the largest velocity."""
    place = int((np.abs(w) * equations.flat.weight).argmax())
    return equations.mechanism.bodies[int(np.searchsorted(equations.flat.v_start, place, side="right")) - 1].name


def no_mass(equations: Equations, t: float) -> FlexmbError:
    """The error to raise when the mass matrix of a deformed body is not positive definite, or the error of the law that
    left the bodies without a motion."""
    mechanism = equations.mechanism
    for law in mechanism.calls:
        if law.failure is not None:
            return law.failure
    wrong = [b.name for b, unsound in zip(mechanism.bodies, equations.workspace.unsound, strict=True) if unsound]
    return ConvergenceError(
        f"At t = {t:.6g} the mass matrix of {few(wrong)} of {mechanism.name!r} is not positive definite: its elastic "
        "deformation is far outside the range of the reduced body. Take smaller steps, or check its loads and "
        "stiffness."
    )


def sound_snapshot(equations: Equations, t: float, q: np.ndarray, w: np.ndarray, work: np.ndarray) -> Snapshot:
    """`Equations.snapshot`; raises `ConvergenceError` when the mass matrix of a body is not positive definite there."""
    found = equations.snapshot(t, q, w, work)
    if equations.workspace.unsound.any():
        raise no_mass(equations, t)
    return found


def diverged(
    equations: Equations,
    t: float,
    h: float,
    w: np.ndarray,
    *,
    q: np.ndarray | None = None,
    states: np.ndarray | None = None,
    explicit: bool = False,
    diagonal: bool = False,
) -> FlexmbError:
    """The error to raise when a step of `h` from `t`, `explicit` or by iteration, fails, or the error of the user's law
    that caused the failure. `diagonal`: the iteration uses the diagonal of the damping of bodies only.

    With `q` (nq,) and `states` (nz,) at the beginning of the step, the elements whose states cause it are found
    there; otherwise at the last evaluated state.
    """
    mechanism, name = equations.mechanism, equations.mechanism.name
    require_sound(mechanism.calls)
    for law in mechanism.calls:
        if law.failure is not None:
            return _ran_away(mechanism, law, t, h) or law.failure
    if left := _beyond_end(equations):
        return CurveError(
            f"At t = {t:.6g} {', '.join(map(repr, left))} of {name!r} reaches the end of its open "
            "curve, beyond which it would have to move. Extend the curve, close it, or end the simulation before: "
            "an event on the coordinate of another joint."
        )
    unfollowed: list[str] = []
    if states is not None and q is not None and len(states):
        h, unfollowed = _follow_states(equations, t, h, q, w, states)
    if jumping := _unsettled(equations):
        return ConvergenceError(
            f"At t = {t:.6g} the states of the controllers {', '.join(map(repr, jumping))} of "
            f"{name!r} have no value at the end of a step of {h:.3g}: their laws jump, or are too "
            "fast for it. Make them continuous, give them a sample_time, or take smaller steps."
        )
    if escaping := unfollowed or _escaping(equations):
        return ConvergenceError(
            f"At t = {t:.6g} the states of {', '.join(map(repr, escaping))} of {name!r} have no "
            f"value at the end of a step of {h:.3g}: their rates grow too fast with the states, or jump. See that "
            "the law has a solution for all time, or take smaller steps."
        )
    if over := _turned_over(equations):
        return TiltError(
            f"At t = {t:.6g} the two ends of {', '.join(map(repr, over))} of {name!r} are tilted by "
            "nearly half a turn relative to each other, where the twist and "
            "the direction of tilt of a bushing are undefined. Use stiffer springs, or a joint that allows the "
            "rotation, with springs in it."
        )
    moved = float((np.abs(w) * equations.flat.weight).max(initial=0.0)) * h
    if moved > RUNAWAY and t > mechanism.initial.t:  # in the first step, the motion is that of the start
        return ConvergenceError(
            f"The motion of {name!r} has grown without bound: at t = {t:.6g} the body "
            f"{fastest_body(equations, w)!r} moves in a step of {h:.3g} by {moved:.3g} of the length of the mechanism, "
            "or radians. The likely cause is a force law, a spring or a controller that pushes along the "
            "displacement or the velocity instead of against it: check its sign, and linearise(system).modes() for "
            "growth."
        )
    stuck = (
        "a driver, a load or a law jumps there, or the joints lock, as where a crank is longer than its rod: the "
        "mechanism cannot move on (flexmb.analyses.kinematics.joint_sweep tells how far a joint moves)."
    )
    advice = "The step may be too large for the motion: give a smaller step=, or none for variable steps."
    if explicit:
        advice += " Stiff springs need very small explicit steps; generalised-alpha does not."
    if diagonal and (strong := coupled_damping(mechanism, h)):
        advice = (
            f"The damping of {few(strong)} couples elastic coordinates too strongly for the matrix of this iteration, "
            "which contains its diagonal only (a stiff damper inside the body, for instance): take method='radau' or "
            f"'bdf', which contain all of it. {advice}"
        )
    collapsed = h <= COLLAPSED * abs(t - mechanism.initial.t)
    what = "integration" if explicit else "Newton iteration"
    return ConvergenceError(
        f"The {what} of {name!r} fails at t = {t:.6g} with a step of {h:.3g}, "
        f"in which the fastest body, {fastest_body(equations, w)!r}, moves by {moved:.3g} (lengths of the mechanism, "
        "or radians). "
        + (f"Longer steps failed, too: {stuck}" if collapsed else f"{advice} If that fails at the same time, {stuck}")
        + f"{_with_slip_speed(mechanism)}{_on_surfaces(mechanism)}{_of_masses(equations)}"
    )


def coupled_damping(mechanism: Mechanism, h: float) -> list[str]:
    """The bodies whose coupled damping an iteration with its diagonal only, in steps of `h`, does not follow: an error
    of their elastic velocities does not fall to `FALLS` of it, with the trapezoidal rule."""
    strong = []
    for body in mechanism.bodies:
        if body.velocity_matrix is None or not body.modes:
            continue
        known = 1.0 + 0.5 * h * body.damping + 0.25 * h**2 * body.stiffness
        left = 0.5 * h * body.velocity_matrix[6:, 6:] / known[:, None]
        if np.abs(np.linalg.eigvals(left)).max() > FALLS:
            strong.append(body.name)
    return strong


def _ran_away(mechanism: Mechanism, law: Any, t: float, h: float) -> ConvergenceError | None:
    """The error to raise where a law of a coordinate, or between two frames, failed only because the iteration, or the
    motion, had moved it in one step by many lengths of the mechanism, or radians."""
    if isinstance(law, ForceLaw):
        row = next(row for row in mechanism.rows if row.law >= 0 and mechanism.laws[row.law] is law)
        what, moved = "coordinate", abs(law.failed_rate) * h / (mechanism.length if row.kind in FORCES else 1.0)
    elif isinstance(law, FrameLawCall):
        v, omega = (float(np.linalg.norm(part)) for part in np.split(law.failed_rates, 2))
        what, moved = "frames", h * max(v / mechanism.length, omega)
    else:
        return None
    if not moved > RUNAWAY:
        return None
    error = ConvergenceError(
        f"The Newton iteration of {mechanism.name!r} diverges at t = {t:.6g} with a step of {h:.3g}: it moves the "
        f"{what} of {law.name!r} by {moved:.3g} lengths of the mechanism, or radians, where its law has no value. "
        "The step is too large for the motion (give a smaller step=, or none for variable steps), or the law pushes "
        "along the displacement or the velocity instead of against it: check its sign, and "
        "linearise(system).modes() for growth."
    )
    error.__cause__ = law.failure
    return error


def _of_masses(equations: Equations) -> str:
    """A sentence on masses that are far apart; empty if none are."""
    return f" {told}" if (told := equations.far_apart) else ""


def _on_surfaces(mechanism: Mechanism) -> str:
    """A sentence on the steps of contacts of flexible surfaces; empty without any."""
    names = [contact.name for contact in mechanism.surface_contacts]
    if not names:
        return ""
    return (
        f" The flexible surfaces of {few(names)} need steps that resolve the vibrations which an impact excites in "
        "them, as variable steps do."
    )


def _with_slip_speed(mechanism: Mechanism) -> str:
    """A sentence on the slip speed of continuous contacts with friction; empty without any."""
    names = [force.name for force in mechanism.frame_forces if rubs(force)]
    if not names:
        return ""
    return (
        f" Friction of the contact {few(names)} needs, in fixed steps h, a slip_speed of 4 mu N h / m with the "
        "largest normal force N and the mass m: give a larger one."
    )


def _follow_states(
    equations: Equations, t: float, h: float, q: np.ndarray, w: np.ndarray, states: np.ndarray
) -> tuple[float, list[str]]:
    """Look for the states at the end of a step of `h` by the implicit rule of Euler, with the motion at its
    beginning; returns the size of the step that was evaluated last, and the elements whose states do not follow.

    Wrenches and commands of elements whose states have no value there are then not numbers, whatever the method. A
    variable step that has become too small is just short enough for the states, and longer ones are tried too.
    """
    none, multipliers, workspace = np.zeros(len(w)), np.zeros(equations.flat.joint_rows), equations.workspace
    collapsed = h <= COLLAPSED * abs(t - equations.mechanism.initial.t)
    for size in (h, 8 * h, 64 * h) if collapsed else (h,):
        workspace.half[0], workspace.state_base[:] = size, states
        functions, energies = equations.mechanism.function_values(t + size), np.zeros(5)
        residual(
            equations.flat, q, w, none, multipliers, functions, equations.expected, equations.kinematics, workspace,
            workspace.unbalanced, energies,
        )  # fmt: skip
        workspace.half[0] = 0.0
        if lost := _unfollowed(equations, size, states):
            return size, lost
        if _unsettled(equations):
            return size, []
    return h, []


def _unfollowed(equations: Equations, h: float, states: np.ndarray) -> list[str]:
    """Elements whose states at the end of a step of `h` were not found: their wrench is not a number, or the states
    are not those that they had before (nz,) and the rates, since an iteration ended elsewhere."""
    found, flat, rates = _escaping(equations), equations.flat, h * equations.workspace.state_rates
    left, size = np.abs(equations.states - states - rates), np.maximum(np.abs(equations.states), np.abs(rates))
    for e, force in enumerate(equations.mechanism.frame_forces):
        own = slice(flat.element_state[e], flat.element_state[e + 1])
        if force.initial and not flat.element_updates[e] and not (left[own] <= FOLLOWED * size[own].max()).all():
            found.append(force.name)
    return list(dict.fromkeys(found))


def _escaping(equations: Equations) -> list[str]:
    """Elements with states that were not found at the last evaluated motion, at which their wrench is therefore not
    a number."""
    efforts, values = equations.workspace.efforts, equations.workspace.values
    found = []
    for e, force in enumerate(equations.mechanism.frame_forces):
        rows = slice(equations.flat.element_row[e], equations.flat.element_row[e] + 6)
        if force.initial and np.isnan(efforts[rows]).any() and np.isfinite(values[rows]).all():
            found.append(force.name)
    return found


def _beyond_end(equations: Equations) -> list[str]:
    """Joints on open curves that have no foot on their curve at the last evaluated state."""
    values, position = equations.workspace.values, equations.kinematics.position
    return [
        joint.name
        for joint in equations.mechanism.joints
        if any(
            equations.flat.row_kind[r] == CURVE
            and np.isnan(values[r])
            and np.isfinite(position[list(joint.markers)]).all()
            for r in joint.rows
        )
    ]


def _unsettled(equations: Equations) -> list[str]:
    """Controllers whose commands are not numbers at the last state, although their inputs are."""
    flat, workspace, found = equations.flat, equations.workspace, []
    for c, own in enumerate(equations.mechanism.controllers):
        commands = workspace.commands[flat.control_command[c] : flat.control_command[c + 1]]
        inputs = workspace.signals[flat.control_signal[c] : flat.control_signal[c + 1]]
        if np.isnan(commands).any() and np.isfinite(inputs).all():
            found.append(own.name)
    return found


def _turned_over(equations: Equations) -> list[str]:
    """Force elements at the last state whose twist is undefined because the z axes of their ends are nearly
    opposite."""
    flat, axes = equations.flat, equations.kinematics.axes
    near = np.cos(np.pi - 2 * OPPOSED)
    return [
        name
        for name, rows in equations.mechanism.force_elements.items()
        if any(
            flat.row_kind[r] in (ANGLE, TILT)
            and (flat.row_stiffness[r] or flat.row_damping[r])
            and axes[flat.row_markers[r, 0]][:, 2] @ axes[flat.row_markers[r, 1]][:, 2] < near
            for r in rows
        )
    ]
