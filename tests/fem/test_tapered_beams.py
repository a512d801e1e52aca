"""CBEAM whose section varies between its stations: deflections and mass by integrals along it."""

from itertools import pairwise

import numpy as np
import pytest
from test_nastran import MAT, grids, read

import fem
from fem.errors import MeshError

E, G, DENSITY, LENGTH = 2.1e5, 2.1e5 / 2.6, 7.85e-9, 100.0
A, B = (8.0, 40.0, 10.0, 0.0, 20.0, 1e-8), (2.0, 4.0, 1.0, 0.0, 2.0, 0.0)
"""Area, moments of inertia of the first and second plane, their product, torsion, mass per length, at both ends."""
MIDDLE = (7.0, 10.0, 3.0, 0.0, 5.0, 5e-9)


def card(values):
    return ",".join(f"{v:.9g}" if v else "0." for v in values)


def deck(stations, at=(0.0, 0.0, 0.0), along=(1.0, 0.0, 0.0), tail="+,.8,.9\n"):
    """One beam, its sections at A, then stations (place, letter, values), on two nodes."""
    text = f"PBEAM,5,1,{card(A)},+\n+,,,,,,,,,+\n"
    for place, letter, values in stations:
        text += f"+,{letter},{place},{card(values)},+\n" + ("+,,,,,,,,,+\n" if letter == "YES" else "")
    ends = np.array([at, np.add(at, LENGTH * np.array(along))])
    return grids(ends) + "CBEAM,1,5,1,2,0.,1.,0.\n" + text + tail + MAT


def section(x, places, values):
    return [np.interp(x / LENGTH, places, row) for row in np.array(values).T]


@pytest.mark.parametrize("stations", [[(1.0, "NO", B)], [(1.0, "YES", B), (0.4, "YESA", MIDDLE)]], ids=["two", "three"])
@pytest.mark.parametrize("along", [(1.0, 0.0, 0.0), (0.6, 0.0, 0.8)], ids=["along x", "skew"])
def test_deflections_of_a_tapered_cantilever(stations, along, tmp_path):
    """Unit forces and a torque at the tip of one element, a tenth as stiff at one end as at the other, with a kink or
    without."""
    mesh = read(tmp_path, deck(stations, (3.0, -2.0, 5.0), along))
    assert mesh.unread == ()
    model = fem.Model(mesh)
    places, values = zip(*sorted([(0.0, A), *((p, v) for p, _, v in stations)]), strict=True)
    t, w = np.polynomial.legendre.leggauss(40)
    pieces = [(LENGTH * (a + (b - a) * (t + 1) / 2), LENGTH * (b - a) * w / 2) for a, b in pairwise(places)]
    x, w = (np.concatenate(part) for part in zip(*pieces, strict=True))
    area, I1, I2, _, J, extra = section(x, places, values)
    arm = LENGTH - x
    expected = {
        "extension": (w / (E * area)).sum(),
        "in the first plane": (w * (arm**2 / (E * I1) + 1 / (0.8 * G * area))).sum(),
        "in the second plane": (w * (arm**2 / (E * I2) + 1 / (0.9 * G * area))).sum(),
        "twist": (w / (G * J)).sum(),
    }
    axis = np.array(along)
    y = np.array([0.0, 1.0, 0.0])
    z = np.cross(axis, y)
    tip = np.concatenate([model.dof_map.translations([1])[0], model.dof_map.rotations([1])[0]])
    K = model.K.toarray()[np.ix_(tip, tip)]
    for (what, value), direction, first in zip(expected.items(), (axis, y, z, axis), (0, 0, 0, 3), strict=True):
        f = np.zeros(6)
        f[first : first + 3] = direction
        assert f @ np.linalg.solve(K, f) == pytest.approx(value, rel=1e-7), what
    assert model.mass == pytest.approx((w * (DENSITY * area + extra)).sum(), rel=1e-7)


def test_what_varying_beams_do_not_have_is_told(tmp_path):
    for tail, words in (("+,0.,0.\n", "does not shear"), ("+,.8,.9,,,,,2.\n", "warping, shear relief")):
        mesh = read(tmp_path, deck([(1.0, "NO", B)], tail=tail), loud=False)
        assert words in mesh.unread[0].text
    free = read(tmp_path, deck([(1.0, "NO", (*B[:4], 0.0, 0.0))]), loud=False)
    assert "does not resist twist" in free.unread[0].text
    short = read(tmp_path, deck([(0.6, "NO", B)]), loud=False)
    assert "do not reach its end B" in short.unread[0].text
    mesh = read(tmp_path, deck([(1.0, "NO", B)]))
    constant = fem.Beam(fem.Material.steel(), fem.Section.rectangle(1.0, 1.0), y_axis=(0, 1, 0))
    with pytest.raises(MeshError, match="its section varies"):
        fem.Model(mesh, constant).require_obeyed()


def test_dimensions_that_vary(tmp_path):
    """PBEAML with stations is the PBEAM of the properties of its sections, between which both interpolate."""
    sizes = [(0.0, (20.0, 40.0), 1e-8), (0.4, (18.0, 30.0), 2e-8), (1.0, (10.0, 20.0), 0.0)]
    rows = []
    for place, (width, height), extra in sizes:
        s = fem.Section.rectangle(height, width)
        rows.append((place, (s.area, s.Iz, s.Iy, 0.0, s.J, extra)))
    ends = grids(np.array([(0.0, 0, 0), (LENGTH, 0, 0)])) + "CBEAM,1,5,1,2,0.,1.,0.\n"
    plain = f"PBEAM,5,1,{card(rows[0][1])},+\n+,,,,,,,,,+\n"
    for place, values in rows[1:]:
        plain += f"+,NO,{place},{card(values)},+\n"
    same = fem.Model(read(tmp_path, ends + plain + "+,.8333333333,.8333333333\n" + MAT))
    shaped = "PBEAML,5,1,,BAR,,,,,+\n+,20.,40.,1.-8,NO,0.4,18.,30.,2.-8,+\n+,YES,1.,10.,20.,0.\n"
    model = fem.Model(read(tmp_path, ends + shaped + MAT))
    assert abs(model.K - same.K).max() < 1e-8 * abs(same.K).max()
    assert model.mass == pytest.approx(same.mass, rel=1e-8)
    same_ends = shaped.replace("10.,20.,0.", "20.,40.,1.-8"), shaped.replace("YES,1.,10.,20.,0.", "YES,1.")
    given, blank = (fem.Model(read(tmp_path, ends + text + MAT)).K for text in same_ends)
    assert abs(given - blank).max() == 0.0
    left_out = shaped.replace("18.,30.,2.-8", ",30.,")
    assert "left out between the ends" in read(tmp_path, ends + left_out + MAT, loud=False).unread[0].text


def test_blank_fields_of_stations_are_interpolated_between_the_ends(tmp_path):
    """Three tenths of the way from end A, where the station says its moment of inertia only."""
    at = 0.3
    between = [a + at * (b - a) for a, b in zip(A, B, strict=True)]
    given = deck([(at, "NO", (between[0], 12.0, *between[2:])), (1.0, "NO", B)])
    blank = given.replace(card((between[0], 12.0, *between[2:])), ",12.,,,,")
    assert blank != given
    one, other = (fem.Model(read(tmp_path, text)) for text in (given, blank))
    assert abs(one.K - other.K).max() < 1e-8 * abs(one.K).max()
    assert abs(one.M - other.M).max() < 1e-8 * abs(one.M).max()
