"""Validation: one file a published or exactly solvable case; each builds, runs and compares.

`CASES` maps a case's name to the function that runs it and returns its rows and plots. `flexmb validate` prints them.
"""

import sys
from collections.abc import Callable

from validation import (
    andrews_squeezer,
    attia_platform,
    balanced_4rrr,
    balanced_four_bar,
    bicycle,
    bricard,
    chain_15,
    contact_laws,
    damper_bench,
    demo_energy,
    feedforward,
    fibre_pendulum,
    flexible_pendulum,
    foreshortening,
    four_bar,
    free_interface_synthesis,
    free_rigid_body,
    gear_train,
    joint_friction,
    knee,
    lateral_buckling,
    masonry_arch,
    misaligned_four_bar,
    moving_base_cantilever,
    n_four_bar,
    parallelogram,
    permanent_indentation,
    planar_robot,
    plastic_hinge,
    reduction_methods,
    reduction_promises,
    restart,
    rheonomic_loads,
    rigid_motion,
    rolling_bearing,
    rolling_disc,
    rotating_plate,
    slider_crank_meijaard,
    spin_up,
    steady_rotation,
    stiff_pendulum,
    strain_rig,
    test_facility,
    torsional_machine,
    two_link,
    two_link_beam,
)
from validation.plot import Plot, rows_of
from validation.row import Row

CASES: dict[str, Callable[[], list[Row | Plot]]] = {
    "moving-base-cantilever": moving_base_cantilever.run,
    "two-link": two_link.run,
    "flexible-pendulum": flexible_pendulum.run,
    "free-rigid-body": free_rigid_body.run,
    "bricard": bricard.run,
    "andrews-squeezer": andrews_squeezer.run,
    "n-four-bar": n_four_bar.run,
    "parallelogram": parallelogram.run,
    "restart": restart.run,
    "attia-platform": attia_platform.run,
    "torsional-machine": torsional_machine.run,
    "slider-crank-meijaard": slider_crank_meijaard.run,
    "four-bar": four_bar.run,
    "misaligned-four-bar": misaligned_four_bar.run,
    "stiff-pendulum": stiff_pendulum.run,
    "demo-energy": demo_energy.run,
    "spin-up": spin_up.run,
    "rigid-motion": rigid_motion.run,
    "rotating-plate": rotating_plate.run,
    "rotating-cantilever": steady_rotation.run,
    "lateral-buckling": lateral_buckling.run,
    "two-link-beam": two_link_beam.run,
    "planar-robot": planar_robot.run,
    "test-rig": strain_rig.run,
    "foreshortening": foreshortening.run,
    "reduction-methods": reduction_methods.run,
    "reduction-promises": reduction_promises.run,
    "chain-15": chain_15.run,
    "gear-train": gear_train.run,
    "rolling-disc": rolling_disc.run,
    "bicycle": bicycle.run,
    "balanced-four-bar": balanced_four_bar.run,
    "feedforward": feedforward.run,
    "rheonomic-loads": rheonomic_loads.run,
    "balanced-4rrr": balanced_4rrr.run,
    "free-interface-synthesis": free_interface_synthesis.run,
    "joint-friction": joint_friction.run,
    "plastic-hinge": plastic_hinge.run,
    "masonry-arch": masonry_arch.run,
    "contact-laws": contact_laws.run,
    "permanent-indentation": permanent_indentation.run,
    "knee": knee.run,
    "rolling-bearing": rolling_bearing.run,
    "damper-bench": damper_bench.run,
    "fibre-pendulum": fibre_pendulum.run,
    "test-facility": test_facility.run,
}


def story(case: str) -> str:
    """What a case is, in the words of its file."""
    return sys.modules[CASES[case].__module__].__doc__ or ""


__all__ = ["CASES", "Plot", "Row", "rows_of", "story"]
