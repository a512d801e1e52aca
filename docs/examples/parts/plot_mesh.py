"""
A mesh and its named surfaces
=============================

The connecting rod that comes with flexmb; joints attach to the coloured holes.
"""

import fem
import meshes
from flexmb.plots.pictures import picture_mesh

mesh = fem.read_mesh(meshes.path("conrod.msh"))
print(mesh)
picture_mesh(mesh, "mesh.png")
