"""Rotations, frames, and where the parts of a body stand in the coordinates of a mechanism."""
