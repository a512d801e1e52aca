"""Force elements and force laws: `scalar/` holds laws of one coordinate, `effort(t, x, xdot)`."""
