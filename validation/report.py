"""The validation report: one HTML page that needs nothing else, with story, table and picture of every case."""

import base64
import io
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from fem.user_files import written_whole
from validation.plot import Plot, rows_of
from validation.row import Row

PACKAGES = ("flexmb", "numpy", "scipy", "numba", "pypardiso", "meshio", "pyvista")
COLOURS = ["#2f6db5", "#d9822b", "#2c7a4b", "#8e4ec6", "#b3261e", "#6b7a8f", "#00838f"]
STYLE = """
:root { color-scheme: light dark; --ink: #1b2a41; --line: #d5dce4; --paper: #ffffff; --good: #2c7a4b; --bad: #b3261e }
@media (prefers-color-scheme: dark) { :root { --ink: #ced6dd; --line: #48566b; --paper: #14181e; --good: #5fb483; --bad: #f47067 } }
body { font-family: system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 72rem; margin: 2rem auto; padding: 0 1rem; line-height: 1.45; overflow-wrap: break-word }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: 0.92rem; margin: 0.6rem 0 }
td, th { border-bottom: 1px solid var(--line); padding: 0.25rem 0.6rem; text-align: right } td:first-child, th:first-child { text-align: left }
.ok { color: var(--good) } .bad { color: var(--bad); font-weight: bold } img { max-width: 100%; background: white } h2 { margin-top: 2.4rem; border-top: 2px solid var(--line); padding-top: 1rem }
"""


def write_report(
    found: Mapping[str, Sequence[Row | Plot]],
    stories: Mapping[str, str],
    seconds: Mapping[str, float],
    directory: str | Path,
) -> Path:
    """Write `index.html` into `directory`: rows, plots, story (the case's own words) and duration of each case."""
    rows = {name: rows_of(items) for name, items in found.items()}
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    every = [row for items in rows.values() for row in items]
    failed = [row for row in every if not row.passed]
    verdict = f"{len(every) - len(failed)} of {len(every)} quantities of {len(rows)} cases within what is allowed"
    parts = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width, initial-scale=1'><title>flexmb: validation</title><style>{STYLE}</style>",
        f"<h1>What flexmb reproduces, and how well</h1><p class='{'bad' if failed else 'ok'}'>{verdict}.</p>",
        f"<p>{_made()}</p><p>Repeat with <code>flexmb validate --report DIR</code>; one case with <code>flexmb validate NAME</code>. A reference is "
        "<b>exact</b> (a closed form, or zero), <b>paper</b> (printed by its authors), <b>recomputed</b> (an independent program, from the printed data) or <b>measured</b> (an experiment).</p>",
        _picture(rows),
        "<p>Seconds are those of the clock, on a machine that may have run other work beside.</p>",
        "<table><tr><th>case</th><th>quantities</th><th>largest error / allowed</th><th>seconds</th></tr>",
        *(_summary(name, items, seconds[name]) for name, items in rows.items()),
        "</table>",
        *(_section(name, items, stories[name]) for name, items in found.items()),
    ]
    path = directory / "index.html"
    with written_whole(path) as part:
        part.write_text("\n".join(parts) + "</html>\n", encoding="utf-8")
    return path


def _made() -> str:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return escape(f"Made {when} with Python {platform.python_version()}, {', '.join(found)}, on {platform.machine()} {platform.system()}.")  # fmt: skip


def _ratio(row: Row) -> float:
    """Error over what is allowed; of quantities that must agree exactly, zero or infinity."""
    if row.allowed == 0:
        return 0.0 if row.error == 0 else np.inf
    return float(row.error / row.allowed)


def _summary(name: str, found: Sequence[Row], seconds: float) -> str:
    worst = max(_ratio(row) for row in found)
    style = "ok" if all(row.passed for row in found) else "bad"
    return f"<tr><td><a href='#{escape(name)}'>{escape(name)}</a></td><td>{len(found)}</td><td class='{style}'>{worst:.2g}</td><td>{seconds:.1f}</td></tr>"


def _section(name: str, found: Sequence[Row | Plot], story: str) -> str:
    lines = [f"<h2 id='{escape(name)}'>{escape(name)}</h2>"]
    lines += [f"<p>{escape(' '.join(paragraph.split()))}</p>" for paragraph in story.strip().split("\n\n")]
    lines.append("<table><tr><th>quantity</th><th>reference</th><th>kind</th><th>ours</th><th>error</th><th>allowed</th><th></th></tr>")  # fmt: skip
    for row in rows_of(found):
        mark = "<span class='ok'>passed</span>" if row.passed else "<span class='bad'>FAILED</span>"
        cells = (f"{row.reference:.6g}", escape(row.kind), f"{row.ours:.6g}", f"{row.error:.2e}", f"{row.allowed:.0e}", mark)  # fmt: skip
        lines.append(f"<tr><td>{escape(row.quantity)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return "\n".join([*lines, "</table>", *(_drawn(item) for item in found if isinstance(item, Plot))])


def _picture(rows: Mapping[str, Sequence[Row]]) -> str:
    """Every quantity as a dot: how much of what is allowed its error takes."""
    figure, axis = plt.subplots(figsize=(11, 0.34 * len(rows) + 1.4), layout="constrained")
    names = list(rows)
    for k, name in enumerate(names):
        for row in rows[name]:
            x = min(max(_ratio(row), 1e-9), 1e3)
            axis.plot(
                x, len(names) - 1 - k, "o", ms=6, alpha=0.75, color="#2f6db5" if row.passed else "#b3261e", mec="none"
            )
    axis.axvline(1.0, color="#b3261e", lw=1.2)
    axis.set_xscale("log")
    axis.set_yticks(range(len(names)), names[::-1])
    axis.set(xlabel="error / allowed error (at the left edge: nothing to see; right of the line: failed)", xlim=(5e-10, 20))  # fmt: skip
    axis.grid(axis="x", alpha=0.3)
    return _image(figure, "errors of all cases")


def _drawn(plot: Plot) -> str:
    """One plot of a case: references black, ours in colours, few points as marks."""
    figure, axis = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    colours = iter(COLOURS * 3)
    for name, (x, y) in plot.lines.items():
        marker = "o" if len(x) < 12 else None
        if name.startswith("reference"):
            line = "" if name == "reference" and marker else "--"
            axis.plot(x, y, color="#1b2a41", ls=line, lw=1.1, marker="x" if marker else None, label=name, zorder=3)
        else:
            axis.plot(x, y, color=next(colours), lw=1.4, marker=marker, ms=4, label=name)
    if "x" in plot.logarithmic:
        axis.set_xscale("log")
    if "y" in plot.logarithmic:
        axis.set_yscale("log")
    axis.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
    axis.grid(alpha=0.3)
    axis.legend(fontsize="small", frameon=False)
    return _image(figure, plot.title)


def _image(figure: Figure, what: str) -> str:
    data = io.BytesIO()
    figure.savefig(data, dpi=100, format="png")
    plt.close(figure)
    return f"<img alt='{escape(what)}' src='data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}'>"
