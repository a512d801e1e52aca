"""What files have in common: trees of arrays written whole or not at all, and checks of what is read."""
