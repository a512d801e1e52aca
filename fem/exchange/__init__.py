"""Parts to and from other programs, beyond files of meshes."""
