"""Implicit steps in absolute coordinates with sparse Newton matrices: Radau IIA and backward differentiation."""
