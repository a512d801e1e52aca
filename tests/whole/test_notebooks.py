"""The notebooks run as they stand, their assertions hold, and they open with a picture."""

import json
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def cells(path):
    return [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 8


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_opens_with_a_picture_and_was_run(path):
    first, *others = cells(path)
    assert any("image/png" in output.get("data", {}) for output in first["outputs"])
    assert all(cell["execution_count"] for cell in [first, *others])
    assert any("assert" in "".join(cell["source"]) for cell in others)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells(path)):
        exec(compile("".join(cell["source"]), f"{path.name}, cell {number + 1}", "exec"), names)
    plt.close("all")
