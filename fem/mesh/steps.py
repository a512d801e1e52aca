"""Analysis steps of a deck: what holds and loads the part in each of them. `fem.solve_step` solves linear ones.

While a file is read, cells are pairs (block, row), faces (block, row, face) and nodes rows of its points.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

from fem.mesh.constraints import Equation
from fem.mesh.unread import Unread
from fem.shown import shown


@dataclass(frozen=True, eq=False)
class Support:
    """`equation = value`: dofs of the mesh that are held, or moved by a value; NaN: held where the step before left
    them."""

    equation: Equation
    value: float


@dataclass(frozen=True, eq=False)
class NodalForce:
    """A force or moment: `value` along component 0 to 5 (translations, rotations) of a node."""

    node: int
    component: int
    value: float


@dataclass(frozen=True, eq=False)
class FacePressure:
    """A pressure on `faces` (f, 2), (cell, face of the cell), positive when it pushes on the part."""

    faces: Int[np.ndarray, "f _"]
    value: float


@dataclass(frozen=True, eq=False)
class BodyForce:
    """Accelerations of the mass of `cells`: `gravity` (3,), and those of a rotation with the square `speed2` of the
    angular velocity about the line through `point` along `axis`."""

    cells: Int[np.ndarray, "c ..."]
    gravity: Float[np.ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    speed2: float = 0.0
    point: Float[np.ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    axis: Float[np.ndarray, "3"] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))


@dataclass(frozen=True, eq=False)
class Table:
    """`values` (k, ...) at rising `temperatures` (k,): linear between them, constant beyond the first and the last."""

    temperatures: Float[np.ndarray, " k"]
    values: Float[np.ndarray, "k ..."]

    def at(self, T: np.ndarray) -> np.ndarray:
        """The values at temperatures `T` of any shape, which comes first in the shape of the result."""
        t = self.temperatures
        below = np.clip(np.searchsorted(t, T) - 1, 0, max(len(t) - 2, 0))
        above = np.minimum(below + 1, len(t) - 1)
        width = np.where(above > below, t[above] - t[below], 1.0)
        w = np.clip((T - t[below]) / width, 0.0, 1.0).reshape(*np.shape(T), *[1] * (self.values.ndim - 1))
        return np.asarray((1 - w) * self.values[below] + w * self.values[above])


@dataclass(frozen=True, eq=False)
class Heating:
    """Strains of temperatures of `cells`: the nodes have the temperatures `last` (n,), and `first` (n,) without
    strain; `expansion`, strains (6,) per temperature since the temperature `zero`, may depend on it."""

    cells: Int[np.ndarray, "c ..."]
    first: Float[np.ndarray, " n"]
    last: Float[np.ndarray, " n"]
    expansion: Table
    zero: float = 0.0


@dataclass(frozen=True, eq=False)
class Constants:
    """Elastic constants of `cells` in a step in the place of those of their material, at nodes of `temperature` (n,):
    a table of Young's modulus and Poisson's ratio (k, 2), or of elasticity matrices (k, 6, 6)."""

    cells: Int[np.ndarray, "c ..."]
    temperature: Float[np.ndarray, " n"]
    table: Table


@dataclass(frozen=True, eq=False)
class InitialState:
    """Stresses, or strains without stress, of `cells` (r,) at their integration `points` (r,): `values` (r, 6) in the
    order xx, yy, zz, xy, yz, zx, shear strains doubled."""

    cells: Int[np.ndarray, "r ..."]
    points: Int[np.ndarray, " r"]
    values: Float[np.ndarray, "r 6"]
    strains: bool = False


@dataclass(frozen=True, eq=False)
class CyclicSymmetry:
    """A sector of a part of `sectors` equal ones: turned about `axis` (3,) by `angle`, the nodes `slaves` (k,) of one
    of its sides come to lie on the other, whose nodes and their weights are `masters` (k)."""

    sectors: int
    axis: Float[np.ndarray, "3"]
    angle: float
    slaves: Int[np.ndarray, " k"]
    masters: tuple[tuple[np.ndarray, np.ndarray], ...]


@shown
@dataclass(frozen=True, eq=False)
class Step:
    """One analysis step of a deck.

    - `number`, from 1; `procedure`: "STATIC", "FREQUENCY" and so on, as in the deck;
    - `nonlinear`: whether the deck asks for large displacements; `perturbation`: whether its stiffness is that of the
      state which the step before it reached;
    - `supports` and loads that act in it, those of earlier steps that still act included;
    - `heating`, `constants` and `initial`: strains of temperatures, other constants than those of the materials, and
      stresses and strains before the first step;
    - `modes`: the number of modes that a frequency step asks for;
    - `cyclic`: the symmetry of which the part is a sector, and `diameters`, the first and the last nodal diameter that
      a frequency step asks for;
    - `unread`: keywords of the step that change its result and are not obeyed.
    """

    number: int
    procedure: str
    source: Unread
    nonlinear: bool = False
    perturbation: bool = False
    supports: tuple[Support, ...] = ()
    forces: tuple[NodalForce, ...] = ()
    pressures: tuple[FacePressure, ...] = ()
    bodies: tuple[BodyForce, ...] = ()
    heating: tuple[Heating, ...] = ()
    constants: tuple[Constants, ...] = ()
    initial: tuple[InitialState, ...] = ()
    modes: int = 0
    cyclic: CyclicSymmetry | None = None
    diameters: tuple[int, int] = (0, 0)
    unread: tuple[Unread, ...] = ()

    def __str__(self) -> str:
        words = [
            self.procedure or "no procedure",
            *(["NLGEOM"] * self.nonlinear),
            *(["PERTURBATION"] * self.perturbation),
        ]
        loads = sum(map(len, (self.forces, self.pressures, self.bodies, self.heating)))
        words += [f"{len(self.supports)} supports", f"{loads} loads"]
        words += [f"{self.modes} modes"] if self.modes else []
        words += [f"nodal diameters {self.diameters[0]} to {self.diameters[1]}"] if self.cyclic is not None else []
        lines = [f"step {self.number} ({self.source.label}): {', '.join(words)}"]
        return "\n".join([*lines, *(f"  not obeyed: {u.label} ({u.text})" for u in self.unread)])

    def renumbered(self, number: Int[np.ndarray, " n"], index: Mapping[int, Int[np.ndarray, " r"]]) -> "Step":
        """The step with node `number[k]` in the place of row k, and cell `index[block][row]` in that of (block, row).

        Loads on nodes and cells that are left out (-1) are added to `unread`.
        """
        lost: list[str] = []

        def cells(pairs: np.ndarray) -> np.ndarray:
            found = [index[b][r] if b in index else -1 for b, r in pairs.tolist()]
            if min(found, default=0) < 0:
                lost.append("loads on cells that are not in the mesh")
            return np.array([k for k in found if k >= 0], dtype=np.int64)

        def faces(where: np.ndarray) -> np.ndarray:
            found = [(index[b][r], f) for b, r, f in where.tolist()]  # of solid cells, all of which are in the mesh
            return np.array(found, dtype=np.int64).reshape(-1, 2)

        cyclic = self.cyclic
        if cyclic is not None:
            masters = tuple((number[nodes], weights) for nodes, weights in cyclic.masters)
            cyclic = replace(cyclic, slaves=number[cyclic.slaves], masters=masters)
            if min(cyclic.slaves.min(), *(nodes.min() for nodes, _ in masters)) < 0:
                lost.append("sides of a sector that are not in the mesh")
        held = [s for s in self.supports if (number[s.equation.nodes] >= 0).all()]
        pushed = [f for f in self.forces if number[f.node] >= 0]
        if len(pushed) < len(self.forces):
            lost.append("forces on nodes that are not in the mesh")
        return replace(
            self,
            cyclic=cyclic,
            supports=tuple(replace(s, equation=s.equation.renumbered(number)) for s in held),
            forces=tuple(replace(f, node=int(number[f.node])) for f in pushed),
            pressures=tuple(replace(p, faces=faces(p.faces)) for p in self.pressures),
            bodies=tuple(replace(b, cells=cells(b.cells)) for b in self.bodies),
            heating=tuple(
                replace(h, cells=cells(h.cells), first=_moved(h.first, number), last=_moved(h.last, number))
                for h in self.heating
            ),
            constants=tuple(
                replace(c, cells=cells(c.cells), temperature=_moved(c.temperature, number)) for c in self.constants
            ),
            initial=tuple(replace(i, cells=cells(i.cells)) for i in self.initial),
            unread=(*self.unread, *(replace(self.source, text=text) for text in dict.fromkeys(lost))),
        )


def _moved(values: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Values of rows as values of nodes."""
    found = np.zeros(int(number.max()) + 1)
    found[number[number >= 0]] = values[number >= 0]
    return found
