"""Mechanisms: bodies, joints, forces and functions of time, and the tables that the compiled loop reads."""

from fem.renamed import refuse_old_names

refuse_old_names(__name__)
