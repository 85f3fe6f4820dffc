"""Versions of installed packages."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def version_of(package: str) -> str:
    """The version of a package, or that it is not installed; looked up once, since its description is parsed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
