"""Linear constraints between nodes: equations, rigid links, mean motions, ties. `fem.dofs` eliminates them.

Components of a node: 0 to 2 the translations x, y, z; 3 to 5 the rotations about x, y, z, in the axes of the mesh.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int

from fem.axes.limits import as_array, floats, is_number, is_whole
from fem.errors import MeshError

Terms = TypeVar("Terms", bound="_Terms")
Link = TypeVar("Link", bound="_Link")


@dataclass(frozen=True, eq=False)
class _Terms:
    """Terms, each of a node, one of its components and a coefficient: what equations and springs consist of."""

    nodes: Any
    components: Any
    coefficients: Any

    def _check(self, source: str) -> None:
        """Make arrays of the lists. Raises `MeshError`, which names the `source`."""
        nodes = _numbers(self.nodes, source)
        components = _numbers(self.components, source)
        coefficients = floats(self.coefficients)
        coefficients = coefficients if coefficients.ndim == 1 else np.zeros(0)
        if not len(nodes) or not len(nodes) == len(components) == len(coefficients):
            raise MeshError(
                f"{source}: needs a node, a component and a coefficient for each term; found {len(nodes)} nodes, "
                f"{len(components)} components and {len(coefficients)} coefficients."
            )
        if components.min() < 0 or components.max() > 6:
            raise MeshError(
                f"{source}: components run from 0 to 6 (translations, rotations, rate of twist); found "
                f"{components.tolist()}."
            )
        if not np.isfinite(coefficients).all() or not coefficients.any():
            raise MeshError(f"{source}: coefficients must be finite, not all zero; found {coefficients.tolist()}.")
        for name, value in (("nodes", nodes), ("components", components), ("coefficients", coefficients)):
            object.__setattr__(self, name, value)

    @property
    def members(self) -> Int[np.ndarray, " k"]:
        """The nodes that it connects."""
        return np.unique(self.nodes)

    def renumbered(self: Terms, number: Int[np.ndarray, " n"]) -> Terms:
        """The same with node `number[k]` in the place of node k."""
        return replace(self, nodes=number[self.nodes])


@dataclass(frozen=True, eq=False)
class _Link:
    """A link of nodes with a reference node."""

    nodes: Any
    reference: int

    def _check(self, source: str, components: Any) -> None:
        """Make a tuple of the components. Raises `MeshError` for others than 0 to 5, and where the reference is no
        node."""
        numbers = tuple(components) if isinstance(components, Iterable) else ()
        if not numbers or not all(is_whole(k) and 0 <= k < 6 for k in numbers):
            raise MeshError(
                f"{source}: components of a link are whole numbers from 0 to 5, translations and then rotations; found "
                f"{components!r}."
            )
        if not is_whole(self.reference):
            raise MeshError(f"{source}: the reference is the number of a node; found {self.reference!r}.")
        object.__setattr__(self, "components", tuple(map(int, numbers)))

    @property
    def members(self) -> Int[np.ndarray, " k"]:
        """The nodes that it connects."""
        return np.append(self.nodes, self.reference)

    def renumbered(self: Link, number: Int[np.ndarray, " n"]) -> Link:
        """The same with node `number[k]` in the place of node k."""
        return replace(self, nodes=number[self.nodes], reference=int(number[self.reference]))


@dataclass(frozen=True, eq=False)
class Equation(_Terms):
    """A linear equation `sum_k coefficients[k] u[nodes[k], components[k]] = 0` of t terms: lists of shape (t,).

    Components are 0 to 2 translations, 3 to 5 rotations, 6 the rate of twist of beams with `torsion="vlasov"`:
    `fem.Equation([7], [6], [1.0])` holds the warping at node 7. The first term is eliminated.

    `source`: its name in messages, such as the keyword and line of a file.

    Raises `MeshError` when the lists have different lengths, or a coefficient or component is not usable.
    """

    source: str = "an equation"

    def __post_init__(self) -> None:
        self._check(self.source)


@dataclass(frozen=True, eq=False)
class RigidLink(_Link):
    """Nodes that move with a reference node as one rigid body (RBE2): `u = u_ref + theta_ref x (x - x_ref)`.

    - `nodes` (k,) follow the node `reference`, which has rotations then; `rotations`: whether the rotations of nodes
      that have some follow as well.
    - `components`: those of the nodes that follow, 0 to 5; default: all.

    Raises `MeshError` without nodes, when the reference is among them or no number, and for other components.
    """

    components: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    source: str = "a rigid link"

    def __post_init__(self) -> None:
        self._check(self.source, self.components)
        nodes = np.unique(_numbers(self.nodes, self.source))
        if not len(nodes):
            raise MeshError(f"{self.source}: no node follows the reference node {self.reference}.")
        if self.reference in nodes:
            raise MeshError(f"{self.source}: the reference node {self.reference} is among the nodes that follow it.")
        object.__setattr__(self, "nodes", nodes)


@dataclass(frozen=True, eq=False)
class MeanLink(_Link):
    """A reference node that moves with the weighted least-squares mean of other nodes (RBE3); it adds no stiffness.

    - `nodes` (k,) with positive `weights` (k,), default all equal; `reference` follows them with its translations and
      rotations, or with the `components` that are named, 0 to 5.

    Raises `MeshError` when weights are not usable, the reference is among the nodes or no number, and for other
    components.
    """

    weights: Any = None
    components: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    source: str = "a mean motion"

    def __post_init__(self) -> None:
        self._check(self.source, self.components)
        nodes = _numbers(self.nodes, self.source)
        weights = np.ones(len(nodes)) if self.weights is None else floats(self.weights)
        if weights.shape != nodes.shape or not len(nodes) or not ((weights > 0) & np.isfinite(weights)).all():
            raise MeshError(f"{self.source}: needs one finite, positive weight for each of its {len(nodes)} nodes.")
        if self.reference in nodes:
            raise MeshError(f"{self.source}: the reference node {self.reference} is among the nodes that it follows.")
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "weights", weights)


@dataclass(frozen=True)
class NodeMass:
    """A point mass at a node, without rotary inertia. `source`: its name in messages.

    A mesh holds it: `mesh = dataclasses.replace(mesh, masses=(*mesh.masses, fem.NodeMass(12, 0.5)))`.

    Raises `MeshError` when the mass is not positive and finite, or the node is no number.
    """

    node: int
    mass: float
    source: str = "a point mass"

    def __post_init__(self) -> None:
        if not (is_number(self.mass) and self.mass > 0):
            raise MeshError(f"{self.source}: a point mass must be positive and finite; found {self.mass}.")
        if not is_whole(self.node):
            raise MeshError(f"{self.source}: a point mass is at the number of a node; found {self.node!r}.")

    def renumbered(self, number: Int[np.ndarray, " n"]) -> "NodeMass":
        """The mass at node `number[k]` in the place of node k."""
        return replace(self, node=int(number[self.node]))


@dataclass(frozen=True, eq=False)
class NodeSpring(_Terms):
    """A spring, a damper or both side by side between dofs of nodes. With the motion
    `s = sum_k coefficients[k] u[nodes[k], components[k]]` its force is `stiffness * s + damping * ds/dt`.

    - `nodes`, `components` (0 to 6, as of `fem.Equation`) and `coefficients`: lists of t terms; `stiffness`: force
      or moment per motion; `damping`: force or moment per rate of the motion. `source`: its name in messages.

        fem.NodeSpring([3, 8], [0, 0], [1.0, -1.0], stiffness=2e5)  # along x, between nodes 3 and 8
        fem.NodeSpring([3, 8], [0, 0], [1.0, -1.0], damping=40.0)  # a damper in the same place

    A mesh holds it: `mesh = dataclasses.replace(mesh, springs=(*mesh.springs, fem.NodeSpring(...)))`. Springs are part
    of the stiffness matrix of a model, dampers of its damping matrix (`Model.D`). It turns with the
    part only in the first order: geometric stiffness does not include it.

    Raises `MeshError` when the lists do not fit together, or stiffness and damping are negative, not finite, or both
    zero.
    """

    stiffness: float = 0.0
    source: str = "a spring"
    damping: float = 0.0

    def __post_init__(self) -> None:
        for what, value in (("stiffness", self.stiffness), ("damping", self.damping)):
            if not (is_number(value) and value >= 0):
                raise MeshError(f"{self.source}: the {what} must be positive and finite; found {value}.")
        if not (self.stiffness or self.damping):
            raise MeshError(f"{self.source}: needs a stiffness or a damping above zero.")
        self._check(self.source)

    @property
    def strength(self) -> str:
        """Its kind and values, for messages."""
        found = (("spring", self.stiffness), ("damper", self.damping))
        return ", ".join(f"{kind}: {value:g}" for kind, value in found if value)


Constraint = Equation | RigidLink | MeanLink


def mean_motion(
    x: Float[np.ndarray, "k 3"], weights: Float[np.ndarray, " k"], place: Float[np.ndarray, "3"]
) -> tuple[Float[np.ndarray, "k 6 3"], bool]:
    """The mean motion of points `x` by weighted least squares: coefficients of their displacements in the translation
    of a point at `place` that moves with them (rows 0 to 2) and in their rotation (3 to 5); and whether they turn,
    which points on one line do not."""
    w = weights / weights.sum()
    centre = w @ x
    d = x - centre
    J = np.eye(3) * (w @ (d * d).sum(axis=1)) - (d.T * w) @ d
    extent = np.linalg.eigvalsh(J)
    turns = bool(extent[0] > 1e-12 * extent[2] > 0)
    S = np.zeros((len(x), 3, 3))  # rows of the mean rotation: J^-1 sum w d x u
    if turns:
        spin = np.cross(np.eye(3)[None], d[:, None]).swapaxes(1, 2)  # spin @ e = e x d, its transpose d x u
        S = np.linalg.inv(J) @ (w[:, None, None] * spin.swapaxes(1, 2))
    B = np.zeros((len(x), 6, 3))
    B[:, 3:] = S
    B[:, :3] = w[:, None, None] * np.eye(3) + np.cross(S.swapaxes(1, 2), place - centre).swapaxes(1, 2)
    return B, turns


def turning_nodes(constraints: tuple[Constraint, ...]) -> Int[np.ndarray, " k"]:
    """The nodes that have rotations because of the constraints: references of links, nodes of equations of
    rotations."""
    found = [np.zeros(0, dtype=np.int64)]
    for c in constraints:
        found.append(c.nodes[np.isin(c.components, (3, 4, 5))] if isinstance(c, Equation) else np.array([c.reference]))
    return np.unique(np.concatenate(found))


def _numbers(values: Any, source: str) -> np.ndarray:
    array = as_array(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise MeshError(f"{source}: nodes and components must be lists of whole numbers; found {values!r}.")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array
