"""The container of glTF 2.0 in one binary file: a JSON part, and the arrays that it refers to.

Source: The Khronos Group, "glTF 2.0 Specification" (2021), sections 3.6 and 4.4.
"""

import json
import struct
from typing import Any

import numpy as np

FLOAT, UNSIGNED = 5126, 5125
VERTICES, INDICES = 34962, 34963
_KINDS = {(): "SCALAR", (3,): "VEC3", (4,): "VEC4"}


class Glb:
    """A file in the making: `accessor` adds an array and returns its number, `image` gives the bytes of the file."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def accessor(self, values: np.ndarray, target: int | None = None, bounds: bool = False) -> int:
        """Add an array (n,), (n, 3) or (n, 4), integers as indices and others in single precision.

        `target`: `VERTICES` or `INDICES`; `bounds`: state the smallest and largest values, as positions and times need.
        """
        component = UNSIGNED if values.dtype.kind in "iu" else FLOAT
        stored = np.ascontiguousarray(values, dtype="<u4" if component == UNSIGNED else "<f4")
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": stored.nbytes}
        self.views.append(view | ({} if target is None else {"target": target}))
        self.data += stored.tobytes()
        entry = {
            "bufferView": len(self.views) - 1,
            "componentType": component,
            "count": len(stored),
            "type": _KINDS[stored.shape[1:]],
        }
        if bounds:
            low, high = stored.min(axis=0), stored.max(axis=0)
            entry |= {"min": np.atleast_1d(low).tolist(), "max": np.atleast_1d(high).tolist()}
        self.accessors.append(entry)
        return len(self.accessors) - 1

    def image(self, content: dict[str, Any]) -> bytes:
        """The bytes of the file with `content`: scenes, nodes, meshes, materials and animations."""
        arrays = {"accessors": self.accessors, "bufferViews": self.views, "buffers": [{"byteLength": len(self.data)}]}
        text = json.dumps(content | arrays, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        length = 12 + 8 + len(text) + 8 + len(self.data)
        head = struct.pack("<4sIII4s", b"glTF", 2, length, len(text), b"JSON")
        return head + text + struct.pack("<I4s", len(self.data), b"BIN\0") + bytes(self.data)
