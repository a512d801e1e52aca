"""Compiled: equations of bodies, joints, forces and trees."""
