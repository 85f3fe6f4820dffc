"""Files of the food challenge: the three most probable class ids of each photograph, in two published forms.

`official`: `image_name,pred1,pred2,pred3`. `kaggle`: `image_name,label1 label2 label3`, one cell with spaces between.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl

from tallymark.challenges.food.rule import RuleOptions
from tallymark.core.problems import Problems, clip
from tallymark.data.annotations import Annotations, offset_type
from tallymark.data.items import Items
from tallymark.geometry import Labels
from tallymark.io.folders import distinct_names, media_files, test_folder
from tallymark.io.suffixes import IMAGE_SUFFIXES
from tallymark.io.tables import BLANKS, Table, number_text, read_table, write_table
from tallymark.io.tokens import NOT_AN_INTEGER, read_integer_cells, read_integer_columns
from tallymark.submission.dialect import Note, Row
from tallymark.submission.table_checks import bad_header, one_row_each, read_ids, report_break_tags

FORMS = ("official", "kaggle")
ID_NAMES = ("image_name", "img_name")


def read_truth(path: str | Path, rule_options: RuleOptions, problems: Problems) -> Annotations[Labels] | None:
    """`image_name,label` (or `img_name`): one class id per photograph."""
    table = _open(path, ["label"], problems)
    if table is None:
        return None
    id_column = _id_column(table.header)
    if id_column is None or "label" not in table.header:
        bad_header(table, "image_name,label", "name the columns image_name,label", problems)
        return None
    table, ids = read_ids(table, id_column, problems)
    table, items = one_row_each(table, ids, id_column, problems)
    return _labels(table, items, ["label"], 1, rule_options, problems)


def read(path: str | Path, rule_options: RuleOptions, problems: Problems) -> Annotations[Labels] | None:
    table = _open(path, _ranked(rule_options), problems)
    if table is None:
        return None
    header = columns(table.header, rule_options)
    if header is None or len(header) != len(table.header):
        names = ",".join(_ranked(rule_options))
        expected = f"image_name,{names}, or image_name and one column of {rule_options.k} labels"
        bad_header(table, expected, "name the columns of either form", problems)
        return None
    table, ids = read_ids(table, header[0], problems)
    table, items = one_row_each(table, ids, header[0], problems)
    return _labels(table, items, header[1:], rule_options.k, rule_options, problems)


def _open(path: str | Path, integers: list[str], problems: Problems) -> Table | None:
    """A table; where it was copied from the web page of the challenge, with a problem for its line-break tags."""
    table = read_table(path, problems, integers)
    return None if table is None else report_break_tags(table, problems)


def _ranked(rule_options: RuleOptions) -> list[str]:
    """The columns of the official form, the most probable class first."""
    return [f"pred{rank + 1}" for rank in range(rule_options.k)]


def _id_column(header: list[str]) -> str | None:
    return next((name for name in ID_NAMES if name in header), None)


def _labels(
    table: Table, items: Items, names: list[str], count: int, rule_options: RuleOptions, problems: Problems
) -> Annotations[Labels]:
    """The `count` class ids in these columns of each row; rows without them are reported and get none."""
    values, given = _read_integers(table, names, count)
    good = np.ones(len(items), bool)

    def refuse(kind: str, bad: np.ndarray, expected: str, remedy: str) -> None:
        rows = np.flatnonzero(bad & good)  # one problem per row: the others would follow from it
        good[rows] = False
        table.report(
            problems,
            kind,
            rows,
            ",".join(names),
            expected,
            remedy,
            ids=items.ids,
            found=lambda row: clip(",".join(str(table.cells[name][row]).strip(BLANKS) for name in names)),
        )

    limit = rule_options.num_classes
    refuse(
        "label_count", given != count, f"{count} labels", "write as many labels in every row, the most probable first"
    )
    if values.min(initial=0) < 0 or (limit is not None and values.max(initial=0) >= limit):
        lowest, highest = values.min(axis=1), values.max(axis=1)
        refuse("not_an_integer", lowest == NOT_AN_INTEGER, "class ids as whole numbers", "write 3, not 3.0 or a name")
        outside = (lowest < 0) | (highest >= (np.inf if limit is None else limit))
        expected = f"class ids from 0 {'on' if limit is None else f'to {limit - 1}'}"
        remedy = "count classes from 0; for another number of classes, add class_list.txt or give --rule num_classes=N"
        refuse("label_range", outside, expected, remedy)
    if rule_options.duplicates == "error":
        ranked = np.sort(values, axis=1)
        repeated = (ranked[:, 1:] == ranked[:, :-1]).any(axis=1)
        refuse("duplicate_label", repeated, "different labels", "name each label once")
    label = (values if good.all() else values[good]).ravel()
    offsets = np.zeros(len(items) + 1, offset_type(len(items) * count))
    np.cumsum(good, out=offsets[1:])
    offsets *= count
    line = None if count > 1 else table.line if good.all() else table.line[good]  # several labels: `items.line`
    return Annotations(items, offsets, Labels(label), line=line)


def _read_integers(table: Table, names: list[str], count: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, count) integers in these columns of each row, and how many each has; see `read_integer_columns`."""
    if all(table.is_integer(name) for name in names):
        return table.cells.select(names).to_numpy(order="c", writable=True), np.broadcast_to(count, len(table))
    cells = [table.text(name) for name in names]
    return read_integer_columns(cells) if len(names) > 1 else read_integer_cells(cells[0], count)


def write(annotations: Annotations[Labels], path: str | Path, form: str) -> None:
    """Every item must have the same number of labels, the most probable first."""
    per_item = set(annotations.counts.tolist())
    if len(per_item) > 1:
        raise ValueError(f"items have {sorted(per_item)} labels; write the same number for each")
    k = per_item.pop() if per_item else 3
    texts = [number_text(column) for column in annotations.shapes.label.reshape(-1, k).T]
    table: dict[str, pl.Series] = {"image_name": annotations.items.ids}
    if form == "official":
        table |= {f"pred{rank + 1}": text for rank, text in enumerate(texts)}
    else:
        name = " ".join(f"label{rank + 1}" for rank in range(k))
        table[name] = pl.select(pl.concat_str(texts, separator=" ")).to_series()
    write_table(path, table)


def columns(header: list[str], rule_options: RuleOptions) -> list[str] | None:
    id_column = _id_column(header)
    ranked = _ranked(rule_options)
    others = [name for name in header if name != id_column]
    if id_column is None or not (set(ranked) <= set(others) or len(others) == 1):
        return None
    return [id_column, *(ranked if set(ranked) <= set(others) else others)]


def filler(header: list[str], rule_options: RuleOptions) -> dict[str, str]:
    return _spread([str(label) for label in range(rule_options.k)], header[1:])


def _spread(labels: list[str], names: list[str]) -> dict[str, str]:
    return dict(zip(names, labels, strict=True)) if len(names) > 1 else {names[0]: " ".join(labels)}


def repair(rows: list[Row], rule_options: RuleOptions, note: Note) -> list[dict[str, str]]:
    """The readable labels of the first row, filled up with the lowest class ids that are not among them."""
    for row in rows[1:]:
        note(row, "dropped a second row of the item", ",".join(row.cells.values()), "")
    row = rows[0]
    header = columns(list(row.cells), rule_options) or []
    written = " ".join(row.cells[name] for name in header[1:])
    labels = [label for label in map(_label, written.split()) if label is not None]
    if rule_options.num_classes is not None:
        labels = [label for label in labels if label < rule_options.num_classes]
    if rule_options.duplicates == "error":
        labels = list(dict.fromkeys(labels))
    kept = labels[: rule_options.k]
    kept += [label for label in range(2 * rule_options.k) if label not in kept][: rule_options.k - len(kept)]
    repaired = [str(label) for label in kept]
    if repaired != written.split():
        note(row, f"made {rule_options.k} labels", written, " ".join(repaired))
    return [_spread(repaired, header[1:])]


def _label(text: str) -> int | None:
    """A class id; 3.0, as a data frame with missing values writes it, is 3."""
    whole = re.fullmatch(r"([0-9]{1,9})(\.0*)?", text)
    return int(whole[1]) if whole else None


def folder_ids(folder: Path, problems: Problems) -> list[str]:
    root = test_folder(folder)
    paths = media_files(root, IMAGE_SUFFIXES, problems)
    return list(distinct_names(paths, root, lambda path: path.name).values())
