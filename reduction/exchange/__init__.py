"""Reduced parts to other programs."""
