"""Mechanisms: bodies, joints, forces and functions of time, and the tables that the compiled loop reads."""
