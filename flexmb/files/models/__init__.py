"""Files of mechanisms."""
