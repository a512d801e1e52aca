"""Verification that the packages beside flexmb are its own, and not files of the user with the same names.

Python looks first in the folder of the script that it runs. `flexmb` imports this module before any other, and the
import fails if another package is found.
"""

from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
NEEDED = ("fem", "reduction")
"""Packages that `import flexmb` needs."""
LATER = ("meshes", "validation")
"""Packages that only some calls need; a folder of data with such a name is allowed."""


def require_own(name: str, folders: bool) -> None:
    """Raise `ImportError` if `name` is not the package beside flexmb.

    `folders`: refuse a folder without `__init__.py` too.
    """
    spec = find_spec(name)
    if spec is None:
        return
    if spec.origin is not None:
        origin = Path(spec.origin).resolve()
        found = origin.parent if origin.stem == "__init__" else origin
    elif folders:
        found = Path(next(iter(spec.submodule_search_locations or ()))).resolve()
    else:
        return
    if found != HERE / name:
        raise ImportError(
            f"{found} hides flexmb's own package {name!r}, which has the same name: rename yours, for example to "
            f"{'my_' + found.name!r}."
        )


for _name in NEEDED:
    require_own(_name, folders=True)
for _name in LATER:
    require_own(_name, folders=False)
