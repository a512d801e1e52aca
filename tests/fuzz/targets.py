"""What is fuzzed: every reader, the model file, the command line, with sound files to damage."""

import contextlib
import copy
import os
import shutil
import tempfile
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any
from zlib import crc32

import meshio
import numpy as np
import scipy.io
import scipy.sparse as sp

import fem
import flexmb
import reduction
from fem.errors import FlexmbError
from fem.files.nastran.op2 import read_op2
from fem.files.nastran.op4 import read_op4
from fem.mesh.structured_meshes import block
from flexmb.bodies.solids import shape_of
from flexmb.contact import Plane, hull, mesh, power_law
from flexmb.files import load_body, load_model, load_result, save_body, save_result
from flexmb.files.storage.tree import read_tree, write_tree
from flexmb.forces.frame.ring_compliance import RingCompliance, ring_compliance_from_csv
from flexmb.forces.scalar.force_map import force_map_from_csv
from flexmb.forces.scalar.points import read_columns
from flexmb.mechanism.contacts.element import is_contact
from flexmb.study.kept import KeptOutcomes

from . import cards, commands, damage, results, structure, texts, toml
from .pool import UnnamedError

MODELS = Path(__file__).with_name("models")
Case = tuple[str, int, int]
"""A target, the seed of a campaign, and the number of the case."""


@dataclass(frozen=True)
class Target:
    """A reader with sound files.

    `name` of the damaged file in its folder; `seeds()`: sound contents; `read(path)`; `text`: whether lines and numbers
    are damaged too; `make(rng)`, where given, writes content that is wrong inside a sound container; `beside`: further
    files, by name; `form`: that of `cards.BEGINS`, where texts are also wrong in what they say.
    """

    name: str
    seeds: Callable[[], tuple[bytes, ...]]
    read: Callable[[Path], Any]
    text: bool = False
    make: Callable[[np.random.Generator], bytes] | None = None
    beside: Callable[[], dict[str, bytes]] = dict
    form: str = ""

    def content(self, rng: np.random.Generator) -> bytes:
        """A damaged file."""
        if self.make is not None and rng.random() < 0.7:
            return self.make(rng)
        seeds = self.seeds()
        seed = seeds[int(rng.integers(len(seeds)))]
        if self.form and b"\0" not in seed and rng.random() < 0.8:
            return cards.changed(seed, self.form, rng)
        return (damage.of_text if self.text and rng.random() < 0.8 else damage.of_bytes)(seed, rng)


def prepared(names: Iterable[str]) -> None:
    """Make the sound contents before any process is forked, and see that each is read: an error here is none of a case."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for target in (TARGETS[name] for name in names):
            if not isinstance(target, Target):
                commands.prepared() if target is commands.case else texts.prepared(_result(), _model_of_part())
                continue
            for name, content in target.beside().items():
                (Path(folder) / name).write_bytes(content)
            for content in target.seeds():
                (Path(folder) / target.name).write_bytes(content)
                target.read(Path(folder) / target.name)
            if target.make is not None:
                target.make(np.random.default_rng(0))


def generator(case: Case) -> np.random.Generator:
    """The random numbers of a case."""
    name, campaign, number = case
    return np.random.default_rng([crc32(name.encode()), campaign, number])


def run(case: Case) -> None:
    """Run a case in a folder of its own, which is removed. Raises what the reader raises, `UnnamedError` for an error
    without the name of the file."""
    rng, target = generator(case), TARGETS[case[0]]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        os.chdir(folder)
        if not isinstance(target, Target):
            target(rng, folder)
            return
        for name, content in target.beside().items():
            (folder / name).write_bytes(content)
        path = folder / target.name
        path.write_bytes(target.content(rng))
        try:
            target.read(path)
        except FlexmbError as error:
            if Path(target.name).stem not in str(error):
                raise UnnamedError(f"{type(error).__name__}: {error}") from error
            raise
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


def written(case: Case, folder: Path) -> Path:
    """The damaged file of a case, for a closer look."""
    target = TARGETS[case[0]]
    assert isinstance(target, Target)
    for name, content in target.beside().items():
        (folder / name).write_bytes(content)
    (folder / target.name).write_bytes(target.content(generator(case)))
    return folder / target.name


# sound contents -------------------------------------------------------------------------------------------------------


@cache
def _part() -> fem.Mesh:
    mesh = block("hexahedron", (2.0, 1.0, 1.0), (2, 1, 1))
    return replace(
        mesh,
        node_sets={"left": np.flatnonzero(mesh.points[:, 0] == 0)},
        cell_sets={"half": np.array([1])},
        face_sets={"end": np.array([[0, 2]])},
    )


def _given(*names: str) -> Callable[[], tuple[bytes, ...]]:
    return lambda: tuple((MODELS / name).read_bytes() for name in names)


def _beside(*names: str) -> Callable[[], dict[str, bytes]]:
    return lambda: {name: (MODELS / name).read_bytes() for name in names}


def _bytes_of(name: str, write: Callable[[Path], Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), contextlib.redirect_stdout(None):
        warnings.simplefilter("ignore")
        write(Path(folder) / name)
        return (Path(folder) / name).read_bytes()


def _written(name: str, *writers: Callable[[Path], Any]) -> Callable[[], tuple[bytes, ...]]:
    return cache(lambda: tuple(_bytes_of(name, write) for write in writers))


def _by_meshio(form: str, **options: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        mesh = _part()
        rows = [(b.kind, b.connectivity) for b in mesh.cells]
        meshio.write(path, meshio.Mesh(mesh.points, rows), file_format=form, **options)

    return write


@cache
def _body() -> flexmb.Body:
    return flexmb.flexible_body(_model_of_part(), _basis(), name="body")


@cache
def _model_of_part() -> fem.Model:
    return fem.Model(_part(), fem.Material.steel()).with_interfaces(
        start="left", end=fem.nearest((2, 0.5, 0.5), count=4)
    )


@cache
def _basis() -> reduction.Basis:
    return reduction.craig_bampton(_model_of_part(), 2)


def _mesh_target(name: str, *writers: Callable[[Path], Any], text: bool = True) -> Target:
    return Target(name, _written(name, *writers), _meshed, text)


def _meshed(path: Path) -> None:
    fem.check_mesh(fem.read_mesh(path))


@contextlib.contextmanager
def _objects_named() -> Iterator[None]:
    """Within a `with`, errors are about objects of a model, such as a material, and need not name its file."""
    try:
        yield
    except FlexmbError as error:
        if len(str(error)) < 20:
            raise UnnamedError(str(error)) from error


def _assembled(path: Path) -> None:
    """Read a deck and make the matrices of its part, with the sections, constraints and masses of the deck."""
    read = fem.read_mesh(path)
    fem.check_mesh(read)
    with _objects_named():
        part = fem.Model(read)
        part.K, part.M  # noqa: B018


def _solved(path: Path) -> None:
    """Solve the analysis steps of a deck."""
    part, steps = fem.read_steps(path)
    with _objects_named():
        model, before = fem.Model(part), None
        for step in steps:
            before = fem.solve_step(model, step, before)


def _obeyed(path: Path) -> None:
    """Read a deck as `_assembled`, and the steps of it as CalculiX does; both, also where the first is refused."""
    try:
        _assembled(path)
    except FlexmbError:
        _solved(path)
        raise
    _solved(path)


def _superelement(path: Path) -> None:
    """Read a deck as a part, and its matrices."""
    try:
        _assembled(path)
    finally:
        with _objects_named():
            given = fem.read_nastran(path)
            part = fem.Model.from_matrices(given.M, given.K, np.eye(len(given.nodes), 3), dofs=given.dofs)
            part.K, part.M  # noqa: B018


def _brick(path: Path, binary: bool) -> None:
    shape = flexmb.solids.box((300.0, 200.0, 100.0))
    meshio.write(path, meshio.Mesh(shape.points, [("triangle", shape.triangles)]), binary=binary)


def _touching(path: Path) -> None:
    """The solid of a file, and its hull, on a plane."""
    for solid in (mesh, hull):
        system = flexmb.System(gravity=(0, 0, -9.81))
        body = system.add(flexmb.rigid_body("brick", mass=2.0, inertia=(1, 1, 1)), position=(0, 0, 49.0))
        floor = Plane().on(system.ground.at((0, 0, 0)))
        system.contact("floor", floor, solid(path).on(body.at((0, 0, 0))), law=power_law(1e4))
        flexmb.evaluate(mechanism := system.build(), mechanism.initial)


def _triangle(path: Path, binary: bool) -> None:
    meshio.write(
        path,
        meshio.Mesh(np.vstack([np.eye(3), np.zeros(3)]), [("triangle", [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])]),
        binary=binary,
    )


def _ours(path: Path) -> None:
    fem.write_mesh(_part(), path)


# wrong content in sound containers --------------------------------------------------------------------------------------

VALUES: tuple[Any, ...] = (
    None, "", "text", "é/\u2028", 0, 1, -1, 2**40, 1.5, float("nan"), float("inf"), -0.0, True, False, [], {}, ["a"], [0.0, 1.0], {"x": 1},
)  # fmt: skip


def _tree(kind: str, save: Callable[[Path], Any]) -> Callable[[np.random.Generator], bytes]:
    @cache
    def sound() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            save(Path(folder) / "x.h5")
            return read_tree(Path(folder) / "x.h5", kind)

    def make(rng: np.random.Generator) -> bytes:
        for _ in range(20):
            with contextlib.suppress(FlexmbError, TypeError, ValueError, OverflowError, AttributeError):
                return _bytes_of("x.h5", lambda path: write_tree(path, kind, damage.of_tree(sound(), VALUES, rng)))
        return b""

    return make


def _arrays(
    sound: Callable[[], dict[str, Any]], save: Callable[[BytesIO, dict[str, Any]], None]
) -> Callable[[np.random.Generator], bytes]:
    """Named arrays, one of which is wrong; of a sparse matrix one of its parts."""

    def make(rng: np.random.Generator) -> bytes:
        for _ in range(20):
            arrays = copy.deepcopy(sound())
            name = str(rng.choice(list(arrays)))
            if rng.random() < 0.1:
                del arrays[name]
            elif sp.issparse(arrays[name]) and rng.random() < 0.7:
                part = str(rng.choice(["data", "indices", "indptr"]))
                setattr(arrays[name], part, damage.of_array(getattr(arrays[name], part), rng))
                arrays[name].has_sorted_indices = True  # that no writer of SciPy follows them
            else:
                arrays[name] = damage.of_array(arrays[name], rng)
            with contextlib.suppress(TypeError, ValueError, LookupError, AttributeError):
                content = BytesIO()
                save(content, arrays)
                return content.getvalue()
        return b""

    return make


def _arrays_of_body() -> dict[str, Any]:
    from flexmb.files.bodies.array_file import _arrays as arrays_of

    return {name: np.asarray(value) for name, value in arrays_of(_body()).items()}


def _npz(file: BytesIO, arrays: dict[str, Any]) -> None:
    np.savez_compressed(file, **arrays)


@cache
def _result() -> flexmb.Result:
    system = flexmb.System(gravity=(0, -9.81, 0))
    body = system.add(_body(), name="arm")
    system.revolute("hinge", system.ground.at((0, 0, 0)), body["start"], axis=(0, 0, 1))
    system.load("push", body["end"], force=(0, 1, 0), factor=flexmb.time_functions.harmonic(1, 5))
    disc = system.add(
        flexmb.rigid_body("disc", mass=1, inertia=(1, 1, 1), points={"eye": (0, 0.1, 0)}), position=(0, 3, 0)
    )
    system.prismatic("rail", system.ground.at((0, 3, 0)), disc, axis=(1, 0, 0))
    system.spring_damper("spring", system.ground.at((1, 4, 0)), disc["eye"], stiffness=50, damping=0.5)
    return flexmb.simulate(system, 0.02, step=2e-3)


@cache
def _results() -> tuple[flexmb.Result, ...]:
    return _result(), results.with_all_elements(), results.with_exact_contact()


def _damaged_result(rng: np.random.Generator) -> bytes:
    """A result with a wrong value somewhere; half of the cases damage the elements of its mechanism."""
    sound = _result_trees()[int(rng.integers(len(_results())))]
    parts = [key for key in ELEMENTS if sound["mechanism"].get(key)]
    for _ in range(20):
        with contextlib.suppress(FlexmbError, TypeError, ValueError, OverflowError, AttributeError):
            wrong = dict(sound)
            if parts and rng.random() < 0.5:
                part = str(rng.choice(parts))
                damaged = damage.of_tree(sound["mechanism"][part], VALUES, rng)
                wrong["mechanism"] = {**sound["mechanism"], part: damaged}
            else:
                wrong = damage.of_tree(sound, VALUES, rng)
            return _bytes_of("x.h5", lambda path: write_tree(path, "result", wrong))  # noqa: B023
    return b""


@cache
def _result_trees() -> tuple[Any, ...]:
    with tempfile.TemporaryDirectory() as folder:
        return tuple(
            read_tree(save_result(result, Path(folder) / f"{k}.h5"), "result") for k, result in enumerate(_results())
        )


ELEMENTS = ("frame_forces", "contact_groups", "frictions", "lines", "contacts", "controllers")
"""Parts of a mechanism in result files, besides those that every result has."""


def _used(path: Path) -> None:
    """Load a result, and do what compiled code does with its parts; errors of that name the part, not the file."""
    result = load_result(path)
    str(result)
    m = result.mechanism
    acts: list[Callable[[], Any]] = [lambda: flexmb.evaluate(m, result.state(-1)), result.energy_by_element]
    acts += [lambda name=body.name: result.frame(name) for body in m.bodies]
    acts += [lambda name=marker.name: result.position(name) for marker in m.markers if marker.body >= 0]
    acts += [lambda name=joint.name: result.reaction(name) for joint in m.joints]
    acts += [lambda name=c.name: result.contact(name) for c in (*m.contacts, *filter(is_contact, m.frame_forces))]
    acts += [lambda name=group.name: result.contact_group(name) for group in m.contact_groups]
    acts += [lambda name=controller.name: result.controller(name) for controller in m.controllers]
    acts += [lambda name=name: result.power(name) for name in m.force_elements]
    for act in acts:
        with contextlib.suppress(FlexmbError):
            act()


def _in_use(path: Path) -> None:
    body = load_body(path)
    system = flexmb.System()
    arm = system.add(body)
    if body.interfaces:
        system.spherical("joint", system.ground, arm[next(iter(body.interfaces))])
    flexmb.evaluate(mechanism := system.build(), mechanism.initial)


# matrices -----------------------------------------------------------------------------------------------------------------


@cache
def _matrices() -> tuple[sp.csr_matrix, sp.csr_matrix]:
    part = fem.Model(block("hexahedron", (1.0, 2.0, 0.5), (1, 1, 1)), fem.Material.steel())
    return sp.csr_matrix(part.K), sp.csr_matrix(part.M)


def _lines(A: sp.csr_matrix, form: str) -> bytes:
    entries = sp.coo_matrix(sp.tril(A))
    pairs = zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
    if form == "abaqus":
        return "".join(f"{i // 3 + 1},{i % 3 + 1},{j // 3 + 1},{j % 3 + 1},{v:.15e}\n" for i, j, v in pairs).encode()
    return "".join(f"{i + 1} {j + 1} {v:.15e}\n" for i, j, v in pairs).encode()


def _market(A: sp.csr_matrix) -> bytes:
    content = BytesIO()
    scipy.io.mmwrite(content, A)
    return content.getvalue()


def _dense_market(A: sp.csr_matrix) -> bytes:
    content = BytesIO()
    scipy.io.mmwrite(content, A.toarray())
    return content.getvalue()


def _boeing(A: sp.csr_matrix) -> bytes:
    return _bytes_of("x.matrix", lambda path: scipy.io.hb_write(path, sp.csc_matrix(A)))


def _op4(A: sp.csr_matrix) -> tuple[bytes, bytes]:
    full, n = A.toarray(), A.shape[0]
    lines = [f"{n:8d}{n:8d}{6:8d}{2:8d}{'KGG':8s}1P,3E23.16"]
    records = [np.array([n, n, 6, 2], "<i4").tobytes() + b"KGG     "]
    for j in range(n):
        lines.append(f"{j + 1:8d}{1:8d}{2 * n:8d}")
        lines += ["".join(f"{v:23.16E}" for v in full[k : k + 3, j]) for k in range(0, n, 3)]
        records.append(np.array([j + 1, 1, 2 * n], "<i4").tobytes() + full[:, j].astype("<f8").tobytes())
    lines += [f"{n + 1:8d}{1:8d}{1:8d}", " 1.0000000000000000E+00"]
    records.append(np.array([n + 1, 1, 2], "<i4").tobytes() + np.ones(1).tobytes())
    count = lambda record: np.array([len(record)], "<i4").tobytes()  # noqa: E731
    return ("\n".join(lines) + "\n").encode(), b"".join(count(r) + r + count(r) for r in records)


def _punch() -> bytes:
    lines = []
    for name, A in zip(("KAAX", "MAAX"), _matrices(), strict=True):
        lines.append(f"DMIG    {name:8s}       0       6       2       0                {A.shape[0]:8d}")
        entries = sp.coo_matrix(sp.tril(A))
        last = -1
        for j, i, v in sorted(zip(entries.col.tolist(), entries.row.tolist(), entries.data.tolist(), strict=True)):
            if j != last:
                lines.append(f"DMIG*   {name:16s}{j // 3 + 1:16d}{j % 3 + 1:16d}")
            lines.append(f"*       {i // 3 + 1:16d}{i % 3 + 1:16d}{v:16.9E}".replace("E", "D"))
            last = j
    return ("\n".join([*lines, "ENDDATA"]) + "\n").encode()


OP2_HEAD = (2, "KGG     ", -1, 7, (101, 12, 12, 6, 2, 0, 0), -2, 1, 0, 2, "KGG     ")
"""Markers, and records of more than a word, before the first column of a matrix of 12 rows."""


def _op2() -> bytes:
    """A matrix as OUTPUT2 writes it, in words of four bytes."""
    full = _matrices()[0].toarray()[:12, :12]
    records: list[bytes] = []
    for item in OP2_HEAD:
        records.append(item.encode() if isinstance(item, str) else np.array(item, "<i4").tobytes())
    for j, column in enumerate(full.T):
        records += [np.array(k, "<i4").tobytes() for k in (-3 - j, 1, 1, 24)]
        records.append(np.array([1], "<i4").tobytes() + column.astype("<f8").tobytes())
    records += [np.array(k, "<i4").tobytes() for k in (-15, 1, 0, 0)]
    count = lambda record: np.array([len(record)], "<i4").tobytes()  # noqa: E731
    return b"".join(count(r) + r + count(r) for r in records)


def _part_of_matrices(path: Path) -> None:
    """Read an archive of matrices, and make the part of them."""
    given = fem.read_matrices(path)
    with _objects_named():
        part = fem.Model.from_matrices(given.M, given.K, given.points, dofs=given.dofs, damping=given.D)
        part.K, part.M  # noqa: B018


def _of_basis(path: Path) -> None:
    """Load a basis and make the body of it."""
    found = reduction.Basis.load(path, _model_of_part())
    with _objects_named():
        flexmb.flexible_body(_model_of_part(), found, name="body")


@cache
def _archive(ending: str) -> dict[str, Any]:
    """The arrays of a part as a file of this kind holds them: an `.npz` file has the parts of sparse matrices."""
    content = _bytes_of(f"part.{ending}", lambda path: fem.write_matrices(_model_of_part(), path))
    if ending == "npz":
        with np.load(BytesIO(content)) as file:
            return {key: file[key] for key in file.files}
    return {key: value for key, value in scipy.io.loadmat(BytesIO(content)).items() if not key.startswith("__")}


@cache
def _saved_basis() -> dict[str, Any]:
    with np.load(BytesIO(_bytes_of("part.npz", _basis().save))) as file:
        return {key: file[key] for key in file.files}


def _mapping() -> bytes:
    n = _matrices()[0].shape[0]
    return (
        "  Matrix Eqn  Node  DOF\n" + "".join(f"{k + 1:8d}{k // 3 + 1:8d} U{'XYZ'[k % 3]}\n" for k in range(n))
    ).encode()


def _dofs() -> bytes:
    n = _matrices()[0].shape[0]
    return "".join(f"{k // 3 + 1}.{k % 3 + 1}\n" for k in range(n)).encode()


# models, tables, studies ------------------------------------------------------------------------------------------------


@cache
def _saved_body() -> bytes:
    return _bytes_of("body.h5", lambda path: save_body(_body(), path))


def _files_of_models() -> dict[str, bytes]:
    return {
        **_beside("block.inp", "plate.inp", "beams.inp")(),
        "brick.stl": _bytes_of("brick.stl", lambda path: _brick(path, binary=False)),
        "body.h5": _saved_body(),
        "turn.csv": b"# time, angle\n0, 0\n1, 0.1  # comment\n\n2, 0.5\n3, 0.2\n",
        "map.csv": b"# force over place and speed\n0; -9; 0; 9\n-1; 1; 2; 3\n0; 0; 0; 0\n1; -1; -2; -3\n",
    }


def _in_ring(path: Path) -> None:
    """The compliance of a ring at other angles, as its bearing uses it."""
    ring = ring_compliance_from_csv(path)
    ring.at(np.linspace(0.0, 6.0, 7)), ring.parameters


@cache
def _models() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(MODELS.glob("*.toml")))


def _model(rng: np.random.Generator) -> bytes:
    trees = [tomllib.loads(model.decode()) for model in _models()]
    first, second = (trees[int(k)] for k in rng.choice(len(trees), 2, replace=False))
    changed = damage.of_tree(
        first, (*VALUES, *second.values(), 1e300, -1e-300, "nonsense.x", [[1, 2], [3]], [0, 0, 0], 10**30), rng
    )
    return toml.dumped(changed).encode("utf-8", "surrogatepass")


@cache
def _further_models() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(MODELS.glob("further/*.toml")))


def _wrong_model(rng: np.random.Generator) -> bytes:
    """A model with one change that a person could make."""
    models = (*_models(), *_further_models())
    tree = tomllib.loads(models[int(rng.integers(len(models)))].decode())
    return toml.dumped(structure.changed(tree, rng)[0]).encode("utf-8", "surrogatepass")


def _text(rng: np.random.Generator, folder: Path) -> None:
    texts.case(rng, lambda: (_result(), _model_of_part()))


def _moved(path: Path) -> None:
    """Load a model, build it, and take at most twenty steps."""
    model = load_model(path)
    step = model.options.get("step")
    duration = min(model.duration, 20 * step) if step else min(model.duration, 1e-3)
    with _objects_named():
        model.mechanism()
        moved = flexmb.simulate(model.system, duration, **model.options)
        if not all(np.isfinite(getattr(moved, name)).all() for name in ("q", "w", "wdot", "multipliers")):
            raise RuntimeError("a motion with numbers that are not finite")


TARGETS: dict[str, Target | Callable[[np.random.Generator, Path], None]] = {
    "deck": Target("part.inp", _given("block.inp", "constraints.inp", "assembly.inp", "frame.inp", "loads.inp"), _meshed, True, beside=_beside("rest.inc")),
    "steps": Target("steps.inp", _given("assembly.inp", "loads.inp"), _solved, True),
    "nastran": Target("part.bdf", _given("part.bdf", "shells.bdf"), _assembled, True),
    "further deck": Target("part.inp", _given("further/lines.inp", "further/sides.inp"), _assembled, True),
    "further nastran": Target("part.bdf", _given("further/cards.bdf", "further/solids.bdf"), _assembled, True),
    "cdb": Target("part.cdb", _given("part.cdb", "shells.cdb"), _assembled, True),
    "msh": _mesh_target("part.msh", _ours, _by_meshio("gmsh", binary=True), _by_meshio("gmsh", binary=False), _by_meshio("gmsh22", binary=True), _by_meshio("gmsh22", binary=False)),
    "vtk": _mesh_target("part.vtk", _ours, _by_meshio("vtk", binary=True), _by_meshio("vtk", binary=False), _by_meshio("vtk42", binary=True), _by_meshio("vtk42", binary=False)),
    "vtu": _mesh_target("part.vtu", _ours, _by_meshio("vtu", binary=False), _by_meshio("vtu", binary=True)),
    "med": _mesh_target("part.med", _by_meshio("med"), text=False),
    "mesh": _mesh_target("part.mesh", _by_meshio("medit")),
    "xdmf": _mesh_target("part.xdmf", _by_meshio("xdmf", data_format="XML")),
    "stl": Target("part.stl", _written("part.stl", lambda path: _triangle(path, binary=False), lambda path: _triangle(path, binary=True)), shape_of, True),
    "contact mesh": Target("brick.stl", _written("brick.stl", lambda path: _brick(path, binary=False), lambda path: _brick(path, binary=True)), _touching, True),
    "op4": Target("part.op4", cache(lambda: _op4(_matrices()[0])), read_op4, True),
    "op2": Target("part.op2", cache(lambda: (_op2(),)), read_op2),
    "matrices npz": Target("part.npz", _written("part.npz", lambda path: fem.write_matrices(_model_of_part(), path)), _part_of_matrices, make=_arrays(lambda: _archive("npz"), _npz)),
    "matrices mat": Target("part.mat", _written("part.mat", lambda path: fem.write_matrices(_model_of_part(), path)), _part_of_matrices, make=_arrays(lambda: _archive("mat"), scipy.io.savemat)),
    "basis": Target("part.npz", _written("part.npz", lambda path: _basis().save(path)), _of_basis, make=_arrays(_saved_basis, _npz)),
    "market": Target("part.mtx", cache(lambda: (_market(_matrices()[0]), _dense_market(_matrices()[1]))), fem.read_matrix_market, True),
    "punch": Target("part.pch", cache(lambda: (_punch(),)), fem.read_nastran, True),
    "abaqus matrix": Target("part_STIF1.mtx", cache(lambda: (_lines(_matrices()[0], "abaqus"),)), lambda path: fem.read_abaqus(path, path), True),
    "calculix dofs": Target("part.dof", cache(lambda: (_dofs(),)), fem.read_calculix, True, beside=lambda: {"part.sti": _lines(_matrices()[0], ""), "part.mas": _lines(_matrices()[1], "")}),
    "calculix matrix": Target("part.sti", cache(lambda: (_lines(_matrices()[0], ""),)), fem.read_calculix, True, beside=lambda: {"part.dof": _dofs(), "part.mas": _lines(_matrices()[1], "")}),
    "ansys matrix": Target("part.matrix", cache(lambda: (_boeing(_matrices()[0]),)), lambda path: fem.read_ansys(path, path, path.with_name("part.mapping")), True, beside=lambda: {"part.mapping": _mapping()}),
    "ansys mapping": Target("part.mapping", cache(lambda: (_mapping(),)), lambda path: fem.read_ansys(path.with_name("part.matrix"), path.with_name("part.matrix"), path), True, beside=lambda: {"part.matrix": _boeing(_matrices()[0])}),
    "body h5": Target("body.h5", lambda: (_saved_body(),), _in_use, make=_tree("body", lambda path: save_body(_body(), path))),
    "body npz": Target("body.npz", _written("body.npz", lambda path: save_body(_body(), path)), _in_use, make=_arrays(_arrays_of_body, _npz)),
    "body mat": Target("body.mat", _written("body.mat", lambda path: save_body(_body(), path)), _in_use, make=_arrays(_arrays_of_body, scipy.io.savemat)),
    "body sid": Target("body.sid", cache(lambda: (_unsealed("body.sid"),)), _in_use, True),
    "body mbdyn": Target("body.fem", cache(lambda: (_unsealed("body.fem"),)), _in_use, True),
    "result": Target("result.h5", cache(lambda: tuple(_bytes_of("result.h5", lambda path: save_result(found, path)) for found in _results())), _used, make=_damaged_result),  # noqa: B023
    "model": Target("model.toml", _models, _moved, True, make=_model, beside=_files_of_models),
    "wrong model": Target("model.toml", _further_models, _moved, make=_wrong_model, beside=_files_of_models),
    "texts": _text,
    "motion table": Target("turn.csv", lambda: (_files_of_models()["turn.csv"],), lambda path: load_model(_model_with(path)), True, beside=_files_of_models),
    "columns": Target("table.csv", lambda: (b"x;y;z\nmm;N;N\n0,5;1;2\n1,5;2;3\n", b"x,y\n0,1\n1,2\n", b"0 1\n1 2\n"), read_columns, True),
    "map table": Target("map.csv", lambda: (_files_of_models()["map.csv"],), force_map_from_csv, True),
    "ring table": Target("ring.csv", _written("ring.csv", lambda path: RingCompliance(np.eye(5) + 0.1).write_csv(path)), _in_ring, True),
    "study": Target("kept.json", _written("kept.json", lambda path: KeptOutcomes(path, {"model": "1"}).put({"a": 1}, {"peak": 2.0})), lambda path: KeptOutcomes(path, {"model": "1"}), True),
    "command line": commands.case,
    "stated deck": Target("part.inp", _given("block.inp", "constraints.inp", "assembly.inp", "frame.inp", "loads.inp", "further/lines.inp", "further/sides.inp"), _assembled, True, beside=_beside("rest.inc"), form="keywords"),
    "couplings": Target("part.inp", _given("stated/couplings.inp"), _obeyed, True, form="keywords"),
    "stated nastran": Target("part.bdf", _given("part.bdf", "shells.bdf", "further/cards.bdf", "further/solids.bdf"), _assembled, True, form="cards"),
    "superelement": Target("part.bdf", _given("stated/superelement.bdf"), _superelement, True, form="cards"),
    "stated cdb": Target("part.cdb", _given("stated/archive.cdb", "part.cdb", "shells.cdb"), _assembled, True, form="commands"),
    "partitions": Target("part.msh", _given("stated/parts-41.msh", "stated/parts-22.msh", "stated/parts-41-binary.msh", "stated/parts-22-binary.msh"), _meshed, True, form="sections"),
    "stated punch": Target("part.pch", cache(lambda: (_punch(),)), fem.read_nastran, True, form="cards"),
    "stated mapping": Target("part.mapping", cache(lambda: (_mapping(),)), lambda path: fem.read_ansys(path.with_name("part.matrix"), path.with_name("part.matrix"), path), True, beside=lambda: {"part.matrix": _boeing(_matrices()[0])}, form="commands"),
}  # fmt: skip
if find_spec("gmsh"):
    TARGETS["step"] = Target("part.step", _given("block.step"), lambda path: fem.mesh_cad(path, 20.0, order=1), True)


def _unsealed(name: str) -> bytes:
    """A body as text without the check of its lines, as another program writes it."""
    import re

    return re.sub(rb"flexmb check [0-9a-f]{8}", b"", _bytes_of(name, lambda path: save_body(_body(), path)))


def _model_with(path: Path) -> Path:
    """The model file that names a table, beside it."""
    model = path.with_name("driven.toml")
    text = (MODELS / "pendulum.toml").read_text()
    model.write_text(text.replace("at = [0, 0, 0]", 'at = [0, 0, 0]\ndrive = { kind = "table", csv = "turn.csv" }'))
    return model
