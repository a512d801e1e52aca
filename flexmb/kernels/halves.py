"""Division of a module of LLVM, as text, into two, which flexmb/kernels/build.py compiles in two processes.

Roots are the functions that Python calls, and large functions with several callers, which LLVM does not copy into their
callers. A root belongs to one half, together with all that it calls on the way to other roots. The other half only
declares it. Other functions that both halves need are in both, an eighth of the code, so that LLVM can copy them into
their callers, as in a single module.
"""

import re
from collections import Counter

LARGE = 1000
"""Lines of a root that Python does not call, in the text after the first pass: LLVM copies functions of up to some
hundred instructions."""
NAME = re.compile(r'@("[^"]*"|[\w.$-]+)')
LINKAGE = re.compile(r"^(internal|weak_odr) ")


def halves(text: str, entries: set[str]) -> list[tuple[str, list[str]]]:
    """The two halves of a module in which only the functions `entries` are visible and all others are needed: the text
    of each, and the names of its functions that other object files call or contain."""
    head, *chunks = text.split("\ndefine ")
    functions, rest = dict[str, str](), [head]
    for chunk in chunks:
        function, other = chunk.split("\n}\n", 1)
        functions[_names(function)[0]] = function
        rest.append(other)  # declarations, attributes and metadata
    calls = {name: set(_names(function)) & functions.keys() for name, function in functions.items()}
    owned = _divided({name: function.count("\n") for name, function in functions.items()}, calls, entries)
    needed = [set[str]().union(*(calls[name] for name in contents)) for contents in owned]
    across = {name for contents, names in zip(owned, needed, strict=True) for name in names - contents}
    found = []
    for contents, names in zip(owned, needed, strict=True):
        parts = list(rest)
        for name, function in functions.items():
            if name in contents:
                shown = LINKAGE.sub("hidden ", function) if name in across else function
                parts.append(f"define {shown}\n}}\n")
            elif name in names:
                first = function.split("\n", 1)[0].rstrip("{ ")
                parts.append(f"declare {LINKAGE.sub('hidden ', first)}\n")
        shared = (contents & entries) | across
        found.append(("\n".join(parts), [name for name in functions if name in shared]))
    return found


def _names(text: str) -> list[str]:
    """The names of all that a text speaks of, in order."""
    return [name.strip('"') for name in NAME.findall(text)]


def _divided(sizes: dict[str, int], calls: dict[str, set[str]], entries: set[str]) -> tuple[set[str], set[str]]:
    """The functions of each half. The largest roots come first, each to where the longer half stays shortest."""
    callers = Counter(other for name, others in calls.items() for other in others if other != name)
    roots = [name for name in sizes if name in entries or (sizes[name] >= LARGE and callers[name] > 1)]
    reached = {root: _reached(root, calls, set(roots)) for root in roots}

    def size(names: set[str]) -> int:
        return sum(sizes[name] for name in names)

    owned, lengths = (set[str](), set[str]()), [0, 0]
    for root in sorted(roots, key=lambda root: -size(reached[root])):
        more = [size(reached[root] - contents) for contents in owned]
        k = min((0, 1), key=lambda k: (max(lengths[k] + more[k], lengths[1 - k]), more[k]))
        owned[k].update(reached[root])
        lengths[k] += more[k]
    return owned


def _reached(root: str, calls: dict[str, set[str]], roots: set[str]) -> set[str]:
    """A root and the functions that it calls, except other roots and what only they call."""
    found, open_ones = {root}, [root]
    while open_ones:
        more = calls[open_ones.pop()] - roots - found
        found |= more
        open_ones += more
    return found
