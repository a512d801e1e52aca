"""Gradients of measures of a motion with respect to parameters."""
