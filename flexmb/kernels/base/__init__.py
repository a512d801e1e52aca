"""Vectors, dense matrices and the arrays that compiled code shares."""
