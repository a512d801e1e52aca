"""The kinds of joints: which relative motions each blocks, and what else flexmb knows of it, as records that users add to. Their equations are evaluated in flexmb/kernels/equations/rows.py.

Two markers `a` and `b`; `d` is the position of `b` relative to `a` and `S = R_a^T R_b` the relative rotation,
both resolved in marker `a`. A joint is a set of scalar equations of two sorts:

- `("translation", i)`: `d_i` is prescribed (zero unless driven);
- `("dot", i, j)`: `S_ij = 0`, axis `i` of marker `a` stays perpendicular to axis `j` of marker `b`.

The joint's axis is the z axis of both markers. For the universal joint axis x belongs to `a`, axis y to `b`.
Because only relative quantities enter, the constraint Jacobian in body-frame velocities does not
change when the mechanism moves as a whole.

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
    """A kind of joint: its `equations`, from which all else that flexmb knows of it follows.

    - `second_axis`: the joint has two axes, the first (x of the markers) of one body and the second (y), perpendicular to it, of the other.

    Raises `JointError` for equations that do not exist, or of which one repeats what the others say.
    """

    name: str
    equations: tuple[tuple, ...]
    second_axis: bool = False

    def __post_init__(self) -> None:
        for equation in self.equations:
            if not isinstance(equation, tuple) or equation not in _BLOCKED:
                raise JointError(
                    f'Joint kind {self.name!r}: an equation is ("translation", i) or ("dot", i, j) with different axes i, j of 0, 1, 2; found {equation!r}.'
                )
        if not self.equations or len(self.free_axes) != 6 - len(self.equations):
            raise JointError(
                f"Joint kind {self.name!r}: {len(self.equations)} equations leave the axes {self.free_axes} of [translation, rotation] free. Each equation blocks one axis, no two the same."
            )

    @property
    def free_axes(self) -> tuple[int, ...]:
        """Components of the relative twist [translation, rotation], on the axes of the closed joint, that no equation blocks."""
        blocked = {_BLOCKED[equation] for equation in self.equations}
        return tuple(k for k in range(6) if k not in blocked)

    @property
    def axes(self) -> tuple[int, ...] | None:
        """The free axes of a joint by which bodies may hang on one another in a tree; None for one whose motions are no group (of two of them, one after the other, does not make a third)."""
        translations, rotations = {k for k in self.free_axes if k < 3}, {k - 3 for k in self.free_axes if k > 2}
        turned = {0, 1, 2} - rotations if len(rotations) == 1 else {0, 1, 2} if rotations else set()
        group = len(rotations) != 2 and (not turned & translations or turned <= translations)
        return self.free_axes if group else None

    @property
    def commuting(self) -> bool:
        """Whether translations do not turn with rotations: a uniform motion in the joint then stays uniform."""
        translations, rotations = {k for k in self.free_axes if k < 3}, {k - 3 for k in self.free_axes if k > 2}
        return not rotations or translations <= (rotations if len(rotations) == 1 else set())

    @property
    def aligned(self) -> tuple[int, ...]:
        """Axes that both markers share while the joint is closed. Half a turn fulfils perpendicularity too: a joint closed with one of these reversed is refused."""
        turning = {k - 3 for k in self.free_axes if k > 2}
        return tuple(k for k in range(3) if turning <= {k})

    @property
    def dofs(self) -> tuple[str, ...]:
        """The motions about and along the z axis that drivers, motors, springs and stops may act on."""
        open_ = {"rotation": 5 in self.free_axes and 2 in self.aligned, "translation": 2 in self.free_axes}
        return tuple(motion for motion, allowed in open_.items() if allowed)

    @property
    def holds_point(self) -> bool:
        """Whether a point of one body stays at a point of the other."""
        return all(k > 2 for k in self.free_axes)

    @property
    def welds(self) -> bool:
        """Whether nothing moves."""
        return not self.free_axes


_BLOCKED = {("translation", i): i for i in range(3)} | {
    ("dot", i, j): 6 - i - j for i in range(3) for j in range(3) if i != j
}
"""Every equation -> the axis of [translation, rotation] that it blocks: axis `i` stays perpendicular to axis `j` when nothing turns about the third."""

_POINT = (("translation", 0), ("translation", 1), ("translation", 2))
_ON_AXIS = (("translation", 0), ("translation", 1))
_ALIGNED = (("dot", 0, 2), ("dot", 1, 2))
_LOCKED = (("dot", 1, 2), ("dot", 0, 2), ("dot", 0, 1))

_TAKEN = {
    "prescribed": "a motion that is prescribed",
    "locked": "a coordinate that is held",
    "event": "a coordinate that an event holds",
}
_REGISTERED: dict[str, JointKind] = {}
JOINTS: Mapping[str, JointKind] = MappingProxyType(_REGISTERED)
"""All kinds by name."""


def register_joint(kind: JointKind) -> JointKind:
    """From now on `System.joint`, model files and all analyses know this kind; returns it.

    Raises `JointError` for a name that another kind has.
    """
    if not isinstance(kind.name, str) or not kind.name:
        raise JointError(f"A joint kind needs a name; found {kind.name!r}.")
    known = _TAKEN.get(kind.name) or _REGISTERED.get(kind.name, kind)
    if known != kind:
        raise JointError(f"There is a joint kind {kind.name!r} already: {known}.")
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
):
    register_joint(_kind)


def joint_kind(name: str) -> JointKind:
    """The joint kind called `name`; unknown names are answered with the existing ones."""
    if name not in JOINTS:
        raise JointError(unknown_name("joint kind", name, JOINTS))
    return JOINTS[name]


def turns(kind: str) -> bool:
    """Whether a joint of this kind turns about its axis, freely or as prescribed: it has an angle, turns counted."""
    return kind == "prescribed" or (kind in JOINTS and "rotation" in JOINTS[kind].dofs)


def aligned_axes(kind: str) -> tuple[int, ...]:
    """Axes that both markers of a joint of this kind share."""
    return (2,) if kind == "prescribed" else JOINTS[kind].aligned if kind in JOINTS else ()


def joint_dof(joint: str, kind: str, dof: str | None) -> str:
    """The free motion of a joint meant by `dof`: "rotation" or "translation", by default the first it has."""
    free = JOINTS[kind].dofs if kind in JOINTS else ()
    dof = dof or (free[0] if free else None)
    if dof is None or dof not in free:
        raise JointError(
            f"Joint {joint!r} ({kind}) has no free {dof or 'motion'} about or along its axis. Free: {', '.join(free) or 'none'}."
        )
    return dof


refuse_old_names(__name__)
