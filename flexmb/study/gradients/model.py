"""The mechanism that a model function builds from parameters."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from flexmb.errors import StudyError
from flexmb.kernels.base.data import CompiledModel
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.features import SMOOTH, Feature, refuse
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.system import System
from flexmb.simulation.initial_state import InitialState, with_initial_state

Model = Callable[..., System | Mechanism]
FURTHER: frozenset[Feature] = frozenset({"new states", "regularised friction", "friction that sticks"})
"""What has derivatives beside smooth features; friction is known to slide, or to stick, throughout the motion."""
SURFACES: frozenset[Feature] = frozenset({"surface contacts", "rubbing surfaces", "facing surfaces", "local contacts"})
"""What has derivatives in the adjoint method only: forces with the same points in every step."""


def mechanism_of(model: Model, values: Mapping[str, float]) -> Mechanism:
    """The mechanism for parameter values. Its bodies share no numbers: a parameter may change one of several alike.

    Raises `StudyError` when the model returns something else.
    """
    made = model(**values)
    if not isinstance(made, System | Mechanism):
        raise StudyError(f"The model function must return a System or a Mechanism; found {type(made).__name__}.")
    mechanism = made.build() if isinstance(made, System) else made
    if len({id(body.invariants) for body in mechanism.bodies}) == len(mechanism.bodies):
        return mechanism
    bodies = tuple(replace(body, invariants=replace(body.invariants)) for body in mechanism.bodies)
    return replace(mechanism, bodies=bodies)


def started(model: Model, initial_state: InitialState | None) -> Model:
    """The model whose mechanisms are in an initial state, as `flexmb.simulate` takes it; itself for None."""
    if initial_state is None:
        return model

    def begun(**values: float) -> Mechanism:
        return with_initial_state(mechanism_of(model, values), initial_state)

    return begun


def refuse_without_derivatives(mechanism: Mechanism, what: str, further: frozenset[Feature] = frozenset()) -> None:
    """Raise `MechanismError` or `ControllerError` when parts of a mechanism have no derivatives in a method, called
    `what`, which includes `further` features beside those of all methods."""
    refuse(mechanism, what, includes=SMOOTH - {"velocity matrices"} | FURTHER | further)


def require_alike(a: Mechanism, b: Mechanism) -> None:
    """Raise `StudyError` when two mechanisms differ in more than numbers."""
    x, y = compiled(a), compiled(b)
    structure = ("modes", "slices", "marker_body", "row_kind", "row_markers", "row_axes", "row_function")
    further = (
        "term_row",
        "term_markers",
        "term_kind",
        "load_marker",
        "load_function",
        "element_row",
        "element_state",
        "element_parameter",
        "element_updates",
        "element_command",
        "control_signal",
        "control_command",
        "control_state",
        "control_parameter",
        "signal_sort",
        "signal_kind",
        "signal_markers",
        "signal_index",
        "row_command",
        "load_command",
        "line_kind",
        "line_body",
        "line_function",
        "line_station",
        "friction_row",
        "friction_source",
        "friction_start",
        "friction_direction",
        "skin_body",
        "skin_marker",
        "skin_other",
        "skin_local",
        "skin_node",
        "mate_node",
        "node_place",
        "compliance_size",
    )
    pairs = [(getattr(x, name), getattr(y, name)) for name in (*structure, *further)]
    pairs.append((sorted_facets(x)[0], sorted_facets(y)[0]))
    for own, other in pairs:
        if not np.array_equal(own, other):
            raise StudyError(
                "A parameter changes the structure of the mechanism (bodies, elastic coordinates, joints, forces, "
                "loads), not only its numbers: derivatives do not exist there."
            )


def sorted_facets(flat: CompiledModel) -> tuple[np.ndarray, np.ndarray]:
    """The nodes (nf, 4) of the facets of surfaces in an order that trees, which list them otherwise when points move,
    do not change; and this order (nf,)."""
    order = np.lexsort(flat.facet_nodes.T[::-1])
    return flat.facet_nodes[order], order
