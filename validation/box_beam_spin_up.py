"""A thin-walled box beam of shells spins up as one body: the case spin-up with a hollow section.

The square box has walls of a hundredth of its width, and the bending stiffness and the mass per length of the beam of Meijaard, "Validation of flexible beam elements in dynamics programs", Nonlinear Dynamics 9 (1996) 21-36,
case 4b. It is meshed with quadrilaterals of eight nodes, two a side, with folds along its edges; the reference is a chain of beam elements with the section of the box. The extreme of the tip is that of the publication.
"""

import numpy as np

import fem
from fem.mesh.structured_meshes import line, sheet
from validation.plot import Plot
from validation.row import Row
from validation.spin_up import LENGTH, RISE, simulate, tip_deflection

CASE = "box-beam-spin-up"
WIDTH, WALL = 0.2, 0.002
SECTION = fem.Section.box(WIDTH + WALL, WIDTH + WALL, WALL)
E = 14000.0 / SECTION.Iz
MATERIAL = fem.Material.isotropic(E, 0.3, 1.2 / SECTION.area)


def box(cells: int = 30) -> fem.Model:
    """The box as shells, open at its ends, which are rigid."""
    flat = sheet("quad8", (LENGTH, 4.0), (cells, 8))
    x, s = flat.points[:, 0], flat.points[:, 1] % 4.0
    side, t = np.floor(s).astype(int), s % 1 - 0.5
    y = np.choose(side, [t, 0.5, -t, -0.5]) * WIDTH
    z = np.choose(side, [-0.5, t, 0.5, -t]) * WIDTH
    points = np.column_stack([x, y, z])
    mesh = fem.merge_nodes(fem.Mesh(points, flat.cells, node_sets={"x0": flat.nodes("x0"), "x1": flat.nodes("x1")}))
    model = fem.Model(mesh, fem.Shell(MATERIAL, WALL), name="beam")
    return model.with_interfaces(
        hub=fem.Interface("x0", point=(0, 0, 0)), tip=fem.Interface("x1", point=(LENGTH, 0, 0))
    )


def beams(count: int = 16) -> fem.Model:
    """The beam as `count` beam elements of the same section."""
    mesh = line((0, 0, 0), (LENGTH, 0, 0), count)
    return fem.Model(mesh, fem.Beam(MATERIAL, SECTION), name="beam").with_interfaces(hub="start", tip="end")


def run() -> list[Row | Plot]:
    """Shells beside beams."""
    results = {name: simulate(part) for name, part in (("shells", box()), ("beams", beams()))}
    paths = {name: tip_deflection(result)[:, 1] for name, result in results.items()}
    t = results["shells"].t
    ours, reference = paths["shells"], np.interp(t, results["beams"].t, paths["beams"])
    apart = float(np.abs(ours - reference).max() / np.abs(reference).max())
    ledger = results["shells"].ledger
    residual = float(np.abs(ledger.residual).max() / ledger.elastic.max())
    late = float(np.abs(ours[t > RISE + 1]).max())
    rows = [
        Row(CASE, "extreme of the tip", -0.5740, "recomputed", ours.min(), abs(ours.min() / -0.5740 - 1), 1e-2),
        Row(CASE, "extreme of the tip, beams", reference.min(), "recomputed", ours.min(), abs(ours.min() / reference.min() - 1), 5e-3),
        Row(CASE, "largest distance from the path of the beams, of its extreme", 0.0, "recomputed", apart, apart, 1e-2),
        Row(CASE, "amplitude after the spin-up, of the extreme", 0.0, "paper", late / 0.574, late / 0.574, 1e-2),
        Row(CASE, "energy residual / largest strain energy", 0.0, "exact", residual, residual, 1e-4),
    ]  # fmt: skip
    lines = {name: (results[name].t, path) for name, path in paths.items()}
    return [*rows, Plot("Tip of the spinning box beam, seen from the hub", "time (s)", "deflection (m)", lines)]
