"""What laws between frames and laws of controllers have in common: names, values of parameters, initial states."""
