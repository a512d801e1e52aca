"""Records of arrays that are passed to compiled code as a single pointer.

numba passes a named tuple of arrays by value: seven numbers for each array are copied at every call, and each access to
an array counts a reference with an atomic operation. A `pointed` record is a pointer to a table of its arrays. An
access is a load without reference counting, which is safe because the caller in Python holds the record during the
call. The table is constant, so that the compiler can reuse loaded values.
"""

import hashlib
import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import config, typeof, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    register_model,
    typeof_impl,
    unbox,
)

Record = TypeVar("Record")
Value = TypeVar("Value")


class PointedType(types.Type):
    """The numba type of a pointed record: the names and types of its fields."""

    def __init__(self, name: str, fields: tuple[str, ...], kinds: tuple[types.Type, ...]) -> None:
        self.fields, self.kinds = fields, kinds
        digest = hashlib.blake2b(repr((fields, kinds)).encode(), digest_size=6).hexdigest()
        super().__init__(name=f"{name}_{digest}")
        words = (f"{field}:{_word(kind)}" for field, kind in zip(fields, kinds, strict=True))
        self.form = sys.intern(f"{name} {' '.join(words)}")  # by which the library recognises the type

    def place(self, field: str) -> tuple[types.Type, int]:
        """Type of a field, and its offset in the table in bytes."""
        at = 0
        for name, kind in zip(self.fields, self.kinds, strict=True):
            if name == field:
                return kind, 8 * at
            at += _length(kind)
        raise KeyError(field)


def _word(kind: types.Type) -> str:
    """A kind in the words of flexmb/kernels/calls.py."""
    letter: dict[Any, str] = {types.float64: "d", types.int64: "i", types.boolean: "b"}
    if isinstance(kind, types.Array) and kind.layout == "C" and kind.mutable and kind.dtype in letter:
        return f"{letter[kind.dtype]}{kind.ndim}"
    return letter.get(kind) or str(kind)


def _length(kind: types.Type) -> int:
    """Number of integers of a field in the table; the layout of an array is that of numba."""
    return 5 + 2 * kind.ndim if isinstance(kind, types.Array) else 1


@cache
def record_type(name: str, fields: tuple[str, ...], kinds: tuple[types.Type, ...]) -> PointedType:
    """The type of records with these fields."""
    return PointedType(name, fields, kinds)


def _kind_of(array: np.ndarray) -> types.Type:
    """`numba.typeof` of an array, cached because it is slow."""
    form = (array.dtype, array.ndim, array.flags.c_contiguous, array.flags.writeable, array.flags.aligned)
    if form not in _KINDS:
        _KINDS[form] = typeof(array)
    return _KINDS[form]


_KINDS: dict[tuple[Any, ...], types.Type] = {}


class Pointed:
    """A named tuple of arrays and integers, and the table that describes them."""

    def __init__(self, record: Any) -> None:
        self.record, table = record, list[int]()
        self._remembered: dict[str, Any] = {}  # see `remembered`
        for value in record:
            if isinstance(value, np.ndarray):
                table += [0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides]
            else:
                table.append(int(value))
        self._table = np.array(table, dtype=np.int64)
        self.address = self._table.ctypes.data
        kinds = tuple(_kind_of(value) if isinstance(value, np.ndarray) else types.int64 for value in record)
        self.kind = record_type(type(record).__name__, record._fields, kinds)
        self.form = self.kind.form

    def __getattr__(self, name: str) -> Any:
        return getattr(self.record, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pointed, (self.record,)


def pointed(record: Record) -> Record:
    """`record`, a named tuple of arrays and integers, in the form for kernels. Entries of its arrays can be changed,
    but the arrays cannot be replaced."""
    return record if config.DISABLE_JIT else cast(Record, Pointed(record))  # type: ignore[attr-defined]


def remembered(function: Callable[[Any], Value]) -> Callable[[Any], Value]:
    """Decorator of a function of one record: its value is computed once and kept with a pointed record.

    The arrays on which the value depends must not change, and the caller must not change the value.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def known(record: Any) -> Value:
        if not isinstance(record, Pointed):
            return function(record)
        if name not in record._remembered:
            record._remembered[name] = function(record)
        return record._remembered[name]

    return known


def fields_of(record: Any) -> dict[str, Any]:
    """The arrays and integers of a record by name, whether it is pointed or a named tuple."""
    return dict(zip(record._fields, (getattr(record, name) for name in record._fields), strict=True))


@typeof_impl.register(Pointed)
def _typeof(value: Pointed, context: Any) -> PointedType:
    return value.kind


register_model(PointedType)(models.OpaqueModel)


@unbox(PointedType)
def _unbox(kind: PointedType, value: Any, c: Any) -> NativeValue:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(
        c.builder.inttoptr(address, cgutils.voidptr_t), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    )


@infer_getattr
class _Fields(AttributeTemplate):
    key = PointedType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        return kind.place(name)[0] if name in kind.fields else None


@lower_getattr_generic(PointedType)
def _take(context: Any, builder: Any, kind: PointedType, value: Any, name: str) -> Any:
    field, offset = kind.place(name)
    number, known = ir.IntType(64), builder.module.add_metadata([])
    table = builder.bitcast(value, number.as_pointer())

    def load(at: int, to: Any = number) -> Any:
        address = builder.gep(table, [number(at)], inbounds=True)
        loaded = builder.load(address if to is number else builder.bitcast(address, to.as_pointer()))
        loaded.set_metadata("invariant.load", known)
        return loaded

    offset //= 8
    if not isinstance(field, types.Array):
        return load(offset)
    form, n = context.get_value_type(field), field.ndim
    meminfo, parent, _, _, data, shape, strides = form.elements
    size = number(context.get_abi_sizeof(context.get_data_type(field.dtype)))
    lengths = [load(offset + 5 + k) for k in range(n)]
    unknown = number(ir.Undefined)
    known_strides = [unknown] * (n - 1) + [size] if field.layout == "C" and n > 0 else [unknown] * n
    steps = [load(offset + 5 + n + k) for k in range(n) if known_strides[k] is unknown]
    array = form(
        [meminfo(None), parent(None), unknown, size, data(ir.Undefined), shape([unknown] * n), strides(known_strides)]
    )
    array = builder.insert_value(array, load(offset + 2), 2)
    array = builder.insert_value(array, load(offset + 4, data), 4)
    for k, length in enumerate(lengths):
        array = builder.insert_value(array, length, [5, k])
    for k, step in enumerate(steps):
        array = builder.insert_value(array, step, [6, k])
    return array
