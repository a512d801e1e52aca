"""Meshes of spur gears: involutes, fillets against a rack that cuts them, sets, and refusals."""

import math
from dataclasses import replace

import numpy as np
import pytest

import fem
from fem.mesh.structured_meshes import SpurGear, spur_gear

GEAR = SpurGear(teeth=24, module=2.0, width=5.0, thinning=0.05)


def distance_to_rack(points, gear, roll):
    """Distances (n,) of points of the tooth about x, from the rounded teeth of the rack above it after a `roll`."""
    r, m, a = gear.pitch_radius, gear.module, gear.pressure_angle
    c, s = math.cos(roll), math.sin(roll)
    x, y = (points @ np.array([[c, s], [-s, c]])).T  # the gear turns by `roll`, and the rack follows
    depth, y = x - r, y - r * roll  # seen from the rack, which stands upright at the pitch line
    rho = gear.fillet * m
    middle = (gear.dedendum - gear.fillet) * m
    half = 0.25 * math.pi * m - 0.5 * gear.thinning
    centre = half + middle * math.tan(a) + rho / math.cos(a)
    flank = (y - half + depth * math.tan(a)) * -math.cos(a)  # positive on the side of the gear
    rounded = np.hypot(depth + middle, y - centre) - rho
    below = (depth + middle) * math.cos(a) < (y - centre) * math.sin(a)
    tip = -(depth + gear.dedendum * m)
    return np.where(y >= centre, tip, np.where(below, rounded, flank))


def test_a_rack_that_rolls_on_the_gear_touches_flanks_and_fillets_and_cuts_nothing():
    radii, angles = GEAR.fillet_points(np.linspace(0.0, 1.0, 12))
    up = np.linspace(radii[-1], GEAR.tip_radius, 12)
    r = np.concatenate([radii, up])
    angle = np.concatenate([angles, [GEAR.half_angle(x) for x in up]])
    points = np.column_stack([r * np.cos(angle), r * np.sin(angle)])
    nearest = np.min([distance_to_rack(points, GEAR, roll) for roll in np.linspace(-0.7, 0.7, 28001)], axis=0)
    assert np.abs(nearest).max() < 1e-8 * GEAR.module
    assert radii[0] == pytest.approx(GEAR.root_radius, rel=1e-12)
    assert angles[-1] == pytest.approx(GEAR.half_angle(radii[-1]), abs=1e-12)


def test_nodes_of_flanks_are_on_involutes_with_equal_faces():
    mesh = spur_gear(GEAR, (60, 6, 6, 3, 2), rim=2.0, shown=3)
    assert not fem.check_mesh(mesh).findings
    for side, sign in (("right", -1.0), ("left", 1.0)):
        for tooth in (-1, 0, 1):
            faces = mesh.face_sets[f"{side} {tooth}"]
            assert len(faces) == 60 * 2
            nodes = mesh.nodes_of_faces(faces)
            x = mesh.points[nodes][mesh.points[nodes, 2] == 0]
            x = x[np.argsort(np.linalg.norm(x, axis=1))]
            lengths = np.linalg.norm(np.diff(x, axis=0), axis=1)
            np.testing.assert_allclose(lengths, lengths.mean(), rtol=1e-3)
            edge, middle = np.diff(x, axis=0), 0.5 * (x[1:] + x[:-1])
            r, angle = np.linalg.norm(x[:, :2], axis=1), np.arctan2(x[:, 1], x[:, 0]) - tooth * GEAR.pitch
            turned = np.diff(np.sqrt((r / GEAR.base_radius) ** 2 - 1.0))
            arm = (
                np.abs((edge * middle).sum(axis=1)) / lengths
            )  # of the normals: the base radius, beside that of chords
            np.testing.assert_allclose(arm, GEAR.base_radius * (1.0 + turned**2 / 24.0), rtol=1e-6)
            np.testing.assert_allclose(angle, [sign * GEAR.half_angle(a) for a in r], atol=1e-12)
    thickness = 2 * GEAR.pitch_radius * GEAR.half_angle(GEAR.pitch_radius)
    assert thickness == pytest.approx(0.5 * math.pi * GEAR.module - GEAR.thinning, rel=1e-12)


def test_tips_are_relieved_by_a_parabola():
    relieved = replace(GEAR, relief=0.02, relief_height=0.4)
    tip, start = GEAR.tip_radius, GEAR.tip_radius - 0.4 * GEAR.module
    for radius, part in ((tip, 1.0), (0.5 * (tip + start), 0.25), (start, 0.0), (GEAR.pitch_radius, 0.0)):
        behind = (GEAR.half_angle(radius) - relieved.half_angle(radius)) * radius
        assert behind == pytest.approx(0.02 * part, abs=1e-12)


def test_a_whole_gear_closes():
    mesh = spur_gear(GEAR, (4, 4, 4, 2, 1), rim=2.0)
    assert not fem.check_mesh(mesh).findings
    part = spur_gear(GEAR, (4, 4, 4, 2, 1), rim=2.0, shown=1)
    steel = fem.Material.steel()
    whole, one = fem.Model(mesh, steel), fem.Model(part, steel)
    assert whole.mass == pytest.approx(24 * one.mass, rel=1e-12)
    assert len(mesh.boundary_faces) == 24 * (len(part.boundary_faces) - 2 * 2)
    assert sum(len(mesh.face_sets[f"left {k}"]) for k in range(-12, 12)) == len(mesh.face_sets["left"]) == 24 * 4
    radii = np.linalg.norm(mesh.points[mesh.nodes_of_faces(mesh.face_sets["bore"]), :2], axis=1)
    np.testing.assert_allclose(radii, GEAR.root_radius - 2.0 * GEAR.module, rtol=1e-12)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"teeth": 12}, "at least 18 teeth"),
        ({"fillet": 0.6}, r"no room .* at most 0\.4719"),
        ({"addendum": 2.0}, "points below their tips"),
        ({"module": 0.0}, "positive teeth"),
        ({"relief": -0.1}, "relief >= 0"),
        ({"fillet": 1.3}, "a fillet below the dedendum"),
    ],
)
def test_teeth_that_cannot_be_are_refused(changed, message):
    with pytest.raises(fem.MeshError, match=message):
        SpurGear(**{"teeth": 24, "module": 2.0, "width": 5.0, **changed})
    SpurGear(teeth=24, module=2.0, width=5.0, fillet=0.471)


@pytest.mark.parametrize(
    ("divisions", "rim", "shown", "message"),
    [
        ((4, 3, 4, 2, 1), 2.0, 3, "even number along fillets"),
        ((4, 4, 0, 2, 1), 2.0, 3, "one division each way"),
        ((4, 4, 4, 2, 1), 20.0, 3, "rim of 20 modules ends"),
        ((4, 4, 4, 2, 1), 2.0, 2, "an odd number is shown, or all; found 2"),
        ((4, 4, 4, 2, 1), 2.0, 25, "an odd number is shown, or all; found 25"),
    ],
)
def test_meshes_that_cannot_be_are_refused(divisions, rim, shown, message):
    with pytest.raises(fem.MeshError, match=message):
        spur_gear(GEAR, divisions, rim, shown)
