"""Count the places that ask of which kind a geometry, recipe, modality, medium or task is.

    python tools/kind_switches.py [FOLDER]

A kind should answer for itself, by a method. Prints `file:line: reason` for each place that asks instead:
`isinstance`, `issubclass`, `type(x) is`, class patterns and registered overloads for geometries, recipes, modalities,
coders and networks; comparisons and matches of task, modality or medium names; dictionaries keyed by any of them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent.parent / "tallymark"
CEILING = 35
ALLOWED = {
    "challenges/": "a challenge's own: it knows its geometry",
    "formats/": "a format: it is defined for some geometries only",
    "data/checks/truth.py": "a constructor: the checks of each geometry",
    "detector/coders.py": "a constructor: the coder of each task",
    "detector/mask_coder.py": "a constructor: rectangles from masks, or as they are",
    "modalities/__init__.py": "a constructor: the modality of each task",
    "modalities/image/overlays.py": "a constructor: the overlay of each geometry",
    "reporting/measurements.py": "a constructor: the measurement of each geometry",
}
"""Files or folders where asking is right, and why."""
KIND = re.compile(
    r"Boxes|RotatedBoxes|Masks|Cuboids|Events|Labels|Geometry|"
    r"\w*Recipe|\w*Modality|\w*Coder|Classifier|CenterDetector|\w*Encoder"
)
"""Names of classes that are kinds."""
NAMING = {"task", "noun", "modality", "medium"}
"""Variables and attributes that name a kind."""
NAMES = {"boxes", "masks", "labels", "events", "cuboids", "image", "audio", "lidar", "recording", "sweep", "picture"}
"""Values that name a task, modality or medium."""


class Switch(NamedTuple):
    file: str
    line: int
    reason: str

    @property
    def allowed(self) -> str | None:
        """Why it is right to ask here, if it is."""
        return next((why for where, why in ALLOWED.items() if self.file.startswith(where)), None)


def switches(package: Path = PACKAGE) -> list[Switch]:
    """Every kind switch below a folder, in the order of files and lines."""
    return [
        Switch(path.relative_to(package).as_posix(), line, reason)
        for path in sorted(package.rglob("*.py"))
        for line, reason in sorted(switches_of(path.read_text()))
    ]


def switches_of(source: str) -> Iterator[tuple[int, str]]:
    """Line and reason of every kind switch in a module."""
    for node in ast.walk(ast.parse(source)):
        reason = _reason(node)
        if reason is not None:
            yield node.lineno, reason


def _reason(node: ast.AST) -> str | None:
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass" as name), args=[_, kinds]) if _kinds(kinds):
            return f"{name}({', '.join(_kinds(kinds))})"
        case ast.Compare(left=left, comparators=rest):
            return _comparison([left, *rest])
        case ast.Match(subject=subject, cases=cases):
            asks = _names_kind(subject) or any(_patterns(case.pattern) for case in cases)
            return f"match {ast.unparse(subject)}" if asks else None
        case ast.Dict(keys=keys) if len(keys) > 1:
            return _dictionary([key for key in keys if key is not None])
        case ast.FunctionDef(decorator_list=decorators) if any(_registers(one) for one in decorators):
            return f"overload {node.name} of a single-dispatch function"
    return None


def _kinds(node: ast.AST) -> list[str]:
    """The kinds that an expression names: `Boxes`, `geometry.Boxes`, `(Boxes, Masks)`, `Boxes | Masks`."""
    names = [_name(one) for one in ast.walk(node)]
    return [name for name in names if name is not None and KIND.fullmatch(name)]


def _name(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def _comparison(sides: list[ast.expr]) -> str | None:
    text = " ~ ".join(ast.unparse(side) for side in sides)
    if any(_is_type_of(side) for side in sides) and any(_kinds(side) for side in sides):
        return f"type comparison {text}"
    asked = [side for side in sides if _names_kind(side)]
    others = [side for side in sides if not _names_kind(side)]
    if asked and others and not all(isinstance(side, ast.Constant) and side.value is None for side in others):
        return f"comparison {text}"
    return None


def _is_type_of(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="type")) | ast.Attribute(attr="__class__"):
            return True
    return False


def _names_kind(node: ast.expr) -> bool:
    """Whether an expression holds the name of a kind: `recipe.task`, `catalog.medium.noun`, `modality.name`."""
    match node:
        case ast.Attribute(value=owner, attr="name"):
            return _name(owner) in NAMING
        case ast.Subscript(value=owner):
            return _names_kind(owner)
    return _name(node) in NAMING


def _patterns(pattern: ast.pattern) -> list[str]:
    classes = [one.cls for one in ast.walk(pattern) if isinstance(one, ast.MatchClass)]
    return [name for cls in classes for name in _kinds(cls)]


def _dictionary(keys: list[ast.expr]) -> str | None:
    kinds = [name for key in keys for name in _kinds(key) if not isinstance(key, ast.Call)]
    names = [key.value for key in keys if isinstance(key, ast.Constant) and key.value in NAMES]
    if kinds or (len(names) > 1 and len(names) == len(keys)):
        return f"dictionary keyed by {', '.join(kinds or names)}"
    return None


def _registers(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr == "register"


def main() -> int:
    found = switches(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
    for one in found:
        print(f"{one.file}:{one.line}: {one.reason}" + (f"  [{one.allowed}]" if one.allowed else ""))
    for folder, count in Counter(one.file.split("/")[0] for one in found).most_common():
        print(f"{count:4} {folder}")
    print(f"{len(found):4} in all; the ceiling is {CEILING}")
    return int(len(found) > CEILING)


if __name__ == "__main__":
    sys.exit(main())
