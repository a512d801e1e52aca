"""Axes of materials that turn from place to place."""
