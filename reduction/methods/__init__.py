"""Reduction methods, one a file."""
