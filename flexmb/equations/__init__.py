"""The equations of motion of a mechanism: their evaluation, consistent initial conditions and linearisation."""
