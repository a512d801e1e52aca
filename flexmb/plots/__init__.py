"""Plots and pictures."""
