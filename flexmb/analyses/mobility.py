"""Degrees of freedom, redundant joint equations, and uniqueness of reactions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from flexmb.equations.initial_conditions import assemble, row_jacobian
from flexmb.equations.projection import DEPENDENT
from flexmb.kernels.base.data import ALONG, ANGLE, CURVE, DISTANCE, DOT, FORCES, HEIGHT, SKATE, SLIP, TRANSLATION
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.locking import EVENT, at_state, require_no_events
from flexmb.mechanism.mechanism import Mechanism
from flexmb.mechanism.state import State
from flexmb.mechanism.system import System
from flexmb.results.result import Result

INVOLVED = 1e-6
"""Participation of an equation in a dependence, relative to the largest, below which its reaction is unique."""


@dataclass(frozen=True, eq=False)
class Mobility:
    """Degrees of freedom and redundancy of a mechanism at a configuration.

    - `degrees_of_freedom`: number of independent motions, elastic ones included; `rigid`: number without deformation.
    - `redundancy`: number of joint equations that depend on others.
    - `not_unique`: for each joint the reaction components, in the axes of its first marker, that the equations of
      motion do not determine. Simulations report the smallest set that carries the load, weighted by inertia;
      `least_reactions` computes the smallest unweighted one.
    - `remedies`: for bodies that could be made flexible, the number of redundant equations that would remain.
    - `dexterity`: smallest singular value of the independent joint equations relative to the largest; near zero, the
      mechanism is near a singular position.
    """

    mechanism: Mechanism
    degrees_of_freedom: int
    rigid: int
    redundancy: int
    not_unique: Mapping[str, tuple[str, ...]]
    remedies: Mapping[str, int]
    dexterity: float

    def is_unique(self, joint: str) -> bool:
        """Whether the equations of motion determine all reactions of a joint."""
        return not self.not_unique[self.mechanism.joint(joint).name]

    def __str__(self) -> str:
        count = f"{self.degrees_of_freedom} degrees of freedom ({self.rigid} of them without deformation)"
        lines = [
            f"{self.mechanism.name!r}: {count}, {self.mechanism.joint_rows} joint equations, {self.redundancy} "
            "redundant"
        ]
        width = max((len(name) for name in self.not_unique), default=0)
        lines += [
            f"  {name:{width}}  {'reactions unique' if not parts else 'not unique: ' + ', '.join(parts)}"
            for name, parts in self.not_unique.items()
        ]
        if self.remedies:
            best = min(self.remedies.values())
            named = ", ".join(repr(name) for name, left in self.remedies.items() if left == best)
            if best == 0:
                lines.append(f"Flexible, one of {named} would make all reactions unique.")
            else:
                left = f"{best} of {self.redundancy} redundant equations"
                lines.append(f"Flexible, one of {named} would leave {left}; make several bodies flexible.")
        return "\n".join(lines)


def mobility(system: System | Mechanism, state: State | None = None) -> Mobility:
    """Degrees of freedom and redundancy at a state, by default the assembled initial state.

    A reaction is unique where no linear dependence of the joint equations involves it. Cost: dense, O(rows^3).

    Source: Wojtyra, Fraczek, "Overconstrained multibody systems" (EUROMECH Colloquium 524, 2012).
    """
    mechanism = system.build() if isinstance(system, System) else system
    if state is None:
        require_no_events(mechanism)
    else:
        mechanism, state = at_state(mechanism, state)
    flat, nj = compiled(mechanism), mechanism.joint_rows
    q = assemble(mechanism, flat)[0] if state is None else state.q
    t = mechanism.initial.t if state is None else state.t
    J = row_jacobian(mechanism, flat, q, mechanism.function_values(t))[1][:nj].toarray()
    A = J / flat.weight
    rigid_columns = np.concatenate([flat.v_start[b] + np.arange(6) for b in range(len(flat.modes))])
    rank, dependence, dexterity = _dependence(A)
    rigid_rank = _dependence(A[:, rigid_columns])[0]
    not_unique = {
        joint.name: tuple(
            _component(mechanism, r) for r in joint.rows if np.abs(dependence[r]).max(initial=0.0) > INVOLVED
        )
        for joint in mechanism.joints
    }
    involved = {name for name, parts in not_unique.items() if parts}
    remedies = {}
    for b, body in enumerate(mechanism.bodies) if involved else ():
        touching = [j for j in mechanism.joints if any(mechanism.markers[k].body == b for k in j.markers)]
        if len(touching) > 1 and involved & {j.name for j in touching}:
            left = nj - _dependence(_with_own_places(A, flat.v_start[b : b + 2], [j.rows for j in touching]))[0]
            if left < nj - rank:
                remedies[body.name] = left
    freedom, rigid = A.shape[1] - rank, 6 * len(flat.modes) - rigid_rank
    return Mobility(mechanism, freedom, rigid, nj - rank, not_unique, remedies, dexterity)


def least_reactions(result: Result) -> Result:
    """The same motion with the smallest of all possible reactions.

    Their forces, and their moments over the mechanism's length, have the least sum of squares. Where joint equations
    are redundant, a simulation reports reactions that are smallest when weighted by the bodies' inertia. Cost: one
    dense decomposition of the joint equations for each stored time.
    """
    mechanism = result.mechanism
    flat, nj = compiled(mechanism), mechanism.joint_rows
    lengths = np.array([1.0 if mechanism.rows[r].kind in FORCES else mechanism.length for r in range(nj)])
    functions = mechanism.function_table(np.array(result.t))
    multipliers = np.empty_like(result.multipliers)
    events = np.isin(np.arange(nj), [r for joint in mechanism.joints if joint.kind == EVENT for r in joint.rows])
    for k, (q, given, reaction) in enumerate(zip(result.q, functions, result.multipliers, strict=True)):
        A = row_jacobian(mechanism, flat, q, given)[1][:nj].toarray() * lengths[:, None] / flat.weight
        A[events & (reaction == 0)] = 0.0  # inactive at this time
        left, s, _ = np.linalg.svd(A)
        dependence = left[:, int((s > DEPENDENT * s[0]).sum()) :]
        scaled = reaction / lengths
        multipliers[k] = lengths * (scaled - dependence @ (dependence.T @ scaled))
    return replace(result, multipliers=multipliers)


def _dependence(A: Float[np.ndarray, "nj nv"]) -> tuple[int, np.ndarray, float]:
    """Rank of joint equations, a basis (nj, d) of their dependences, and their dexterity (see `Mobility`)."""
    if not len(A):
        return 0, np.zeros((0, 0)), 1.0
    lengths = np.linalg.norm(A, axis=1, keepdims=True)
    U, s, _ = np.linalg.svd(A / np.where(lengths > 0, lengths, 1.0))
    rank = int((s > DEPENDENT * s[0]).sum())
    return rank, U[:, rank:], float(s[rank - 1] / s[0]) if rank else 0.0


def _with_own_places(A: np.ndarray, columns: np.ndarray, rows_of_joints: list[tuple[int, ...]]) -> np.ndarray:
    """The equations if each joint moved its own part of a body independently, as the joints of a flexible body do."""
    block = A[:, columns[0] : columns[1]]
    parts = [A[:, : columns[0]], A[:, columns[1] :]]
    for rows in rows_of_joints:
        own = np.zeros_like(block)
        own[list(rows)] = block[list(rows)]
        parts.append(own)
    return np.hstack(parts)


def _component(mechanism: Mechanism, r: int) -> str:
    """The name of the reaction of a joint equation."""
    row = mechanism.rows[r]
    if row.terms:
        return "effort"
    if row.kind in (HEIGHT, SLIP, SKATE):
        return "force y of the edge" if row.kind == SKATE else f"contact force {'xyz'[row.axes[0]]}"
    if row.kind == CURVE:
        return "force across the curve"
    if row.kind == ALONG:
        return "moment z"
    if row.kind == DISTANCE:
        return "force along the rod"
    if row.kind == TRANSLATION:
        return f"force {'xyz'[row.axes[0]]}"
    if row.kind == DOT:
        return f"moment {'xyz'[3 - row.axes[0] - row.axes[1]]}" if row.axes[0] != row.axes[1] else "moment"
    if row.kind == ANGLE and row.function < 0:
        return "moment along the bisector"
    return "drive moment" if row.kind == ANGLE else "drive"
