"""The folders are layers, and each imports only those before it."""

from __future__ import annotations

import ast
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
    "challenges",
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
