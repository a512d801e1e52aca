"""
Stress of a moving rod
======================

The slider-crank of the demo just after the gas pulse, coloured by von Mises stress.
"""

import flexmb
from flexmb import demo
from flexmb.plots.pictures import picture_result
from flexmb.results.stress import largest_stress

result = flexmb.simulate(demo.build(), 0.064, step=4e-6)
worst = int(largest_stress(result, "rod").values.argmax())
picture_result(result, "stress.png", index=worst, magnification=60, stress=True)
