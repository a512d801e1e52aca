"""Compiled: derivatives of steps, forward and adjoint."""
