"""Foundations of the kernels: vectors, dense matrices and the arrays that the kernels share."""
