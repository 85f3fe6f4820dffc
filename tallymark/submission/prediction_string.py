"""Files with one row per item, whose objects are one string of records: wheat's boxes, lyft's volumes."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tallymark.core.problems import Problems, clip
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.io.tables import Table, number_text, write_table
from tallymark.io.tokens import read_numbers, read_records, split_cell
from tallymark.submission.dialect import Note, Row
from tallymark.submission.table_checks import one_row_each, open_table, read_ids


@dataclass(frozen=True, eq=False)
class PredictionStrings:
    """The records of a file with one row per item: `values[k]` are the numbers of record k, `words[k]` its last word.

    `item[k]` is the item of record k, which is also its row in `table`.
    """

    table: Table
    items: Items
    column: str
    item: np.ndarray
    values: np.ndarray
    words: pl.Series

    def refuse(self, bad: np.ndarray, problems: Problems, kind: str, expected: str, remedy: str) -> PredictionStrings:
        """Report every row that has a record where `bad` is true, and leave these records out."""
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
        """Report the rows with a number that is none, and leave these records out."""
        finite = np.isfinite(self.values)
        if finite.all():
            return self
        bad = ~finite.all(axis=1)
        cells, words_last = self.table.text(self.column), len(self.words) > 0
        width = self.values.shape[1] + words_last

        def found(row: int) -> str:
            tokens = split_cell(cells[row])
            if words_last:
                del tokens[width - 1 :: width]
            return clip(next((token for token in tokens if not is_number(token)), cells[row]))

        rows, remedy = np.unique(self.item[bad]), "write plain decimal numbers (no nan, no inf)"
        self.table.report(
            problems, "not_a_number", rows, self.column, "finite numbers", remedy, ids=self.items.ids, found=found
        )
        return self._keep(~bad)

    def _keep(self, good: np.ndarray) -> PredictionStrings:
        words = self.words.filter(pl.Series(good)) if len(self.words) else self.words
        return replace(self, item=self.item[good], values=self.values[good], words=words)


@dataclass(frozen=True)
class PredictionStringColumn:
    """The form of such a file: its two columns, and the fields of a record. With `word`, the last is no number."""

    id_column: str
    column: str
    fields: tuple[str, ...]
    word: bool = False

    def read(self, path: str | Path, problems: Problems) -> PredictionStrings | None:
        """The records of a file; rows that cannot be read are reported and have none."""
        table = self.open(path, problems)
        return None if table is None else self.split(*table, problems)

    def open(self, path: str | Path, problems: Problems) -> tuple[Table, Items] | None:
        """The rows of a file, one for each item."""
        table = open_table(path, (self.id_column, self.column), problems, exactly=True)
        if table is None:
            return None
        table, ids = read_ids(table, self.id_column, problems)
        return one_row_each(table, ids, self.id_column, problems)

    def split(self, table: Table, items: Items, problems: Problems) -> PredictionStrings:
        """The records of rows that were opened."""
        width = len(self.fields)
        cells = table.text(self.column)
        tokens = read_records(cells, width) if self.word else read_numbers(cells)
        values, counts = tokens.values, tokens.counts
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

    def write(self, annotations: Annotations[Any], values: Sequence[np.ndarray | pl.Series], path: str | Path) -> None:
        """Write one row per item; `values` are the columns of the records."""
        texts = [value if isinstance(value, pl.Series) else number_text(value) for value in values]
        records = pl.select(pl.concat_str(texts, separator=" ")).to_series()
        strings = (
            pl.DataFrame({"item": annotations.item, "text": records})
            .group_by("item", maintain_order=True)
            .agg(pl.col("text").str.join(" "))
        )
        cells = pl.DataFrame({"item": np.arange(len(annotations.items))}).join(strings, "item", "left")
        write_table(path, {self.id_column: annotations.items.ids, self.column: cells.sort("item")["text"]})

    def columns(self, header: list[str], rule_options: object) -> list[str] | None:
        official = [self.id_column, self.column]
        return official if set(official) <= set(header) else None

    def filler(self, header: list[str], rule_options: object) -> dict[str, str]:
        return {self.column: ""}

    def repair(
        self,
        rows: list[Row],
        note: Note,
        mend_record: Callable[[list[str]], tuple[list[str] | None, str]],
        words: Container[str] = (),
    ) -> list[dict[str, str]]:
        """One row for the item, with the records that can be kept.

        `mend_record(tokens)` returns the record to keep (None: drop it) and what was changed ("": nothing).
        `words` that end a record are landmarks: behind one, reading starts anew.
        """
        kept: list[str] = []
        for row in rows:
            if row is not rows[0]:
                note(row, "joined with the item's first row", row.cells[self.column], "")
            for tokens in self._cut(row, words, note):
                record, what = mend_record(tokens)
                if what:
                    note(row, what, " ".join(tokens), " ".join(record or []))
                kept.extend(record or [])
        return [{self.column: " ".join(kept)}]

    def _cut(self, row: Row, words: Container[str], note: Note) -> list[list[str]]:
        """The complete records of a row."""
        tokens, width = row.cells[self.column].split(), len(self.fields)
        if not self.word and len(tokens) % width:
            # Without landmarks nobody can tell where the value is missing, and all later ones are shifted.
            note(row, f"dropped a row of {len(tokens)} values, not a multiple of {width}", " ".join(tokens), "")
            return []
        records, start = [], 0
        for at, token in enumerate(tokens):
            if at + 1 - start == width or token in words:
                record, start = tokens[start : at + 1], at + 1
                if len(record) == width:
                    records.append(record)
                else:
                    note(row, f"dropped a record of {len(record)} values", " ".join(record), "")
        if start < len(tokens):
            note(row, f"dropped {len(tokens) - start} values at the end", " ".join(tokens[start:]), "")
        return records


def is_number(text: str) -> bool:
    """Whether the text is a finite decimal number (Python would also take `1_000`, and odd blanks around it)."""
    try:
        return "_" not in text and text.isascii() and text.isprintable() and math.isfinite(float(text))
    except ValueError:
        return False
