"""Statements of a mesh file about a part that flexmb does not obey. They are reported with their places, and the part
is refused until the user accepts them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fem.axes.cylindrical import CylindricalAxes
from fem.beam import Beam, Section, Truss
from fem.errors import MaterialError, MeshError
from fem.material import Material
from fem.mesh.constraints import Constraint
from fem.sections.beam_table import BeamTable
from fem.shell import Shell

SHOWN = 4
"""Places of one keyword that a message names one by one."""
SUPPORTS = frozenset({"BOUNDARY", "SPC", "SPC1", "GRID PS", "D"})
"""Keywords of supports, which hold natural modes and static load cases, and no body."""
SAME = 1e-6
"""Relative difference up to which constants of a file and of the model count as the same."""


@dataclass(frozen=True)
class Unread:
    """A keyword of a file that would change the part and is not obeyed.

    - `keyword`: as in the file, in capitals; `group`: a wider keyword to which it belongs, such as STEP, or nothing;
    - `file` and `line`: its place; `text`: that line, or the reason why it is not obeyed.
    """

    keyword: str
    file: str
    line: int
    text: str
    group: str = ""

    @property
    def label(self) -> str:
        """Keyword and place, for messages."""
        return f"{self.keyword}, line {self.line} of {self.file}"

    def accepted(self, keywords: Collection[str]) -> bool:
        """Whether one of the keywords names it, or its group."""
        return bool({canonical(self.keyword), canonical(self.group)} & ({canonical(k) for k in keywords} - {""}))


@dataclass(frozen=True, eq=False)
class Stated:
    """A constraint that a keyword of a file states, which is obeyed unless the user omits the keyword."""

    constraint: Constraint
    source: Unread


@dataclass(frozen=True, eq=False)
class Declared:
    """A linear elastic material that a file assigns to `cells`, with the section of shells and beams.

    - `elasticity` (6, 6), in the axes of the mesh, and `density`; None where the file has no usable constants, with the
      reason in `wrong`.
    - `cells`: numbers of cells (k,), or (block, row) while a file is read.
    - `thickness` and `offset` of shells, whose thickness is None elsewhere; `shell`: the whole shell where it is more
      than a layer of the material;
    - `beam`: section of beams, direction of their y axis and their offset, None elsewhere; `theory` and `torsion` of
      beams; `table` of beams whose section varies;
    - `area` of trusses, None elsewhere; `axes` of solids whose material turns around an axis.
    """

    name: str
    elasticity: Float[np.ndarray, "6 6"] | None
    density: float | None
    source: Unread
    cells: Int[np.ndarray, "k ..."]
    thickness: float | None = None
    offset: float = 0.0
    beam: tuple[Section, tuple[float, float, float] | None, tuple[float, float]] | None = None
    wrong: str = ""
    theory: str = "timoshenko"
    area: float | None = None
    shell: Shell | None = None
    axes: CylindricalAxes | None = None
    table: BeamTable | None = None
    torsion: str = "saint-venant"

    def contradiction(self, section: Any) -> str | None:
        """How the constants differ from those of a material, or of the material of a beam or shell, and the section
        from that of a shell or beam; None if they agree."""
        if isinstance(section, BeamTable):
            return None  # its matrices are beside the constants of any material
        given = section if isinstance(section, Material) else section.material
        if isinstance(section, Shell) and self.thickness is not None:
            theirs, ours = np.array([self.thickness, self.offset]), np.array([section.thickness, section.offset])
            if np.abs(theirs - ours).max() > SAME * self.thickness:
                return f"{self} is not the shell of the model, of thickness {ours[0]:g} and offset {ours[1]:g}"
            if self.shell is not None:
                theirs, ours = (np.asarray(s.section.stiffness) for s in (self.shell, section))
                if np.abs(theirs - ours).max() > SAME * np.abs(theirs).max() or self.shell.x_axis != section.x_axis:
                    return f"{self} is not the shell of the model: {section}"
                return None
        if isinstance(section, Truss) and self.area is not None and abs(section.area - self.area) > SAME * self.area:
            return f"{self} is not the truss of the model, of area {section.area:g}"
        if self.table is not None and isinstance(section, Beam):
            return f"{self} is not the beam of the model: its section varies"
        if isinstance(section, Beam) and self.beam is not None:
            theirs, ours = (np.array([s.area, s.Iy, s.Iz, s.J]) for s in (self.beam[0], section.section))
            said = theirs > 0  # a torsion constant that the file leaves blank may be given
            if (np.abs(theirs - ours)[said] > SAME * theirs[said]).any():
                return f"{self} is not the beam of the model, of {section.section}"
            beside = np.subtract(self.beam[2], section.offset)
            if np.abs(beside).max() > SAME * self.beam[0].area ** 0.5:
                return f"{self} is not the beam of the model, of offset {section.offset}: its own is {self.beam[2]}"
            if self.torsion == "vlasov" and section.torsion != self.torsion:
                return f"{self} is not the beam of the model, whose sections warp freely"
        if self.wrong:
            return f"{self}: {self.wrong}"
        C = self.elasticity
        if self.axes != given.axes:
            return f"{self} is not the material {given.name!r} of the model: its axes are {self.axes}"
        if C is not None and np.abs(C - given.elasticity).max() > SAME * np.abs(C).max():
            return f"{self} is not the material {given.name!r} of the model: their elastic constants differ"
        known = self.density is not None and given.density is not None
        if known and not np.isclose(float(given.density or 0.0), float(self.density or 0.0), rtol=SAME, atol=0.0):
            return f"{self} is not the material {given.name!r} of the model: its density is {given.density:g}"
        return None

    def told_apart(self, other: "Declared") -> str | None:
        """The reason why this material and `other` may differ although one material of the model represents both; None
        where the file shows no difference."""
        unknown = self.elasticity is None or other.elasticity is None
        if self.name.upper() == other.name.upper() or not unknown:
            return None
        return f"{self} and {other} are two, and one material of the model stands for both"

    def made(self) -> Material | Shell | Beam | BeamTable | Truss:
        """What the file makes of the cells. Raises `MaterialError` where it does not say enough."""
        if self.shell is not None:
            return self.shell
        if self.table is not None:
            return self.table
        if self.elasticity is None:
            raise MaterialError(self._refused(self.wrong or "it has no elastic constants that flexmb reads"))
        try:
            material = Material(self.name, self.elasticity, self.density, self.axes)
            if self.beam is not None:
                return Beam(material, *self.beam, theory=self.theory, torsion=self.torsion)
            if self.area is not None:
                return Truss(material, self.area)
            return material if self.thickness is None else Shell(material, self.thickness, self.offset)
        except MaterialError as error:
            raise MaterialError(self._refused(str(error))) from None

    def _refused(self, reason: str) -> str:
        return (
            f"{self}, {self.source.label}, cannot be used: {reason.rstrip('.')}. Correct the file, or give materials: "
            "fem.Model(mesh, material)."
        )

    @property
    def section_name(self) -> str:
        """Name of the material with what tells sections of it apart."""
        if self.beam is not None:
            held = ", warping held" if self.torsion == "vlasov" else ""
            beside = f", offset {self.beam[2]}" if any(self.beam[2]) else ""
            return f"{self.name}, {self.beam[0]}, y axis {self.beam[1]}{beside}{held}"
        if self.area is not None:
            return f"{self.name}, area {self.area:g}"
        if self.shell is not None:
            return f"{self.name}, {self.shell}, {self.shell.x_axis}"
        shell = f", thickness {self.thickness:g}, offset {self.offset:g}" if self.thickness is not None else ""
        return self.name + shell

    def __str__(self) -> str:
        values = _constants(self.elasticity) | {"density": self.density}
        values |= {} if self.thickness is None else {"thickness": self.thickness, "offset": self.offset}
        values |= {} if self.shell is None else {"plies": len(self.shell.plies) or None}
        values |= {} if self.beam is None else {"area": self.beam[0].area}
        values |= {} if self.area is None else {"area": self.area}
        told = ", ".join(f"{key} = {value:g}" for key, value in values.items() if value is not None)
        return f"{self.name} of the file ({told or 'without constants'})"


def _constants(C: np.ndarray | None) -> dict[str, float | None]:
    """Young's modulus and Poisson's ratio of an isotropic elasticity; of others three moduli along the axes of the
    mesh, which are not those of a material that the file turns."""
    if C is None:
        return {}
    S = np.linalg.inv(C)
    E, nu = 1 / S[0, 0], -S[0, 1] / S[0, 0]
    if -1 < nu < 0.5 and np.abs(Material.isotropic(E, nu).elasticity - C).max() < SAME * np.abs(C).max():
        return {"E": float(E), "nu": float(round(nu, 12)) + 0.0}  # no minus zero
    E, G = (1 / S.diagonal()[:3]).tolist(), 1 / S[3, 3]
    if np.ptp(E) < SAME * max(E) and np.ptp(S.diagonal()[3:]) < SAME * S[3, 3]:
        return {"E": E[0], "G": float(G)}  # of a beam, whose two are independent
    return dict(zip(("Ex", "Ey", "Ez"), E, strict=True))


def canonical(keyword: str) -> str:
    """A keyword in its canonical form: without blanks, a leading star, and differences of case."""
    return "".join(keyword.upper().split()).lstrip("*")


def kept(unread: Iterable[Unread], ignore: Collection[str]) -> tuple[tuple[Unread, ...], tuple[Unread, ...]]:
    """The keywords that remain unread, and those that the user accepts."""
    found = tuple(unread)
    accepted = tuple(u for u in found if u.accepted(ignore))
    return tuple(u for u in found if u not in accepted), accepted


def listed(unread: Sequence[Unread]) -> list[str]:
    """A line of text for each keyword, with its places."""
    by_keyword: dict[str, list[Unread]] = {}
    for u in unread:
        by_keyword.setdefault(u.keyword, []).append(u)
    lines = []
    for keyword, places in by_keyword.items():
        told = "; ".join(f"line {u.line} of {u.file}: {u.text}" for u in places[:SHOWN])
        more = f"; and {len(places) - SHOWN} more, to line {places[-1].line}" if len(places) > SHOWN else ""
        lines.append(f"{keyword}, {told}{more}")
    return lines


def require_obeyed(name: str, unread: Sequence[Unread]) -> None:
    """Raise `MeshError` if a part has keywords that are not obeyed and not accepted."""
    if not unread:
        return
    keywords = list(dict.fromkeys(u.group or u.keyword for u in unread))
    raise MeshError(
        f"The file of part {name!r} says more about the part than flexmb obeys:\n  "
        + "\n  ".join(listed(unread))
        + "\nA body made without these is not the part of the file. Model them here (interfaces, joints, materials, "
        "fem.RigidLink, fem.PointMass, fem.Spring) or take them out of the file (supports hold a static load case with "
        'fem.read_mesh(..., supports="keep"), and no body: interfaces do); '
        f"where the body is right without them, say so: fem.read_mesh(..., ignore={keywords!r}), ignore = {keywords!r} "
        f"beside mesh in a model file, {' '.join(f'--ignore {k!r}' for k in keywords)} on the command line."
    )


def materials_of_file(mesh: Any) -> tuple[tuple[Material | Shell | Beam | BeamTable | Truss, ...], np.ndarray]:
    """The materials that the file of a mesh gives to its cells, and the index of the material of each cell. Sections of
    beams are the same where all of their numbers are, those of stresses included.

    Raises `MaterialError` for cells without a material, or with one whose constants are missing.
    """
    found: dict[tuple[Any, ...], Material | Shell | Beam | BeamTable | Truss] = {}
    index = np.full(mesh.cell_count, -1)
    for declared in mesh.declared:
        try:
            made = declared.made()
        except MaterialError as error:
            raise MaterialError(f"Mesh {mesh.name!r}: {error}") from None
        key = declared.section_name, declared.beam, declared.theory
        found.setdefault(key, made)
        index[declared.cells] = list(found).index(key)
    if (index < 0).any():
        there = ", ".join(repr(name) for name, *_ in found) or "none"
        left = "\n  ".join(["", *listed(mesh.unread)])
        raise MaterialError(
            f"Mesh {mesh.name!r}: its file gives no material to {int((index < 0).sum())} of {mesh.cell_count} cells "
            f"(materials of the file: {there}). Give the materials: fem.Model(mesh, material)."
            + (f" Of the file, this is not obeyed:{left}" if mesh.unread else "")
        )
    return tuple(found.values()), index
