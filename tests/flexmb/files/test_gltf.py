"""glTF out: the file decoded and blended gives our displacements; its structure is that of the specification."""

import json
import shutil
import struct
import subprocess
import warnings
from dataclasses import replace

import numpy as np
import pytest

import fem
import flexmb
import reduction
from flexmb.drawn.surface import body_surface
from flexmb.errors import FileError, GltfWarning
from flexmb.files import write_gltf

WIDTH = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
VALIDATE = """
const v = require("gltf-validator"), fs = require("fs");
v.validateBytes(new Uint8Array(fs.readFileSync(process.argv[1]))).then((r) => console.log(JSON.stringify(r.issues)));
"""


@pytest.fixture(scope="module")
def result():
    """A soft bar with second-order shapes, swinging and carrying a rigid block, in mm, t and s."""
    material = fem.Material.isotropic(10.0, 0.3, 1.2e-9)
    model = fem.Model(fem.structured_meshes.block("tetra10", (300.0, 20.0, 10.0), (8, 1, 1)), material)
    model = model.with_interfaces(root="x0", tip="x1")
    bar = flexmb.flexible_body(model, reduction.craig_bampton(model, 3, reference_frame="root"), name="bar")
    system = flexmb.System(gravity=(0, 0, -9810.0), name="swing")
    placed = system.add(bar)
    inertia = (1e-5 * 20.0**2 / 6,) * 3  # a cube of 20 mm
    block = system.add(flexmb.rigid_body("block", mass=1e-5, inertia=inertia), position=(300.0, 10.0, 5.0))
    system.revolute("hinge", system.ground, placed["root"], axis=(0, 1, 0))
    system.fixed("weld", placed["tip"], block)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", flexmb.SmallDeformationWarning)
        return flexmb.simulate(system, 0.2, method="radau", tolerance=1e-5, output_step=0.002)


class Decoded:
    """A reader of our own: it follows the specification and knows nothing of the writer."""

    def __init__(self, path):
        image = path.read_bytes()
        magic, version, length, size, kind = struct.unpack("<4sIII4s", image[:20])
        assert (magic, version, kind) == (b"glTF", 2, b"JSON")
        assert length == len(image)
        assert size % 4 == 0
        self.content = json.loads(image[20 : 20 + size])
        count, kind = struct.unpack("<I4s", image[20 + size : 28 + size])
        assert kind == b"BIN\0"
        self.data = image[28 + size :]
        assert count == len(self.data) == self.content["buffers"][0]["byteLength"]

    def array(self, index):
        accessor = self.content["accessors"][index]
        view = self.content["bufferViews"][accessor["bufferView"]]
        kind = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]]
        part = self.data[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
        values = np.frombuffer(part, kind).reshape(accessor["count"], WIDTH[accessor["type"]])
        if "min" in accessor:
            np.testing.assert_array_equal(values.min(axis=0), np.array(accessor["min"], dtype=kind))
            np.testing.assert_array_equal(values.max(axis=0), np.array(accessor["max"], dtype=kind))
        return values.astype(float) if kind == "<f4" else values

    def node(self, name):
        return next(k for k, node in enumerate(self.content["nodes"]) if node["name"] == name)

    def track(self, name, what):
        """Times and values of a track."""
        (motion,) = self.content["animations"]
        wanted = {"node": self.node(name), "path": what}
        (channel,) = (c for c in motion["channels"] if c["target"] == wanted)
        sampler = motion["samplers"][channel["sampler"]]
        return self.array(sampler["input"])[:, 0], self.array(sampler["output"])

    def primitive(self, name):
        return self.content["meshes"][self.content["nodes"][self.node(name)]["mesh"]]["primitives"][0]

    def vertices(self, name, frame):
        """Vertices of a body in its own frame, blended, and in the frame of the root."""
        primitive = self.primitive(name)
        local = self.array(primitive["attributes"]["POSITION"])
        targets = [self.array(target["POSITION"]) for target in primitive.get("targets", [])]
        if targets:
            weights = self.track(name, "weights")[1].reshape(-1, len(targets))[frame]
            local = local + np.einsum("k,kvc->vc", weights, np.array(targets))
        x, y, z, w = self.track(name, "rotation")[1][frame]
        turned = turn(np.array([x, y, z]), w, local)
        return local, turned + self.track(name, "translation")[1][frame]


def turn(v, w, points):
    """Points turned by the quaternion (w, v)."""
    return points + 2 * np.cross(v, np.cross(v, points) + w * points)


def test_displacements_at_ten_nodes_are_ours(result, tmp_path):
    written = write_gltf(result, tmp_path / "swing.glb", metres=1e-3, speed=0.1, frames=51)
    file, body = Decoded(written.path), result.mechanism.bodies[0]
    times, _ = file.track("bar", "translation")
    eta, (origin, axes) = result.elastic("bar"), result.frame("bar")
    largest = max(np.abs(body.displacements(x)).max() for x in eta)
    assert largest > 30.0, "the bar bends by more than its thickness"
    surface = body_surface(body)
    chosen = np.random.default_rng(1).choice(len(surface.node), 10, replace=False)
    rest = file.array(file.primitive("bar")["attributes"]["POSITION"])
    np.testing.assert_allclose(rest, 1e-3 * body.mesh.points[surface.node], rtol=1e-6, atol=1e-9)
    for frame, t in enumerate(times):
        k = int(np.abs(result.t - (result.t[0] + 0.1 * t)).argmin())
        assert result.t[k] == pytest.approx(0.1 * t, abs=1e-7)
        ours = body.displacements(eta[k], surface.node[chosen])
        local, world = file.vertices("bar", frame)
        assert np.abs((local - rest)[chosen] / 1e-3 - ours).max() < 1e-6 * largest
        place = origin[k] + (body.mesh.points[surface.node[chosen]] + ours) @ axes[k].T
        assert np.abs(world[chosen] / 1e-3 - place).max() < 1e-6 * np.abs(place).max()


def test_a_rigid_body_is_where_it_is(result, tmp_path):
    file = Decoded(write_gltf(result, tmp_path / "swing.glb", metres=1e-3).path)
    assert "targets" not in file.primitive("block")
    _, world = file.vertices("block", -1)
    np.testing.assert_allclose(
        1e3 * (world.min(axis=0) + world.max(axis=0)) / 2, result.frame("block")[0][-1], atol=0.1
    )


def test_the_file_is_built_as_the_specification_wants(result, tmp_path):
    file = Decoded(write_gltf(result, tmp_path / "swing.glb", metres=1e-3).path)
    content = file.content
    assert content["asset"]["version"] == "2.0"
    assert {node["name"] for node in content["nodes"]} == {"swing", "bar", "block", "ground"}
    assert content["nodes"][0]["children"] == [1, 2, 3]
    colours = {tuple(m["pbrMetallicRoughness"]["baseColorFactor"]) for m in content["materials"]}
    assert len(colours) == 3
    for view in content["bufferViews"]:
        assert view["byteOffset"] % 4 == 0
        assert view["byteOffset"] + view["byteLength"] <= len(file.data)
    for mesh in content["meshes"]:
        (primitive,) = mesh["primitives"]
        arrays = [primitive["attributes"], *primitive.get("targets", [])]
        counts = {len(file.array(a[name])) for a in arrays for name in ("POSITION", "NORMAL")}
        assert len(counts) == 1
        assert file.array(primitive["indices"]).max() < counts.pop()
        normals = file.array(primitive["attributes"]["NORMAL"])
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)
        assert len(mesh.get("extras", {}).get("targetNames", [])) == len(primitive.get("targets", []))
    (motion,) = content["animations"]
    for channel in motion["channels"]:
        node = content["nodes"][channel["target"]["node"]]
        times, values = file.track(node["name"], channel["target"]["path"])
        assert (np.diff(times) > 0).all()
        assert times[0] == 0
        each = len(node["weights"]) if channel["target"]["path"] == "weights" else 1
        assert len(values) == each * len(times)
        if channel["target"]["path"] == "weights":
            assert np.abs(values).max() <= 1
        if channel["target"]["path"] == "rotation":
            np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1.0, atol=1e-6)
            assert (np.einsum("tk,tk->t", values[1:], values[:-1]) > 0).all()


def test_the_playback_of_a_motion_that_starts_later_begins_at_once(result, tmp_path):
    later = replace(result, t=result.t + 3.0)
    found = write_gltf(later, tmp_path / "later.glb", speed=0.5)
    assert found.duration == pytest.approx(0.4)
    content = Decoded(tmp_path / "later.glb")
    time = content.array(content.content["animations"][0]["samplers"][0]["input"])
    np.testing.assert_allclose([time.min(), time.max()], [0.0, 0.4], atol=1e-6)


def test_up_is_against_gravity(result, tmp_path):
    file = Decoded(write_gltf(result, tmp_path / "swing.glb").path)
    *v, w = file.content["nodes"][0]["rotation"]
    np.testing.assert_allclose(turn(np.array(v), w, np.array([[0.0, 0.0, 1.0]])), [[0, 1, 0]], atol=1e-12)


def test_few_targets_leave_the_error_that_is_told(result, tmp_path):
    with pytest.warns(GltfWarning, match=r"swing.glb: the morph targets of 'bar' leave out .* larger max_targets"):
        written = write_gltf(result, tmp_path / "swing.glb", max_targets=1)
    file, body = Decoded(written.path), result.mechanism.bodies[0]
    times, _ = file.track("bar", "translation")
    surface, rest = body_surface(body), file.array(file.primitive("bar")["attributes"]["POSITION"])
    missing = largest = 0.0
    for frame, t in enumerate(times):
        u = body.displacements(result.elastic("bar")[np.abs(result.t - t).argmin()])[surface.node]
        missing = max(missing, np.linalg.norm(file.vertices("bar", frame)[0] - rest - u, axis=1).max())
        largest = max(largest, np.linalg.norm(u, axis=1).max())
    assert written.error["bar"] == pytest.approx(missing / largest, rel=1e-3)
    assert len(written.targets["bar"]) == 1


def test_targets_come_in_the_order_of_their_shares(result, tmp_path):
    written = write_gltf(result, tmp_path / "swing.glb")
    shares = np.array(written.shares["bar"])
    assert (np.diff(shares) <= 0).all()
    assert shares.sum() == pytest.approx(1.0)
    assert written.error["bar"] == 0
    assert "max_targets=8" in str(written)
    assert any(" x " in name for name in written.targets["bar"])


def test_magnification_enlarges_the_deformation(result, tmp_path):
    once, twice = (Decoded(write_gltf(result, tmp_path / "swing.glb", magnification=m).path) for m in (1.0, 2.0))
    rest = once.array(once.primitive("bar")["attributes"]["POSITION"])
    u, larger = (file.vertices("bar", -1)[0] - rest for file in (once, twice))
    np.testing.assert_allclose(larger, 2 * u, atol=1e-5 * np.abs(u).max())


def test_bodies_stay_joined_when_the_deformation_is_enlarged(result, tmp_path):
    """The block is welded to the tip, whose vertices the file blends."""
    file = Decoded(write_gltf(result, tmp_path / "swing.glb", magnification=2.0).path)
    tip = np.isclose(result.mechanism.bodies[0].mesh.points[body_surface(result.mechanism.bodies[0]).node, 0], 300.0)
    for frame in (30, 60, -1):
        vertices, block = file.vertices("bar", frame)[1][tip], file.vertices("block", frame)[1]
        ends = (vertices.min(axis=0) + vertices.max(axis=0)) / 2, (block.min(axis=0) + block.max(axis=0)) / 2
        assert np.linalg.norm(ends[0] - ends[1]) < 1.5, "of 300 mm, where it bends by more than 30"


def test_turns_between_frames_are_told(tmp_path):
    system = flexmb.System(name="top")
    wheel = system.add(flexmb.rigid_body("wheel", mass=1.0, inertia=(1, 1, 1)))
    system.revolute("axle", system.ground.at((0, 0, 0)), wheel, axis=(0, 0, 1))
    system.drive("axle", flexmb.time_functions.constant_speed(40.0))
    spun = flexmb.simulate(system, 1.0, step=1e-3, output_step=0.01)
    with pytest.warns(GltfWarning, match=r"'wheel' turns by .* Write frames="):
        write_gltf(spun, tmp_path / "top.glb", frames=11)
    write_gltf(spun, tmp_path / "top.glb", frames=101)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "swing.gltf"}, "written as .glb"),
        ({"metres": 0.0}, "metres = 0.0"),
        ({"speed": np.nan}, "speed = nan"),
        ({"frames": 1}, "frames = 1"),
        ({"max_targets": -1}, "max_targets = -1"),
    ],
)
def test_what_cannot_be_is_refused(result, tmp_path, options, words):
    path = tmp_path / options.pop("path", "swing.glb")
    with pytest.raises(FileError, match=words):
        write_gltf(result, path, **options)
    assert not path.exists()


@pytest.mark.foreign
def test_the_validator_of_khronos_finds_nothing(result, tmp_path):
    """`npm install gltf-validator`, found by node from here or through NODE_PATH."""
    node = shutil.which("node")
    if node is None or subprocess.run([node, "-e", 'require("gltf-validator")'], capture_output=True).returncode:
        pytest.skip("needs node with gltf-validator")
    path = write_gltf(result, tmp_path / "swing.glb", metres=1e-3).path
    found = json.loads(subprocess.check_output([node, "-e", VALIDATE, str(path)], text=True))
    assert found["messages"] == []
