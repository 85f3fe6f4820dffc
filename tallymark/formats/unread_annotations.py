"""Recognise annotation files of formats that are not read, by their suffix or by how they begin."""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

from tallymark.formats.parsing import parse_float
from tallymark.io.texts import beginning

BY_SUFFIX = {
    ".tfrecord": "TFRecord",
    ".record": "TFRecord",
    ".mat": "MATLAB",
    ".geojson": "GeoJSON",
    ".shp": "Shapefile",
    ".gpkg": "GeoPackage",
    ".kml": "KML",
    ".textgrid": "Praat TextGrid",
    ".eaf": "ELAN",
    ".svl": "Sonic Visualiser",
    ".aup": "Audacity project (export its labels)",
    ".aup3": "Audacity project (export its labels)",
    ".xlsx": "spreadsheet (save it as CSV)",
    ".xls": "spreadsheet (save it as CSV)",
    ".ods": "spreadsheet (save it as CSV)",
}
BY_START: dict[str, tuple[tuple[str, re.Pattern[str]], ...]] = {
    ".json": (
        ("LabelMe", re.compile(r'"shapes"\s*:.*"(imagePath|imageData|imageHeight|points)"', re.S)),
        ("VGG Image Annotator", re.compile(r'"_via_|"regions"\s*:\s*[\[{].*"shape_attributes"', re.S)),
        ("Label Studio", re.compile(r'"(completions|from_name|to_name)"')),
        ("CreateML", re.compile(r'^\s*\[.*"annotations"\s*:.*"coordinates"', re.S)),
        (
            "CVAT or Datumaro",
            re.compile(r'"(dm_format_version|frame_shape|bbox_id)"|"tracks"\s*:\s*\[.*"shapes"', re.S),
        ),
        ("Supervisely", re.compile(r'"objects"\s*:.*"(classTitle|geometryType)"', re.S)),
        ("GeoJSON", re.compile(r'"type"\s*:\s*"FeatureCollection"')),
    ),
    ".xml": (
        ("CVAT", re.compile(r"<annotations[\s>]")),
        ("Pascal VOC", re.compile(r"<annotation[\s>]")),
        ("dlib", re.compile(r"<dataset[\s>].*<images?[\s>]", re.S)),
    ),
}
"""For each suffix the formats that the beginning of a file tells apart."""
JSON_VALUE = re.compile(r'\s*[\[{"\dtfn-]')
"""How any JSON value begins."""
COCO = re.compile(r'"(images|annotations|categories)"\s*:\s*\[')
COLUMN_WORDS = {
    "annotation", "annotations", "bbox", "begin", "box", "boxes", "category", "class", "class_name", "encodedpixels",
    "end", "label", "labels", "mask", "polygon", "predictionstring", "region_shape_attributes", "rle", "segmentation",
    "species", "start", "timestamp", "x1", "x_min", "xmax", "xmin",
}  # fmt: skip
"""Columns that a table of annotations may have, in lower case."""
OWN_TABLES = ("sample_submission", "submission", "solution", "folds", "problems", "predict", "counts", "objects")
"""Prefixes of the names of tables that are not annotations."""
ANNOTATION_SUFFIXES = frozenset({*BY_SUFFIX, *BY_START, ".csv", ".tsv", ".txt"})
"""Suffixes that annotations may have."""


def annotation_format(path: Path, media_stems: Set[str], *, doubtful: bool) -> str | None:
    """The format of a file of annotations that were not read; None if it seems to be something else.

    media_stems: names of the media, without suffixes. doubtful: whether also to name what only may be annotations.
    """
    suffix = path.suffix.lower()
    if suffix in BY_SUFFIX:
        return BY_SUFFIX[suffix] if doubtful else None
    text = beginning(path) or ""
    for name, pattern in BY_START.get(suffix, ()):
        if pattern.search(text):
            return name
    if not doubtful or path.name.startswith(OWN_TABLES):
        return None
    first = text.lstrip("\ufeff").partition("\n")[0]
    if suffix == ".json":
        return "COCO" if COCO.search(text) else None
    if suffix in (".csv", ".tsv"):
        columns = {column.strip().strip('"').lower() for column in re.split("[,;\t]", first)}
        return f"a table of columns {', '.join(first.split(',')[:4])}" if columns & COLUMN_WORDS else None
    if suffix == ".txt" and path.stem in media_stems:
        numbers = [parse_float(token) for token in first.split()]
        return "YOLO" if len(numbers) >= 5 and all(number == number for number in numbers) else None
    return None


def is_damaged_text(path: Path, media_stems: Set[str]) -> bool:
    """Whether a file with the suffix, and for `.txt` the name, of annotations is no text, or JSON that has no value."""
    suffix = path.suffix.lower()
    if suffix in BY_SUFFIX or (suffix == ".txt" and path.stem not in media_stems):
        return False
    text = beginning(path)
    return text is None or (suffix == ".json" and JSON_VALUE.match(text) is None)
