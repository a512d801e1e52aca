"""Files that are damaged, or hold what cannot be: each load gives what was saved, or a FlexmbError that names the file."""

import copy

import numpy as np
import pytest
from test_files import differences, everything, meshed_body

import flexmb
from fem.errors import FlexmbError
from flexmb.files import load_body, load_result, save_body, save_result
from flexmb.files.storage.tree import read_tree, write_tree
from flexmb.mechanism.compile import compiled

RNG = np.random.default_rng(19)


@pytest.fixture(scope="module")
def result():
    return flexmb.simulate(everything(), 0.01, step=5e-4)


def flexible():
    return meshed_body(np.random.default_rng(3))


def damages(content, count):
    """Copies with flipped bits, bytes that were overwritten, left out, doubled, or cut off."""
    for k in range(count):
        place, other = sorted(RNG.integers(0, len(content), 2).tolist())
        damaged = bytearray(content)
        if k % 5 == 0:
            damaged = damaged[:place]
        elif k % 5 == 1:
            damaged[place] ^= 1 << int(RNG.integers(8))
        elif k % 5 == 2:
            damaged[place : min(other, place + 64)] = RNG.bytes(min(other - place, 64))
        elif k % 5 == 3:
            del damaged[place : place + int(RNG.integers(1, 40))]
        else:
            damaged[place:place] = damaged[place : place + int(RNG.integers(1, 40))]
        yield bytes(damaged)


def same_or_refused(load, path, saved):
    """Whether the file was refused."""
    try:
        found = load(path)
    except FlexmbError as error:
        return path.name in str(error) or pytest.fail(f"the file is not named: {error}")
    assert differences(saved, found) == []
    return False


def test_damaged_results_are_refused_or_equal(result, tmp_path):
    path = save_result(result, tmp_path / "run.h5")
    saved, refused = load_result(path), 0
    for damaged in damages(path.read_bytes(), 150):
        path.write_bytes(damaged)
        refused += same_or_refused(load_result, path, saved)
    assert refused > 140


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", ["h5", "npz", "mat", "sid", "fem"])
def test_damaged_bodies_are_refused_or_equal(ending, tmp_path):
    path = save_body(flexible(), tmp_path / f"body.{ending}")
    saved, refused = load_body(path), 0
    for damaged in damages(path.read_bytes(), 120):
        path.write_bytes(damaged)
        refused += same_or_refused(load_body, path, saved)
    assert refused > 80


# right checksum, wrong content ----------------------------------------------------------------------------------------


def leaves(tree, path=()):
    """Paths to all that is neither a dictionary nor a list."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else None
    if items is None:
        return [path]
    return [leaf for key, item in items for leaf in leaves(item, (*path, key))]


def put(tree, path, value):
    changed = copy.deepcopy(tree)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return changed


def get(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def wrong_values(value):
    """What no file should hold in place of a value: other sizes, kinds, numbers that are not finite, indices far away."""
    yield from ("text", np.zeros((2, 0, 3)), ["a"])
    if isinstance(value, np.ndarray) and value.size:
        yield np.resize(value, value.size + 1)
        yield value.reshape(-1)[:-1]
        if value.dtype.kind == "f":
            yield np.full_like(value, np.nan)
            yield value.astype(complex)
        if value.dtype.kind == "i":
            yield value + 10_000
            yield value - 10_000
            yield value.astype(float) + 0.5
    if isinstance(value, int) and not isinstance(value, bool):
        yield value + 10_000


def used(found):
    """What a program does with a result: everything that compiled code sees."""
    compiled(found.mechanism)
    for body in found.mechanism.bodies:
        found.frame(body.name)
    for marker in found.mechanism.markers:
        if marker.body >= 0:
            found.position(marker.name)
            found.velocity(marker.name)
    for joint in found.mechanism.joints:
        found.reaction(joint.name)


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.long)])
def test_results_of_wrong_content_are_refused(every, result, tmp_path):
    """Hundreds of changes of one entry, with a checksum that is right; where a change means nothing, the result can be used."""
    path = save_result(result, tmp_path / "run.h5")
    tree, tried, refused = read_tree(path, "result"), 0, 0
    entries = [leaf for leaf in leaves(tree) if "mesh" not in leaf]  # the mesh has checks and tests of its own
    for leaf in entries[int(RNG.integers(every)) :: every]:
        values = list(wrong_values(get(tree, leaf)))
        for value in (values[k] for k in RNG.permutation(len(values))[:2]):
            write_tree(path, "result", put(tree, leaf, value))
            tried += 1
            try:
                found = load_result(path)
            except FlexmbError as error:
                refused += path.name in str(error)
            else:
                used(found)
    assert tried > 200 / every
    assert refused > 0.8 * tried


def first(name):
    return ("mechanism", "rows", name)


NONSENSE = {
    "a marker of a row that is not there": (first("markers"), lambda v: v + 1000, "a marker of a row"),
    "a marker before the first": (first("markers"), lambda v: v - 1000, "a marker of a row"),
    "a fourth axis": (first("axes"), lambda v: v + 3, "an axis of a row"),
    "an unknown kind of row": (first("kind"), lambda v: v * 0 + 99, "of kind 99"),
    "an unknown function": (first("function"), lambda v: v + 50, "the function of a row"),
    "an unknown law": (first("law"), lambda v: v * 0 + 7, "the law of a row"),
    "a stiffness that is no number": (first("stiffness"), lambda v: v * np.nan, "the stiffness of a row"),
    "a body that is not there": (("mechanism", "markers", "body"), lambda v: v + 9, "the body of marker"),
    "a body after the last one": (("mechanism", "markers", "body"), lambda v: v * 0 + v.max() + 1, "the body of marker"),
    "axes that are not orthonormal": (("mechanism", "markers", "axes"), lambda v: 2 * v, "not orthonormal"),
    "a load far away": (("mechanism", "loads", "marker"), lambda v: v + 99, "the marker of load"),
    "attitudes of length two": (("q",), lambda v: 2 * v, "deviates from unit length"),
    "times backwards": (("t",), lambda v: v[::-1].copy(), "do not ascend"),
    "times that repeat": (("t",), lambda v: v * 0, "do not ascend"),
    "velocities that are not finite": (("w",), lambda v: v / 0, "not finite"),
    "too few configurations": (("q",), lambda v: v[:-1], "number of configurations"),
    "configurations of another mechanism": (("q",), lambda v: v[:, :-1].copy(), "configuration of the motion"),
    "a start of another size": (("mechanism", "initial", "q"), lambda v: v[:-1], "initial state"),
    "a negative mass": (("mechanism", "bodies", 0, "invariants", "mass"), lambda v: -v, "positive, finite mass"),
    "an inertia that is not symmetric": (("mechanism", "bodies", 0, "invariants", "J0"), lambda v: v + np.triu(v, 1) + 1e-3 * np.eye(3)[[1, 2, 0]], "symmetric"),
    "modes that carry too much mass": (("mechanism", "bodies", 0, "invariants", "S1"), lambda v: 1e6 * v, "more than its mass"),
    "negative stiffness": (("mechanism", "bodies", 0, "stiffness"), lambda v: -v, "must be positive"),
    "damping that is no number": (("mechanism", "bodies", 0, "damping"), lambda v: v * np.nan, "finite"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("case", NONSENSE)
def test_results_that_make_no_sense_are_refused_by_name(case, result, tmp_path):
    leaf, change, words = NONSENSE[case]
    path = save_result(result, tmp_path / "run.h5")
    tree = read_tree(path, "result")
    write_tree(path, "result", put(tree, leaf, change(get(tree, leaf))))
    with pytest.raises(FlexmbError, match=words) as error:
        load_result(path)
    assert "run.h5" in str(error.value)
