"""The options that a basis records: plain values that any file format can store."""

from typing import Any

import numpy as np

from reduction.solutions.statics import Statics


def options(
    body: Statics, *, seconds: dict[str, float], band: tuple[float | int, float | int] | None, **given: Any
) -> dict[str, Any]:
    """Arguments of the method, model, solver and wall times (seconds), as numbers, strings, lists and dictionaries of
    these."""
    model = body.model
    plain = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in given.items()}
    return plain | {
        "band": [] if band is None else [float(edge) for edge in band],
        "model": model.name,
        "ndof": int(model.ndof),
        "interfaces": {name: interface.kind for name, interface in model.interfaces.items()},
        "backend": "none" if body.inverse is None else body.inverse.backend,
        "library": "" if body.inverse is None else body.inverse.record.library,
        "factor_entries": 0 if body.inverse is None else int(body.inverse.nnz),
        "factor_flops": 0.0 if body.inverse is None else body.inverse.record.flops or 0.0,
        "factor_on_disk": 0 if body.inverse is None else body.inverse.record.disk,
        "seconds": {"factor": body.seconds} | seconds,
    }
