"""Ratios against peers, measured in one run on one machine: `python -m benchmarks [NAME...] [--json FILE]`.

One file a benchmark, with `run() -> list[Row]`; its name here is all that registers it.
"""

REGISTRY = {
    "reduction-100k": "benchmarks.reduction_100k",
    "reduction-methods-100k": "benchmarks.reduction_methods",
    "spin-up": "benchmarks.spin_up",
    "step-interface-nodes": "benchmarks.step_interface_nodes",
}
