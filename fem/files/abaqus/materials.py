"""Materials and sections of a deck: `*MATERIAL` with `*ELASTIC` (isotropic, orthotropic, engineering constants,
anisotropic, lamina), `*DENSITY` and `*EXPANSION`; `*SOLID SECTION`, `*SHELL SECTION`, `*SHELL GENERAL SECTION`, `*BEAM
SECTION`, `*BEAM GENERAL SECTION`, also with constants of its own.

What a keyword says beyond that makes it one that is not obeyed.
"""

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from fem.beam import Section, principal_moments
from fem.drawn_sections.draw import section_of_rectangles
from fem.errors import MaterialError, MeshError
from fem.files.abaqus.lines import Rows, fields, member, number
from fem.material import Material
from fem.mesh.steps import Table
from fem.mesh.unread import Unread

_ORTHOTROPIC = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2), (3, 3), (5, 5), (4, 4))
"""Places in the elasticity matrix (xx, yy, zz, xy, yz, zx) of D1111, D1122, D2222, ..., D1212, D1313, D2323."""
_VOIGT = (0, 1, 2, 3, 5, 4)
"""Place of 11, 22, 33, 12, 13, 23."""
_BEAM_NORMAL = (0.0, 0.0, -1.0)
_KINDS = {"ISOTROPIC": 2, "ORTHOTROPIC": 9, "ENGINEERINGCONSTANTS": 9, "ANISOTROPIC": 21, "LAMINA": 6}
"""Types of elasticity, of which decks write the beginning, and their numbers of constants."""
_OPTIONS = {
    "SOLIDSECTION": {"CONTROLS", "OFFSET", "ORIENTATION"},
    "SHELLSECTION": {
        *("COMPOSITE", "CONTROLS", "LAYUP", "OFFSET", "ORIENTATION", "POISSON", "SECTIONINTEGRATION"),
        *("SYMMETRIC", "TEMPERATURE"),
    },
    "BEAMSECTION": {"SECTION", "POISSON", "TEMPERATURE"},
    "BEAMGENERALSECTION": {"SECTION"},
}
"""Options of sections beside ELSET and MATERIAL that are obeyed, or change no small motion of a linear part."""


@dataclass
class DeckMaterial:
    """The constants of a `*MATERIAL`; None for a constant that is missing, and `wrong` for the reason if it is not
    usable.

    - `flat`: whether they are those of plane stress, TYPE=LAMINA, which shells alone have;
    - `warm`: table of constants that depend on the temperature, None for others, as of `fem.mesh.steps.Constants`; the
      `elasticity` is that of its first row;
    - `expands`: whether the deck has an `*EXPANSION` of it; `expansion`: table of strains (6,) per temperature, xx, yy,
      zz, xy, yz, zx, since the temperature `zero`, None where it is not understood.
    """

    source: Unread
    elasticity: np.ndarray | None = None
    density: float | None = None
    wrong: str = ""
    flat: bool = False
    expands: bool = False
    expansion: Table | None = None
    zero: float = 0.0
    warm: Table | None = None
    given: dict[str, list[list[str]]] = field(default_factory=dict)  # keyword -> its data lines


@dataclass
class DeckSection:
    """A section: its element set and material, and what it says of shells and beams.

    `plane`: the thickness of plane elements or area of trusses, and whether the deck gives it (`sized`); `shape`: name
    and sizes of the section of beams in the deck, which some beams here do not have, round ones with their radius;
    `y_axis` of beams as the deck gives it, None for the default; `layers` of a shell, from the
    bottom: thickness, material, and angle in degrees from the first axis of the orientation, or an orientation; `move`:
    data lines of the instance that it is in.
    """

    elset: str
    material: str
    source: Unread
    orientation: str = ""
    thickness: float | None = None
    offset: float = 0.0
    plane: float | None = None
    beam: Section | None = None
    y_axis: tuple[float, float, float] | None = None
    shape: tuple[str, tuple[float, ...]] | None = None
    sized: bool = False
    layers: tuple[tuple[float, str, float | str], ...] = ()
    move: list[list[float]] = field(default_factory=list)

    @property
    def direction(self) -> tuple[float, float, float]:
        """The first axis of the section of beams."""
        return _BEAM_NORMAL if self.y_axis is None else self.y_axis


@dataclass
class Materials:
    """Materials by name in capitals, sections, and the material whose constants are being read.

    `expand`: whether shells and beams become solids, which may have sections that shells and beams here do not have;
    `warm`: whether constants may depend on temperature, as they may in steps; `round`: the first section with a radius
    that CalculiX takes as a diameter; `notes`: what else to say of sections.
    """

    records: dict[str, DeckMaterial] = field(default_factory=dict)
    sections: list[DeckSection] = field(default_factory=list)
    current: DeckMaterial | None = None
    expand: bool = False
    warm: bool = False
    round: Unread | None = None
    notes: list[str] = field(default_factory=list)

    def begin(self, name: str, source: Unread) -> None:
        """From now on constants are those of this material."""
        self.current = self.records[name] = DeckMaterial(source)


def take_material(known: Materials, source: Unread, keyword: str, options: dict[str, str], rows: Rows) -> bool:
    """Whether the keyword is one of materials and sections and says nothing that is not read."""
    values = [fields(row) for _, row in rows]
    material = known.current
    if keyword == "SHELLGENERALSECTION":  # integrated before the analysis, which linear parts do not tell
        if "COMPOSITE" not in options and not options.get("MATERIAL"):
            raise MeshError("a stiffness of its own (no MATERIAL, no COMPOSITE)")
        keyword = "SHELLSECTION"
    if keyword in ("SOLIDSECTION", "SHELLSECTION", "BEAMSECTION", "BEAMGENERALSECTION"):
        section = _section(known, source, keyword, options, values)
        known.sections += [section] if section is not None else []
        return section is not None
    if material is None:
        return False
    if keyword in ("ELASTIC", "DENSITY", "EXPANSION") and material.given.setdefault(keyword, values) != values:
        raise MeshError(f"the material of {material.source.label} has this keyword twice, and the first one counts")
    if keyword == "ELASTIC":
        if not _kind(options):
            raise MeshError(f"its type {options['TYPE']!r} is none of ISO, ORTHO, ENGINEERING CONSTANTS, ANISO, LAMINA")
        return _take_elasticity(material, _kind(options), values, known.warm)
    if keyword == "DENSITY" and len({row[0] for row in values}) == 1:
        material.density = number(values[0][0])
        return True
    if keyword == "EXPANSION":
        material.expands, material.expansion = True, _expansion(_kind(options), values)
        material.zero = number(options.get("ZERO") or "0")
        return True
    return False


def _table(values: list[list[str]], count: int) -> Table | None:
    """Rows of `count` constants and a temperature, which may run over several lines; None for other rows."""
    lines = -(-(count + 1) // 8)
    given = [number(f) for row in values for f in row if f]
    if len(values) > 1 and count <= len(given) <= count + 1:  # however they are broken
        rows = [given]
    else:
        grouped = [[f for row in values[k : k + lines] for f in row] for k in range(0, len(values), lines)]
        rows = [[number(f or "0") for f in row] for row in grouped]
    if not rows or any(len(row) > count + 1 and any(row[count + 1 :]) for row in rows):
        return None
    if count > 2 and any(len(row) < count for row in rows):
        return None
    found = np.array([[*row, *[0.0] * (count + 1)][: count + 1] for row in rows])
    return Table(found[:, -1], found[:, :-1]) if (np.diff(found[:, -1]) > 0).all() else None


def _kind(options: dict[str, str]) -> str:
    """The type of constants in full; nothing for an unknown one."""
    given = "".join(options.get("TYPE", "ISO").upper().split())
    return next((kind for kind in _KINDS if given and kind.startswith(given)), "")


def _expansion(kind: str, values: list[list[str]]) -> Table | None:
    """Strains (k, 6) per temperature; None where they are not understood."""
    count = {"I": 1, "O": 3, "A": 6}.get(kind[:1], 0)
    given = _table(values, count) if count else None
    if given is None:
        return None
    strains = np.zeros((len(given.values), 6))
    strains[:, :3] = given.values[:, : min(count, 3)]
    if count == 6:
        strains[:, [3, 5, 4]] = 2 * given.values[:, 3:]
    return Table(given.temperatures, strains)


def _take_elasticity(material: DeckMaterial, kind: str, values: list[list[str]], warm: bool) -> bool:
    """Whether the constants are read: those of one temperature, or of several where they may be `warm`."""
    given = _table(values, _KINDS[kind])
    if given is None or (len(given.values) > 1 and not warm):
        return False
    try:
        material.flat = kind == "LAMINA"
        rows = [_elasticity(kind[:1], c) for c in given.values.tolist()]
        material.elasticity = Material("of the deck", rows[0]).elasticity
    except MaterialError as error:
        material.wrong = str(error)
        return True
    if len(rows) > 1:
        material.warm = given if kind[:1] == "I" else Table(given.temperatures, np.array(rows))
    return True


def _elasticity(kind: str, c: list[float]) -> np.ndarray:
    """(6, 6) in the order xx, yy, zz, xy, yz, zx from the constants in the order of a deck."""
    if kind == "I":
        return Material.isotropic(c[0], c[1]).elasticity
    if kind == "E":
        E, nu, G = c[:3], c[3:6], c[6:]
        back = nu[1] * E[2] / E[0]  # nu31 from nu13
        return Material.orthotropic((E[0], E[1], E[2]), (nu[0], nu[2], back), (G[0], G[2], G[1])).elasticity
    if kind == "L":  # E1, E2, nu12, G12, G13, G23; the modulus across plays no part in shells
        return Material.orthotropic((c[0], c[1], c[1]), (c[2], 0.0, 0.0), (c[3], c[5], c[4])).elasticity
    C = np.zeros((6, 6))
    if kind == "O":
        for (i, j), value in zip(_ORTHOTROPIC, c, strict=True):
            C[i, j] = C[j, i] = value
        return C
    k = 0
    for j in range(6):
        for i in range(j + 1):
            C[_VOIGT[i], _VOIGT[j]] = C[_VOIGT[j], _VOIGT[i]] = c[k]
            k += 1
    return C


def _section(
    known: Materials, source: Unread, keyword: str, options: dict[str, str], values: list[list[str]]
) -> DeckSection | None:
    """A section that is read in full; None for others, or a `MeshError` with the reason."""
    expand = known.expand
    if keyword == "BEAMGENERALSECTION" and not options.get("MATERIAL"):
        return _general(known, source, options, values)
    unknown = sorted(set(options) - {"ELSET", "MATERIAL", "NODALTHICKNESS"} - _OPTIONS[keyword])
    if "BEAM" in keyword and not options.get("DENSITY"):
        unknown = [k for k in unknown if k != "DENSITY"]
    if unknown:
        raise MeshError(f"its options {', '.join(unknown)} are not read")
    if keyword == "SHELLSECTION" and "COMPOSITE" in options and options.get("ELSET") and not expand:
        return _layered(source, options, values)
    if not options.get("MATERIAL") or not options.get("ELSET") or "COMPOSITE" in options:
        return None
    where = (str(member(options["ELSET"])), options["MATERIAL"].strip('"').upper(), source)
    if keyword == "SOLIDSECTION":
        plane = number(values[0][0]) if values and values[0][0] else 1.0
        sized = bool(values and values[0][0])
        return DeckSection(*where, orientation=options.get("ORIENTATION", "").upper(), plane=plane, sized=sized)
    if keyword == "SHELLSECTION":
        if "NODALTHICKNESS" in options or not values or (expand and "ORIENTATION" in options):
            return None
        thickness, axes = number(values[0][0]), options.get("ORIENTATION", "").upper()
        return DeckSection(*where, orientation=axes, thickness=thickness, offset=_shift(options) * thickness)
    kind, size = options.get("SECTION", "").upper(), [number(f) for f in values[0] if f] if values else []
    kind = next((name for name in _SIZES if kind.startswith(name)), kind)  # RECTANGULAR
    if kind == "RECT" and len(size) == 1:  # a square, in CalculiX
        size = [size[0], size[0]]
    if kind == "CIRC" and (expand or known.warm):  # solids and steps are those of CalculiX
        size = [width / 2 for width in size]
    if "NODALTHICKNESS" in options:
        return None
    beam = _beam(kind, size, solid=expand)
    if kind == "CIRC" and not (expand or known.warm):
        known.round = known.round or source
    if kind == "PIPE" and size[1] > size[0] / 2:
        known.notes.append(
            f"{source.label}: the wall of SECTION=PIPE, {size[1]:g}, is over half of its radius, {size[0]:g}; the "
            "second size is the thickness of the wall, not the inner radius"
        )
    return DeckSection(*where, beam=beam, y_axis=_normal(values[1:]), shape=(kind, tuple(size)))


def _general(known: Materials, source: Unread, options: dict[str, str], values: list[list[str]]) -> DeckSection:
    """A section of Abaqus with constants of its own: its sizes, or area, I11, I12, I22 and J; its first axis; E and G.
    Raises `MeshError` for what is not read."""
    unknown = sorted(set(options) - {"ELSET", "SECTION", "DENSITY", "POISSON"})
    if unknown or not options.get("ELSET"):
        raise MeshError(
            f"its options {', '.join(unknown)} are not read" if unknown else "its option ELSET=... is missing"
        )
    if known.expand:
        raise MeshError("a section with constants of its own has no solid; read the deck without expand=True")
    kind = options.get("SECTION", "GENERAL").upper()
    if kind not in ("GENERAL", *_SIZES):
        raise MeshError(f"a section {kind}; GENERAL, {', '.join(_SIZES)} are read")
    if len(values) != 3 or len(values[2]) < 2 or not all(values[2][:2]):
        raise MeshError("three data lines are needed: the section, its first axis, and E and G at one temperature")
    size = [number(f or "0") for f in values[0]]
    E, G = (number(f) for f in values[2][:2])
    try:
        if kind == "GENERAL":
            area, I11, I12, I22, J = [*size, *[0.0] * 5][:5]
            I11, I22, angle = principal_moments(I11, I22, I12)
            beam: Section | None = Section(area, I11, I22, J, 1.0, 1.0, angle=angle)
        else:
            beam = _beam(kind, size)
        elasticity = Material.orthotropic((E, E, E), (0.0, 0.0, 0.0), (G, G, G)).elasticity
    except MaterialError as error:
        raise MeshError(str(error).rstrip(".")) from None
    name = f"{source.keyword}, LINE {source.line}"
    known.records[name] = DeckMaterial(
        source, elasticity, number(options["DENSITY"]) if options.get("DENSITY") else None
    )
    where = (str(member(options["ELSET"])), name, source)
    return DeckSection(*where, beam=beam, y_axis=_normal(values[1:]), shape=(kind, tuple(size)))


def _normal(values: list[list[str]]) -> tuple[float, float, float] | None:
    """The first axis of the section of a beam, in which blanks are zeros; None where the deck gives none."""
    given = [number(f or "0") for f in values[0]] if values else []
    if not values or not any(values[0]):
        return None
    if len(given) > 3 or not any(given):
        raise MeshError(f"its first axis needs three numbers, not all zero; found {', '.join(values[0])}")
    x, y, z = [*given, 0.0, 0.0][:3]
    return x, y, z


def _shift(options: dict[str, str]) -> float:
    """Height of the middle of a shell above its nodes, in thicknesses."""
    given = options.get("OFFSET", "0").upper()
    if given in ("SPOS", "SNEG"):
        return -0.5 if given == "SPOS" else 0.5
    if not _is_number(given):
        raise MeshError(f"its OFFSET needs a number, SPOS or SNEG; found {given!r}")
    return 0.0 - number(given)


def _layered(source: Unread, options: dict[str, str], values: list[list[str]]) -> DeckSection | None:
    """A shell of layers: thickness, points of integration, material, and angle or orientation. None where thicknesses
    are those of nodes."""
    layers: list[tuple[float, str, float | str]] = []
    for row in values:
        turn = row[3] if len(row) > 3 else ""
        if len(row) < 3 or not row[2]:
            return None
        way = turn.strip('"').upper() if turn and not _is_number(turn) else number(turn or "0")
        layers.append((number(row[0]), row[2].strip('"').upper(), way))
    if not layers or "NODALTHICKNESS" in options:
        return None
    if "SYMMETRIC" in options:  # the deck gives the lower half
        layers += layers[::-1]
    total = sum(layer[0] for layer in layers)
    where = (str(member(options["ELSET"])), layers[0][1], source)
    axes = options.get("ORIENTATION", "").upper()
    return DeckSection(*where, orientation=axes, thickness=total, offset=_shift(options) * total, layers=tuple(layers))


def _is_number(text: str) -> bool:
    try:
        number(text)
    except ValueError:
        return False
    return True


_SIZES = {
    "RECT": (2, "two widths"),
    "CIRC": (1, "the radius"),
    "PIPE": (2, "the radius and the wall"),
    "BOX": (6, "two widths and four walls"),
    "I": (
        7,
        "the height of the node above its foot, the height, the lower and the upper width, and the lower flange, "
        "the upper one and the web",
    ),
}
"""Number and meaning of the sizes of a section."""


def _beam(kind: str, size: list[float], solid: bool = False) -> Section | None:
    """The section of a beam by its widths along its first and second direction, or its radius and wall; None for an
    ellipse, and a box whose walls differ, of which beams that become `solid` may be. The origin of its drawing is at
    the nodes. Raises `MeshError` for others."""
    if kind not in _SIZES or (solid and kind == "I"):
        raise MeshError(f"a section {kind or 'of no type'}; {', '.join(_SIZES)} are read")
    count, what = _SIZES[kind]
    if solid and kind == "CIRC" and len(size) == 2 and min(size) > 0:
        return None
    if len(size) != count:
        raise MeshError(f"SECTION={kind} takes {what}; found {len(size)} sizes")
    try:
        if kind == "RECT":
            return Section.rectangle(*size)
        if kind == "CIRC":
            return Section.circle(2 * size[0])
        if kind == "PIPE":
            return Section.tube(2 * size[0], 2 * (size[0] - size[1]))
        if kind == "I":
            return _i_section(*size)
        if len(set(size[2:])) == 1:
            return Section.box(size[0], size[1], size[2])
        if size[2:4] == size[4:] and not solid:
            return _unequal_box(*size[:4])
    except MaterialError as error:
        raise MeshError(str(error).rstrip(".")) from None
    if not solid:
        raise MeshError("a box whose opposite walls differ, on whose order Abaqus and CalculiX do not agree")
    return None


@cache
def _i_section(l: float, h: float, low: float, high: float, low_wall: float, high_wall: float, web: float) -> Section:
    """Two flanges and a web about the second axis, `l` below the origin; one flange of no size makes it a T."""
    flanges = [(-low / 2, -l, low / 2, low_wall - l), (-high / 2, h - l - high_wall, high / 2, h - l)]
    there = [flange for flange in flanges if flange[2] > flange[0] and flange[3] > flange[1]]
    if min(low, high, low_wall, high_wall) < 0 or not there or low_wall + high_wall >= h:
        raise MaterialError(
            "An I needs a flange, walls that are not negative, and a web between the flanges; found flanges of "
            f"{low_wall:g} (t1) and {high_wall:g} (t2) in the height {h:g} (h)."
        )
    narrow = min(flange[2] - flange[0] for flange in there)
    if web > narrow * (1 + 1e-9):
        raise MaterialError(f"The web of an I, {web:g} (t3), is wider than its flange, {narrow:g} (b1 or b2).")
    return section_of_rectangles([*there, (-web / 2, -l, web / 2, h - l)])


@cache
def _unequal_box(a: float, b: float, upright: float, level: float) -> Section:
    """A box about the origin whose walls across the first axis are `upright`, those across the second `level`."""
    if not (0 < 2 * upright < a and 0 < 2 * level < b):
        raise MaterialError(f"A box of {a:g} and {b:g} with walls {upright:g} and {level:g} has no hollow.")
    sides = [(-a / 2, -b / 2, upright - a / 2, b / 2), (a / 2 - upright, -b / 2, a / 2, b / 2)]
    ends = [(-a / 2, -b / 2, a / 2, level - b / 2), (-a / 2, b / 2 - level, a / 2, b / 2)]
    return replace(section_of_rectangles([*sides, *ends]), drawn_centroid=(0.0, 0.0), shear_centre=(0.0, 0.0))
