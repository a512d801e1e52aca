"""Validation: one file a published or exactly solvable case; each builds, runs and compares.

`CASES` maps a case's name to the function that runs it and returns its rows. `flexmb validate` prints them.
"""

import sys
from collections.abc import Callable

from validation import (
    attia_platform,
    bricard,
    demo_energy,
    flexible_pendulum,
    foreshortening,
    four_bar,
    free_rigid_body,
    lateral_buckling,
    moving_base_cantilever,
    parallelogram,
    planar_robot,
    reduction_methods,
    restart,
    slider_crank_meijaard,
    spin_up,
    steady_rotation,
    stiff_pendulum,
    strain_rig,
    torsional_machine,
    two_link,
    two_link_beam,
)
from validation.row import Row

CASES: dict[str, Callable[[], list[Row]]] = {
    "moving-base-cantilever": moving_base_cantilever.run,
    "two-link": two_link.run,
    "flexible-pendulum": flexible_pendulum.run,
    "free-rigid-body": free_rigid_body.run,
    "bricard": bricard.run,
    "parallelogram": parallelogram.run,
    "restart": restart.run,
    "attia-platform": attia_platform.run,
    "torsional-machine": torsional_machine.run,
    "slider-crank-meijaard": slider_crank_meijaard.run,
    "four-bar": four_bar.run,
    "stiff-pendulum": stiff_pendulum.run,
    "demo-energy": demo_energy.run,
    "spin-up": spin_up.run,
    "rotating-cantilever": steady_rotation.run,
    "lateral-buckling": lateral_buckling.run,
    "two-link-beam": two_link_beam.run,
    "planar-robot": planar_robot.run,
    "test-rig": strain_rig.run,
    "foreshortening": foreshortening.run,
    "reduction-methods": reduction_methods.run,
}


def story(case: str) -> str:
    """What a case is, in the words of its file."""
    return sys.modules[CASES[case].__module__].__doc__ or ""


__all__ = ["CASES", "Row", "story"]
