"""Meshes that Gmsh makes of polygons and CAD parts."""
