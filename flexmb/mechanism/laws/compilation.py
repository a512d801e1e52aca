"""Why a law cannot be compiled."""

import numba

NO_CAUSE = ("Failed in ", "- Resolution failure")
"""How lines of errors of numba begin that only say where it stopped."""
BEYOND = ("There are ", "During: ", "File ")
"""How lines begin that come after the cause."""


def cause_of(error: numba.core.errors.NumbaError) -> str:
    """The sentence of an error of numba that names the cause; its first line only names a step of the compilation."""
    found: list[str] = []
    for line in filter(None, map(str.strip, str(error).splitlines())):
        if found and line.startswith(BEYOND):
            break
        if not line.startswith(NO_CAUSE):
            found.append(line)
    return " ".join(found) or type(error).__name__
