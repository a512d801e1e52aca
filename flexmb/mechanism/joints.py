"""The joints: a table of which relative motions each kind blocks.

Two markers `a` and `b`; `d` is the position of `b` relative to `a` and `S = R_a^T R_b` the relative rotation,
both resolved in marker `a`. A joint is a set of scalar equations of two sorts:

- `("translation", i)`: `d_i` is prescribed (zero unless driven);
- `("dot", i, j)`: `S_ij = 0`, axis `i` of marker `a` stays perpendicular to axis `j` of marker `b`.

The joint's axis is the z axis of both markers. For the universal joint axis x belongs to `a`, axis y to `b`.
Because only relative quantities enter, the constraint Jacobian in body-frame velocities does not
change when the mechanism moves as a whole.

Reference: Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), chapter 9 (dot-1 conditions).
"""

from dataclasses import dataclass

from fem.errors import unknown_name
from flexmb.errors import JointError


@dataclass(frozen=True)
class JointKind:
    """`equations` it imposes; the relative motions along/about the joint's z axis that are free (`dofs`), and may be driven."""

    name: str
    equations: tuple[tuple, ...]
    dofs: tuple[str, ...]


_POINT = (("translation", 0), ("translation", 1), ("translation", 2))
_ON_AXIS = (("translation", 0), ("translation", 1))
_ALIGNED = (("dot", 0, 2), ("dot", 1, 2))
_LOCKED = (("dot", 1, 2), ("dot", 0, 2), ("dot", 0, 1))

JOINTS = {
    kind.name: kind
    for kind in (
        JointKind("fixed", _POINT + _LOCKED, ()),
        JointKind("revolute", _POINT + _ALIGNED, ("rotation",)),
        JointKind("prismatic", _ON_AXIS + _LOCKED, ("translation",)),
        JointKind("cylindrical", _ON_AXIS + _ALIGNED, ("rotation", "translation")),
        JointKind("spherical", _POINT, ()),
        JointKind("universal", (*_POINT, ("dot", 0, 1)), ()),
        JointKind("planar", (("translation", 2), *_ALIGNED), ("rotation",)),
        JointKind("point-on-line", _ON_AXIS, ("translation",)),
    )
}


def joint_kind(name: str) -> JointKind:
    """The joint kind called `name`; unknown names are answered with the existing ones."""
    if name not in JOINTS:
        raise JointError(unknown_name("joint kind", name, JOINTS))
    return JOINTS[name]


def turns(kind: str) -> bool:
    """Whether a joint of this kind turns about its axis, freely or as prescribed: it has an angle, turns counted."""
    return kind == "prescribed" or (kind in JOINTS and "rotation" in JOINTS[kind].dofs)


def joint_dof(joint: str, kind: str, dof: str | None) -> str:
    """The free motion of a joint meant by `dof`: "rotation" or "translation", by default the first it has."""
    free = JOINTS[kind].dofs if kind in JOINTS else ()
    dof = dof or (free[0] if free else None)
    if dof is None or dof not in free:
        raise JointError(
            f"Joint {joint!r} ({kind}) has no free {dof or 'motion'} about or along its axis. Free: {', '.join(free) or 'none'}."
        )
    return dof
