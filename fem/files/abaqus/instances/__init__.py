"""Instances of parts: their places, and decks with several of them."""
