"""Contacts between shapes on bodies as force elements between two frames."""
