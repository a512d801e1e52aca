"""Analyses of mechanisms other than simulation in time."""
