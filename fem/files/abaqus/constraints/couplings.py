"""`*COUPLING` and `*RIGID BODY`: nodes that follow one, or one that follows the mean of others."""

from collections.abc import Iterator

import numpy as np

from fem.errors import MeshError
from fem.files.abaqus.constraints.record import Constraints, dofs_of
from fem.files.abaqus.deck import Statement
from fem.files.abaqus.lines import fields, member
from fem.mesh.constraints import Constraint, Equation, MeanLink, RigidLink, mean_motion


def rigid_body(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*RIGID BODY`, with a set of nodes or elements and a reference node."""
    unknown = set(s.options) - {"NSET", "ELSET", "REFNODE", "ROTNODE", "PINNSET", "TIENSET", "POSITION"}
    if unknown or not s.options.get("REFNODE") or s.options.get("POSITION", "INPUT").upper() != "INPUT":
        raise MeshError(f"options {', '.join(sorted(set(s.options)))}; a set and REF NODE are supported")
    reference = c.node(s.option("REFNODE"))
    nodes, pinned = set(), set(c.nodes(s.options["PINNSET"])) if s.options.get("PINNSET") else set()
    for key in ("NSET", "TIENSET"):
        nodes |= set(c.nodes(s.options[key])) if s.options.get(key) else set()
    if s.options.get("ELSET"):
        nodes |= set(c.numbers.nodes_of_elements(str(member(s.options["ELSET"]))))
    if not nodes | pinned:
        raise MeshError("it names no set of nodes or of elements that are read")
    nodes -= {reference, *c.rotation_nodes} | pinned
    if nodes:
        yield RigidLink(np.array(sorted(nodes)), reference)
    if pinned:
        yield RigidLink(np.array(sorted(pinned - {reference})), reference, components=(0, 1, 2))


def coupling(c: Constraints, s: Statement) -> Iterator[Constraint]:
    """`*COUPLING` with `*KINEMATIC` or `*DISTRIBUTING`."""
    if not s.kind:
        raise MeshError("neither *KINEMATIC nor *DISTRIBUTING follows it")
    reference = c.node(s.option("REFNODE"))
    axes = c.orientation(s.options.get("ORIENTATION", ""))
    nodes = np.array([n for n in c.surface_nodes(s.option("SURFACE")) if n != reference], dtype=np.int64)
    if not len(nodes):
        raise MeshError(f"the surface {s.option('SURFACE')!r} has no node of an element that is read")
    if s.options.get("INFLUENCERADIUS"):
        raise MeshError("its option INFLUENCE RADIUS is not supported")
    _require_usual(s)
    dofs: set[int] = set()
    for _, row in s.rows:
        dofs |= set(dofs_of([f for f in fields(row)[:2] if f]))
    components = tuple(sorted(d - 1 for d in dofs)) or (0, 1, 2, 3, 4, 5)
    turns = set(components) & {3, 4, 5}
    whole = {0, 1, 2} <= set(components) and (axes is None or len(turns) in (0, 3))
    if s.kind == "DISTRIBUTING":
        yield from _distributing(c, s, nodes, reference, tuple(sorted(turns)) if dofs else None)
    elif whole:
        yield RigidLink(nodes, reference, components)
    else:
        for n in nodes.tolist():
            local = np.eye(3) if axes is None else axes.at(c.points[n])
            for k in components:
                if k < 3:
                    yield _follows(n, reference, local[k], c.points[n] - c.points[reference])
                elif n in c.turning:
                    yield weighted(n, [reference], np.ones(1), local[k - 3], 3)


def _distributing(
    c: Constraints, s: Statement, nodes: np.ndarray, reference: int, turns: tuple[int, ...] | None
) -> Iterator[Constraint]:
    """A reference node that follows the mean of a surface with its translations, and the rotations `turns` (3 to 5) in
    the axes of an orientation at the node; None: all, in CalculiX none.

    CalculiX weighs the nodes by the integrals of their shape functions, which may be negative, and its loads on the
    reference node are in the axes of the orientation.
    """
    exact = c.numbers.deck.as_named
    axes = c.orientation(s.options.get("ORIENTATION", ""))
    R = np.eye(3) if axes is None else axes.at(c.points[reference])
    if turns is None:
        turns = () if exact else (3, 4, 5)
    surface = s.option("SURFACE")
    weights = c.numbers.areas(c.faces(surface), c.shells(surface), nodes, c.points, consistent=exact)
    given = c.numbers.deck.weights.get(str(member(s.option("SURFACE"))))
    if weights is None and given:
        of = {row: weight for who, weight in given for row in c.nodes(who)}
        weights = np.array([of[n] for n in nodes.tolist()])
    if not exact and (axes is None or len(turns) in (0, 3)):
        if reference in c.transforms and len(turns) in (1, 2):
            raise MeshError("some rotations of a node that *TRANSFORM turns; give the coupling an ORIENTATION")
        yield MeanLink(nodes, reference, weights, (0, 1, 2, *turns))
        return
    if exact:
        c.loaded[reference] = R
    B, may_turn = mean_motion(c.points[nodes], np.ones(len(nodes)) if weights is None else weights, c.points[reference])
    if turns and not may_turn:
        raise MeshError("its nodes lie on one line, and the mean rotation about it is not defined")
    for k in (0, 1, 2, *turns):
        first = k // 3 * 3
        e = np.eye(3)[k] if k < 3 else R[k - 3]
        order = [j for j in np.argsort(-np.abs(e)).tolist() if e[j]]
        mean = np.einsum("j,njk->nk", e, B[:, first : first + 3])
        i, j = np.nonzero(mean)
        yield Equation(
            np.concatenate([np.full(len(order), reference), nodes[i]]),
            np.concatenate([first + np.array(order), j]),
            np.concatenate([-e[order], mean[i, j]]),
        )


def _require_usual(s: Statement) -> None:
    """Raise `MeshError` for options of a coupling that are not read."""
    usual = {"WEIGHTINGMETHOD": "UNIFORM", "COUPLING": "CONTINUUM"} if s.kind == "DISTRIBUTING" else {}
    others = [f"{k}={v}" for k, v in s.details.items() if v.upper() != usual.get(k)]
    others += sorted(set(s.options) - {"CONSTRAINTNAME", "REFNODE", "SURFACE", "ORIENTATION"})
    if others:
        raise MeshError(f"its options {', '.join(others)} are not supported")


def _follows(node: int, reference: int, e: np.ndarray, d: np.ndarray) -> Equation:
    """`e . (u - u_ref - theta_ref x d) = 0`."""
    terms = [(node, k, e[k]) for k in range(3)] + [(reference, k, -e[k]) for k in range(3)]
    terms += [(reference, 3 + k, v) for k, v in enumerate(-np.cross(d, e))]
    largest = int(np.abs(e).argmax())
    terms = [terms[largest], *(t for k, t in enumerate(terms) if k != largest and t[2])]
    nodes, components, coefficients = (np.array(a) for a in zip(*terms, strict=True))
    return Equation(nodes, components, coefficients)


def weighted(node: int, others: list[int], weights: np.ndarray, e: np.ndarray, of: int = 0) -> Equation:
    """`e . (u - sum w_k u_k) = 0`, its largest component first; of rotations where these begin (`of` = 3)."""
    order = np.argsort(-np.abs(e))
    order = order[np.abs(e[order]) > 0]
    nodes = np.concatenate([np.full(len(order), node), *(np.full(len(order), n) for n in others)])
    return Equation(
        nodes, of + np.tile(order, 1 + len(others)), np.concatenate([e[order], *(-w * e[order] for w in weights)])
    )
