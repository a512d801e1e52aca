"""The charts of the page of benchmarks, drawn from docs/benchmarks.csv."""

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[1]
OURS, PEER = "#2f6db5", "#9aa5b1"


def rows(chart: str) -> tuple[list[str], list[float], list[float]]:
    """Labels, our figures and those of the peer."""
    with (DOCS / "benchmarks.csv").open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row["chart"] == chart]
    number = lambda text: float(text.replace(",", "")) if text else float("nan")  # noqa: E731
    return [r["label"] for r in found], [number(r["ours"]) for r in found], [number(r["peer"]) for r in found]


def bars(chart: str, axis: plt.Axes, title: str, xlabel: str, ours: str, peer: str, log: bool = False) -> None:
    """Two bars for each label."""
    labels, mine, theirs = rows(chart)
    for k, (values, name, colour) in enumerate(((mine, ours, OURS), (theirs, peer, PEER))):
        drawn = axis.barh([y + 0.4 * k for y in range(len(labels))], values, 0.38, color=colour, label=name)
        axis.bar_label(drawn, labels=[f"{v:g}" for v in values], padding=3, fontsize=8)
    axis.set_yticks([y + 0.2 for y in range(len(labels))], labels)
    axis.set_ylim(len(labels) - 0.3, -0.5)
    axis.set(title=title, xlabel=xlabel)
    axis.margins(x=0.15)
    if log:
        axis.set_xscale("log")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize=9)


def draw(folder: Path) -> None:
    """Write the charts."""
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), sharey=True, layout="constrained")
    bars("reduction", axes[0], "PARDISO as shipped, and ARPACK", "ratio", "flexmb", "pypardiso and eigsh")
    bars("symmetric", axes[1], "PARDISO told that K is symmetric", "ratio", "flexmb", "pypardiso and eigsh")
    figure.savefig(folder / "reduction.svg")

    figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
    bars("step", axis, "a step of one body with 20 elastic coordinates", "microseconds", "flexmb", "exudyn, without geometric stiffness", log=True)  # fmt: skip
    axis.set_xlim(1, 8000)
    figure.savefig(folder / "step.svg")

    figure, axis = plt.subplots(figsize=(9, 3.6), layout="constrained")
    labels, mine, _ = rows("methods")
    axis.bar_label(axis.barh(labels, mine, color=OURS), labels=[f"{v:g}" for v in mine], padding=3, fontsize=8)
    axis.axvline(1, color="k", lw=0.8, ls=":")
    axis.invert_yaxis()
    axis.set(title="a reduction, 103,000 unknowns", xlabel="cost in factorisations of K")
    figure.savefig(folder / "methods.svg")

    figure, axis = plt.subplots(figsize=(9, 3.6), layout="constrained")
    labels, mine, _ = rows("growth")
    axis.bar_label(axis.barh(labels, mine, color=OURS), labels=[f"{v:g}" for v in mine], padding=3, fontsize=8)
    axis.axvline(1, color="k", lw=0.8, ls=":")
    axis.invert_yaxis()
    axis.set(title="exponents of growth: twice the size costs 2 to the power of", xlabel="exponent (1: linear)")
    figure.savefig(folder / "growth.svg")
    plt.close("all")
