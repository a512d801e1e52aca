"""Parts welded together: the full model of an assembly."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from fem.errors import InterfaceError, MatrixError, unknown_name
from fem.interface import Interface
from fem.lumped_elements import Lump
from fem.mesh.mesh import CellBlock, Mesh
from fem.model import Model


def join(parts: Mapping[str, Model], welds: Mapping[str, Sequence[str]], name: str = "assembly") -> Model:
    """Weld parts, in their present coordinates, into one model.

    - `welds`: from the name of a weld to the interfaces that it joins, as "PART INTERFACE"; all of them rigid. Their
      nodes move as one set.
    - The other interfaces remain, with the names "PART INTERFACE"; each weld is an interface too. Surfaces remain as
      "PART SURFACE".

    Nodes and dofs are those of the parts, one part after the other (rotations of beams last). If one part was imported
    as matrices, the assembly is made from matrices; otherwise its matrices are assembled on first use. Solver options
    that all parts share are those of the assembly, which has the default ones otherwise.

    Raises InterfaceError (unknown or average interface, one welded twice, two of one name) and MatrixError; MeshError
    where a part of a file that says more than flexmb obeys would be joined to one made from matrices.
    """
    if len(parts) < 2 or not welds:
        raise MatrixError(
            f"Assembly {name!r}: give at least two parts and one weld; found {len(parts)} parts, {len(welds)} welds."
        )
    _require_distinct(
        name, "interfaces", (f"{part} {key}" for part, model in parts.items() for key in model.interfaces)
    )
    _require_distinct(name, "surfaces", (f"{part} {key}" for part, model in parts.items() for key in model.surfaces))
    there = {f"{part} {key}": (part, i) for part, model in parts.items() for key, i in model.interfaces.items()}
    taken: dict[str, str] = {}
    for weld, ends in welds.items():
        for end in ends:
            if end not in there:
                raise InterfaceError(f"Weld {weld!r}: " + unknown_name("interface", end, there))
            if there[end][1].kind != "rigid":
                raise InterfaceError(
                    f"Weld {weld!r}: the interface {end!r} is an averaging one; only rigid interfaces can be welded."
                )
            if end in taken:
                raise InterfaceError(
                    f"The interface {end!r} is welded twice, by {taken[end]!r} and {weld!r}; name all its partners in "
                    "one weld."
                )
            taken[end] = weld
    _require_distinct(name, "interfaces", [*(key for key in there if key not in taken), *welds])
    first = dict(zip(parts, np.cumsum([0, *(len(m.points) for m in parts.values())]).tolist(), strict=False))
    whole = (
        _with_elements(parts, first, name) if all(m.has_elements for m in parts.values()) else _of_matrices(parts, name)
    )
    interfaces = {
        key: Interface(i.nodes + first[part], i.kind, i.point, i.weights)
        for key, (part, i) in there.items()
        if key not in taken
    }
    for weld, ends in welds.items():
        members = [there[end] for end in ends]
        nodes = np.concatenate([i.nodes + first[part] for part, i in members])
        interfaces[weld] = Interface(nodes, "rigid", members[0][1].point)
    whole = whole.with_interfaces(**interfaces)
    options = next(iter(parts.values())).solver
    if all(model.solver == options for model in parts.values()):
        whole = whole.with_solver(**vars(options))
    if not any(model.surfaces for model in parts.values()):
        return whole
    cells = [0 if model.mesh is None else model.mesh.cell_count for model in parts.values()]
    before = dict(zip(parts, np.cumsum([0, *cells]).tolist(), strict=False))
    surfaces = {
        f"{part} {key}": surface.faces + np.array([before[part], 0])
        for part, model in parts.items()
        for key, surface in model.surfaces.items()
    }
    return whole.with_surfaces(**surfaces)


def _require_distinct(name: str, what: str, names: Iterable[str]) -> None:
    """Raise `InterfaceError` if an assembly would have two interfaces or surfaces of one name."""
    twice = [key for key, count in Counter(names).items() if count > 1]
    if twice:
        raise InterfaceError(
            f"Assembly {name!r}: two of its {what} would have the name {twice[0]!r} (part, blank, and name there; or a "
            "weld). Give one of the parts or welds another name."
        )


def part_dofs(parts: Mapping[str, Model]) -> dict[str, np.ndarray]:
    """For each part, the numbers of its independent dofs among those of the assembly."""
    found = {part: of_all[parts[part].dof_map.independent] for part, of_all in _dofs_of_all(parts).items()}
    if all(model.dof_map.T is None for model in parts.values()):
        return found
    independent = np.sort(np.concatenate(list(found.values())))
    return {part: np.searchsorted(independent, dofs) for part, dofs in found.items()}


def _dofs_of_all(parts: Mapping[str, Model]) -> dict[str, np.ndarray]:
    """For each part, the numbers of the dofs of all its nodes among those of the assembly."""
    nodes = sum(len(m.points) for m in parts.values())
    found, translation, rotation = {}, 0, 3 * nodes
    rate = rotation + 3 * sum(len(m.rotation_nodes) for m in parts.values())
    for part, model in parts.items():
        n, r, w = 3 * len(model.points), 3 * len(model.rotation_nodes), len(model.dof_map.rates.nodes)
        found[part] = np.concatenate([translation + np.arange(n), rotation + np.arange(r), rate + np.arange(w)])
        translation, rotation, rate = translation + n, rotation + r, rate + w
    return found


def _with_elements(parts: Mapping[str, Model], first: Mapping[str, int], name: str) -> Model:
    blocks, sets, materials, constraints, masses, springs, cell = [], {}, {}, [], [], [], 0
    for part, model in parts.items():
        source = model.elements
        number = first[part] + np.arange(len(model.points))
        masses += [m.renumbered(number) for m in source.mesh.masses]
        springs += [s.renumbered(number) for s in source.mesh.springs]
        constraints += [c.renumbered(number) for c in source.mesh.constraints]
        blocks += [CellBlock(b.kind, b.connectivity + first[part]) for b in source.mesh.cells]
        for k in np.unique(source.material_of):
            sets[f"{part} material {k}"] = cell + np.flatnonzero(source.material_of == k)
            materials[f"{part} material {k}"] = source.materials[k]
        cell += source.mesh.cell_count
    points = np.concatenate([m.points for m in parts.values()])
    unread = tuple(u for model in parts.values() for u in model.unread)
    mesh = Mesh(
        points,
        tuple(blocks),
        cell_sets=sets,
        name=name,
        unread=unread,
        constraints=tuple(constraints),
        masses=tuple(masses),
        springs=tuple(springs),
    )
    whole = Model(mesh, materials, name)
    for part, of_all in _dofs_of_all(parts).items():
        dK, size = parts[part].added_stiffness, whole.dof_map.size_of_all
        lumps = [lump.placed(of_all, size) for lump in parts[part].lumps]
        whole = whole.with_lumps(lumps, None if dK is None else _placed(dK, of_all, size))
    return whole


def _placed(A: sp.csr_matrix, dofs: np.ndarray, size: int) -> sp.csr_matrix:
    """A matrix over some dofs of `size`."""
    A = A.tocoo()
    return sp.csr_matrix((A.data, (dofs[A.row], dofs[A.col])), shape=(size, size))


def _of_matrices(parts: Mapping[str, Model], name: str) -> Model:
    others = [part for part, model in parts.items() if len(model.rotation_nodes) or model.dof_map.T is not None]
    if others:
        raise MatrixError(
            f"Assembly {name!r}: {', '.join(map(repr, others))} have beams or constraints, which cannot be joined to a "
            "part made from matrices."
        )
    for model in parts.values():
        model.require_obeyed()  # the assembly has no mesh, which could hold what the file of a part says
    M = sp.block_diag([m.M - m.dof_map.condense(_mass_of(m.lumps, m.M.shape)) for m in parts.values()], format="csr")
    K = sp.block_diag([m.K for m in parts.values()], format="csr")
    blocks = [sp.csr_matrix(m.M.shape) if m.D is None else m.D for m in parts.values()]
    D = sp.block_diag(blocks, format="csr") if any(m.D is not None for m in parts.values()) else None
    whole = Model.from_matrices(M, K, np.concatenate([m.points for m in parts.values()]), name, damping=D)
    size = whole.dof_map.size_of_all
    of_all = _dofs_of_all(parts)
    return whole.with_lumps([lump.placed(of_all[part], size) for part in parts for lump in parts[part].lumps])


def _mass_of(lumps: Sequence[Lump], shape: tuple[int, int]) -> sp.csr_matrix:
    return sp.csr_matrix(sum((lump.mass_matrix for lump in lumps), start=sp.csr_matrix(shape)))
