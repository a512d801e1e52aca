"""Rotations, frames, and the layout of the coordinates and velocities of a mechanism."""
