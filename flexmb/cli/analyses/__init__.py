"""Commands for linear analyses and parameter studies."""

PANEL = "Linear analyses and parameter studies"
"""Heading of these commands in `flexmb --help`."""
