"""Rigid and flexible bodies as one record; a rigid body has no elastic coordinates."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fem.axes.limits import LARGEST, as_array, floats, is_number
from fem.errors import InterfaceError, MatrixError, MeshWarning, UnitWarning, unknown_name
from fem.linear_algebra.threads import one_openblas_thread
from fem.mesh.mesh import Mesh, label_of, triple
from fem.model import Model
from fem.renamed import renamed
from fem.shown import shown
from flexmb.bodies.beam_shapes import BeamShapes, beam_shapes
from flexmb.bodies.invariants import InertiaInvariants, inertia_invariants, rigid_invariants
from flexmb.bodies.shape import Shape
from flexmb.bodies.solids import cylinder, shape_of
from flexmb.bodies.stress_modes import StressShapes, stress_shapes
from flexmb.bodies.surfaces import BodySurface, body_surfaces, without_shapes
from flexmb.bodies.validity import Validity, validity
from flexmb.bodies.velocity_matrix import reduced_damping, sound_velocity_matrix
from reduction.basis import Basis
from reduction.error.truncated_statics import truncated_statics
from reduction.residual import ResidualCompliance, residual_compliance
from reduction.second_order import second_order
from reduction.second_order_modes import SecondOrderModes

ROTARY = 0.01
"""Rotary inertia of a node, relative to the moments of inertia of the part, from which a warning names it."""
SECOND_ORDER, NO_SECOND_ORDER = "second-order", "none"
"""Values of `geometric_stiffness`."""


@renamed(over="transformed")
@dataclass(frozen=True, eq=False)
class BodyInterface:
    """An interface of a body, to which joints and forces attach, and its elastic motion.

    - `point` (3,): undeformed position in the body frame.
    - `rows` (6, m): translation and small rotation of the interface, in body axes, per unit of each elastic coordinate.
    - `second` (6, m, m): second-order motion of the interface; None if the body has no second-order field.

    The cost of a time step does not depend on the number of nodes of the interface.

    Raises `InterfaceError` when the point does not have three coordinates, or a number is complex or not finite.
    """

    point: Float[np.ndarray, "3"]
    rows: Float[np.ndarray, "6 m"]
    second: Float[np.ndarray, "6 m m"] | None = None

    def __post_init__(self) -> None:
        for name in ("point", "rows", "second"):
            if name == "second" and self.second is None:
                continue
            given = as_array(getattr(self, name))
            if np.iscomplexobj(given):
                raise InterfaceError(f"The {name} of an interface is complex; it must be real.")
            value = np.ascontiguousarray(floats(getattr(self, name)))
            if value.shape != given.shape:
                raise InterfaceError(f"The {name} of an interface must be numbers; found {getattr(self, name)!r}.")
            if not np.isfinite(value).all():
                raise InterfaceError(f"The {name} of an interface must be finite.")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        if self.point.shape != (3,):
            raise InterfaceError(f"The point of an interface has three coordinates; found shape {self.point.shape}.")

    def transformed(self, T: Float[np.ndarray, "m k"]) -> "BodyInterface":
        """The same interface in other elastic coordinates z, `eta = T z`, with `T` (m, k)."""
        second = None if self.second is None else np.einsum("kab,ai,bj->kij", self.second, T, T, optimize=True)
        return BodyInterface(self.point, self.rows @ T, second)

    def motion(self, eta: Float[np.ndarray, "*n m"]) -> Float[np.ndarray, "*n 6"]:
        """Translation of the point and rotation vector (..., 6), in body axes, for elastic coordinates `eta` (..., m):
        `rows eta + 1/2 second(eta, eta)`."""
        linear = eta @ self.rows.T
        if self.second is None:
            return linear
        return linear + 0.5 * np.einsum("kij,...i,...j->...k", self.second, eta, eta)


@shown
@renamed(gauge="validity")
@dataclass(frozen=True, eq=False)
class Body:
    """A body of a mechanism, described in its own frame, which for a flexible body is the frame of its mesh.

    - `invariants`: the mass integrals.
    - `stiffness` (m,): diagonal of the reduced stiffness matrix, the squares of the angular eigenfrequencies
      (1/time^2).
    - `damping` (m,): diagonal of the reduced damping matrix (1/time).
    - `velocity_matrix` (6 + m, 6 + m): None, or the matrix C of a force `-C [v, omega, etadot]` beside the diagonal
      damping, in body axes: damping that couples elastic coordinates, and gyroscopic forces, for which C is
      antisymmetric (a wheel that spins in the body with the angular momentum H: `C = -skew(H)` for omega).
    - `interfaces`: the places to which joints attach. Joints attach to a rigid body at any other point too.
    - `deflection` (m,): largest nodal displacement per unit of each elastic coordinate; error control is relative to
      it.
    - `mesh`, `Psi` (3 n, m) and `quadratic`, the second-order shapes: they recover nodal displacements and do not enter
      the equations of motion. They are None for a body without a mesh; `quadratic` is None also for a body without
      geometric stiffness.
    - `stress`: stresses of the shapes at the nodes of the skin and the fibres of the beams; None for a body without
      elements, and where no stress is known.
    - `validity`: rotations and strains at the points where they are largest, which show when the body leaves the range
      of its expansion; None for a body without elements.
    - `beams`: the drawn surface of beams with their displacements and stresses; None for a body without beams.
    - `shape`: what pictures show of a rigid body; None for one that is drawn as the box of its inertia, or by its mesh.
    - `surfaces`: where other bodies touch it; `compliance`: what the elastic coordinates lack of the static response of
      the nodes of all surfaces (`reduction.residual`); None for a rigid body and for one without surfaces.

    Units: consistent.

    Raises `MatrixError` when stiffness, damping or deflection is complex, not finite or of a wrong shape, the stiffness
    is not positive or the damping is negative, also that of the velocity matrix; `InterfaceError` when the arrays of an
    interface do not match the number of elastic coordinates.
    """

    name: str
    invariants: InertiaInvariants
    stiffness: Float[np.ndarray, "m"]
    damping: Float[np.ndarray, "m"]
    interfaces: Mapping[str, BodyInterface] = field(default_factory=dict)
    deflection: Float[np.ndarray, "m"] = field(default_factory=lambda: np.zeros(0))
    mesh: Mesh | None = None
    Psi: Float[np.ndarray, "n m"] | None = None
    validity: Validity | None = None
    quadratic: SecondOrderModes | None = None
    stress: StressShapes | None = None
    beams: BeamShapes | None = None
    shape: Shape | None = None
    surfaces: Mapping[str, BodySurface] = field(default_factory=dict)
    compliance: ResidualCompliance | None = None
    velocity_matrix: Float[np.ndarray, "n n"] | None = None

    def __post_init__(self) -> None:
        m = self.invariants.modes
        for name in ("stiffness", "damping", "deflection"):
            if np.iscomplexobj(getattr(self, name)):
                raise MatrixError(f"Body {self.name!r}: {name} is complex; it must be real.")
            value = np.ascontiguousarray(getattr(self, name), dtype=float)
            if value.shape != (m,):
                raise MatrixError(
                    f"Body {self.name!r}: {name} has shape {value.shape}, expected ({m},): one entry for each elastic "
                    "coordinate."
                )
            if not np.isfinite(value).all():
                raise MatrixError(f"Body {self.name!r}: {name} must be finite; found {value}.")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        if (self.stiffness <= 0).any():
            raise MatrixError(
                f"Body {self.name!r}: the reduced stiffness must be positive; the smallest entry is "
                f"{self.stiffness.min():.3g}. The basis contains a rigid-body motion."
            )
        if (self.damping < 0).any():
            raise MatrixError(
                f"Body {self.name!r}: the damping must not be negative; found {self.damping.min():.3g}, which would "
                "supply energy."
            )
        if self.velocity_matrix is not None:
            object.__setattr__(
                self, "velocity_matrix", sound_velocity_matrix(self.velocity_matrix, self.damping, self.name)
            )
        for name, interface in self.interfaces.items():
            if interface.rows.shape != (6, m):
                raise InterfaceError(
                    f"Body {self.name!r}, interface {name!r}: rows have shape {interface.rows.shape}, expected (6, "
                    f"{m})."
                )
            if interface.second is not None and interface.second.shape != (6, m, m):
                raise InterfaceError(
                    f"Body {self.name!r}, interface {name!r}: second has shape {interface.second.shape}, expected (6, "
                    f"{m}, {m})."
                )

        for name, surface in self.surfaces.items():
            if surface.rows.shape[-1] != m:
                raise MatrixError(
                    f"Body {self.name!r}, surface {name!r}: rows have shape {surface.rows.shape}, expected the last "
                    f"dimension {m}."
                )

    @property
    def modes(self) -> int:
        """Number `m` of elastic coordinates; 0 for a rigid body."""
        return self.invariants.modes

    @property
    def is_flexible(self) -> bool:
        """Whether the body has elastic coordinates."""
        return self.modes > 0

    @property
    def frequencies(self) -> Float[np.ndarray, "m"]:
        """Natural frequencies of the elastic coordinates under the reference conditions of the body, in cycles per unit
        of time."""
        return np.sqrt(self.stiffness) / (2 * np.pi)

    @property
    def centre(self) -> Float[np.ndarray, "3"]:
        """Position of the undeformed mass centre in the body frame."""
        return self.invariants.s0 / self.invariants.mass

    def displacements(
        self, eta: Float[np.ndarray, "m"], nodes: Int[np.ndarray, "k"] | None = None
    ) -> Float[np.ndarray, "k 3"]:
        """Elastic displacements (k, 3) of `nodes` (k,) of the mesh (default: all), in body axes, for elastic
        coordinates `eta` (m,). They include the second-order field if the body has one: of all pairs of coordinates on
        surfaces, of the softest pairs elsewhere.

        Raises `MatrixError` for a body without a mesh.
        """
        if self.mesh is None or self.Psi is None:
            raise MatrixError(f"Body {self.name!r} has no mesh and therefore no nodal displacements.")
        nodes = np.arange(len(self.mesh.points)) if nodes is None else nodes
        u = self.Psi.reshape(-1, 3, self.modes)[nodes] @ eta
        u = u if self.quadratic is None else u + self.quadratic.displacements(eta, nodes)
        for surface in self.surfaces.values():
            places = np.full(len(self.mesh.points), -1)
            places[surface.nodes] = np.arange(len(surface.nodes))
            there = places[nodes]
            u[there >= 0] = surface.displacements(eta)[there[there >= 0]]
        return u

    def node_shapes(
        self, node: int
    ) -> tuple[Float[np.ndarray, "3 m"], Int[np.ndarray, "p 2"], Float[np.ndarray, "3 p"]]:
        """Displacements of a node of the mesh per unit of each elastic coordinate, and those of second order with their
        pairs, as in `SecondOrderModes`: all pairs on a surface, and those of `quadratic` elsewhere.

        Raises `MatrixError` for a body without a mesh."""
        for surface in self.surfaces.values():
            for place in np.flatnonzero(surface.nodes == node):
                return surface.rows[place], surface.pairs, surface.second[place]
        if self.Psi is None:
            raise MatrixError(f"Body {self.name!r} has no mesh and therefore no nodal displacements.")
        linear = np.asarray(self.Psi, dtype=float).reshape(-1, 3, self.modes)[node]
        if self.quadratic is None:
            return linear, np.zeros((0, 2), dtype=np.int64), np.zeros((3, 0))
        return linear, self.quadratic.pairs, np.asarray(self.quadratic.shapes[node], dtype=float)

    def interface(self, name: str) -> BodyInterface:
        """The interface called `name`. Raises `InterfaceError`, which lists the existing names, when there is none."""
        if name not in self.interfaces:
            raise InterfaceError(f"Body {self.name!r}: " + unknown_name("interface", name, self.interfaces))
        return self.interfaces[name]

    def rigid(self) -> "Body":
        """The same body without elastic coordinates, with the same mass, inertia and interfaces."""
        inv = self.invariants
        return Body(
            name=self.name,
            invariants=rigid_invariants(inv.mass, self.centre, _about_centre(inv)),
            stiffness=np.zeros(0),
            damping=np.zeros(0),
            interfaces={k: BodyInterface(i.point, np.zeros((6, 0))) for k, i in self.interfaces.items()},
            mesh=self.mesh,
            Psi=None if self.Psi is None else np.zeros((len(self.Psi), 0), dtype=self.Psi.dtype),
            beams=None if self.beams is None else self.beams.transformed(np.zeros((self.modes, 0))),
            shape=self.shape,
            velocity_matrix=None if self.velocity_matrix is None else self.velocity_matrix[:6, :6],
            surfaces={k: without_shapes(s) for k, s in self.surfaces.items()},
        )

    def __str__(self) -> str:
        inv = self.invariants
        lines = [
            f"{'flexible' if self.is_flexible else 'rigid'} body {self.name!r}: mass {inv.mass:.6g}, "
            f"centre {np.round(self.centre, 9)}"
        ]
        if self.is_flexible:
            f = self.frequencies
            lines.append(f"  {self.modes} elastic coordinates, {f[0]:.5g} to {f[-1]:.5g} cycles per unit of time")
            lines.append(f"  geometric stiffness: {SECOND_ORDER if inv.second_order else NO_SECOND_ORDER}")
        if self.velocity_matrix is not None:
            lines.append("  a velocity matrix: damping that couples coordinates, or gyroscopic forces")
        lines += [f"  interface {k!r} at {np.round(i.point, 9)}" for k, i in self.interfaces.items()]
        lines += [f"  surface {k!r}: {len(s.nodes)} nodes, area {s.areas.sum():.6g}" for k, s in self.surfaces.items()]
        return "\n".join(lines)


def _about_centre(inv: InertiaInvariants) -> np.ndarray:
    c = inv.s0 / inv.mass
    return inv.J0 - inv.mass * (c @ c * np.eye(3) - np.outer(c, c))


def rigid_body(
    name: str,
    *,
    mass: float | None = None,
    inertia: Float[np.ndarray, "3 3"] | tuple | list | None = None,
    centre: tuple | list | Float[np.ndarray, "3"] | None = None,
    points: Mapping[str, tuple] | None = None,
    mesh: Shape | Mesh | str | Path | None = None,
    density: float | None = None,
) -> Body:
    """A rigid body from its mass properties, or from its shape and a density.

    - `inertia`: (3, 3) tensor about the mass centre in body axes, or its 3 diagonal entries.
    - `centre` (3,): mass centre in the body frame, by default its origin.
    - `points`: named attachment points in the body frame.
    - `mesh`: the shape of the body, in the body frame: a simple solid of `flexmb.solids`, the path of a surface (.stl,
      .ply, .vtk, ...) or of a mesh, or a `fem.Mesh`. Pictures show it.
    - `density`: mass, mass centre and inertia are those of the volume inside the shape, exactly for its triangles, in
      place of `mass`, `inertia` and `centre`. The surface must be closed.

    Units: consistent.

    Raises `MatrixError` when no distribution of mass has the given mass, centre and inertia, or when they are given
    beside a density, or neither is; `MeshError` when the shape cannot be read, or a density is given and the surface is
    open, inside out or encloses nothing.
    """
    shape = None if mesh is None else shape_of(mesh, name)
    if density is not None:
        given = [key for key, value in (("mass", mass), ("inertia", inertia), ("centre", centre)) if value is not None]
        if shape is None or given:
            found = f"found {', '.join(given)} beside it" if given else "found no mesh"
            raise MatrixError(
                f"Rigid body {name!r}: density = {density} takes mass, centre and inertia from mesh = ...; {found}. "
                "Give mesh and density, or mass and inertia (then the mesh is for pictures)."
            )
        if not (is_number(density) and density > 0):
            raise MatrixError(f"Rigid body {name!r}: the density should be above zero; found {density}.")
        inside = shape.integrals(name)
        mass, centre, inertia = density * inside.volume, inside.centre, density * inside.inertia
    if mass is None or inertia is None:
        raise MatrixError(
            f"Rigid body {name!r}: {'inertia' if mass is not None else 'mass'} is missing. Give mass and inertia, or "
            "mesh and density."
        )
    if not is_number(mass):
        raise MatrixError(f"Rigid body {name!r}: the mass is a number; found {mass!r}.")
    mass = float(mass)
    if points is not None and not isinstance(points, Mapping):
        raise MatrixError(f"Rigid body {name!r}: points are places by name, a dict; found {points!r}.")
    inertia = floats(inertia)
    if inertia.shape == (3,):
        inertia = np.diag(inertia)
    if inertia.shape != (3, 3):
        raise MatrixError(
            f"Rigid body {name!r}: inertia has shape {inertia.shape}, expected (3, 3) or its 3 diagonal entries."
        )
    centre = np.zeros(3) if centre is None else floats(centre)
    if centre.shape != (3,) or not np.isfinite(centre).all():
        raise MatrixError(f"Rigid body {name!r}: centre must be 3 finite coordinates, found {centre}.")
    try:
        invariants = rigid_invariants(mass, centre, inertia)
    except MatrixError as error:
        raise MatrixError(f"Rigid body {name!r}: {error}") from None
    interfaces = {k: BodyInterface(floats(p), np.zeros((6, 0))) for k, p in (points or {}).items()}
    return Body(
        name=name,
        invariants=invariants,
        stiffness=np.zeros(0),
        damping=np.zeros(0),
        interfaces=interfaces,
        shape=shape,
    )


def uniform_rod(name: str, *, mass: float, length: float, radius: float | None = None) -> Body:
    """A rigid uniform rod along the body x axis from the origin to `(length, 0, 0)`, with points "start" and "end".

    `radius` is that of the solid cylinder; the default `length / 100` makes the inertia about the axis of the rod
    positive.

    Raises `MatrixError` when mass, length or radius are not positive, or too large.
    """
    sizes = {"mass": mass, "length": length} | ({} if radius is None else {"radius": radius})
    for what, value in sizes.items():
        if not (is_number(value) and 0 < value <= LARGEST):
            raise MatrixError(f"Rod {name!r}: the {what} must be a positive number of at most 1e100; found {value!r}.")
    radius = length / 100 if radius is None else radius
    across = mass * (3 * radius**2 + length**2) / 12
    return rigid_body(
        name,
        mass=mass,
        inertia=(mass * radius**2 / 2, across, across),
        centre=(length / 2, 0.0, 0.0),
        points={"start": (0.0, 0.0, 0.0), "end": (length, 0.0, 0.0)},
        mesh=cylinder((0.0, 0.0, 0.0), (length, 0.0, 0.0), radius),
    )


@one_openblas_thread()
def _warn_of_rotary_lumps(model: Model) -> None:
    """Issue a `MeshWarning` for lumps with rotary inertia in a part made from matrices, such as the disc of a rotor."""
    if model.has_elements:
        return
    nodes, start = model.rotation_nodes, 3 * len(model.points)
    own = model.solid_mass.diagonal()[start:].reshape(-1, 3).sum(axis=1).tolist()
    found = [(value, f"node {label_of(model.mesh, node)}") for value, node in zip(own, nodes.tolist(), strict=True)]
    for lump in model.lumps:
        about_point = float(np.trace(lump.inertia) + 2 * lump.mass * lump.arm @ lump.arm)
        found.append((about_point, f"the point mass at {triple(lump.centre)}"))
    most, where = max(found, default=(0.0, ""))
    share = most / np.trace(model.inertia())
    if share > ROTARY:
        warnings.warn(
            MeshWarning(
                f"Model {model.name!r}, made from matrices: {where} has {100 * share:.2g} % of the moments of inertia "
                "of the part as rotary inertia of its own. Matrices do not tell how such a lump turns to second order "
                "when the body spins: its gyroscopic and centrifugal forces are wrong; its vibrations at rest are "
                "right. Leave discs and lumps with inertia out, and weld rigid bodies to interfaces there; or read the "
                "deck."
            ),
            stacklevel=3,
        )


def flexible_body(
    model: Model,
    basis: Basis,
    *,
    name: str | None = None,
    modal_damping: ArrayLike | Callable[[np.ndarray], ArrayLike] = 0.0,
    rayleigh: tuple[float, float] = (0.0, 0.0),
    geometric_stiffness: str | None = None,
) -> Body:
    """A flexible body from a finite element `model` and its reduced `basis`.

    - `modal_damping`: the ratio of critical damping of every elastic coordinate, the ratios (m,) of each, or a function
      that returns them for the angular eigenfrequencies (m,). They are those of the reduced body, free or held at its
      frame: a mechanism that lowers a frequency by its mounting or a mass lowers the damping ratio as well
      (docs/reduction.md, "Damping").
      A damping matrix of the model (`Model.D`, made from matrices) is added: its diagonal to `damping`, what couples
      coordinates and its gyroscopic part to `velocity_matrix`.
    - `rayleigh = (alpha, beta)`: adds `D = alpha M_ff + beta K`. Only the elastic coordinates are damped, not the rigid
      motion.
    - `geometric_stiffness`: "second-order" takes displacements to second order in the elastic coordinates, so that the
      body stiffens under rotation, acceleration and joint loads and conserves energy; "none" takes the linear field.
      The default is "second-order", or "none" for a model made from matrices, which has no elements.

    Cost, once per body: see `inertia_invariants` and `reduction.second_order` (one more factorisation). The
    second-order field adds 24 m^2 + O(m) flops to a time step of the body, and 12 m^2 for each joint or load on it; the
    slider-crank of the demo, with m = 16, costs a quarter more.

    Surfaces of the model become those of the body, with their residual compliance (`reduction.residual_compliance`):
    three more solves for each of their nodes, and one for each pair of elastic coordinates with the second-order field.

    Reference: Wallrapp, "Standardization of flexible body modeling in MBS codes" (1994), for the data set.

    Issues a `MeshWarning` where nodes of a model made from matrices carry rotary inertia of their own (discs), and a
    `UnitWarning` for a damping ratio above 1.

    Raises `MatrixError` when the damping ratios do not match the elastic coordinates or are not finite, or the
    geometric stiffness is unknown.
    """
    model.require_obeyed()
    omega = np.sqrt(basis.eigenvalues)
    if callable(modal_damping):
        ratios = floats(modal_damping(omega))
    else:
        ratios = floats(modal_damping)
        ratios = ratios if ratios.ndim else np.full(len(omega), float(ratios))
    if ratios.shape != omega.shape or not np.isfinite(ratios).all():
        raise MatrixError(
            f"Modal damping must give one finite ratio for each of the {len(omega)} elastic coordinates; found shape "
            f"{ratios.shape}."
        )
    if ratios.max(initial=0.0) > 1:
        warnings.warn(
            f"Body {name or model.name!r}: modal damping of {ratios.max():.4g} times critical damping, with which a "
            "vibration creeps back without crossing zero. Ratios are fractions: 5 % is 0.05.",
            UnitWarning,
            stacklevel=2,
        )
    chosen = geometric_stiffness or (SECOND_ORDER if model.has_elements else NO_SECOND_ORDER)
    if chosen not in (SECOND_ORDER, NO_SECOND_ORDER):
        raise MatrixError(unknown_name("geometric stiffness", chosen, (SECOND_ORDER, NO_SECOND_ORDER)))
    _warn_of_rotary_lumps(model)
    compliance = residual_compliance(model, basis) if model.surfaces else None
    second = second_order(model, basis) if chosen == SECOND_ORDER else None
    stress, truncated = None, None
    if model.has_elements:
        truncated = truncated_statics(model, basis) if second is None else second.truncated
        stress = stress_shapes(model, basis, truncated)
    damping = 2 * ratios * omega + rayleigh[0] + rayleigh[1] * basis.eigenvalues
    diagonal, coupled = (0.0, None) if model.D is None else reduced_damping(model, basis)
    nodal = model.displacements(basis.Psi)
    Psi = np.ascontiguousarray(nodal.reshape(-1, basis.n_modes), dtype=np.float32)
    return Body(
        name=name or model.name or "flexible body",
        invariants=inertia_invariants(model, basis, second),
        stiffness=basis.eigenvalues,
        damping=damping + diagonal,
        velocity_matrix=coupled,
        interfaces={
            key: BodyInterface(model.interfaces[key].point, rows, None if second is None else second.interfaces[key])
            for key, rows in basis.interface_modes.items()
        },
        deflection=np.sqrt((nodal**2).sum(axis=1)).max(axis=0),
        mesh=model.mesh,
        Psi=Psi,
        validity=validity(model, basis) if model.has_elements else None,
        quadratic=None if second is None else second.shapes,
        stress=stress,
        beams=beam_shapes(model, basis) if model.has_elements else None,
        surfaces={}
        if compliance is None
        else body_surfaces(model, basis, compliance.nodes, truncated, second_order=second is not None),
        compliance=compliance,
    )
