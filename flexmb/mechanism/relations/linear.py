"""Linear relations between the coordinates of joints.

A relation keeps `sum of factor * coordinate` at its value in the configuration as drawn. Coordinates are the angles of
joints, with all their turns, and the displacements between their places. A gear, a rack, a screw and a differential are
such relations, which differ only in their factors:

- gear: `ratio x_1 - x_2`, the rate of the second coordinate being `ratio` times that of the first;
- rack: `radius angle - displacement`;
- screw: `lead angle / (2 pi) - displacement`;
- differential: `ratio (x_1 - x_c) - (x_2 - x_c)`, a gear seen from its carrier (Willis, Principles of Mechanism, 1841).

A relation is one equation, with the first coordinate as its own and the others as further terms (`Row.terms`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fem.axes.limits import is_number
from flexmb.errors import JointError
from flexmb.kernels.base.data import ANGLE, TRANSLATION
from flexmb.mechanism.mechanism import Row, Term

RELATIONS = ("gear", "rack", "screw", "differential", "relation")
"""The kinds of relations, which are joints with one equation."""
DEPENDENT = 1e-12
"""Singular value of relations and drivers, with unit rows, below which one follows from the others."""


@dataclass(frozen=True)
class Coordinate:
    """The free motion `dof`, "rotation" or "translation", of the joint called `joint`, between two `markers`; `drawn`
    is its value in the configuration as drawn."""

    joint: str
    dof: str
    markers: tuple[int, int]
    drawn: float = 0.0

    @property
    def key(self) -> tuple[int, int, tuple[int, int]]:
        """Kind, axis and markers of the row that measures the coordinate."""
        return (ANGLE, 0, self.markers) if self.dof == "rotation" else (TRANSLATION, 2, self.markers)


def relation_row(name: str, factors: Sequence[tuple[Coordinate, float]]) -> Row:
    """The equation of a relation between coordinates with their factors, divided by the first factor.

    Raises `JointError` when there are fewer than two coordinates, one occurs twice, or a factor is zero or not finite.
    """
    if len(factors) < 2:
        raise JointError(f"Relation {name!r} needs at least two coordinates of joints; found {len(factors)}.")
    seen: set[tuple[int, int, tuple[int, int]]] = set()
    for coordinate, factor in factors:
        what = f"the {coordinate.dof} of joint {coordinate.joint!r}"
        if not (is_number(factor) and factor != 0):
            raise JointError(
                f"Relation {name!r}: the factor of {what} must be a finite number other than zero; found {factor!r}. A "
                "ratio of zero or infinity would lock one side: use a driver or a fixed joint for that."
            )
        if coordinate.key in seen:
            raise JointError(f"Relation {name!r}: {what} occurs twice. Give each coordinate one factor.")
        seen.add(coordinate.key)
    first, unit = factors[0]
    offset = sum(factor * coordinate.drawn for coordinate, factor in factors) / unit
    terms = []
    for coordinate, factor in factors[1:]:
        kind, axis, markers = coordinate.key
        terms.append(Term(kind, markers, axis, float(factor / unit)))
    kind, axis, markers = first.key
    return Row(kind, markers, (axis, 0), offset=float(offset), terms=tuple(terms))


def require_independent(joints: Mapping[str, Sequence[Row]]) -> None:
    """Raise `JointError` when a relation follows from other relations and drivers, or contradicts them.

    `joints`: the rows of all joints by name. Such a relation would be redundant, for instance a gear between two driven
    joints, or a second gear between the same joints.
    """
    names: list[str] = []
    equations: list[dict[tuple[int, int, tuple[int, int]], float]] = []
    related = {(x.kind, x.markers) for rows in joints.values() for row in rows for x in row.terms}
    related |= {(row.kind, row.markers) for rows in joints.values() for row in rows if row.terms}
    for name, rows in joints.items():
        for row in rows:
            own = (row.kind, row.axes[0], row.markers)
            if row.terms:
                names.append(name)
                equations.append({own: 1.0} | {(x.kind, x.axis, x.markers): x.factor for x in row.terms})
            elif row.function >= 0 and (row.kind, row.markers) in related:
                names.append(f"{name} (driven)")
                equations.append({own: 1.0})
    columns = {key: k for k, key in enumerate(dict.fromkeys(key for equation in equations for key in equation))}
    A = np.zeros((len(equations), len(columns)))
    for r, equation in enumerate(equations):
        for key, factor in equation.items():
            A[r, columns[key]] = factor
        A[r] /= np.linalg.norm(A[r])
    if not len(A):
        return
    left, s, _ = np.linalg.svd(A)
    rank = int((s > DEPENDENT).sum())
    if rank < len(A):
        involved = np.abs(left[:, rank:]).max(axis=1) > np.sqrt(DEPENDENT)
        named = ", ".join(repr(name) for name, yes in zip(names, involved, strict=True) if yes)
        raise JointError(
            f"Relations between joints and drivers depend on each other: {named}. One of them follows from the others, "
            "or contradicts them. Remove a relation or a driver."
        )
