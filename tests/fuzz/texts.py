"""Texts in which users write measures, selections of nodes, units, formulas, materials and sections."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import fem
import flexmb
from fem.mesh.selection import from_text
from flexmb.cli.parts.materials import beam_section, material_from
from flexmb.forces.scalar.expression import expression
from flexmb.results.measure import measure
from flexmb.units import read_unit

MEASURES = (
    "coordinate:hinge", "rate:rail", "joint-acceleration:hinge", "position:arm.end:x", "velocity:disc:size", "acceleration:disc@0.5,0.5,0.5:z",
    "deflection:arm.end:y", "attitude:arm:ZYX:1", "attitude:disc:matrix:zx", "angular-velocity:disc:z", "force:hinge:x", "moment:rail:size",
    "angular-momentum:*:z", "mass-centre:arm:x", "effort:spring", "stretch-rate:spring", "power:push", "elastic:arm:1",
)  # fmt: skip
SELECTIONS = (
    "plane/0,0,0/1,0,0",
    "cylinder/0,0.5,0.5/1,0,0/0.70710678",
    "sphere/1,0.5,0.5/0.70710678",
    "box/-1,-1,-1/0.1,2,2",
    "nearest/1,0,0/4",
    "node/0,2,4,7",
    "left",
)
UNITS = ("N m", "rad/s", "kg m^2/s", "mm", "1/min", "rpm", "N/mm2", "deg")
FORMULAS = (
    "-k*x - c*xdot",
    "max(-k*x, 0)**1.5*exp(-t)",
    "a*sin(2*pi*t) if abs(x) < 1 else sign(x)*sqrt(abs(x))",
    "-k*x**3/(1 + x**2)",
)
MATERIALS = ("2.1e11,0.3,7800", "steel", "aluminium:mm")
SECTIONS = ("box=0.1,0.05,0.004", "circle=0.02", "tube=0.1,0.09", "rectangle=0.1,0.2")
MARKS = (":", "/", ",", ".", "*", "@", "-", "(", ")", "[", "'", '"', "\n", "\0", " ", "\u200b", "é", "\u2212", "**", "9" * 400, "1e400", "nan", "inf", "__class__", "lambda", "0", "-1", "1e-320")  # fmt: skip


def damaged(text: str, rng: np.random.Generator) -> str:
    """A text with one to three signs or words removed, doubled, exchanged or put in."""
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        at, to = sorted(int(k) for k in rng.integers(len(text) + 1, size=2))
        mark = MARKS[int(rng.integers(len(MARKS)))]
        match int(rng.integers(4)):
            case 0:
                text = text[:at] + mark + text[at:]
            case 1:
                text = text[:at] + mark + text[at + 1 :]
            case 2:
                text = text[:at] + text[to:]
            case _:
                text = text[:to] + text[at:to] + text[to:]
    return text


def read(kind: str, text: str, result: flexmb.Result, part: fem.Model) -> None:
    """Do with a text what its users do."""
    match kind:
        case "measure":
            measure(text)(result)
        case "selection":
            part.with_interfaces(chosen=from_text(text))
        case "unit":
            read_unit(text)
        case "formula":
            constants: dict[str, Any] = dict.fromkeys(re.findall(r"\b[kca]\b", text), 2.0)
            law = expression(text, **constants)
            system = flexmb.System()
            body = system.add(flexmb.rigid_body("b", mass=1.0, inertia=(1, 1, 1)))
            system.prismatic("rail", system.ground.at((0, 0, 0)), body, axis=(1, 0, 0))
            system.motor("law", "rail", law)
            flexmb.evaluate(mechanism := system.build(), mechanism.initial)
        case "material":
            material_from(text)
        case _:
            beam_section(text)


def prepared(result: flexmb.Result, part: fem.Model) -> None:
    """See that every sound text is read."""
    for kind, sound in KINDS.items():
        for text in sound:
            read(kind, text, result, part)


KINDS: dict[str, tuple[str, ...]] = {
    "measure": MEASURES, "selection": SELECTIONS, "unit": UNITS, "formula": FORMULAS, "material": MATERIALS, "section": SECTIONS,
}  # fmt: skip


def case(rng: np.random.Generator, needed: Callable[[], tuple[flexmb.Result, fem.Model]]) -> Any:
    """A damaged text of some kind, read."""
    kind = str(rng.choice(list(KINDS)))
    sound = KINDS[kind]
    read(kind, damaged(sound[int(rng.integers(len(sound)))], rng), *needed())
