"""Commands for mechanisms in motion."""

PANEL = "Mechanisms in motion"
"""Heading of these commands in `flexmb --help`."""
