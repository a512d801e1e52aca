"""Laws of one coordinate: expressions, tables, force maps, one-sided elements."""
