"""Compilation of the library `_flexmb_kernels`, which setup.py runs when the package is built.

`python flexmb/kernels/build.py FOLDER` writes two object files for this kind of processor, or for each kind, and
`table.h` for flexmb/kernels/library.c, to a folder. numba lowers the functions of flexmb/kernels/calls.py, as
flexmb/kernels/lowering.py makes it do. All are linked to one module, whose halves LLVM optimises in two processes
(flexmb/kernels/halves.py): numba optimises and emits every function alone, and again in each of its callers.
`python flexmb/kernels/build.py --fits LIBRARY` succeeds if a library was built from the present sources.

A compiled function receives its arguments as a row of 64-bit numbers: a record as the address of its table, an array as
the address of its entries and its shape. It writes its results to a second row.

Internal functions of numba are used, so that pyproject.toml states the version that builds the library. Users may
have any version, because the library does not need numba.
"""

import gc
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import llvmlite.binding as ll
import numba
from llvmlite import ir
from numba import types
from numba.core import bytecode, cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

VERSION = "0.68"
PROCESSORS = {"x86_64": ("x86-64", "x86-64-v3"), "amd64": ("x86-64", "x86-64-v3")}
"""Kinds of processors by architecture, the baseline first; one generic kind for all others."""
NEEDED = ("avx2", "fma", "bmi", "bmi2")
"""What a processor of the second kind has, by LLVM's names and those of library.c."""
EVERY = "FLEXMB_EVERY_PROCESSOR"
"""Environment variable: "1" builds for every kind of processor, as a wheel needs that is to run on other machines."""
NUMBERS, ARRAYS = 96, 24
"""Bounds of library.c for the arguments of a function."""
SECOND_NUMBER = 1_000_000
"""The first number that the second process gives to functions: numba tells those of the same name apart by numbers."""

NUMBER = ir.IntType(64)
TUPLE: Any = types.BaseTuple


class Signatures:
    """Types of numba, and forms of library.c, from the texts of flexmb/kernels/calls.py."""

    def __init__(self, records: dict[str, Any], values: dict[str, Any], record_type: Callable[..., Any]) -> None:
        self.values = values
        self.records = {
            name: record_type(name, layout.record._fields, tuple(self._plain(kind) for kind in layout.kinds_in_order()))
            for name, layout in records.items()
        }
        self.layouts = [kind.form for kind in self.records.values()]

    def types_of(self, text: str) -> tuple[Any, ...]:
        """The types of arguments."""
        return tuple(self._several(text.replace("(", " ( ").replace(")", " ) ").split()))

    def _several(self, words: list[str]) -> list[Any]:
        found: list[Any] = []
        while words and words[0] != ")":
            word = words.pop(0)
            if word == "(":
                found.append(TUPLE.from_types(self._several(words)))
                words.pop(0)
            elif word in self.values:
                record, kinds = self.values[word]
                found.append(types.NamedTuple(self.types_of(kinds), record))
            else:
                found.append(self.records[word] if word in self.records else self._plain(word))
        return found

    def _plain(self, word: str) -> Any:
        kind = {"d": types.float64, "i": types.int64, "b": types.boolean}[word[0]]
        return types.Array(kind, int(word[1:]), "C") if word[1:] else kind

    def form(self, kind: Any, result: bool = False) -> str:
        """Form of an argument or result for library.c. Arrays among results are for compiled callers only."""
        if kind in self.records.values():
            return f"R{list(self.records.values()).index(kind)};"
        if isinstance(kind, TUPLE):
            return "(" + "".join(self.form(part, result) for part in kind) + ")"
        if isinstance(kind, types.NoneType):
            return "N"
        if result and isinstance(kind, types.Array):
            return "N"
        letter = {types.float64: "d", types.int64: "i", types.boolean: "b"}
        return f"A{letter[kind.dtype]}{kind.ndim}" if isinstance(kind, types.Array) else letter[kind]


class Wrapper:
    """The function of C's form that unpacks a row of numbers, calls a compiled function and packs its results."""

    def __init__(self, module: Any, name: str, compiled: Any, records: Any) -> None:
        self.context, self.records, self.at, self.arrays = compiled.target_context, tuple(records), 0, 0
        description, convention = compiled.fndesc, self.context.call_conv
        outer = ir.Function(module, ir.FunctionType(ir.IntType(32), [NUMBER.as_pointer()] * 2), name)
        self.builder = builder = ir.IRBuilder(outer.append_basic_block())
        self.source, self.out = outer.args
        inner_type = convention.get_function_type(description.restype, description.argtypes)
        inner = ir.Function(module, inner_type, description.llvm_func_name)
        arguments = [self._take(kind) for kind in description.argtypes]
        if self.at > NUMBERS or self.arrays > ARRAYS:
            raise ValueError(f"{name}: {self.at} numbers and {self.arrays} arrays; raise the bounds of library.c")
        status, result = convention.call_function(builder, inner, description.restype, description.argtypes, arguments)
        self.at = 0
        with builder.if_else(status.is_ok) as (good, failed):
            with good:
                self._give(description.restype, result)
            with failed:  # where numba has pickled the exception, and the length of the text
                raised = builder.icmp_signed(">", status.code, ir.Constant(ir.IntType(32), 0))
                with builder.if_then(raised):
                    data, length, *_ = cgutils.unpack_tuple(builder, builder.load(status.excinfoptr))
                    self._put(builder.ptrtoint(data, NUMBER))
                    self._put(builder.zext(length, NUMBER))
        builder.ret(builder.select(status.is_ok, ir.Constant(ir.IntType(32), 0), status.code))

    def _number(self) -> Any:
        value = self.builder.load(self.builder.gep(self.source, [NUMBER(self.at)]))
        self.at += 1
        return value

    def _take(self, kind: Any) -> Any:
        builder = self.builder
        if kind in self.records:
            return builder.inttoptr(self._number(), self.context.get_value_type(kind))
        if isinstance(kind, types.Array):
            self.arrays += 1
            size = NUMBER(self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype)))
            array = self.context.make_array(kind)(self.context, builder)
            data, shape = self._number(), [self._number() for _ in range(kind.ndim)]
            strides: list[Any] = []
            total = size
            for length in reversed(shape):
                strides.insert(0, total)
                total = builder.mul(total, length)
            array.meminfo, array.parent = ir.Constant(array.meminfo.type, None), ir.Constant(array.parent.type, None)
            array.itemsize, array.nitems = size, builder.sdiv(total, size)
            array.data = builder.inttoptr(data, array.data.type)
            array.shape = cgutils.pack_array(builder, shape, NUMBER)
            array.strides = cgutils.pack_array(builder, strides, NUMBER)
            return array._getvalue()
        if isinstance(kind, TUPLE):
            return self.context.make_tuple(builder, kind, [self._take(part) for part in kind])
        number = self._number()
        if kind == types.float64:
            return builder.bitcast(number, ir.DoubleType())
        return number if kind == types.int64 else builder.trunc(number, ir.IntType(1))

    def _put(self, number: Any) -> None:
        self.builder.store(number, self.builder.gep(self.out, [NUMBER(self.at)]))
        self.at += 1

    def _give(self, kind: Any, value: Any) -> None:
        if isinstance(kind, TUPLE):
            for k, part in enumerate(kind):
                self._give(part, self.builder.extract_value(value, k))
        elif kind == types.float64:
            self._put(self.builder.bitcast(value, NUMBER))
        elif kind == types.boolean:
            self._put(self.builder.zext(value, NUMBER))
        elif kind == types.int64:
            self._put(value)
        elif isinstance(kind, types.Array):
            self.context.nrt.decref(self.builder, kind, value)
        elif not isinstance(kind, types.NoneType):
            raise TypeError(f"results of type {kind} are not supported")


def _gather(library: Any, found: dict[Any, None]) -> None:
    """Add the libraries of a function and of all that it calls."""
    if library not in found:
        for other in library._linking_libraries:
            _gather(other, found)
        found[library] = None


class Law(NamedTuple):
    """The functions of a law between two frames and of its tangent, and its numbers of states, parameters and, if it
    has any, inputs."""

    function: Any
    tangent: Any
    sizes: tuple[int, ...]


def frame_laws(package: Path) -> list[Law]:
    """The laws of the files of flexmb/forces/frame, which are imported without the rest of the package."""
    found: list[Law] = []

    def law(
        function: Any = None,
        *,
        states: Any = (),
        parameters: Any = (),
        inputs: Any = (),
        tangent: Any = None,
        **others: Any,
    ) -> Any:
        def keep(function: Any) -> Any:
            sizes = len(states), len(parameters), *([len(inputs)] if inputs else [])
            found.append(Law(function, tangent, sizes))
            return function

        return keep if function is None else keep(function)

    for name in ("flexmb.forces", "flexmb.forces.frame", "flexmb.mechanism"):
        alone(name, package.joinpath(*name.split(".")[1:]))
    recorder: Any = ModuleType("flexmb.mechanism.frame_law")
    recorder.law = law
    sys.modules[recorder.__name__] = recorder
    for path in sorted((package / "forces" / "frame").glob("*.py")):
        if "@law" in path.read_text(encoding="utf-8"):
            import_module(f"flexmb.forces.frame.{path.stem}")
    return found


def alone(name: str, folder: Path) -> None:
    """Let a package be imported without what its `__init__.py` imports."""
    package = ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package


def calls_of_laws(package: Path, laws: dict[str, tuple[Any, int, int]]) -> dict[str, Callable[[], Callable[..., None]]]:
    """For the laws of the package, those of contact (`laws`) included, by their names in the library: functions that
    make their calls."""
    from flexmb.kernels.base.frame_call import compiled_law, control_call, frame_call, tangent_call
    from flexmb.kernels.base.library import law_key
    from flexmb.kernels.equations.controllers import pass_on

    def call_of(kind: Any, function: Any, *sizes: int) -> Callable[[], Callable[..., None]]:
        return lambda: kind(compiled_law(function), *sizes)

    found = {name: call_of(frame_call, function, *sizes) for name, (function, *sizes) in laws.items()}
    for function, tangent, sizes in frame_laws(package):
        found[law_key(function, *sizes)] = call_of(frame_call, function, *sizes)
        if tangent is not None:
            found[law_key(tangent, sizes[1])] = call_of(tangent_call, tangent, sizes[1])
    alone("flexmb.controllers", package / "controllers")
    for function in (*import_module("flexmb.controllers.formulas").FORMULAS, pass_on):
        found[law_key(function)] = call_of(control_call, function)
    return found


def _law(name: str, call: Callable[..., None]) -> tuple[Any, Any]:
    """A module with the function of C's form for the call of a law, and its compiled function."""
    from flexmb.kernels.base.frame_call import ENTRY

    called = numba.njit(call)
    called.compile(ENTRY.args)
    compiled: Any = called.overloads[ENTRY.args]
    context, description = compiled.target_context, compiled.fndesc
    module, convention = context.codegen()._create_empty_module(name), context.call_conv
    kinds = [context.get_value_type(kind) for kind in ENTRY.args]
    outer = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), f"flexmb_{name}")
    inner = ir.Function(
        module, convention.get_function_type(description.restype, description.argtypes), description.llvm_func_name
    )
    builder = ir.IRBuilder(outer.append_basic_block())
    convention.call_function(builder, inner, description.restype, description.argtypes, outer.args)
    builder.ret_void()  # failures are NaN in the answer
    return module, compiled


def joined(modules: list[Any]) -> Any:
    """One module with the functions of all.

    Modules are joined in pairs, then the results in pairs: LLVM goes over the whole of a module whenever another one is
    added to it.
    """
    for module in modules:
        for function in module.functions:
            if not function.is_declaration and function.linkage == ll.Linkage.external:
                function.linkage = "weak_odr"  # several modules may have it
    while len(modules) > 1:
        for first, second in zip(modules[::2], modules[1::2], strict=False):
            first.link_in(second)
        modules = modules[::2]
    return modules[0]


class Part:
    """What one process lowers: modules of LLVM, and for the table the rows of functions that Python calls: name, text,
    forms of arguments and result."""

    def __init__(self, signatures: Signatures) -> None:
        self.signatures, self.libraries = signatures, dict[Any, None]()
        self.codegen = cpu_target.target_context.codegen()
        self.rows: dict[str, tuple[str, str, str, str]] = {}
        self.wrappers: list[str] = []

    def add_entry(self, name: str, function: Any, text: str) -> None:
        """Lower a function that Python calls."""
        kinds = self.signatures.types_of(text)
        function.compile(kinds)
        compiled = function.overloads[kinds]
        made = self.codegen._create_empty_module(name)
        Wrapper(made, f"flexmb_{name}", compiled, self.signatures.records.values())
        forms = "".join(map(self.signatures.form, kinds)), self.signatures.form(compiled.signature.return_type, True)
        self.rows[name] = (name, text, *forms)
        self._keep(made, compiled)

    def add_law(self, name: str, call: Callable[[], Callable[..., None]]) -> None:
        """Lower the call of a law, which `call` makes."""
        self._keep(*_law(name, call()))

    def _keep(self, made: Any, compiled: Any) -> None:
        self.wrappers.append(str(made))
        _gather(compiled.library, self.libraries)

    def module(self, machine: Any) -> Any:
        """One module after the first pass of LLVM, which is the same for all kinds of processors. Once only: what was
        lowered moves into it."""
        head = f'target triple = "{ll.get_process_triple()}"\ntarget datalayout = "{self.codegen._data_layout}"'
        texts = map(ll.parse_assembly, (head, *self.wrappers))
        module = joined([*texts, *(library._final_module for library in self.libraries)])
        optimise(module, machine, level=0)
        return module


def beside(work: Callable[[], Any]) -> tuple[Callable[[], bool], Callable[[], Any]]:
    """Begin a piece of work in a process that has all that is in the memory of this one.

    Returns whether that process has ended, and the function that waits for its result. The work is done here where
    processes cannot be copied.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return (lambda: True), work
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(work()), daemon=True)
    process.start()
    sender.close()
    return (lambda: not process.is_alive()), receiver.recv


def optimise(module: Any, machine: Any, level: int) -> None:
    """One of the two passes of numba over a module: the cheap one of level 0, or that of level 3 with vectors.

    The first one also moves variables from memory to registers, which divides the length of the module by three.
    """
    options = ll.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = level > 0
    builder = ll.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    if level == 0:
        passes.add_sroa_pass()
        passes.add_loop_rotate_pass()
        passes.add_instruction_combine_pass()
        passes.add_jump_threading_pass()
    passes.add_refprune_pass()
    passes.run(module, builder)


def without_unused(module: Any, machine: Any) -> None:
    """Remove the functions that none of the visible ones reaches."""
    builder = ll.create_pass_builder(machine, ll.create_pipeline_tuning_options(speed_level=0))
    passes = ll.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


def machine_of(processor: str) -> Any:
    """LLVM's description of a kind of processor."""
    ll.initialize_all_targets()
    ll.initialize_all_asmprinters()
    target = ll.Target.from_triple(ll.get_process_triple())
    return target.create_target_machine(cpu=processor, features="", opt=3, reloc="pic", codemodel="default")


def emit(text: str, shared: list[str], processor: str, suffix: str) -> bytes:
    """The object file of half a module for a kind of processor; the suffix is added to the functions `shared`."""
    machine, module = machine_of(processor), ll.parse_assembly(text)
    module.data_layout = str(machine.target_data)
    for name in shared:
        module.get_function(name).name = f"{name}{suffix}"
    optimise(module, machine, level=3)
    return bytes(machine.emit_object(module))


def header(
    rows: list[tuple[str, str, str, str]],
    laws: list[str],
    unlocked: set[str],
    layouts: list[str],
    processors: tuple[str, ...],
    digests: tuple[str, str],
) -> str:
    """The table of library.c."""
    quoted = json.dumps
    lines = [f"static const char *const LAYOUTS[] = {{{', '.join(map(quoted, layouts))}}};"]
    lines += [
        f"#define {name} {quoted(digest)}" for name, digest in zip(("SOURCES", "LAW_SOURCES"), digests, strict=True)
    ]
    lines += [f"static const char *const VARIANTS[] = {{{', '.join(map(quoted, (*processors, processors[-1])))}}};"]
    lines += ["#define X86_64"] if len(processors) > 1 else []
    lines += ["#define X86_64_V3_ONLY"] if processors == ("x86-64-v3",) else []
    rows_of_laws = []
    for number, name in enumerate(laws):
        symbols = [f"flexmb_law_{number}_{i}" for i in range(len(processors))]
        pointers = "const double *, const double *, const double *, double *"
        lines += [f"extern void {symbol}(int64_t, double, {pointers});" for symbol in symbols]
        rows_of_laws += [f"    {{{quoted(name)}, {{{symbols[0]}, {symbols[-1]}}}}},"]
    lines += ["static const LawRow LAWS[] = {", *rows_of_laws, "};"]
    methods = []
    for k, (name, text, given, result) in enumerate(rows):
        symbols = [f"flexmb_{name}_{i}" for i in range(len(processors))]
        lines += [f"extern int {symbol}(const int64_t *, int64_t *);" for symbol in symbols]
        fields = [
            *map(quoted, (name, text, given, result)),
            f"{{{symbols[0]}, {symbols[-1]}}}",
            str(int(name in unlocked)),
        ]
        lines += [f"static const Row row_{k} = {{{', '.join(fields)}}};"]
        lines += [f"static PyObject *python_{k}(PyObject *m, PyObject *const *a, Py_ssize_t n) {{"]
        lines += [f"    (void)m; return call(&row_{k}, a, n);", "}"]
        function = f"(PyCFunction)(void (*)(void))python_{k}"
        methods += [f"    {{{quoted(name)}, {function}, METH_FASTCALL, {quoted('Arguments: ' + text)}}},"]
    lines += [f"static const Row *const ROWS[] = {{{', '.join(f'&row_{k}' for k in range(len(rows)))}}};"]
    return "\n".join([*lines, "static PyMethodDef METHODS[] = {", *methods, "    {NULL, NULL, 0, NULL}};", ""])


def digests_of_sources() -> tuple[str, str]:
    """Of the kernels and of the laws, as they are now."""
    from flexmb.kernels.base.library import digest_of, law_files, sources_digest

    return sources_digest(), digest_of(law_files())


def fits(made: Path) -> bool:
    """Whether a library was built from the present sources of the kernels and of the laws."""
    alone("flexmb", Path(__file__).parents[1])
    code = made.read_bytes()
    return all(digest.encode() in code for digest in digests_of_sources())


class Lowered(NamedTuple):
    """What is compiled for each kind of processor, and what the table says of it."""

    parts: list[tuple[str, list[str]]]
    rows: list[tuple[str, str, str, str]]
    laws: list[str]
    unlocked: set[str]
    layouts: list[str]
    digests: tuple[str, str]


def lowered(package: Path, processor: str) -> Lowered:
    """All functions after the first pass of LLVM, which is the same for all kinds of processors.

    Two processes share them, one from the first function on and the other from the last.
    """
    alone("flexmb", package)
    from flexmb.kernels import lowering
    from flexmb.kernels.halves import halves

    lowering.lower_only()
    lowering.without_repetition()
    lowering.by_value()
    gc.disable()  # a third of the time of the lowering goes into collections that find nothing
    digests = digests_of_sources()
    from flexmb.kernels import calls
    from flexmb.kernels.base.pointed import record_type

    signatures, machine = Signatures(calls.RECORDS, calls.VALUES, record_type), machine_of(processor)
    mine, others, laws = Part(signatures), Part(signatures), calls_of_laws(package, calls.LAWS)
    law_names = [f"law_{number}" for number in range(len(laws))]
    names = [*calls.ENTRIES, *law_names]

    with tempfile.TemporaryDirectory() as folder, global_compiler_lock:
        claims = lowering.share(Path(folder))

        def take(part: Part, order: int) -> Any:
            """The module of what is still free, in the order of the table (1) or backwards (-1)."""
            pieces = [(name, partial(part.add_entry, name, *entry)) for name, entry in calls.ENTRIES.items()]
            pieces += [
                (name, partial(part.add_law, name, law)) for name, law in zip(law_names, laws.values(), strict=True)
            ]
            for name, lower in pieces[::order]:
                if claims.take(name):
                    lower()
            return part.module(machine)

        def second() -> tuple[bytes, dict[str, tuple[str, str, str, str]]]:
            claims.as_second()
            bytecode.FunctionIdentity._unique_ids = count(SECOND_NUMBER)
            return take(others, -1).as_bitcode(), others.rows

        claims.ended, rest = beside(second)
        module = take(mine, 1)
        code, more = rest()
    module.link_in(ll.parse_bitcode(code))
    module.verify()
    kept = {f"flexmb_{name}" for name in names}
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in kept:
            value.linkage = "internal"
    without_unused(module, machine)
    rows = [(mine.rows | more)[name] for name in calls.ENTRIES]
    return Lowered(halves(str(module), kept), rows, list(laws), calls.UNLOCKED, signatures.layouts, digests)


def chosen_processors() -> tuple[str, ...]:
    """The kind of this machine's processor, or all kinds of its architecture for wheels (`EVERY`, or cibuildwheel)."""
    kinds = PROCESSORS.get(ll.get_process_triple().split("-")[0].lower(), ("generic",))
    if os.environ.get(EVERY, "0") != "0" or "CIBUILDWHEEL" in os.environ:
        return kinds
    features = ll.get_host_cpu_features()
    return kinds[-1:] if all(features.get(name) for name in NEEDED) else kinds[:1]


def main(folder: Path) -> None:
    """Write the objects and the table to a folder."""
    if not numba.__version__.startswith(VERSION + "."):
        raise SystemExit(f"The library is built with numba {VERSION}, not with {numba.__version__}.")
    package = Path(__file__).parents[1]
    processors = chosen_processors()
    with ProcessPoolExecutor(1) as pool:  # whose 3 GB are free again before LLVM needs memory
        found = pool.submit(lowered, package, processors[0]).result()
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("kernels_*.o"):  # setup.py links all of them
        path.unlink()
    pieces = [(*part, processor, f"_{k}") for k, processor in enumerate(processors) for part in found.parts]
    with ProcessPoolExecutor(len(pieces)) as pool:
        objects = list(pool.map(emit, *zip(*pieces, strict=True)))
    for k, made in enumerate(objects):
        (folder / f"kernels_{k}.o").write_bytes(made)
    alone("flexmb", package)
    if digests_of_sources() != found.digests:
        raise SystemExit("The sources of the library changed while they were compiled: build it again.")
    table = header(found.rows, found.laws, found.unlocked, found.layouts, processors, found.digests)
    (folder / "table.h").write_text(table, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--fits":
        sys.exit(not fits(Path(sys.argv[2])))
    main(Path(sys.argv[1]))
