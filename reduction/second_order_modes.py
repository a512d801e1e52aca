"""The second-order displacement field itself, for pictures and displacement files.

Dynamics needs only its integrals (`reduction.second_order`), which cost 12 solves, and the field at the surfaces that
touch others, where forces do work. It is a shape for each pair of elastic coordinates: surfaces take all pairs; at the
other nodes those of the softest pairs are computed when a picture or a file asks for them.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int

from fem.linear_algebra.threads import one_openblas_thread
from fem.model import Model
from reduction.basis import Basis
from reduction.solutions.statics import Statics, inertia_relief_solution, statics

SMALLEST = 1e-2
"""Pairs that displace, at equal strain energy, less than about this fraction of the softest pair are left out ..."""
PER_MODE = 2
"""... and so are those beyond this many pairs for each elastic coordinate: the field takes at most so many times the
memory of Psi."""
BLOCK = 128
"""Pairs whose displacements of all nodes are in memory at a time, where only those of some nodes are asked for."""


class SecondOrderModes:
    """Nodal displacements of second order: `1/2 sum_p weight_p shapes_p eta_i eta_j` over `pairs` (i, j), i <= j;
    weight 2 for i < j.

    - `pairs` (p, 2): the pairs of elastic coordinates.
    - `shapes` (n, 3, p), in the frame of the basis; or a function without arguments that returns them, which is called
      when they are first used. Copies in other processes contain the shapes themselves.

    Units: consistent.
    """

    def __init__(
        self, pairs: Int[np.ndarray, "p 2"], shapes: Float32[np.ndarray, "n 3 p"] | Callable[[], np.ndarray]
    ) -> None:
        self.pairs = pairs
        self._shapes = shapes
        self._lock = Lock()

    @property
    def shapes(self) -> Float32[np.ndarray, "n 3 p"]:
        """Displacements of all nodes, a column for each pair."""
        with self._lock:  # threads that ask at the same time wait for one of them
            if callable(self._shapes):
                self._shapes = self._shapes()
            return self._shapes

    def __reduce__(self) -> tuple[Any, ...]:
        return SecondOrderModes, (self.pairs, self.shapes)

    def displacements(self, eta: Float[np.ndarray, " m"], nodes: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k 3"]:
        """Displacements of second order of `nodes`."""
        i, j = self.pairs.T
        return self.shapes[nodes] @ (np.where(i == j, 0.5, 1.0) * eta[i] * eta[j])


def leading_pairs(eigenvalues: Float[np.ndarray, " m"]) -> Int[np.ndarray, "p 2"]:
    """The softest pairs of elastic coordinates: equal strain energy makes amplitudes go as `1 / omega`."""
    m = len(eigenvalues)
    pairs = np.column_stack(np.triu_indices(m))
    weight = eigenvalues[0] / np.sqrt(eigenvalues[pairs].prod(axis=1))
    order = np.argsort(-weight, kind="stable")[: PER_MODE * m]
    return pairs[order[weight[order] >= SMALLEST]]


def second_order_modes(model: Model, basis: Basis) -> SecondOrderModes:
    """The field of the softest pairs of coordinates of `basis`, computed when it is first used.

    Cost of that use: a static solution for each pair, in one block, and a factorisation of K unless the factor of this
    part is still kept. The record refers to the model until then.
    """
    pairs = leading_pairs(basis.eigenvalues)

    @one_openblas_thread()
    def shapes() -> np.ndarray:
        body = statics(model)
        found = _shapes(body, basis, pairs)
        body.release()
        return found

    return SecondOrderModes(pairs, shapes)


@one_openblas_thread()
def second_order_at(
    model: Model, basis: Basis, nodes: Int[np.ndarray, " k"]
) -> tuple[Int[np.ndarray, "p 2"], Float32[np.ndarray, "k 3 p"]]:
    """All pairs of coordinates of `basis`, and their displacements of second order at `nodes`.

    Forces at `nodes` bend the body by their work on this field, to which pairs of stiff coordinates contribute as much
    as soft ones: static shapes of a load are combinations of all. Cost: a static solution for each pair, in blocks.
    """
    pairs = np.column_stack(np.triu_indices(basis.n_modes))
    found = np.zeros((len(nodes), 3, len(pairs)), dtype=np.float32)
    body = statics(model)
    for first in range(0, len(pairs), BLOCK):
        block = slice(first, first + BLOCK)
        found[..., block] = _shapes(body, basis, pairs[block])[nodes]
    body.keep(long=True)
    return pairs, found


def _shapes(body: Statics, basis: Basis, pairs: Int[np.ndarray, "p 2"]) -> Float32[np.ndarray, "n 3 p"]:
    """Solve equation (1) of `reduction.second_order` for each of `pairs`."""
    model = body.model
    particular = _particular(model, basis, pairs)
    loads = model.quadratic_strain_loads(np.asarray(basis.Psi), pairs) + model.K @ particular
    g = particular - inertia_relief_solution(body, loads)
    linked = model.dof_map.link_motion(np.asarray(basis.Psi), pairs)
    whole = model.dof_map.expand(g) + linked
    if basis.reference_frame is None:
        R = model.dof_map.expand(body.R)
        whole -= R @ ((model.mass_of_all @ R).T @ whole)
    else:
        interface = model.interfaces[basis.reference_frame]
        whole -= model.rigid_body_modes_of_all(interface.point) @ (interface.nodal_matrix(model).T @ whole)
    n = 3 * len(model.points)
    return whole[:n].reshape(-1, 3, len(pairs)).astype(np.float32)


def _particular(model: Model, basis: Basis, pairs: np.ndarray) -> np.ndarray:
    """`theta_i x (theta_j x x)`, symmetrised, on the nodes of the rigid interfaces: (ndof, p)."""
    field = np.zeros((model.ndof, len(pairs)))
    for name, interface in model.interfaces.items():
        if interface.kind != "rigid":
            continue
        a, b = (basis.interface_modes[name][3:, k] for k in pairs.T)
        turn = 0.5 * (np.einsum("ap,bp->abp", a, b) + np.einsum("ap,bp->abp", b, a))
        turn -= np.einsum("cp,cp->p", a, b) * np.eye(3)[..., None]
        x = model.points[interface.nodes] - interface.point
        field[model.dof_map.places(interface.translation_dofs)] = np.einsum("abp,nb->nap", turn, x).reshape(
            -1, len(pairs)
        )
    return field
