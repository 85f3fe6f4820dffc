"""The folders are layers, each imports only those before it, and none knows a challenge by name."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "tallymark"
LAYERS = [
    ["core"],
    ["geometry"],
    ["io"],
    ["data"],
    ["datasets", "formats", "submission", "synthetic"],
    ["drawing", "scoring"],
    ["detector"],
    ["modalities"],
    ["inference"],
    ["training"],
    ["reporting"],
    ["api"],
    ["cli"],
    ["__init__", "__main__"],
]
CORE = {
    "core", "geometry", "io", "data", "datasets", "formats", "submission", "synthetic", "scoring", "modalities",
    "reporting", "challenges",
}  # fmt: skip
"""What a challenge may import."""
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """The first part below `tallymark` of every module that a file imports while it loads or runs, typing aside."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            package = node.module == "tallymark"
            names = [f"tallymark.{alias.name}" for alias in node.names] if package else [node.module or ""]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("tallymark.")}
    return found


def test_every_module_has_a_layer() -> None:
    assert {layer_of(path) for path in MODULES} <= {*HEIGHT, "challenges"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_lower_layers(path: Path) -> None:
    own, used = layer_of(path), imports_of(path)
    if own == "challenges":
        others = {folder.name for folder in (PACKAGE / "challenges").iterdir()} - {path.parent.name}
        text = path.read_text()
        assert not [name for name in others if f"tallymark.challenges.{name}" in text], "a challenge uses another one"
        assert used <= CORE
    else:
        # Finding challenges means importing the folder that holds them, but none of those in it.
        allowed = {"challenges"} if path.name == "registry.py" else set()
        too_high = {name for name in used - allowed if name != own and HEIGHT.get(name, 99) >= HEIGHT[own]}
        assert not too_high


def test_a_challenge_stays_thin() -> None:
    for folder in (PACKAGE / "challenges").iterdir():
        if folder.is_dir():
            lines = sum(len(path.read_text().splitlines()) for path in folder.glob("*.py"))
            assert lines <= 450, f"{folder.name}: {lines} lines; what is not its own belongs in the core"


CHALLENGES = sorted(path.parent.name for path in (PACKAGE / "challenges").glob("*/rule.py"))
NAME = re.compile(rf"\b({'|'.join(CHALLENGES)})\b")
NAME_IN_PROSE = re.compile(rf"\blyft\b|[`\"'(]({'|'.join(CHALLENGES)})[`\"')]")
"""Most names of challenges are English words too: what counts is a name that is quoted."""
WITHOUT_NAMES = [path for path in MODULES if layer_of(path) != "challenges" and path.name != "demo.py"]
DRAWN = PACKAGE / "synthetic"
"""There, ships, food and upcalls are what is drawn."""


def docstrings(tree: ast.AST) -> set[int]:
    """The ids of the nodes that are strings for readers only."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }


def code_words(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each string and identifier that a module uses."""
    prose = docstrings(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in prose:
                yield node.lineno, text
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.FunctionDef(name=text) | ast.ClassDef(name=text):
                yield node.lineno, text.replace("_", " ")
            case ast.arg(arg=text) | ast.keyword(arg=str(text)):
                yield node.lineno, text.replace("_", " ")


def prose_of(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each comment and docstring, without the examples in the latter."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    tree = ast.parse(source)
    prose = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) in prose:
            for number, line in enumerate(str(node.value).splitlines()):
                if not line.strip().startswith((">>>", "...")):
                    yield node.lineno + number, line


@pytest.mark.parametrize("path", WITHOUT_NAMES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_core_knows_no_challenge_by_name(path: Path) -> None:
    source = path.read_text()
    named = [(line, text) for line, text in prose_of(source) if NAME_IN_PROSE.search(text)]
    if DRAWN not in path.parents:
        named += [(line, text) for line, text in code_words(ast.parse(source)) if NAME.search(text)]
    assert not named, "let the challenge declare it"


OPTIONS = {"rule", "rules", "rule_options", "options", "chosen", "recipe", "preset"}
"""What rule options and recipes are called."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_options_and_recipes_are_not_duck_typed(path: Path) -> None:
    """Reading a field whose name is in a variable is fine; asking whether there is such a field is not."""
    asked = []
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Name(id="hasattr"), args=[asked_of, *_]):
                pass
            case ast.Call(func=ast.Name(id="getattr"), args=[asked_of, ast.Constant(), *_] | [asked_of, _, _]):
                pass
            case _:
                continue
        match asked_of:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in OPTIONS:
                asked.append((node.lineno, ast.unparse(node)))
    assert not asked
