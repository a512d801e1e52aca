"""Files beside a user's script that have the names of our packages, and our packages as parts of `flexmb`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fem
import flexmb
import reduction


def run(folder, code="import flexmb"):
    (folder / "script.py").write_text(code, encoding="utf-8")
    own = str(Path(flexmb.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "script.py"], cwd=folder, env=os.environ | {"PYTHONPATH": own}, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", ["fem.py", "reduction/__init__.py", "validation.py"])
def test_a_file_with_the_name_of_a_package_is_named(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("", encoding="utf-8")
    ours = Path(name).parts[0]
    last = run(tmp_path).stderr.splitlines()[-1]
    assert last == (
        f"ImportError: {(tmp_path / ours).resolve()} hides flexmb's own package {ours.removesuffix('.py')!r}, which has the same name: "
        f"rename yours, for example to 'my_{ours}'."
    )


def test_folders_of_data_do_no_harm(tmp_path):
    for name in ("meshes", "validation"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rod.msh").write_text("", encoding="utf-8")
    assert run(tmp_path).returncode == 0


def test_a_folder_that_hides_a_package_of_an_editable_installation_is_named(tmp_path, monkeypatch):
    """There Python finds ours last, after folders without `__init__.py`."""
    from importlib.machinery import PathFinder

    from flexmb import neighbours

    (tmp_path / "reduction").mkdir()
    monkeypatch.setattr(neighbours, "find_spec", lambda name: PathFinder.find_spec(name, [str(tmp_path)]))
    with pytest.raises(ImportError, match="rename yours, for example to 'my_reduction'"):
        neighbours.require_own("reduction", folders=True)
    neighbours.require_own("reduction", folders=False)


def test_the_packages_are_parts_of_flexmb():
    assert flexmb.fem is fem
    assert flexmb.reduction is reduction
    assert {"fem", "reduction"} <= set(flexmb.__all__)
