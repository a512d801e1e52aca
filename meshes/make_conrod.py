"""Makes conrod.msh: a connecting rod of an engine, 0.30 m between its bores, as quadratic tetrahedra (Gmsh).

    pip install gmsh && python meshes/make_conrod.py [conrod.msh]

Metres. Big-end bore at the origin, small-end bore at (0.30, 0, 0), both axes along z. An I-shaped shank runs into
both rings through smooth flanks. Groups: volume "ROD", surfaces "BIG_END" and "SMALL_END" (the bores).
"""

import sys
from pathlib import Path

import gmsh

LENGTH = 0.30
BIG_BORE, BIG_RING, BIG_WIDTH = 0.030, 0.0455, 0.034
SMALL_BORE, SMALL_RING, SMALL_WIDTH = 0.0135, 0.0225, 0.030
SHANK_WIDTH, POCKET_DEPTH = 0.022, 0.0065
FLANK = ((0.036, 0.0300), (0.062, 0.0205), (0.110, 0.0172), (0.200, 0.0142), (0.255, 0.0134), (0.280, 0.0160))
POCKET = ((0.068, 0.0125), (0.110, 0.0105), (0.200, 0.0080), (0.256, 0.0070))
SIZE = 0.0115


def flanks(points, width, z):
    """A body of the given width along z between two mirrored flanks through `points` (x, y)."""
    occ = gmsh.model.occ
    upper = [occ.addPoint(x, y, z) for x, y in points]
    lower = [occ.addPoint(x, -y, z) for x, y in points]
    lines = [
        occ.addBSpline(upper),
        occ.addLine(upper[-1], lower[-1]),
        occ.addBSpline(lower[::-1]),
        occ.addLine(lower[0], upper[0]),
    ]
    face = occ.addPlaneSurface([occ.addCurveLoop(lines)])
    return [e for e in occ.extrude([(2, face)], 0, 0, width) if e[0] == 3]


def pocket(z, depth):
    """A slot with round ends that narrows towards the small end."""
    occ = gmsh.model.occ
    (x0, r0), (x1, r1) = POCKET[0], POCKET[-1]
    parts = flanks(POCKET, depth, z)
    parts.append((3, occ.addCylinder(x0, 0, z, 0, 0, depth, r0)))
    parts.append((3, occ.addCylinder(x1, 0, z, 0, 0, depth, r1)))
    return occ.fuse(parts[:1], parts[1:])[0]


def main(path: Path) -> None:
    """Model, mesh and write."""
    gmsh.initialize()
    gmsh.option.setNumber("General.Verbosity", 2)
    occ = gmsh.model.occ
    shank = flanks(FLANK, SHANK_WIDTH, -SHANK_WIDTH / 2)
    big = (3, occ.addCylinder(0, 0, -BIG_WIDTH / 2, 0, 0, BIG_WIDTH, BIG_RING))
    small = (3, occ.addCylinder(LENGTH, 0, -SMALL_WIDTH / 2, 0, 0, SMALL_WIDTH, SMALL_RING))
    rod = occ.fuse(shank, [big, small])[0]
    cuts = pocket(SHANK_WIDTH / 2 - POCKET_DEPTH, 2 * POCKET_DEPTH) + pocket(
        -SHANK_WIDTH / 2 - POCKET_DEPTH, 2 * POCKET_DEPTH
    )
    cuts.append((3, occ.addCylinder(0, 0, -0.1, 0, 0, 0.2, BIG_BORE)))
    cuts.append((3, occ.addCylinder(LENGTH, 0, -0.1, 0, 0, 0.2, SMALL_BORE)))
    for y in (-1, 1):  # bolt lugs of the big end
        lug = [(3, occ.addBox(-0.016, y * 0.0475 - 0.0085, -0.011, 0.032, 0.017, 0.022))]
        rod = occ.fuse(rod, lug)[0]
    rod = occ.cut(rod, cuts)[0]
    occ.synchronize()

    def bore(x, radius):
        near = gmsh.model.getEntitiesInBoundingBox(
            x - radius * 1.01, -radius * 1.01, -0.1, x + radius * 1.01, radius * 1.01, 0.1, 2
        )
        return [tag for _, tag in near]

    for name, tags in (("BIG_END", bore(0, BIG_BORE)), ("SMALL_END", bore(LENGTH, SMALL_BORE))):
        gmsh.model.setPhysicalName(2, gmsh.model.addPhysicalGroup(2, tags), name)
    gmsh.model.setPhysicalName(3, gmsh.model.addPhysicalGroup(3, [t for _, t in rod]), "ROD")
    gmsh.option.setNumber("Mesh.MeshSizeMax", SIZE)
    gmsh.option.setNumber("Mesh.MeshSizeMin", SIZE / 3)
    gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", 12)
    gmsh.option.setNumber("Mesh.ElementOrder", 2)
    gmsh.option.setNumber("Mesh.HighOrderOptimize", 1)
    gmsh.option.setNumber("Mesh.RandomSeed", 1)
    gmsh.model.mesh.generate(3)
    gmsh.option.setNumber("Mesh.MshFileVersion", 4.1)
    gmsh.option.setNumber("Mesh.Binary", 1)
    gmsh.write(str(path))
    gmsh.finalize()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("conrod.msh"))
