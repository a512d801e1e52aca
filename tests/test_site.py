"""What the site makes of the code: every public name has a place, and docstrings become tables with types and links."""

import importlib
import inspect
import re
import sys
from contextlib import suppress
from functools import reduce
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
ROOMS = (
    "fem",
    "reduction",
    "flexmb",
    "flexmb.linear",
    "flexmb.study",
    "flexmb.files",
    "flexmb.forces",
    "flexmb.controllers",
    "flexmb.time_functions",
    "fem.structured_meshes",
)
LISTED = {
    name
    for page in (DOCS / "api").glob("*.md")
    for name in re.findall(r"^(?: {3}|\.\. auto\w+:: )((?:fem|reduction|flexmb)[.\w]*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
}  # fmt: skip


def value_of(name):
    """The object of a dotted name; a function before a module of the same name."""
    parts = name.split(".")
    for n in range(1, len(parts) + 1):
        with suppress(AttributeError, ModuleNotFoundError):
            return reduce(getattr, parts[n:], importlib.import_module(".".join(parts[:n])))
    raise AttributeError(name)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_api(room):
    module = value_of(room)
    listed = {id(value_of(name)) for name in LISTED}
    names = getattr(module, "__all__", None) or [
        n
        for n, v in vars(module).items()
        if inspect.isfunction(v) and v.__module__ == module.__name__ and inspect.getdoc(v)
    ]
    for name in names:
        value = getattr(module, name)
        if callable(value) and not name.startswith(("_", "require_", "check_derivatives")):
            assert id(value) in listed, f"docs/api lists no {room}.{name}"


@pytest.fixture(scope="module")
def rewritten():
    """Lines of reStructuredText for a documented name."""
    pytest.importorskip("sphinx")
    pytest.importorskip("pybtex")
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        import docstrings
        import elsewhere
    finally:
        sys.path.pop(0)

    class App:
        class config:  # noqa: N801 - as Sphinx names it
            names_elsewhere = elsewhere.NAMES

    def lines_of(name):
        value = value_of(name)
        what = "class" if inspect.isclass(value) else "method" if name.rpartition(".")[0] in LISTED else "function"
        lines = inspect.getdoc(value).splitlines()
        docstrings.rewrite(App, what, name, value, None, lines)
        return "\n".join(lines)

    return lines_of


def test_lists_become_parameters_with_types(rewritten):
    text = rewritten("reduction.craig_bampton")
    assert ":param modes: number of fixed-interface modes, default 20" in text
    assert ":type model: :py:obj:`~fem.Model`" in text
    assert (
        ":type inputs: :py:obj:`Sequence <collections.abc.Sequence>`\\ [:py:obj:`str <str>` | :py:obj:`ndarray <numpy.ndarray>`\\ ] | None"
        in text
    )
    assert ":rtype: :py:obj:`~reduction.Basis`" in text
    assert "\n- " not in text
    assert ":type value: :py:obj:`float <float>`" in rewritten("fem.pressure")
    assert "``ndarray`` " not in rewritten("fem.pressure")
    assert ":param centre: (3,)" in rewritten("flexmb.rigid_body")


def test_sentences_become_errors(rewritten):
    text = rewritten("reduction.craig_bampton")
    assert ":raises ~flexmb.MatrixError: too many modes, a body in several parts, unusable matrices" in text
    assert ":raises ~flexmb.FactorisationError: \n" in text
    assert "Raises" not in text
    text = rewritten("flexmb.simulate")
    assert ":raises ~flexmb.AssemblyError: when the joints cannot be closed" in text
    assert "Cost per step" in text


def test_sources_are_cited(rewritten):
    assert re.search(
        r"\*\*Sources:\*\* Craig and Bampton.* :cite:p:`\S*craig1968", rewritten("reduction.craig_bampton")
    )


def test_names_become_links(rewritten):
    assert ":py:obj:`register_reader <fem.files.mesh_files.register_reader>`" in rewritten("fem.read_mesh")
    assert ":py:obj:`flexmb.Radau(tolerance=1e-9) <flexmb.Radau>`" in rewritten("flexmb.simulate")


@pytest.mark.long
def test_every_docstring_is_read(rewritten):
    for name in sorted(LISTED):
        if inspect.getdoc(value_of(name)):
            assert rewritten(name).strip(), name
