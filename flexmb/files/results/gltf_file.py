"""Results as glTF 2.0, which browsers, slides and Blender play: bodies are meshes, shapes are morph targets, and the
motion is tracks of translations, rotations and weights.

Source: The Khronos Group, "glTF 2.0 Specification" (2021).
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from flexmb.drawn.contact_shapes import drawn_shapes
from flexmb.drawn.joined import joined
from flexmb.drawn.surface import Surface, ground_shape, surfaces_of
from flexmb.errors import FileError, GltfWarning
from flexmb.files.results.glb import INDICES, VERTICES, Glb
from flexmb.files.storage.tree import write_whole
from flexmb.kernels.base.data import GROUND
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.result import Result
from flexmb.version import __version__

FEW = 8
"""Number of morph targets that many viewers blend at most."""
NOTICED = 0.01
"""Part of the largest displacement that may be left out without a warning."""
FARTHEST = np.deg2rad(120.0)
"""Rotation of a body between two frames above which a warning is raised: players turn by the shorter way."""
COLOURS = ("#4878a8", "#d98032", "#5a9a68", "#b0507f", "#8a6bb1", "#2f9aa0", "#9c7a5b", "#c9b037", "#7f8c99")
CLEAR = 0.4
"""Opacity of boxes of inertia beside other bodies, which may be where these are."""
GROUND_COLOUR, FLOOR_COLOUR = "#2b3440", "#a9b1ba"
"""Of axles and rails on the ground, and of shapes of contacts there, on which light and shade show hills and steps."""


@dataclass(frozen=True)
class GltfFile:
    """A glTF file that was written.

    - `path`, `size` in bytes, `frames`, and `duration` of the playback in seconds.
    - `targets`: the names of the morph targets of each flexible body, in the order of their share of its motion.
    - `shares`: the share of each target: its mean square displacement over surface and time, relative to the sum.
    - `error`: the largest displacement that the targets left out make, relative to the largest elastic displacement.
    """

    path: Path
    size: int
    frames: int
    duration: float
    targets: Mapping[str, tuple[str, ...]]
    shares: Mapping[str, tuple[float, ...]]
    error: Mapping[str, float]

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.size / 1e6:.3g} MB, {self.frames} frames in {self.duration:.4g} s"]
        for body, names in self.targets.items():
            rest = f", {100 * sum(self.shares[body][FEW:]):.2g} % of the motion is beyond the first {FEW}"
            left = f", which leave {100 * self.error[body]:.2g} % of the displacement" if self.error[body] else ""
            lines.append(f"  {body!r}: {len(names)} morph targets{left}{rest if len(names) > FEW else ''}")
        if any(len(names) > FEW for names in self.targets.values()):
            lines.append(f"  Some viewers blend only {FEW} targets: max_targets={FEW} writes no more.")
        return "\n".join(lines)


def write_gltf(
    result: Result,
    path: str | Path,
    *,
    metres: float = 1.0,
    speed: float = 1.0,
    frames: int = 240,
    max_targets: int | None = None,
    magnification: float = 1.0,
) -> GltfFile:
    """Write a motion as one binary glTF file (`.glb`); return what was written and the error that it leaves.

    - `metres`: length in metres of the unit of length of the model, such as 0.001 for millimetres.
    - `speed`: units of time of the model that pass in a second of the playback, such as 0.01 for a motion in seconds
      that is shown a hundred times slower.
    - `frames`: largest number of stored times that are written, evenly spread; players interpolate between them.
    - `max_targets`: largest number of morph targets of a body: those with the largest shares of its motion. By default
      all are written, and the displacements are those of the body.
    - `magnification`: factor of the deformation, with which the joints stay joined (`flexmb.drawn.joined`).

    A flexible body is the skin of its mesh; its morph targets are its shapes, those of second order too. A rigid body
    with a mesh is that mesh; another body is the box of its inertia with bars to its markers, and does not bend. The
    direction against gravity becomes y, which is up in glTF; without gravity, y stays up.

    Raises `FileError` when the path does not end in `.glb`, an option is outside its range, or the file cannot be
    written; `GltfWarning` when the targets left out make more than 1 % of the displacement, or a body turns by more
    than 120 degrees between two frames.
    """
    path = Path(path)
    if path.suffix != ".glb":
        raise FileError(f"A glTF file is written as .glb; found {path.name!r}.")
    written, image = gltf_image(result, path, metres, speed, frames, max_targets, magnification)
    write_whole(path, "glTF", image)
    return written


def gltf_image(
    result: Result,
    path: Path,
    metres: float,
    speed: float,
    frames: int,
    max_targets: int | None,
    magnification: float,
) -> tuple[GltfFile, bytes]:
    """What `write_gltf` returns, and the content of the file that it writes; errors and warnings name the `path`."""
    for name, value, least in (("metres", metres, 0), ("speed", speed, 0), ("magnification", magnification, 0)):
        if not (np.isfinite(value) and value > least):
            raise FileError(f"{path.name}: {name} = {value}; expected a positive number.")
    if frames < 2 or (max_targets is not None and max_targets < 0):
        raise FileError(f"{path.name}: frames = {frames}, max_targets = {max_targets}; expected at least 2 and 0.")
    picked, t = _frames(result, frames, speed)
    glb, surfaces = Glb(), surfaces_of(result.mechanism)
    shown = np.array([joined(result.mechanism, q, magnification) for q in result.q[picked]])
    content: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": f"flexmb {__version__}"},
        "scene": 0,
        "scenes": [{"name": result.mechanism.name, "nodes": [0]}],
        "nodes": [{"name": result.mechanism.name, "rotation": _to_y_up(result.mechanism.gravity)}],
        "meshes": [],
        "materials": [],
    }
    channels: list[dict[str, Any]] = []
    samplers: list[dict[str, Any]] = []
    time = glb.accessor(t, bounds=True)
    targets, shares, errors = {}, {}, {}
    for k, surface in enumerate(surfaces):
        start = int(compiled(result.mechanism).q_start[k])
        q = shown[:, start : start + 7 + result.mechanism.bodies[k].modes]
        node: dict[str, Any] = {"name": surface.name, "mesh": len(content["meshes"])}
        tracks = {"translation": metres * q[:, :3], "rotation": _continuous(q[:, 3:7])[:, [1, 2, 3, 0]]}
        order, sizes = np.zeros(0, dtype=np.int64), np.zeros(0)
        if surface.shapes.shape[1]:
            weights = magnification * surface.weights(q[:, 7:])
            order, share = _by_share(surface, weights)
            order, left = order[:max_targets], order[max_targets:] if max_targets is not None else order[:0]
            targets[surface.name] = tuple(surface.shape_names[s] for s in order)
            shares[surface.name] = tuple(float(x) for x in share[order])
            errors[surface.name] = _error(surface, weights, left)
            if len(order):
                sizes = np.abs(weights[:, order]).max(axis=0)
                sizes[sizes == 0] = 1.0
                tracks["weights"] = (weights[:, order] / sizes).ravel()
        content["materials"].append(_material(surface.name, COLOURS[k % len(COLOURS)], CLEAR if surface.clear else 1.0))
        content["meshes"].append(_mesh(glb, surface, metres, order, sizes, len(content["materials"]) - 1))
        content["nodes"].append(node)
        for what, values in tracks.items():
            samplers.append({"input": time, "output": glb.accessor(values), "interpolation": "LINEAR"})
            target = {"node": len(content["nodes"]) - 1, "path": what}
            channels.append({"sampler": len(samplers) - 1, "target": target})
        first = {"translation": tracks["translation"][0], "rotation": tracks["rotation"][0]}
        node |= {what: np.asarray(value, dtype=float).tolist() for what, value in first.items()}
        if len(order):
            node["weights"] = np.asarray(tracks["weights"][: len(order)], dtype=float).tolist()
    ground = ground_shape(result.mechanism)
    if ground is not None:
        content["materials"].append(_material("ground", ground_colour(result.mechanism)))
        content["nodes"].append({"name": "ground", "mesh": len(content["meshes"])})
        content["meshes"].append(
            _mesh(glb, _ground(ground), metres, np.zeros(0, int), np.zeros(0), len(content["materials"]) - 1)
        )
    content["nodes"][0]["children"] = list(range(1, len(content["nodes"])))
    content["animations"] = [{"name": "motion", "channels": channels, "samplers": samplers}]
    image = glb.image(content)
    _warn(result, picked, errors, path.name)
    return GltfFile(path, len(image), len(picked), float(t[-1]), targets, shares, errors), image


def _frames(result: Result, frames: int, speed: float) -> tuple[Int[np.ndarray, "f"], Float[np.ndarray, "f"]]:
    """Indices of stored times, and their times in seconds of the playback, which ascend in single precision too.

    Of stored times that coincide, before and after an event, the last one is shown.
    """
    t = ((result.t - result.t[0]) / speed).astype(np.float32).astype(float)
    distinct = np.flatnonzero(np.append(np.diff(t) > 0, True))
    wanted = np.linspace(t[0], t[-1], min(frames, len(distinct)))
    after = np.searchsorted(t[distinct], wanted).clip(0, len(distinct) - 1)
    before = np.maximum(after - 1, 0)
    nearer = wanted - t[distinct[before]] < t[distinct[after]] - wanted
    picked = distinct[np.unique(np.where(nearer, before, after))]
    return picked, t[picked]


def _continuous(p: Float[np.ndarray, "f 4"]) -> Float[np.ndarray, "f 4"]:
    """Unit quaternions whose signs make the shorter way from each to the next, as players go."""
    p = p / np.linalg.norm(p, axis=1, keepdims=True)
    turned = np.einsum("tk,tk->t", p[1:], p[:-1]) < 0
    return p * np.where(np.append(0, np.cumsum(turned)) % 2, -1.0, 1.0)[:, None]


def _by_share(surface: Surface, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shapes in the order of their shares of the motion, and the share of each."""
    square = (weights**2).mean(axis=0) * (surface.shapes.astype(float) ** 2).sum(axis=0)
    total = square.sum()
    share = square / total if total > 0 else np.zeros_like(square)
    return np.argsort(-share, kind="stable"), share


def _error(surface: Surface, weights: np.ndarray, left: np.ndarray) -> float:
    """The largest displacement of the shapes `left` out, relative to the largest displacement; one product a frame."""
    if not len(left):
        return 0.0
    missing, largest, few = 0.0, 0.0, surface.shapes[:, left]
    for w in weights.astype(np.float32):
        missing = max(missing, float(np.linalg.norm((few @ w[left]).reshape(-1, 3), axis=1).max()))
        largest = max(largest, float(np.linalg.norm((surface.shapes @ w).reshape(-1, 3), axis=1).max()))
    return missing / largest if largest > 0 else 0.0


def _mesh(
    glb: Glb, surface: Surface, metres: float, order: np.ndarray, sizes: np.ndarray, material: int
) -> dict[str, Any]:
    """The mesh of a surface with its shapes in `order`, times `sizes`, as morph targets: their weights stay between -1
    and 1, which programs take as the range of weights."""
    attributes = {
        "POSITION": glb.accessor(metres * surface.points, VERTICES, bounds=True),
        "NORMAL": glb.accessor(surface.normals, VERTICES),
    }
    indices = glb.accessor(surface.triangles.ravel(), INDICES)
    primitive: dict[str, Any] = {"attributes": attributes, "indices": indices, "material": material}
    mesh: dict[str, Any] = {"name": surface.name, "primitives": [primitive]}
    if len(order):
        primitive["targets"] = [
            {
                "POSITION": glb.accessor(metres * size * surface.shapes[:, s].reshape(-1, 3), VERTICES, bounds=True),
                "NORMAL": glb.accessor(size * surface.normal_shape(s), VERTICES),
            }
            for s, size in zip(order, sizes, strict=True)
        ]
        mesh["extras"] = {"targetNames": [surface.shape_names[s] for s in order]}
    return mesh


def ground_colour(mechanism: Mechanism) -> str:
    """The colour of the ground in pictures: lighter where bodies touch it."""
    return FLOOR_COLOUR if drawn_shapes(mechanism).get(GROUND) else GROUND_COLOUR


def _ground(shape: tuple[np.ndarray, np.ndarray]) -> Surface:
    points, triangles = shape
    split = points[triangles.ravel()]
    none = np.zeros((3 * len(split), 0), dtype=np.float32)
    numbered = np.arange(len(split)).reshape(-1, 3)
    return Surface("ground", split, numbered, np.full(len(split), -1), none, np.zeros((0, 2), dtype=np.int64))


def _material(name: str, colour: str, opacity: float = 1.0) -> dict[str, Any]:
    """A dull surface; glTF wants colours linear in the light."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    look = {"baseColorFactor": [*linear.tolist(), opacity], "metallicFactor": 0.1, "roughnessFactor": 0.55}
    clear = {"alphaMode": "BLEND"} if opacity < 1.0 else {}
    return {"name": name, "pbrMetallicRoughness": look, "doubleSided": True, **clear}


def _to_y_up(gravity: np.ndarray) -> list[float]:
    """The rotation (x, y, z, w) that turns the direction against gravity to y."""
    size = np.linalg.norm(gravity)
    if size == 0:
        return [0.0, 0.0, 0.0, 1.0]
    up = -np.asarray(gravity, dtype=float) / size
    if up[1] < -1 + 1e-12:
        return [1.0, 0.0, 0.0, 0.0]
    rotation = np.append(np.cross(up, [0.0, 1.0, 0.0]), 1.0 + up[1])
    return [float(x) for x in rotation / np.linalg.norm(rotation)]


def _warn(result: Result, picked: np.ndarray, errors: Mapping[str, float], name: str) -> None:
    """Warn of displacements that the morph targets omit, and of rotations that are too large between two frames."""
    for flexible, error in errors.items():
        if error > NOTICED:
            warnings.warn(
                GltfWarning(
                    f"{name}: the morph targets of {flexible!r} leave out displacements of {100 * error:.2g} % of the "
                    "largest one. A larger max_targets shows more."
                ),
                stacklevel=4,
            )
    for k, body in enumerate(result.mechanism.bodies):
        start = int(compiled(result.mechanism).q_start[k])
        p = _continuous(result.q[:, start + 3 : start + 7])
        turned = np.append(0.0, np.cumsum(2 * np.arccos(np.einsum("tk,tk->t", p[1:], p[:-1]).clip(-1, 1))))
        farthest = float(np.diff(turned[picked]).max(initial=0.0))
        if farthest > FARTHEST:
            needed = int(np.ceil(len(picked) * farthest / FARTHEST)) + 1
            warnings.warn(
                GltfWarning(
                    f"{name}: {body.name!r} turns by {np.rad2deg(farthest):.0f} degrees between two frames, but "
                    f"players rotate bodies by the smaller angle. Write frames={needed}, and store as many times "
                    "(output_step=)."
                ),
                stacklevel=4,
            )
