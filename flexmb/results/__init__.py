"""Results of a simulation: motion, reactions, energies, measures, stresses, and the verdict."""
