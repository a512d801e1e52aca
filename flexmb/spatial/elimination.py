"""The order in which the rows of a mechanism are eliminated, by which chains and trees take linear time.

Two rows that share a body have a common entry in the matrix of the rows. The reverse Cuthill-McKee ordering gives this
matrix a small envelope (George and Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981, chapter 4),
which a closed loop widens by the rows of one joint.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from flexmb.kernels.base.data import GROUND


def elimination_of(
    bodies_of_term: list[list[int]],
    row_of_term: list[int],
    modes: np.ndarray,
    groups: list[int],
    *,
    branches: bool = True,
) -> dict[str, Any]:
    """The entries of `CompiledModel` for the elimination of rows, from the two bodies of each term, its row and the
    `modes` (nb,) of all bodies. They are cached for mechanisms of the same structure with other parameters.

    - `groups`: the first of each six rows that belong to a frame force, and remain together.
    - `branches`: whether rigid bodies without closed loops may be eliminated along their branches, where the inertia of
      a body contains that of others.
    """
    given = tuple(map(tuple, bodies_of_term)), tuple(row_of_term), tuple(modes.tolist()), tuple(groups)
    return _elimination_of(*given, branches)


@lru_cache(maxsize=64)
def _elimination_of(
    bodies_of_term: tuple[tuple[int, ...], ...],
    row_of_term: tuple[int, ...],
    modes_of_body: tuple[int, ...],
    groups: tuple[int, ...],
    branches: bool,
) -> dict[str, Any]:
    modes = np.array(modes_of_body, dtype=np.int64)
    nr, nb = max(row_of_term, default=-1) + 1, len(modes)
    touching = [(b, k, side) for k, pair in enumerate(bodies_of_term) for side, b in enumerate(pair) if b != GROUND]
    touching.sort()
    body, term, side = np.array(touching, dtype=np.int64).reshape(-1, 3).T
    row = np.array(row_of_term, dtype=np.int64)[term]
    counts = np.bincount(body, minlength=nb)
    meets = sp.csr_matrix((np.ones(len(row)), (row, body)), shape=(nr, nb))
    graph = (meets @ meets.T + sp.identity(nr)).tocsr()
    order = _together(graph, groups) if nr else np.zeros(0, dtype=np.int64)
    place = np.empty(nr, dtype=np.int64)
    place[order] = np.arange(nr)
    first = np.arange(nr)
    pairs = graph.tocoo()
    np.minimum.at(first, place[pairs.row], place[pairs.col])
    last = np.arange(nr)
    np.maximum.at(last, place[pairs.row], place[pairs.col])
    return {
        "incident_start": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "incident_term": np.ascontiguousarray(term),
        "incident_side": np.ascontiguousarray(side),
        "incident_place": place[row],
        "incident_size": int(((6 + modes) * (counts + 1)).sum()),
        "incident_most": int(counts.max(initial=0)),
        "row_place": place,
        "envelope_start": np.concatenate([[0], np.cumsum(np.arange(nr) - first + 1)]).astype(np.int64),
        "envelope_first": first,
        "element_last": last[place[np.array(groups, dtype=np.int64)]],
        **_branches(bodies_of_term, branches and _plain(row_of_term, modes), groups, len(modes)),
    }


def _plain(row_of_term: tuple[int, ...], modes: np.ndarray) -> bool:
    """Whether all bodies are rigid, and all rows have one term."""
    return len(set(row_of_term)) == len(row_of_term) and not modes.any()


def _branches(
    bodies_of_term: tuple[tuple[int, ...], ...], plain: bool, groups: tuple[int, ...], bodies: int
) -> dict[str, Any]:
    """The entries for the elimination along branches; without bodies unless the mechanism is `plain`, and its rows
    close no loop."""
    links: dict[tuple[int, int], list[int]] = {}
    for r, (a, b) in enumerate(bodies_of_term):
        links.setdefault((min(a, b), max(a, b)), []).append(r)
    near: dict[int, list[int]] = {b: [] for b in range(GROUND, bodies)}
    for a, b in links:
        near[a].append(b)
        near[b].append(a)
    parents: dict[int, int] = {GROUND: GROUND}
    for root in range(GROUND, bodies):
        found = [] if root in parents and root != GROUND else [root]
        parents.setdefault(root, GROUND)
        while found:
            body = found.pop()
            outer = [b for b in near[body] if b not in parents]
            parents |= dict.fromkeys(outer, body)
            found += outer
    hung = [(p, b) for b, p in parents.items() if b != GROUND and (min(p, b), max(p, b)) in links]
    order = list(parents)[:0:-1] if plain and len(hung) == len(links) else []
    rows = [links.get((min(b, parents[b]), max(b, parents[b])), []) for b in order]
    sides = [bodies_of_term[r].index(b) for b, own in zip(order, rows, strict=True) for r in own]
    element = {r: e for e, r in enumerate(groups)}
    return {
        "branch_body": np.array(order, dtype=np.int64),
        "branch_parent": np.array([parents[b] for b in order], dtype=np.int64),
        "branch_start": np.cumsum([0, *(len(own) for own in rows)]).astype(np.int64),
        "branch_row": np.array([r for own in rows for r in own], dtype=np.int64),
        "branch_side": np.array(sides, dtype=np.int64),
        "branch_element": np.array([element.get(r, -1) for own in rows for r in own], dtype=np.int64),
        "branch_most": max(map(len, rows), default=0),
    }


def _together(graph: sp.csr_matrix, groups: tuple[int, ...]) -> np.ndarray:
    """The reverse Cuthill-McKee order (nr,) of the rows, in which the six rows of each group follow each other."""
    nr = graph.shape[0]
    member = np.zeros(nr, dtype=bool)
    for r in groups:
        member[r + 1 : r + 6] = True
    leaders = np.flatnonzero(~member)
    order = leaders[reverse_cuthill_mckee(graph[leaders][:, leaders].tocsr(), symmetric_mode=True)]
    if not groups:
        return np.asarray(order)
    first = set(groups)
    return np.concatenate([np.arange(r, r + 6) if r in first else [r] for r in order.tolist()])
