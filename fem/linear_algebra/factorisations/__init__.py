"""Sparse direct solvers of one protocol: one module a library, in the order in which "auto" tries them."""

from fem.linear_algebra.factorisations import mumps, pardiso, petsc, superlu
from fem.linear_algebra.factorisations.protocol import Backend, Factorisation, Solutions
from fem.linear_algebra.factorisations.record import FactorRecord, Kind

BACKENDS: dict[str, Backend] = {"pardiso": pardiso, "mumps": mumps, "superlu": superlu, "petsc": petsc}

__all__ = ["BACKENDS", "Backend", "FactorRecord", "Factorisation", "Kind", "Solutions"]
