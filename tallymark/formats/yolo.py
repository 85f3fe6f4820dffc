"""YOLO: a text file for each picture, with rows `class x y width height` in shares of the picture.

(x, y) is the centre. A row may be a class and a polygon instead: then the box around it counts. Label files lie in
`labels/` where the pictures lie in `images/`, or beside the pictures. A picture without a file, or with an empty one,
holds nothing, unless no picture of its part has one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tallymark.core.problems import EVERY, Problem, Problems, clip
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.formats.class_names import read_names
from tallymark.formats.entries import (
    Entry,
    Refused,
    as_number,
    catalog_of,
    first_line,
    items_of,
    read_lines,
)
from tallymark.geometry import Boxes
from tallymark.geometry.labels import MOST_CLASSES
from tallymark.io.folders import Folder, distinct_names, split_of_path
from tallymark.io.images import IMAGE, image_size
from tallymark.io.media import BadMedia

SLACK = 1e-3
"""How far beyond the picture a share may lie: labels are rounded, and drawn over the edge."""


@dataclass
class Found:
    """The objects read so far, as columns."""

    item: list[int] = field(default_factory=list)
    box: list[tuple[float, float, float, float]] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)


def read_yolo(listed: Folder, problems: Problems) -> Catalog | None:
    """Pictures with boxes; None if no text file of the folder is a label file."""
    pictures = listed.ending(IMAGE.suffixes)
    texts = set(listed.ending({".txt"}))
    label = {path: file for path in pictures if (file := _label_file(path, texts)) is not None}
    if not any(_looks_like_labels(file) for file in label.values()):
        return None
    _report_orphans(sorted(texts - set(label.values())), problems)
    names = read_names(listed, problems)
    known = {split_of_path(path, listed.root) for path in label}
    entries = []
    for path, name in distinct_names(pictures, listed.root, lambda path: path.name).items():
        part = split_of_path(path, listed.root)
        entries.append(Entry(name, path, part, label.get(path), part in known, line=0))
    found = Found()
    for at, entry in enumerate(entries):
        if entry.table is not None:
            _read_labels(at, entry, names, found, problems)
    if not names:
        names = tuple(str(kind) for kind in range(max(found.kind, default=0) + 1))
    truth = Annotations.from_rows(
        items_of(entries),
        np.array(found.item, np.int64),
        Boxes.of(np.array(found.box)),
        label=np.array(found.kind, np.int64) if len(names) > 1 else None,
        classes=names if len(names) > 1 else (),
        line=np.array(found.line, np.int64),
    )
    return catalog_of(listed.root, IMAGE, entries, truth, Problems(EVERY))


def _label_file(picture: Path, texts: set[Path]) -> Path | None:
    """The label file of a picture: in `labels` instead of the innermost `images`, beside it, or in `labels` there."""
    name, parts = f"{picture.stem}.txt", picture.parent.parts
    places = [picture.parent, picture.parent / "labels"]
    if "images" in parts:
        last = len(parts) - 1 - parts[::-1].index("images")
        places.insert(0, Path(*parts[:last], "labels", *parts[last + 1 :]))
    return next((place / name for place in places if place / name in texts), None)


def _looks_like_labels(path: Path) -> bool:
    """Whether a text file begins with a row of a class and four shares or a polygon; an empty one in `labels` does."""
    values = [as_number(token) for token in first_line(path).split()]
    if not values:
        return "labels" in path.parent.parts
    return len(values) >= 5 and bool(np.isfinite(values[:5]).all())


def _report_orphans(texts: list[Path], problems: Problems) -> None:
    """Label files without a picture; text files of other kinds are nobody's business."""
    for path in texts:
        if first_line(path).strip() and _looks_like_labels(path):
            expected, remedy = "a picture of the same name", "add the picture, or remove the labels"
            problems.add(Problem("unknown_image", str(path), "labels without a picture", expected, remedy))


def _read_labels(item: int, entry: Entry, names: tuple[str, ...], found: Found, problems: Problems) -> None:
    assert entry.table is not None
    assert entry.file is not None
    rows = read_lines(entry.table, problems)
    if not rows:
        return
    try:
        width, height = image_size(entry.file)
    except BadMedia as bad:
        expected = "a picture, whose size turns shares into pixels"
        problems.add(Problem(bad.kind, str(entry.file), bad.found, expected, bad.remedy, item=entry.id))
        return
    for line, text in rows:
        try:
            kind, (x, y, across, down) = _row(text, names)
        except Refused as bad:
            problems.add(bad.at(entry.table, line, entry.id))
            continue
        found.item.append(item)
        found.box.append(((x - across / 2) * width, (y - down / 2) * height, across * width, down * height))
        found.kind.append(kind)
        found.line.append(line)


def _row(text: str, names: tuple[str, ...]) -> tuple[int, tuple[float, float, float, float]]:
    """The class, and centre and size in shares."""
    tokens = text.split()
    remedy = "mend or remove the row"
    if len(tokens) != 5 and (len(tokens) < 7 or len(tokens) % 2 == 0):
        expected = "class x y width height, or class and a polygon"
        if len(tokens) == 6:
            remedy = "take away the sixth value: a confidence belongs to predictions, not to truth"
        raise Refused("field_count", f"{len(tokens)} values in {clip(text)}", expected, remedy)
    values = np.array([as_number(token) for token in tokens])
    if not np.isfinite(values).all():
        raise Refused("not_a_number", clip(text), "finite numbers", remedy)
    kind, shares = values[0], values[1:]
    classes = len(names) or MOST_CLASSES
    if kind != int(kind) or not 0 <= kind < classes:
        expected = f"a class number from 0 to {classes - 1}"
        raise Refused("unknown_class", tokens[0], expected, "mend the class, or the list of names")
    if shares.min() < -SLACK or shares.max() > 1 + SLACK:
        raise Refused("out_of_bounds", clip(text), "shares of the picture, 0 to 1", "divide pixels by its size")
    if len(shares) > 4:
        low, high = shares.reshape(-1, 2).min(axis=0), shares.reshape(-1, 2).max(axis=0)
        shares = np.concatenate([(low + high) / 2, high - low])
    if shares[2] <= 0 or shares[3] <= 0:
        raise Refused("bad_box", clip(text), "width and height above 0", remedy)
    x, y, across, down = shares.tolist()
    return int(kind), (x, y, across, down)
