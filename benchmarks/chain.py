"""A chain of rigid bodies hinged one to the next."""


def chain(count: int) -> object:
    """Bars of length one, hinged at their ends, stretched out from the ground."""
    import flexmb

    system = flexmb.System(gravity=(0, 0, -9.81))
    before = system.ground.at((0, 0, 0))
    for k in range(count):
        bar = flexmb.rigid_body(
            f"bar {k}",
            mass=1.0,
            inertia=(0.01, 0.09, 0.09),
            centre=(0.5, 0, 0),
            points={"a": (0, 0, 0), "b": (1, 0, 0)},
        )
        body = system.add(bar, position=(float(k), 0, 0))
        system.revolute(f"hinge {k}", before, body["a"], axis=(0, 1, 0))
        before = body["b"]
    return system.build()
