"""The public names: each exists, is documented, and is not shadowed by a module."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tallymark

PAGE = Path(__file__).parent.parent / "docs" / "python.md"


def test_names_are_not_shadowed_by_modules() -> None:
    code = """
import tallymark, tallymark.cli.main, tallymark.api.score, tallymark.api.check, tallymark.cli.demo
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


def test_every_name_is_documented_and_no_function_has_too_many_parameters() -> None:
    for name in tallymark.__all__:
        value = getattr(tallymark, name)
        assert value.__doc__, name
        if name.islower():
            assert len(inspect.signature(value).parameters) <= 16, name


def test_the_documentation_lists_every_function_with_its_parameters() -> None:
    first_table = PAGE.read_text().partition("\n## ")[0]
    cells = re.findall(r"^\| (`\w+\(.*?) \|", first_table, re.M)
    calls = [call for cell in cells for call in re.findall(r"`(\w+)(\([^`]*\))`", cell)]
    functions = {name for name in tallymark.__all__ if name.islower()}
    assert functions == {name for name, _ in calls}
    for name, arguments in calls:
        [stated] = ast.parse(f"def {name}{arguments}: ...").body
        assert isinstance(stated, ast.FunctionDef)
        defaults = [ast.literal_eval(value) for value in stated.args.defaults]
        required = [inspect.Parameter.empty] * (len(stated.args.args) - len(defaults))
        parameters = inspect.signature(getattr(tallymark, name)).parameters.values()
        given = [one for one in parameters if one.kind != one.VAR_KEYWORD]
        shown = zip((one.arg for one in stated.args.args), required + defaults, strict=True)
        assert list(shown) == [(one.name, one.default) for one in given], name
