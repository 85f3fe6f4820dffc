"""Challenge: what a challenge declares, and finding the ones there are.

A challenge is a folder below `tallymark/challenges/`, or a package that declares an entry point in the group
`tallymark.challenges`; either holds a `CHALLENGE`.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tallymark.core.problems import BadInput, Problem, nearest

if TYPE_CHECKING:
    from tallymark.data.annotations import Annotations
    from tallymark.scoring.score import Score
    from tallymark.submission.dialect import Dialect


@dataclass(frozen=True)
class Challenge:
    """Everything the core has to know of a challenge.

    reading: the dataclass of its open points. score: its rule. dialect: its files.
    folder: where its card and its example files are. package: where `read`, `synth` and `recipe` are.
    sparse: a submission lists findings only, so that an item may have no row and any item may be named.
    """

    name: str
    title: str
    file: str
    rule: str
    rule_options: type
    score: Callable[[Annotations[Any], Annotations[Any], Any], Score]
    dialect: Dialect
    folder: Path
    sparse: bool = False
    package: str = ""

    def has(self, name: str) -> bool:
        """Whether the challenge has this part."""
        return bool(self.package) and importlib.util.find_spec(f"{self.package}.{name}") is not None

    def module(self, name: str) -> Any:
        """A part of the challenge that is imported when it is used: `read`, `synth`, `recipe`."""
        if not self.has(name):
            remedy = f"add {name}.py to {self.folder}"
            raise BadInput(Problem("no_part", self.name, f"no {name}.py", "a challenge that has it", remedy))
        return importlib.import_module(f"{self.package}.{name}")


@cache
def challenge_names() -> tuple[str, ...]:
    """The names of all challenges, without importing any."""
    import tallymark.challenges as package

    built_in = [module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg]
    return tuple(sorted({*built_in, *(point.name for point in entry_points(group="tallymark.challenges"))}))


@cache
def challenge(name: str) -> Challenge:
    """The challenge of that name."""
    if name not in challenge_names():
        remedy = nearest(name, challenge_names())
        raise BadInput(Problem("unknown_challenge", "command line", f"'{name}'", "a challenge", remedy))
    for point in entry_points(group="tallymark.challenges", name=name):
        return cast(Challenge, point.load())
    return cast(Challenge, importlib.import_module(f"tallymark.challenges.{name}").CHALLENGE)
