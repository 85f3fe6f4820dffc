"""The public names: each is there, and is what it says, whatever was imported before."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tallymark


def test_names_are_not_shadowed_by_modules() -> None:
    code = """
import tallymark, tallymark.cli, tallymark.verbs, tallymark.demo
for name in tallymark.challenge_names():
    tallymark.challenge(name)
for name in tallymark.__all__:
    value = getattr(tallymark, name)
    assert callable(value) and value.__name__ == name, value
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tallymark.nonsense
    assert set(tallymark.__all__) <= set(dir(tallymark))
