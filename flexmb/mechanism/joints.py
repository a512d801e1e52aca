"""The kinds of joints, as records of their equations. Users can register further kinds.

A joint connects two markers `a` and `b`. With the position `d` of `b` relative to `a` and the relative rotation
`S = R_a^T R_b`, both resolved in marker `a`, it is a set of scalar equations of three types:

- `("translation", i)`: `d_i` is prescribed (zero unless driven);
- `("dot", i, j)`: `S_ij = 0`, so that axis `i` of marker `a` is perpendicular to axis `j` of marker `b`;
- `("twist",)`: `S` is the shortest rotation that takes the z axis of `a` to that of `b`, without a rotation about them.
  Shafts along these axes then turn at the same speed whatever their angle is.

The axis of the joint is the z axis of both markers. In the universal joint, axis x is fixed in `a` and axis y in `b`.
As the equations depend on relative quantities only, their Jacobian in body-frame velocities does not change in a rigid
motion of the whole mechanism. The equations are evaluated in flexmb/kernels/equations/rows.py.

Reference: Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), chapter 9 (dot-1 conditions).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fem.errors import unknown_name
from fem.renamed import refuse_old_names
from flexmb.errors import JointError


@dataclass(frozen=True)
class JointKind:
    """A kind of joint, defined by its `equations`, from which all its other properties follow.

    `second_axis`: the joint has two perpendicular axes, the first (x of the markers) fixed in body a and the second (y)
    in body b.

    Raises `JointError` when an equation does not exist, there is no equation, or the equations are redundant.
    """

    name: str
    equations: tuple[tuple, ...]
    second_axis: bool = False

    def __post_init__(self) -> None:
        for equation in self.equations:
            if not isinstance(equation, tuple) or equation not in _BLOCKED:
                raise JointError(
                    f'Joint kind {self.name!r}: an equation is ("translation", i), ("twist",) or ("dot", i, j) with '
                    f"axes i != j among 0, 1, 2; found {equation!r}."
                )
        if not self.equations or len(self.free_axes) != 6 - len(self.equations):
            raise JointError(
                f"Joint kind {self.name!r}: {len(self.equations)} equations leave the axes {self.free_axes} of "
                "[translation, rotation] free. Each equation must block an axis of its own."
            )

    @property
    def free_axes(self) -> tuple[int, ...]:
        """The components of the relative twist [translation, rotation], in the axes of the closed joint, that are
        free."""
        blocked = {_BLOCKED[equation] for equation in self.equations}
        return tuple(k for k in range(6) if k not in blocked)

    @property
    def axes(self) -> tuple[int, ...] | None:
        """The free axes if the free motions form a group, so that the joint can be an edge of a spanning tree; None if
        the composition of two free motions is not a free motion."""
        translations, rotations = {k for k in self.free_axes if k < 3}, {k - 3 for k in self.free_axes if k > 2}
        turned = {0, 1, 2} - rotations if len(rotations) == 1 else {0, 1, 2} if rotations else set()
        group = len(rotations) != 2 and (not turned & translations or turned <= translations)
        return self.free_axes if group else None

    @property
    def commuting(self) -> bool:
        """Whether the free translations commute with the free rotations, so that a uniform motion remains uniform."""
        translations, rotations = {k for k in self.free_axes if k < 3}, {k - 3 for k in self.free_axes if k > 2}
        return not rotations or translations <= (rotations if len(rotations) == 1 else set())

    @property
    def aligned(self) -> tuple[int, ...]:
        """The axes that both markers share while the joint is closed.

        The equations also hold after half a turn; a configuration with one of these axes reversed is rejected.
        """
        turning = {k - 3 for k in self.free_axes if k > 2}
        return tuple(k for k in range(3) if turning <= {k})

    @property
    def dofs(self) -> tuple[str, ...]:
        """The free motions about and along the z axis, on which drivers, motors, springs and stops can act."""
        open_ = {"rotation": 5 in self.free_axes and 2 in self.aligned, "translation": 2 in self.free_axes}
        return tuple(motion for motion, allowed in open_.items() if allowed)

    @property
    def bends(self) -> bool:
        """Whether the joint connects two shafts at an angle, the z axes of its markers, which turn alike."""
        return ("twist",) in self.equations

    @property
    def holds_point(self) -> bool:
        """Whether a point of one body coincides with a point of the other."""
        return all(k > 2 for k in self.free_axes)

    @property
    def welds(self) -> bool:
        """Whether the joint has no free motion."""
        return not self.free_axes


_BLOCKED: dict[tuple, int] = {
    **{("translation", i): i for i in range(3)},
    **{("dot", i, j): 6 - i - j for i in range(3) for j in range(3) if i != j},
    ("twist",): 5,
}
"""The axis of [translation, rotation] that each equation blocks: axes `i` and `j` remain perpendicular if there is no
rotation about the third."""

_POINT = (("translation", 0), ("translation", 1), ("translation", 2))
_ON_AXIS = (("translation", 0), ("translation", 1))
_ALIGNED = (("dot", 0, 2), ("dot", 1, 2))
_LOCKED = (("dot", 1, 2), ("dot", 0, 2), ("dot", 0, 1))

_TAKEN = {
    "prescribed": "a prescribed motion",
    "locked": "a locked coordinate",
    "event": "a coordinate that an event locks",
    "distance": "a rod without mass",
    "rolling": "a wheel that rolls without slip",
    "knife-edge": "a place that moves along its heading",
    "point-on-curve": "a place on a curve",
    "slider-on-curve": "a slider on a curve",
} | dict.fromkeys(("gear", "rack", "screw", "differential", "relation"), "a relation between joints")
_REGISTERED: dict[str, JointKind] = {}
JOINTS: Mapping[str, JointKind] = MappingProxyType(_REGISTERED)
"""All kinds of joints by name."""


def register_joint(kind: JointKind) -> JointKind:
    """Register a kind of joint for `System.joint`, model files and all analyses; returns it.

    Raises `JointError` when another kind has the same name.
    """
    if not isinstance(kind.name, str) or not kind.name:
        raise JointError(f"A joint kind needs a name; found {kind.name!r}.")
    known = _TAKEN.get(kind.name) or _REGISTERED.get(kind.name, kind)
    if known != kind:
        raise JointError(f"There is a joint kind {kind.name!r} already: {known}. Choose another name.")
    _REGISTERED[kind.name] = kind
    return kind


for _kind in (
    JointKind("fixed", _POINT + _LOCKED),
    JointKind("revolute", _POINT + _ALIGNED),
    JointKind("prismatic", _ON_AXIS + _LOCKED),
    JointKind("cylindrical", _ON_AXIS + _ALIGNED),
    JointKind("spherical", _POINT),
    JointKind("universal", (*_POINT, ("dot", 0, 1)), second_axis=True),
    JointKind("planar", (("translation", 2), *_ALIGNED)),
    JointKind("point-on-line", _ON_AXIS),
    JointKind("point-on-plane", (("translation", 2),)),
    JointKind("constant-velocity", (*_POINT, ("twist",))),
):
    register_joint(_kind)


def joint_kind(name: str) -> JointKind:
    """The joint kind called `name`. Raises `JointError`, which lists the existing kinds, when there is none."""
    if not isinstance(name, str) or name not in JOINTS:
        raise JointError(unknown_name("joint kind", name, JOINTS))
    return JOINTS[name]


def turns(kind: str) -> bool:
    """Whether a joint of this kind rotates about its axis, freely or as prescribed, and hence has a continuous
    angle."""
    return kind == "prescribed" or (kind in JOINTS and "rotation" in JOINTS[kind].dofs)


def aligned_axes(kind: str) -> tuple[int, ...]:
    """The axes that both markers of a joint of this kind share."""
    return (2,) if kind == "prescribed" else JOINTS[kind].aligned if kind in JOINTS else ()


def joint_dof(joint: str, kind: str, dof: str | None) -> str:
    """The free motion "rotation" or "translation" selected by `dof`, also by its name in results, "rotation z" or
    "translation z"; None selects the first that the joint has.

    Raises `JointError` when the joint does not have it.
    """
    free = JOINTS[kind].dofs if kind in JOINTS else ()
    named = dof.removesuffix(" z") if isinstance(dof, str) else dof
    chosen = named or (free[0] if free else None)
    if chosen is None or chosen not in free:
        instead = (
            ""
            if free
            else (
                "; springs, motors, drivers and locks act in one motion about or along the axis of a joint. Make this "
                "one of revolute and prismatic joints with light bodies between them, or use a bushing at its places"
            )
        )
        raise JointError(
            f"Joint {joint!r} ({kind}) has no free {dof or 'motion'} about or along its axis. Free motions: "
            f"{', '.join(free) or 'none'}{instead}."
        )
    return chosen


refuse_old_names(__name__)
