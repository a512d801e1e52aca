"""What is right as it stands and seldom meant: warnings before a model is solved or reduced."""

import warnings
from typing import Any

import numpy as np

from fem.beam import Beam
from fem.dofs.warping import LARGEST_ANGLE, freely_warping, loose_ends, stepped_sections, turned_sections
from fem.errors import MeshWarning
from fem.mesh import check
from fem.model import Model
from fem.shell import Shell


def warn_of_hinges(model: Model) -> None:
    """Issue a `MeshWarning` where shells and beams end at nodes of solids that no rigid interface and no rigid link
    holds: solids have no rotations, and what ends there turns freely."""
    if model.mesh is not None:
        rigid = [i.nodes for i in model.interfaces.values() if i.kind == "rigid"]
        check.warn_of_hinges(model.mesh, np.concatenate([np.zeros(0, dtype=np.int64), *rigid]))


def warn_of_free_warping(model: Model, held: Any = ()) -> None:
    """Issue a `MeshWarning` where rigid interfaces, or supports of the nodes `held`, clamp beams of open sections
    whose torsion is Saint-Venant's: they warp freely there, and twist too far; and where beams whose torsion is
    Vlasov's meet at an angle or with sections the other way up, or end at links and other cells: there, too,
    warping is free."""
    if not model.has_elements:
        return
    source = model.elements
    held = np.asarray(held, dtype=np.int64)
    _warn_of_loose_ends(model, held)
    rigid = [i.nodes for i in model.interfaces.values() if i.kind == "rigid"]
    clamped = np.unique(np.concatenate([held, *rigid]))
    for run in freely_warping(source.mesh, model.materials, source.material_of, clamped)[:3]:
        s, nodes = run.beam.section, ", ".join(map(source.mesh.node_label, run.clamped[:4]))
        who = "supports" if np.isin(run.clamped, held).any() else "rigid interfaces"
        warnings.warn(
            MeshWarning(
                f"Model {model.name!r}: {who} clamp beams of an open section (material "
                f"{run.beam.name!r}, warping constant {s.warping:.4g}, node {nodes}), whose torsion is "
                f"Saint-Venant's: the section warps freely there, and over its length of {run.length:.4g} "
                f"(k L = {run.decay:.3g}) it twists up to {run.ratio:.3g} times as far as with warping held. Take "
                'fem.Beam(..., torsion="vlasov") if the joints hold it; Interface(..., kind="average") says that '
                "they do not."
            ),
            stacklevel=3,
        )


def warn_of_turned_sections(model: Model) -> None:
    """Issue a `MeshWarning` where beams of one material continue each other with its section turned or mirrored."""
    if not model.has_elements:
        return
    source = model.elements
    found = turned_sections(source.mesh, model.materials, source.material_of)
    if found:
        node, k = found[0]
        text = (
            f"Model {model.name!r}: beams of {model.materials[k].name!r} continue each other at {len(found)} nodes "
            f"(first: {source.mesh.node_label(node)}) with the section turned or mirrored. The default y_axis is "
            "the mesh's y, and z for beams within 8 degrees of it; z changes sides where the nodes of a cell run "
            "the other way. Give a fem.Beam(..., y_axis=...) across all of them, and their nodes in one direction."
        )
        warnings.warn(MeshWarning(text), stacklevel=3)


def warn_of_turned_shells(model: Model) -> None:
    """Issue a `MeshWarning` where shells with an offset, or with layers that are not the same from both sides,
    continue each other with opposite normals."""
    if model.has_elements:
        source = model.elements
        for k, material in enumerate(model.materials):
            if isinstance(material, Shell) and material.has_sides:
                check.warn_of_turned_shells(source.mesh, np.flatnonzero(source.material_of == k), material.name)


def _warn_of_loose_ends(model: Model, supported: np.ndarray) -> None:
    source = model.elements
    stated = np.concatenate([supported, *(i.nodes for i in model.interfaces.values())])
    ends = loose_ends(source.mesh, model.materials, source.material_of, stated)
    label = source.mesh.node_label
    corners = [end for end in ends if end.angle is not None and end.angle > LARGEST_ANGLE]
    turned = [end for end in ends if end.angle is not None and end.angle <= LARGEST_ANGLE]
    others = [end for end in ends if end.angle is None]
    held = 'A rigid interface holds it there, one of kind="average" says that it is free.'
    if corners:
        first = min(corners, key=lambda end: round(end.angle or 0.0, 3))
        told = (
            f"meet at an angle of more than {LARGEST_ANGLE:g} degrees at {len(corners)} nodes (first: "
            f"{label(first.node)}, {first.angle:.3g} degrees), and each warps freely there. Divide a curved beam "
            f"more finely; at a corner, the joint decides what it holds. {held}"
        )
        warnings.warn(MeshWarning(f'Model {model.name!r}: beams with torsion="vlasov" {told}'), stacklevel=4)
    if turned:
        told = (
            f"continue each other at {len(turned)} nodes (first: {label(turned[0].node)}) with sections that are "
            "turned by 180 degrees or mirrored, and each warps freely there. Give the nodes of their cells in one "
            f"direction, and one y_axis. {held}"
        )
        warnings.warn(MeshWarning(f'Model {model.name!r}: beams with torsion="vlasov" {told}'), stacklevel=4)
    stepped = stepped_sections(source.mesh, model.materials, source.material_of)
    stepped = [step for step in stepped if step[0] not in stated]
    if stepped:
        node, *both = stepped[0]
        beams = [m for m in (model.materials[k] for k in both) if isinstance(m, Beam)]
        shapes = " and ".join(f"{beam.section.warping:.4g}" for beam in beams)
        told = (
            f"continue each other at {len(stepped)} nodes (first: {label(node)}, warping constants {shapes}) with "
            f"sections that warp in two ways, and share one rate "
            "of twist: one bimoment does not join them, and stiffness and stresses of warping are a guess near "
            "there. Divide a tapered beam into smaller steps; model the joint of two shapes by shells; or state "
            'what it does, by an interface: a rigid one holds the warping, kind="average" accepts this.'
        )
        warnings.warn(MeshWarning(f'Model {model.name!r}: beams with torsion="vlasov" {told}'), stacklevel=4)
    if others:
        told = (
            f"end at {len(others)} nodes of links or other cells (first: {label(others[0].node)}), and warp freely "
            f"there. fem.Equation([node], [6], [1.0]) holds their warping. {held}"
        )
        warnings.warn(MeshWarning(f'Model {model.name!r}: beams with torsion="vlasov" {told}'), stacklevel=4)
