"""Static solutions of a free body, all from one positive-definite factorisation.

Held at its rigid interfaces (or, without any, at six pinned dofs that hold it isostatically), the body's stiffness
matrix is positive definite; G is its inverse there, zero at the held dofs. With Phi the static shapes of the held
motions q, every static displacement under loads f is

    u = G f + Phi q,    S q = Phi^T f,    S = Phi^T K Phi

Pinned dofs carry no reaction as long as the loads are in equilibrium: there Phi is the rigid motion and S = 0.
Sources: Craig and Bampton, AIAA J. 6 (1968) 1313-1319; Farhat and Geradin, Int. J. Numer. Meth. Engng 41 (1998) 675-696
(solution of floating bodies with their rigid motions as unknowns).
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from time import perf_counter

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import qr, solve_triangular

from fem.errors import FactorisationError, InterfaceError, MatrixError
from fem.linear_algebra.factor import Factor, factor
from fem.mesh.mesh import label_of, triple
from fem.model import Model
from reduction.solutions import kept
from reduction.solutions.connectivity import require_one_part

NO_INERTIA = 1e-14
"""Moment of inertia, relative to the largest, that is round-off."""


@dataclass(frozen=True, eq=False)
class Statics:
    """One factorisation of a body, and the matrices that its static solutions need.

    - `interior`: dofs of the factor `inverse` (None when there are none: every node belongs to a rigid interface);
      `pinned`: the model has no rigid interface and is fixed at six dofs.
    - `Phi` (ndof, nb), `S` (nb, nb): static shapes of the fixed motions and their stiffness. nb is 6 for each rigid
      interface, in the order of the model, or 6 for the pinned dofs.
    - `R` (ndof, 6), `MR`: rigid motions about the mass centre, `R^T M R = I`, and M R.
    - `seconds`: wall time of the factorisation and of the solutions above.
    - `shared`: the factor belongs to a `prepared` block, which releases it.
    """

    model: Model
    interior: Int[np.ndarray, " i"]
    inverse: Factor | None
    pinned: bool
    Phi: Float[np.ndarray, "ndof nb"]
    S: Float[np.ndarray, "nb nb"]
    R: Float[np.ndarray, "ndof 6"]
    MR: Float[np.ndarray, "ndof 6"]
    seconds: float
    shared: bool = False

    def keep(self, long: bool = False) -> None:
        """Keep the factor for the next function that needs it, which may follow at once or `long` afterwards, if there
        is memory for it (`reduction.solutions.kept`); otherwise release it."""
        rest = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "model"}
        if self.inverse is None or self.shared or not kept.keep(self.model, self.inverse, rest, long):
            self.release()

    def release(self) -> None:
        """Release the memory of the factor, unless it is shared."""
        if self.inverse is not None and not self.shared:
            self.inverse.release()

    @property
    def free_modes_available(self) -> int:
        """Number of elastic modes of the free body."""
        return len(self.interior) + self.Phi.shape[1] - 6


@dataclass(eq=False)
class _Prepared:
    """A part within its `prepared` block; `body` is None until a function needs it."""

    model: Model
    body: Statics | None = None


_prepared: ContextVar[tuple[_Prepared, ...]] = ContextVar("prepared parts", default=())


@contextmanager
def prepared(model: Model) -> Iterator[Model]:
    """Factorise `model` at most once for everything that is computed from it within a `with` block.

        with reduction.prepared(part):
            basis = reduction.craig_bampton(part, modes=20)
            error = reduction.response_error(part, basis, (0, 3000))
            body = flexmb.flexible_body(part, basis)

    Outside of such a block every function that needs the factor of K makes its own and releases it. Within the block
    the first of them makes the factor, the others use it, and the end of the block releases it, after an error too.
    The memory, or the disk, that the factor takes is therefore occupied until then (see docs/large-parts.md).

    The block holds for this `model` object and for the thread that entered it. A copy with other interfaces, masses,
    springs or solver options has its own factors. A block within a block of the same model shares the outer factor.
    """
    if _entry_of(model) is not None:
        yield model
        return
    entry = _Prepared(model)
    token = _prepared.set((*_prepared.get(), entry))
    try:
        yield model
    finally:
        _prepared.reset(token)
        if entry.body is not None and entry.body.inverse is not None:
            entry.body.inverse.release()


def _entry_of(model: Model) -> _Prepared | None:
    return next((entry for entry in _prepared.get() if entry.model is model), None)


def statics(model: Model) -> Statics:
    """The static solutions of `model`: those of its `prepared` block, or new ones, whose factor the caller releases.

    Rigid interfaces are condensed to six motions each (RBE2, exact). Cost: one factorisation of K and 6 solves for each
    rigid interface, or nothing where the block has them already.

    Raises MatrixError when the body falls into parts, InterfaceError when its rigid interfaces leave nothing to deform,
    FactorisationError.
    """
    entry = _entry_of(model)
    if entry is None:
        found = kept.take(model)
        return _statics(model, shared=False) if found is None else Statics(model, **found)
    if entry.body is None:
        entry.body = _statics(model, shared=True)
    return entry.body


def _statics(model: Model, shared: bool) -> Statics:
    start = perf_counter()
    model.require_free()
    require_one_part(model)
    rigid = [i for i in model.interfaces.values() if i.kind == "rigid"]
    held = np.concatenate([i.free_dofs(model) for i in rigid]) if rigid else _pins(model)
    interior = np.setdiff1d(np.arange(model.ndof), held)
    if len(interior) == 0 and len(rigid) < 2:
        raise InterfaceError(f"Model {model.name!r}: every node belongs to a rigid interface, so nothing can deform.")
    inverse = _factor(model, interior) if len(interior) else None
    R, MR = orthonormal_rigid_motions(model)
    if rigid:
        Phi = np.zeros((model.ndof, 6 * len(rigid)))
        for k, interface in enumerate(rigid):
            Phi[interface.free_dofs(model), 6 * k : 6 * k + 6] = interface.rigid_body_modes(model)
        if inverse is not None:
            Phi[interior] = -inverse.solve((model.K @ Phi)[interior])
        S = Phi.T @ (model.K @ Phi)
        S = 0.5 * (S + S.T)
    else:
        Phi, S = R @ np.linalg.inv(R[held]), np.zeros((6, 6))
    return Statics(model, interior, inverse, not rigid, Phi, S, R, MR, perf_counter() - start, shared)


def constrained_solution(body: Statics, F: Float[np.ndarray, "ndof k"]) -> Float[np.ndarray, "ndof k"]:
    """`G F`: displacements under loads F with the rigid interfaces, or the pinned dofs, at rest."""
    U = np.zeros(F.shape)
    if body.inverse is not None:
        U[body.interior] = body.inverse.solve(F[body.interior])
    return U


def inertia_relief_solution(body: Statics, F: Float[np.ndarray, "ndof k"]) -> Float[np.ndarray, "ndof k"]:
    """Displacements under loads F of the free body relative to its mean axes (inertia relief).

    The loads are balanced by rigid-body inertia forces and the displacements made M-orthogonal to the rigid motions:
    symmetric and positive semidefinite in F; the inverse of K between mean-axis displacements and balanced loads.
    """
    F = F - body.MR @ (body.R.T @ F)
    U = constrained_solution(body, F)
    if not body.pinned and len(body.S) > 6:  # the first rigid interface stays, the others move
        U += body.Phi[:, 6:] @ np.linalg.solve(body.S[6:, 6:], body.Phi[:, 6:].T @ F)
    return elastic(body, U)


def elastic(body: Statics, U: Float[np.ndarray, "ndof k"]) -> Float[np.ndarray, "ndof k"]:
    """U less its rigid motion, in mean axes."""
    return U - body.R @ (body.MR.T @ U)


def _factor(model: Model, interior: np.ndarray) -> Factor:
    try:
        return factor(model.K, "positive-definite", solver=model.solver, keep=interior)
    except FactorisationError as error:
        hinge = (
            " A hinge (parts that meet in one node or one edge) does this too." if "Likely causes" in str(error) else ""
        )
        raise FactorisationError(
            f"Model {model.name!r}, held at its rigid interfaces or at six pinned dofs: "
            f"{_placed(model, interior, str(error))}{hinge}"
        ) from error


def _placed(model: Model, interior: np.ndarray, text: str) -> str:
    """The message of a singular matrix with the node in the place of the number of the equation."""
    found = re.search(r"The defect shows at equation (\d+) of .*?\)\. ", text)
    if found is None or int(found[1]) >= len(interior):
        return text
    node, turns = model.dof_map.node_of(int(interior[int(found[1])]))
    what = "a rotation of node" if turns else "node"
    where = f"The defect shows at {what} {label_of(model.mesh, node)}, at {triple(model.points[node])}. "
    return text.replace(found[0], where)


def orthonormal_rigid_motions(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """R (ndof, 6) about the mass centre with `R^T M R = I`, and M R.

    Raises MatrixError where masses in one place or on a line leave a rotation without inertia.
    """
    R = model.rigid_body_modes(model.centre_of_mass)
    MR = model.M @ R
    inertia, axes = np.linalg.eigh((R.T @ MR)[3:, 3:])
    if not inertia[0] > NO_INERTIA * inertia[2]:
        x, y, z = axes[:, 0] + 0.0
        raise MatrixError(
            f"Model {model.name!r} has no moment of inertia about the axis ({x:.3g}, {y:.3g}, {z:.3g}) through its "
            f"mass centre; the principal ones are {', '.join(f'{value:.3g}' for value in inertia)}. Its masses lie in "
            "one place or on a line, as point masses on a structure without density do. Give the structure a density, "
            "of a millionth of these masses if it has none, or the masses moments of inertia."
        )
    L = np.linalg.cholesky(R.T @ MR)
    return solve_triangular(L, R.T, lower=True).T, solve_triangular(L, MR.T, lower=True).T


def _pins(model: Model) -> np.ndarray:
    """Six dofs at three nodes far apart that hold the body isostatically; away from interfaces where it can be."""
    places = model.dof_map.places
    everywhere = np.arange(len(model.points))
    everywhere = everywhere[(places(model.dof_map.translations(everywhere)) >= 0).all(axis=1)]
    taken = [i.nodes for i in model.interfaces.values()]
    outside = np.setdiff1d(everywhere, np.concatenate(taken)) if taken else everywhere
    for nodes in (outside, everywhere):
        x = model.points[nodes]
        turning = nodes[model.dof_map.has_rotations(nodes)]
        if len(turning):
            turning = turning[(places(model.dof_map.rotations(turning)) >= 0).all(axis=1)]
        if len(turning):  # a node with rotations holds all six motions
            node = turning[0]
            return places(np.concatenate([model.dof_map.translations(node), model.dof_map.rotations(node)]))
        if len(x) < 3:
            continue
        a = np.linalg.norm(x - x.mean(axis=0), axis=1).argmax()
        b = np.linalg.norm(x - x[a], axis=1).argmax()
        c = np.linalg.norm(np.cross(x - x[a], x[b] - x[a]), axis=1).argmax()
        dofs = places(model.dof_map.translations(nodes[[a, b, c]]).ravel())
        length = np.linalg.norm(x[b] - x[a])
        rigid = model.rigid_body_modes(x[a])[dofs] / np.repeat([1.0, length], 3)
        _, triangle, order = qr(rigid.T, pivoting=True)
        if abs(triangle[5, 5]) > 1e-3:
            return np.sort(dofs[order[:6]])
    raise MatrixError(f"Model {model.name!r}: its nodes lie on one line; a solid body's do not.")
