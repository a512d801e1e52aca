"""The constraints of all statements of a deck, one keyword after the other."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from fem.elements import LINE
from fem.errors import MeshError
from fem.files.abaqus.constraints.couplings import coupling, rigid_body
from fem.files.abaqus.constraints.multipoint import multipoint
from fem.files.abaqus.constraints.record import Constraints, Replaced, dependent_first, equation_of
from fem.files.abaqus.constraints.ties import tie
from fem.files.abaqus.deck import Statement
from fem.files.abaqus.lines import fields, number, whole
from fem.files.abaqus.numbers import Numbers
from fem.mesh.constraints import Constraint
from fem.mesh.unread import Stated


def constraints_of(numbers: Numbers, points: np.ndarray, solids: Replaced | None = None) -> Constraints:
    """Read all statements of a deck, some of whose nodes stand for `solids`. Those that are not understood are
    added to its unread keywords."""
    solids = solids or Replaced()
    lines = [rows for kind, rows in numbers.blocks if kind == LINE]
    lines += [numbers.blocks[block][1][row] for block, row in numbers.cells(numbers.deck.shells)]
    turning = {*solids.turning, *(int(n) for rows in lines for n in rows.ravel())}
    found = Constraints(numbers, points.copy(), turning, [], [], [], solids)
    statements = numbers.deck.statements
    for s in statements:
        with suppress(MeshError):  # a statement without its node is named when it is taken
            found.turning |= {found.node(s.options["REFNODE"])} if s.options.get("REFNODE") else set()
    for kind in ("RIGIDBODY", "TIE", "COUPLING", "MPC", "EQUATION", "BOUNDARY"):
        for statement in statements:
            if statement.keyword == kind:
                _take(found, statement)
    return found


def _take(c: Constraints, s: Statement) -> None:
    to = c.supports if s.keyword == "BOUNDARY" else c.stated
    try:
        if not s.rows and (s.keyword in ("TIE", "MPC") or (s.keyword == "EQUATION" and not s.options)):
            raise MeshError("no data line follows it")
        c.require_own_axes(s)
        all_of = [replace(made, source=s.source.label) for made in _READERS[s.keyword](c, s)]
    except ValueError as error:  # errors of meshes are ValueErrors
        reason = f"{s.source.text} (not obeyed: {error})"
        c.numbers.deck.unread.append(replace(s.source, text=reason))
        return
    to += [Stated(made, s.source) for made in all_of]


def _equations(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*EQUATION`: the number of terms, then node or set, dof, coefficient of each."""
    if s.options:
        raise MeshError(f"its options {', '.join(s.options)} are not supported")
    entries = [f for _, row in s.rows for f in fields(row) if f]
    while entries:
        count = whole(entries[0])
        part, entries = entries[1 : 1 + 3 * count], entries[1 + 3 * count :]
        if len(part) < 3 * count or count < 1:
            raise MeshError(f"{count} terms were announced, and {len(part) // 3} follow")
        groups = [c.nodes(part[k]) for k in range(0, 3 * count, 3)]
        longest = max(map(len, groups))
        if {len(g) for g in groups} - {1, longest}:
            raise MeshError("its sets have different numbers of nodes")
        for k in range(longest):
            nodes: list[int] = []
            components: list[int] = []
            coefficients: list[float] = []
            for t, group in enumerate(groups):
                row = group[k if len(group) > 1 else 0]
                n, m, v = c.terms(row, whole(part[3 * t + 1]), number(part[3 * t + 2]))
                nodes, components, coefficients = nodes + n, components + m, coefficients + v
            order = dependent_first(coefficients, len(c.terms(groups[0][0], int(part[1]), 1.0)[0]))
            yield equation_of((nodes, components, coefficients), order)


def _supports(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*BOUNDARY`: dofs that are held at zero."""
    if set(s.options) - {"OP"} or s.step > 1:
        raise MeshError(f"options {', '.join(s.options) or 'none'} in step {s.step}")
    if s.options.get("OP", "MOD").upper() == "NEW":
        if not s.step:
            raise MeshError("OP=NEW outside of a step; it is read in steps")
        c.supports[:] = [held for held in c.supports if held.source.group == "STEP"]
    for node, dof, value in c.held(s):
        if value:
            raise MeshError(f"a dof is held at {value:g}, not at zero")
        yield c.equation(c.terms(node, dof, 1.0), s.source.label)
        yield from c.solids.brought.get((node, dof), ())


_READERS = {
    "EQUATION": _equations,
    "RIGIDBODY": rigid_body,
    "COUPLING": coupling,
    "MPC": multipoint,
    "TIE": tie,
    "BOUNDARY": _supports,
}
