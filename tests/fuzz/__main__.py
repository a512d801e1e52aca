"""The campaign as a command: cases of all targets in turn, and a table of what became of them."""

import argparse
import time
from collections import Counter

from . import targets
from .pool import outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--target", action="append", choices=list(targets.TARGETS))
    parser.add_argument("--shown", type=int, default=5, help="faults printed for each target and kind")
    chosen = parser.parse_args()
    names = chosen.target or list(targets.TARGETS)
    cases = ((names[k % len(names)], chosen.seed, chosen.first + k // len(names)) for k in range(chosen.cases))
    counts: Counter[tuple[str, str]] = Counter()
    targets.prepared(names)
    began = time.monotonic()
    for outcome in outcomes(cases, targets.run, chosen.workers):
        key = outcome.case[0], outcome.kind
        counts[key] += 1
        if outcome.fault and counts[key] <= chosen.shown:
            print(f"--- {outcome.case}: {outcome.kind}\n{outcome.text}", flush=True)
    for (target, kind), count in sorted(counts.items()):
        print(f"{target:16} {kind:10} {count}")
    faults = sum(count for (_, kind), count in counts.items() if kind not in ("result", "refused"))
    print(f"{chosen.cases} cases, {faults} faults, {time.monotonic() - began:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
