"""`python -m benchmarks [NAME...] [--json FILE]`: run benchmarks, print their table, write their rows."""

import argparse
import json
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import REGISTRY
from benchmarks.row import Row


def main() -> int:
    """0 when every goal was kept, 1 when one was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios against peers, in one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(REGISTRY)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file as well")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in REGISTRY]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; existing: {', '.join(REGISTRY)}")
    rows: list[Row] = []
    for name in options.names or REGISTRY:
        module, function = REGISTRY[name].split(":")
        rows += getattr(import_module(module), function)()
    Console(width=None).print(as_table(rows))
    if options.json:
        options.json.write_text(json.dumps([row.as_dict() for row in rows], indent=2) + "\n")
    return 0 if all(row.met for row in rows) else 1


def as_table(rows: list[Row]) -> Table:
    """The rows for a terminal."""
    table = Table("benchmark", "ours", "peer", "ratio", "goal", "met", "unit")
    for row in rows:
        numbers = (f"{value:.3g}" for value in (row.ours, row.peer, row.ratio, row.goal))
        table.add_row(row.benchmark, *numbers, "yes" if row.met else "[red]no[/red]", row.unit)
    return table


raise SystemExit(main())
