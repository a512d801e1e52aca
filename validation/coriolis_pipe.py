"""A tube with a fluid that flows through it: buckling, complex modes, and the phase by which a Coriolis meter measures.

The equation of the tube is `E I w'''' + m U^2 w'' + 2 m U w'. + M w.. = 0`, with the mass `m` of the fluid and `M` of both per length. A pinned tube buckles at `U sqrt(m / E I) L = pi`, a clamped one at `2 pi`. A mode of a flowing
tube is complex: two sensors at equal distances from the middle see it with a difference of phase that is proportional to the flow. The reference is Galerkin's method with polynomials, which shares no code with flexmb.

The tube data are our own. The facts about mounts are those of van de Ridder, van Dijk, Hakvoort and Lötters (Euromech 524, 2012), whose data are not published: on soft mounts with different dampers the sensors differ in phase without
any flow, most at a certain damping; on stiff mounts they do not.
"""

import numpy as np
from numpy.polynomial import Legendre, Polynomial

import fem
import flexmb
import reduction
from fem.mesh.structured_meshes import line
from flexmb.linear import linearise
from validation.plot import Plot
from validation.row import Row

CASE = "coriolis-pipe"
LENGTH, OUTER, INNER, STEEL, WATER, YOUNG = 0.6, 6e-3, 5.4e-3, 7850.0, 1000.0, 2.1e11
SECTION = fem.Section.tube(OUTER, INNER)
FLUID = WATER * np.pi / 4 * INNER**2
MASS = FLUID + STEEL * np.pi / 4 * (OUTER**2 - INNER**2)
BENDING = YOUNG * np.pi / 64 * (OUTER**4 - INNER**4)
ELEMENTS, SENSORS = 20, (0.25, 0.75)
UNIT = np.sqrt(BENDING / FLUID) / LENGTH
"""The speed of the fluid that corresponds to one."""
BLOCK, DAMPER, SPRING = 0.05, 0.3, 400.0
"""Mass of the blocks at the ends (kg), damper (N s/m) and spring (N/m) of the mount at the inlet."""


def tube() -> tuple[flexmb.Body, np.ndarray]:
    """The tube with its fluid as a flexible body, and the points of its line."""
    mesh = line((0, 0, 0), (LENGTH, 0, 0), ELEMENTS)
    material = fem.Material.isotropic(YOUNG, 0.3, MASS / (np.pi / 4 * (OUTER**2 - INNER**2)))
    at = [int(np.abs(mesh.points[:, 0] - x * LENGTH).argmin()) for x in SENSORS]
    part = fem.Model(mesh, fem.Beam(material, SECTION)).with_interfaces(inlet="start", outlet="end", left=[at[0]], right=[at[1]])  # fmt: skip
    basis = reduction.craig_bampton(part, modes=8, reference_frame="inlet")
    return flexmb.flexible_body(part, basis, name="tube", geometric_stiffness="none"), mesh.points


def meter(speed: float, held: str = "clamped", spring: float = SPRING, damper: float = DAMPER) -> flexmb.System:
    """The tube with pinned or clamped ends, or on blocks with mounts; `spring` and `damper` are those at the outlet."""
    system, (body, points) = flexmb.System(name=CASE), tube()
    pipe = system.add(body)
    if held == "mounted":
        for end, x, k, c, joint in (("inlet", 0.0, SPRING, DAMPER, "fixed"), ("outlet", LENGTH, spring, damper, "prismatic")):  # fmt: skip
            block = system.add(flexmb.rigid_body(f"{end} block", mass=BLOCK, inertia=(1e-5,) * 3), position=(x, 0, 0))
            system.prismatic(f"{end} guide", system.ground, block, axis=(0, 1, 0), at=(x, 0, 0))
            system.joint_spring(f"{end} mount", f"{end} guide", stiffness=k, damping=c)
            axis = {} if joint == "fixed" else {"axis": (1, 0, 0)}
            getattr(system, joint)(f"{end} clamp", block, pipe[end], **axis)
    elif held == "clamped":
        system.fixed("inlet clamp", system.ground, pipe["inlet"])
        system.prismatic("outlet clamp", system.ground, pipe["outlet"], axis=(1, 0, 0))
    else:
        system.universal("inlet pin", system.ground, pipe["inlet"], axis=(0, 1, 0), second_axis=(0, 0, 1))
        system.in_line("outlet pin", system.ground, pipe["outlet"], axis=(1, 0, 0))
    system.pipe_flow("water", pipe, points, mass_per_length=FLUID, speed=speed)
    return system


def modes(system: flexmb.System) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, and the complex displacements (2, n) of both sensors across the tube in their modes."""
    model = linearise(system.build())
    values, vectors = np.linalg.eig(model.state_matrix())
    moved = model.N @ vectors[: model.degrees_of_freedom]
    body = model.mechanism.bodies[0]
    seen = []
    for name in ("left", "right"):
        interface = body.interfaces[name]
        across = interface.rows[1] @ moved[6 : 6 + body.modes]
        seen.append(moved[1] + moved[5] * interface.point[0] + across)
    return values, np.array(seen)


def galerkin(speed: float, held: str = "clamped", spring: float = SPRING, damper: float = DAMPER) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The same by Galerkin's method for the equation of the tube."""
    z, weight = np.polynomial.legendre.leggauss(80)
    z, weight = 0.5 * (z + 1), 0.5 * weight
    bubble = Polynomial([0, 0, 1, -2, 1]) if held != "pinned" else Polynomial([0, 1, -1])
    shapes = [bubble * Legendre.basis(k, domain=[0, 1]).convert(kind=Polynomial) for k in range(12)]
    if held == "mounted":
        shapes += [Polynomial([1, 0, -3, 2]), Polynomial([0, 0, 3, -2])]
    f = [np.array([(s.deriv(d) if d else s)(z) for s in shapes]) / LENGTH**d for d in range(3)]
    M, K = MASS * LENGTH * (f[0] * weight) @ f[0].T, BENDING * LENGTH * (f[2] * weight) @ f[2].T
    D = 2 * FLUID * speed * LENGTH * (f[0] * weight) @ f[1].T
    if held == "pinned":
        K -= FLUID * speed**2 * LENGTH * (f[1] * weight) @ f[1].T
    else:
        K += FLUID * speed**2 * LENGTH * (f[0] * weight) @ f[2].T
    if held == "mounted":
        for k, (stiff, damped) in zip((-2, -1), ((SPRING, DAMPER), (spring, damper)), strict=True):
            M[k, k] += BLOCK
            K[k, k] += stiff
            D[k, k] += damped
    n = len(shapes)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    values, vectors = np.linalg.eig(A)
    return values, np.array([[s(x) for s in shapes] for x in SENSORS]) @ vectors[:n]


def chosen(found: tuple[np.ndarray, np.ndarray], near: float) -> tuple[complex, float]:
    """The eigenvalue whose frequency is nearest to `near` (rad/s) with sensors that move across the tube, and the
    difference of phase of the sensors in its mode (rad)."""
    values, seen = found
    size = np.abs(seen).max(axis=0)
    weak = size < 1e-6 * size.max()
    k = int((np.abs(values.imag - near) + 1e9 * weak).argmin())
    return values[k], float(np.angle(seen[0, k] / seen[1, k]))


def buckling(held: str, guess: float) -> float:
    """The speed, in units, at which the squares of the lowest frequencies pass through zero."""
    low, high = 0.99 * guess, 1.01 * guess
    squares = []
    for u in (low, high):
        values = modes(meter(u * UNIT, held))[0]
        squares.append(float((values[np.abs(values).argmin()] ** 2).real))
    return low + (high - low) * squares[0] / (squares[0] - squares[1])


def run() -> list[Row | Plot]:
    """Buckling, frequencies and phases over the flow, and phases without flow over the damper of a mount."""
    rows: list[Row | Plot] = []
    for held, exact in (("pinned", np.pi), ("clamped", 2 * np.pi)):
        buckled = buckling(held, exact)
        rows.append(
            Row(CASE, f"speed of buckling, {held} ends", exact, "exact", buckled, abs(buckled / exact - 1), 2e-3)
        )
    rest = float(np.sort(np.abs(galerkin(0.0)[0]))[0])
    speeds, phases, expected = np.linspace(0.0, 5.0, 6), [], []
    for u in speeds:
        near = rest * np.sqrt(1 - (u / (2 * np.pi)) ** 2)
        ours, reference = (chosen(x, near) for x in (modes(meter(u * UNIT)), galerkin(u * UNIT)))
        phases.append(ours[1])
        expected.append(reference[1])
        if u in (2.0, 5.0):
            pair = [x[0].imag / (2 * np.pi) for x in (reference, ours)]
            rows.append(Row(CASE, f"lowest frequency at {u:.0f} (Hz)", pair[0], "recomputed", pair[1], abs(pair[1] / pair[0] - 1), 4e-3))  # fmt: skip
            rows.append(Row(CASE, f"phase between the sensors at {u:.0f} (rad)", reference[1], "recomputed", ours[1], abs(ours[1] / reference[1] - 1), 5e-3))  # fmt: skip
    small = [chosen(modes(meter(u * UNIT)), rest)[1] for u in (0.0, 0.1, 0.2)]
    rows.append(Row(CASE, "phase without flow (rad)", 0.0, "exact", small[0], abs(small[0]), 1e-9))
    rows.append(Row(CASE, "phase at 0.2 over that at 0.1", 2.0, "exact", small[2] / small[1], abs(small[2] / small[1] / 2 - 1), 2e-3))  # fmt: skip
    dampers = np.logspace(-2, 4, 25)
    lines = {}
    for spring in (4e2, 1e7):
        found = np.array([chosen(modes(meter(0.0, "mounted", spring=spring, damper=c)), rest)[1] for c in dampers])
        lines[f"mount at the outlet of {spring:.0e} N/m"] = (dampers, np.abs(np.angle(np.exp(1j * found))))
        if spring == 4e2:
            known = np.array([chosen(galerkin(0.0, "mounted", spring=spring, damper=c), rest)[1] for c in dampers])
            apart = float(np.abs(np.exp(1j * found) - np.exp(1j * known)).max() / np.abs(np.angle(np.exp(1j * known))).max())  # fmt: skip
            rows.append(
                Row(CASE, "phases without flow over a damper, soft mounts", 0.0, "recomputed", apart, apart, 2e-2)
            )
    soft, stiff = (values for _, values in lines.values())
    rows.append(Row(CASE, "largest phase without flow on a stiff mount over that on a soft one", 0.0, "paper", stiff.max() / soft.max(), stiff.max() / soft.max(), 0.05))  # fmt: skip
    peak = max(soft[0], soft[-1]) / soft.max()
    rows.append(
        Row(CASE, "phase without flow at the ends of the dampers over its peak between", 0.0, "paper", peak, peak, 0.05)
    )
    return [
        *rows,
        Plot(
            "Phase of a Coriolis meter",
            "speed of the water (units)",
            "difference of phase (rad)",
            {"flexmb": (speeds, np.array(phases)), "Galerkin": (speeds, np.array(expected))},
        ),
        Plot("Phase without flow", "damper at the outlet (N s/m)", "difference of phase (rad)", lines),
    ]
