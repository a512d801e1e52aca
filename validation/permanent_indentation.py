"""Two steel spheres collide and keep a dent: Hertzian loading, unloading to a permanent indentation (Ma, Menon and Lankarani).

Radius 0.02 m, mass 0.092 kg, stiffness 5.5e9 N/m^1.5, closing with 0.30 m/s, restitution 0.7. Depth, force, indentation and speed are exact, by the energy at each stage; the duration is a quadrature. Momentum is
conserved. Of the same spheres, the damped law with the factor of Lankarani and Nikravesh separates with 0.2388 m/s: it does not reach the restitution that it was given.
"""

import numpy as np

import flexmb
from flexmb.contact import NormalLaw, Sphere, permanent_indentation, power_law
from validation.plot import Plot
from validation.row import Row

CASE = "permanent-indentation"
RADIUS, MASS, STIFFNESS, CLOSING, RESTITUTION = 0.02, 0.092, 5.5e9, 0.30, 0.7
STEP, DURATION = 5e-8, 1.6e-4


def collide(law: NormalLaw) -> flexmb.Result:
    """Two free spheres that touch at the beginning."""
    system = flexmb.System(name=CASE)
    inertia = 0.4 * MASS * RADIUS**2
    spheres = [
        system.add(flexmb.rigid_body(name, mass=MASS, inertia=(inertia,) * 3), position=(x, 0, 0), velocity=(v, 0, 0))
        for name, x, v in (("a", -RADIUS, CLOSING / 2), ("b", RADIUS, -CLOSING / 2))
    ]
    system.contact("spheres", *(Sphere(RADIUS).on(sphere.at((0, 0, 0))) for sphere in spheres), law=law)
    return flexmb.simulate(system, DURATION, step=STEP, output_step=2 * STEP)


def separation(result: flexmb.Result) -> float:
    """The speed with which the spheres separate."""
    return float(result.velocity("b")[-1, 0] - result.velocity("a")[-1, 0])


def run() -> list[Row | Plot]:
    """Depth, force, indentation, duration, speed and loss; momentum; the damped law beside it."""
    result = collide(permanent_indentation(STIFFNESS, RESTITUTION))
    touch = result.contact("spheres")
    loaded = np.flatnonzero(touch.normal_force > 0)
    deepest, mass = float(result.element_states[-1, 0]), MASS / 2
    depth = (2.5 * mass * CLOSING**2 / (2 * STIFFNESS)) ** 0.4
    lost = 0.5 * mass * CLOSING**2 * (1 - RESTITUTION**2)
    found = {
        "depth (m)": (depth, deepest, 1e-5),
        "force (N)": (STIFFNESS * depth**1.5, float(touch.normal_force.max()), 1e-5),
        "indentation (m)": (7.888e-6, float(-touch.gap[loaded[-1] + 1]), 2e-3),
        "duration (s)": (129.0e-6, float(touch.t[loaded[-1]] + STEP), 1e-3),
        "separation (m/s)": (RESTITUTION * CLOSING, separation(result), 1e-5),
        "loss (J)": (lost, float(result.ledger.damper_heat[-1]), 1e-4),
    }
    rows: list[Row | Plot] = [
        Row(CASE, what, reference, "exact", ours, abs(ours / reference - 1), most)
        for what, (reference, ours, most) in found.items()
    ]
    momentum = float(np.abs(MASS * (result.velocity("a") + result.velocity("b"))).max()) / (MASS * CLOSING)
    rows.append(Row(CASE, "momentum, relative", 0.0, "exact", momentum, momentum, 1e-12))
    law = power_law(STIFFNESS, restitution=RESTITUTION, speed=CLOSING, factor="lankarani-nikravesh")
    damped = collide(law)
    speed = separation(damped)
    rows.append(Row(CASE, "separation, damped law (m/s)", 0.2388, "independent", speed, abs(speed - 0.2388), 5e-5))
    other = damped.contact("spheres")
    lines = {
        "permanent indentation": (1e6 * -touch.gap, touch.normal_force),
        "Lankarani and Nikravesh": (1e6 * -other.gap, other.normal_force),
    }
    return [*rows, Plot("Force of two spheres", "depth (um)", "force (N)", lines)]
