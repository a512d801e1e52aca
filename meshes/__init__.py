"""Small meshes that ship with flexmb; README.md names their makers and licences."""

from pathlib import Path


def path(name: str) -> Path:
    """Path of a shipped mesh, e.g. `path("conrod.msh")`; an unknown name is answered with the existing ones."""
    here = Path(__file__).parent
    if not (here / name).is_file():
        there = ", ".join(sorted(p.name for p in here.iterdir() if p.suffix in (".msh", ".inp")))
        raise FileNotFoundError(f"No mesh named {name!r} ships with flexmb. Existing: {there}.")
    return here / name
