"""The equations of motion of a mechanism: evaluated, fulfilled at the start, linearised."""
