"""A ranked page of a folder of submissions: each is checked, and scored by the official rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tallymark.api.submission_files import Found, list_submissions
from tallymark.core.engines.choice import BY_DEFAULT, EngineChoice
from tallymark.core.engines.mapping import map_items
from tallymark.core.planned_outputs import refuse_outputs
from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.core.registry import Challenge, Scoring, challenge
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.data.public_split import read_public
from tallymark.geometry import Geometry
from tallymark.scoring.alignment import (
    PathLike,
    expected_items,
    items_of,
    listed_answers,
    pair_answers,
    read_answers_and_others,
)
from tallymark.scoring.board import Board, Entry, Refused
from tallymark.scoring.ranking import draw_weights, intervals, places, ranked_order, verdicts
from tallymark.scoring.score import Score

RESAMPLES = 1000
MOST_WEIGHTS = 1 << 27
"""Items times resamples at most: half a gigabyte. Fewer samples are drawn of very many items."""
NO_NAMES = pl.Series(dtype=pl.String)
GROUPS = 12
"""Groups whose scores are shown: those with most items."""


@dataclass(frozen=True, eq=False)
class _Weights:
    """What every submission is scored on: (items,) whether an item counts, and bootstrap samples of those ranked."""

    ranked: np.ndarray
    public: np.ndarray | None
    groups: Sequence[np.ndarray]
    resamples: int
    seed: int

    @cached_property
    def samples(self) -> np.ndarray:
        """(resamples, items) how often an item is in each sample. Too large to travel: workers draw them again."""
        return draw_weights(self.resamples, self.ranked, self.seed)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "samples"}


class _File(NamedTuple):
    """A submission: where it is, its name on the board, and the name of an equal one before it, if there is one."""

    path: Path
    name: str
    same_as: str


@dataclass(frozen=True, eq=False)
class _Scored:
    """A submission before it has a place; resampled: (resamples,) its score on each sample."""

    entry: Entry
    resampled: np.ndarray


def board(
    name: str,
    folder: PathLike,
    truth: PathLike,
    out: PathLike | None = None,
    *,
    public: PathLike | None = None,
    images: PathLike | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    engine: EngineChoice | None = None,
    **rule_options: object,
) -> Board:
    """Rank the submissions in a folder by the official rule, with bootstrap intervals, and write a page about them.

    Parameters
    ----------
    name: the challenge.
    folder: the submissions, one file each; folders in it, one for each team, are searched too.
    truth, images, rule_options: as for `score`.
    out: the HTML page to write; none by default.
    public: a CSV file with the ids of the public items, or with `id,group,split` as `public_private` saves it. The
        ranking is then that of the private items.
    seed, resamples: of the bootstrap over items, with the same samples for all submissions.
    engine: where submissions are scored: by default on all cores of this machine.
    """
    if out is not None:
        refuse_outputs([out], inputs=[folder, truth, public, images], force=True)
    what = challenge(name)
    engine = engine or BY_DEFAULT
    problems = Problems()
    options = what.parse_rule_options(rule_options, truth)
    if seed < 0 or resamples < 1:
        given = f"seed={seed}, resamples={resamples}"
        problems.add(Problem("bad_option", "board", given, "a seed from 0 on, at least one resample", "give e.g. 0"))
    found = list_submissions(Path(folder), getattr(what.dialect, "SUFFIXES", (".csv",)), problems, (truth, public, out))
    public_ids = None if public is None else read_public(public, problems)
    answers, unknown = read_answers_and_others(what, truth, options, problems)
    listed = None if images is None else expected_items(what, images, options, items_of(answers), problems)
    answers = listed_answers(what, answers, truth, images, listed, problems)
    options = what.complete_rule_options(Scoring(Path(truth), answers, options, rule_options, problems))
    answers = problems.checked(answers)
    if what.sparse and images is None and not answers.weak:
        answers = _with_named_items(what, answers, found.submissions, public_ids, unknown, options, engine)
    is_public = _public_mask(what, answers.items, public_ids, str(public), problems)
    problems.raise_if_any()
    made = _rank(what, answers, found, is_public, images, unknown, options, (seed, resamples), engine)
    made = replace(made, remarks=(*problems.remarks, *made.remarks))
    if out is not None:
        from tallymark.reporting.board import write_page

        write_page(made, Path(out))
    return made


def _with_named_items(
    what: Challenge,
    answers: Annotations[Geometry],
    files: Sequence[Path],
    public: pl.Series | None,
    unknown: Items,
    options: Any,
    engine: EngineChoice,
) -> Annotations[Geometry]:
    """The truth under the items that it or any submission names, so that all are resampled alike.

    unknown: items without a known truth, which are not scored.
    """
    named = map_items(partial(_named, what.name, options), files, "reading names", _no_names, engine)
    ids = [answers.items.ids, *named, *([] if public is None else [public])]
    everything = Items(pl.concat([one.rename("id") for one in ids]).unique(maintain_order=True))
    everything = Items(everything.ids.filter(pl.Series(unknown.find(everything.ids) < 0)))
    group = answers.items.group
    if group is not None:
        listed = dict(zip(answers.items.ids, group, strict=True))
        everything = replace(everything, group=pl.Series([listed.get(one, "(none)") for one in everything.ids]))
    return answers.reindex(everything)


def _named(challenge_name: str, options: Any, path: Path) -> pl.Series:
    """The ids of the items that a submission names."""
    predicted = challenge(challenge_name).dialect.read(path, options, Problems())
    return NO_NAMES if predicted is None or predicted.weak else predicted.items.ids


def _no_names(path: Path, reason: str) -> pl.Series:
    return NO_NAMES


def _public_mask(
    what: Challenge, items: Items, ids: pl.Series | None, file: str, problems: Problems
) -> np.ndarray | None:
    """Whether each item is public; None if all are ranked alike."""
    if ids is None:
        return None
    listed = Items(ids).spelled_like(items) if what.suffix_optional else Items(ids)
    at = items.find(listed.ids)
    expected, remedy = "ids of the truth", "list public items of the same set"
    problems.add_each(
        "unknown_id", file, np.flatnonzero(at < 0).tolist(),
        lambda row: Problem("unknown_id", file, ids[row], expected, remedy, item=ids[row]),
    )  # fmt: skip
    public = np.zeros(len(items), bool)
    public[at[at >= 0]] = True
    if public.all():
        remedy = "leave some items private, or leave the file out"
        problems.add(Problem("no_private_id", file, "every item of the truth", "private items too", remedy))
    return public


def _rank(
    what: Challenge,
    answers: Annotations[Geometry],
    found: Found,
    public: np.ndarray | None,
    images: PathLike | None,
    unknown: Items,
    options: Any,
    bootstrap: tuple[int, int],
    engine: EngineChoice,
) -> Board:
    seed, asked = bootstrap
    ranked = np.ones(len(answers.items), bool) if public is None else ~public
    resamples = max(1, min(asked, MOST_WEIGHTS // max(len(ranked), 1)))
    group_names, groups = _groups(answers.items, ranked)
    weights = _Weights(ranked, public, groups, resamples, seed)
    guess = what.score(answers, what.baseline.guess(answers, options), options)
    baseline = _scored(f"baseline: {what.baseline.name}", "", guess, weights).entry
    files = [_File(*one) for one in zip(found.submissions, found.names, found.same_as, strict=True)]
    work = partial(_score_file, what.name, answers, images, unknown, options, weights)
    results = map_items(work, files, "scoring", _ended_its_worker, engine)
    scored = [one for one in results if isinstance(one, _Scored)]
    better = guess.better
    entries, sentences = _placed([_beside(one, baseline, better) for one in scored], better)
    return Board(
        challenge=what.name,
        title=what.title,
        rule=what.rule,
        better=better,
        rule_options=options,
        entries=entries,
        baseline=baseline,
        refused=[one for one in results if isinstance(one, Refused)],
        others=found.others,
        verdicts=sentences,
        items=int(ranked.sum()),
        public_items=0 if public is None else int(public.sum()),
        resamples=resamples,
        group_names=group_names,
        group_items=[int(one.sum()) for one in groups],
        remarks=_remarks(answers.items, public, asked, resamples),
    )


def _ended_its_worker(file: _File, reason: str) -> Refused:
    expected, remedy = "a submission that can be scored", "look at the file, or give this machine more memory"
    problem = Problem("worker_died", file.name, reason, expected, remedy)
    return Refused(file.name, BadInput(problem).problems, file.same_as)


def _score_file(
    challenge_name: str,
    answers: Annotations[Geometry],
    images: PathLike | None,
    unknown: Items,
    options: Any,
    weights: _Weights,
    file: _File,
) -> _Scored | Refused:
    """The scores of a file, or its problems; a score that is no number is one."""
    what = challenge(challenge_name)
    path, name, same_as = file
    problems = Problems()
    try:
        predicted = what.dialect.read(path, options, problems)
        pair = pair_answers(what, answers, predicted, path, images, options, problems, unknown)
        result = what.score(*problems.checked(pair), options)
        made = _scored(name, same_as, result, weights)
    except BadInput as bad:
        return Refused(name, bad.problems.about(name), same_as)
    if not np.isfinite(made.entry.score):
        problem = Problem("no_score", name, result.note or "no number", "a score", "predict something that can count")
        return Refused(name, BadInput(problem).problems, same_as)
    return made


def _scored(name: str, same_as: str, result: Score, weights: _Weights) -> _Scored:
    """A score as an entry: every number by the rule itself, with the items that count in it."""
    resampled = result.totals(weights.samples)
    [[low, high]] = intervals(resampled[:, None])
    whole = result.value if weights.public is None else result.total(np.ones(len(weights.ranked)))
    entry = Entry(
        name=name,
        score=whole if weights.public is None else result.total(weights.ranked.astype(float)),
        low=float(low),
        high=float(high),
        public=np.nan if weights.public is None else result.total(weights.public.astype(float)),
        whole=whole,
        groups=tuple(result.total(one.astype(float)) for one in weights.groups),
        same_as=same_as,
    )
    return _Scored(entry, resampled)


def _beside(one: _Scored, baseline: Entry, better: str) -> _Scored:
    value, trivial = one.entry.score, baseline.score
    above = not (value <= trivial if better == "higher" else value >= trivial)
    return replace(one, entry=replace(one.entry, above_baseline=above))


def _placed(scored: Sequence[_Scored], better: Any) -> tuple[list[Entry], list[str]]:
    """The entries in the order of their places, and what the ranking says about neighbours."""
    if not scored:
        return [], []
    values, public = (np.array([getattr(one.entry, name) for one in scored]) for name in ("score", "public"))
    order = ranked_order(values, better)
    place, public_place = places(values, better), places(public, better)
    resampled = np.stack([scored[at].resampled for at in order], axis=1)
    sign = 1 if better == "higher" else -1
    ahead = sign * (resampled[:, :-1] - resampled[:, 1:])
    spans = intervals(ahead)
    entries = []
    for position, at in enumerate(order.tolist()):
        lead = None
        if position < len(spans):
            gain = sign * float(values[at] - values[order[position + 1]])
            lead = (gain + 0.0, float(spans[position, 0]), float(spans[position, 1]))
        entry = replace(scored[at].entry, place=int(place[at]), public_place=int(public_place[at]), ahead=lead)
        entries.append(entry)
    return entries, verdicts(resampled, place[order])


def _groups(items: Items, ranked: np.ndarray) -> tuple[list[str], list[np.ndarray]]:
    """The largest groups of ranked items: their names, and whether each item is of it; none for one group only."""
    if items.group is None:
        return [], []
    group = items.group.to_numpy().astype(str)
    names, counts = np.unique(group[ranked], return_counts=True)
    if len(names) < 2:
        return [], []
    largest = sorted(names[np.argsort(-counts, kind="stable")[:GROUPS]].tolist())
    return largest, [(group == one) & ranked for one in largest]


def _remarks(items: Items, public: np.ndarray | None, asked: int, resamples: int) -> list[str]:
    remarks = []
    if resamples < asked:
        remarks.append(f"{resamples} instead of {asked} bootstrap samples, since there are {len(items)} items")
    if public is not None and items.group is not None:
        sides = pl.DataFrame({"group": items.group, "public": public}).filter(pl.col("group") != "(none)")
        torn = sides.group_by("group").agg(pl.n_unique("public")).filter(pl.col("public") > 1).height
        if torn:
            remarks.append(
                f"{torn} groups have both public and private items, so that the two parts are not independent"
            )
    return remarks
