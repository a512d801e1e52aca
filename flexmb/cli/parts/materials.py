"""Materials, and sections of beams, as texts of the command line."""

from collections.abc import Callable

from fem import Beam, Material, MaterialError, Section, Shell
from fem.errors import unknown_name

SECTIONS: dict[str, tuple[Callable[..., Section], str]] = {
    "circle": (Section.circle, "diameter"),
    "tube": (Section.tube, "outer,inner"),
    "rectangle": (Section.rectangle, "width_y,width_z"),
    "box": (Section.box, "width_y,width_z,wall"),
}
"""Maker and sizes of each kind of section."""


def material_from(text: str) -> Material:
    """The material that `steel` or `aluminium`, either with `:mm`, or `E,nu,density` denotes.

    Raises `MaterialError` for any other text.
    """
    name, _, units = text.partition(":")
    makers = {"steel": Material.steel, "aluminium": Material.aluminium}
    if name in makers:
        return makers[name](units=units or "m")
    try:
        E, nu, density = (float(x) for x in text.split(","))
    except ValueError:
        raise MaterialError(unknown_name("material", text, makers) + ' Or give "E,nu,density".') from None
    return Material.isotropic(E, nu, density, name=text)


def shells_of(thickness: float | None) -> str | None:
    """What `fem.read_mesh` takes for shells of a mesh, for the option --thickness."""
    return None if thickness is None else "all"


def beam_section(text: str) -> Section:
    """The section that a text such as `circle=0.02` or `box=0.1,0.05,0.004` denotes.

    Raises `MaterialError` for another kind, or sizes that are not those of the kind.
    """
    kind, _, given = text.partition("=")
    if kind not in SECTIONS:
        raise MaterialError(unknown_name("kind of section", kind, SECTIONS) + " --section circle=0.02, for instance.")
    make, names = SECTIONS[kind]
    try:
        sizes = [float(x) for x in given.split(",")]
    except ValueError:
        sizes = []
    if len(sizes) != len(names.split(",")):
        raise MaterialError(f"--section {text}: expected {kind}={names} as numbers; found {given!r}.")
    return make(*sizes)


def section_from(text: str, thickness: float | None, section: str | None) -> Material | Shell | Beam | None:
    """The material of a part, or its shell for the option --thickness, or its beam for --section; None for that of the
    file.

    Raises `MaterialError` for any other text, for a thickness or section beside the materials of a file, and for both.
    """
    if thickness is not None and section is not None:
        raise MaterialError(
            "--thickness makes shells of a surface mesh and --section beams of a mesh of lines: give one of them. A "
            "model file gives materials to the sets of a mesh with both."
        )
    if thickness is None and section is None:
        return None if text in ("", "file") else material_from(text)
    if text in ("", "file"):
        option = "--thickness makes shells of a surface mesh" if section is None else "--section makes beams of lines"
        raise MaterialError(f"{option}: give their --material, such as steel.")
    if section is not None:
        return Beam(material_from(text), beam_section(section))
    assert thickness is not None
    return Shell(material_from(text), thickness)
