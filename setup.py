"""The build of the library of compiled functions; all else about the package is in pyproject.toml.

Without a compiler of C, or if the compilation fails, the package is installed without the library, and numba compiles
the functions at their first call (docs/install.md).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = Path("flexmb") / "kernels"
PROBE = '#define Py_LIMITED_API 0x030B0000\n#include "Python.h"\nint main(void) { return 0; }\n'
WITHOUT = (
    "flexmb is installed WITHOUT its library of compiled functions: {}. numba will compile them at the first "
    "simulation, which takes several minutes, once on a machine."
)


class BuildLibrary(build_ext):
    """Writes the objects and the table of the compiled functions before their file in C is compiled."""

    def build_extension(self, ext: Extension) -> None:
        """The library, unless the one that is there fits the sources; without it, a warning."""
        made = Path(self.get_ext_fullpath(ext.name))
        try:
            if not self.force and made.exists() and self._fits(made):
                return
            self._probe()
            folder = Path(self.build_temp) / "kernels"
            subprocess.run([sys.executable, str(KERNELS / "build.py"), str(folder)], check=True)
            ext.include_dirs = [*ext.include_dirs, str(folder)]
            ext.extra_objects = [str(path) for path in sorted(folder.glob("kernels_*.o"))]
            super().build_extension(ext)
        except Exception as error:
            self.warn(WITHOUT.format(f"{type(error).__name__}: {error}"))

    def _fits(self, made: Path) -> bool:
        """Whether a library was built from the present sources: a second installation need not compile again."""
        return subprocess.run([sys.executable, str(KERNELS / "build.py"), "--fits", str(made)]).returncode == 0

    def _probe(self) -> None:
        """Fail early if there is no compiler or no header of Python."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "probe.c"
            source.write_text(PROBE)
            self.compiler.compile([str(source)], output_dir=folder, include_dirs=self.include_dirs)


setup(
    ext_modules=[
        Extension(
            "_flexmb_kernels", sources=[str(KERNELS / "library.c")], py_limited_api=True, optional=True,
            libraries=[] if sys.platform == "win32" else ["m"],
            extra_compile_args=[] if sys.platform == "win32" else ["-fvisibility=hidden", "-pthread"],
            extra_link_args=[] if sys.platform == "win32" else ["-pthread"],
            depends=[str(path) for path in sorted(KERNELS.rglob("*.py"))],
        )
    ],
    cmdclass={"build_ext": BuildLibrary},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)  # fmt: skip
