"""Readings: the points that an official text leaves open, as named options with a default.

A reading is a frozen dataclass; its field types say what is allowed: a choice of words, a number, a picture's shape.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from tallymark.core.problems import Problem, Problems, nearest

LARGEST_SIDE = 100_000

Missing = Literal["error", "empty"]
Extra = Literal["error", "ignore"]
Fraction = Annotated[float, "from 0 to 1"]
"""A number from 0 to 1."""
NonNegativeInt = Annotated[int, "from 0 on"]
"""A whole number from 0 on."""
NonNegativeFloat = Annotated[float, "from 0 on"]
"""A number from 0 on."""
AnyFloat = Annotated[float, "any"]
"""Any number, also below 0."""


@dataclasses.dataclass(frozen=True)
class RuleOptions:
    """What every reading has: `missing=empty` counts absent items as empty, `extra=ignore` skips unknown ones."""

    missing: Missing = "error"
    extra: Extra = "error"


R = TypeVar("R")


def parse_options(kind: type[R], given: Mapping[str, object]) -> R:
    """Make a reading from option names and values (text as on the command line, or Python values)."""
    hints = _hints(kind)  # type: ignore[arg-type]  # types are hashable
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # kind is a dataclass
    problems, values, place = Problems(), {}, _last_word(kind.__name__)
    for name, value in given.items():
        if name not in known:
            problems.add(Problem("unknown_option", place, f"'{name}'", "an option", nearest(name, known)))
            continue
        try:
            values[name] = _convert(hints[name], value)
        except ValueError as error:
            expected, remedy = error.args
            problems.add(Problem("bad_option", place, f"{name}={value}", expected, remedy))
    problems.raise_if_any()
    return kind(**values)


def _last_word(name: str) -> str:
    """`PictureRecipe` is a recipe."""
    return (re.findall("[A-Z][a-z]*", name) or [name])[-1].lower()


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def parse_assignments(texts: list[str]) -> dict[str, str]:
    """`["match=best_overall", "hours=6"]` as a dictionary."""
    problems, given = Problems(), {}
    for text in texts:
        name, equals, value = text.partition("=")
        if equals:
            given[name.strip()] = value.strip()
        else:
            problems.add(Problem("bad_option", "reading", f"'{text}'", "key=value", "write e.g. match=best_overall"))
    problems.raise_if_any()
    return given


def describe(rule_options: object) -> dict[str, object]:
    """The reading as plain values, for printing with a score."""
    return dataclasses.asdict(rule_options)  # type: ignore[call-overload]  # readings are dataclasses


def as_assignments(rule_options: object) -> str:
    """The reading as one would type it: `match=best_overall  shape=768x768`."""
    return "  ".join(f"{name}={text_of(value)}" for name, value in describe(rule_options).items())


class Option(NamedTuple):
    """One point that can be chosen."""

    option: str
    values: str
    default: str


def options(kind: type) -> list[Option]:
    """What can be chosen in a reading, for help texts."""
    hints, shown = _hints(kind), []
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        values = " | ".join(map(str, get_args(hint))) if get_origin(hint) is Literal else _NAMES[hint]
        shown.append(Option(field.name, values, text_of(field.default)))
    return shown


def text_of(value: Any) -> str:
    """A value as one would type it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _convert(hint: Any, value: object) -> Any:
    if get_origin(hint) is Literal:
        allowed = {str(word): word for word in get_args(hint)}  # words or numbers
        if str(value) not in allowed:
            raise ValueError(" or ".join(allowed), nearest(str(value), list(allowed)))
        return allowed[str(value)]
    return _CONVERTERS[hint](value)


def _float(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("nan")


def _number(value: object) -> float:
    if not 0 < (number := _float(value)) < float("inf"):
        raise ValueError("a number above 0", "give e.g. 1.5")
    return number


def _amount(value: object) -> float:
    if not 0 <= (amount := _float(value)) < float("inf"):
        raise ValueError("a number from 0 on", "give e.g. 1.5")
    return amount


def _level(value: object) -> float:
    if not abs(level := _float(value)) < float("inf"):
        raise ValueError("a number", "give e.g. -1.5")
    return level


def _share(value: object) -> float:
    if not 0 <= (share := _float(value)) <= 1:
        raise ValueError("a number from 0 to 1", "give e.g. 0.2")
    return share


def _whole(value: object) -> int:
    if not str(value).isdecimal() or len(str(value)) > 9:
        raise ValueError("a whole number from 0 on", "give e.g. 3")
    return int(str(value))


def _count(value: object) -> int:
    if not str(value).isdecimal() or len(str(value)) > 9 or int(str(value)) < 1:
        raise ValueError("a whole number above 0", "give e.g. 3")
    return int(str(value))


def _yes(value: object) -> bool:
    if (word := str(value).lower()) not in ("yes", "no", "true", "false"):
        raise ValueError("yes or no", "write yes or no")
    return word in ("yes", "true")


def _count_or_none(value: object) -> int | None:
    return None if value in (None, "none", "None", "") else _count(value)


def _shape(value: object) -> tuple[int, int]:
    sides = value if isinstance(value, list | tuple) else str(value).replace(",", "x").split("x")
    if len(sides) != 2 or not all(str(side).strip().isdecimal() for side in sides):
        raise ValueError("height x width", "write e.g. 768x768")
    height, width = (int(str(side)) for side in sides)
    if not (0 < height <= LARGEST_SIDE and 0 < width <= LARGEST_SIDE):
        raise ValueError(f"sides from 1 to {LARGEST_SIDE}", "write e.g. 768x768")
    return height, width


_CONVERTERS: dict[Any, Any] = {
    Fraction: _share,
    NonNegativeFloat: _amount,
    AnyFloat: _level,
    NonNegativeInt: _whole,
    float: _number,
    int: _count,
    str: str,
    bool: _yes,
    int | None: _count_or_none,
    tuple[int, int]: _shape,
}
_NAMES: dict[Any, str] = {
    Fraction: "number from 0 to 1",
    NonNegativeFloat: "number from 0 on",
    AnyFloat: "number, also below 0",
    NonNegativeInt: "whole number from 0 on",
    float: "number",
    int: "whole number",
    str: "text",
    bool: "yes | no",
    int | None: "whole number or none",
    tuple[int, int]: "HEIGHTxWIDTH",
}
