"""Generalised-alpha with exact contacts: points that touch, their impacts, and steps that are divided at them."""
