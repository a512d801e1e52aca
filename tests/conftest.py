"""Tests that run in several processes share the cores: each keeps to one thread of OpenBLAS, whose threads wait for each other by spinning."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import scipy.linalg  # noqa: F401 - loads its OpenBLAS, and numpy's
    from threadpoolctl import ThreadpoolController

    ThreadpoolController().select(internal_api="openblas").limit(limits=1)
