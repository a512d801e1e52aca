"""Compiled: linear solutions and time steps."""
