"""Displacements, stresses and reactions of a part that supports hold, under one static load."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from fem.analysis.drilling import warn_of_drilling
from fem.analysis.model_warnings import (
    warn_of_free_warping,
    warn_of_hinges,
    warn_of_turned_sections,
    warn_of_turned_shells,
)
from fem.analysis.supports import FREE, Support, held_part, loose, rows_of, supports_of
from fem.axes.limits import floats
from fem.errors import FactorisationError, MatrixError, unknown_name
from fem.interface import Interface
from fem.linear_algebra.factor import factor
from fem.matrices.stress import von_mises
from fem.mesh.mesh import triple
from fem.model import Model
from fem.shown import shown

NO_TORQUE = 1e-6
"""Torque of a beam, relative to the largest moment at the ends of its kind, that counts as none."""


@shown
@dataclass(frozen=True, eq=False)
class StaticResult:
    """A part at rest under a load. Units: consistent; axes: those of the mesh.

    - `model`, `load` (ndof,): what was solved; `q` (ndof,): displacements of its independent dofs;
    - `reactions`: for each support that was given (not those of a deck) the force and the moment (6,) that it exerts on
      the part, the moment about the point of an interface, or the mean of the nodes. Lists of nodes are named by their
      first numbers, "nodes [0, 1, 2, ...]", a further list that begins alike "nodes [0, 1, 2, ...] (2)".
    """

    model: Model
    load: Float[np.ndarray, " ndof"]
    q: Float[np.ndarray, " ndof"]
    reactions: Mapping[str, Float[np.ndarray, "6"]]

    @property
    def displacements(self) -> Float[np.ndarray, "n 3"]:
        """Displacements of all nodes."""
        return self.model.displacements(self.q)

    @property
    def rotations(self) -> Float[np.ndarray, "nr 3"]:
        """Rotations of the nodes `Model.rotation_nodes`."""
        dofs = self.model.dof_map
        return dofs.expand(self.q)[3 * dofs.nodes : dofs.start_of_rates].reshape(-1, 3)

    @property
    def strain_energy(self) -> float:
        """Strain energy: half the work of the load."""
        return float(0.5 * self.q @ self.load)

    def motion(self, interface: str) -> Float[np.ndarray, "6"]:
        """Translation of the point of an interface of the model, and rotation of the interface."""
        return np.asarray(_interface(self.model, interface).interface_matrix(self.model).T @ self.q)

    @cached_property
    def stresses(self) -> tuple[Int[np.ndarray, " p"], Float[np.ndarray, "p 3"], Float[np.ndarray, "p 6"]]:
        """Nodes (-1 on beams and shells), places and stresses (xx, yy, zz, xy, yz, zx), as of `Model.stresses`."""
        nodes, places, stresses = self.model.stresses(self.q[:, None])
        return nodes, places, stresses[:, :, 0]

    @property
    def von_mises(self) -> Float[np.ndarray, " p"]:
        """Von Mises stress at the places of `stresses`."""
        return von_mises(self.stresses[2])

    def __str__(self) -> str:
        moved = np.linalg.norm(self.displacements, axis=1)
        lines = [f"{self.model.name!r} at rest: {_at('displacement', moved, self.model.points)}"]
        if self.model.has_elements:
            lines.append(f"  {_at('von Mises stress', self.von_mises, self.stresses[1])}")
        lines += [
            f"  reaction of {key!r}: force {triple(r[:3])}, moment {triple(r[3:])}" for key, r in self.reactions.items()
        ]
        return "\n".join([*lines, f"  strain energy {self.strain_energy:.6g}"])


def _at(what: str, values: np.ndarray, places: np.ndarray) -> str:
    worst = int(np.argmax(values))
    return f"largest {what} {values[worst]:.6g} at {triple(places[worst])}"


def interface_load(
    model: Model, interface: str, force: Any = (0, 0, 0), moment: Any = (0, 0, 0)
) -> Float[np.ndarray, " ndof"]:
    """Forces (ndof,) of a `force` (3,) at the point of an interface and a `moment` (3,), spread over its nodes.

        load = fem.interface_load(part, "tip", force=(0, 0, -100), moment=(0, 5, 0))

    Raises `MatrixError` for an unknown interface, and vectors that have not three finite numbers.
    """
    wrench = np.concatenate([floats(force).ravel(), floats(moment).ravel()])
    if np.shape(force) != (3,) or np.shape(moment) != (3,) or not np.isfinite(wrench).all():
        raise MatrixError(f"A load at interface {interface!r} needs three finite numbers; found {force} and {moment}.")
    return np.asarray(_interface(model, interface).interface_matrix(model) @ wrench)


def solve_static(model: Model, load: Float[np.ndarray, " ndof"], supports: Any = ()) -> StaticResult:
    """The part at rest under a `load` (ndof,), the sum of `fem.gravity`, `fem.pressure`, `fem.line_load`,
    `fem.point_force` and `fem.interface_load`: one load case of the full model, linear.

        at_rest = fem.solve_static(part, fem.gravity(part, (0, 0, -9.81)), supports=["root"])
        print(at_rest); at_rest.displacements; at_rest.von_mises.max()

    - `supports`: what holds the part: names of interfaces (average ones hold the mean motion), names of node sets,
      selections, or lists of node numbers (their nodes do not move at all); as a dictionary with the components that
      each holds, 0 to 2 displacements and 3 to 5 rotations: `{"symmetry": (0, 4, 5)}`. Supports that a deck brings
      along, `fem.read_mesh(..., supports="keep")`, hold as well.

    Rigid interfaces are rigid, also those that hold nothing, as in a reduced body. Cost: one factorisation.

    Raises `MatrixError` for loads of another length and wrong components; `MeshError` for unknown supports, and where
    the file of the mesh says more of the part than is obeyed; `FactorisationError` where the supports leave a motion of
    the part free. Issues a `MeshWarning` where a moment acts on the drilling stiffness of shells,
    however large other loads are, where twisted open sections warp freely at supports, and where sections of beams that
    continue each other are turned.
    """
    model.require_obeyed()
    warn_of_hinges(model)
    f = floats(load)
    if f.shape != (model.ndof,) or not np.isfinite(f).all():
        raise MatrixError(
            f"Model {model.name!r}: a load has {model.ndof} finite numbers, one for each dof; found shape {f.shape}. "
            "fem.gravity, fem.pressure, fem.line_load, fem.point_force and fem.interface_load make loads, which may be "
            "added."
        )
    supports = supports_of(model, supports)
    warn_of_turned_sections(model)
    warn_of_turned_shells(model)
    _require_held(model, rows_of(model, supports))
    held = held_part(model, supports)
    free, V, loads = held.free, held.V, held.T.T @ f
    z = np.zeros(len(loads))
    try:
        if V.shape[1]:
            A = sp.block_array([[held.K[free][:, free], V], [V.T, None]], format="csr")
            with factor(A, "symmetric", solver=model.solver) as inverse:
                z[free] = inverse.solve(np.concatenate([loads[free], np.zeros(V.shape[1])]))[: len(free)]
        elif len(free):
            with factor(held.K, "positive-definite", solver=model.solver, keep=free) as inverse:
                z[free] = inverse.solve(loads[free])
    except FactorisationError as error:
        raise FactorisationError(f"{held.name}: {loose(held, error)}") from error
    residual = held.K @ z - loads
    multipliers = np.zeros(held.rows.shape[0])
    multipliers[held.others] = held.U @ (V.T @ residual[free] / held.s)
    single = np.setdiff1d(np.arange(len(multipliers)), held.others)
    column, first = np.unique(held.rows[single].indices, return_index=True)
    left = residual - held.rows[held.others].T @ multipliers[held.others]
    multipliers[single[first]] = left[column] / held.rows[single].data[first]
    q = held.T @ z
    warn_of_drilling(model, f, q)
    if _twists(model, q):
        warn_of_free_warping(model, held.clamped)
    return StaticResult(model, f, q, _reactions(model, supports, multipliers / held.lengths))


def _twists(model: Model, q: np.ndarray) -> bool:
    """Whether beams of the model transmit a torque."""
    u = model.dof_map.expand(q)
    for beams, dofs in model.elements.beams if model.has_elements else ():
        ends = np.einsum("eab,eb->ea", beams.stiffness(), u[dofs])[:, [3, 4, 5, 9, 10, 11]]
        if (np.abs((beams.torque * u[dofs]).sum(axis=1)) > NO_TORQUE * np.abs(ends).max()).any():
            return True
    return False


def _interface(model: Model, name: str) -> Interface:
    if not isinstance(name, str) or name not in model.interfaces:
        raise MatrixError(f"Model {model.name!r}: " + unknown_name("interface", name, model.interfaces))
    return model.interfaces[name]


def _require_held(model: Model, C: sp.csr_matrix) -> None:
    """Raise `FactorisationError` where the supports and the stiffness leave a rigid motion free."""
    centre = model.points.mean(axis=0)
    R = model.rigid_body_modes(centre)
    R[:, 3:] /= max(float(np.linalg.norm(model.points - centre, axis=1).max()), np.finfo(float).tiny)
    acting = []
    for A in (C, model.K):
        most = np.asarray((abs(A) @ np.abs(R)).max(axis=1))
        acting.append((A @ R) / np.where(most > 0, most, 1.0)[:, None])
    _, s, V = np.linalg.svd(np.vstack([np.zeros((6, 6)), *acting]), full_matrices=False)
    if s[5] <= FREE:
        v = V[5] / V[5][np.abs(V[5]).argmax()]
        v[np.abs(v) < FREE] = 0.0
        raise FactorisationError(
            f"Model {model.name!r}: its supports leave it free to move rigidly, by the translation {triple(v[:3])} "
            f"with the rotation {triple(v[3:])} (relative). Hold it in all six directions, solve_static(..., "
            'supports=["NAME"]); a free part in motion is a flexmb.flexible_body.'
        )


def _reactions(model: Model, held: list[Support], multipliers: np.ndarray) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    start = 0
    for support in held:
        mine = multipliers[start : start + support.rows.shape[0]]
        start += support.rows.shape[0]
        found[support.name] = np.asarray((support.rows @ model.rigid_body_modes(support.point)).T @ mine)
    return found
