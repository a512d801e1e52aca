"""Reduced bodies in files: flexmb's own, and those other programs read and write; the ending of the name says which.

| ending | format | holds |
|---|---|---|
| `.h5` | flexmb | everything |
| `.npz`, `.mat` | numpy, MATLAB | everything but mesh, shapes and stresses |
| `.sid`, `.SID_FEM` | Standard Input Data (Wallrapp 1994) | mass integrals, geometric stiffness, interfaces |
| `.fem` | MBDyn modal element | mass integrals, interfaces |
"""

from collections.abc import Callable
from pathlib import Path

from fem.errors import FlexmbError
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


FORMATS: dict[str, tuple[Callable[[Body, Path], Path], Callable[[Path], Body]]] = {
    ".h5": (_save_h5, _load_h5),
    ".npz": (array_file.save_npz, array_file.load_npz),
    ".mat": (array_file.save_mat, array_file.load_mat),
    ".sid": (sid_file.save_sid, sid_file.load_sid),
    ".sid_fem": (sid_file.save_sid, sid_file.load_sid),
    ".fem": (mbdyn_file.save_mbdyn, mbdyn_file.load_mbdyn),
}
"""Ending of a file's name, in small letters -> writer and reader."""


def require_replaceable(path: str | Path) -> None:
    """Refuse, before a body is made, a path at which something lies that `save_body` would not replace."""
    path = Path(path)
    if FORMATS.get(path.suffix.lower(), FORMATS[".h5"]) is FORMATS[".h5"]:
        require_own(path, "body")


def save_body(body: Body, path: str | Path) -> Path:
    """Write a rigid or flexible body in the format of the name's ending; flexmb's own, ".h5", for any other ending.

    Of ".h5" `load_body` gives back an equal body, of ".npz" and ".mat" one that moves equally; what each leaves out its module says.
    Nothing is left half-written. Raises `FileError`.
    """
    path = Path(path)
    return FORMATS.get(path.suffix.lower(), FORMATS[".h5"])[0](body, path)


def load_body(path: str | Path) -> Body:
    """Read a body from any file that `save_body` can write, also of other programs. Raises `FileError` for anything else."""
    path = Path(path)
    if not path.is_file():
        raise FileError(f"There is no body file {str(path)!r} (looked in {path.resolve().parent}).")
    try:
        body = FORMATS.get(path.suffix.lower(), FORMATS[".h5"])[1](path)
        require_sound_body(body)
        return body
    except FileError:
        raise
    except FlexmbError as error:
        raise FileError(f"{path} holds no body that can be: {error}") from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise FileError(f"{path} cannot be read as a body: {error}.") from None
