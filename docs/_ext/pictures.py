"""Pictures that examples of the gallery write as files, beside those that matplotlib shows; and their warnings."""

import warnings
from pathlib import Path
from typing import Any

import sphinx_gallery.scrapers


def written_pictures(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Take the PNG files that the block wrote; the text that shows them."""
    taken = []
    for path in sorted(Path.cwd().glob("*.png"), key=lambda p: p.stat().st_mtime):
        taken.append(next(variables["image_path_iterator"]))
        path.replace(taken[-1])
    return sphinx_gallery.scrapers.figure_rst(taken, settings["src_dir"])


def plain_warnings(settings: dict[str, Any], example: str) -> None:
    """Show warnings by name and text, without the place of the file on the machine that builds the site."""
    warnings.formatwarning = lambda message, category, *_, **__: f"{category.__name__}: {message}\n"
