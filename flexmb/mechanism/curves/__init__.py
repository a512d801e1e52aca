"""Curves that places and sliders follow: cams, slots, rails."""

from flexmb.mechanism.curves.plane import Curve, of_functions, through

__all__ = ["Curve", "of_functions", "through"]
