"""The default measures of a result: largest values over time."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from flexmb.errors import StudyError
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Result

Measure = Callable[[Result], Mapping[str, float]]
"""Numbers by name, of one result."""


def require_function(measure: object, example: str = "{'angle': r.coordinate('hinge')[-1]}") -> None:
    """Raise `StudyError` when what measures a result is no function, with an `example` of what one returns."""
    if not callable(measure):
        raise StudyError(f"A measure must be a function of a result, such as lambda r: {example}; found {measure!r}.")


def numbers_by_name(made: object) -> dict[str, float]:
    """What a measure, or a model without a mechanism, returned: numbers by name. Raises `StudyError` when it did not
    return these."""
    if isinstance(made, Mapping):
        wrong = [name for name, value in made.items() if np.size(value) != 1]
        if not wrong:
            return {name: float(value) for name, value in made.items()}
        found = f"an array of {np.shape(made[wrong[0]])} for {wrong[0]!r}"
    else:
        found = type(made).__name__
    raise StudyError(
        f"A measure must return numbers by name, such as {{'angle': r.coordinate('hinge')[-1]}}; found {found}."
    )


def peak_series(mechanism: Mechanism) -> dict[str, Callable[[Result], np.ndarray]]:
    """The series whose largest values `peaks` returns, by name, as functions of a result.

    They are the magnitudes (nt,) of forces and moments of all joints, and of deflections of all interfaces of flexible
    bodies.
    """
    series: dict[str, Callable[[Result], np.ndarray]] = {}
    for joint in mechanism.joints:
        series[f"force in {joint.name}"] = partial(_force, joint.name)
        series[f"moment in {joint.name}"] = partial(_moment, joint.name)
    for body in mechanism.bodies:
        for interface in body.interfaces if body.is_flexible else ():
            name = f"{body.name}.{interface}"
            series[f"deflection of {name}"] = partial(_deflection, name)
    return series


def peaks_of_states(result: Result) -> dict[str, float]:
    """The values of `peaks` except the energies, which only a simulation computes."""
    return {name: float(series(result).max()) for name, series in peak_series(result.mechanism).items()}


def peaks(result: Result) -> dict[str, float]:
    """Largest values over time, by name, in consistent units.

    They are forces and moments of all joints, deflections of all interfaces of flexible bodies, kinetic and elastic
    energies, and the residual of the energy ledger.
    """
    measured, ledger = peaks_of_states(result), result.ledger
    measured["kinetic energy"] = float(ledger.kinetic.max())
    measured["elastic energy"] = float(ledger.elastic.max())
    measured["energy residual"] = float(np.abs(ledger.residual).max())
    return measured


def _force(joint: str, result: Result) -> np.ndarray:
    return np.linalg.norm(result.reaction(joint)[:, :3], axis=1)


def _moment(joint: str, result: Result) -> np.ndarray:
    return np.linalg.norm(result.reaction(joint)[:, 3:], axis=1)


def _deflection(marker: str, result: Result) -> np.ndarray:
    return np.linalg.norm(result.deflection(marker), axis=1)
