"""Stiffness and forces of solid cells whose constants, strains and stresses vary from point to point: temperatures,
initial stresses, and the displacements of the step before.

With the displacement gradient H of the step before, F = I + H, and its stresses sigma, which are linear in H, the
stiffness of a perturbation step is

    int (F^T grad v) : c : (F^T grad w) + sigma : (grad v^T grad w)

that of the deformed part (CalculiX CrunchiX User's Manual, section "*STEP", option PERTURBATION).
Source: Bathe, Finite Element Procedures (1996), section 6.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from fem.elements import Element
from fem.errors import MeshError
from fem.matrices import assembly
from fem.matrices.cell_matrices import Cells
from fem.mesh.steps import Constants, Step
from fem.model import Model

_SYMMETRIC = ((0, 3, 5), (3, 1, 4), (5, 4, 2))
"""Place of each component of a tensor among the six."""
_GAUSS = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]) / np.sqrt(3.0)
_SIGNS = np.sign(_GAUSS)


@dataclass(frozen=True, eq=False)
class _State:
    """Cells with their connectivity (e, nn), elasticity (e, q, 3, 3, 3, 3), and strains without stress and initial
    stresses (e, q, 3, 3) at their integration points."""

    connectivity: np.ndarray
    cells: Cells
    c: np.ndarray
    strain: np.ndarray
    stress: np.ndarray

    def stiffness(self, F: np.ndarray | None = None, sigma: np.ndarray | None = None) -> np.ndarray:
        """Stiffness (e, 3, m, 3, m), incompatible modes included, of cells as given or under `F` and `sigma`."""
        G, dV, A = self.cells.gradients, self.cells.dV, self.c
        if F is not None and sigma is not None:
            A = np.einsum("eqia,eqkb,eqajbl->eqijkl", F, F, A, optimize=True)
            A = A + np.eye(3)[:, None, :, None] * sigma[:, :, None, :, None, :]
        right = np.einsum("eqijkl,eqlb,eq->eqijkb", A, G, dV, optimize=True)
        K = np.einsum("eqja,eqijkb->eiakb", G, right, optimize=True)
        if self.cells.hourglass is not None:
            for i in range(3):
                K[:, i, :, i] += self.cells.hourglass
        return np.asarray(K)

    def loads(self) -> np.ndarray:
        """Forces (e, 3, m) on nodes and incompatible modes of the strains and stresses."""
        s = np.einsum("eqijkl,eqkl->eqij", self.c, self.strain) - self.stress
        return np.asarray(np.einsum("eqja,eqij,eq->eia", self.cells.gradients, s, self.cells.dV, optimize=True))

    def modes(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the incompatible modes follow: A (e, 3 k, 3 nn) of the nodes, and (e, 3 k) of the loads."""
        e, _, m = K.shape[:3]
        n, k = self.cells.nodes, 3 * (m - self.cells.nodes)
        inner = K[:, :, n:, :, n:].reshape(e, k, k)
        mixed = K[:, :, n:, :, :n].reshape(e, k, 3 * n)
        own = self.loads()[:, :, n:].reshape(e, k, 1)
        return -np.linalg.solve(inner, mixed), np.linalg.solve(inner, own)[..., 0]

    def condensed(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness (e, 3, nn, 3, nn) and forces (e, 3, nn) without the incompatible modes."""
        n, f = self.cells.nodes, self.loads()
        e, _, m = K.shape[:3]
        if m == n:
            return K, f
        A, _ = self.modes(K)
        mixed, own = K[:, :, n:, :, :n].reshape(e, -1, 3 * n), f[:, :, n:].reshape(e, -1, 1)
        followed = A.transpose(0, 2, 1)
        return (
            K[:, :, :n, :, :n] + (followed @ mixed).reshape(e, 3, n, 3, n),
            f[:, :, :n] + (followed @ own).reshape(e, 3, n),
        )

    def deformed(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Deformation gradients and linear stresses (e, q, 3, 3) under nodal displacements `u` (e, nn, 3)."""
        e, n, m = *u.shape[:2], self.cells.gradients.shape[3]
        if m > n:
            A, own = self.modes(self.stiffness())
            modes = (A @ u.transpose(0, 2, 1).reshape(e, 3 * n, 1))[..., 0] + own
            u = np.concatenate([u, modes.reshape(e, 3, m - n).transpose(0, 2, 1)], axis=1)
        H = np.einsum("eqja,eai->eqij", self.cells.gradients, u, optimize=True)
        return np.eye(3) + H, np.einsum("eqijkl,eqkl->eqij", self.c, H - self.strain) + self.stress


def forces(model: Model, step: Step) -> np.ndarray:
    """Nodal forces (n, 3) of temperatures and of initial stresses and strains of a step."""
    f = np.zeros((len(model.elements.mesh.points), 3))
    if step.heating or step.initial:
        for state in _states(model, step):
            _, own = state.condensed(state.stiffness())
            np.add.at(f, state.connectivity, own.transpose(0, 2, 1))
    return f


def stiffness_change(model: Model, step: Step, before: Step | None, u: np.ndarray) -> sp.csr_matrix:
    """What constants of the step change of the stiffness (3 n, 3 n) of the solids of a model, and the displacements `u`
    (n, 3) of a static step `before`."""
    size = 3 * len(model.elements.mesh.points)
    rows, columns, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    if before is not None or step.constants:
        for state in _states(model, step if before is None else replace(before, constants=step.constants)):
            moved = () if before is None else state.deformed(u[state.connectivity])
            K, _ = state.condensed(state.stiffness(*moved))
            K = K - state.cells.stiffness()
            places = (3 * state.connectivity[:, None, :] + np.arange(3)[:, None]).reshape(len(K), -1)
            rows.append(np.repeat(places, places.shape[1], axis=1).ravel())
            columns.append(np.tile(places, places.shape[1]).ravel())
            values.append(K.ravel())
    where = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_matrix((np.concatenate(values), where), shape=(size, size))


def _states(model: Model, step: Step) -> Iterator[_State]:
    source = model.elements
    for numbers, shape, nodes, cells in assembly.solid_cells(source.mesh, source.materials, source.material_of):
        e, q = cells.dV.shape
        c = np.broadcast_to(cells.c, (e, q, 3, 3, 3, 3)).copy()
        strain, stress = np.zeros((2, e, q, 6))
        N = _temperature(shape)
        for constants in step.constants:
            rows = np.isin(numbers, constants.cells)
            c[rows] = _elasticity(constants, N, nodes[rows])
        for heating in step.heating:
            rows = np.isin(numbers, heating.cells)
            for nodal, sign in ((heating.last, 1.0), (heating.first, -1.0)):
                T = nodal[nodes[rows]] @ N.T
                strain[rows] += sign * heating.expansion.at(T) * (T - heating.zero)[..., None]
        order = np.lexsort(shape.stiffness_rule[0].T.round(9))
        for initial in step.initial:
            mine = np.flatnonzero(np.isin(initial.cells, numbers))
            if len(mine) and (shape.corners != 8 or initial.points[mine].max() >= q):
                raise MeshError(
                    f"Model {model.name!r}: initial values at integration points of {shape.kind} cells; hexahedra with "
                    f"points 1 to {q} have them."
                )
            row = np.searchsorted(numbers, initial.cells[mine])
            (strain if initial.strains else stress)[row, order[initial.points[mine]]] += initial.values[mine]
        strain[..., 3:] /= 2
        tensors = (values[..., _SYMMETRIC] for values in (strain, stress))
        yield _State(nodes, cells, c, *tensors)


def _temperature(shape: Element) -> np.ndarray:
    """Weights (q, nn) of the temperatures of nodes at the integration points: as smooth as the strains, which are
    nearly constant in linear hexahedra and linear in quadratic ones with full integration (CalculiX)."""
    xi = shape.stiffness_rule[0]
    if shape.kind == "hexahedron-compatible":
        return np.full((len(xi), 8), 1 / 8)
    if shape.kind == "hexahedron20":
        linear = np.prod(1 + np.sqrt(3.0) * xi[:, None, :] * _SIGNS, axis=2) / 8
        return np.asarray(linear @ shape.shape(_GAUSS))
    return shape.shape(xi)


def _elasticity(constants: Constants, N: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Elasticity (e, q, 3, 3, 3, 3) at the integration points."""
    values = constants.table.at(constants.temperature[nodes] @ N.T)
    if values.ndim == 3:  # E and nu
        E, nu = values[..., 0, None, None], values[..., 1, None, None]
        unit = np.zeros((2, 6, 6))
        unit[0, :3, :3], unit[1][range(6), range(6)] = 1.0, [2, 2, 2, 1, 1, 1]
        shear = E / (2 * (1 + nu))
        values = 2 * nu * shear / (1 - 2 * nu) * unit[0] + shear * unit[1]
    place = np.array(_SYMMETRIC)
    return np.asarray(values[..., place[:, :, None, None], place[None, None]])
