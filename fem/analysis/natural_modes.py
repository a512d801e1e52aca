"""Natural frequencies and modes of a part, free or held by supports (modal analysis)."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from fem.analysis.model_warnings import (
    warn_of_free_warping,
    warn_of_hinges,
    warn_of_turned_sections,
    warn_of_turned_shells,
)
from fem.analysis.supports import Held, held_part, loose, supports_of
from fem.axes.limits import is_whole
from fem.errors import ConvergenceError, FactorisationError, IllConditionedWarning, MatrixError
from fem.linear_algebra.eigen import Modes, lowest_modes
from fem.linear_algebra.factor import factor
from fem.model import Model
from fem.renamed import renamed
from fem.shown import shown
from fem.user_files import written_whole

NO_STIFFNESS = 1e-15
"""Strain energy of a mode, relative to the sum of the absolute values of its terms, that counts as none: round-off,
which leaves 1e-16 of rigid motions."""
LITTLE_STIFFNESS = 1e-13
"""The same for modes whose frequency round-off changes by some 1e-3, of which a warning says so."""
FIRST_SHIFT = 1e-9
"""First shift of the eigenvalues, relative to the stiffness over the mass of a usual dof."""
SMALLER = 1e-4
"""Factor of the next shift where the modes are too close together beside a shift to be told apart."""
TRIES = 3
LEAST_SHIFT, LARGEST_SHIFT = 1e-5, 1e2
"""A shift between these multiples of the lowest elastic eigenvalue resolves modes and motions without stiffness."""
ROUND_OFF = 1e-16
FIRST = 16
"""Modes of the first trial when a band is asked for."""


@renamed()
@shown
@dataclass(frozen=True, eq=False)
class NaturalModes:
    """Natural modes of a part, in ascending order of frequency. Units: consistent; axes: those of the mesh.

    - `frequencies` (k,) in cycles per unit of time, Hz where that is the second; zero for motions without stiffness;
    - `q` (ndof, k): shapes, displacements of the independent dofs of `model`, of modal mass one: `q^T M q = I`;
    - `participation` (k, 6): momentum, and angular momentum about the mass centre of the part, of each mode at unit
      modal velocity;
    - `held_by`: names of what holds the part.
    """

    model: Model
    frequencies: Float[np.ndarray, " k"]
    q: Float[np.ndarray, "ndof k"]
    participation: Float[np.ndarray, "k 6"]
    held_by: tuple[str, ...]

    @property
    def angular_frequencies(self) -> Float[np.ndarray, " k"]:
        """Natural frequencies in radians per unit of time."""
        return 2.0 * np.pi * self.frequencies

    @property
    def rigid_motions(self) -> int:
        """Number of motions without stiffness among the modes: six of a free part (its rigid-body modes), none of one
        that is held, more where pieces of it are loose."""
        return int((self.frequencies == 0.0).sum())

    @property
    def effective_masses(self) -> Float[np.ndarray, "k 6"]:
        """Effective masses of each mode along x, y and z, and effective moments of inertia about these axes through the
        mass centre. Those of all modes add up to the mass and inertia of the part, without what supports hold."""
        return self.participation**2

    @cached_property
    def displacements(self) -> Float[np.ndarray, "n 3 k"]:
        """Displacements of all nodes in each mode."""
        return self.model.displacements(self.q)

    @property
    def rotations(self) -> Float[np.ndarray, "nr 3 k"]:
        """Rotations of the nodes `Model.rotation_nodes` in each mode."""
        dofs = self.model.dof_map
        return dofs.expand(self.q)[3 * dofs.nodes : dofs.start_of_rates].reshape(-1, 3, len(self.frequencies))

    def to_csv(self, path: str | Path) -> Path:
        """Write a table of the modes: frequencies per unit of time, in cycles and radians, and effective masses and
        moments of inertia. Returns the path.

        Raises `MatrixError` when the file cannot be written.
        """
        names = ["mode", "frequency", "angular frequency", *(f"effective mass {a}" for a in "xyz")]
        names += [f"effective inertia {a}" for a in "xyz"]
        number = np.arange(1, len(self.frequencies) + 1)
        columns = np.column_stack([number, self.frequencies, self.angular_frequencies, self.effective_masses])
        try:
            with written_whole(Path(path)) as place:
                np.savetxt(place, columns, fmt="%.15g", delimiter=",", header=",".join(names), comments="")
        except OSError as error:
            raise MatrixError(
                f"The table of natural modes cannot be written to {path}: {error.strerror}. Free space there, or name "
                "another file."
            ) from None
        return Path(path)

    def __str__(self) -> str:
        held = f"held by {', '.join(self.held_by)}" if self.held_by else "free"
        rigid = f", {self.rigid_motions} of them motions without stiffness" if self.rigid_motions else ""
        share = 100 * self.effective_masses[:, :3] / self.model.mass
        lines = [
            f"{len(self.frequencies)} natural modes of {self.model.name!r}, {held}{rigid}",
            f"  {'mode':>4}  {'cycles/time':>12}  {'rad/time':>12}    effective mass in % along x, y, z",
        ]
        rows = zip(self.frequencies, self.angular_frequencies, share, strict=True)
        lines += [
            f"  {k:4d}  {f:12.6g}  {w:12.6g}    " + " ".join(f"{value:6.2f}" for value in part)
            for k, (f, w, part) in enumerate(rows, 1)
        ]
        total = " ".join(f"{value:6.2f}" for value in share.sum(axis=0))
        return "\n".join([*lines, f"  {'all':>4}  {'':12}  {'':12}    {total}"])


def natural_modes(
    model: Model, modes: int | None = None, supports: Any = (), *, band: tuple[float, float] | None = None
) -> NaturalModes:
    """Natural frequencies and shapes of a part, free or held: modal analysis of the full model, without damping.

        found = fem.natural_modes(part, 10, supports=["root"])  # held; without supports: free
        print(found); found.frequencies; found.displacements[:, :, 0]; found.effective_masses

    - `modes`: number of modes, the lowest ones, rigid-body modes included (default 10); or `band = (0, f)`: all up to
      the frequency f, in cycles per unit of time.
    - `supports`: what holds the part, as in `fem.solve_static`: names of interfaces, of node sets, selections, or lists
      of node numbers; or a dictionary of these with the components that each holds, 0 to 2 displacements and 3 to 5
      rotations. Supports of a deck, `fem.read_mesh(..., supports="keep")`, and all its constraints between nodes hold
      as well.

    Rigid interfaces are rigid, also those that hold nothing, as in a reduced body. Frequencies of motions without
    stiffness are zero, and `NaturalModes.rigid_motions` counts them. Dampers and gyroscopic matrices do not count:
    `flexmb.linear.linearise` has the small motions of a mechanism with them. Cost: one or two factorisations, and some
    five solves a mode.

    Raises `MatrixError` for a `modes` or `band` that cannot be, more modes than the part has, and what is no
    `fem.Model`; `MeshError` for unknown supports, and where the file of the mesh says more of the part than is obeyed;
    `FactorisationError` where some of its motions have neither stiffness nor mass; `ConvergenceError`. Issues a
    `MeshWarning` where shells and beams are hinged to solids, where twisted open sections warp freely at supports, and
    where sections of beams or shells that continue each other are turned; an `IllConditionedWarning` where round-off is
    felt in a frequency.

    Source: Grimes, Lewis and Simon, "A shifted block Lanczos algorithm for solving sparse symmetric generalized
    eigenproblems", SIAM J. Matrix Anal. Appl. 15 (1994) 228-272.
    """
    count, limit = _asked(model, modes, band)
    model.require_obeyed()
    warn_of_hinges(model)
    held = held_part(model, supports_of(model, supports))
    warn_of_turned_sections(model)
    warn_of_turned_shells(model)
    warn_of_free_warping(model, held.clamped)
    T, problem = _problem(held)
    available = int((problem.M.diagonal() > 0).sum()) - held.V.shape[1]
    if available < 1 or (limit is None and count > available):
        raise MatrixError(
            f"{held.name} has {max(available, 0)} natural modes; asked for {count}. Ask for fewer, refine the mesh, or "
            "hold less of it."
        )
    values, vectors = _lowest(problem, min(count, available), limit, available)
    q = T @ vectors
    rigid = model.rigid_body_modes_of_all(model.centre_of_mass)
    participation = model.dof_map.expand(q).T @ (model.mass_of_all @ rigid)
    names = [repr(support.name) for support in held.supports]
    names += ["its constraints"] if model.dof_map.holding else []
    return NaturalModes(model, np.sqrt(values) / (2.0 * np.pi), q, participation, tuple(names))


@dataclass(frozen=True, eq=False)
class _Problem:
    """K x = lambda M x where V^T x = 0. `terms`: the sums of absolute values that K consists of, with ones on its
    diagonal: what is small beside them is round-off, such as the stiffness of a piece that a link makes rigid."""

    held: Held
    K: sp.csr_matrix
    M: sp.csr_matrix
    V: sp.csr_matrix
    terms: sp.csr_matrix


def _problem(held: Held) -> tuple[sp.csr_matrix, _Problem]:
    """The map from x to the independent dofs, and the problem in x."""
    model, dofs = held.model, held.model.dof_map
    free = sp.csr_matrix(held.T[:, held.free])
    every = abs(free if dofs.T is None else dofs.T @ free)
    terms = every.T @ abs(model.stiffness_of_all) @ every
    size = terms.diagonal()
    S = sp.diags_array(1 / np.sqrt(np.where(size > 0, size, 1.0)))
    T = sp.csr_matrix(free @ S)
    K, M = (sp.csr_matrix(T.T @ A @ T) for A in (model.K, model.M))
    return T, _Problem(held, K, M, sp.csr_matrix(S @ held.V), sp.csr_matrix(S @ terms @ S))


def _asked(model: Any, modes: Any, band: Any) -> tuple[int, float | None]:
    """The number of modes of the first trial, and the highest eigenvalue of a band."""
    if not isinstance(model, Model):
        raise MatrixError(
            "natural_modes takes a fem.Model, such as fem.Model(mesh, fem.Material.steel()); found a "
            f"{type(model).__name__}. A reduced basis and a flexible body have their own: basis.frequencies, "
            "body.frequencies; a mechanism has flexmb.linear.linearise(system).modes()."
        )
    if modes is not None and band is not None:
        raise MatrixError("natural_modes finds a number of modes, or all of a band: give modes or band, not both.")
    if band is not None:
        low, high = band if np.shape(band) == (2,) else (np.nan, np.nan)
        if not (low == 0 and np.isfinite(high) and high > 0):
            raise MatrixError(f"A band is (0, highest frequency), in cycles per unit of time; found {band}.")
        return FIRST, (2.0 * np.pi * float(high)) ** 2
    count = 10 if modes is None else modes
    if not is_whole(count) or count < 1:
        raise MatrixError(f"natural_modes finds a number of modes, 1 or more; found {modes!r}.")
    return int(count), None


def _lowest(problem: _Problem, count: int, limit: float | None, available: int) -> tuple[np.ndarray, np.ndarray]:
    """The lowest eigenvalues (k,), zero for motions without stiffness, and vectors of the free dofs.

    The matrix is K + s M, which motions without stiffness do not make singular. A second factorisation follows where
    the lowest elastic eigenvalue shows that s was far from it.
    """
    ratio = problem.M.diagonal()
    shift = FIRST_SHIFT / float(np.median(ratio[ratio > 0]))
    for attempt in range(TRIES):
        try:
            found, values, share = _at_shift(problem, shift, count, limit, available)
        except ConvergenceError:
            if attempt == TRIES - 1:
                raise
            shift *= SMALLER
            continue
        elastic = values[values > 0]
        if not len(elastic) or LEAST_SHIFT * elastic[0] <= shift <= LARGEST_SHIFT * elastic[0]:
            break
        shift = float(elastic[0])
    uncertain = np.flatnonzero((values > 0) & (share < LITTLE_STIFFNESS))
    if len(uncertain):
        k = int(uncertain[0])
        text = (
            f"{problem.held.name}: the strain energy of mode {k + 1} is {share[k]:.1e} of the terms that it is the sum "
            f"of, and their round-off changes its frequency by up to a part of {ROUND_OFF / share[k]:.1g}: the part is "
            "very slender for the size of its cells. Take larger cells, or beams and shells in the place of solids."
        )
        warnings.warn(IllConditionedWarning(text), stacklevel=3)
    inside = len(values) if limit is None else int(np.searchsorted(values, limit, side="right"))
    return values[:inside], found.vectors[:, :inside]


def _at_shift(
    problem: _Problem, shift: float, count: int, limit: float | None, available: int
) -> tuple[Modes, np.ndarray, np.ndarray]:
    """Modes by the inverse of K + `shift` M, their eigenvalues, and their strain energies over the sums of the absolute
    values of the terms of these."""
    held, V, n = problem.held, problem.V, problem.K.shape[0]
    A = sp.csr_matrix(problem.K + shift * problem.M)
    try:
        if V.shape[1]:
            inverse = factor(sp.block_array([[A, V], [V.T, None]], format="csr"), "symmetric", solver=held.model.solver)
        else:
            inverse = factor(A, "positive-definite", solver=held.model.solver)
    except FactorisationError as error:
        raise FactorisationError(
            f"{held.name}: some of its motions have neither stiffness nor mass. {loose(held, error)}"
        ) from error

    def solve(F: np.ndarray) -> np.ndarray:
        return np.asarray(inverse.solve(np.vstack([F, np.zeros((V.shape[1], F.shape[1]))])))[:n]

    start = None
    with inverse:
        while True:
            found = lowest_modes(solve, problem.M, count, start)
            X, sizes = found.vectors, np.abs(found.vectors)
            # the eigenvalue less the shift has the round-off of the factor, which a motion of few terms exceeds
            share = np.einsum("ik,ik->k", X, problem.K @ X) / np.einsum("ik,ik->k", sizes, problem.terms @ sizes)
            values = np.where(share <= NO_STIFFNESS, 0.0, found.eigenvalues - shift)
            if limit is None or values[-1] > limit or count == available:
                return found, values, share
            count, start = min(2 * count, available), found.vectors
