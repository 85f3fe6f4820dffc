"""Options as frozen dataclasses: the type of a field says which values it may have, on the command line and in Python.

Rule options, recipes and the options of synthetic data are all parsed here. Pydantic would do it too, but not on the
light path: importing it and parsing the options of one rule takes 168 ms of CPU time, against 11 ms here.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from functools import cache
from math import inf
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from tallymark.core.problems import Problem, Problems, nearest, shorten

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

UNKNOWN = (None, "none", "None", "")
"""How an optional number that is not known is written."""
LARGEST_SIDE = 32_768
"""Pixels of an image side, at most."""

Missing = Literal["error", "empty"]
Extra = Literal["error", "ignore"]
Fraction = Annotated[float, "from 0 to 1"]
"""A number from 0 to 1."""
NonNegativeInt = Annotated[int, "from 0 on"]
"""A whole number from 0 on."""
NonNegativeFloat = Annotated[float, "from 0 on"]
"""A number from 0 on."""
AnyFloat = Annotated[float, "any"]
"""Any finite number, also a negative one."""


@dataclasses.dataclass(frozen=True)
class RuleOptions:
    """Named choices for the points that the official text of a rule leaves open.

    missing: an item without a row is an `error`, or counts as `empty`.
    extra: a row of an unknown item is an `error`, or is ignored.
    """

    missing: Missing = "error"
    extra: Extra = "error"


@dataclasses.dataclass(frozen=True)
class SceneOptions:
    """What a synthetic data set looks like; the `synth.py` of a challenge adds its own fields.

    demo: values that the demo uses, and under `items` the number of items that it generates.
    package: the archive that the official data set is published in; if empty, each of its folders is an archive.
    """

    demo: ClassVar[Mapping[str, Any]] = {}
    package: ClassVar[str] = ""

    @property
    def rule_options(self) -> dict[str, str]:
        """The rule options that such data sets need, where they differ from the official one."""
        return {}


R = TypeVar("R", bound="DataclassInstance")
T = TypeVar("T")


def bounded(default: T, *, most: float, least: float | None = None, **metadata: object) -> T:
    """A field with a largest value that makes sense, and perhaps a least one: more only takes memory and time."""
    field: T = dataclasses.field(default=default, metadata={"least": least, "most": most, **metadata})
    return field


def parse_options(kind: type[R], given: Mapping[str, object]) -> R:
    """Make an options dataclass from names and values: text as on the command line, or Python values.

    Unknown names and values that a field cannot have are all collected into one `BadInput`.
    """
    hints = _hints(kind)
    known = {field.name: field for field in dataclasses.fields(kind)}
    place = _place(kind.__name__)
    problems = Problems()
    values: dict[str, object] = {}
    for name, value in given.items():
        if name not in known:
            problems.add(Problem("unknown_option", place, f"'{name}'", "an option", nearest(name, known)))
            continue
        parser, metadata = _parser(hints[name]), known[name].metadata
        try:
            values[name] = _within(metadata, parser.parse(value))
        except ValueError:
            remedy = parser.remedy or nearest(str(value), [str(word) for word in get_args(hints[name])])
            found, expected = shorten(f"{name}={value}"), parser.expected + _bounds_text(metadata)
            problems.add(Problem("bad_option", place, found, expected, remedy))
    problems.raise_if_any()
    return kind(**values)


def parse_assignments(texts: list[str]) -> dict[str, str]:
    """`["match=best_overall", "hours=6"]` as a dictionary."""
    problems = Problems()
    given: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if equals:
            given[name.strip()] = value.strip()
        else:
            remedy = "write e.g. match=best_overall"
            problems.add(Problem("bad_option", "command line", f"'{text}'", "key=value", remedy))
    problems.raise_if_any()
    return given


def describe(options: DataclassInstance) -> dict[str, object]:
    """The options as plain values, for printing with a score."""
    return dataclasses.asdict(options)


def as_assignments(options: DataclassInstance) -> str:
    """The options as one would type them: `match=best_overall  shape=768x768`; a blank text is not given."""
    return "  ".join(f"{name}={text_of(value)}" for name, value in describe(options).items() if value != "")


class Option(NamedTuple):
    """One option with its possible values and its default, as text."""

    option: str
    values: str
    default: str


def list_options(kind: type[DataclassInstance]) -> list[Option]:
    """Every option of a dataclass, for help texts."""
    hints = _hints(kind)
    return [
        Option(field.name, _parser(hints[field.name]).values, text_of(field.default) or "none")
        for field in dataclasses.fields(kind)
    ]


def meanings(kind: type[DataclassInstance]) -> dict[str, str]:
    """What each field means, where the docstring of the class or a base has `name: meaning.`"""
    known = {field.name for field in dataclasses.fields(kind)}
    found: dict[str, str] = {}
    for cls in reversed(kind.__mro__):
        text = " ".join(str(cls.__doc__).split())
        marks = [mark for mark in re.finditer(r"\b((?:\w+, )*\w+): ", text) if known.issuperset(mark[1].split(", "))]
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        for mark, end in zip(marks, ends, strict=False):
            found |= dict.fromkeys(mark[1].split(", "), text[mark.end() : end].strip().removesuffix("."))
    return found


def text_of(value: object) -> str:
    """A value as one would type it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _place(name: str) -> str:
    """What a problem calls an options class: `ImageRecipe` is a recipe, `RuleOptions` are rule options."""
    words = [word.lower() for word in re.findall("[A-Z][a-z]*", name)] or [name]
    return " ".join(words[-2:] if words[-1] == "options" else words[-1:])


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _within(metadata: Mapping[str, Any], value: Any) -> object:
    """The value, if it is within the bounds of its field."""
    least, most = metadata.get("least"), metadata.get("most")
    if value is not None and ((least is not None and value < least) or (most is not None and value > most)):
        raise ValueError(value)
    return value


def _bounds_text(metadata: Mapping[str, Any]) -> str:
    least, most = metadata.get("least"), metadata.get("most")
    return ("" if least is None else f", at least {least}") + ("" if most is None else f", at most {most}")


class _Parser(NamedTuple):
    """How a value of one type is written; `parse` raises ValueError where it is not."""

    values: str
    expected: str
    remedy: str
    parse: Callable[[object], object]


def _parser(hint: Any) -> _Parser:
    if get_origin(hint) is not Literal:
        return _PARSERS[hint]
    choices = {str(word): word for word in get_args(hint)}  # words or numbers

    def parse(value: object) -> object:
        if str(value) not in choices:
            raise ValueError(value)
        return choices[str(value)]

    return _Parser(" | ".join(choices), " or ".join(choices), "", parse)


def _float(allowed: Callable[[float], bool]) -> Callable[[object], float]:
    def parse(value: object) -> float:
        if not allowed(number := float(str(value))):
            raise ValueError(value)
        return number

    return parse


def _int(minimum: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        text = str(value)
        if not text.isdecimal() or len(text) > 9 or int(text) < minimum:
            raise ValueError(value)
        return int(text)

    return parse


def _optional_int(value: object) -> int | None:
    return None if value in UNKNOWN else _int(1)(value)


def _optional_float(value: object) -> float | None:
    return None if value in UNKNOWN else _float(lambda number: 0 < number < inf)(value)


def _bool(value: object) -> bool:
    if (word := str(value).lower()) not in ("yes", "no", "true", "false"):
        raise ValueError(value)
    return word in ("yes", "true")


def _shape(value: object) -> tuple[int, int]:
    sides = value if isinstance(value, list | tuple) else str(value).replace(",", "x").split("x")
    if len(sides) != 2 or not all(str(side).strip().isdecimal() for side in sides):
        raise ValueError(value)
    height, width = (int(str(side)) for side in sides)
    if not (0 < height <= LARGEST_SIDE and 0 < width <= LARGEST_SIDE):
        raise ValueError(value)
    return height, width


_PARSERS: dict[Any, _Parser] = {
    float: _Parser("number", "a number above 0", "give e.g. 1.5", _float(lambda number: 0 < number < inf)),
    NonNegativeFloat: _Parser(
        "number from 0 on", "a number from 0 on", "give e.g. 1.5", _float(lambda number: 0 <= number < inf)
    ),
    AnyFloat: _Parser("number, also below 0", "a number", "give e.g. -1.5", _float(lambda number: abs(number) < inf)),
    Fraction: _Parser(
        "number from 0 to 1", "a number from 0 to 1", "give e.g. 0.2", _float(lambda number: 0 <= number <= 1)
    ),
    int: _Parser("whole number", "a whole number above 0", "give e.g. 3", _int(1)),
    NonNegativeInt: _Parser("whole number from 0 on", "a whole number from 0 on", "give e.g. 3", _int(0)),
    int | None: _Parser("whole number or none", "a whole number above 0, or none", "give e.g. 3", _optional_int),
    float | None: _Parser("number or none", "a number above 0, or none", "give e.g. 1.5", _optional_float),
    bool: _Parser("yes | no", "yes or no", "write yes or no", _bool),
    str: _Parser("text", "text", "", str),
    tuple[int, int]: _Parser(
        "HEIGHTxWIDTH", f"height x width, each from 1 to {LARGEST_SIDE}", "write e.g. 768x768", _shape
    ),
}
