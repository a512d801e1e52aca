"""What tests of derivatives share: measures at the end of a motion, and the agreement with differences."""

import numpy as np


def at_the_end(series):
    """A measure of studies: the last value of each of the `series` by name."""
    return lambda result: {name: float(values(result)[-1]) for name, values in series.items()}


def assert_agrees(found, expected, name, at, kept=slice(None)):
    """Derivatives by the parameters `at`, to 1e-6 of the largest relative one beside the uncertainty of the differences
    `expected`; `kept` chooses parameters."""
    scale = np.abs(list(at.values()))
    known, error = expected.of(name) * scale, expected.errors[name] * scale
    off = np.abs(found * scale - known)[kept]
    assert off.max() <= 1e-6 * np.abs(known).max() + 2 * error.max()
