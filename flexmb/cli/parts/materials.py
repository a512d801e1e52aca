"""Materials as texts of the command line."""

from fem import Material, MaterialError, Shell
from fem.errors import unknown_name


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


def section_from(text: str, thickness: float | None) -> Material | Shell | None:
    """The material of a part, or its shell for the option --thickness; None for that of the file.

    Raises `MaterialError` for any other text, and for a thickness beside the materials of a file.
    """
    if thickness is None:
        return None if text in ("", "file") else material_from(text)
    if text in ("", "file"):
        raise MaterialError("--thickness makes shells of a surface mesh: give their --material, such as steel.")
    return Shell(material_from(text), thickness)
