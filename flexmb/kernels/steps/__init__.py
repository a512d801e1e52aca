"""Kernels for linear solutions and time steps."""
