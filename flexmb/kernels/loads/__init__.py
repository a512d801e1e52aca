"""Loads along lines of bodies."""
