"""Threads of numerical libraries that share one machine.

NumPy's and SciPy's OpenBLAS and Intel's MKL each keep a pool of threads of their own, and idle threads of one pool
keep spinning for a while on the cores that the other needs. Where sparse solves (MKL) alternate with slim dense
products (OpenBLAS, limited by memory and not by arithmetic), one thread for OpenBLAS is the faster choice: the
eigensolver takes 30 % less time on two cores.
"""

from contextlib import AbstractContextManager

from threadpoolctl import ThreadpoolController


def one_openblas_thread() -> AbstractContextManager:
    """Within this context OpenBLAS works in the calling thread; MKL keeps its threads."""
    return ThreadpoolController().select(internal_api="openblas").limit(limits=1)
