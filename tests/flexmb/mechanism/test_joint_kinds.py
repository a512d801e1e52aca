"""What follows from the equations of a joint, for every kind that is registered; and kinds of users."""

import numpy as np
import pytest

import flexmb
from flexmb.errors import JointError
from flexmb.mechanism.joints import JOINTS, JointKind, register_joint

TABLE = {
    # kind: axes in the tree, driven motions, aligned axes, commuting, holds a point
    "fixed": ((), (), (0, 1, 2), True, True),
    "revolute": ((5,), ("rotation",), (2,), True, True),
    "prismatic": ((2,), ("translation",), (0, 1, 2), True, False),
    "cylindrical": ((2, 5), ("rotation", "translation"), (2,), True, False),
    "spherical": ((3, 4, 5), (), (), True, True),
    "universal": (None, (), (), True, True),
    "planar": ((0, 1, 5), ("rotation",), (2,), False, False),
    "point-on-line": (None, ("translation",), (), False, False),
    "point-on-plane": (None, (), (), False, False),
    "constant-velocity": (None, (), (), True, True),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_follows_from_the_equations(name):
    kind = JOINTS[name]
    assert (kind.axes, kind.dofs, kind.aligned, kind.commuting, kind.holds_point) == TABLE[name]
    assert kind.welds == (name == "fixed")


def _twists(axes):
    """Matrices (4, 4) of unit twists."""
    for k in axes:
        X = np.zeros((4, 4))
        if k < 3:
            X[k, 3] = 1
        else:
            i, j = (k - 2) % 3, (k - 1) % 3
            X[j, i], X[i, j] = 1, -1
        yield X


@pytest.mark.parametrize("bits", range(1, 63))
def test_kinds_of_a_tree_are_those_whose_twists_are_closed_under_their_bracket(bits):
    """Every set of equations: its motions are a group when the brackets of its twists are twists of the set (a subalgebra)."""
    blocked = [k for k in range(6) if bits >> k & 1]
    equations = [("translation", k) if k < 3 else ("dot", *sorted({0, 1, 2} - {k - 3})) for k in blocked]
    kind = JointKind("any", tuple(equations))
    twists = list(_twists(kind.free_axes))
    assert len(twists) == 6 - len(blocked)
    outside = list(_twists(blocked))
    brackets = [a @ b - b @ a for a in twists for b in twists]
    closed = all(abs(np.vdot(c, x)) < 1e-12 for c in brackets for x in outside)
    assert (kind.axes is not None) == closed
    turns = [a @ b - b @ a for a in twists for b in twists if a[:3, 3].any() != b[:3, 3].any()]
    if closed:
        assert kind.commuting == (not any(c.any() for c in turns))


@pytest.mark.parametrize(
    ("equations", "said"),
    [((("translation", 3),), "an equation is"), ((("dot", 0, 0),), "an equation is"), (((1, 2),), "an equation is"),
     ((("dot", 0, 1), ("dot", 1, 0)), "Each equation must block an axis"), ((), "Each equation must block an axis")],
)  # fmt: skip
def test_equations_that_cannot_be_are_refused(equations, said):
    with pytest.raises(JointError, match=f"Joint kind 'odd': .*{said}"):
        JointKind("odd", equations)


def test_a_name_that_is_taken_is_refused():
    assert register_joint(JOINTS["fixed"]) is JOINTS["fixed"]
    for name in ("fixed", "prescribed"):
        with pytest.raises(JointError, match=f"There is a joint kind '{name}' already"):
            register_joint(JointKind(name, (("translation", 0),)))


def test_a_second_axis_belongs_to_kinds_with_two():
    system = flexmb.System()
    body = system.add(flexmb.rigid_body("block", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(JointError, match="a revolute joint has no second_axis"):
        system.joint("revolute", "hinge", system.ground, body, axis=(1, 0, 0), second_axis=(0, 1, 0), at=(0, 0, 0))
