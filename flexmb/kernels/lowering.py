"""What numba does otherwise while the library is built (flexmb/kernels/build.py): it lowers functions, and no more.

Internal functions of numba are replaced, so that pyproject.toml states the version that builds the library.
"""

import hashlib
import multiprocessing
import os
import pickle
import time
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from llvmlite import ir
from numba import types
from numba.core import (
    cgutils,
    codegen,
    compiler,
    cpu,
    dispatcher,
    funcdesc,
    lowering,
    postproc,
    sigutils,
    transforms,
)
from numba.core import ir as front
from numba.core.runtime import context as nrt
from numba.core.runtime import nrtdynmod
from numba.np import arrayobj

NUMBER = ir.IntType(64)
LOOK, LOOKS = 0.002, 50
"""Seconds between two looks for a result, and the looks in sequence at which both processes wait: one that has what it
waits for sees it at its next look."""


def lower_only() -> None:
    """Make numba lower functions without linking, optimising or emitting each, without wrappers and without a cache."""

    def with_layout(library: Any, module: Any) -> None:
        module.data_layout = library._codegen._data_layout

    def not_linked(library: Any) -> None:
        library._raise_if_finalized()
        library._finalized = True

    def of_one_thread(module: Any, op: str, ordering: str) -> Any:
        """The function that changes a count of references: an array made in a call is known to its thread alone."""
        pointer = NUMBER.as_pointer()
        function = ir.Function(module, ir.FunctionType(NUMBER, [pointer]), f"nrt_atomic_{op}")
        builder = ir.IRBuilder(function.append_basic_block())
        count = getattr(builder, op)(builder.load(function.args[0]), NUMBER(1))
        builder.store(count, function.args[0])
        builder.ret(count)
        return function

    chosen = dispatcher.Dispatcher.get_call_template

    def by_kind(function: Any, arguments: Any, named: Any) -> Any:
        plain = tuple(types.unliteral(kind) for kind in arguments)
        return chosen(function, plain, {name: types.unliteral(kind) for name, kind in named.items()})

    replaced: list[tuple[Any, str, Any]] = [
        (codegen.CPUCodeLibrary, "_optimize_functions", with_layout),
        (codegen.CPUCodeLibrary, "finalize", not_linked),
        (nrtdynmod, "_define_atomic_inc_dec", of_one_thread),
        (codegen.JITCodeLibrary, "get_pointer_to_function", lambda library, name: 0),
        (cpu.CPUContext, "get_executable", lambda context, library, description, environment: [].append),  # any builtin
        (lowering.Lower, "create_cfunc_wrapper", lambda lower: None),
        (lowering.Lower, "create_cpython_wrapper", lambda lower, release_gil=False: None),
        (dispatcher.Dispatcher, "enable_caching", lambda function: Shared.functions.append(function)),
        (dispatcher.Dispatcher, "enable_caching", lambda function: Shared.functions.append(function)),
        (dispatcher.Dispatcher, "get_call_template", by_kind),  # not again for each constant among the arguments
    ]
    for owner, name, function in replaced:
        setattr(owner, name, function)


def without_repetition() -> None:
    """Make numba find the same types, variables and code with less work: two fifths of the time of the lowering."""
    resolve = types.Function.get_call_type

    def resolved_once(function: Any, context: Any, arguments: Any, named: Any) -> Any:
        """The signature of a function of numba, which otherwise tries all its templates again at every call."""
        found, key = function.__dict__.setdefault("_resolved", {}), (arguments, tuple(named.items()))
        if key not in found:
            found[key] = resolve(function, context, arguments, named)
        return found[key]

    kinds: dict[Any, Any] = {}

    def kind_of(part: Any) -> Any:
        own: Any = type(part)
        if own not in kinds:
            bases = (front.Var, front.Inst, list, tuple, dict)
            kinds[own] = next((base for base in bases if issubclass(own, base)), None)
        return kinds[own]

    def variables(statement: Any, value: Any) -> list[Any]:
        """The variables in a part of a statement: most parts are texts or places, which have none."""
        found: list[Any] = []
        kind = kind_of(value)
        if kind is front.Var:
            found.append(value)
        elif kind is front.Inst:
            found += value.list_vars()
        elif kind is not None:
            for part in value.values() if kind is dict else value:
                if kind_of(part) is not None:
                    found += variables(statement, part)
        return found

    counts = nrt.NRTContext.get_meminfos

    def counted(runtime: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
        """The references in a value; numba takes numbers and shapes apart too, in a quarter of all its instructions."""
        has_some = runtime._context.data_model_manager[kind].contains_nrt_meminfo()
        return counts(runtime, builder, kind, value) if has_some else []

    process = postproc.PostProcessor.run

    def processed(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        """Blocks in order and the lifetimes of variables, which are found when they are asked for. Only generators need
        the variables at the entries of blocks."""
        function = processor.func_ir
        if function.is_generator:
            process(processor, emit_dels, extend_lifetimes)
            return
        function.blocks = transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = postproc.VariableLifetime(function.blocks)
        function.generator_info = None
        if emit_dels:
            processor._insert_var_dels(extend_lifetimes=extend_lifetimes)

    replaced: list[tuple[Any, str, Any]] = [
        (types.Function, "get_call_type", resolved_once),
        (front.Inst, "_rec_list_vars", variables),
        (nrt.NRTContext, "get_meminfos", counted),
        (postproc.PostProcessor, "run", processed),
        (cpu.CPUContext, "load_additional_registries", cache(cpu.CPUContext.load_additional_registries)),
    ]
    for owner, name, function in replaced:
        setattr(owner, name, function)


def by_value() -> None:
    """Make numba read the fields of a structure from its value.

    numba writes the value to memory first, with all its fields, to read a field or two: most of its instructions, which
    LLVM removes again. Memory is now written when a field is changed or its address is asked for.
    """
    proxy, in_memory = cgutils.ValueStructProxy, cgutils.ValueStructProxy.__init__

    def begin(struct: Any, context: Any, builder: Any, value: Any = None, ref: Any = None) -> None:
        if value is None or ref is not None:
            in_memory(struct, context, builder, value=value, ref=ref)
            return
        block, at = builder.block, builder._anchor
        struct._context, struct._builder, struct._plain = context, builder, value
        struct._datamodel = context.data_model_manager[struct._fe_type]
        struct._be_type = value.type
        struct._where = block, block.instructions[at - 1] if at else None

    def write(struct: Any) -> None:
        """Write the value to memory at the place where it was given."""
        builder, (block, last) = struct._builder, struct._where
        present, at = builder.block, builder._anchor
        following = present.instructions[at] if at < len(present.instructions) else None
        entry = builder.function.entry_basic_block
        builder.position_at_start(entry)
        slot = builder.alloca(struct._be_type)
        if last is not None:
            builder.position_after(last)
        elif block is not entry:
            builder.position_at_start(block)
        builder.store(struct._plain, slot)
        if following is None:
            builder.position_at_end(present)
        else:
            builder.position_before(following)
        struct._value = struct._outer_ref = slot
        struct._plain = None

    def attribute(struct: Any, name: str) -> Any:
        if name == "_plain":
            return None  # of structures that began in memory
        if name in ("_value", "_outer_ref") and struct._plain is not None:
            write(struct)
            return struct._value
        if name.startswith("_"):
            raise AttributeError(name)
        return struct[struct._datamodel.get_field_position(name)]

    field, whole = proxy.__getitem__, proxy._getvalue

    def item(struct: Any, index: int) -> Any:
        plain = struct._plain
        return field(struct, index) if plain is None else struct._builder.extract_value(plain, index)

    def value_of(struct: Any) -> Any:
        return whole(struct) if struct._plain is None else struct._plain

    for name, function in (
        ("__init__", begin), ("__getattr__", attribute), ("__getitem__", item), ("_getvalue", value_of)
    ):  # fmt: skip
        setattr(proxy, name, function)
    arrayobj.make_array = cache(lambda kind: cgutils.create_struct_proxy(kind.as_array))


class Claims:
    """The work that two processes share: in a folder, a file for each piece that is taken, and one for its result."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.me, self.ended = folder, 0, lambda: True
        self.waiting = multiprocessing.RawArray("b", 2)

    def as_second(self) -> None:
        """This process is the second one; it must have been forked from the first."""
        first = os.getppid()
        self.me, self.ended = 1, lambda: os.getppid() != first

    def take(self, piece: str) -> bool:
        """Whether the piece was free; it is taken now."""
        try:
            os.close(os.open(self._path(piece), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def tell(self, piece: str, result: bytes) -> None:
        """Write the result of a piece for the other process."""
        written = self.folder / f"{os.getpid()}"
        written.write_bytes(result)
        written.replace(self._path(piece).with_suffix(".done"))

    def result(self, piece: str) -> bytes | None:
        """What the other process says of a piece that it has taken; None if both processes wait, each for the other."""
        path, both = self._path(piece).with_suffix(".done"), 0
        self.waiting[self.me] = 1
        try:
            while True:
                over = self.ended()
                if path.exists():
                    return path.read_bytes()
                if over:
                    raise RuntimeError("The other process that lowers functions has ended.")
                both = both + 1 if self.waiting[1 - self.me] else 0
                if both == LOOKS:
                    return None
                time.sleep(LOOK)
        finally:
            self.waiting[self.me] = 0

    def _path(self, piece: str) -> Path:
        return self.folder / hashlib.blake2b(piece.encode(), digest_size=16).hexdigest()


class Shared:
    """The functions that two processes lower, in the form of a cache of numba, of which each function has one.

    The process that comes first to a function lowers it. The other waits, and then knows its name and the type of its
    result. If both wait, one of them lowers its function too.
    """

    functions: ClassVar[list[Any]] = []
    """Those that numba has met, in order."""

    def __init__(self, number: int, claims: Claims) -> None:
        self.number, self.claims = number, claims

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The function of the other process, or None if this one is to lower it."""
        arguments, _ = sigutils.normalize_signature(signature)
        piece = f"{self.number} {arguments}"
        if self.claims.take(piece) or (found := self.claims.result(piece)) is None:
            return None
        name, result, kinds = pickle.loads(found)
        return compiler.compile_result(
            fndesc=funcdesc.ExternalFunctionDescriptor(name, result, kinds),
            library=context.codegen().create_library(name),
            signature=result(*arguments),
            entry_point=[].append,  # any builtin
            objectmode=False,
            target_context=context,
        )

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Tell the other process of a function that this one has lowered."""
        arguments, _ = sigutils.normalize_signature(signature)
        description = compiled.fndesc
        found = description.llvm_func_name, description.restype, tuple(description.argtypes)
        self.claims.tell(f"{self.number} {arguments}", pickle.dumps(found))


def share(folder: Path) -> Claims:
    """Let this process and one that is forked from it share the functions that numba has met until now."""
    claims = Claims(folder)
    for number, function in enumerate(Shared.functions):
        function._cache = Shared(number, claims)
    return claims
