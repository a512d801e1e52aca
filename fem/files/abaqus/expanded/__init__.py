"""Elements and nodes that a deck implies: solids in the place of plane elements, shells and beams; cuts."""
