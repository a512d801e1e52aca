"""Commands for meshes and flexible bodies."""

PANEL = "Meshes and flexible bodies"
"""Heading of these commands in `flexmb --help`."""
