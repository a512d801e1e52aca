"""Arrays without reference counts, for the inside of a compiled loop.

Whenever compiled code takes a view of an array, or an array out of a record, it counts a reference, with an atomic operation that costs as much as twenty products. A record
whose arrays belong to somebody who outlives the loop (here: the caller in Python) need not be counted.
"""

from typing import Any

from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def _without_counts(typingctx: Any, record: types.BaseTuple) -> Any:
    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (kind,), (value,) = signature.args, arguments
        items = []
        for place, of in enumerate(kind):
            item = builder.extract_value(value, place)
            if isinstance(of, types.Array):
                array = context.make_array(of)(context, builder, item)
                array.meminfo = cgutils.get_null_value(array.meminfo.type)
                array.parent = cgutils.get_null_value(array.parent.type)
                item = array._getvalue()
            items.append(item)
        return context.make_tuple(builder, kind, items)

    return record(record), make


def _as_it_is(record: Any) -> Any:
    return record


borrowed = _as_it_is if config.DISABLE_JIT else _without_counts  # type: ignore[attr-defined]
"""`borrowed(record)`: the same tuple, its arrays uncounted. Only within compiled functions, and only while somebody else holds the arrays."""
