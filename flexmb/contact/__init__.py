"""Contact: the cone problem of contacts with friction."""

from flexmb.contact.cones import Bounded, ConeSolution, Coulomb, solve_contacts

__all__ = ["Bounded", "ConeSolution", "Coulomb", "solve_contacts"]
