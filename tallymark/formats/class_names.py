"""Class names of YOLO data sets: `names` in data.yaml, or one name per line in classes.txt.

YAML is composed into nodes and never constructed into objects: nothing in a file is evaluated, every node has its
line, and a class called `no` or `1e3` keeps its name instead of becoming a boolean or a number.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tallymark.core.problems import Problem, Problems, clip
from tallymark.formats.parsing import ParseError
from tallymark.io.folders import Folder
from tallymark.io.texts import read_lines, read_text

if TYPE_CHECKING:
    import yaml

TEXT_FILES = ("classes.txt", "obj.names", "predefined_classes.txt")
NAMES_KEY = re.compile(r"\bnames[\"']?\s*:")
"""Only YAML files with such a key are parsed: others in the folder are not about classes."""
NAME_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "timestamp")}
"""YAML types of plain scalars that are read as text."""
BRACKET = re.compile(r"[\[\]{}]")
DEEPEST = 50
LARGEST_YAML = 1 << 22
"""Characters of the largest YAML file that is read: parsing takes seconds for each million."""
NULL = "tag:yaml.org,2002:null"
REMEDY = "list the class names under names:, in order from class 0, in quotes where they have special characters"


def read_class_names(listed: Folder, problems: Problems) -> tuple[str, ...]:
    """The class names in order, from class 0; empty if no file has them."""
    for path in sorted(listed.ending({".yaml", ".yml"}), key=lambda path: (len(path.parts), path)):
        text = read_text(path, problems)
        if text is not None and len(text) > LARGEST_YAML:
            found, expected = f"{len(text):,} characters", "a YAML file with class names"
            problems.add(Problem("too_large", str(path), found, expected, "keep the class names only"))
        elif text is not None and NAMES_KEY.search(text):
            names = _names_of_yaml(path, text, problems)
            if names is not None:
                return names
    for path in listed.named(*TEXT_FILES):
        return tuple(text.strip() for _, text in read_lines(path, problems) or [])
    return ()


def _names_of_yaml(path: Path, text: str, problems: Problems) -> tuple[str, ...] | None:
    """The names in a YAML file; None if it has none, or, with a problem, if it is not valid YAML."""
    import yaml

    try:
        if _is_deep(text):
            raise RecursionError
        node = _value_of_names(yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        found, line = _syntax_error(error, text)
        problems.add(Problem("bad_class", str(path), found, "a YAML file with class names", REMEDY, line=line))
        return None
    except RecursionError:
        found = "lists nested too deep"
        problems.add(Problem("bad_class", str(path), found, "a YAML file with class names", REMEDY))
        return None
    if node is None or node.tag == NULL:
        return None
    if isinstance(node, yaml.SequenceNode):
        entries = list(enumerate(node.value))
    elif isinstance(node, yaml.MappingNode):
        entries = _numbered(path, node, problems)
    else:
        expected = "a list of names, or a mapping from class numbers to names"
        problems.add(_invalid(node, expected).at(path, node.start_mark.line + 1))
        return None
    names = [str(number) for number in range(len(node.value))]
    for number, value in entries:
        try:
            names[number] = _name(value, number)
        except ParseError as bad:
            problems.add(bad.at(path, value.start_mark.line + 1))
    return tuple(names)


def _is_deep(text: str) -> bool:
    """Whether lists are nested deeper than in any list of names: PyYAML takes seconds to find that out."""
    depth = 0
    for bracket in BRACKET.finditer(text):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > DEEPEST:
            return True
    return "- " * DEEPEST in text


def _value_of_names(root: yaml.Node | None) -> yaml.Node | None:
    """The value of `names` in a YAML document; None if it has no such key."""
    import yaml

    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    return next((value for key, value in reversed(pairs) if key.value == "names"), None)


def _numbered(path: Path, node: yaml.MappingNode, problems: Problems) -> list[tuple[int, yaml.Node]]:
    """The entries of a mapping by class number; every number from 0 on must occur once."""
    entries: dict[int, yaml.Node] = {}
    for key, value in node.value:
        number = int(key.value) if isinstance(key.value, str) and re.fullmatch("[0-9]{1,9}", key.value) else -1
        if not 0 <= number < len(node.value) or number in entries:
            expected = f"each class number from 0 to {len(node.value) - 1} once"
            problems.add(_invalid(key, expected).at(path, key.start_mark.line + 1))
        else:
            entries[number] = value
    return list(entries.items())


def _name(node: yaml.Node, number: int) -> str:
    """The class name that a scalar node holds, as it is written."""
    if not isinstance(node.value, str) or node.tag not in NAME_TAGS or not node.value.strip() or _is_broken(node.value):
        raise _invalid(node, f"the name of class {number}, plain or in quotes")
    return node.value


def _is_broken(name: str) -> bool:
    """Whether a name has half a character, as the escape \\ud800 writes it: no text file could hold it."""
    return any("\ud800" <= character <= "\udfff" for character in name)


def _invalid(node: yaml.Node, expected: str) -> ParseError:
    return ParseError("bad_class", clip(_source(node)), expected, REMEDY)


def _source(node: yaml.Node) -> str:
    """The text of a node as it is written in the file."""
    start, end = node.start_mark, node.end_mark
    return "" if start.buffer is None else start.buffer[start.pointer : end.pointer].strip()


def _syntax_error(error: yaml.YAMLError, text: str) -> tuple[str, int | None]:
    """The message and the line of a YAML error: where an unfinished quote or bracket opens, else where it occurs."""
    import yaml

    if isinstance(error, yaml.reader.ReaderError):
        return str(error.reason), text.count("\n", 0, error.position) + 1
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error), None
    unfinished = "end of stream" in (error.problem or "") or "<stream end>" in (error.problem or "")
    mark = error.context_mark if unfinished and error.context_mark else error.problem_mark
    return error.problem or "invalid YAML", None if mark is None else mark.line + 1
