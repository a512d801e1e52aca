"""Docstrings on the site: from the Markdown of the code to fields with types and links.

The code's docstrings describe parameters in lists ("- `modes`: number of ...") and errors in a sentence ("Raises
`MeshError` when ..."). Here the lists become the table of parameters, with types from the annotations as they stand in
the source, the sentences become the table of errors, `names` become links where the site has a page, and a source
becomes a citation where `references.bib` has it.
"""

import ast
import builtins
import importlib
import inspect
import re
import textwrap
from collections.abc import Sequence
from functools import cache, cached_property, reduce
from pathlib import Path
from typing import Any, get_args

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from numpy.typing import ArrayLike
from pybtex.database import parse_file
from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
MARKDOWN = MarkdownIt("commonmark", {"html": False})
ERROR = re.compile(r"`?\b((?:[a-z]\w*\.)*[A-Z]\w*(?:Error|Warning|Exception|Interrupt))\b`?")
RAISES = re.compile(r"(?:^|(?<=[.;] ))(?:It r|R)aises ((?:.|\n)+?)(?:\.(?=\s+[A-Z`])|\.?$)")


@cache
def documented() -> dict[int, str]:
    """Objects that have a page or an entry, by identity, and the name under which the pages of docs/api list them."""
    found = {}
    for page in sorted((DOCS / "api").glob("*.md")):
        for name in re.findall(
            r"^(?: {3}|\.\. auto\w+:: )((?:fem|reduction|flexmb)[.\w]*)$", page.read_text(), flags=re.MULTILINE
        ):
            found.setdefault(id(imported(name)), name)
    return found


def imported(name: str) -> Any:
    """The object of a dotted name; a function before a module of the same name. Raises `AttributeError` where there is none."""
    parts = name.split(".")
    for n in range(1, len(parts) + 1):
        try:
            return reduce(getattr, parts[n:], importlib.import_module(".".join(parts[:n])))
        except (AttributeError, ModuleNotFoundError):
            continue
    raise AttributeError(name)


@cache
def sources() -> list[tuple[str, str, str]]:
    """Family name of the first author, year and key of every entry of the bibliography."""
    entries = parse_file(str(DOCS / "references.bib")).entries
    return [
        (" ".join(e.persons["author"][0].last_names).strip("{}"), e.fields["year"], key) for key, e in entries.items()
    ]


class Scope:
    """Where the names of a docstring are looked up: its class, its module, the packages."""

    def __init__(self, value: Any, name: str, elsewhere: frozenset[str]) -> None:
        self.value = inspect.unwrap(getattr(value, "fget", None) or getattr(value, "func", None) or value)
        self.module = importlib.import_module(getattr(self.value, "__module__", None) or "flexmb")
        owner = imported(name.rpartition(".")[0]) if "." in name else None
        self.owner = self.value if inspect.isclass(self.value) else owner
        self.elsewhere = elsewhere

    def find(self, text: str) -> str | None:
        """The documented name that `text` means here, or None."""
        if not re.fullmatch(r"[A-Za-z_][\w.]*", text):
            return None
        for holder in (self.owner, self.module, *map(importlib.import_module, ("flexmb", "fem", "reduction"))):
            value: Any = holder
            try:
                for part in text.split("."):
                    value, last = getattr(value, part), value
            except AttributeError:
                continue
            if name := documented().get(id(value)):
                return name
            if inspect.isclass(last) and (name := documented().get(id(last))):
                return f"{name}.{text.rpartition('.')[2]}"
        try:
            return documented().get(id(imported(text)))
        except (AttributeError, ImportError):
            return None

    def code(self, text: str) -> str:
        """Inline code, linked where it names something."""
        call = re.match(r"[\w.]+", text)
        name = self.find(call[0]) if call and text[len(call[0]) :][:1] in ("", "(") else None
        return f":py:obj:`{escaped(text)} <{name}>`" if name else f"``{text}``"

    def type_of(self, node: ast.AST) -> str:
        """An annotation as it stands in the source, with links."""
        match node:
            case ast.Constant(value=str(text)):
                return self.type_of(ast.parse(text, mode="eval").body)
            case ast.BinOp(left=left, right=right):
                return f"{self.type_of(left)} | {self.type_of(right)}"
            case ast.Subscript(
                value=ast.Name(id="Float" | "Int" | "Shaped" | "Complex" | "Num" | "Inexact" | "Bool"),
                slice=ast.Tuple(elts=[kind, shape]),
            ):
                axes = [escaped("..." if axis[0] in "*." else axis) for axis in str(ast.literal_eval(shape)).split()]
                return f"{self.type_of(kind)} of shape ({', '.join(axes)}{',' if len(axes) == 1 else ''})"
            case ast.Subscript(value=ast.Name(id="Literal"), slice=item):
                return escaped(ast.unparse(item).strip("()")).replace(",", " |")
            case ast.Subscript(value=value, slice=ast.Tuple(elts=items)):
                return f"{self.type_of(value)}\\ [{', '.join(map(self.type_of, items))}\\ ]"
            case ast.Subscript(value=value, slice=item):
                return f"{self.type_of(value)}\\ [{self.type_of(item)}\\ ]"
            case ast.List(elts=items):
                return f"[{', '.join(map(self.type_of, items))}]"
            case ast.Name() | ast.Attribute():
                return self._name(ast.unparse(node))
        return escaped(ast.unparse(node))

    def _name(self, text: str) -> str:
        if text in self.elsewhere:
            return f":py:obj:`{text.rpartition('.')[2]} <{text}>`"
        try:
            value = eval(text, {**vars(builtins), **vars(self.module)})
        except (NameError, AttributeError):
            return escaped(text)
        if value is ArrayLike or text.endswith("ArrayLike"):
            return ":py:obj:`array_like <numpy.typing.ArrayLike>`"
        if name := documented().get(id(value)):
            return f":py:obj:`~{name}`"
        if (
            not inspect.isclass(value)
            and get_args(value)
            and "_typing" not in (written := inspect.formatannotation(value))
        ):
            return self.type_of(ast.parse(written, mode="eval").body)  # a name for a longer type
        full = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}".removeprefix("builtins.")
        full = PUBLIC.get(full, full)
        return f":py:obj:`{text.rpartition('.')[2]} <{full}>`" if full in self.elsewhere else escaped(text)

    @cached_property
    def parameters(self) -> dict[str, str]:
        """Parameters of a function, or of what makes a class: the annotation of each, as text of the site."""
        if inspect.isclass(self.value):
            classes = [c for c in self.value.__mro__ if c.__module__.split(".")[0] in ("fem", "reduction", "flexmb")]
            written: dict[str, str] = {}
            for c in reversed(classes):
                body = parsed(c).body
                made = [f for f in body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
                scope = Scope(c, "", self.elsewhere) if c is not self.value else self
                if made:
                    written |= scope._arguments(made[0])
                else:
                    written |= {
                        f.target.id: scope.type_of(f.annotation)
                        for f in body
                        if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name)
                    }
            try:
                names = list(inspect.signature(self.value).parameters)
            except ValueError:
                return {}
            return {name: written.get(name, "") for name in names}
        if inspect.isfunction(self.value):
            return self._arguments(parsed(self.value))
        return {}

    def _arguments(self, function: Any) -> dict[str, str]:
        a = function.args
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs]
        return {
            x.arg: self.type_of(x.annotation) if x.annotation else "" for x in every if x.arg not in ("self", "cls")
        }

    @property
    def returns(self) -> str:
        if not inspect.isfunction(self.value):
            return ""
        node = parsed(self.value).returns
        return "" if node is None or ast.unparse(node) == "None" else self.type_of(node)


PUBLIC = {"pathlib._local.Path": "pathlib.Path"}
"""Where documentation lists what a private module defines."""


def parsed(value: Any) -> Any:
    """The definition of a function or class."""
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def escaped(text: str) -> str:
    """Text without marks of reStructuredText."""
    return re.sub(r"([\\*`|<>]|_(?!\w)|(?<!\w)_)", r"\\\1", text)


def inline(node: SyntaxTreeNode, scope: Scope) -> str:
    """The text of a paragraph."""
    out = ""
    for child in node.children:
        match child.type:
            case "text":
                piece = escaped(child.content)
            case "code_inline":
                piece = scope.code(child.content)
            case "softbreak" | "hardbreak":
                piece = " "
            case "em" | "strong":
                mark = {"em": "*", "strong": "**"}[child.type]
                piece = f"{mark}{inline(child, scope)}{mark}"
            case _:
                piece = inline(child, scope) if child.children else escaped(child.content)
        if (
            out
            and piece
            and child.type != "softbreak"
            and (out[-1].isalnum() or out[-1] == "`")
            and (piece[0].isalnum() or piece[0] in "`:*")
        ):
            plain_colon = child.type == "text" and piece[0] == ":"
            out += "" if plain_colon else "\\ "
        out += piece
    return out


class Page:
    """A docstring taken apart: text, described parameters, errors."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.described: dict[str, list[str]] = {}
        self.raised: list[tuple[str, str]] = []

    def text(self, markdown: str) -> str:
        return (
            inline(SyntaxTreeNode(MARKDOWN.parse(markdown)).children[0].children[0], self.scope)
            if markdown.strip()
            else ""
        )

    def blocks(self, nodes: Sequence[SyntaxTreeNode], top: bool = False) -> list[str]:
        lines: list[str] = []
        for child in nodes:
            match child.type:
                case "paragraph":
                    lines += [*self.paragraph(child.children[0].content, top), ""]
                case "code_block" | "fence":
                    lines += ["", "::", "", *textwrap.indent(child.content.rstrip(), "    ").splitlines(), ""]
                case "bullet_list" | "ordered_list":
                    lines += [""]
                    for item in child.children:
                        if not (top and self.parameter(item)):
                            mark = "- " if child.type == "bullet_list" else "#. "
                            lines += under(mark, self.blocks(item.children))
                    lines += [""]
                case "heading":
                    lines += [f"**{self.text(child.children[0].content)}**", ""]
                case _:
                    lines += [*escaped(child.children[0].content if child.children else child.content).splitlines(), ""]
        return lines

    def parameter(self, item: SyntaxTreeNode) -> bool:
        """Take a list item for the description of a parameter, where it begins with the name of one."""
        first, *others = item.children
        content = first.children[0].content if first.type == "paragraph" else ""
        names = re.match(r"`(\w+)[^`]*`(?:, `(\w+)[^`]*`)*", content)
        if not names or names[1] not in self.scope.parameters:
            return False
        group = [n for n in re.findall(r"`(\w+)[^`]*`", names[0]) if n in self.scope.parameters]
        rest = content[names.end() :]
        given = re.match(r"`\w+( = [^`]*)`$", names[0])
        rest = (f"`{given[1].strip(' =')}`" if given else "") + rest
        said = re.sub(
            r"^\s*[:;,]\s*", "", re.sub(r"^(\s*\([^)]*\)):", r"\1", rest).strip()
        )  # "(3,): place" -> "(3,) place"
        body = [self.text(said), ""]
        body += self.blocks(others)
        self.described[group[0]] = body
        for name in group[1:]:
            self.described.setdefault(name, [f"See ``{group[0]}``."])
        return True

    def paragraph(self, content: str, top: bool) -> list[str]:
        flat = " ".join(content.split())
        if top:
            flat = self._without_errors(flat)
            described = re.match(r"`(\w+)`(?= ?[:(]|: )", flat)
            if described and described[1] in self.scope.parameters and described[1] not in self.described:
                for part in re.split(r"; (?=`\w+`)", flat):
                    name = re.match(r"`(\w+)`:? ?", part)
                    if name and name[1] in self.scope.parameters:
                        self.described[name[1]] = [self.text(part[name.end() :])]
                        last = name[1]
                    else:
                        self.described[last][-1] += "; " + self.text(part)
                return []
            if found := re.match(r"(?:Sources?|References?)(?: of [\w ]+)?:", flat):
                cited = [key for author, year, key in sources() if author in flat and year in flat]
                links = f" :cite:p:`{','.join(cited)}`" if cited else ""
                return [f"**{found[0]}** {self.text(flat[found.end() :])}{links}"]
        return [self.text(flat)]

    def _without_errors(self, flat: str) -> str:
        """Take the sentence on errors out of a paragraph."""
        for sentence in RAISES.finditer(flat):
            before, *pairs = ERROR.split(sentence[1])
            if before.strip() or not pairs:
                continue
            waiting: list[str] = []
            joined = False
            for name, said in zip(pairs[::2], pairs[1::2], strict=True):
                waiting.append(name)
                if said.strip() in ("or", "and", ", or", ", and"):
                    joined = True  # the next description is of both
                    continue
                said = re.sub(r"(,|;|\band\b|\bor\b|\s)+$", "", said).strip()
                if said.startswith("(") and said.endswith(")"):
                    said = said[1:-1]
                if said:
                    self.raised += [(each, said if joined or each == name else "") for each in waiting]
                    waiting, joined = [], False
            self.raised += [(name, "") for name in waiting]
            flat = flat.replace(sentence[0], "").replace("  ", " ").strip().removesuffix(" .")
            flat = "" if flat == "." else flat.removeprefix(". ")
            break
        return flat


def under(head: str, lines: Sequence[str]) -> list[str]:
    """Lines that belong to a head: the mark of a list, or a field."""
    body = "\n".join(lines).strip("\n")
    pad = " " * (len(head) if len(head) < 4 else 4)
    return [*(head + textwrap.indent(body, pad).lstrip()).rstrip().splitlines(), *([""] if "\n" in body else [])]


def rewrite(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Called by autodoc for every docstring."""
    scope = Scope(value, name, frozenset(app.config.names_elsewhere))
    page = Page(scope)
    out = page.blocks(SyntaxTreeNode(MARKDOWN.parse("\n".join(lines))).children, top=True)
    for base in value.__mro__[1:] if what == "class" else ():
        if base.__module__.startswith(("fem", "reduction", "flexmb")) and base.__doc__:
            inherited = Page(scope)
            inherited.blocks(SyntaxTreeNode(MARKDOWN.parse(inspect.cleandoc(base.__doc__))).children, top=True)
            page.described = inherited.described | page.described
    fields: list[str] = []
    if what in ("function", "method", "class"):
        for parameter, kind in scope.parameters.items():
            if parameter in page.described or kind:
                fields += under(f":param {parameter}: ", page.described.get(parameter, []))
                if kind:
                    fields += [f":type {parameter}: {kind}"]
    else:
        for parameter, body in page.described.items():
            out += under("- ", [f"``{parameter}``: {body[0]}", *body[1:]])
    if what in ("function", "method") and scope.returns:
        fields += [f":rtype: {scope.returns}"]
    for error, said in page.raised:
        target = scope.find(error)
        fields += [f":raises {f'~{target}' if target else error}: {page.text(said)}"]
    lines[:] = [*out, "", *fields, ""]


def skip(app: Sphinx, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Fields of named tuples have no docstrings of their own."""
    return True if (getattr(value, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("names_elsewhere", [], "env")
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
