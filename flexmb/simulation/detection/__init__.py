"""The parts of the detection of events: what is in force, samples of the measures, levels, impacts, friction."""
