"""Groups of contacts over a stored motion: the pairs that touch, and their forces."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fem.errors import unknown_name
from fem.shown import shown
from flexmb.errors import MechanismError
from flexmb.kernels.base.data import make_marker_kinematics, make_workspace
from flexmb.kernels.calls import group_wrenches, pair_force, place_markers
from flexmb.kernels.contact.shapes import MOST
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.mechanism import Mechanism
from flexmb.results.motion import Motion
from flexmb.results.table import Column


@dataclass(frozen=True)
class TouchingPair:
    """Two shapes that touch, by their labels such as "sphere on 'ball'", the depth (length) of their deepest point, and
    the `force` (3) on the second one, in world axes."""

    a: str
    b: str
    depth: float
    force: tuple[float, float, float]


@shown
@dataclass(frozen=True, eq=False)
class ContactGroupMotion:
    """What a group of contacts does at the stored times `t` (nt,).

    - `count` (nt,): number of pairs that touch; `depth` (nt,): the largest depth (length), 0 where none touch.
    - `load` (nt,): the sum of the sizes of the forces of all pairs.
    - `stored` (nt,): the energy of all pairs; `power` (nt,): what they give to the bodies.
    - `pairs`: the touching pairs at each stored time.
    """

    name: str
    t: Float[np.ndarray, "nt"]
    count: Int[np.ndarray, "nt"]
    depth: Float[np.ndarray, "nt"]
    load: Float[np.ndarray, "nt"]
    stored: Float[np.ndarray, "nt"]
    power: Float[np.ndarray, "nt"]
    pairs: tuple[tuple[TouchingPair, ...], ...] = field(repr=False)

    def columns(self) -> dict[str, Column]:
        """Time, number of touching pairs, depth, sum of forces, energy and power (nt,) as columns of a table."""
        return {
            "t": Column(self.t, "time"),
            "touching pairs": Column(self.count, "1"),
            "largest depth": Column(self.depth, "length"),
            "sum of forces": Column(self.load, "force"),
            "energy": Column(self.stored, "energy"),
            "power": Column(self.power, "power"),
        }

    def __str__(self) -> str:
        return (
            f"contacts {self.name!r}: {self.count[-1]} pairs touch at the end (at most {self.count.max()} at "
            f"{len(self.t)} stored times), largest depth {self.depth.max():.6g}, largest sum of forces "
            f"{self.load.max():.6g}"
        )


def groups_of(mechanism: Mechanism) -> list[str]:
    """The names of the groups of contacts."""
    return [group.name for group in mechanism.contact_groups]


def group_motion(motion: Motion, name: str) -> ContactGroupMotion:
    """What the group of contacts `name` does over a motion. Raises `MechanismError` when there is none of this name,
    and `LawError` when shapes overlap by more than their size."""
    mechanism, names = motion.mechanism, groups_of(motion.mechanism)
    if name not in names:
        raise MechanismError(unknown_name("group of contacts", name, names))
    flat, g, nt = compiled(mechanism), names.index(name), len(motion.t)
    kinematics, workspace = make_marker_kinematics(flat), make_workspace(flat)
    labels, call = mechanism.contact_groups[g].call.labels, mechanism.contact_groups[g].call
    own = slice(int(flat.group_start[g]), int(flat.group_start[g + 1]))
    count, depth, load = np.zeros(nt, dtype=np.int64), np.zeros(nt), np.zeros(nt)
    stored, power, pairs = np.zeros(nt), np.zeros(nt), []
    call.forget()
    for k in range(nt):
        place_markers(flat, np.ascontiguousarray(motion.q[k]), kinematics)
        group_wrenches(flat, np.ascontiguousarray(motion.w[k]), kinematics, workspace)
        if call.failure is not None:
            raise call.failure
        found, energy = _touching(flat, g, kinematics, workspace, labels)
        pairs.append(found)
        count[k], load[k] = len(found), sum(float(np.linalg.norm(pair.force)) for pair in found)
        depth[k] = max((pair.depth for pair in found), default=0.0)
        stored[k] = energy
        power[k] = (workspace.group_wrench[own] * workspace.group_motion[own]).sum()
    return ContactGroupMotion(name, np.asarray(motion.t), count, depth, load, stored, power, tuple(pairs))


def _touching(
    flat: Any, g: int, kinematics: Any, workspace: Any, labels: tuple[str, ...]
) -> tuple[tuple[TouchingPair, ...], float]:
    """The touching pairs of group `g` at the last evaluated state, and their energy."""
    points, wrench, first = np.empty((MOST, 8)), np.empty(6), int(flat.group_start[g])
    begin = int(flat.group_pair[g])
    listed = workspace.group_pairs[begin : begin + int(workspace.group_count[g]) - 1].astype(int)
    found, total = [], 0.0
    for i, j in listed.tolist():
        energy, depth = pair_force(flat, g, i, j, kinematics, workspace.group_motion, points, wrench)
        if depth > 0.0:
            x, y, z = (kinematics.axes[flat.group_marker[i]] @ wrench[:3]).tolist()
            found.append(TouchingPair(labels[i - first], labels[j - first], float(depth), (x, y, z)))
            total += energy
    return tuple(found), total
