"""Linear analysis steps of a deck: static displacements and natural frequencies, to compare a part that was read with
the results of the solver that the deck is for."""

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from jaxtyping import Float

from fem.analysis import state
from fem.analysis.cyclic import two_sectors
from fem.analysis.drilling import warn_of_drilling
from fem.analysis.model_warnings import warn_of_turned_shells
from fem.elements import ELEMENTS
from fem.errors import FactorisationError, MeshError, MeshWarning
from fem.linear_algebra.factor import SINGULAR
from fem.loads import pressure
from fem.matrices import assembly
from fem.mesh.constraints import Equation
from fem.mesh.steps import Step, Support
from fem.model import Model
from fem.shown import shown

LINEAR = ("STATIC", "FREQUENCY")
"""Procedures that are solved."""
DENSE = 600
"""Number of dofs up to which dense matrices are solved."""
_LITTLE = 1e-11
"""Stiffness of free motions, over that of each dof, until iteration has removed it."""
_NO_STIFFNESS = 1e-10
"""Stiffness, over the largest of a dof, of motions that count as free."""
_ITERATIONS = 30
CONVERGED = 1e-9
"""Change of the displacements in an iteration, over the largest of them, that counts as none."""
_LIFT = 1e3
"""Value of the extra dof that stands for given displacements, over the largest of them."""


@shown
@dataclass(frozen=True, eq=False)
class StepResult:
    """The result of a step: `displacements` (n, 3), `rotations` (nr, 3) of `Model.rotation_nodes` and `rates` of twist
    (nw,) of beams with torsion by Vlasov of a static step,
    natural `frequencies` (modes,) in cycles per unit of time of a frequency step; the others are empty; the `step`.
    Frequencies of a sector are those of one nodal diameter after the other, each twice."""

    displacements: Float[np.ndarray, "n 3"]
    rotations: Float[np.ndarray, "nr 3"]
    frequencies: Float[np.ndarray, " modes"]
    step: Step
    rates: Float[np.ndarray, " nw"] = field(default_factory=lambda: np.zeros(0))

    def __str__(self) -> str:
        lines = [str(self.step)]
        if len(self.displacements):
            largest = np.linalg.norm(self.displacements, axis=1).max()
            return "\n".join([*lines, f"  largest displacement {largest:g}"])
        first, last = self.step.diameters
        groups = np.array_split(self.frequencies, last - first + 1)
        for diameter, group in enumerate(groups, first):
            where = f" of nodal diameter {diameter}" if self.step.cyclic is not None else ""
            lines.append(f"  frequencies{where}: " + " ".join(f"{f:.6g}" for f in group))
        return "\n".join(lines)


def solve_step(model: Model, step: Step, before: StepResult | None = None) -> StepResult:
    """Solve a linear step of the deck of a model.

    - `before`: result of the step before, whose displacements and stresses change the stiffness in a perturbation step.

    Raises `MeshError` for other procedures, for keywords of the step that are not obeyed, and for thermal strains of
    beams and shells; `FactorisationError` where the supports do not hold the part. Issues a `MeshWarning` where a
    moment acts on the drilling stiffness of shells, where neighbouring shells whose sides differ have opposite
    normals, and for frequencies under pressures, which do not turn with their faces here.
    """
    wrong = [u.label + f" ({u.text})" for u in step.unread]
    if step.procedure not in LINEAR or step.nonlinear or wrong:
        what = "; ".join(wrong) or f"{step.procedure or 'no procedure'}{', NLGEOM' if step.nonlinear else ''}"
        raise MeshError(
            f"Step {step.number} ({step.source.label}) of {model.name!r} is not solved: {what}. Linear steps STATIC "
            "and FREQUENCY are."
        )
    _require_solids(model, step)
    warn_of_turned_shells(model)
    if step.cyclic is not None:
        return _cyclic(model, step, before)
    step = replace(step, supports=tuple(_fixed(model, s, before) for s in step.supports))
    held, lifted, dropped = _held(model, step)
    K = held.K + held.dof_map.condense(_stiffness_change(held, step, before if step.perturbation else None))
    if step.procedure == "FREQUENCY" and step.perturbation:
        K = K - held.dof_map.condense(_centrifugal_stiffness(held, step))
    free = np.setdiff1d(np.arange(held.ndof), dropped)
    if step.procedure == "FREQUENCY":
        if step.modes < 1:
            raise MeshError(
                f"Step {step.number} ({step.source.label}) of {model.name!r} asks for {step.modes} natural "
                "frequencies. Write their number in the data line of *FREQUENCY."
            )
        what = f"Step {step.number} ({step.source.label}) of {model.name!r}"
        if step.perturbation and before is not None and any(p.value for p in before.step.pressures):
            warnings.warn(
                MeshWarning(
                    f"{what}: its frequencies are those under pressures that keep their direction. In CalculiX the "
                    f"pressures of step {before.step.number} turn with their faces, which can change frequencies as "
                    "much as the stresses do."
                ),
                stacklevel=2,
            )
        found = _frequencies(K[free][:, free], held.M[free][:, free], step.modes, what)
        return StepResult(np.zeros((0, 3)), np.zeros((0, 3)), found, step)
    f = _forces(held, step)
    q = np.zeros(held.ndof)
    q[dropped[:1]] = lifted
    q[free] = _displacements(K[free][:, free], (f - K @ q)[free], f"Step {step.number} ({step.source.label})")
    warn_of_drilling(held, f, q)
    u = held.dof_map.expand(q)
    moved, turned, rates = np.split(u, [3 * len(held.points), held.dof_map.start_of_rates])
    return StepResult(moved.reshape(-1, 3)[: len(model.points)], turned.reshape(-1, 3), np.zeros(0), step, rates)


def _cyclic(model: Model, step: Step, before: StepResult | None) -> StepResult:
    """Frequencies of a sector for every nodal diameter of a step, each of them twice."""
    moved = any(s.value for s in step.supports)
    if step.procedure != "FREQUENCY" or moved or (step.perturbation and before is not None):
        raise MeshError(
            f"Step {step.number} ({step.source.label}) of {model.name!r} is not solved: of cyclic symmetry, "
            "frequencies of an unloaded sector are."
        )
    assert step.cyclic is not None
    held, found = tuple(s.equation for s in step.supports), []
    for diameter in range(step.diameters[0], step.diameters[1] + 1):
        K, M = two_sectors(model, step.cyclic, diameter, held, model.elements.mesh.bare_nodes)
        what = f"Step {step.number} ({step.source.label}) of {model.name!r}"
        found.append(_frequencies(K, M, step.modes, what))
    return StepResult(np.zeros((0, 3)), np.zeros((0, 3)), np.concatenate(found), step)


def _fixed(model: Model, support: Support, before: StepResult | None) -> Support:
    """A support with the value at which the step before left its dofs, if it asks for that."""
    if not np.isnan(support.value):
        return support
    e, n = support.equation, 3 * len(model.points)
    if before is None or not before.displacements.size:
        raise MeshError(
            f"{e.source}: holds dofs where the step before left them; give the result of a static step before."
        )
    u = np.zeros(model.dof_map.size_of_all)
    u[:n] = before.displacements.ravel()
    u[n : model.dof_map.start_of_rates] = before.rotations.ravel()
    u[model.dof_map.start_of_rates :] = before.rates
    row = model.dof_map.row(e.nodes, e.components, e.coefficients, e.source)
    return replace(support, value=float((row @ u).item()))


def _held(model: Model, step: Step) -> tuple[Model, float, np.ndarray]:
    """The model under the supports of a step; and the value of the dof of an additional node that stands for given
    displacements, with the places of the dofs of that node, this dof first."""
    mesh = model.elements.mesh
    n = len(mesh.points)
    lift = _LIFT * max((abs(s.value) for s in step.supports), default=0.0)
    rows = []
    for s in step.supports:
        e = s.equation
        if s.value:
            e = Equation(
                np.append(e.nodes, n), np.append(e.components, 0), np.append(e.coefficients, -s.value / lift), e.source
            )
        rows.append(e)
    bare = mesh.bare_nodes
    if lift:
        mesh = replace(mesh, points=np.vstack([mesh.points, mesh.points.mean(axis=0)]), node_ids=None)
    held = model.on_mesh(replace(mesh, constraints=(*rows, *mesh.constraints)), bare)
    places = held.dof_map.places(np.arange(3 * n, 3 * n + 3)) if lift else np.zeros(0, dtype=np.int64)
    if lift and places[0] < 0:
        raise MeshError(
            f"Step {step.number} ({step.source.label}) of {model.name!r}: its supports and the constraints of the part "
            "ask for two values of one dof."
        )
    return held, lift, places


def _displacements(K: sp.csr_matrix, f: np.ndarray, what: str) -> np.ndarray:
    """The solution of K q = f, the smallest one where there are several: K may be singular where f does no work on what
    it leaves free, as on the motions without energy of a row of C3D20R cells or across a plane truss. Other loads are
    refused.

    A little stiffness is added to all dofs, and its error is taken away by iteration, which never adds a free motion.
    Parts so slender that this takes many steps are solved without it.
    """
    diagonal = K.diagonal()
    little = _LITTLE * np.where(diagonal > 0, diagonal, diagonal.max(initial=1.0))
    solve = sla.splu((K + sp.diags(little)).tocsc()).solve
    q = np.zeros(len(f))
    for _ in range(_ITERATIONS):
        step = solve(f - K @ q)
        q = q + step
        if np.abs(step).max(initial=0.0) <= CONVERGED * np.abs(q).max(initial=0.0):
            break
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sla.MatrixRankWarning)  # the residual tells whether it matters
            q = np.asarray(sla.spsolve(K.tocsc(), f))
    if not np.abs(K @ q - f).max(initial=0.0) <= SINGULAR * np.abs(f).max(initial=0.0):  # NaN too
        raise FactorisationError(
            f"{what}: the supports leave parts free that the loads move, and there is no static solution. Hold the "
            "part in all six directions."
        )
    return q


def free_motions(model: Model, step: Step) -> Float[np.ndarray, "n 3 k"]:
    """Displacements of all nodes without energy under the supports of a step, orthonormal: its static solutions differ
    by them. Reduced integration has such motions, and trusses across their plane. At most 12 of a large part."""
    held, _, dropped = _held(model, step)
    free = np.setdiff1d(np.arange(held.ndof), dropped)
    K = held.K[free][:, free]
    scale = float(K.diagonal().max())
    if K.shape[0] <= DENSE:
        values, vectors = sl.eigh(K.toarray())
    else:
        values, vectors = sla.eigsh(K.tocsc(), 12, sigma=-_LITTLE * scale)
    q = np.zeros((held.ndof, int((values < _NO_STIFFNESS * scale).sum())))
    q[free] = vectors[:, values < _NO_STIFFNESS * scale]
    n = 3 * len(model.points)
    u = np.array([held.dof_map.expand(column)[:n] for column in q.T]).reshape(-1, n).T
    return np.asarray(np.linalg.qr(u)[0]).reshape(len(model.points), 3, -1)


def _frequencies(K: sp.csr_matrix, M: sp.csr_matrix, count: int, what: str) -> np.ndarray:
    """The lowest natural frequencies. Raises `FactorisationError` when neither matrix is positive."""
    count = min(count, K.shape[0])
    shift = 1e-9 * float(K.diagonal().max() / M.diagonal().max())
    if K.shape[0] <= DENSE or count > K.shape[0] // 3:
        last = (K.shape[0] - count, K.shape[0] - 1)
        try:  # with M on the left, which may be singular
            inverse = sl.eigh(M.toarray(), (K + shift * M).toarray(), eigvals_only=True, subset_by_index=last)
            values = np.sort(1 / inverse - shift)
        except np.linalg.LinAlgError:  # K is not positive: the part has buckled
            try:
                values = sl.eigh(K.toarray(), M.toarray(), eigvals_only=True, subset_by_index=(0, count - 1))
            except np.linalg.LinAlgError:
                raise FactorisationError(
                    f"{what}: the part has no natural frequencies, because some of its motions have neither stiffness "
                    "nor mass, or less than none. Look at its sections, springs, masses and loads."
                ) from None
    else:
        values = np.sort(sla.eigsh(K.tocsc(), count, M.tocsc(), sigma=-shift, return_eigenvectors=False))
    return np.asarray(np.sign(values) * np.sqrt(np.abs(values)) / (2 * np.pi))


def _forces(model: Model, step: Step) -> np.ndarray:
    """Forces (ndof,) of the loads of a step."""
    dofs, mesh = model.dof_map, model.elements.mesh
    f = np.zeros(dofs.size_of_all)
    for load in step.forces:
        if load.component >= 3 and not dofs.has_rotations(np.array([load.node]))[0]:
            raise MeshError(f"Step {step.number}: a moment on node {mesh.node_label(load.node)}, which cannot turn.")
        f[(dofs.translations if load.component < 3 else dofs.rotations)(load.node)[load.component % 3]] += load.value
    for body in step.bodies:
        axis = body.axis / np.linalg.norm(body.axis)
        r = model.points - body.point
        nodal = body.gravity + body.speed2 * (r - np.outer(r @ axis, axis))
        f += _mass_of(model, body.cells) @ np.concatenate([nodal.ravel(), np.zeros(len(f) - nodal.size)])
    f[: 3 * len(model.points)] += state.forces(model, step).ravel()
    total = np.asarray(dofs.gather(f))
    for p in step.pressures:
        total = total + pressure(model, p.faces, p.value)
    return total


def _mass_of(model: Model, cells: np.ndarray) -> sp.csr_matrix:
    """Mass matrix over the dofs of all nodes of some cells."""
    source = model.elements
    material_of = np.full(len(source.material_of), -1)
    material_of[cells] = source.material_of[cells]
    return assembly.mass_of_all(source.mesh, source.materials, material_of, source.dofs)


def _centrifugal_stiffness(model: Model, step: Step) -> sp.csr_matrix:
    """What displacements across an axis add to the forces of a rotation."""
    size = model.dof_map.size_of_all
    K, n = sp.csr_matrix((size, size)), len(model.points)
    for body in step.bodies:
        a = body.axis / np.linalg.norm(body.axis)
        across = sp.block_diag([sp.kron(sp.eye(n), np.eye(3) - np.outer(a, a)), sp.csr_matrix((size - 3 * n,) * 2)])
        K = K + body.speed2 * (across @ _mass_of(model, body.cells) @ across)
    return sp.csr_matrix(K)


def _require_solids(model: Model, step: Step) -> None:
    """Refuse temperatures and initial stresses of beams and shells."""
    mesh = model.elements.mesh
    cells = [*(h.cells for h in step.heating), *(c.cells for c in step.constants), *(i.cells for i in step.initial)]
    kinds = {mesh.block_of(int(c))[0].kind for group in cells for c in group} - {*ELEMENTS}
    if kinds:
        raise MeshError(
            f"Model {model.name!r}: initial stresses, constants of steps and thermal strains act on solid cells; "
            f"found {', '.join(sorted(kinds))}."
        )


def _stiffness_change(model: Model, step: Step, before: StepResult | None) -> sp.csr_matrix:
    """Change of the stiffness, over the dofs of all nodes, by constants of the step and the state before."""
    source, dofs = model.elements, model.dof_map
    u = np.zeros(dofs.size_of_all)
    n = 3 * len(model.points)
    if before is not None:
        u[: before.displacements.size] = before.displacements.ravel()
        u[n : n + before.rotations.size] = before.rotations.ravel()
        u[dofs.start_of_rates :] = before.rates
    moved = u[:n].reshape(-1, 3)
    solid = state.stiffness_change(model, step, before.step if before is not None else None, moved)
    turning = [(b.geometric_stiffness(u[where]), where) for b, where in source.turning] if before is not None else []
    return assembly.with_turning_cells(solid, turning, dofs.size_of_all)
