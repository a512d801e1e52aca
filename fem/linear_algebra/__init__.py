"""Sparse factorisations, eigenvalue solvers, Krylov bases."""
