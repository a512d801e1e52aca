"""Meshes: cells and nodes, checks, selections, structured meshes."""
