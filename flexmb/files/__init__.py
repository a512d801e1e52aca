"""Files of bodies and results (HDF5 and formats of other programs), of models (TOML), and of tables and VTK data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from flexmb.files.bodies.body_file import load_body, save_body
from flexmb.files.results.gltf_file import GltfFile, write_gltf
from flexmb.files.results.result_file import load_result, save_result
from flexmb.files.results.table_file import columns, data_frame, dataset, write_table
from flexmb.files.results.vtk_file import export_vtk

if TYPE_CHECKING:
    from flexmb.files.models.model_file import ModelFile, load_model

__all__ = [
    "GltfFile",
    "ModelFile",
    "columns",
    "data_frame",
    "dataset",
    "export_vtk",
    "load_body",
    "load_model",
    "load_result",
    "save_body",
    "save_result",
    "write_gltf",
    "write_table",
]


def __getattr__(name: str) -> Any:
    """What reads model files, imported at first use: the checks of their tables take longer to load than all others."""
    if name in ("ModelFile", "load_model"):
        return getattr(import_module("flexmb.files.models.model_file"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
