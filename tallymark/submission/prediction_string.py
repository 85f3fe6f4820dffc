"""Files with one row per item and a prediction string: the records of all its objects, separated by spaces."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.core.problems import Problems, clip
from tallymark.data.annotations import Annotations, G
from tallymark.data.items import Items
from tallymark.geometry import Geometry
from tallymark.io.tables import Table, number_text, write_parts
from tallymark.io.tokens import read_numbers, read_records, split_cell
from tallymark.submission.dialect import Note, Row
from tallymark.submission.table_checks import one_row_each, open_table, read_ids


@dataclass(frozen=True, eq=False)
class PredictionStrings:
    """The records of all prediction strings of a file.

    item: (n,) the item of each record, which is also its row in `table`. values: (n, fields) its numbers.
    words: the last field of each record where that is a class name; otherwise empty.
    """

    table: Table
    items: Items
    column: str
    item: np.ndarray
    values: np.ndarray
    words: pl.Series

    def refuse(self, bad: np.ndarray, problems: Problems, kind: str, expected: str, remedy: str) -> PredictionStrings:
        """The other records, without those where `bad` is true; every row with one is reported."""
        if not bad.any():
            return self
        rows, first = np.unique(self.item[bad], return_index=True)
        example = dict(zip(rows.tolist(), np.flatnonzero(bad)[first].tolist(), strict=True))

        def found(row: int) -> str:
            record = example[row]
            numbers = " ".join(f"{value:g}" for value in self.values[record])
            return clip(f"{numbers} {self.words[record]}" if len(self.words) else numbers)

        self.table.report(problems, kind, rows, self.column, expected, remedy, ids=self.items.ids, found=found)
        return self._keep(~bad)

    def only_numbers(self, problems: Problems) -> PredictionStrings:
        """The records of finite numbers; rows with others are reported."""
        finite = np.isfinite(self.values)
        if finite.all():
            return self
        bad = ~finite.all(axis=1)
        cells = self.table.text(self.column)
        ends_in_word = len(self.words) > 0
        width = self.values.shape[1] + ends_in_word

        def found(row: int) -> str:
            tokens = split_cell(cells[row])
            if ends_in_word:
                del tokens[width - 1 :: width]
            return clip(next((token for token in tokens if not is_number(token)), cells[row]))

        rows = np.unique(self.item[bad])
        remedy = "write plain decimal numbers (no nan, no inf)"
        self.table.report(
            problems, "not_a_number", rows, self.column, "finite numbers", remedy, ids=self.items.ids, found=found
        )
        return self._keep(~bad)

    def _keep(self, good: np.ndarray) -> PredictionStrings:
        words = self.words.filter(pl.Series(good)) if len(self.words) else self.words
        return replace(self, item=self.item[good], values=self.values[good], words=words)


@dataclass(frozen=True)
class PredictionStringColumn:
    """The layout of such a file: its two columns, and the fields of a record.

    word: whether the last field is a class name instead of a number.
    """

    id_column: str
    column: str
    fields: tuple[str, ...]
    word: bool = False

    def read(self, path: str | Path, problems: Problems) -> PredictionStrings | None:
        """The records of a file; unreadable rows are reported and have none."""
        table = self.open(path, problems)
        return None if table is None else self.split(*table, problems)

    def open(self, path: str | Path, problems: Problems) -> tuple[Table, Items] | None:
        """The rows of a file, one for each item; None, with a problem, if it cannot be read."""
        table = open_table(path, (self.id_column, self.column), problems, exactly=True)
        if table is None:
            return None
        table, ids = read_ids(table, self.id_column, problems)
        return one_row_each(table, ids, self.id_column, problems)

    def split(self, table: Table, items: Items, problems: Problems) -> PredictionStrings:
        """The records of the rows that `open` returned."""
        width = len(self.fields)
        cells = table.text(self.column)
        tokens = read_records(cells, width) if self.word else read_numbers(cells)
        values = tokens.values
        counts = tokens.counts
        uneven = counts % width != 0
        if uneven.any():
            table.report(
                problems,
                "token_count",
                np.flatnonzero(uneven),
                self.column,
                f"{width} values for each object: {' '.join(self.fields)}",
                "write every object with all its values",
                ids=items.ids,
                found=lambda row: f"{counts[row]} values in {clip(cells[row])}",
            )
            values = values[~np.repeat(uneven, counts)]
        item = np.repeat(np.arange(len(items)), np.where(uneven, 0, counts // width))
        values = values.reshape(-1, width)[:, : width - self.word]
        return PredictionStrings(table, items, self.column, item, values, tokens.words).only_numbers(problems)

    def write(
        self,
        annotations: Annotations[G],
        values: Callable[[Annotations[G]], Sequence[np.ndarray | pl.Series]],
        path: str | Path,
    ) -> None:
        """Write one row per item; `values` gives the columns of the records, numbers or text."""
        write_parts(path, (self._rows(part, values(part)) for part in annotations.parts()))

    def _rows(
        self, annotations: Annotations[Geometry], values: Sequence[np.ndarray | pl.Series]
    ) -> dict[str, pl.Series]:
        texts = [value if isinstance(value, pl.Series) else number_text(value) for value in values]
        records = pl.select(pl.concat_str(texts, separator=" ")).to_series()
        strings = (
            pl.DataFrame({"item": annotations.item, "text": records})
            .group_by("item", maintain_order=True)
            .agg(pl.col("text").str.join(" "))
        )
        cells = pl.DataFrame({"item": np.arange(len(annotations.items))}).join(strings, "item", "left")
        return {self.id_column: annotations.items.ids, self.column: cells.sort("item")["text"]}

    def columns(self, header: list[str], rule_options: object) -> list[str] | None:
        """The id column and the prediction string; None if the header lacks one."""
        official = [self.id_column, self.column]
        return official if set(official) <= set(header) else None

    def filler(self, header: list[str], rule_options: object) -> dict[str, str]:
        """The cells of an item without objects."""
        return {self.column: ""}

    def repair(
        self,
        rows: list[Row],
        note: Note,
        repair_record: Callable[[list[str]], tuple[list[str] | None, str]],
        words: Container[str] = (),
    ) -> list[dict[str, str]]:
        """One row for the item, with all records that can be kept.

        Parameters
        ----------
        repair_record
            Returns the valid record of some tokens, None to drop it, and what was changed, empty for nothing.
        words
            Class names: one of them always ends a record, so that a missing value costs one record only.
        """
        kept: list[str] = []
        for row in rows:
            if row is not rows[0]:
                note(row, "joined with the item's first row", row.cells[self.column], "")
            for tokens in self._records(row, words, note):
                record, what = repair_record(tokens)
                if what:
                    note(row, what, " ".join(tokens), " ".join(record or []))
                kept.extend(record or [])
        return [{self.column: " ".join(kept)}]

    def _records(self, row: Row, words: Container[str], note: Note) -> list[list[str]]:
        """The complete records of a row."""
        tokens = row.cells[self.column].split()
        width = len(self.fields)
        if not self.word and len(tokens) % width:
            # Without class names it is unknown where a value is missing, and all later values are shifted.
            note(row, f"dropped a row of {len(tokens)} values, not a multiple of {width}", " ".join(tokens), "")
            return []
        records = []
        start = 0
        for at, token in enumerate(tokens):
            if at + 1 - start == width or token in words:
                record = tokens[start : at + 1]
                start = at + 1
                if len(record) == width:
                    records.append(record)
                else:
                    note(row, f"dropped a record of {len(record)} values", " ".join(record), "")
        if start < len(tokens):
            note(row, f"dropped {len(tokens) - start} values at the end", " ".join(tokens[start:]), "")
        return records


def is_number(text: str) -> bool:
    """Whether a text is a finite decimal number. Unlike `float`, rejects `1_000` and Unicode digits and spaces."""
    try:
        return "_" not in text and text.isascii() and text.isprintable() and math.isfinite(float(text))
    except ValueError:
        return False
