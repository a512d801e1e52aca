"""The version of flexmb, from the metadata of the installed package, which pyproject.toml states."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("flexmb")
except PackageNotFoundError:
    __version__ = "unknown"  # a checkout that is not installed
