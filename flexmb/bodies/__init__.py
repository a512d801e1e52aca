"""Rigid and flexible bodies: their invariants, their dynamics, the range in which they hold."""
