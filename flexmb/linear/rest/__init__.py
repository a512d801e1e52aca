"""The parts of the search for an equilibrium."""
