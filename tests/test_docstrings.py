"""What docstrings of the public interface tell: that they are there, what is raised, what arrays mean."""

import ast
import importlib
import inspect
import re
import textwrap

import pytest

PUBLIC = ("fem", "reduction", "flexmb", "flexmb.linear", "flexmb.study", "flexmb.files")


def public():
    """Functions, classes and methods that the rooms export: label, the object, and the class a method is of."""
    for room in PUBLIC:
        module = importlib.import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.ismodule(value) and value.__name__ not in PUBLIC:
                yield from (
                    item
                    for key, v in vars(value).items()
                    if not key.startswith("_") and key in getattr(value, "__all__", [key])
                    for item in members(
                        f"{room}.{name}.{key}", v, None if hasattr(value, "__all__") else value.__name__
                    )
                )
            else:
                yield from members(f"{room}.{name}", value)


def members(label, value, module=None):
    if module is not None and getattr(value, "__module__", None) != module:
        return
    if inspect.isfunction(value):
        yield label, value, None
    elif inspect.isclass(value) and not issubclass(value, BaseException):
        yield label, value, None
        makers = [c for c in value.__mro__ if c is value or "construction" in c.__module__]  # those of System
        for part, name, member in ((c, name, member) for c in makers for name, member in vars(c).items()):
            function = getattr(member, "__func__", getattr(member, "fget", getattr(member, "func", member)))
            function = inspect.unwrap(function) if inspect.isfunction(function) else function
            own = inspect.isfunction(function) and function.__code__.co_filename == inspect.getsourcefile(part)
            if own and (not name.startswith("_") or name in {"__init__", "__post_init__"}):
                yield f"{label}.{name}", function, value


ITEMS = {label: (value, owner) for label, value, owner in public()}


def documentation(label):
    """The docstring; of a class for what makes it."""
    value, owner = ITEMS[label]
    return inspect.getdoc(owner if label.endswith("__") else value) or ""


def raised(function):
    """Names of the errors that a function itself raises, without what is defined in it."""

    def within(node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Lambda):
                continue
            if isinstance(child, ast.Raise) and child.exc is not None:
                error = child.exc.func if isinstance(child.exc, ast.Call) else child.exc
                name = getattr(error, "id", "")
                if name[:1].isupper():  # not an error that was caught
                    yield name
            yield from within(child)

    return set(within(ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]))


FUNCTIONS = [label for label, (value, _) in ITEMS.items() if inspect.isfunction(value)]


def test_the_public_interface_is_seen():
    assert len(FUNCTIONS) > 150
    assert {"fem.read_mesh", "flexmb.System.drive", "flexmb.linear.linearise", "flexmb.time_functions.spin_up"} <= set(
        FUNCTIONS
    )


@pytest.mark.parametrize("room", [*PUBLIC, "flexmb.contact", "flexmb.forces", "fem.user_files"])
def test_a_room_exports_what_it_imports_for_its_users(room):
    """Of a name that is missing in `__all__`, neither these tests nor the pages of the interface know."""
    module = importlib.import_module(room)
    taken = [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ImportFrom)]
    own = [node for node in taken if str(node.module).split(".")[0] in ("fem", "flexmb", "reduction")]
    names = {name.asname or name.name for node in own for name in node.names} - {"refuse_old_names"}
    assert names <= set(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.parametrize("label", [label for label in ITEMS if not label.endswith("__")])
def test_what_is_public_has_a_docstring(label):
    assert documentation(label)


@pytest.mark.parametrize("label", [label for label in FUNCTIONS if raised(ITEMS[label][0])])
def test_a_docstring_says_what_is_raised(label):
    text = documentation(label)
    for name in raised(ITEMS[label][0]):
        assert name in text, f"say when {label} raises {name}"
    assert "aises" in text, f"say 'Raises ... when ...' in {label}"


def is_array(annotation):
    return "ndarray" in str(annotation)


@pytest.mark.parametrize(
    "label",
    [
        label
        for label in FUNCTIONS
        if any(is_array(p.annotation) for p in inspect.signature(ITEMS[label][0]).parameters.values())
    ],
)
def test_a_docstring_names_the_arrays_that_are_given(label):
    """An annotation gives a shape; only words say what stands in it."""
    text = documentation(label)
    for name, parameter in inspect.signature(ITEMS[label][0]).parameters.items():
        if is_array(parameter.annotation):
            assert re.search(rf"\b{name}\b", text), f"say what {name} is in {label}"
