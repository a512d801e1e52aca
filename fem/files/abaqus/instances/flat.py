"""Decks with several instances of parts, as flat decks: each instance becomes nodes, elements and sets of its own.

Numbers of the first, second, ... instance have once, twice, ... a power of ten added to them, which is above all
numbers of the deck; those of the assembly stay. The set TOP of the instance LEFT is LEFT.TOP. Points are moved and
turned here; axes and directions of the part by the reader, which meets each instance between `*INSTANCE` and
`*END PART`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fem.errors import MeshError, unknown_name
from fem.files.abaqus.instances.place import moved, placement
from fem.files.abaqus.lines import DOT, Place, Rows, beside, fields, lines, number, required
from fem.mesh.unread import canonical
from fem.user_files import IncludedFiles

Block = tuple[Place, str, dict[str, str], Rows]

LIMIT = 499_999_999
"""Largest number of nodes and elements of instances: above it are those that the reader adds."""
MOST_DIGITS = 18
"""Longer numbers are none of nodes and elements."""
LEAST_DIGITS = 6
"""Numbers of instances are at least this power of ten apart, where they find room."""
_REFERENCES = ("ELSET", "NSET", "SURFACE", "REFNODE", "ROTNODE", "PINNSET", "TIENSET", "NODE", "ELEMENT")
"""Options that name nodes, elements and sets."""
_FIRST = (
    *("SURFACE", "BOUNDARY", "CLOAD", "DLOAD", "DSLOAD", "TEMPERATURE", "INITIALCONDITIONS", "DISTRIBUTINGCOUPLING"),
    "NODALTHICKNESS",
)
"""Keywords whose data lines begin with a node, an element or a set."""
_ALL = ("TIE", "CONTACTPAIR")
"""Keywords whose data lines are names."""
_NAMING = (
    *(*_FIRST, *_ALL, "NSET", "ELSET", "ELEMENT", "EQUATION", "MPC", "RIGIDBODY", "COUPLING", "TRANSFORM"),
    *("MASS", "SPRING", "DASHPOT", "PRE-TENSIONSECTION", "CYCLICSYMMETRYMODEL", "CHANGESOLIDSECTION"),
    *("SOLIDSECTION", "SHELLSECTION", "SHELLGENERALSECTION", "BEAMSECTION", "BEAMGENERALSECTION"),
)
"""Keywords in which a name before a dot is that of an instance."""
_VALUE = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([EeDd][+-]?\d+)?")


@dataclass
class Instance:
    """An instance of a part: what is added to its numbers, its translation and turn, and the names of its sets,
    surfaces and orientations in capitals."""

    name: str
    first: int
    move: list[list[float]]
    names: set[str] = field(default_factory=set)

    def inside(self, name: str) -> str:
        """The name in the flat deck of a set of this instance."""
        return f"{self.name}{DOT}{name}"


def flat(blocks: Iterator[Block], deck: Path, included: IncludedFiles, instances: list[Instance]) -> Iterator[Block]:
    """The keywords of a deck, as those of a flat deck where it has more than one instance, or more than one part with
    nodes. `instances` becomes the list of these. Raises `MeshError`, which names file and line."""
    before: list[Place] = []
    held: list[Block] = []
    for block in blocks:
        if _keyword(block) in ("PART", "ASSEMBLY"):
            held = [block]
            break
        before += [block[0]] if _keyword(block) in ("NODE", "ELEMENT") else []
        yield block
    for block in blocks if held else ():
        held.append(block)
        if _keyword(block) == "ENDASSEMBLY":
            break
    assembly = _Assembly(deck, included, instances)
    assembly.sort(held)
    if not assembly.several:
        yield from held
        yield from blocks
        return
    if outside := [*before, *assembly.outside]:
        raise _outside(outside[0])
    yield from assembly.flat()
    for block in blocks:
        if _keyword(block) in ("NODE", "ELEMENT"):
            raise _outside(block[0])
        yield assembly.of_assembly(block)


def owner(instances: list[Instance], number: int) -> tuple[Instance | None, int]:
    """The instance of a node or element of the flat deck, and its number there; None for those of the assembly."""
    k = number // instances[0].first if instances else 0  # the first one has numbers from once the step on
    return (instances[k - 1], number - instances[k - 1].first) if 1 <= k <= len(instances) else (None, number)


def _outside(place: Place) -> MeshError:
    return MeshError(
        f"{place}: nodes and elements of a deck with several instances are in its parts, instances and assembly; these "
        "are outside of them."
    )


def _keyword(block: Block) -> str:
    return canonical(block[1].split(",")[0])


def _is_number(text: str) -> bool:
    digits = text.lstrip("+-")
    return digits.isdecimal() and len(digits) <= MOST_DIGITS


class _Assembly:
    """The parts, instances and other keywords of an assembly, in the order of the deck."""

    def __init__(self, deck: Path, included: IncludedFiles, instances: list[Instance]) -> None:
        self.deck, self.included, self.instances = deck, included, instances
        self.parts: dict[str, list[Block]] = {}
        self.heads: list[tuple[Block, list[Block]]] = []  # *INSTANCE, and what is in it
        self.others: list[Block] = []
        self.outside: list[Place] = []  # nodes and elements between parts and assembly
        self.known: dict[str, Instance] = {}
        self.step = 0

    def sort(self, held: list[Block]) -> None:
        """Take the keywords apart. Raises `MeshError` for a part that is given twice."""
        into, inside = self.others, ""
        for block in held:
            keyword = _keyword(block)
            if keyword == "PART":
                name = block[2].get("NAME", "").upper()
                if name in self.parts:
                    raise MeshError(f"{block[0]}: the deck defines the part {block[2].get('NAME')!r} twice.")
                into = self.parts[name] = []
            elif keyword == "INSTANCE":
                into = []
                self.heads.append((block, into))
            elif keyword in ("ENDPART", "ENDINSTANCE", "ASSEMBLY", "ENDASSEMBLY"):
                into = self.others
            else:
                into.append(block)
            if keyword in ("PART", "ENDPART", "ASSEMBLY", "ENDASSEMBLY"):
                inside = "" if keyword.startswith("END") else keyword
            if not inside and keyword in ("NODE", "ELEMENT"):
                self.outside.append(block[0])

    @property
    def several(self) -> bool:
        """Whether the deck needs more than one set of numbers."""
        bodies = [*self.parts.values(), *(own for _, own in self.heads)]
        return len(self.heads) > 1 or sum(any(_keyword(b) == "NODE" for b in body) for body in bodies) > 1

    def flat(self) -> Iterator[Block]:
        """The keywords of all instances, then those of the assembly."""
        for name, body in self.parts.items():
            self.parts[name] = [self._complete(block) for block in body]
        self.heads = [(head, [self._complete(block) for block in own]) for head, own in self.heads]
        self.others = [self._complete(block) for block in self.others]
        if not self.heads:
            raise MeshError(
                f"The deck {self.deck}: it has {len(self.parts)} parts with nodes, and no *INSTANCE of them."
            )
        self._number()
        for head, own in self.heads:
            place, _, options, rows = head
            name, part = required(place, options, "NAME"), options.get("PART", "").upper()
            if _is_number(name) or name.upper() in self.known:
                raise MeshError(f"{place}: an instance needs a name of its own that is no number; found {name!r}.")
            if part and part not in self.parts:
                raise MeshError(f"{place}: {unknown_name('part', options['PART'], self.parts)}")
            if not part and not any(_keyword(block) == "NODE" for block in own):
                raise MeshError(f"{place}: the instance {name!r} needs a part, PART=..., or nodes of its own.")
            instance = Instance(name, self.step * (1 + len(self.instances)), placement(place, rows))
            body = [*(self.parts[part] if part else ()), *own]
            instance.names |= {name.upper() for block in body for name in _defined(block)}
            self.instances.append(instance)
            self.known[name.upper()] = instance
            yield head
            for block in body:
                yield _InInstance(instance, self.step).of(block)
            yield place, "*END PART", {}, []
        for block in self.others:
            yield self.of_assembly(block)

    def _complete(self, block: Block) -> Block:
        """A keyword with the lines of the file that its INPUT names."""
        place, line, options, rows = block
        if not (options.get("INPUT") and _keyword(block) in ("NODE", "ELEMENT", "NSET", "ELSET")):
            return block
        path = beside(Path(place.rpartition(", line ")[0]), place, options["INPUT"], self.deck)
        rest = {key: value for key, value in options.items() if key != "INPUT"}
        return place, line, rest, [*rows, *lines(path, self.included)]

    def _number(self) -> None:
        """Choose the step of numbers from instance to instance."""
        largest = 1
        for body in (*self.parts.values(), *(own for _, own in self.heads), self.others):
            for block in body:
                keyword = _keyword(block)
                if keyword in ("NODE", "ELEMENT", "NSET", "ELSET"):
                    for _, row in block[3]:
                        entries = fields(row)[:1] if keyword == "NODE" else fields(row)
                        largest = max([largest, *(int(f) for f in entries if _is_number(f))])
        count, digits = len(self.heads) + 1, len(str(largest))
        self.step = 10**digits if count * 10**LEAST_DIGITS > LIMIT else 10 ** max(digits, LEAST_DIGITS)
        if count * self.step > LIMIT:
            raise MeshError(
                f"{self.heads[0][0][0]}: {len(self.heads)} instances with numbers up to "
                f"{largest} are too many for numbers of one mesh, which end at {LIMIT}; number nodes and elements of "
                "the parts from 1."
            )

    def of_assembly(self, block: Block) -> Block:
        """A keyword of the assembly or of the model in the names and numbers of the flat deck."""
        place, line, options, rows = block
        keyword = _keyword(block)
        if keyword == "NODE":
            return block
        given, options = options, dict(options)
        for key in options:
            if key in (*_REFERENCES, "ORIENTATION"):
                options[key] = self._resolved(place, options[key], keyword)
        if keyword in ("NSET", "ELSET") and given.get("INSTANCE"):
            name = given["INSTANCE"].strip('"').upper()
            if name not in self.known:
                raise MeshError(f"{place}: {unknown_name('instance', given['INSTANCE'], self._names())}")
            inside = _InInstance(self.known[name], self.step)
            del options["INSTANCE"]
            if keyword == "NSET" and options.get("ELSET"):
                options["ELSET"] = inside.known(options["ELSET"])
            return place, line, options, inside.members(rows, "GENERATE" in options, strict=False)
        made = []
        for where, row in rows:
            entries = fields(row) if "." in row else []
            if any("." in f and not _VALUE.fullmatch(f) for f in entries):
                row = ", ".join(self._resolved(where, f, keyword) for f in entries)
            made.append((where, row))
        return place, line, options, made

    def _resolved(self, place: Place, text: str, keyword: str) -> str:
        """INSTANCE.NUMBER and INSTANCE.SET in the flat deck; other texts as they are."""
        plain = text.replace('"', "")
        if "." not in plain or _VALUE.fullmatch(plain):
            return text
        mine = [name for name in self.known if plain.upper().startswith(name + ".")]
        if not mine:
            if keyword in _NAMING:
                known = ", ".join(self._names()) or "none"
                raise MeshError(f"{place}: {text!r} is of no instance of the deck, which has {known}.")
            return text
        instance = self.known[max(mine, key=len)]
        return _InInstance(instance, self.step).who(plain[len(instance.name) + 1 :].strip(), place)

    def _names(self) -> list[str]:
        return [i.name for i in self.instances]


def _defined(block: Block) -> Iterator[str]:
    """Names of sets, surfaces and orientations that a keyword defines."""
    options, keyword = block[2], _keyword(block)
    keys = {
        "NODE": ("NSET",),
        "ELEMENT": ("ELSET",),
        "NSET": ("NSET",),
        "ELSET": ("ELSET",),
        "SURFACE": ("NAME",),
        "ORIENTATION": ("NAME",),
    }
    yield from (options[key].strip('"') for key in keys.get(keyword, ()) if options.get(key))


class _InInstance:
    """Keywords of a part or an instance in the names and numbers of the flat deck."""

    def __init__(self, instance: Instance, step: int) -> None:
        self.instance, self.step = instance, step

    def of(self, block: Block) -> Block:
        """One keyword."""
        place, line, options, rows = block
        keyword = _keyword(block)
        options = dict(options)
        for key in options:
            if key in _REFERENCES and options[key]:
                options[key] = self.who(options[key], place)
        if options.get("ORIENTATION"):
            options["ORIENTATION"] = self.known(options["ORIENTATION"])
        if keyword in ("SURFACE", "ORIENTATION") and options.get("NAME"):
            options["NAME"] = self.instance.inside(options["NAME"])
        return place, line, options, self._rows(keyword, options, rows)

    def who(self, text: str, place: Place = "") -> str:
        """A node, an element or a set of the instance."""
        plain = text.strip().strip('"')
        if not _is_number(plain):
            return self.instance.inside(plain)
        if not 0 < int(plain) < self.step:
            raise MeshError(f"{place}: the instance {self.instance.name!r} has no node or element {plain}.")
        return str(self.instance.first + int(plain))

    def members(self, rows: Rows, generate: bool, strict: bool = True) -> Rows:
        """Data lines of a set; not `strict`: names that the instance does not have are those of the assembly."""
        made = []
        for place, row in rows:
            entries = fields(row)
            count = 2 if generate else len(entries)
            shifted = [
                self.who(f, place) if f and (strict or _is_number(f) or self._has(f)) else f for f in entries[:count]
            ]
            made.append((place, ", ".join([*shifted, *entries[count:]])))
        return made

    def _has(self, name: str) -> bool:
        return name.strip('"').upper() in self.instance.names

    def known(self, name: str) -> str:
        """A name of the instance, or one of the whole deck."""
        return self.instance.inside(name.strip('"')) if self._has(name) else name

    def _rows(self, keyword: str, options: dict[str, str], rows: Rows) -> Rows:
        if keyword == "NODE":
            return self._points(rows)
        if keyword in ("NSET", "ELSET"):
            return self.members(rows, "GENERATE" in options)
        if keyword == "ELEMENT":
            return self._each(rows, lambda k, f: _is_number(f))
        if keyword == "SURFACE":
            rows = [(place, (self.instance.inside("") if not fields(row)[0] else "") + row) for place, row in rows]
            return self._each(rows, lambda k, f: k == 0 and not f.endswith(DOT))
        if keyword in _FIRST:
            return self._each(rows, lambda k, f: k == 0)
        if keyword in _ALL:
            return self._each(rows, lambda k, f: True)
        if keyword == "MPC":  # a line may begin with the type, and zeros stand for nothing
            return self._each(rows, lambda k, f: (_is_number(f) and int(f) != 0) or (k > 0 and not _is_number(f)))
        if keyword == "EQUATION" and rows:
            return self._equation(rows)
        if keyword in ("SHELLSECTION", "SHELLGENERALSECTION") and "COMPOSITE" in options:
            return [
                (place, ", ".join(self.known(f) if k == 3 else f for k, f in enumerate(fields(row))))
                for place, row in rows
            ]
        return rows

    def _each(self, rows: Rows, mine: Callable[[int, str], bool]) -> Rows:
        """Data lines whose entries are those of the instance where `mine` says so of their place and text."""
        return [
            (place, ", ".join(self.who(f, place) if f and mine(k, f) else f for k, f in enumerate(fields(row))))
            for place, row in rows
        ]

    def _equation(self, rows: Rows) -> Rows:
        """Equations: the number of terms, then node or set, dof and coefficient of each."""
        entries = [f for _, row in rows for f in fields(row) if f]
        made, k = list(entries), 0
        while k < len(entries) and _is_number(entries[k]) and int(entries[k]) > 0:
            end = k + 1 + 3 * int(entries[k])
            for term in range(k + 1, min(end, len(entries)), 3):
                made[term] = self.who(entries[term], rows[0][0])
            k = end
        return [(rows[0][0], ", ".join(made))]

    def _points(self, rows: Rows) -> Rows:
        """Nodes where the instance has them; lines that are none stay for the reader to name."""
        good, numbers, points = [], [], []
        for k, (_, row) in enumerate(rows):
            entries = fields(row)
            try:
                x = [number(f) if f else 0.0 for f in entries[1:4]]
                numbers.append(self.who(str(int(entries[0]))))
            except MeshError as error:
                raise MeshError(f"{rows[k][0]}{error}") from None
            except ValueError:
                continue
            good.append(k)
            points.append([*x, *[0.0] * (3 - len(x))])
        found = moved(np.array(points).reshape(-1, 3), self.instance.move).tolist()
        made = list(rows)
        for k, name, x in zip(good, numbers, found, strict=True):
            place, row = rows[k]
            made[k] = place, ", ".join([name, *(repr(v) for v in x), *fields(row)[4:]])
        return made
