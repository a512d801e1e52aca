"""Kernels for the equations of bodies, joints and forces."""
