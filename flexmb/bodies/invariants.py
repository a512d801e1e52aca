"""The inertia invariants of a flexible body: the integrals over the mesh in its equations of motion."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from fem.errors import MatrixError
from fem.matrices.beam_matrices import LineMass
from fem.model import Model
from fem.renamed import renamed
from flexmb.spatial.lie import skew
from reduction.basis import Basis
from reduction.second_order import SecondOrder

_SPIN = np.array(
    [[[0, 0, 0], [0, 0, -1], [0, 1, 0]], [[0, 0, 1], [0, 0, 0], [-1, 0, 0]], [[0, -1, 0], [1, 0, 0], [0, 0, 0]]]
)
"""`_SPIN[k] @ a = e_k x a`."""
WITHOUT_MASS = 1e-9
"""Rotary inertia of a node, relative to the largest one of a part, that counts as none."""


@renamed(over="transformed")
@dataclass(frozen=True, eq=False)
class InertiaInvariants:
    """Mass integrals of a body in its own frame, for `m` elastic coordinates (docs/theory.md, "One body").

    The position of a material point in the body frame is `c = X + Psi eta + 1/2 g(eta, eta)`.

    | field | shape | meaning |
    |---|---|---|
    | `mass` | | mass |
    | `s0`, `S1`, `SG` | 3; 3,m; 3,m,m | first moments: `int X`, `int Psi_i`, `int g_ij` |
    | `J0`, `J1`, `J2` | 3,3; m,3,3; m,m,3,3 | inertia tensor of the linear field about the origin (below) |
    | `PG` | 3,3,m,m | `PG_ab = int X_a (g_ij)_b`, moments of the second-order field |
    | `h0`, `h` | 3,m; 3,m,m | `H_f[:, j] = h0_j + sum_i eta_i h_ij`, with `h_ij = int Psi_i x Psi_j + int X x g_ij` |

    The inertia tensor of the linear field is `J(eta) = J0 + sum eta_i J1_i + sum eta_i eta_j J2_ij`, with `J2`
    symmetric in `i, j`. The elastic mass matrix is the identity, because the basis is mass-orthonormal. Without a
    second-order field (`geometric_stiffness="none"`), `SG`, `PG` and the symmetric part of `h` are zero. Units:
    consistent.

    Raises `MatrixError` when an array is complex, not finite or of a wrong shape, or when no distribution of mass has
    this mass and inertia.
    """

    mass: float
    s0: Float[np.ndarray, "3"]
    S1: Float[np.ndarray, "3 m"]
    SG: Float[np.ndarray, "3 m m"]
    J0: Float[np.ndarray, "3 3"]
    J1: Float[np.ndarray, "m 3 3"]
    J2: Float[np.ndarray, "m m 3 3"]
    h0: Float[np.ndarray, "3 m"]
    h: Float[np.ndarray, "3 m m"]
    PG: Float[np.ndarray, "3 3 m m"]

    def __post_init__(self) -> None:
        for name in ("s0", "S1", "SG", "J0", "J1", "J2", "h0", "h", "PG"):
            if np.iscomplexobj(getattr(self, name)):
                raise MatrixError(f"Inertia invariant {name} is complex; it must be real.")
            value = np.ascontiguousarray(getattr(self, name), dtype=float)
            if not np.isfinite(value).all():
                raise MatrixError(f"Inertia invariant {name} contains NaN or infinity.")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        m = np.shape(self.S1)[-1]
        shapes = {
            "s0": (3,),
            "S1": (3, m),
            "SG": (3, m, m),
            "J0": (3, 3),
            "J1": (m, 3, 3),
            "J2": (m, m, 3, 3),
            "h0": (3, m),
            "h": (3, m, m),
            "PG": (3, 3, m, m),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise MatrixError(
                    f"Inertia invariant {name} has shape {getattr(self, name).shape}; with {m} elastic coordinates it "
                    f"must be {shape}."
                )
        _require_physical_inertia(self.mass, self.s0, self.J0)

    @property
    def modes(self) -> int:
        """Number `m` of elastic coordinates."""
        return self.S1.shape[1]

    def transformed(self, T: Float[np.ndarray, "m k"]) -> "InertiaInvariants":
        """The integrals for other elastic coordinates z, `eta = T z`, with `T` (m, k). T must be orthonormal, so that
        the elastic mass matrix remains the identity."""

        def both(A: np.ndarray) -> np.ndarray:
            return np.einsum("...ab,ai,bj->...ij", A, T, T, optimize=True)

        return replace(
            self,
            S1=self.S1 @ T,
            SG=both(self.SG),
            J1=np.einsum("akl,ai->ikl", self.J1, T),
            J2=np.einsum("abkl,ai,bj->ijkl", self.J2, T, T, optimize=True),
            h0=self.h0 @ T,
            h=both(self.h),
            PG=both(self.PG),
        )

    @property
    def second_order(self) -> bool:
        """Whether the integrals include a second-order displacement field."""
        return bool(self.SG.any() or self.PG.any())


def _require_physical_inertia(mass: float, s0: np.ndarray, J0: np.ndarray) -> None:
    """Raise `MatrixError` when no distribution of mass has this mass and inertia tensor."""
    if not (np.isfinite(mass) and mass > 0):
        raise MatrixError(f"A body needs a positive, finite mass; found {mass}.")
    if not np.allclose(J0, J0.T, rtol=1e-9, atol=1e-12 * np.abs(J0).max()):
        raise MatrixError(f"The inertia tensor must be symmetric; found\n{J0}")
    centre = s0 / mass
    central = J0 - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    principal = np.linalg.eigvalsh(central)
    scale = max(abs(np.linalg.eigvalsh(J0)).max(), np.finfo(float).tiny)
    if principal[0] <= 1e-12 * scale:
        raise MatrixError(
            f"The inertia about the mass centre must be positive definite; its principal values are {principal}. "
            "A point mass or an ideal line has no attitude: give it a small inertia, or attach it to a body."
        )
    if principal[2] > (principal[0] + principal[1]) * (1 + 1e-9):
        raise MatrixError(
            f"No body has principal moments of inertia {principal}: the largest exceeds the sum of the others "
            "(triangle inequality). Check the reference point and the units of the inertia."
        )


def rigid_mass(mass: float, s: Float[np.ndarray, "3"], J: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "6 6"]:
    """Mass matrix (6, 6) of the rigid velocities `[v, omega]` from the mass, the first moment `s` (3,) and the inertia
    tensor `J` (3, 3)."""
    S = skew(s)
    return np.block([[mass * np.eye(3), -S], [S, J]])


def second_moments(J: Float[np.ndarray, "*n 3 3"]) -> Float[np.ndarray, "*n 3 3"]:
    """The second moments `P = int c c^T` from the inertia tensor `J = tr(P) I - P`; the inverse of `inertia_of`."""
    return 0.5 * np.trace(J, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - J


def inertia_of(P: Float[np.ndarray, "*n 3 3"]) -> Float[np.ndarray, "*n 3 3"]:
    """The inertia tensor `J = tr(P) I - (P + P^T) / 2` of second moments `P`, which need not be symmetric."""
    trace = np.trace(P, axis1=-2, axis2=-1)[..., None, None]
    return trace * np.eye(3) - 0.5 * (P + P.swapaxes(-1, -2))


def inverse_moments(inv: "InertiaInvariants") -> Float[np.ndarray, "3 3"]:
    """Pseudo-inverse of the second moments of the undeformed body about its mass centre."""
    return np.linalg.pinv(second_moments(inv.J0) - np.outer(inv.s0, inv.s0) / inv.mass, rcond=1e-10, hermitian=True)


def rigid_invariants(mass: float, centre: np.ndarray, inertia: np.ndarray) -> InertiaInvariants:
    """Invariants of a rigid body with mass centre `centre` (3,) in the body frame and `inertia` (3, 3) about it."""
    c = np.asarray(centre, dtype=float)
    J0 = np.asarray(inertia, dtype=float) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return InertiaInvariants(
        mass=float(mass),
        s0=mass * c,
        S1=np.zeros((3, 0)),
        SG=np.zeros((3, 0, 0)),
        J0=J0,
        J1=np.zeros((0, 3, 3)),
        J2=np.zeros((0, 0, 3, 3)),
        h0=np.zeros((3, 0)),
        h=np.zeros((3, 0, 0)),
        PG=np.zeros((3, 3, 0, 0)),
    )


def inertia_invariants(model: Model, basis: Basis, second: SecondOrder | None = None) -> InertiaInvariants:
    """The invariants of `basis` on `model`, from products with the finite element mass matrix, without lumping.

    `second` gives the integrals of the second-order displacement field; None omits them.

    All integrals have the form `a^T M b`, where a and b are rigid-body fields `T_k`, `R_k = e_k x X`, modes `Psi_i` or
    rotated modes `W_ki = e_k x Psi_i`; they are therefore valid for consistent and lumped mass matrices. Beams are
    integrated with their own interpolation and with rigidly rotating sections, to second order in the rotation if there
    is a second-order field.

    Cost: `9 m` products with M and one `(3 m, ndof) x (ndof, 3 m)` product.

    Reference: Shabana, Dynamics of Multibody Systems (2013), section 5.4 (inertia shape integrals).
    """
    m, M = basis.n_modes, model.solid_mass
    size = M.shape[0]  # displacements, and for a model made from matrices rotations, which turn with the body as well
    rigid = model.rigid_body_modes_of_all()[:size]
    T, R = rigid[:, :3], rigid[:, 3:]
    MT, MR = M @ T, M @ R
    Psi = model.dof_map.expand(basis.Psi)[:size]
    nodal = _that_carry_mass(M, Psi.reshape(-1, 3, m), len(model.points))
    turned = [_turned(nodal, k).reshape(-1, m) for k in range(3)]  # W

    mass_of_turns = [M @ W for W in turned]
    J1 = np.stack([W.T @ MR for W in turned], axis=2)
    J1 = J1 + J1.transpose(0, 2, 1)
    J2 = np.empty((m, m, 3, 3))
    for k in range(3):
        for l in range(3):
            J2[:, :, k, l] = turned[k].T @ mass_of_turns[l]
    h = np.stack([MW.T @ Psi for MW in mass_of_turns])
    first = T.T @ MR  # int e_k . (e_l x X): antisymmetric, -skew(s0)
    s0 = 0.5 * np.array([first[1, 2] - first[2, 1], first[2, 0] - first[0, 2], first[0, 1] - first[1, 0]])
    mass, S1, J0, h0 = float(np.trace(T.T @ MT) / 3.0), MT.T @ Psi, R.T @ MR, MR.T @ Psi
    moments = np.zeros((3, 3, m, m)) if second is None else second.moments
    for line in model.line_masses(basis.Psi):
        w, X, U = line.mass, line.x, line.u
        mass, s0, S1 = mass + float(w.sum()), s0 + w @ X, S1 + np.einsum("p,pkm->km", w, U)
        J0 = J0 + inertia_of(np.einsum("p,pa,pb->ab", w, X, X)) + line.rotary.sum(axis=0)
        J1 = J1 + 2 * inertia_of(np.einsum("p,pa,pbi->iab", w, X, U))
        J2 = J2 + inertia_of(np.einsum("p,pai,pbj->ijab", w, U, U, optimize=True))
        h0 = h0 + np.einsum("kba,p,pa,pbj->kj", _SPIN, w, X, U) + np.einsum("pab,pbj->aj", line.rotary, line.theta)
        h = h + np.einsum("kba,p,pai,pbj->kij", _SPIN, w, U, U, optimize=True)
        if line.warping is not None:
            J2 = J2 + inertia_of(np.einsum("pai,pbj->ijab", line.warping, line.warping, optimize=True))
        if not line.rotary.any():  # points without sections
            continue
        P1, P2, PG = _turning_sections(line)
        J1, J2, h = (
            J1 + 2 * inertia_of(P1),
            J2 + inertia_of(P2),
            h + np.einsum("kba,ijab->kij", _SPIN, P2, optimize=True),
        )
        moments = moments + PG
    turned_first, turned_moments = model.second_moments(basis.Psi)
    moments = moments + turned_moments
    J2, h = 0.5 * (J2 + J2.transpose(1, 0, 2, 3)), 0.5 * (h - h.transpose(0, 2, 1))
    if second is not None:
        h = h + np.einsum("kba,abij->kij", _SPIN, moments)  # int X x g_ij
    return InertiaInvariants(
        mass=mass,
        s0=s0,
        S1=S1,
        SG=np.zeros((3, m, m)) if second is None else second.first + turned_first,
        J0=J0,
        J1=J1,
        J2=0.5 * (J2 + J2.transpose(0, 1, 3, 2)),
        h0=h0,
        h=h,
        PG=np.zeros((3, 3, m, m)) if second is None else moments,
    )


def _that_carry_mass(M: sp.csr_matrix, nodal: np.ndarray, nodes: int) -> np.ndarray:
    """Displacements of nodes and then their rotations (b, 3, m), these without what no mass follows: rotations about
    the normals of shells, which are no rotations of the material."""
    start, vectors = 3 * nodes, len(nodal) - nodes
    if not vectors:
        return nodal
    first = start + 3 * np.arange(vectors)
    blocks = np.array([[np.asarray(M[first + i, first + j]).ravel() for j in range(3)] for i in range(3)])
    values, axes = np.linalg.eigh(blocks.transpose(2, 0, 1))
    moving = axes * (values > WITHOUT_MASS * values.max())[:, None, :]
    return np.concatenate([nodal[:nodes], moving @ (axes.swapaxes(1, 2) @ nodal[nodes:])])


def _turned(nodal: np.ndarray, k: int) -> np.ndarray:
    """`e_k x u` (n, 3, m) of displacements `u`."""
    i, j = (k + 1) % 3, (k + 2) % 3
    W = np.zeros_like(nodal)
    W[:, i], W[:, j] = -nodal[:, j], nodal[:, i]
    return W


def _turning_sections(line: LineMass) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contributions of the rotations of beam sections to the moments `int Psi_i X^T` (m, 3, 3), `int Psi_i Psi_j^T`
    (m, m, 3, 3) and `int X_a (g_ij)_b` (3, 3, m, m).

    If a section rotates by theta, its point y moves by `theta x y + theta x (theta x y) / 2`.
    """
    theta = line.theta
    S = 0.5 * np.trace(line.rotary, axis1=1, axis2=2)[:, None, None] * np.eye(3) - line.rotary  # int y y^T
    V = np.einsum("kab,pki->piab", _SPIN, theta)
    VS = V @ S[:, None]
    P1 = VS.sum(axis=0)
    P2 = np.einsum("piab,pjcb->ijac", VS, V, optimize=True)
    along = np.einsum("paj,pbi->abij", S @ theta, theta, optimize=True)
    across = np.einsum("pci,pcj,pab->abij", theta, theta, S, optimize=True)
    return P1, P2, 0.5 * (along + along.swapaxes(2, 3)) - across
