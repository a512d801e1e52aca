"""Storage shared by all files: trees of arrays, written completely or not at all, and validation of what is read."""
