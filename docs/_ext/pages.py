"""What the site needs beside its pages: notebooks and the validation report from their places, formulas, links from code in the text."""

import re
import shutil
from pathlib import Path
from typing import Any

import charts
from docstrings import documented
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.math import get_node_equation_number

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent


def take_from_outside(app: Sphinx, config: Config) -> None:
    """The notebooks are kept beside docs/; Sphinx reads files within it. Charts are drawn beside the pages."""
    charts.draw(DOCS / "generated")
    there = DOCS / "notebooks"
    there.mkdir(exist_ok=True)
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        copy = there / notebook.name
        if not copy.exists() or copy.read_bytes() != notebook.read_bytes():
            shutil.copyfile(notebook, copy)


class Report(Directive):
    """The validation report (one HTML page of its own, written by `flexmb validate --report`) as a part of this page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        source = Path(self.state.document.settings.env.doc2path(self.state.document.settings.env.docname)).parent
        path = source / self.arguments[0]
        self.state.document.settings.env.note_dependency(str(path))
        body = path.read_text(encoding="utf-8").split("</h1>", 1)[1].removesuffix("</html>\n")
        body = body.replace("<table>", "<div class='wide'><table class='table'>").replace("</table>", "</table></div>")
        return [nodes.raw("", f"<div class='report'>{body}</div>", format="html")]


class LinkNames(SphinxPostTransform):
    """Code in the text that names something public links to its page."""

    default_priority = 5  # before references are resolved

    def run(self, **_: Any) -> None:
        names = frozenset(documented().values())
        short = {"System.": "flexmb.System.", "Result.": "flexmb.Result.", "Model.": "fem.Model."}
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, (nodes.reference, pending_xref, nodes.title, nodes.term)):
                continue
            found = re.match(r"([A-Za-z_][\w.]*)(\(|$)", literal.astext())
            if not found:
                continue
            name = found[1]
            for start, full in short.items():
                name = full + name.removeprefix(start) if name.startswith(start) else name
            known = name in names or name.rpartition(".")[0] in names or f"flexmb.linear.{name}" in names
            if "." not in name or not known:
                continue
            link = pending_xref(
                "",
                refdomain="py",
                reftype="obj",
                reftarget=name,
                refexplicit=True,
                refwarn=False,
                refdoc=self.env.docname,
            )
            literal.replace_self(link)
            link += literal


def formula(writer: Any, node: nodes.math) -> None:
    writer.body.append(writer.starttag(node, "span", "", CLASS="formula") + writer.encode(node.astext()) + "</span>")
    raise nodes.SkipNode


def displayed_formula(writer: Any, node: nodes.math_block) -> None:
    number = get_node_equation_number(writer, node) if node["number"] else ""
    writer.body.append(writer.starttag(node, "div", "", CLASS="formula displayed"))
    text = node.astext()
    if "\\\\" in text and "\\begin" not in text:
        text = f"\\begin{{aligned}}{text}\\end{{aligned}}"
    writer.body.append(writer.encode(text + (f"\\tag{{{number}}}" if number else "")) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("report", Report)
    app.add_post_transform(LinkNames)
    app.connect("config-inited", take_from_outside)
    app.add_html_math_renderer("katex", (formula, None), (displayed_formula, None))
    for script in ("katex/katex.min.js", "formulas.js"):
        app.add_js_file(script)
    for style in ("katex/katex.min.css", "flexmb.css"):
        app.add_css_file(style)
    return {"parallel_read_safe": True}
