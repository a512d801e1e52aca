"""Files of reduced bodies, in flexmb's own format and in those of other programs; the ending of the name selects one.

| ending | format | content |
|---|---|---|
| `.h5` | flexmb | everything |
| `.npz`, `.mat` | numpy, MATLAB | everything but mesh, shapes, stresses and surfaces |
| `.sid`, `.SID_FEM` | Standard Input Data (Wallrapp 1994) | mass integrals, geometric stiffness, interfaces |
| `.fem` | MBDyn modal element | mass integrals, interfaces |

`register_body_reader` and `register_body_writer` add further formats.
"""

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from fem.errors import FlexmbError
from fem.user_files import require_file
from flexmb.bodies.body import Body
from flexmb.errors import FileError
from flexmb.files.bodies import array_file, mbdyn_file, sid_file
from flexmb.files.bodies.body_tree import body_from_tree, body_tree
from flexmb.files.storage.sound import require_sound_body
from flexmb.files.storage.tree import read_tree, require_own, write_tree


def _save_h5(body: Body, path: Path) -> Path:
    return write_tree(path, "body", body_tree(body))


def _load_h5(path: Path) -> Body:
    return body_from_tree(read_tree(path, "body"), path)


BodyReader = Callable[[Path], Body]
BodyWriter = Callable[[Body, Path], Path]
_READERS: dict[str, BodyReader] = {}
_WRITERS: dict[str, BodyWriter] = {}
"""From the ending of a file's name, in small letters, to the function that reads or writes the format."""


def register_body_reader(endings: Iterable[str], read: BodyReader) -> None:
    """Register `read(path)` as the reader of `load_body` for files with these endings, such as ".xyz".

    Raises `FileError` if an ending already has a reader.
    """
    for ending in _sound(endings, _READERS):
        _READERS[ending] = read


def register_body_writer(endings: Iterable[str], write: BodyWriter) -> None:
    """Register `write(body, path)`, which returns the path, as the writer of `save_body` for files with these endings.

    Raises `FileError` if an ending already has a writer.
    """
    for ending in _sound(endings, _WRITERS):
        _WRITERS[ending] = write


def _sound(endings: Iterable[str], known: Collection[str]) -> list[str]:
    """The endings in small letters, each of them new and of the form ".xyz"."""
    found = [endings.lower()] if isinstance(endings, str) else [ending.lower() for ending in endings]
    for ending in found:
        if not (ending.startswith(".") and len(ending) > 1 and "." not in ending[1:]):
            raise FileError(f'An ending is a point and letters, such as ".xyz"; found {ending!r}.')
        if ending in known:
            raise FileError(f"There is a format with the ending {ending!r} already. Take another ending.")
    return found


for _endings, _read, _write in (
    ([".h5"], _load_h5, _save_h5),
    ([".npz"], array_file.load_npz, array_file.save_npz),
    ([".mat"], array_file.load_mat, array_file.save_mat),
    ([".sid", ".sid_fem"], sid_file.load_sid, sid_file.save_sid),
    ([".fem"], mbdyn_file.load_mbdyn, mbdyn_file.save_mbdyn),
):
    register_body_reader(_endings, _read)
    register_body_writer(_endings, _write)


def writable_endings() -> tuple[str, ...]:
    """The endings for which `save_body` has a writer."""
    return tuple(_WRITERS)


def require_replaceable(path: str | Path) -> None:
    """Raise `FileError`, before a body is made, if `save_body` would not replace the file that exists at `path`."""
    path = Path(path)
    if _WRITERS.get(path.suffix.lower(), _save_h5) is _save_h5:
        require_own(path, "body")


def save_body(body: Body, path: str | Path) -> Path:
    """Write a rigid or flexible body in the format that the ending of the name selects; return the path.

    An ending without a writer selects flexmb's own format. From ".h5" `load_body` reads back an equal body; from ".npz"
    and ".mat" it reads a body with the same motion. The module of each format states what its files do not contain. The
    file is written completely or not at all. Raises `FileError` when it cannot be written.
    """
    path = Path(path)
    return _WRITERS.get(path.suffix.lower(), _save_h5)(body, path)


def load_body(path: str | Path) -> Body:
    """Read a body from a file in any format of `save_body`, also one that another program wrote.

    Raises `FileError` when the file does not exist or its content is not a valid body.
    """
    path = Path(path)
    require_file(path, FileError, "body file")
    try:
        body = _READERS.get(path.suffix.lower(), _load_h5)(path)
        require_sound_body(body)
        return body
    except FileError:
        raise
    except FlexmbError as error:
        raise FileError(f"{path} holds no body that can be: {error}") from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise FileError(f"{path} cannot be read as a body: {error}.") from None
