"""Tests that run in several processes share the cores: each keeps to one thread of OpenBLAS, whose threads wait for each other by spinning."""

import os
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import scipy.linalg  # noqa: F401 - loads its OpenBLAS, and numpy's
    from threadpoolctl import ThreadpoolController

    ThreadpoolController().select(internal_api="openblas").limit(limits=1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that none of them runs alone in the end: `@pytest.mark.long(minutes=10)`."""

    def minutes(item: pytest.Item) -> float:
        marker = item.get_closest_marker("long")
        return 0.0 if marker is None else marker.kwargs.get("minutes", 0.0)

    items.sort(key=minutes, reverse=True)


if "FLEXMB_SHAKEN" in os.environ:
    from recorded.shaken import shake_libraries

    shake_libraries()


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, None]:
    """Compare what some tests see with what was recorded; imported late, because types are checked as packages load."""
    from recorded.watch import watched

    yield from watched(pyfuncitem)


@pytest.fixture(autouse=True)
def _broken_pipes_are_errors() -> Iterator[None]:
    """Gmsh gives SIGPIPE back its rule of the system, by which a later test that writes to a program that has ended would end its process."""
    yield
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
