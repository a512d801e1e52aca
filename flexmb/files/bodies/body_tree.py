"""Bodies as trees of arrays, with everything that a simulation and its pictures need."""

from dataclasses import fields
from pathlib import Path

import numpy as np

from fem.errors import FlexmbError
from fem.mesh.mesh import CellBlock, Mesh
from fem.mesh.unread import Unread
from flexmb.bodies.beam_shapes import BeamShapes
from flexmb.bodies.body import Body, BodyInterface
from flexmb.bodies.invariants import InertiaInvariants
from flexmb.bodies.shape import Shape
from flexmb.bodies.stress_modes import StressShapes
from flexmb.bodies.surfaces import BodySurface
from flexmb.bodies.validity import Validity
from flexmb.errors import FileError
from flexmb.files.storage.sound import require_sound_body
from flexmb.files.storage.tree import Tree
from reduction.residual import ResidualCompliance
from reduction.second_order_modes import SecondOrderModes


def body_tree(body: Body) -> Tree:
    """The tree of arrays that represents a body."""
    inv = body.invariants
    return {
        "name": body.name,
        "invariants": {f.name: getattr(inv, f.name) for f in fields(inv)},
        "stiffness": body.stiffness,
        "damping": body.damping,
        "velocity_matrix": body.velocity_matrix,
        "deflection": body.deflection,
        "interfaces": {
            key: {"point": i.point, "rows": i.rows, "second": i.second} for key, i in body.interfaces.items()
        },
        "mesh": None if body.mesh is None else _mesh_tree(body.mesh),
        "Psi": body.Psi,
        "quadratic": None
        if body.quadratic is None
        else {"pairs": body.quadratic.pairs, "shapes": body.quadratic.shapes},
        "stress": None if body.stress is None else {f.name: getattr(body.stress, f.name) for f in fields(body.stress)},
        "beams": None if body.beams is None else {f.name: getattr(body.beams, f.name) for f in fields(body.beams)},
        "shape": None
        if body.shape is None
        else {"points": body.shape.points, "triangles": body.shape.triangles.astype(np.int32)},
        "surfaces": {key: {f.name: getattr(s, f.name) for f in fields(s)} for key, s in body.surfaces.items()},
        "compliance": None
        if body.compliance is None
        else {f.name: getattr(body.compliance, f.name) for f in fields(body.compliance)},
        "gauge": None
        if body.validity is None
        else {f.name: getattr(body.validity, f.name) for f in fields(body.validity)},
    }


def body_from_tree(tree: Tree, path: str | Path) -> Body:
    """The body that a tree represents.

    Raises `FileError`, with the name of the file at `path`, when an entry is missing or the body is not valid.
    """
    try:
        body = Body(
            name=tree["name"],
            invariants=InertiaInvariants(**tree["invariants"]),
            stiffness=tree["stiffness"],
            damping=tree["damping"],
            velocity_matrix=tree.get("velocity_matrix"),
            deflection=tree["deflection"],
            interfaces={
                key: BodyInterface(i["point"], i["rows"], i["second"]) for key, i in tree["interfaces"].items()
            },
            mesh=None if tree["mesh"] is None else _mesh_from_tree(tree["mesh"]),
            Psi=tree["Psi"],
            quadratic=None if tree["quadratic"] is None else SecondOrderModes(**tree["quadratic"]),
            stress=None if tree.get("stress") is None else StressShapes(**tree["stress"]),
            beams=None if tree.get("beams") is None else BeamShapes(**tree["beams"]),
            shape=None if tree.get("shape") is None else Shape(**tree["shape"]),
            surfaces={key: BodySurface(**s) for key, s in tree.get("surfaces", {}).items()},
            compliance=None if tree.get("compliance") is None else ResidualCompliance(**tree["compliance"]),
            validity=None if tree["gauge"] is None else Validity(**tree["gauge"]),
        )
        require_sound_body(body)
        return body
    except FlexmbError as error:
        raise FileError(f"{path} holds no body that can be: {error}") from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise FileError(f"{path} does not hold a body as flexmb writes it: {error}.") from None


def _mesh_tree(mesh: Mesh) -> Tree:
    return {
        "name": mesh.name,
        "points": mesh.points,
        "cells": [{"kind": b.kind, "connectivity": b.connectivity.astype(np.int32)} for b in mesh.cells],
        "node_sets": dict(mesh.node_sets),
        "cell_sets": dict(mesh.cell_sets),
        "face_sets": dict(mesh.face_sets),
        "node_ids": mesh.node_ids,
        "notes": list(mesh.warnings),
        "instances": {"names": [name for name, _ in mesh.instances], "first": [first for _, first in mesh.instances]},
        "unread": [{f.name: getattr(u, f.name) for f in fields(u)} for u in (*mesh.unread, *_lost(mesh))],
    }


def _lost(mesh: Mesh) -> tuple[Unread, ...]:
    """What files of bodies do not keep, so that no other body is made of the mesh without it."""
    lost = dict.fromkeys(what.source for what in (*mesh.constraints, *mesh.masses, *mesh.springs))
    told = (
        f"(files of bodies keep no constraints, point masses and springs; lost: {', '.join(lost)}; read the deck again)"
    )
    return (Unread("BODY", f"the file of {mesh.name!r}", 1, told),) if lost else ()


def _mesh_from_tree(tree: Tree) -> Mesh:
    blocks = tuple(CellBlock(b["kind"], b["connectivity"].astype(np.int64)) for b in tree["cells"])
    sets = {key: tree[key] for key in ("node_sets", "cell_sets", "face_sets")}
    instances = tree.get("instances", {"names": [], "first": []})
    return Mesh(
        tree["points"],
        blocks,
        **sets,
        node_ids=tree["node_ids"],
        name=tree["name"],
        warnings=tuple(tree["notes"]),
        instances=tuple(zip(instances["names"], map(int, instances["first"]), strict=True)),
        unread=tuple(Unread(**{**u, "line": int(u["line"])}) for u in tree.get("unread", ())),
    )
