"""What tests of refusals share."""

import pytest


def refused(error, message, call, *args, **kwargs):
    """Require that a call raises this error with this message, word by word."""
    with pytest.raises(error) as found:
        call(*args, **kwargs)
    assert (type(found.value), str(found.value)) == (error, message)


def refused_beside(error, words, refused, accepted, monkeypatch):
    """Require that a call raises this error, or one of these, with these words, and that its neighbour raises none; both
    without the checks of types that tests have and users have not."""
    monkeypatch.setattr("jaxtyping.config.jaxtyping_disable", True)
    with pytest.raises(error) as found:
        refused()
    assert words in str(found.value)
    accepted()
