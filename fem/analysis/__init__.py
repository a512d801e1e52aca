"""Linear analyses of one part, to compare it with other programs."""
