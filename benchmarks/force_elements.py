"""A law between two frames beside the bushing that does the same: a time step, its growth in a chain, and the compilation of a law that many elements share; laws of one coordinate; friction in joints."""

import time
from typing import Any

import numba
import numpy as np

from benchmarks.growth import costs
from benchmarks.row import Row

COMMAND = "python -m benchmarks force-elements"
BODIES = (64, 250, 1000)
K, C, TURN = 2e3, 4.0, 20.0
SIX = 1.1
"""Microseconds that an element of six components may take in a step: what a bushing took before its rows were
eliminated along branches."""
BUSHING = 1.1
"""What a law and its body may take of a bushing and its body, which take half of what they took when a law was to cost as
much: a bushing is compiled with the step, and its compliance is diagonal."""
BY_ROWS = 2.5
"""What a law and its body may take, relative to the elimination along branches, where the matrix of the rows is used:
it is needed by tyres, by contacts with friction and by a single negative stiffness, as here."""
CYLINDER = 2.5
"""What a cylinder and its load may take of a spring and its load: it has two states that are found with the step, by
differences of its law, and takes more corrections."""
COMMANDED = 1.6
"""What the same may take where the valve is commanded: a controller with two states, and what passes its command on."""
SCALAR = 0.3
"""Microseconds that a law of one coordinate may take in a step, about one and a half times a spring."""


def run() -> list[Row]:
    """CPU time a step of an element and its body, exponents of chains, and seconds of compilation."""
    kinds = "bushing", "law", "differences", "none"
    chains = [[spent for spent, _ in costs([tied(n, kind) for kind in kinds], steps=100, step=1e-3)] for n in BODIES]
    per_body = dict(zip(kinds, np.array(chains[0]) / BODIES[0], strict=True))
    own = per_body["law"] - per_body["none"]
    swung, by_rows = (
        spent / BODIES[0] for spent, _ in costs([tied(BODIES[0], x) for x in ("law", "unstable")], 3000, 1e-3, 3)
    )
    slopes = dict(zip(kinds, np.polyfit(np.log(BODIES), np.log(chains), 1)[0], strict=True))
    rubbing = [spent for spent, _ in costs([rotor(x) for x in ("friction", "sticking", "damper")], 4000, 1e-4, 3)]
    lifted = [spent for spent, _ in costs([lift(x) for x in ("commanded", "own", "spring")], 2000, 1e-3)]
    hung = "none", "spring", "formula", "function"
    along = {
        kind: spent / 64 for kind, (spent, _) in zip(hung, costs([sprung(x) for x in hung], 400, 1e-3), strict=True)
    }
    return [
        Row("force-elements: friction of a bearing and its rotor / a damper and its rotor", rubbing[0], rubbing[2], 3.0, "us CPU a step", COMMAND),
        Row("force-elements: a run of 4,000 steps with exact friction of a bearing", 4e-3 * rubbing[1], 1.0, 1.0, "CPU s", COMMAND),
        Row("force-elements: a formula along a line", along["formula"] - along["none"], SCALAR, 1.0, "us CPU a step and element", COMMAND),
        Row("force-elements: a compiled function of the user / a formula", along["function"], along["formula"], 1.1, "us CPU a step and body", COMMAND),
        Row("force-elements: a law of six components, without its body", own, SIX, 1.0, "us CPU a step", COMMAND),
        Row("force-elements: a law and its body / a bushing and its body", per_body["law"], per_body["bushing"], BUSHING, "us CPU a step", COMMAND),
        Row("force-elements: the same law while the chain swings for 3 s, with tangents that are not symmetric / in the first 0.1 s", swung, per_body["law"], 1.3, "us CPU a step and body", COMMAND),
        Row("force-elements: the same, with a negative stiffness at the end of the chain, by the matrix of the rows / along branches", by_rows, swung, BY_ROWS, "us CPU a step and body", COMMAND),
        Row("force-elements: the same law without its tangent, by differences / a bushing and its body", per_body["differences"], per_body["bushing"], 1.5, "us CPU a step", COMMAND),
        Row("force-elements: exponent of a chain of 64 to 1,000 laws / of bushings", slopes["law"], slopes["bushing"], 1.05, "CPU time a step", COMMAND),
        Row("force-elements: a hydraulic cylinder with a valve of its own, and its load / a spring and its load", lifted[1], lifted[2], CYLINDER, "us CPU a step", COMMAND),
        Row("force-elements: the same cylinder whose valve a controller commands / with a valve of its own", lifted[0], lifted[1], COMMANDED, "us CPU a step", COMMAND),
        Row("force-elements: preparing 1,000 elements of one law / of one element of another", prepared(1000), prepared(1), 3.0, "s", COMMAND),
    ]  # fmt: skip


def _slopes(t: Any, relative: Any, states: Any, parameters: Any, stiffness: Any, damping: Any) -> None:
    """The tangent of the linear law."""
    k, c, turn = parameters
    S = relative.S
    trace = S[0, 0] + S[1, 1] + S[2, 2]
    for i in range(3):
        stiffness[i, i], damping[i, i], damping[3 + i, 3 + i] = k, c, 1e-2 * turn
        for j in range(3):
            stiffness[3 + i, 3 + j] = 0.5 * turn * ((trace if i == j else 0.0) - S[i, j])


def coupling(tangent: bool = True, k: float = K) -> Any:
    """A linear law with the damping of the bushing, and its stiffness or another one; another law at every call."""
    import flexmb

    @flexmb.law(parameters=("k", "c", "turn"), tangent=_slopes if tangent else None)
    def bush(t, relative, states, parameters, wrench, rates):  # type: ignore[no-untyped-def]
        k, c, turn = parameters
        d, v, S, omega = relative.d, relative.v, relative.S, relative.omega
        for i in range(3):
            wrench[i] = -k * d[i] - c * v[i]
        wrench[3] = -0.5 * turn * (S[2, 1] - S[1, 2]) - 1e-2 * turn * omega[0]
        wrench[4] = -0.5 * turn * (S[0, 2] - S[2, 0]) - 1e-2 * turn * omega[1]
        wrench[5] = -0.5 * turn * (S[1, 0] - S[0, 1]) - 1e-2 * turn * omega[2]

    return bush(k=k, c=C, turn=TURN)


def tied(count: int, kind: str) -> Any:
    """Bodies hung from each other by bushings or by elements of a law, or that fall."""
    import flexmb

    system, law = flexmb.System(gravity=(0, 0, -9.81)), coupling(kind != "differences")
    before = system.ground.at((0, 0, 0))
    for k in range(count):
        box = flexmb.rigid_body(f"box {k}", mass=1.0, inertia=(0.01, 0.02, 0.03))
        body = system.add(box, position=(float(k), 0, 0))
        here = body.at((-0.5, 0, 0)) if k else body.at((0, 0, 0))
        if kind == "bushing":
            system.bushing(
                f"tie {k}", before, here, stiffness=[K] * 3 + [TURN] * 3, damping=[C] * 3 + [1e-2 * TURN] * 3
            )
        elif kind != "none":
            system.force(f"tie {k}", before, here, law)
        before = body.at((0.5, 0, 0))
    if kind == "unstable":
        system.force("pushed off", system.ground.at((float(count), 0, 0)), before, coupling(k=-1e-3 * K))
    return system.build()


@numba.njit
def _spring(t: float, x: float, xdot: float) -> float:
    """The effort of a spring and damper."""
    return -K * x - C * xdot


def sprung(kind: str) -> Any:
    """64 bodies hung on springs, on laws of their stretch, or on nothing."""
    import flexmb

    system = flexmb.System(gravity=(0, 0, -9.81))
    for k in range(64):
        body = system.add(
            flexmb.rigid_body(f"box {k}", mass=1.0, inertia=(0.01, 0.02, 0.03)), position=(0.1 * k, 0, -1)
        )
        ends = f"tie {k}", system.ground.at((0.1 * k, 0, 0)), body.at((0, 0, 0))
        if kind == "spring":
            system.spring_damper(*ends, stiffness=K, damping=C)
        elif kind != "none":
            law = _spring if kind == "function" else flexmb.expression("-k*x - c*xdot", k=K, c=C)
            system.spring_damper(*ends, law=law)
    return system.build()


def rotor(kind: str) -> Any:
    """A rotor on a journal with regularised or exact friction, or with a damper."""
    import flexmb

    system = flexmb.System(gravity=(0, -9.81, 0))
    body = system.add(flexmb.rigid_body("rotor", mass=1.0, inertia=(0.01,) * 3))
    system.revolute("pin", system.ground.at((0, 0, 0)), body, axis=(0, 0, 1))
    system.set_speed("pin", 50.0)
    if kind == "damper":
        system.joint_spring("drag", "pin", damping=1e-4)
    else:
        system.friction("drag", "pin", 0.1, radius=0.01, regularised=None if kind == "sticking" else 0.1)
    return system.build()


def lift(kind: str) -> Any:
    """A load that a spring holds, or that a cylinder raises, with a valve of its own or one commanded by a controller."""
    import flexmb

    system = flexmb.System(gravity=(0, 0, -9.81))
    load = system.add(flexmb.rigid_body("load", mass=3000.0, inertia=(1, 1, 1)), position=(0, 0, 0.8))
    system.prismatic("guide", system.ground, load, axis=(0, 0, 1), at=(0, 0, 0))
    if kind == "spring":
        system.joint_spring("spring", "guide", stiffness=1e7, damping=1e4)
        return system.build()
    given = {
        "area_a": 5e-3, "area_b": 3e-3, "stroke": 0.8, "bulk_modulus": 1e9, "supply": 2e7, "flow": 1e-6,
        "retracted": 0.5, "dead_volume": 2e-4, "leakage": 2e-11, "laminar": 1e4, "initial": (7.1e6, 2e6),
    }  # fmt: skip
    law, inputs = flexmb.forces.hydraulic_cylinder(target=1.0, gain=20.0, **given), None
    if kind == "commanded":
        read: dict[str, Any] = {"measured": "coordinate:guide", "reference": 0.2}
        system.controller("valve", flexmb.controllers.pid(20.0), inputs=read, outputs={})
        law, inputs = flexmb.forces.commanded_cylinder(**given), {"opening": "command:valve:command"}
    system.force("cylinder", system.ground.at((0, 0, 0)), load.at((0, 0, 0)), law, inputs=inputs)
    return system.build()


def prepared(count: int) -> float:
    """Seconds to compile the arrays of a mechanism of `count` elements, without those of a mechanism of bushings."""
    from flexmb.mechanism.compile import compiled

    spent = []
    for kind in ("law", "bushing"):
        mechanism = tied(count, kind)
        start = time.perf_counter()
        compiled(mechanism)
        spent.append(time.perf_counter() - start)
    return spent[0] - spent[1]
