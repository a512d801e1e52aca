"""The library of compiled functions: its table, the choice between it and numba, its arguments, its results."""

import ast
import ctypes
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding as ll
import numba
import numpy as np
import pytest
from mechanisms import random_flexible_body

import flexmb
from flexmb.controllers import FUNCTIONS
from flexmb.equations.spanning_tree import tree_of
from flexmb.forces.frame import LIBRARY
from flexmb.kernels import build, calls, halves, lowering
from flexmb.kernels.base import library
from flexmb.kernels.base.data import make_marker_kinematics, make_workspace
from flexmb.kernels.base.pointed import Pointed, pointed
from flexmb.mechanism.compile import compiled
from flexmb.mechanism.contacts.element import CONTACT_LAWS

ROOT = Path(__file__).parents[2]
PRESENT = pytest.mark.skipif(library.choice().library is None, reason=library.choice().text)


def pendulum():
    system = flexmb.System(gravity=(0, -9.81, 0))
    body = system.add(random_flexible_body(np.random.default_rng(1)))
    system.revolute("hinge", system.ground.at((0, 0, 0)), body["start"], axis=(0, 0, 1))
    return system.build()


def in_a_process(*command, timeout=300, **environment):
    """A process that ends well, and what it prints."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=timeout, cwd=ROOT,
        env=os.environ | {"PYTHONPATH": paths} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@PRESENT
def test_a_library_that_fits_its_sources_is_not_built_again(tmp_path):
    """A second installation from a folder, with other extras for instance, keeps the library of the first."""
    code, other = Path(library.choice().library.__file__).read_bytes(), tmp_path / "other.so"
    (tmp_path / "same.so").write_bytes(code)
    other.write_bytes(code.replace(library.sources_digest().encode(), b"0" * 32))
    build = [sys.executable, str(ROOT / "flexmb" / "kernels" / "build.py"), "--fits"]
    assert subprocess.run([*build, str(tmp_path / "same.so")]).returncode == 0
    assert subprocess.run([*build, str(other)]).returncode == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_part_of_the_build_has_a_process_of_its_own_where_processes_can_be_copied(monkeypatch, capfd):
    """It is done by the process that asked for it where they cannot."""
    here = os.getpid()
    if "fork" in multiprocessing.get_all_start_methods():
        assert build.beside(os.getpid)[1]() != here
        ended, result = build.beside(lambda: 1 / 0)
        with pytest.raises(EOFError):
            result()
        assert "ZeroDivisionError" in capfd.readouterr().err
        while not ended():
            time.sleep(0.01)
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    ended, result = build.beside(os.getpid)
    assert ended()
    assert result() == here


SUMS = """
target triple = "{triple}"
@factor = internal constant i64 2
define weak_odr i64 @"flexmb_one"(i64 %v0) {{
{lines}
  %a = call i64 @large(i64 %v{count})
  %b = call i64 @small(i64 %a)
  ret i64 %b
}}
define weak_odr i64 @flexmb_two(i64 %v0) {{
{lines}
  %a = call i64 @small(i64 %v{count})
  %b = call i64 @large(i64 %a)
  ret i64 %b
}}
define internal i64 @small(i64 %x) {{
  %s = load i64, ptr @factor
  %a = mul i64 %x, %s
  ret i64 %a
}}
define internal i64 @large(i64 %v0) {{
{lines}
  ret i64 %v{count}
}}
"""


def test_halves_of_the_library_call_each_other():
    """A large function with callers in both halves is in one of them, a small one in both."""
    count = halves.LARGE
    lines = "\n".join(f"  %v{k + 1} = add i64 %v{k}, {k}" for k in range(count))
    text = str(ll.parse_assembly(SUMS.format(triple=ll.get_process_triple(), lines=lines, count=count)))
    found = halves.halves(text, {"flexmb_one", "flexmb_two"})
    assert [shared for _, shared in found] == [["flexmb_one", "large"], ["flexmb_two", "large"]]
    assert [half.count("define ") for half, _ in found] == [3, 2]
    assert ["declare hidden i64 @large(i64 %v0)" in half for half, _ in found] == [False, True]

    engine = ll.create_mcjit_compiler(ll.parse_assembly(""), build.machine_of(""))
    for half, shared in found:
        engine.add_object_file(ll.ObjectFileRef.from_data(build.emit(half, shared, "", "_0")))
    engine.finalize_object()
    form = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    one, two = (form(engine.get_function_address(f"flexmb_{name}_0")) for name in ("one", "two"))
    total = sum(range(count))
    assert (one(7), two(7)) == ((7 + total + total) * 2, (7 + total) * 2 + total)


def test_two_processes_share_the_work_of_the_build(tmp_path):
    """A piece belongs to the process that takes it first. Who waits for the other receives its result, does the piece
    too if both wait, and fails if the other has ended."""
    first, second = lowering.Claims(tmp_path), lowering.Claims(tmp_path)
    second.me, second.waiting = 1, first.waiting
    first.ended = second.ended = lambda: False
    assert first.take("rows")
    assert not second.take("rows")
    assert second.take("residual")
    first.tell("rows", b"known")
    assert second.result("rows") == b"known"
    assert not any(first.waiting)
    first.waiting[0] = 1
    assert second.result("step") is None
    first.waiting[0] = 0
    second.ended = lambda: True
    with pytest.raises(RuntimeError, match="has ended"):
        second.result("step")


def test_the_library_is_built_for_this_processor_or_for_all(monkeypatch):
    monkeypatch.delenv("CIBUILDWHEEL", raising=False)
    monkeypatch.setattr(build.ll, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    monkeypatch.setattr(build.ll, "get_host_cpu_features", lambda: dict.fromkeys(build.NEEDED, True))
    assert build.chosen_processors() == ("x86-64-v3",)
    monkeypatch.setattr(build.ll, "get_host_cpu_features", lambda: {"avx2": True, "fma": False})
    assert build.chosen_processors() == ("x86-64",)
    monkeypatch.setenv(build.EVERY, "1")
    assert build.chosen_processors() == ("x86-64", "x86-64-v3")
    monkeypatch.setattr(build.ll, "get_process_triple", lambda: "aarch64-unknown-linux-gnu")
    assert build.chosen_processors() == ("generic",)


class Arrays(NamedTuple):
    rows: np.ndarray
    columns: np.ndarray
    strided: np.ndarray
    single: np.ndarray


@numba.njit
def entries(record):
    return record.rows[1, 2], record.columns[1, 2], record.strided[1], record.single[()], record.rows.size


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="records are named tuples without compilation")
def test_compiled_code_reads_arrays_of_records_in_any_order_of_memory():
    table = np.arange(6.0).reshape(2, 3)
    record = pointed(Arrays(table, np.asfortranarray(table), np.arange(6.0)[::2], np.array(7.0)))
    assert entries(record) == (5.0, 5.0, 2.0, 7.0, 6)


def test_python_imports_compiled_functions_from_the_table():
    """A function imported from its own file would be compiled by numba beside the library. Those of `memory` are parts
    of laws, which numba compiles in any case, and so are those that files of laws import."""
    of_numba = {}
    for path in (ROOT / "flexmb" / "kernels").rglob("*.py"):
        if path.name == "memory.py":
            continue
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        functions = (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef))
        of_numba[module] = {node.name for node in functions if "njit" in "".join(map(ast.dump, node.decorator_list))}
    for path in (ROOT / "flexmb").rglob("*.py"):
        if {ROOT / "flexmb" / "kernels", ROOT / "flexmb" / "forces" / "frame"} & set(path.parents):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in of_numba:
                wrong = {alias.name for alias in node.names} & of_numba[node.module]
                assert not wrong, f"{path}: import {', '.join(sorted(wrong))} from flexmb.kernels.calls (add an entry)"


def test_the_layouts_are_those_of_the_records():
    mechanism = pendulum()
    flat = compiled(mechanism)
    for record in (flat, make_workspace(flat), make_marker_kinematics(flat), tree_of(mechanism)):
        assert isinstance(record, Pointed)
        name = type(record.record).__name__
        layout = calls.RECORDS[name]
        words = zip(record.record._fields, layout.kinds_in_order(), strict=True)
        assert record.form == f"{name} {' '.join(f'{field}:{kind}' for field, kind in words)}"


@PRESENT
@pytest.mark.long
def test_nothing_of_the_package_is_compiled(tmp_path):
    """With an empty cache numba compiles laws only, and every function of the table is called."""
    told = in_a_process(
        str(ROOT / "tests" / "whole" / "every_call.py"), NUMBA_CACHE_DIR=str(tmp_path), FLEXMB_KERNELS="library"
    ).stdout
    found = json.loads(told.splitlines()[-1])
    assert [name for name in found["compiled"] if name.startswith("flexmb.kernels")] == []
    assert found["missed"] == []


WITH_LAWS = """
from numba.core.event import RecordingListener, install_listener
import flexmb
from flexmb.contact import Plane, Sphere, power_law
system = flexmb.System(gravity=(0, 0, -9.81))
ball = system.add(flexmb.rigid_body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1)), position=(0, 0, 0.1))
floor = system.ground.at((0, 0, 0))
system.contact("floor", Plane().on(floor), Sphere(0.1).on(ball.at((0, 0, 0))), law=power_law(1e6))
system.force("mount", floor, ball.at((0, 0, 0)), flexmb.forces.nonlinear_bushing(radial=1e3, axial=1e3, tilt=1.0, twist=1.0))
block = system.add(flexmb.rigid_body("block", mass=1.0, inertia=(0.1, 0.1, 0.1)), position=(1, 0, 0.1))
system.prismatic("way", system.ground.at((1, 0, 0)), block.at((0, 0, 0)), axis=(0, 0, 1))
system.controller(
    "held", flexmb.controllers.pid(10.0, 1.0, 1.0, filter=0.01), inputs={"measured": "coordinate:way"}, outputs={"command": "effort:way"}
)
with install_listener("numba:compile", RecordingListener()) as heard:
    flexmb.simulate(system, 0.003, step=1e-3)
print([event.data["dispatcher"].py_func.__name__ for _, event in heard.buffer])
"""


@PRESENT
def test_laws_of_the_package_compile_nothing(tmp_path):
    assert in_a_process("-c", WITH_LAWS, NUMBA_CACHE_DIR=str(tmp_path)).stdout.splitlines()[-1] == "[]"


@PRESENT
def test_the_library_holds_the_laws_of_the_package():
    keys = [library.law_key(law.function, *sizes(law)) for law in (*CONTACT_LAWS.values(), *LIBRARY.values())]
    keys += [library.law_key(law.tangent, len(law.parameters)) for law in LIBRARY.values() if law.tangent is not None]
    keys += [library.law_key(function) for function in FUNCTIONS.values()]
    assert set(keys) == set(library.choice().library.LAWS)
    assert all(library.library_call(key) is not None for key in keys)


@PRESENT
def test_laws_of_other_sources_are_not_used(monkeypatch):
    key = library.law_key(LIBRARY["linear-tyre"].function, *sizes(LIBRARY["linear-tyre"]))
    monkeypatch.setattr(library, "_laws_are_present", library._laws_are_present.__wrapped__)
    assert library.library_call(key) is not None
    monkeypatch.setattr(library, "law_files", lambda: [Path(library.__file__)])
    assert library.library_call(key) is None
    assert library.library_call("flexmb.forces.frame.tyres.linear_tyre 2 5") is None


def sizes(law):
    return len(law.states), len(law.parameters), *([len(law.inputs)] if getattr(law, "inputs", ()) else [])


SWING = """
import sys
import numpy as np
import flexmb
from mechanisms import double_pendulum, flexible_pendulum, slider_crank
found = []
for system in (double_pendulum(), slider_crank(speed=2.0), flexible_pendulum(np.random.default_rng(2), second_order=True)):
    result = flexmb.simulate(system, 0.1, step=1e-3)
    found += [result.q, result.multipliers]
np.savez(sys.argv[1], *found)
"""


@PRESENT
@pytest.mark.long(minutes=10)
def test_results_are_those_of_numba_whose_compilation_is_announced(tmp_path):
    """With an empty cache, the first run says that it compiles, on the error output; later ones are silent.

    Results are equal up to round-off, because two compilers may order sums in two ways; reactions amplify it by the
    square of the step.
    """
    told = {}
    for name, kernels in {"first": "numba", "second": "numba", "library": "library"}.items():
        environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "FLEXMB_KERNELS": kernels}
        told[name] = in_a_process("-c", SWING, str(tmp_path / f"{name}.npz"), timeout=900, **environment).stderr
    assert told["first"].count("numba compiles the time step") == 1
    assert told["second"] == told["library"] == ""
    ours, theirs = (np.load(tmp_path / f"{name}.npz") for name in ("library", "second"))
    for name in ours.files:
        scale = np.abs(theirs[name]).max()
        error = 1e-14 if int(name[-1]) % 2 == 0 else 1e-7
        assert np.abs(ours[name] - theirs[name]).max() <= error * scale, name


@pytest.fixture
def other(monkeypatch):
    """A choice in an environment with another library."""

    def choose(sources=None, wanted=""):
        module = None if sources is None else types.SimpleNamespace(SOURCES=sources, PROCESSOR="any")
        monkeypatch.setitem(sys.modules, library.MODULE, module)
        monkeypatch.setenv(library.VARIABLE, wanted)
        return library.choice.__wrapped__()

    return choose


def test_a_library_of_other_sources_is_not_used(other):
    present = library.sources_digest()
    assert other(present).library is not None
    assert other("of yesterday").library is None
    assert "was built from other sources" in other("of yesterday").text
    assert "without its library" in other().text
    assert other(present, "numba").text == "numba compiles the time step, because FLEXMB_KERNELS=numba"
    with pytest.raises(ImportError, match="was built from other sources"):
        other("of yesterday", "library")
    with pytest.raises(ValueError, match="FLEXMB_KERNELS is 'fast'"):
        other(present, "fast")


def test_the_digest_depends_on_every_source_and_not_on_line_ends(tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.py").write_bytes(b"x = 1\n")
    (tmp_path / "b.c").write_bytes(b"int x;\n")
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    first = library.sources_digest()
    (tmp_path / "b.c").write_bytes(b"int x;\r\n")
    assert library.sources_digest() == first
    (tmp_path / "inner" / "a.py").write_bytes(b"x = 2\n")
    assert library.sources_digest() != first


@PRESENT
def test_strided_and_read_only_arrays_are_copied():
    flat = compiled(pendulum())
    q = np.zeros(int(flat.q_start[-1]))
    q[3] = 1.0
    increment = np.linspace(0.1, 0.2, int(flat.v_start[-1]))
    expected = np.zeros_like(q)
    calls.displace(flat, q, increment, expected)
    strided, out = np.zeros((len(q), 2)), np.zeros((len(q), 2))
    strided[:, 0] = q
    increment.flags.writeable = False
    calls.displace(flat, strided[:, 0], increment, out[:, 1])
    np.testing.assert_array_equal(out, np.column_stack([np.zeros_like(q), expected]))
    fixed = np.zeros_like(q)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="displace writes to an array that is read-only"):
        calls.displace(flat, q, increment, fixed)
    assert not fixed.any()


@PRESENT
def test_other_arguments_raise_errors():
    flat = compiled(pendulum())
    q, x = np.zeros(int(flat.q_start[-1])), np.zeros(int(flat.v_start[-1]))
    with pytest.raises(TypeError, match=r"displace: argument 2 is an array of 1 dimensions, type 'l'; expected"):
        calls.displace(flat, q.astype(np.int64), x, q)
    with pytest.raises(TypeError, match=r"displace: argument 1 is MarkerKinematics body_point:d2 .*; expected"):
        calls.displace(make_marker_kinematics(flat), q, x, q)
    with pytest.raises(TypeError, match=r"displace: argument 4 is no argument; expected arguments: CompiledModel d1"):
        calls.displace(flat, q, x)
    with pytest.raises(TypeError, match=r"rotation_exp: argument 1 is <class 'list'>; expected arguments: \(d d d\)"):
        calls.rotation_exp([0.0, 0.0, 0.0])
    with pytest.raises(TypeError, match=r"rotation_exp: argument 1 is <class 'tuple'>"):
        calls.rotation_exp((0.0, 0.0))


def test_errors_of_compiled_functions_are_those_of_numba():
    flat = compiled(pendulum())
    q, x = np.zeros(int(flat.q_start[-1])), np.zeros(int(flat.v_start[-1]))
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        calls.displace(flat, q, x, q.copy())  # a quaternion of zeros


def test_functions_and_records_travel_to_other_processes():
    assert pickle.loads(pickle.dumps(calls.displace)) is calls.displace
    flat = compiled(pendulum())
    again = pickle.loads(pickle.dumps(flat))
    q, x = np.zeros(int(flat.q_start[-1])), np.full(int(flat.v_start[-1]), 0.1)
    q[3] = 1.0
    one, two = q.copy(), q.copy()
    calls.displace(flat, q, x, one)
    calls.displace(again, q, x, two)
    np.testing.assert_array_equal(one, two)
