"""Statements of a mesh file about a part that flexmb does not obey. They are reported with their places, and the part
is refused until the user accepts them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from fem.errors import MaterialError, MeshError
from fem.material import Material

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

    def accepted(self, keywords: Collection[str]) -> bool:
        """Whether one of the keywords names it, or its group."""
        return bool({canonical(self.keyword), canonical(self.group)} & ({canonical(k) for k in keywords} - {""}))


@dataclass(frozen=True, eq=False)
class Declared:
    """A linear elastic isotropic material that a file assigns to `cells`; constants that are missing in the file are
    None.

    `cells`: numbers of cells (k,), or (block, row) while a file is read.
    """

    name: str
    youngs_modulus: float | None
    poissons_ratio: float | None
    density: float | None
    source: Unread
    cells: Int[np.ndarray, "k ..."]

    def contradiction(self, given: Material) -> str | None:
        """How the constants differ from those of a material; None if they agree."""
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
