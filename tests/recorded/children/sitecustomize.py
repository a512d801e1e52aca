"""Python imports this as it starts, where its folder is on the path: processes that a shaken one begins are shaken, too."""

import contextlib
import os
import sys
from pathlib import Path

SHAKES_ITSELF = ("pytest", "tests.recorded")

if "FLEXMB_SHAKEN" in os.environ and not any(name in sys.orig_argv for name in SHAKES_ITSELF):
    sys.path.insert(0, str(Path(__file__).parents[3]))
    with contextlib.suppress(ImportError):  # a Python without the libraries
        from tests.recorded.shaken import shake_libraries, shake_project

        shake_libraries()
        shake_project()
    del sys.path[0]
