"""Numbers of a result that the studies of the command line tabulate: its peaks, and measures that the user names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flexmb.mechanism.mechanism import Mechanism
    from flexmb.results.result import Result
    from flexmb.study.gradients.seeds import Over

Measures = Annotated[
    list[str] | None,
    typer.Option(
        help="Measure to plot, as named in the table; or one to add to it, such as normal-force:floor or "
        "position:rod.end:x (all: flexmb response --help), by its value --over time. Repeat for several."
    ),
]
OverTime = Annotated[
    str, typer.Option(help="Value of an added measure: largest, smallest, final, mean or mean square.")
]


def added(measures: Sequence[str]) -> list[str]:
    """Those of `measures` that are measures of a result, KIND:NAME..., rather than names in the table."""
    return [text for text in measures if ":" in text]


def over_time(text: str) -> "Over":
    """The value over time called `text`. Raises `StudyError` when there is none of this name."""
    from fem.errors import unknown_name
    from flexmb.errors import StudyError
    from flexmb.study.gradients.seeds import OVER

    for known in OVER:
        if text == known:
            return known
    raise StudyError(unknown_name("value over time", text, OVER))


def dimensions_of(measures: Sequence[str], mechanism: "Mechanism") -> dict[str, str]:
    """What each of `measures` measures, such as "length", read where the mechanism begins. Raises the errors of the
    measures: an unknown name is found before anything is simulated."""
    import numpy as np

    from flexmb.results.measure import column
    from flexmb.results.result import result_of_states

    first, rows = mechanism.initial, mechanism.joint_rows
    q, w, states = first.q[None], first.w[None], mechanism.initial_states[None]
    still, none = np.zeros_like(w), np.zeros((1, rows))
    result = result_of_states(mechanism, np.array([first.t]), q, w, still, none, element_states=states)
    return {text: column(text, result).dimension for text in measures}


def numbers_of(result: "Result", measures: Sequence[str], over: "Over") -> dict[str, float]:
    """The peaks of a result, and the `values_of` its `measures`."""
    from flexmb.study import peaks

    return peaks(result) | values_of(result, measures, over)


def values_of(result: "Result", measures: Sequence[str], over: "Over") -> dict[str, float]:
    """The value that `over` selects of each of `measures`, by its text."""
    from flexmb.results.measure import measure
    from flexmb.study.gradients.seeds import scalar

    return {text: scalar(measure(text), over, result).value for text in measures}
