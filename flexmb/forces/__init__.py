"""Force elements and force laws: `scalar/` holds laws of one coordinate, `effort(t, x, xdot)`."""

from flexmb.forces.scalar.one_sided import cable, gap_spring, preloaded_spring

__all__ = ["cable", "gap_spring", "preloaded_spring"]
