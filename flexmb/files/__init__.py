"""Files: bodies and results in HDF5 and the formats of other programs, mechanisms in TOML, tables, pictures of motion for ParaView."""

from flexmb.files.body_file import load_body, save_body
from flexmb.files.model_file import ModelFile, load_model
from flexmb.files.result_file import load_result, save_result
from flexmb.files.table_file import columns, data_frame, dataset, write_table
from flexmb.files.vtk_file import export_vtk

__all__ = [
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
    "write_table",
]
