"""Statements of a mesh file about a part that flexmb does not obey. They are reported with their places, and the part
is refused until the user accepts them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from fem.errors import MaterialError, MeshError
from fem.material import Material
from fem.mesh.constraints import Constraint
from fem.sections.beam_table import BeamTable
from fem.shell import Shell

SHOWN = 4
"""Places of one keyword that a message names one by one."""
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
    """A linear elastic isotropic material that a file assigns to `cells`; constants that are missing in the file are
    None.

    `cells`: numbers of cells (k,), or (block, row) while a file is read; `thickness` and `offset` of shells, whose
    thickness is None elsewhere.
    """

    name: str
    youngs_modulus: float | None
    poissons_ratio: float | None
    density: float | None
    source: Unread
    cells: Int[np.ndarray, "k ..."]
    thickness: float | None = None
    offset: float = 0.0

    def contradiction(self, section: Any) -> str | None:
        """How the constants differ from those of a material, or of the material of a beam or shell, and the thickness
        from that of a shell; None if they agree."""
        if isinstance(section, BeamTable):
            return None  # its matrices are beside the constants of any material
        given = section if isinstance(section, Material) else section.material
        if isinstance(section, Shell) and self.thickness is not None:
            theirs, ours = np.array([self.thickness, self.offset]), np.array([section.thickness, section.offset])
            if np.abs(theirs - ours).max() > SAME * self.thickness:
                return f"{self} is not the shell of the model, of thickness {ours[0]:g} and offset {ours[1]:g}"
        if self.youngs_modulus is not None and self.poissons_ratio is not None:
            try:
                C = Material.isotropic(self.youngs_modulus, self.poissons_ratio).elasticity
            except MaterialError as error:
                return f"{self}: {error}"
            if np.abs(C - given.elasticity).max() > SAME * np.abs(C).max():
                return f"{self} is not the material {given.name!r} of the model: their elastic constants differ"
        known = self.density is not None and given.density is not None
        if known and not np.isclose(float(given.density or 0.0), float(self.density or 0.0), rtol=SAME, atol=0.0):
            return f"{self} is not the material {given.name!r} of the model: its density is {given.density:g}"
        return None

    def told_apart(self, other: "Declared") -> str | None:
        """The reason why this material and `other` may differ although one material of the model represents both; None
        where the file shows no difference."""
        unknown = self.youngs_modulus is None or other.youngs_modulus is None
        if self.name.upper() == other.name.upper() or not unknown:
            return None
        return f"{self} and {other} are two, and one material of the model stands for both"

    def __str__(self) -> str:
        values = {"E": self.youngs_modulus, "nu": self.poissons_ratio, "density": self.density}
        values |= {} if self.thickness is None else {"thickness": self.thickness, "offset": self.offset}
        told = ", ".join(f"{key} = {value:g}" for key, value in values.items() if value is not None)
        return f"{self.name} of the file ({told or 'without constants'})"


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
        "fem.PointMass, fem.Spring) or take them out of the file; "
        f"where the body is right without them, say so: fem.read_mesh(..., ignore={keywords!r}), ignore = {keywords!r} "
        f"beside mesh in a model file, {' '.join(f'--ignore {k!r}' for k in keywords)} on the command line."
    )


def materials_of_file(mesh: Any) -> tuple[dict[str, Material | Shell], np.ndarray]:
    """The materials that the file of a mesh gives to its cells, by name, and the index of the material of each cell.

    Raises `MaterialError` for cells without a material, or with one whose constants are missing.
    """
    names: dict[str, Material | Shell] = {}
    index = np.full(mesh.cell_count, -1)
    for declared in mesh.declared:
        if declared.youngs_modulus is None or declared.poissons_ratio is None:
            raise MaterialError(
                f"Mesh {mesh.name!r}: {declared} ({declared.source.label}) has no isotropic elastic constants that "
                "flexmb reads. Give the materials: fem.Model(mesh, material)."
            )
        made = Material.isotropic(
            declared.youngs_modulus, declared.poissons_ratio, declared.density, name=declared.name
        )
        name = declared.name
        if declared.thickness is not None:
            name = f"{name}, thickness {declared.thickness:g}, offset {declared.offset:g}"
        shell = None if declared.thickness is None else Shell(made, declared.thickness, declared.offset)
        names.setdefault(name, shell or made)
        index[declared.cells] = list(names).index(name)
    if (index < 0).any():
        there = ", ".join(map(repr, names)) or "none"
        raise MaterialError(
            f"Mesh {mesh.name!r}: its file gives no material to {int((index < 0).sum())} of {mesh.cell_count} cells "
            f"(materials of the file: {there}). Give the materials: fem.Model(mesh, material)."
        )
    return names, index
