"""Files of flexible bodies."""
