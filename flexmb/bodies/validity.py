"""Rotation and strain inside a flexible body, and the range of them in which its expansion is valid.

The displacement of a body is expanded to second (or first) order in its elastic coordinates about the undeformed state.
The error is proportional to the cube (or the square) of the rotations inside the body, and to the strain.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fem.model import Model
from fem.renamed import refuse_old_names
from reduction.basis import Basis

ROTATION = {True: 0.3, False: 0.1}
"""Largest rotation (rad) inside a body relative to its frame, with and without the second-order field. At this rotation
the error of displacements is about half a percent of the length that rotates (0.3^3 / 6, 0.1^2 / 2)."""
STRAIN = 0.05
"""Largest strain for which the strain energy is taken as quadratic."""
ROUNDING = 1e-9
"""Difference of squares, relative to the largest, that is rounding."""
COUNTS = (1.0, 1.0, 1.0, 2.0, 2.0, 2.0)
"""How often the components xx, yy, zz, xy, yz, zx are in a strain tensor."""


@dataclass(frozen=True, eq=False)
class Validity:
    """Rotation and strain at the points of a body where those of its shapes are largest.

    - `x` (p, 3): positions in the body frame.
    - `rotation` (p, 3, m) and `strain` (p, 6, m; tensor components xx, yy, zz, xy, yz, zx), both in body axes, per unit
      of each elastic coordinate.

    Units: consistent.
    """

    x: Float[np.ndarray, "p 3"]
    rotation: Float[np.ndarray, "p 3 m"]
    strain: Float[np.ndarray, "p 6 m"]

    def largest(self, eta: Float[np.ndarray, "nt m"]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The largest rotation (rad) and the index of its point, and the largest strain (Frobenius norm) and the index
        of its point, each (nt,), for the elastic coordinates `eta` (nt, m) over time."""
        turned = np.linalg.norm(np.einsum("pkm,tm->tpk", self.rotation, eta), axis=2)
        stretched = np.linalg.norm(np.einsum("k,pkm,tm->tpk", np.sqrt(COUNTS), self.strain, eta, optimize=True), axis=2)
        return turned.max(axis=1), turned.argmax(axis=1), stretched.max(axis=1), stretched.argmax(axis=1)


def validity(model: Model, basis: Basis) -> Validity:
    """Rotation and strain at the two points where those of each shape of `basis` are largest.

    Cost: the gradients of m fields, once.
    """
    best: list[tuple[np.ndarray, np.ndarray]] = []
    for x, H in model.gradients(basis.Psi):
        best.append(_extremes(x, H))
    return _record(*_extremes(*(np.concatenate(parts) for parts in zip(*best, strict=True))))


def _parts(H: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The three rotations and the six strains, each (p, m), of displacement gradients `H` (p, 3, 3, m)."""
    places = ((0, 1), (1, 2), (2, 0))
    turns = [0.5 * (H[:, i, k] - H[:, k, i]) for k, i in (places[1], places[2], places[0])]
    return turns, [*(H[:, k, k] for k in range(3)), *(0.5 * (H[:, i, k] + H[:, k, i]) for i, k in places)]


def _extremes(x: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points at which the rotation or the strain of a shape is among the two largest, and the gradients there."""
    turns, strains = _parts(H)
    squares = (
        sum(turn * turn for turn in turns),
        sum(count * strain * strain for count, strain in zip(COUNTS, strains, strict=True)),
    )
    rows = np.unique(np.concatenate([_two_largest(square) for square in squares]))
    return x[rows], H[rows]


def _two_largest(squares: np.ndarray) -> np.ndarray:
    """The rows of the two largest numbers (p, m) of each column: the first of those that only rounding tells apart, so
    that equal parts have equal records on every machine."""
    first = (squares >= squares.max(axis=0) * (1.0 - ROUNDING)).argmax(axis=0)
    others = squares.copy()
    others[first, np.arange(squares.shape[1])] = -1.0
    second = (others >= others.max(axis=0) * (1.0 - ROUNDING)).argmax(axis=0)
    return np.concatenate([first, second])


def _record(x: np.ndarray, H: np.ndarray) -> Validity:
    return Validity(x, *(np.stack(parts, axis=1) for parts in _parts(H)))


def out_of_range(
    name: str, record: Validity, second_order: bool, t: Float[np.ndarray, "nt"], eta: Float[np.ndarray, "nt m"]
) -> list[str]:
    """Warnings about the times at which a body leaves its range, one for rotation and one for strain.

    `t` (nt,) are the times and `eta` (nt, m) the elastic coordinates. Each warning names the first time and its point,
    and the largest value.
    """
    turned, where, stretched, there = record.largest(eta)
    limit, found = ROTATION[second_order], []
    advice = "Divide the body into several (flexmb.split), or accept the limits of a model of small deformation."
    if turned.max() > limit:
        first, worst = int(np.argmax(turned > limit)), int(turned.argmax())
        order = "second" if second_order else "first"
        found.append(
            f"Body {name!r} leaves the range of its expansion of {order} order at t = {t[first]:.6g}: its rotation "
            f"inside exceeds {limit} rad near "
            f"{np.round(record.x[where[first]], 6)} of its frame; the largest is {turned[worst]:.3g} rad at t = "
            f"{t[worst]:.6g}. {advice}"
        )
    if stretched.max() > STRAIN:
        first, worst = int(np.argmax(stretched > STRAIN)), int(stretched.argmax())
        found.append(
            f"Body {name!r} is strained by more than {STRAIN:.0%} from t = {t[first]:.6g} near "
            f"{np.round(record.x[there[first]], 6)} of its frame (at most "
            f"{stretched[worst]:.2%} at t = {t[worst]:.6g}), where linear material and geometry are not valid. Check "
            "the loads and the units."
        )
    return found


refuse_old_names(__name__)
