"""Simulation in time: from consistent initial conditions, through events, to a result."""
