"""Pascal VOC: an XML file for each image, with `<object>` elements that have a `<name>` and a `<bndbox>`.

A file belongs to the image of the same name, beside it or in another folder (`Annotations/` and `JPEGImages/`), else to
the image that its `<filename>` names. Corners are coordinates in pixels: a box is xmax - xmin wide. An image without a
file is unlabelled. The lists in `ImageSets/` (train.txt, val.txt, test.txt) give the splits, else folders do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tallymark.core.problems import EVERY, UNREADABLE, Problem, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.formats.entries import Entry, catalog_of, items_of
from tallymark.formats.parsing import ParseError
from tallymark.formats.voc_xml import VocFile, parse_voc
from tallymark.geometry import Boxes
from tallymark.io.archives import read_bytes
from tallymark.io.finder import Finder
from tallymark.io.folders import Folder, distinct_names, relative_path, split_of_path
from tallymark.io.images import IMAGE
from tallymark.io.texts import beginning, read_lines

ROOT_ELEMENT = re.compile(r"<annotation[\s>]")
SPLITS = ("train", "val", "test")
LISTED_NAME = re.compile(r'"([^"]+)"|(\S+)')
"""The name at the beginning of a line of a list."""


def is_voc(path: Path) -> bool:
    """Whether an XML file begins as one of Pascal VOC does."""
    return ROOT_ELEMENT.search(beginning(path) or "") is not None


def read_voc(listed: Folder, problems: Problems) -> Catalog | None:
    """Images with bounding boxes; None if no XML file in the folder is one of Pascal VOC."""
    every = listed.ending({".xml"})
    if not any(map(is_voc, every)):
        return None
    images = listed.ending(IMAGE.suffixes)
    stems = {path.stem for path in images}
    tables = [path for path in every if path.stem in stems or is_voc(path)]
    notes = Problems(EVERY)
    file_of = _match(tables, images, listed.root, notes, problems)
    splits = _listed_splits(listed, problems)
    names = distinct_names(images, listed.root, lambda path: path.name)
    entries = []
    for path in images:
        table = file_of[path].path if path in file_of else None
        split = _split(splits, path, table, listed.root)
        entries.append(Entry(names[path], path, split, table, labelled=path in file_of))
    missing = [(name, file) for name, file in file_of.items() if isinstance(name, str)]
    for name, file in missing:
        split = _split(splits, file.path.with_name(name), file.path, listed.root)
        entries.append(Entry(name, None, split, file.path, labelled=True))
    files = [file_of.get(path) for path in images] + [file for _, file in missing]
    truth = _truth(entries, files, problems)
    sizes = np.array([(np.nan, np.nan) if file is None else (file.width, file.height) for file in files])
    return replace(catalog_of(listed.root, IMAGE, entries, truth, notes), size=sizes.reshape(-1, 2))


def _match(
    tables: Sequence[Path], images: Sequence[Path], root: Path, notes: Problems, problems: Problems
) -> dict[Path | str, VocFile]:
    """The annotation file of each image; under its name where the image is missing."""
    by_name = Finder(images, root)
    by_stem = Finder([path.with_suffix("") for path in images], root)
    with_suffix = {path.with_suffix(""): path for path in images}
    file_of: dict[Path | str, VocFile] = {}
    for table in tables:
        split = split_of_path(table, root)
        found_images = [with_suffix[path] for path in by_stem.candidates(table.stem, table.parent, split)]
        item = found_images[0].name if len(found_images) == 1 else None
        try:
            file = parse_voc(table, read_bytes(table), problems, item)
        except OSError as error:
            found = (error.strerror or type(error).__name__).lower()
            problems.add(Problem(UNREADABLE, str(table), found, "a Pascal VOC file", "check the file", item=item))
            continue
        if file is None:
            continue
        if len(found_images) != 1 and file.filename:
            found_images = by_name.candidates(file.filename, table.parent, split) or found_images
        if len(found_images) > 1:
            found = " and ".join(path.relative_to(root).as_posix() for path in found_images[:3])
            remedy = "keep each image beside its file"
            notes.add(Problem("ambiguous_file", str(table), found, "one image of that name", remedy))
            continue
        key = found_images[0] if found_images else Path(file.filename or f"{table.stem}.jpg").name
        if key in file_of:
            found, expected = f"another file for {key}: {file_of[key].path}", "one file for each image"
            notes.add(Problem("ambiguous_file", str(table), found, expected, "remove one of the two"))
        else:
            file_of[key] = file
    return file_of


def _listed_splits(listed: Folder, problems: Problems) -> dict[str, str]:
    """The split of each image that a list in `ImageSets/` names, by its name without a suffix.

    Folders may precede a name; one with a blank is in quotes.
    """
    splits: dict[str, str] = {}
    for path in listed.named(*(f"{split}.txt" for split in SPLITS)):
        if "ImageSets" in path.parts:
            rows = [LISTED_NAME.match(text.strip()) for _, text in read_lines(path, problems) or []]
            splits |= dict.fromkeys((row[1] or row[2] for row in rows if row is not None), path.stem)
    return splits


def _split(splits: Mapping[str, str], image: Path, table: Path | None, root: Path) -> str:
    """The split of an image: that of the longest listed name at the end of its path, or of its file; else its folder's.

    Both are tried, since a list may name the folders of either.
    """
    places = [relative_path(path, root).with_suffix("").parts for path in (image, table) if path is not None]
    ends = ["/".join(parts[at:]) for parts in places for at in range(len(parts))] if splits else []
    listed = [end for end in ends if end in splits]
    return splits[max(listed, key=lambda end: end.count("/"))] if listed else split_of_path(image, root)


def _truth(entries: Sequence[Entry], files: Sequence[VocFile | None], problems: Problems) -> Annotations[Boxes]:
    item: list[int] = []
    box: list[tuple[float, float, float, float]] = []
    name: list[str] = []
    line: list[int] = []
    for at, (entry, file) in enumerate(zip(entries, files, strict=True)):
        for one in [] if file is None else file.objects:
            try:
                box.append(one.box())
            except ParseError as bad:
                problems.add(bad.at(entry.table or Path(entry.id), one.line, entry.id))
                continue
            item.append(at)
            name.append(one.name)
            line.append(one.line)
    classes = tuple(sorted(set(name)))
    number = {text: at for at, text in enumerate(classes)}
    several = len(classes) > 1
    return Annotations.from_rows(
        items_of(entries),
        np.array(item, np.int64),
        Boxes.of(np.array(box, float).reshape(-1, 4)),
        label=np.array([number[text] for text in name], np.int64) if several else None,
        classes=classes if several else (),
        line=np.array(line, np.int64),
    )
