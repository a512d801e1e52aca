"""Analyses of mechanisms other than simulation over time."""
