"""`flexmb validate`: the validation cases, with the results of flexmb beside the references."""

import json
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer


def command(
    cases: Annotated[list[str] | None, typer.Argument(help="Names of cases (default: all).")] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="File to which the rows are written as JSON.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Folder for a report: one HTML page with explanations, tables and pictures.")
    ] = None,
    list_cases: Annotated[bool, typer.Option("--list", help="List the cases.")] = False,
) -> None:
    """Run validation cases and print result, reference, error and allowed error; exit with code 1 if one fails."""
    from rich.table import Table

    from fem.errors import FlexmbError, unknown_name
    from flexmb.cli.screen import bars, console, say_text
    from validation import CASES, rows_of, story

    if list_cases:
        for name in CASES:
            say_text(name)
        return
    for name in cases or []:
        if name not in CASES:
            raise FlexmbError(unknown_name("validation case", name, CASES))
    found, seconds = {}, {}
    with bars() as say:
        for name in cases or CASES:
            say(name, 0.0)
            began = perf_counter()
            found[name] = CASES[name]()
            seconds[name] = perf_counter() - began
            say(name, 1.0)
    rows = [row for part in found.values() for row in rows_of(part)]
    table = Table("case", "quantity", "reference", "kind", "ours", "error", "allowed", "")
    for row in rows:
        mark = "[green]passed[/]" if row.passed else "[bold red]FAILED[/]"
        table.add_row(
            row.case,
            row.quantity,
            f"{row.reference:.6g}",
            row.kind,
            f"{row.ours:.6g}",
            f"{row.error:.2e}",
            f"{row.allowed:.0e}",
            mark,
        )
    console.print(table)
    if report is not None:
        from validation.report import write_report

        try:
            say_text(f"report: {write_report(found, {name: story(name) for name in found}, seconds, report)}")
        except OSError as error:
            raise FlexmbError(f"Cannot write the report into {report}: {error}.") from None
    if json_file is not None:
        from fem.user_files import written_whole
        from flexmb.errors import FileError

        try:
            with written_whole(json_file) as part:
                part.write_text(json.dumps([row.as_dict() for row in rows], indent=1))
        except OSError as error:
            raise FileError(f"Cannot write {json_file}: {error}.") from None
    if not all(row.passed for row in rows):
        raise typer.Exit(1)
