"""Time integration methods, one in each file."""
