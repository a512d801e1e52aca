"""Degrees of freedom of a part."""
