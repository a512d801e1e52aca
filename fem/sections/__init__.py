"""Sections of shells and beams: their stiffness and mass."""
