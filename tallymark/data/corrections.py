"""Corrections: what a reviewer marked on a page as right, wrong or missed, read strictly from `corrections.json`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tallymark.core.problems import Problem, Problems, clip
from tallymark.geometry.coincidence import finite_number
from tallymark.io.archives import read_bytes
from tallymark.io.json_text import read_json, show

VERDICTS = ("right", "wrong", "unsure")
REMEDY = "save the file again from the page, or correct this entry"


@dataclass(frozen=True)
class Mark:
    """One object that a reviewer marked: right and missed objects are there, wrong ones are not.

    shape: as the JSON file has it. label: the name of its class, None if it has none. score: of the prediction.
    where: its position in the file.
    """

    item: str
    there: bool
    shape: object
    label: str | None
    score: float | None
    where: str


@dataclass(frozen=True)
class ItemLabel:
    """The class of a whole item: its name; None where the reviewer only knows that the present one is wrong."""

    name: str | None
    where: str


@dataclass(frozen=True, eq=False)
class Corrections:
    """The content of a file: the marks, and the items that were reviewed.

    complete: for each item whether the reviewer says that nothing else is in it. labels: of whole items.
    """

    file: str
    fingerprint: str
    complete: Mapping[str, bool]
    marks: tuple[Mark, ...]
    labels: Mapping[str, ItemLabel]

    def problem(self, kind: str, item: str, where: str, found: str, expected: str, remedy: str = REMEDY) -> Problem:
        """A problem with one entry of the file."""
        return Problem(kind, self.file, found, expected, remedy, item=item, column=where)


def read_corrections(path: str | Path, challenge: str, problems: Problems) -> Corrections | None:
    """Read a file of corrections; None, with all problems, if it is not one of this challenge."""
    before = problems.total
    content = read_json(Path(path), problems, expected="corrections.json of a page", remedy=REMEDY)
    if content is None:
        return None
    reader = _Reader(str(path), problems)
    if not isinstance(content, dict) or content.get("tallymark") != "corrections" or content.get("version") != 1:
        found, expected = show(content), '{"tallymark": "corrections", "version": 1, …}'
        problems.add(Problem("not_corrections", str(path), found, expected, "give a file that a review page saved"))
        return None
    if content.get("challenge") != challenge:
        found, remedy = f"corrections of {show(content.get('challenge'))}", "give the corrections of this challenge"
        problems.add(Problem("other_challenge", str(path), found, challenge, remedy))
    items = reader.mapping(content.get("items"), None, "items")
    complete = {item: reader.flag(entry.get("complete", False), item) for item, entry in reader.entries(items)}
    marks = [mark for item, entry in reader.entries(items, quiet=True) for mark in reader.marks(item, entry)]
    labels = {}
    for item, entry in reader.entries(items, quiet=True):
        if (label := reader.item_label(item, entry)) is not None:
            labels[item] = label
    if problems.total > before:
        return None
    fingerprint = hashlib.sha256(read_bytes(path)).hexdigest()
    return Corrections(str(path), fingerprint, complete, tuple(marks), labels)


@dataclass(frozen=True)
class _Reader:
    """Values of one file, checked; whatever is wrong is a problem with the item and the position."""

    file: str
    problems: Problems

    def refuse(self, item: str | None, where: str, found: object, expected: str) -> None:
        problem = Problem("bad_correction", self.file, show(found), expected, REMEDY, item=item, column=where)
        self.problems.add(problem)

    def mapping(self, value: object, item: str | None, where: str) -> dict[str, object]:
        if isinstance(value, dict):
            return value
        self.refuse(item, where, value, "an object {…}")
        return {}

    def entries(self, items: Mapping[str, object], *, quiet: bool = False) -> Iterator[tuple[str, dict[str, object]]]:
        """The entry of each item; `quiet` where a bad one was reported before."""
        for item, value in items.items():
            if isinstance(value, dict):
                yield item, value
            elif not quiet:
                self.refuse(item, "items", value, "an object {…}")

    def flag(self, value: object, item: str) -> bool:
        if not isinstance(value, bool):
            self.refuse(item, "complete", value, "true or false")
        return value is True

    def marks(self, item: str, entry: Mapping[str, object]) -> Iterator[Mark]:
        """The marked objects of an item; those that the reviewer is unsure about are none."""
        self._check_windows(item, entry.get("windows", []))
        for group in ("predictions", "truths", "missed"):
            listed = entry.get(group, [])
            if not isinstance(listed, list):
                self.refuse(item, group, listed, "a list […]")
                continue
            for number, value in enumerate(listed):
                where = f"{group}[{number}]"
                fields = self.mapping(value, item, where)
                verdict = "right" if group == "missed" else self._verdict(item, where, fields)
                if not fields or verdict not in ("right", "wrong"):
                    continue
                label, score = self._label(item, where, fields), self._score(item, where, fields)
                yield Mark(item, verdict == "right", fields.get("shape"), label, score, where)

    def item_label(self, item: str, entry: Mapping[str, object]) -> ItemLabel | None:
        """The class of a whole item, if the reviewer stated it, or that the present one is wrong."""
        if entry.get("label") is None:
            return None
        fields = self.mapping(entry["label"], item, "label")
        verdict = self._verdict(item, "label", fields) if fields else ""
        label = self._label(item, "label", fields)
        if verdict == "right" and label is None:
            self.refuse(item, "label.label", None, "the name of the class")
        return ItemLabel(label, "label") if verdict in ("right", "wrong") else None

    def _verdict(self, item: str, where: str, fields: Mapping[str, object]) -> str:
        verdict = fields.get("verdict")
        if fields and verdict not in VERDICTS:
            self.refuse(item, f"{where}.verdict", verdict, " or ".join(VERDICTS))
        return str(verdict)

    def _label(self, item: str, where: str, fields: Mapping[str, object]) -> str | None:
        label = fields.get("label")
        if label is None or isinstance(label, str):
            return label
        self.refuse(item, f"{where}.label", label, "the name of a class, or null")
        return None

    def _score(self, item: str, where: str, fields: Mapping[str, object]) -> float | None:
        if fields.get("score") is None:
            return None
        try:
            return finite_number(fields["score"])
        except ValueError:
            self.refuse(item, f"{where}.score", fields["score"], "a finite number, or null")
            return None

    def _check_windows(self, item: str, windows: object) -> None:
        """Windows are pairs of seconds; they say what was reviewed, and change nothing by themselves."""
        for window in windows if isinstance(windows, list) else [windows]:
            try:
                start, stop = (finite_number(edge) for edge in window) if isinstance(window, list) else (1.0, 0.0)
            except (ValueError, TypeError):
                start, stop = 1.0, 0.0
            if start > stop:
                self.refuse(item, "windows", window, "pairs of start and stop in seconds")


def class_index(name: str | None, classes: tuple[str, ...]) -> int | None:
    """The index of a class; -1 without a name, and None for one that is not known. Unnamed classes go by number."""
    if name is None:
        return -1
    if name in classes:
        return classes.index(name)
    return int(name) if not classes and name.isascii() and name.isdigit() and len(name) < 10 else None


def unknown_class(name: str | None, classes: tuple[str, ...]) -> tuple[str, str]:
    """What was found and expected, for a message about a class that is not known."""
    return f"class {clip(name or '')}", f"one of {len(classes)} classes" if classes else "the number of a class"
