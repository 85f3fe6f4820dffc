"""Files of corrections, as review pages save them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tallymark

GEOMETRY = {"wheat": "boxes", "upcalls": "events", "food": "labels", "lyft": "cuboids", "ships": "masks"}


def shape_of(annotations: tallymark.Annotations[Any], row: int) -> object:
    """A shape as pages write it."""
    shapes = annotations.shapes
    if hasattr(shapes, "offsets"):
        runs = slice(shapes.offsets[row], shapes.offsets[row + 1])
        pairs = zip(shapes.start[runs].tolist(), shapes.length[runs].tolist(), strict=True)
        return " ".join(f"{start + 1} {length}" for start, length in pairs)
    if hasattr(shapes, "time"):
        return [float(shapes.time[row])]
    return [float(column[row]) for column in shapes.columns]


def write_review(path: Path, name: str, items: dict[str, Any], **changes: object) -> Path:
    content = {"tallymark": "corrections", "version": 1, "challenge": name, "geometry": GEOMETRY[name], "items": items}
    path.write_text(json.dumps({**content, **changes}))
    return path
