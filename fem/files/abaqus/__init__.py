"""Abaqus and CalculiX input decks."""
