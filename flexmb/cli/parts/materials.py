"""Materials as texts of the command line."""

from fem import Material, MaterialError
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
