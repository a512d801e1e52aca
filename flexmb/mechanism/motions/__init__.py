"""Functions of time: what they are, how they are made, and what a driver needs."""
