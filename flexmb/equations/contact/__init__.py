"""Exact contacts and flexible surfaces in the equations of motion of a mechanism."""
