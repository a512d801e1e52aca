"""Mechanisms: bodies, joints, forces and functions of time, and their compiled form for the kernels."""

from fem.renamed import refuse_old_names

refuse_old_names(__name__)
