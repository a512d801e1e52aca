"""Kernels for trees of joints: their coordinates and motions, and the accelerations of rigid trees by recursion."""
