"""Cross-sections of beams of any drawn shape."""
