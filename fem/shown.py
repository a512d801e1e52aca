"""Short representations of records, for the prompt and for notebooks."""

from html import escape
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


def shown(cls: C) -> C:
    """Class decorator: `repr` is the class and the first line of `str`, in place of all arrays; notebooks show `str`.

    The class defines `__str__`.
    """
    made: Any = cls

    def __repr__(self: Any) -> str:  # noqa: N807
        return f"<{type(self).__name__}: {str(self).partition(chr(10))[0]}>"

    def _repr_html_(self: Any) -> str:
        return f'<pre style="white-space: pre-wrap">{escape(str(self))}</pre>'

    made.__repr__, made._repr_html_ = __repr__, _repr_html_
    return cls
