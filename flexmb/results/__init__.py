"""What a simulation gives: motion, reactions, energies, measures, stresses, and the verdict on it."""
