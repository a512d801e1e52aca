"""Rigid and flexible bodies: their inertia invariants, their equations of motion and the range in which these are
valid."""
