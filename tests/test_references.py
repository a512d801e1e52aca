"""What docstrings and pages cite is in docs/references.bib, which the page of references shows."""

import ast
import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIBLIOGRAPHY = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
YEAR = re.compile(r"\b(?:189\d|19\d\d|20[0-2]\d)\b")
SOURCE = re.compile(r"\bSources?(?: of [\w ]+)?:(.*)")
NO_PUBLICATION = ("RBE3", "Programmer's Guide", "users' guide", "Developer Reference", "MAT-File Format")
"""What else a "Source:" may be: elements and manuals of programs."""


def plain(text):
    """Letters without accents; a line for each paragraph."""
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return "\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def field(entry, name):
    found = re.search(rf"\n  {name} = \{{+(.*?)\}}+,\n", entry)
    return found[1] if found else ""


ENTRIES = [entry for entry in BIBLIOGRAPHY.split("\n@") if "author = " in entry]


def first_author(entry):
    """The family name."""
    return plain(re.split(r", | and ", field(entry, "author"))[0])


CITED = {(first_author(entry), field(entry, "year")) for entry in ENTRIES}
"""First author and year of every entry."""


def docstrings():
    """Docstrings of the packages: where, and what they say."""
    for package in ("fem", "reduction", "flexmb", "validation"):
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                    yield f"{path.relative_to(ROOT)}: {getattr(node, 'name', 'module')}", plain(text)


PLACES = dict(docstrings())
PAGES = {
    p.name: plain(p.read_text(encoding="utf-8")) for p in (ROOT / "docs").glob("*.md") if p.name != "references.md"
}


def unknown(years, text):
    """Years for which a text names no first author of the bibliography."""
    return [year for year in years if not any(y == year and author in text for author, y in CITED)]


def test_the_bibliography_is_read():
    assert len(ENTRIES) == BIBLIOGRAPHY.count("\n@") > 80
    assert ("Craig", "1968") in CITED
    assert ("Bruls", "2012") in CITED


def test_every_entry_has_a_doi_or_says_why_not():
    dois = [field(entry, "doi") for entry in ENTRIES if field(entry, "doi")]
    assert all(re.fullmatch(r"10\.\d{4,9}/\S+", doi) for doi in dois)
    assert len({doi.lower() for doi in dois}) == len(dois) > 50
    for entry in ENTRIES:
        assert bool(field(entry, "doi")) != bool(field(entry, "nodoi")), entry.partition(",")[0]


@pytest.mark.parametrize("place", [place for place, text in PLACES.items() if YEAR.search(text)])
def test_a_year_in_a_docstring_is_that_of_a_source(place):
    """Docstrings name no other years."""
    assert not unknown(YEAR.findall(PLACES[place]), PLACES[place])


@pytest.mark.parametrize("page", PAGES)
def test_a_source_of_a_page_is_in_the_bibliography(page):
    cited = re.findall(rf"[A-Z][a-z]+,? \(?({YEAR.pattern})\)", PAGES[page])
    assert not unknown(cited, PAGES[page])


@pytest.mark.parametrize("place", [place for place, text in PLACES.items() if SOURCE.search(text)])
def test_a_source_has_author_and_year(place):
    for said in SOURCE.findall(PLACES[place]):
        assert YEAR.search(said) or any(word in said for word in NO_PUBLICATION), said


def test_every_entry_is_cited():
    for entry in ENTRIES:
        author, year = first_author(entry), field(entry, "year")
        assert any(author in text and year in text for text in [*PLACES.values(), *PAGES.values()]), (
            f"{author} {year} is cited nowhere"
        )
