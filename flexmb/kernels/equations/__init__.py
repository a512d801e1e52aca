"""Kernels for the equations of bodies, joints, forces and trees."""
