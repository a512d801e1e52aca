"""Recorded outcomes: what small models of every kind give, as it was when their other tests had found it right.

Other tests compare with theory. These say that something changed: any number, text or picture that a user would see of the
files, parts, mechanisms and pages here. `python -m tests.recorded --write` records anew what has changed on purpose.
"""
