"""Static and dynamic solutions of a finite element model that reductions are made of."""
