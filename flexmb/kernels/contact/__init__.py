"""Contacts: the cone problem of unilateral contact with dry friction, and the geometry of pairs of simple shapes."""
