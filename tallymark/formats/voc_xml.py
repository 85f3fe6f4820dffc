"""The XML of one Pascal VOC file: the image it is about, its size, and its objects with their lines.

The file is parsed by expat's events, so that every object has its line, and nothing outside of the file is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from tallymark.core.problems import Problem, Problems, clip
from tallymark.formats.parsing import ParseError, parse_float

CORNERS = ("xmin", "ymin", "xmax", "ymax")
REMEDY = "correct or remove the object"
DEEPEST = 100
"""Elements in one another; a Pascal VOC file has four."""


@dataclass
class VocObject:
    """One `<object>`: its class, the texts of its `<bndbox>`, and its line."""

    line: int
    name: str = ""
    corners: dict[str, str] = field(default_factory=dict)

    def box(self) -> tuple[float, float, float, float]:
        """x, y of the upper left corner, width and height in pixels; a `ParseError` if there is no such box."""
        values = [parse_float(self.corners.get(corner, "")) for corner in CORNERS]
        stated = " ".join(f"{corner}={self.corners.get(corner, 'missing')}" for corner in CORNERS)
        if not all(map(math.isfinite, values)):
            raise ParseError("bad_box", clip(stated), f"a bndbox with {', '.join(CORNERS)}", REMEDY)
        left, top, right, bottom = values
        if right <= left or bottom <= top:
            raise ParseError("bad_box", clip(stated), "xmax above xmin, ymax above ymin", REMEDY)
        return left, top, right - left, bottom - top


@dataclass
class VocFile:
    """One `<annotation>`. size: width and height in pixels; nan where they are missing or 0."""

    path: Path
    filename: str = ""
    width: float = math.nan
    height: float = math.nan
    objects: list[VocObject] = field(default_factory=list)


def parse_voc(path: Path, data: bytes, problems: Problems, item: str | None = None) -> VocFile | None:
    """The content of a Pascal VOC file, about this item; None, with a problem, if it is not well-formed XML."""
    file = VocFile(path)
    parser = expat.ParserCreate()
    stack: list[str] = []
    text: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        stack.append(tag)
        text.clear()
        if len(stack) > DEEPEST:
            raise ParseError("bad_xml", "elements nested too deep", "a Pascal VOC file", "write the file again")
        if len(stack) == 1 and tag != "annotation":
            raise ParseError("bad_xml", clip(f"<{tag}>"), "a Pascal VOC file", "export it again, or remove it")
        if stack[1:] == ["object"]:
            file.objects.append(VocObject(parser.CurrentLineNumber))

    def end(tag: str) -> None:
        _store(file, stack[1:], "".join(text).strip())
        stack.pop()
        text.clear()

    def refuse_entity(name: str, *others: object) -> None:
        raise ParseError("bad_xml", f"an entity '{name}'", "XML without entities of its own", "remove the declaration")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text.append
    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        found, remedy = expat.errors.messages[error.code], "write the file again, or remove it"
        problems.add(Problem("bad_xml", str(path), found, "a Pascal VOC file", remedy, line=error.lineno, item=item))
        return None
    except (LookupError, ValueError) as error:  # an encoding that it names, and that is unknown
        remedy = "write the file again, in UTF-8"
        problems.add(Problem("bad_xml", str(path), str(error), "a Pascal VOC file", remedy, line=1, item=item))
        return None
    except ParseError as bad:
        problems.add(bad.at(path, parser.CurrentLineNumber, item))
        return None
    return file


def _store(file: VocFile, place: list[str], text: str) -> None:
    """Keep the text of an element, given the tags from below the root down to it; others are ignored."""
    if place == ["filename"]:
        file.filename = text
    elif place == ["size", "width"]:
        file.width = _positive(text)
    elif place == ["size", "height"]:
        file.height = _positive(text)
    elif place == ["object", "name"]:
        file.objects[-1].name = text
    elif place[:2] == ["object", "bndbox"] and len(place) == 3:
        file.objects[-1].corners[place[2]] = text


def _positive(text: str) -> float:
    """A number above 0; else nan: some programs write 0 where they do not know the size."""
    value = parse_float(text)
    return value if value > 0 and math.isfinite(value) else math.nan
