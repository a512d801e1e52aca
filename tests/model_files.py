"""Model files of tests."""

from pathlib import Path

from flexmb.files.models.model_file import ModelFile, load_model


def model_of(folder: Path, text: str, old: str = "", new: str = "") -> ModelFile:
    """The model of a file with a `text`, in which `new` stands in place of `old`, which must be there."""
    assert old in text
    path = folder / "model.toml"
    path.write_text(text.replace(old, new) if old else text)
    return load_model(path)
