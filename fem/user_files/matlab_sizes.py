"""The sizes of the elements of a MATLAB file of version 5, from their first bytes: nothing is unpacked.

A file is a head of 128 bytes and elements, each after its type and its number of bytes; an element of type 15 is
packed by zlib and holds one element. Source: MathWorks, "MAT-File Format", version 5.
"""

import struct
import zlib
from pathlib import Path

HEAD, PACKED = 128, 15


def unpacked_size(path: Path) -> int:
    """Number of bytes of all elements, as they claim. Raises `ValueError` for what is no file of version 5."""
    total = 0
    with path.open("rb") as file:
        head = file.read(HEAD)
        order = {b"IM": "<", b"MI": ">"}.get(head[126:])
        if order is None:
            raise ValueError("it is no file of version 5")
        while len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(f"{order}2I", tag)
            if kind == PACKED:
                begun = zlib.decompressobj().decompress(file.read(min(size, 1000)), 8)
                _, claimed = struct.unpack(f"{order}2I", begun.ljust(8, b"\0"))
                file.seek(max(size - 1000, 0), 1)
            else:
                claimed = size
                file.seek(size, 1)
            total += claimed
    return total
