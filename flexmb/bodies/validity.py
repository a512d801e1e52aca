"""How far a flexible body turns and stretches inside: the range in which its expansion holds, and who leaves it.

The displacement of a body is kept to second (or first) order in its elastic coordinates, about the undeformed state. What is left out
goes with the cube (or the square) of the rotations inside the body, and with the strain.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.model import Model
from fem.renamed import refuse_old_names
from reduction.basis import Basis

ROTATION = {True: 0.3, False: 0.1}
"""Largest rotation (rad) inside a body relative to its frame, with and without the second-order field: displacements are then off by
about half a percent of the length that turns (0.3^3 / 6, 0.1^2 / 2)."""
STRAIN = 0.05
"""Largest strain for which the quadratic strain energy is taken."""


@dataclass(frozen=True, eq=False)
class Validity:
    """Rotation and strain at the places of a body where its shapes turn and stretch most.

    `x` (p, 3) in the body frame; `rotation` (p, 3, m) and `strain` (p, 6, m; xx, yy, zz, xy, yz, zx, tensor components) for unit
    elastic coordinates. Units: consistent.
    """

    x: Float[np.ndarray, "p 3"]
    rotation: Float[np.ndarray, "p 3 m"]
    strain: Float[np.ndarray, "p 6 m"]

    def largest(self, eta: Float[np.ndarray, "nt m"]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Over time (nt,): largest rotation (rad) and the place it is at, largest strain (Frobenius norm) and its place."""
        turned = np.linalg.norm(np.einsum("pkm,tm->tpk", self.rotation, eta), axis=2)
        weight = np.sqrt([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
        stretched = np.linalg.norm(np.einsum("k,pkm,tm->tpk", weight, self.strain, eta, optimize=True), axis=2)
        return turned.max(axis=1), turned.argmax(axis=1), stretched.max(axis=1), stretched.argmax(axis=1)


def validity(model: Model, basis: Basis) -> Validity:
    """The two places where each shape of `basis` turns and stretches most. Cost: gradients of m fields, once."""
    best: list[tuple[np.ndarray, np.ndarray]] = []
    for x, H in model.gradients(basis.Psi):
        best.append(_extremes(x, H))
    return _record(*_extremes(*(np.concatenate(parts) for parts in zip(*best, strict=True))))


def _parts(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation vectors (p, 3, m) and strains (p, 6, m)."""
    rotation = 0.5 * np.stack([H[:, 2, 1] - H[:, 1, 2], H[:, 0, 2] - H[:, 2, 0], H[:, 1, 0] - H[:, 0, 1]], axis=1)
    E = 0.5 * (H + H.swapaxes(1, 2))
    return rotation, np.stack([E[:, 0, 0], E[:, 1, 1], E[:, 2, 2], E[:, 0, 1], E[:, 1, 2], E[:, 2, 0]], axis=1)


def _extremes(x: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rotation, strain = _parts(H)
    chosen = [np.argsort(np.linalg.norm(A, axis=1), axis=0)[-2:].ravel() for A in (rotation, strain)]
    rows = np.unique(np.concatenate(chosen))
    return x[rows], H[rows]


def _record(x: np.ndarray, H: np.ndarray) -> Validity:
    return Validity(x, *_parts(H))


def out_of_range(
    name: str, record: Validity, second_order: bool, t: Float[np.ndarray, "nt"], eta: Float[np.ndarray, "nt m"]
) -> list[str]:
    """A sentence for each way, rotation and strain, in which a body left its range, with the first time and the place."""
    turned, where, stretched, there = record.largest(eta)
    limit, found = ROTATION[second_order], []
    advice = "Cut the body into several (flexmb.split), or take the result for what a small-deformation model can say."
    if turned.max() > limit:
        first, worst = int(np.argmax(turned > limit)), int(turned.argmax())
        order = "second" if second_order else "first"
        found.append(
            f"Body {name!r} leaves the range of its expansion of {order} order at t = {t[first]:.6g}: it turns inside by more than {limit} rad near "
            f"{np.round(record.x[where[first]], 6)} of its frame; at most {turned[worst]:.3g} rad at t = {t[worst]:.6g}. {advice}"
        )
    if stretched.max() > STRAIN:
        first, worst = int(np.argmax(stretched > STRAIN)), int(stretched.argmax())
        found.append(
            f"Body {name!r} is strained by more than {STRAIN:.0%} from t = {t[first]:.6g} near {np.round(record.x[there[first]], 6)} of its frame (at most "
            f"{stretched[worst]:.2%} at t = {t[worst]:.6g}): its linear material and geometry do not hold there. Check the loads and the units."
        )
    return found


refuse_old_names(__name__)
