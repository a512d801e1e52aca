"""Stiffness, mass and geometric stiffness matrices; stresses."""
