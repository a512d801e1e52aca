"""A sphere strikes a simply supported beam in the middle: reduced, by beam theory, and by all modes of its mesh."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import fem
import flexmb
import reduction
from flexmb.contact import LocalHertz, Sphere, effective_modulus

ORDERS = 61
"""Half waves of beam theory along the beam, at most."""


class Impact(NamedTuple):
    """Times (nt,), forces (nt,), velocity of the sphere towards the beam at the end, and energies of the modes by their numbers of half waves."""

    t: np.ndarray
    force: np.ndarray
    speed: float
    energies: dict[int, float]

    def spans(self) -> list[tuple[float, float]]:
        """Begin and end of each contact."""
        touches = np.concatenate([[False], self.force > 0.0, [False]])
        edges = np.flatnonzero(np.diff(touches.astype(int)))
        t = np.append(self.t, self.t[-1])
        return [(float(t[a]), float(t[b])) for a, b in zip(edges[::2], edges[1::2], strict=True)]


@dataclass(frozen=True)
class StruckBeam:
    """A beam of a rectangular section, bent about the axis along its width, and a sphere of the same material.

    `cells` along, across and through the beam; `half_length`: of the surface that the sphere may touch; `shapes` of the reduced beam; `step` and `end` of the simulation.
    """

    young: float
    poisson: float
    density: float
    length: float
    width: float
    height: float
    radius: float
    cells: tuple[int, int, int]
    half_length: float
    shapes: int
    step: float
    end: float

    @property
    def mass(self) -> float:
        """Mass of the sphere."""
        return self.density * 4.0 / 3.0 * np.pi * self.radius**3

    @property
    def modulus(self) -> float:
        """Effective modulus of Hertz's law."""
        return float(effective_modulus(self.young, self.poisson, self.young, self.poisson))

    @property
    def stiffness(self) -> float:
        """Force of Hertz's law for an approach of one."""
        return 4.0 / 3.0 * self.modulus * np.sqrt(self.radius)

    def modes(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Squares of the frequencies (2,) of a Timoshenko beam with `order` half waves, and the amplitudes (2,) of its
        deflection for unit modal mass."""
        area, inertia = self.width * self.height, self.width * self.height**3 / 12.0
        factor = 10.0 * (1.0 + self.poisson) / (12.0 + 11.0 * self.poisson)
        shear = self.young / 2.0 / (1.0 + self.poisson) * factor * area
        k = order * np.pi / self.length
        K = np.array([[shear * k**2, -shear * k], [-shear * k, self.young * inertia * k**2 + shear]])
        root = np.sqrt(0.5 * self.length * self.density * np.array([area, inertia]))
        squares, shapes = np.linalg.eigh(0.5 * self.length * K / np.outer(root, root))
        return squares, shapes[0] / root[0]

    def by_beam_theory(self, speed: float) -> Impact:
        """The impact by modes of beam theory, both spectra, with Hertz's law, to 1e-9."""
        orders = np.arange(1, ORDERS + 1, 2)
        squares, amplitudes = (np.array(x) for x in zip(*(self.modes(int(n)) for n in orders), strict=True))
        squares, at = squares.ravel(), (amplitudes * np.sin(0.5 * np.pi * orders)[:, None]).ravel()
        n = len(squares)

        def push(y: np.ndarray) -> np.ndarray:
            return self.stiffness * np.maximum(y[2 * n] - at @ y[:n], 0.0) ** 1.5

        def rates(t: float, y: np.ndarray) -> np.ndarray:
            f = float(push(y))
            return np.concatenate([y[n : 2 * n], at * f - squares * y[:n], [y[2 * n + 1], -f / self.mass]])

        start = np.zeros(2 * n + 2)
        start[-1] = speed
        times = np.arange(0.0, self.end, self.step)
        found = solve_ivp(rates, (0.0, times[-1]), start, method="DOP853", t_eval=times, rtol=1e-9, atol=1e-16)
        q, rate = found.y[:n, -1], found.y[n : 2 * n, -1]
        each = 0.5 * (rate**2 + squares * q**2)
        energies = {int(order): float(each[2 * k]) for k, order in enumerate(orders)}
        return Impact(times, push(found.y), float(found.y[-1, -1]), energies)

    @cached_property
    def part(self) -> fem.Model:
        """The finite element model; x along it, the surface in the middle of its upper side."""
        mesh = fem.structured_meshes.block("hexahedron", (self.length, self.width, self.height), self.cells)
        middle, top = mesh.points.mean(axis=0), mesh.points[:, 2].max()
        near = (np.abs(mesh.points[:, 0] - middle[0]) < self.half_length) & (mesh.points[:, 2] > top - 1e-9)
        part = fem.Model(mesh, fem.Material.isotropic(self.young, self.poisson, self.density))
        ends = {"left": fem.Interface("x0", kind="average"), "right": fem.Interface("x1", kind="average")}
        return part.with_interfaces(**ends).with_surfaces(top=np.flatnonzero(near))

    @cached_property
    def body(self) -> flexmb.Body:
        """The reduced beam."""
        basis = reduction.contact_basis(self.part, self.shapes, frictionless=True)
        return flexmb.flexible_body(self.part, basis, name="beam", geometric_stiffness="none")

    @property
    def points(self) -> np.ndarray:
        """The nodes (n, 3) of the mesh."""
        assert self.part.mesh is not None
        return self.part.mesh.points

    @property
    def axis(self) -> np.ndarray:
        """Nodes of the axis of the beam, along it."""
        points = self.points
        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        on = np.flatnonzero(np.linalg.norm(points[:, 1:] - middle[1:], axis=1) < 0.1 * self.height / self.cells[2])
        return on[np.argsort(points[on, 0])]

    def simulated(self, speed: float, name: str) -> tuple[flexmb.Result, Impact]:
        """The impact of the reduced beam, whose modes are its deflections by half waves between the supports."""
        body, system = self.body, flexmb.System(gravity=(0, 0, 0), name=name)
        own = system.add(body)
        left, right = own["left"], own["right"]
        system.revolute("left", system.ground.at(left.point), left, axis=(0, 1, 0))
        system.in_plane("right", system.ground.at(right.point), right, normal=(0, 0, 1))
        inertia = 0.4 * self.mass * self.radius**2
        points = body.surfaces["top"].points
        top, middle = points[:, 2].max(), 0.5 * (points.min(axis=0) + points.max(axis=0))
        place = (middle[0], middle[1], top + self.radius)
        ball = flexmb.rigid_body("ball", mass=self.mass, inertia=(inertia,) * 3, points={"centre": (0, 0, 0)})
        sphere = system.add(ball, position=place, velocity=(0, 0, -speed))
        local = LocalHertz(self.young, self.poisson, self.young, self.poisson)
        system.contact("blow", Sphere(self.radius).on(sphere.at((0, 0, 0))), own.surface("top"), local=local)
        result = flexmb.simulate(system, self.end, step=self.step, output_step=self.step)
        force = result.surface_contact("blow").normal_force.sum(axis=1)
        left_with = -float(result.velocity("ball.centre")[-1, 2])
        free = np.flatnonzero(force > 0.0)[-1] + 1
        w = np.array([result.position("beam", node=int(k))[free:, 2] for k in self.axis]).T
        energies = self.energies(result.t[free:], w)
        return result, Impact(np.asarray(result.t), force, left_with, energies)

    def energies(self, t: np.ndarray, w: np.ndarray) -> dict[int, float]:
        """Energies of the modes, from the vibration `w` (nt, nodes) of the axis without a force."""
        x = self.points[self.axis, 0]
        x, found = x - x.min(), {}
        for order in (1, 3, 5):
            q = 2.0 / self.length * np.trapezoid(w * np.sin(order * np.pi * x / self.length), x, axis=1)
            squares, amplitudes = self.modes(order)
            omega = np.sqrt(squares[0])
            waves = np.column_stack([np.cos(omega * t), np.sin(omega * t), np.ones_like(t)])
            a, b, _ = np.linalg.lstsq(waves, q, rcond=None)[0]
            found[order] = float(0.5 * squares[0] * (a**2 + b**2) / amplitudes[0] ** 2)
        return found
