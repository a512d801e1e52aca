"""Readers and writers of meshes and matrices."""
