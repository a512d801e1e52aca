"""The sizes of the laws of the library: their functions read inputs, states and parameters by index, without checks."""

import numpy as np
from jaxtyping import Float

from flexmb.controllers.pid import PID, PID_SAMPLED, PID_WITH_RATE
from flexmb.errors import LawError
from flexmb.mechanism.control.law import ControlLaw

_PIDS = {law.name: law for law in (PID, PID_WITH_RATE, PID_SAMPLED)}
_KD, _FILTER = (PID.parameters.index(name) for name in ("kd", "filter"))


def require_fit(library: str, law: ControlLaw, values: Float[np.ndarray, "np"]) -> None:
    """Raise `LawError` unless a law that was read from a file has the inputs, commands, states and parameters that the
    function called `library` reads (`flexmb.controllers.FUNCTIONS`), with `values` of its parameters."""
    ni, nu, nz, count = (len(x) for x in (law.inputs, law.commands, law.states, law.parameters))
    fits, points = True, values[:0]
    match library:
        case "pid" | "pid-with-rate" | "sampled-pid":
            known = _PIDS[library]
            fits = all(
                getattr(law, key) == getattr(known, key) for key in ("inputs", "commands", "states", "parameters")
            )
            if fits and known is PID:  # without a filter, the derivative part reads the input of the other law
                fits = values[_FILTER] > 0 or values[_KD] == 0
            elif fits and known is PID_WITH_RATE:
                fits = values[_FILTER] == 0
        case "linear":
            fits = count == 2 * nu + (nz + nu) * (nz + ni)
        case "curve" | "periodic-curve":
            points = values[: (count + 4) // 5]
            fits = (ni, nu, nz) == (1, 1, 0) and count == 5 * len(points) - 4
        case "gain-schedule":
            gains = 1 + nu * ((ni - 1) // 2)
            points = values[: count // gains]
            fits = ni >= 3 and ni % 2 == 1 and nu >= 1 and nz == 0 and count == gains * len(points)
        case "inputs":
            fits = law.inputs == law.commands and nz == count == 0
        case _:
            raise LawError(f"There is no law {library!r} in flexmb.controllers whose sizes are known.")
    if library in ("curve", "periodic-curve", "gain-schedule"):
        fits = fits and len(points) >= 2 and bool((np.diff(points) > 0).all())
    if not fits:
        raise LawError(
            f"The law {library!r} of flexmb.controllers has other inputs, commands, states or parameters than "
            f"{law.inputs}, {law.commands}, {law.states} and the {count} values {values.tolist()[:12]}."
        )
