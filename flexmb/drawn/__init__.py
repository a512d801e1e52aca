"""What pictures show: the surfaces of bodies, and the places of bodies whose deformation is drawn larger."""
