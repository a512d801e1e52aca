"""Files of results."""
