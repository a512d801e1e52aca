"""Error bounds, error estimates and comparisons of reduced models."""
