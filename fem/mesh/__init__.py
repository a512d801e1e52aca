"""Meshes: cells and nodes, checks, selections, structured meshes."""

from fem.renamed import refuse_old_names

refuse_old_names(__name__)
