"""Gradients of what is measured of a motion with respect to parameters."""
