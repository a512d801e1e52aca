"""The random referee: random mechanisms in several unit systems and frames, against each other, against Pinocchio and against Newton-Euler sums."""
