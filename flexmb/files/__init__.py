"""Files: bodies and results in HDF5, mechanisms in TOML, pictures of motion for ParaView."""

from flexmb.files.body_file import load_body, save_body
from flexmb.files.model_file import ModelFile, load_model
from flexmb.files.result_file import load_result, save_result
from flexmb.files.vtk_file import export_vtk

__all__ = ["ModelFile", "export_vtk", "load_body", "load_model", "load_result", "save_body", "save_result"]
