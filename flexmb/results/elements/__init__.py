"""What each force element does: its stretch, effort, force, power and share of the energies."""
