"""Links into the documentation of other packages, from tables kept here: the site is built without a network."""

import zlib
from pathlib import Path

SITES = {
    "python": ("https://docs.python.org/3", {
        "library/functions.html": ["bool", "float", "int"],
        "library/stdtypes.html": ["str", "dict", "list", "tuple", "bytes", "frozenset"],
        "library/constants.html": ["None"],
        "library/typing.html": ["typing.Any"],
        "library/pathlib.html": ["pathlib.Path"],
        "library/collections.abc.html": [f"collections.abc.{n}" for n in ("Callable", "Collection", "Iterable", "Iterator", "Mapping", "Sequence")],
        "library/exceptions.html": ["ValueError", "TypeError", "OSError", "KeyError", "AttributeError", "ArithmeticError", "RuntimeError", "ImportError", "Exception", "UserWarning", "Warning",
                                    "FileNotFoundError", "IndexError", "NotImplementedError"],
    }),
    "numpy": ("https://numpy.org/doc/stable", {
        "reference/generated/numpy.ndarray.html": ["numpy.ndarray"],
        "reference/typing.html": ["numpy.typing.ArrayLike"],
    }),
    "scipy": ("https://docs.scipy.org/doc/scipy", {
        f"reference/generated/scipy.sparse.{n}.html": [f"scipy.sparse.{n}"] for n in ("csr_matrix", "csc_matrix", "csr_array", "csc_array", "coo_array", "sparray", "spmatrix")
    }),
    "pyvista": ("https://docs.pyvista.org", {
        "api/plotting/_autosummary/pyvista.plotter.html": ["pyvista.Plotter"],
        "api/core/_autosummary/pyvista.polydata.html": ["pyvista.PolyData"],
    }),
    "matplotlib": ("https://matplotlib.org/stable", {
        "api/_as_gen/matplotlib.figure.Figure.html": ["matplotlib.figure.Figure"],
        "api/_as_gen/matplotlib.axes.Axes.html": ["matplotlib.axes.Axes"],
    }),
    "pandas": ("https://pandas.pydata.org/docs", {"reference/api/pandas.DataFrame.html": ["pandas.DataFrame"]}),
    "xarray": ("https://docs.xarray.dev/en/stable", {"generated/xarray.Dataset.html": ["xarray.Dataset"]}),
}  # fmt: skip

NAMES = [name for _, pages in SITES.values() for names in pages.values() for name in names]


def write_inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write the tables as Sphinx inventories; what `intersphinx_mapping` wants to know."""
    folder.mkdir(parents=True, exist_ok=True)
    for site, (_, pages) in SITES.items():
        lines = "".join(f"{name} py:{_kind(name)} 1 {page}#$ -\n" for page, names in pages.items() for name in names)
        head = f"# Sphinx inventory version 2\n# Project: {site}\n# Version: \n# The remainder of this file is compressed using zlib.\n"
        (folder / f"{site}.inv").write_bytes(head.encode() + zlib.compress(lines.encode()))
    return {site: (address, str(folder / f"{site}.inv")) for site, (address, _) in SITES.items()}


def _kind(name: str) -> str:
    return (
        "exception"
        if name.endswith(("Error", "Exception", "Warning"))
        else "data"
        if name in ("None", "typing.Any", "numpy.typing.ArrayLike")
        else "class"
    )
