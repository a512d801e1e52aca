"""Reading of a VTK file, as a program of its own (`fem/user_files/alone.py`). Imports nothing of fem."""

import os
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np


def main(output: BinaryIO, path: str) -> None:
    """Write the contents of a file as numpy's `.npz`, or `problem`: what it is instead."""
    content = BytesIO()
    np.savez(content, **contents(path))
    output.write(content.getbuffer())


def contents(path: str) -> dict[str, Any]:
    """Points, types of cells, their nodes, and fields of a file, or `problem`."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonCore import vtkObject
    from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkUnstructuredGrid
    from vtkmodules.vtkFiltersCore import vtkAppendFilter
    from vtkmodules.vtkIOGeometry import vtkSTLReader
    from vtkmodules.vtkIOLegacy import vtkGenericDataObjectReader
    from vtkmodules.vtkIOXML import vtkXMLGenericDataObjectReader

    readers = {".vtk": vtkGenericDataObjectReader, ".stl": vtkSTLReader}
    reader: Any = readers.get(os.path.splitext(path)[1].lower(), vtkXMLGenericDataObjectReader)()
    reader.SetFileName(path)
    vtkObject.SetGlobalWarningDisplay(0)  # VTK prints what went wrong instead of telling its caller
    reader.Update()
    data = reader.GetOutputDataObject(0)
    if data is None or reader.GetErrorCode() or data.GetClassName() == "vtkDataObject":
        return {"problem": "damaged"}
    if not isinstance(data, vtkDataSet):
        return {"problem": data.GetClassName().removeprefix("vtk")}
    if not isinstance(data, vtkUnstructuredGrid):
        joined = vtkAppendFilter()
        joined.AddInputData(data)
        joined.Update()
        data = joined.GetOutput()
    if not data.GetNumberOfCells():
        return {"problem": "empty"}
    cells = data.GetCells()
    found = {
        "points": vtk_to_numpy(data.GetPoints().GetData()).astype(float),
        "types": vtk_to_numpy(_types(data)).astype(np.int64),
        "nodes": vtk_to_numpy(cells.GetConnectivityArray()).astype(np.int64),
        "offsets": vtk_to_numpy(cells.GetOffsetsArray()).astype(np.int64),
    }
    for which, fields in (("point", data.GetPointData()), ("cell", data.GetCellData())):
        for k in range(fields.GetNumberOfArrays()):
            array = fields.GetArray(k)  # None for texts
            if array is not None:
                found[f"{which} {array.GetName()}"] = vtk_to_numpy(array)
    return found


def _types(data: Any) -> Any:
    """The array of cell types, as different versions of VTK give it."""
    try:
        return data.GetCellTypes()
    except TypeError:  # before 9.6
        return data.GetCellTypesArray()
