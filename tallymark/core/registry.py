"""Challenge: everything that a challenge declares, and the registry of all challenges.

A challenge is a folder below `tallymark/challenges/`, or a package that declares an entry point in the group
`tallymark.challenges`; either holds a `CHALLENGE`.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from tallymark.core.card import terms_of
from tallymark.core.options import parse_options
from tallymark.core.problems import BadInput, Problem, Problems, nearest, shorten

if TYPE_CHECKING:
    from types import ModuleType

    import polars as pl
    from rich.console import Console

    from tallymark.data.annotations import Annotations
    from tallymark.data.catalog import Catalog
    from tallymark.data.items import Items
    from tallymark.scoring.score import Score
    from tallymark.submission.dialect import Dialect

    Rule = Callable[[Annotations[Any], Annotations[Any]], Score]


GROUP = "tallymark.challenges"
"""The group of entry points by which other packages provide challenges."""


@dataclass(frozen=True)
class ScoreOption:
    """An option of `score` that a challenge has beside its rule options.

    name: a keyword in Python; `--name`, with dashes, on the command line. A name that is also a rule option is short
    for `--rule NAME=VALUE`. type: of the value: `Path`, `float`, `int` or `str`. help: one sentence.
    """

    name: str
    type: type[Path] | type[float] | type[int] | type[str]
    help: str

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True)
class Scoring:
    """One call of `score`, as the functions that a challenge declares are given it.

    truth_path: the file or folder given as truth. truth: of the items to score; None if it cannot be used.
    given: the rule options and score options that the user gave. listed: whether the items were listed, by a fold or
        `images`, so that the truth names each of them, also those without objects, and no other.
    """

    truth_path: Path
    truth: Annotations[Any] | None
    rule_options: Any
    given: Mapping[str, Any]
    problems: Problems
    listed: bool = False


class Analysis(Protocol):
    """Tables that are printed beside a score."""

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Its tables by their headings, for pages."""

    def show(self, to: Console) -> None: ...

    def as_dict(self) -> dict[str, object]: ...


def _nothing_found(truth: Annotations[Any], rule_options: Any) -> Annotations[Any]:
    return truth.empty(truth.items, truth.shapes, truth.classes)


class Baseline(NamedTuple):
    """A trivial submission: the score of any other means something only beside its score.

    name: what it is, in a few words. guess: its predictions, given the truth and the rule options; the same for every
    item.
    """

    name: str
    guess: Callable[[Annotations[Any], Any], Annotations[Any]]


NOTHING_FOUND = Baseline("nothing found", _nothing_found)


def _as_given(scoring: Scoring) -> Any:
    return scoring.rule_options


def _no_analyses(truth: Annotations[Any], predicted: Annotations[Any], scoring: Scoring) -> dict[str, Analysis]:
    return {}


def _same_for_all(catalog: Catalog, rule_options: Any, given: Mapping[str, object]) -> Callable[[Items], Any]:
    return lambda items: rule_options


def _no_shape(rule_options: Any) -> None:
    return None


def _no_data_options(path: Path | None, classes: Sequence[str]) -> Mapping[str, object]:
    return {}


@dataclass(frozen=True)
class Challenge:
    """Everything that the core has to know of a challenge.

    name, title: for commands, for people. file: the header of a submission. rule: the score, in a line.
    rule_options: the dataclass of the points that the official text leaves open. score: the rule.
    dialect: how truth and submissions are read and written.
    folder: where its card and its example files are. package: where `read`, `synth` and `recipe` are.
    sparse: a submission lists predictions only, so an item may have no row and any item may be named.
    submission_name: the name that a submission must have, if the organisers want a certain one.
    baseline: the trivial submission whose score is shown beside every other.
    suffix_optional: ids are file names, and `a` and `a.jpg` are the same item.
    forbidden: the official rules about training data, under `extra_data` and `test_annotations`, if they forbid these.

    Some rules need more than truth and predictions:

    score_options: further options of `score`.
    complete_rule_options: fills in rule options from the data, given a `Scoring`.
    analyze: the analyses of truth and predictions that the score options ask for, by name.
    rule_options_for: given a catalog, the rule options and those that the user gave: the rule options for items of it.
    mask_shape: the height and width in pixels that rule options prescribe for images whose masks are submitted.
    data_options: the rule options that follow from a data folder or a file in it (None: none is known), and from the
        classes of a model.
    """

    name: str
    title: str
    file: str
    rule: str
    rule_options: type[Any]
    score: Callable[[Annotations[Any], Annotations[Any], Any], Score]
    dialect: Dialect
    folder: Path
    sparse: bool = False
    suffix_optional: bool = False
    forbidden: Mapping[str, str] = field(default_factory=dict)
    package: str = ""
    submission_name: str = ""
    baseline: Baseline = NOTHING_FOUND
    score_options: tuple[ScoreOption, ...] = ()
    complete_rule_options: Callable[[Scoring], Any] = _as_given
    analyze: Callable[[Annotations[Any], Annotations[Any], Scoring], Mapping[str, Analysis]] = _no_analyses
    rule_options_for: Callable[[Catalog, Any, Mapping[str, object]], Callable[[Items], Any]] = _same_for_all
    mask_shape: Callable[[Any], tuple[int, int] | None] = _no_shape
    data_options: Callable[[Path | None, Sequence[str]], Mapping[str, object]] = _no_data_options

    @property
    def terms(self) -> dict[str, str]:
        """Dates, prizes, allowed data, licence and citation, as its card has them."""
        return terms_of(self.folder)

    def name_note(self, submission: str | Path) -> str:
        """What is wrong with the name of a submission, where the organisers want a certain one; else empty.

        A sample that the organisers give out keeps its own name.
        """
        name = Path(submission).name
        if not self.submission_name or name == self.submission_name or name.startswith("sample_submission"):
            return ""
        return f"{self.name} wants its submission to be named {self.submission_name}: rename {name}"

    def has(self, name: str) -> bool:
        """Whether the challenge has a module of this name."""
        return bool(self.package) and importlib.util.find_spec(f"{self.package}.{name}") is not None

    def module(self, name: str) -> ModuleType:
        """A module of the challenge that is imported when it is first used: `read`, `synth`, `recipe`."""
        if not self.has(name):
            remedy = f"add {name}.py to {self.folder}"
            raise BadInput(Problem("no_part", self.name, f"no {name}.py", "a challenge that has it", remedy))
        try:
            return importlib.import_module(f"{self.package}.{name}")
        except ImportError as error:
            if self.name in _built_in():
                raise
            found, remedy = f"{type(error).__name__}: {error}", f"correct {self.folder / name}.py"
            raise BadInput(Problem("bad_plugin", f"{self.package}.{name}", found, "a module", remedy)) from error

    def parse_rule_options(
        self, given: Mapping[str, object], path: str | Path | None = None, classes: Sequence[str] = ()
    ) -> Any:
        """The rule options for a data set; those that the user gave come before what the data say."""
        stated = self.data_options(None if path is None else Path(path), classes)
        return parse_options(self.rule_options, {**stated, **given})

    @property
    def script(self) -> Path | None:
        """The scoring script that the organisers ask for, in the folder `script`; it runs without this package."""
        scripts = [path for path in sorted(self.folder.glob("script/*.py")) if path.name != "__init__.py"]
        return scripts[0] if scripts else None

    def rule_on(self, catalog: Catalog, rule_options: Any, given: Mapping[str, object]) -> Rule:
        """The rule as a function of truth and predictions, for items of a catalog."""
        options_for = self.rule_options_for(catalog, rule_options, given)
        return lambda truth, predicted: self.score(truth, predicted, options_for(truth.items))


@cache
def _built_in() -> frozenset[str]:
    import tallymark.challenges as package

    return frozenset(module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg)


@cache
def challenge_names() -> tuple[str, ...]:
    """The names of all challenges, without importing any."""
    return tuple(sorted({*_built_in(), *(point.name for point in entry_points(group=GROUP))}))


@cache
def challenge(name: str) -> Challenge:
    """The challenge of that name; `BadInput` if there is none, or if the package that provides it is broken."""
    if name not in challenge_names():
        remedy = nearest(name, challenge_names())
        raise BadInput(Problem("unknown_challenge", "command line", f"'{name}'", "a challenge", remedy))
    if name in _built_in():
        return cast(Challenge, importlib.import_module(f"tallymark.challenges.{name}").CHALLENGE)
    return _load(next(iter(entry_points(group=GROUP, name=name))))


def _load(point: EntryPoint) -> Challenge:
    """The challenge of an entry point."""
    try:
        found = point.load()
    except Exception as error:  # whatever a package may do wrong while it is imported
        raise _bad_plugin(point, f"{type(error).__name__}: {error}", "a package that can be imported") from error
    if not isinstance(found, Challenge):
        raise _bad_plugin(point, f"{type(found).__name__} at {point.value}", "a tallymark.core.registry.Challenge")
    if found.name != point.name:
        raise _bad_plugin(point, f"a challenge named '{found.name}'", f"one named '{point.name}', as its entry point")
    return found


def _bad_plugin(point: EntryPoint, found: str, expected: str) -> BadInput:
    package = point.dist.name if point.dist is not None else point.module
    remedy = f"correct or update {package}, or remove it: pip uninstall {package}"
    return BadInput(Problem("bad_plugin", f"{point.name} of {package}", shorten(found, 200), expected, remedy))


def all_challenges() -> tuple[list[Challenge], Problems]:
    """Every challenge that can be used, and what is wrong with packages that provide others."""
    challenges = []
    problems = Problems()
    for name in challenge_names():
        try:
            challenges.append(challenge(name))
        except BadInput as bad:
            problems.merge(bad.problems)
        for number, point in enumerate(entry_points(group=GROUP, name=name)):
            if name in _built_in() or number:
                problems.merge(_bad_plugin(point, f"a second challenge '{name}'", "a name of its own").problems)
    return challenges, problems
