"""An I-beam whose warping is held at the ends: twist, frequencies and lateral buckling against closed forms, and shells.

With warping held at the root and free at the tip, a torque T twists a cantilever by `T (L - tanh(k L) / k) / (G J)`,
`k^2 = G J / (E I_w)`; a beam between forks has the torsional frequencies of `q^2 (G J + E I_w q^2) / (rho (I_p + I_w q^2))`, q = n pi / L,
and buckles under equal moments `q sqrt(E I_z (G J + E I_w q^2))` at its ends. Source: Vlasov, Thin-Walled Elastic Beams (1961), chapters 2
and 5. Saint-Venant's torsion, without warping, twists this cantilever 2.7 times as far.
"""

from dataclasses import replace

import numpy as np
import scipy.linalg as sl
import scipy.sparse.linalg as sla

import fem
import flexmb
import reduction
from fem.drawn_sections.draw import section_of_rectangles
from fem.mesh.structured_meshes import line
from flexmb.linear import equilibrium
from validation.plot import Plot
from validation.row import Row

CASE = "held-warping"
E, NU, DENSITY = 2.1e11, 0.3, 7850.0
G = E / (2 * (1 + NU))
STEEL = fem.Material.isotropic(E, NU, DENSITY)
WIDTH, HEIGHT, WALL = 0.05, 0.098, 0.002
"""Width of the flanges, distance of their middles, thickness of all walls; the length is one."""


def section() -> fem.Section:
    """The section as it is drawn."""
    out, inside = (HEIGHT + WALL) / 2, (HEIGHT - WALL) / 2
    flanges = [(-WIDTH / 2, -out, WIDTH / 2, -inside), (-WIDTH / 2, inside, WIDTH / 2, out)]
    return section_of_rectangles([*flanges, (-WALL / 2, -out, WALL / 2, out)])


def beam(cells: int, s: fem.Section, theory: str = "timoshenko") -> fem.Model:
    """The beam along x, its web upright."""
    return fem.Model(line((0, 0, 0), (1, 0, 0), cells), fem.Beam(STEEL, s, (0, 1, 0), theory=theory, torsion="vlasov"))


def tip_twist(s: fem.Section) -> float:
    """Twist of the cantilever under a unit torque."""
    k = np.sqrt(G * s.J / (E * s.warping))
    return float((1 - np.tanh(k) / k) / (G * s.J))


def solved(model: fem.Model, free: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Displacements under forces, of the dofs that are free."""
    u = np.zeros(model.ndof)
    u[free] = sla.spsolve(model.K[free][:, free].tocsc(), f[free])
    return u


def twist_of_shells(along: int = 40, across: int = 4) -> float:
    """Twist of the cantilever made of shells, clamped at the root, under a couple of lateral forces on the flanges at the tip."""
    b, h = WIDTH / 2, HEIGHT / 2
    points: list[tuple[float, float, float]] = []
    cells: list[list[int]] = []
    for start, end in (((-b, -h), (b, -h)), ((-b, h), (b, h)), ((0, -h), (0, h))):
        first = len(points)
        wall = np.linspace(start, end, across + 1)
        points += [(i / along, y, z) for i in range(along + 1) for y, z in wall.tolist()]
        at = first + np.arange((along + 1) * (across + 1)).reshape(along + 1, -1)
        cells += np.stack([at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]], axis=-1).reshape(-1, 4).tolist()
    mesh = fem.merge_nodes(fem.Mesh(np.array(points), (fem.CellBlock("quad", np.array(cells)),)))
    model, x = fem.Model(mesh, fem.Shell(STEEL, WALL)), mesh.points
    d, root = model.dof_map, np.flatnonzero(mesh.points[:, 0] < 1e-9)
    free = np.setdiff1d(np.arange(model.ndof), np.r_[d.translations(root).ravel(), d.rotations(root).ravel()])
    f, middle = np.zeros(model.ndof), {}
    for sign in (1, -1):
        flange = np.flatnonzero((x[:, 0] > 1 - 1e-9) & (np.abs(x[:, 2] - sign * h) < 1e-9))
        share = np.where(np.abs(x[flange, 1]) > b - 1e-9, 0.5, 1.0)
        f[d.translations(flange)[:, 1]] = -sign * share / share.sum() / HEIGHT
        middle[sign] = d.translations(flange[np.argmin(np.abs(x[flange, 1]))])[1]
    u = solved(model, free, f)
    return float((u[middle[-1]] - u[middle[1]]) / HEIGHT)


def between_forks(model: fem.Model) -> np.ndarray:
    """The dofs that forks at both ends leave free: the ends warp, and do not turn about x."""
    d, last = model.dof_map, len(model.points) - 1
    fixed = np.r_[d.translations(0), d.translations(last)[1:], d.rotations(0)[0], d.rotations(last)[0]]
    return np.setdiff1d(np.arange(model.ndof), fixed)


def torsional_frequency(cells: int) -> float:
    """The first torsional frequency between forks, in radians per second."""
    model = beam(cells, section())
    d, free = model.dof_map, between_forks(model)
    twist = np.intersect1d(free, np.r_[d.rotations(np.arange(cells + 1))[:, 0], d.warping(np.arange(cells + 1))])
    K, M = (A[twist][:, twist].toarray() for A in (model.K, model.M))
    return float(np.sqrt(sl.eigh(K, M, eigvals_only=True)[0]))


def buckling_moment(cells: int, s: fem.Section) -> float:
    """The smallest of equal moments at the ends at which the beam between forks buckles sideways."""
    model = beam(cells, s, "euler-bernoulli")
    d, free = model.dof_map, between_forks(model)
    f = np.zeros(model.ndof)
    f[d.rotations(0)[1]], f[d.rotations(cells)[1]] = 1.0, -1.0
    KG = model.geometric_stiffness(solved(model, free, f))
    values = sl.eigvals(KG[free][:, free].toarray(), -model.K[free][:, free].toarray()).real
    return float(1 / values.max())


def twist_of_body(torque: float) -> float:
    """Twist of a reduced body that is welded to the ground, with a torque at its tip, in equilibrium."""
    part = beam(6, section()).with_interfaces(root="start", tip=fem.Interface("end", kind="average"))
    system = flexmb.System(gravity=(0, 0, 0))
    body = system.add(flexmb.flexible_body(part, reduction.craig_bampton(part, 12)))
    system.fixed("weld", system.ground.at(body["root"].point), body["root"])
    system.load("torque", body["tip"], moment=(torque, 0, 0))
    return float(equilibrium(system).result.axes("torque")[0, 2, 1])


def along(s: fem.Section, cells: int = 4) -> Plot:
    """The twist along the cantilever under a unit torque: its nodes, the closed form, and Saint-Venant's torsion."""
    model, x, at = beam(cells, s), np.linspace(0, 1, 101), np.linspace(0, 1, cells + 1)
    d, f, k = model.dof_map, np.zeros(model.ndof), np.sqrt(G * s.J / (E * s.warping))
    f[d.rotations(cells)[0]] = 1.0
    u = solved(model, np.setdiff1d(np.arange(model.ndof), [*d.translations(0), *d.rotations(0), *d.warping(0)]), f)
    exact = (x - (np.sinh(k) - np.sinh(k * (1 - x))) / (k * np.cosh(k))) / (G * s.J)
    lines = {
        "flexmb": (at, u[d.rotations(np.arange(cells + 1))[:, 0]]),
        "reference": (x, exact),
        "Saint-Venant's torsion": (x, x / (G * s.J)),
    }
    return Plot("Twist of a cantilever whose root does not warp", "place (m)", "twist (rad) per torque", lines)


def run() -> list[Row | Plot]:
    """Twist, frequency and buckling."""
    s, q = section(), np.pi
    torsion = G * s.J + E * s.warping * q**2
    rows: list[Row | Plot] = []

    def row(what: str, reference: float, kind: str, ours: float, allowed: float) -> None:
        rows.append(Row(CASE, what, reference, kind, ours, abs(ours / reference - 1), allowed))

    model = beam(1, s)
    d, f = model.dof_map, np.zeros(model.ndof)
    f[d.rotations(1)[0]] = 1.0
    free = np.setdiff1d(np.arange(model.ndof), np.r_[d.translations(0), d.rotations(0), d.warping(0)])
    one = float(solved(model, free, f)[d.rotations(1)[0]])
    row("twist of a cantilever per torque, one beam", tip_twist(s), "exact", one, 1e-9)
    row("the same, model of shells", twist_of_shells(), "recomputed", one, 2e-2)
    row("the same, reduced body in a mechanism", tip_twist(s), "exact", twist_of_body(1e-2) / 1e-2, 1e-6)
    exact = np.sqrt(q**2 * torsion / (DENSITY * (s.Iy + s.Iz + s.warping * q**2)))
    row("first torsional frequency between forks, 8 beams", float(exact), "exact", torsional_frequency(8), 1e-4)
    upright = replace(s, Iy=1e3 * s.Iy)  # so stiff that it buckles as a straight beam
    moment = float(q * np.sqrt(E * s.Iz * torsion))
    row("moment of lateral buckling between forks, 16 beams", moment, "exact", buckling_moment(16, upright), 1e-4)
    rows.append(along(s))
    return rows
