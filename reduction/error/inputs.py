"""The inputs of a body: unit loads, scaled such that forces and moments are comparable."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from fem.axes.limits import floats
from fem.errors import MatrixError, unknown_name
from fem.model import Model

GRAVITY = "gravity"
"""The name of uniform acceleration as a load.

It does not deform a free body; with fixed interfaces it does, and Craig-Bampton then holds its response.
"""
ROTATION = "rotation"
"""The name of the loads of rotation: centrifugal and Euler forces of the undeformed body, in the six patterns that
deform it. They are those about the mass centre; about another axis the body accelerates as well, which deforms it where
interfaces are fixed (`inertia_loads`)."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Unit loads (ndof, p) with their labels. The outputs are the displacements on which the loads do work.

    The unit of a moment is a unit force at the distance `length`, the body's radius of gyration, and its output is the
    rotation times `length`, so that all entries of a transfer matrix are displacements per force. Units: consistent.
    """

    labels: tuple[str, ...]
    loads: Float[np.ndarray, "ndof p"]
    length: float
    at_interface: Bool[np.ndarray, " p"]

    @property
    def rotation(self) -> bool:
        """Whether the loads of rotation are among them."""
        return bool(self._called(ROTATION).any())

    @property
    def deforming(self) -> "Inputs":
        """The loads that deform the free body: all but gravity."""
        kept = ~self._called(GRAVITY)
        labels = tuple(label for label, keep in zip(self.labels, kept, strict=True) if keep)
        return Inputs(labels, self.loads[:, kept], self.length, self.at_interface[kept])

    def _called(self, name: str) -> Bool[np.ndarray, " p"]:
        """Which loads are those of this name, and not at an interface whose name begins so."""
        return np.array([label.startswith(f"{name} ") for label in self.labels], dtype=bool) & ~self.at_interface

    def with_patterns(self, loads: Float[np.ndarray, "ndof k"]) -> "Inputs":
        """These inputs and further ones: patterns of loads at surfaces."""
        labels = tuple(f"contact pattern {k}" for k in range(1, loads.shape[1] + 1))
        carried = np.concatenate([self.at_interface, np.zeros(len(labels), dtype=bool)])
        return Inputs((*self.labels, *labels), np.hstack([self.loads, loads]), self.length, carried)

    @property
    def others(self) -> Float[np.ndarray, "ndof k"]:
        """The loads that no interface carries."""
        return self.loads[:, ~self.at_interface]


def resolve_inputs(model: Model, inputs: Sequence[str | np.ndarray] | None) -> Inputs:
    """The loads named by `inputs`: interfaces (six wrenches each), "rotation", "gravity", and arrays (ndof,) or
    (ndof, k).

    None stands for all interfaces, of which there may be none. Raises MatrixError for unknown names, wrong shapes, and
    an empty sequence.
    """
    if inputs is not None and (isinstance(inputs, str) or not np.iterable(inputs)):
        raise MatrixError(
            f"Model {model.name!r}: inputs are a list of names of interfaces ({list(model.interfaces)}) and of loads; "
            f"found {inputs!r}."
        )
    J = model.inertia()
    length = float(np.sqrt(np.trace(J) / (2 * model.mass)))
    given = list(model.interfaces) if inputs is None else list(inputs)
    if inputs is not None and not given:
        raise MatrixError(
            f"Model {model.name!r}: an empty list of inputs; name interfaces ({list(model.interfaces)}) or give loads."
        )
    labels: list[str] = []
    loads: list[np.ndarray] = [np.zeros((model.ndof, 0))]
    for item in given:
        if isinstance(item, str) and item in model.interfaces:
            labels += [f"{item} {d}" for d in ("Fx", "Fy", "Fz", "Mx", "My", "Mz")]
            loads.append(model.interfaces[item].interface_matrix(model).toarray() * np.repeat([1.0, length], 3))
        elif isinstance(item, str) and item == GRAVITY:
            labels += [f"{GRAVITY} {d}" for d in "xyz"]
            loads.append(_translations(model) / model.mass)
        elif isinstance(item, str) and item == ROTATION:
            pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
            moments = model.moment_loads() - _translations(model) @ np.kron(model.centre_of_mass, np.eye(3))
            symmetric = [0.5 * (moments[:, 3 * a + b] + moments[:, 3 * b + a]) for a, b in pairs]
            labels += [f"rotation {'xyz'[a]}{'xyz'[b]}" for a, b in pairs]
            loads.append(np.column_stack(symmetric) / (model.mass * length))
        elif isinstance(item, str):
            raise MatrixError(
                f"Model {model.name!r}: " + unknown_name("input", item, [*model.interfaces, GRAVITY, ROTATION])
            )
        else:
            loads.append(_array(model, item))
            labels += [f"load {len(labels) + k}" for k in range(loads[-1].shape[1])]
    carried = np.array([isinstance(item, str) and item in model.interfaces for item in given], dtype=bool)
    counts = np.array([F.shape[1] for F in loads[1:]], dtype=int)
    return Inputs(tuple(labels), np.column_stack(loads), length, np.repeat(carried, counts))


def acting_loads(model: Model, inputs: Sequence[str | np.ndarray] | None) -> Inputs:
    """`resolve_inputs`, and the force of every damper between the nodes of the part, which acts whatever drives it: as
    those of springs do, the shapes must hold what it deforms."""
    named, dampers = resolve_inputs(model, inputs), model.damper_loads.toarray()
    dampers = dampers[:, dampers.any(axis=0)]  # not those within a rigid body
    if not dampers.shape[1]:
        return named
    labels = tuple(f"damper {k}" for k in range(1, dampers.shape[1] + 1))
    carried = np.concatenate([named.at_interface, np.zeros(len(labels), dtype=bool)])
    return Inputs((*named.labels, *labels), np.hstack([named.loads, _array(model, dampers)]), named.length, carried)


def inertia_loads(model: Model) -> Float[np.ndarray, "ndof 6"]:
    """Inertia forces of the accelerations of a rigid body, each of unit length."""
    loads = model.M @ model.rigid_body_modes(model.centre_of_mass)
    return np.asarray(loads / np.linalg.norm(loads, axis=0))


def _translations(model: Model) -> np.ndarray:
    return model.M @ model.rigid_body_modes()[:, :3]


def _array(model: Model, item: np.ndarray) -> np.ndarray:
    """A load given as numbers, scaled to a unit sum of magnitudes."""
    given = floats(item)
    F = given[:, None] if given.ndim == 1 else given
    if F.ndim != 2 or len(F) != model.ndof or not np.isfinite(F).all() or not F.any(axis=0).all():
        raise MatrixError(
            f"Model {model.name!r}: an input load must hold {model.ndof} finite numbers, not all zero; its shape is "
            f"{given.shape}."
        )
    return F / np.abs(F).sum(axis=0)
