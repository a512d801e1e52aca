"""Linear constraints between nodes: equations, rigid links, mean motions, ties. `fem.dof_map` eliminates them.

Components of a node: 0 to 2 the translations x, y, z; 3 to 5 the rotations about x, y, z, in the axes of the mesh.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int

from fem.errors import MeshError


@dataclass(frozen=True, eq=False)
class Equation:
    """A linear equation `sum_k coefficients[k] u[nodes[k], components[k]] = 0` of t terms, each of shape (t,).

    The first term is eliminated.

    `source`: its name in messages, such as the keyword and line of a file.

    Raises `MeshError` when the lists have different lengths, or a coefficient or component is not usable.
    """

    nodes: Any
    components: Any
    coefficients: Any
    source: str = "an equation"

    def __post_init__(self) -> None:
        nodes = _numbers(self.nodes, self.source)
        components = _numbers(self.components, self.source)
        coefficients = np.asarray(self.coefficients, dtype=float)
        if not len(nodes) or not len(nodes) == len(components) == len(coefficients):
            raise MeshError(
                f"{self.source}: an equation needs a node, a component and a coefficient for each term; found "
                f"{len(nodes)} nodes, {len(components)} components and {len(coefficients)} coefficients."
            )
        if components.min() < 0 or components.max() > 5:
            raise MeshError(
                f"{self.source}: components run from 0 to 5 (translations, rotations); found {components.tolist()}."
            )
        if not np.isfinite(coefficients).all() or not coefficients.any():
            raise MeshError(f"{self.source}: coefficients must be finite, not all zero; found {coefficients.tolist()}.")
        for name, value in (("nodes", nodes), ("components", components), ("coefficients", coefficients)):
            object.__setattr__(self, name, value)

    @property
    def members(self) -> Int[np.ndarray, " k"]:
        """The nodes that it connects."""
        return np.unique(self.nodes)

    def renumbered(self, number: Int[np.ndarray, " n"]) -> "Equation":
        """The equation with node `number[k]` in the place of node k."""
        return replace(self, nodes=number[self.nodes])


@dataclass(frozen=True, eq=False)
class RigidLink:
    """Nodes that move with a reference node as one rigid body (RBE2): `u = u_ref + theta_ref x (x - x_ref)`.

    - `nodes` (k,) follow the node `reference`, which has rotations then; `rotations`: whether the rotations of nodes
      that have some follow as well.
    - `components`: those of the nodes that follow; default: all.

    Raises `MeshError` when the reference is among the nodes.
    """

    nodes: Any
    reference: int
    components: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    source: str = "a rigid link"

    def __post_init__(self) -> None:
        nodes = np.unique(_numbers(self.nodes, self.source))
        if self.reference in nodes:
            raise MeshError(f"{self.source}: the reference node {self.reference} is among the nodes that follow it.")
        object.__setattr__(self, "nodes", nodes)

    @property
    def members(self) -> Int[np.ndarray, " k"]:
        """The nodes that it connects."""
        return np.append(self.nodes, self.reference)


@dataclass(frozen=True, eq=False)
class MeanLink:
    """A reference node that moves with the weighted least-squares mean of other nodes (RBE3); it adds no stiffness.

    - `nodes` (k,) with positive `weights` (k,), default all equal; `reference` follows them with its translations and
      rotations, or with the `components` that are named.

    Raises `MeshError` when weights are not usable, or the reference is among the nodes.
    """

    nodes: Any
    reference: int
    weights: Any = None
    components: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    source: str = "a mean motion"

    def __post_init__(self) -> None:
        nodes = _numbers(self.nodes, self.source)
        weights = np.ones(len(nodes)) if self.weights is None else np.asarray(self.weights, dtype=float)
        if weights.shape != nodes.shape or not len(nodes) or not (weights > 0).all():
            raise MeshError(f"{self.source}: needs one positive weight for each of its {len(nodes)} nodes.")
        if self.reference in nodes:
            raise MeshError(f"{self.source}: the reference node {self.reference} is among the nodes that it follows.")
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "weights", weights)

    @property
    def members(self) -> Int[np.ndarray, " k"]:
        """The nodes that it connects."""
        return np.append(self.nodes, self.reference)


@dataclass(frozen=True)
class NodeMass:
    """A point mass at a node, without rotary inertia. `source`: its name in messages.

    Raises `MeshError` when the mass is not positive and finite.
    """

    node: int
    mass: float
    source: str = "a point mass"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mass) and self.mass > 0):
            raise MeshError(f"{self.source}: a point mass must be positive and finite; found {self.mass}.")


@dataclass(frozen=True, eq=False)
class NodeSpring:
    """A spring between dofs of nodes: energy `stiffness * (sum_k coefficients[k] u[nodes[k], components[k]])^2 / 2`.

    - `nodes`, `components` (0 to 5: translations, rotations) and `coefficients`: lists of t terms; `stiffness`: force
      or moment per motion. `source`: its name in messages.

        fem.NodeSpring([3, 8], [0, 0], [1.0, -1.0], stiffness=2e5)  # along x, between nodes 3 and 8

    It turns with the part only in the first order: geometric stiffness does not include it.

    Raises `MeshError` when the lists do not fit together, or the stiffness is not positive and finite.
    """

    nodes: Any
    components: Any
    coefficients: Any
    stiffness: float
    source: str = "a spring"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.stiffness) and self.stiffness > 0):
            raise MeshError(f"{self.source}: the stiffness must be positive and finite; found {self.stiffness}.")
        row = Equation(self.nodes, self.components, self.coefficients, self.source)
        for name in ("nodes", "components", "coefficients"):
            object.__setattr__(self, name, getattr(row, name))

    @property
    def members(self) -> Int[np.ndarray, " k"]:
        """The nodes that it connects."""
        return np.unique(self.nodes)

    def renumbered(self, number: Int[np.ndarray, " n"]) -> "NodeSpring":
        """The spring with node `number[k]` in the place of node k."""
        return replace(self, nodes=number[self.nodes])


Constraint = Equation | RigidLink | MeanLink


def turning_nodes(constraints: tuple[Constraint, ...]) -> Int[np.ndarray, " k"]:
    """The nodes that have rotations because of the constraints: references of links, nodes of equations of
    rotations."""
    found = [np.zeros(0, dtype=np.int64)]
    for c in constraints:
        found.append(c.nodes[c.components >= 3] if isinstance(c, Equation) else np.array([c.reference]))
    return np.unique(np.concatenate(found))


def renumbered(constraint: Constraint, number: Int[np.ndarray, " n"]) -> Constraint:
    """The constraint with node `number[k]` in the place of node k."""
    if isinstance(constraint, Equation):
        return constraint.renumbered(number)
    return replace(constraint, nodes=number[constraint.nodes], reference=int(number[constraint.reference]))


def _numbers(values: Any, source: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise MeshError(f"{source}: nodes and components must be lists of whole numbers; found {values!r}.")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array
