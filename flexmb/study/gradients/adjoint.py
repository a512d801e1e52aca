"""Derivatives of one scalar with respect to many parameters, by one simulation and one adjoint pass."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexmb.errors import StudyError
from flexmb.kernels.base.announce import announced
from flexmb.kernels.base.data import make_marker_kinematics, make_workspace
from flexmb.kernels.calls import backward_pass
from flexmb.kernels.derivatives.adjoint import make_backward_pass, make_costates
from flexmb.kernels.derivatives.skins import make_skin_pass
from flexmb.kernels.derivatives.transposed import make_scratch
from flexmb.mechanism.compile import compiled
from flexmb.simulation.initial_state import InitialState
from flexmb.simulation.recorded import Recording, record
from flexmb.spatial.configuration import difference
from flexmb.study.gradients.aligned import Aligned
from flexmb.study.gradients.begun import start_of, starts_apart
from flexmb.study.gradients.closed import smooth_model
from flexmb.study.gradients.dependence import Work
from flexmb.study.gradients.model import SURFACES, Model, mechanism_of, refuse_without_derivatives, started
from flexmb.study.gradients.rates import rates_of
from flexmb.study.gradients.seeds import Over, Scalar, Series, scalar, seeds
from flexmb.study.gradients.sensitivity import Gradient
from flexmb.study.gradients.trust import error_of, other_step, suspicious, warn_of_errors
from flexmb.study.parameters import Progress, checked_values, nothing
from flexmb.study.peaks import require_function


def adjoint_gradient(
    model: Model,
    at: Mapping[str, float],
    duration: float,
    series: Series,
    *,
    step: float,
    over: Over = "largest",
    initial_state: InitialState | None = None,
    output_step: float | None = None,
    rho_inf: float | None = None,
    newton_tolerance: float = 1e-8,
    name: str = "result",
    relative_step: float = 1e-4,
    progress: Progress = nothing,
) -> Gradient:
    """Derivatives of one scalar with respect to every parameter of `model(**parameters)` at the values `at`.

    They are the exact derivatives of the discrete motion (the discrete adjoint), so that they agree with differences of
    simulations. A largest value has the derivative at its instant.

    - `series(result)`: a number (nt,) at every stored time, which depends only on the state at that time, such as
      `lambda r: r.deflection("rod.small")[:, 1]`; `over`: the scalar that is formed from it over the stored times.
    - `step`, `output_step`, `rho_inf`, `newton_tolerance`: options of `flexmb.simulate` and their defaults, with
      generalised-alpha in absolute coordinates, fixed steps and no events. All steps are kept in memory.
    - `name`: of the scalar in the returned `Gradient`.
    - `initial_state`: of each mechanism, as `flexmb.simulate` takes it; `flexmb.linear.settled` is the equilibrium at
      the values of the parameters, with which it changes.
    - `relative_step`: relative change of a parameter to both sides (absolute, if it is zero) by which the dependence of
      the mechanism and of its initial state is found; the motion is not computed again. Choose a smaller one for a
      parameter that acts within a small part of its value, such as the instant of a short pulse.
    - `progress`: called with the fraction that is done.

    Cost: one simulation, about two more for the adjoint pass, and for each parameter two builds of the model and two
    initial states: about three runs in all for any number of parameters, if building is cheap. `flexmb.study.gradient`
    takes four runs for each parameter, and differentiates all measures at once. Parameters that move joints or drivers
    are sensitive to the rounding of positions: the error in reactions is about 1e-13 length masses / step^2.

    Surfaces of reduced bodies may touch rigid shapes and each other, also in impacts. Their points carry a force, stick
    or slide in the same steps at the given values and beside them; where they change, at a kink, the derivative is that
    of one side. Where points move over facets, or a shape is on a flexible body, a backward step takes differences by
    every coordinate of the touching bodies and every force of the points: ten to twenty runs in all for nine points.

    Warns with `SensitivityWarning` when the derivatives are not reliable. Raises `StudyError` when the model, the
    parameters or the series do not fit, or when the adjoint pass does not converge; `MechanismError` when the mechanism
    has parts without derivatives.

    Source: Bruls, Sonneville, "Sensitivity analysis for flexible multibody systems formulated on a Lie group" (2012);
    Dias, Pereira, "Sensitivity analysis of rigid-flexible multibody systems" (1997); here the equations are discretised
    before they are differentiated.
    """
    values = checked_values(at)
    require_function(series, "r.coordinate('hinge')")
    model = smooth_model(started(model, initial_state), values, duration, step, rho_inf, newton_tolerance)

    def ask(step: float, progress: Progress) -> tuple[float, np.ndarray, _Swept]:
        base = mechanism_of(model, values)
        refuse_without_derivatives(base, "The adjoint method", SURFACES)
        recording = record(base, duration, step, output_step, rho_inf, newton_tolerance, lambda x: progress(0.4 * x))
        wanted = scalar(series, over, recording.result)
        derivatives, swept = _derivatives(model, values, recording, wanted, relative_step, progress)
        return wanted.value, derivatives, swept

    value, derivatives, swept = ask(step, progress)
    errors = np.full(len(values), np.nan)
    recording = swept.recording
    if suspicious(recording, swept.growth):
        second = other_step(recording)
        errors = error_of(derivatives, ask(second, nothing)[1], second / recording.h)
        warn_of_errors(values, {name: derivatives}, {name: errors}, recording.h, recording.result.t)
    return Gradient(values, {name: value}, {name: derivatives}, {name: errors})


def _derivatives(
    model: Model,
    values: Mapping[str, float],
    recording: Recording,
    wanted: Scalar,
    relative_step: float,
    progress: Progress,
) -> tuple[np.ndarray, "_Swept"]:
    """Derivatives with respect to every parameter, and the adjoint pass from which they result."""
    with announced():
        swept = _swept(recording, wanted)
    progress(0.8)
    derivatives = np.zeros(len(values))
    for k, parameter in enumerate(values):
        rates = rates_of(model, values, parameter, relative_step, recording.result.mechanism, recording.times)
        low, high = rates.low, rates.high
        change = (
            swept.of_start(rates.below, rates.above)
            + wanted.at(recording.result, high)
            - wanted.at(recording.result, low)
        )
        derivatives[k] = swept.work.slope(rates) + change / rates.distance
        progress(0.8 + 0.2 * (k + 1) / len(values))
    return derivatives, swept


@dataclass(frozen=True, eq=False)
class _Swept:
    """The result of the adjoint pass.

    `work`: virtual work of parameters along the motion; `q`, `w`, `wdot`, `a`, `pivot`, `first`: derivatives with
    respect to the initial values of the method, the pivots of the bodies, and the stored initial state.
    """

    work: Work
    recording: Recording
    q: np.ndarray
    w: np.ndarray
    wdot: np.ndarray
    a: np.ndarray
    pivot: np.ndarray  # (nb, 3)
    first: np.ndarray  # (3 nv + nj + nz,)
    states: np.ndarray  # (nz,) the same with respect to the states of frame forces
    state_rates: np.ndarray  # (nz,)
    growth: np.ndarray  # (n,) magnitudes of the adjoint variables, from the last step backward

    def of_start(self, low: Aligned, high: Aligned) -> float:
        """The difference of the scalar that results from the initial states, and from the pivots, of two mechanisms."""
        (a, x), (b, y) = (start_of(mechanism, self.recording) for mechanism in (low, high))
        flat, tree = compiled(low.mechanism), self.recording.run.tree
        by = (self.q, self.w, self.wdot, self.a, self.pivot, self.states, self.state_rates)
        change = sum(np.vdot(slope, apart) for slope, apart in zip(by, starts_apart(flat, tree, x, y), strict=True))
        if self.first.any():
            stored = (difference(flat, a.q, b.q), b.w - a.w, b.wdot - a.wdot)
            change += self.first @ np.concatenate([*stored, b.multipliers - a.multipliers, b.states - a.states])
        return float(change)


def _swept(recording: Recording, wanted: Scalar) -> _Swept:
    """The adjoint pass over the steps, backward from the last one on which the scalar depends."""
    e, scheme = recording.run.equations, recording.run.scheme
    flat, nv = e.flat, len(e.flat.weight)
    given = seeds(wanted, e, recording.result)
    seeded = recording.stored[wanted.places]
    last = int(seeded[-1])
    nz = len(recording.run.motion.states)
    y, mu, of_states, of_rates = (np.zeros((last, n)) for n in (nv, flat.joint_rows, nz, nz))
    costates, arrays, skins = make_costates(flat), make_backward_pass(flat), make_skin_pass(flat)
    kept = np.zeros((last, 4 * len(flat.node_skin)))
    first = np.zeros(3 * nv + flat.joint_rows + nz)
    if seeded[0] == 0:
        first, seeded, given = given[0], seeded[1:], given[1:]
    if len(seeded):
        scratch, displaced = make_scratch(flat)
        failed = backward_pass(
            flat,
            recording.run.tree,
            scheme,
            recording.h,
            recording.functions,
            recording.track,
            seeded,
            given,
            y,
            mu,
            of_states,
            of_rates,
            make_marker_kinematics(flat),
            make_workspace(flat),
            scratch,
            displaced,
            arrays,
            costates,
            skins,
            kept,
        )
        if failed:
            t = recording.result.t[0] + recording.h * failed
            raise StudyError(
                f"The adjoint pass of {recording.result.mechanism.name!r} does not converge at t = {t:.6g}: the step "
                f"{recording.h:.3g} is too long for the motion. Reduce `step`."
            )
        first[:nv] += skins.earlier
    work = Work(recording, y, mu, arrays.gravity, (of_states, of_rates), kept)
    growth = np.abs(y[::-1] * flat.weight).max(axis=1, initial=0.0)
    return _Swept(
        work,
        recording,
        costates.q,
        costates.w,
        costates.wdot,
        costates.a,
        arrays.pivot,
        first,
        costates.states,
        costates.state_rates,
        growth,
    )
