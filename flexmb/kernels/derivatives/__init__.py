"""Kernels for derivatives of time steps, by direct differentiation and by the adjoint method."""
