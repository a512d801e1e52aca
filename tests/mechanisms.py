"""Small mechanisms and random bodies that several tests use."""

import numpy as np

import flexmb
from flexmb.bodies.body import Body, BodyInterface
from flexmb.bodies.invariants import InertiaInvariants


def chosen(coordinates):
    """The option of a method that takes these coordinates; methods that know absolute ones only have none."""
    return {} if coordinates == "absolute" else {"coordinates": coordinates}


def random_flexible_body(rng, modes=3, name="random", damping=0.0, second_order=False, stiffness=(300.0, 900.0)):
    """A flexible body of random point masses with random modes and two interfaces: every integral a plain sum."""
    n = 12
    mass = rng.uniform(0.05, 0.15, n)
    X = rng.normal(size=(n, 3)) * 0.3 + [0.5, 0, 0]
    Psi = rng.normal(size=(n, 3, modes))
    L = np.linalg.cholesky(np.einsum("p,pki,pkj->ij", mass, Psi, Psi))
    Psi = np.einsum("pki,ij->pkj", Psi, np.linalg.inv(L).T)
    g = rng.normal(size=(n, 3, modes, modes)) * (0.3 if second_order else 0.0)
    invariants = invariants_of_points(mass, X, Psi, g + g.transpose(0, 1, 3, 2))
    rows = [0.1 * rng.normal(size=(6, modes)) for _ in range(2)]
    points = [np.zeros(3), np.array([1.0, 0, 0])]
    interfaces = {k: BodyInterface(p, r) for k, p, r in zip(("start", "end"), points, rows, strict=True)}
    k = rng.uniform(*stiffness, size=modes)
    return Body(
        name, invariants, stiffness=k, damping=np.full(modes, damping), interfaces=interfaces, deflection=np.ones(modes)
    )


def invariants_of_points(mass, X, Psi, g):
    """Inertia invariants of points `X` (n, 3) with modes `Psi` (n, 3, m) and second-order field `g` (n, 3, m, m)."""
    m = Psi.shape[2]
    E = np.eye(3)

    def inertia(a, b):
        return np.einsum("p,pk,pk->", mass, a, b) * E - np.einsum("p,pl,pk->kl", mass, a, b)

    J1 = np.array([inertia(X, Psi[:, :, i]) + inertia(X, Psi[:, :, i]).T for i in range(m)]).reshape(m, 3, 3)
    J2 = np.zeros((m, m, 3, 3))
    h = np.zeros((3, m, m))
    for i in range(m):
        for j in range(m):
            both = inertia(Psi[:, :, i], Psi[:, :, j])
            J2[i, j] = 0.5 * (both + both.T)
            h[:, i, j] = mass @ (np.cross(Psi[:, :, i], Psi[:, :, j]) + np.cross(X, g[:, :, i, j]))
    return InertiaInvariants(
        mass=float(mass.sum()), s0=mass @ X, S1=np.einsum("p,pki->ki", mass, Psi), SG=np.einsum("p,pkij->kij", mass, g),
        J0=inertia(X, X), J1=J1, J2=0.5 * (J2 + J2.transpose(1, 0, 2, 3)),
        h0=np.einsum("p,pkj->kj", mass, np.cross(X[:, :, None], Psi, axis=1)), h=h,
        PG=np.einsum("p,pa,pbij->abij", mass, X, g),
    )  # fmt: skip


def double_pendulum(gravity=9.81):
    """Two uniform rods of 1 m and 1 kg, hinged about z, released from the horizontal."""
    system = flexmb.System(gravity=(0, -gravity, 0), name="double pendulum")
    first = system.add(flexmb.uniform_rod("first", mass=1.0, length=1.0))
    second = system.add(flexmb.uniform_rod("second", mass=1.0, length=1.0), position=(1, 0, 0))
    system.revolute("hinge", system.ground.at((0, 0, 0)), first, axis=(0, 0, 1))
    system.revolute("elbow", first["end"], second, axis=(0, 0, 1))
    return system


def flexible_pendulum(rng, second_order=False, damping=0.0, gravity=9.81):
    """A random flexible body hinged about z at its interface "start", released from the horizontal."""
    system = flexmb.System(gravity=(0, -gravity, 0), name="flexible pendulum")
    body = system.add(random_flexible_body(rng, second_order=second_order, damping=damping))
    system.revolute("hinge", system.ground.at((0, 0, 0)), body["start"], axis=(0, 0, 1))
    return system


def slider_crank(speed=None, crank_length=0.15, rod_length=0.3):
    """Crank, rod and slider in the plane z = 0 with a rod on ball joints, so that no equation is redundant."""
    system = flexmb.System(gravity=(0, -9.81, 0), name="slider-crank")
    crank = system.add(flexmb.uniform_rod("crank", mass=1.0, length=crank_length, radius=0.01))
    rod = system.add(flexmb.uniform_rod("rod", mass=1.0, length=rod_length, radius=0.01), position=(crank_length, 0, 0))
    slider = system.add(
        flexmb.rigid_body("slider", mass=0.5, inertia=(1e-4, 1e-4, 1e-4)), position=(crank_length + rod_length, 0, 0)
    )
    system.revolute("bearing", system.ground.at((0, 0, 0)), crank, axis=(0, 0, 1))
    system.spherical("pin", crank["end"], rod)
    system.universal("wrist", rod["end"], slider, axis=(0, 0, 1), second_axis=(0, 1, 0))
    system.prismatic("guide", system.ground.at((crank_length + rod_length, 0, 0)), slider, axis=(1, 0, 0))
    if speed is not None:
        system.drive("bearing", flexmb.time_functions.polynomial(0.0, speed))
    return system


def turning_loop():
    """A closed loop that turns freely, with a motor that drives it: one degree of freedom."""
    system = slider_crank()
    system.set_speed("bearing", 3.0)
    system.motor("motor", "bearing", flexmb.time_functions.harmonic(0.5, 2.0), damping=0.1)
    return system
