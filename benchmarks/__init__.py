"""Ratios against peers, measured in one run on one machine: `python -m benchmarks [NAME...] [--json FILE]`.

A benchmark is a function without arguments that returns a list of `Row`; its name here is all that registers it.
"""

REGISTRY = {
    "factorisation": "benchmarks.factorisation:run",
    "reduction-100k": "benchmarks.reduction_peers:at_100k",
    "reduction-300k": "benchmarks.reduction_peers:at_300k",
    "reduction-budget-300k": "benchmarks.reduction_size:at_budget",
    "reduction-growth": "benchmarks.reduction_size:growth",
    "reduction-1700k": "benchmarks.reduction_size:out_of_core",
    "reduction-methods-100k": "benchmarks.reduction_methods:run",
    "threads": "benchmarks.threads:run",
    "shell-assembly": "benchmarks.shell_assembly:run",
    "whole-road": "benchmarks.whole_road:run",
    "step-exudyn": "benchmarks.step_exudyn:run",
    "slider-crank-exudyn": "benchmarks.slider_crank:run",
    "rigid-exudyn": "benchmarks.rigid_exudyn:run",
    "step-growth": "benchmarks.growth:modes",
    "step-loops": "benchmarks.growth:loops",
    "step-rigid": "benchmarks.growth:rigid",
    "start-up": "benchmarks.start_up:run",
    "revisions": "benchmarks.revisions:run",
    "step-law": "benchmarks.step_law:run",
    "force-elements": "benchmarks.force_elements:run",
    "contact-rigid": "benchmarks.contact_rigid:run",
    "contact-flexible": "benchmarks.contact_flexible:run",
    "integrators": "benchmarks.integrators:run",
    "implicit-steps": "benchmarks.implicit_steps:run",
    "adapted": "benchmarks.adapted:run",
    "adjoint": "benchmarks.adjoint:run",
    "chain": "benchmarks.growth:bodies",
    "parameter-study": "benchmarks.variants:run",
    "study-threads": "benchmarks.variants:in_threads",
    "spin-up": "benchmarks.spin_up:run",
    "viewer-100k": "benchmarks.viewer:run",
    "step-interface-nodes": "benchmarks.step_interface_nodes:run",
}
