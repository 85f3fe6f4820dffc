"""Model files with metadata that are missing, or odd in one field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx

KEY = "tallymark"

Make = Callable[[Path, Path], None]
"""Writes a hostile model (the second path) that is made from a good one (the first)."""


def edit(change: Callable[[onnx.ModelProto], None]) -> Make:
    """A change of the good model."""

    def make(good: Path, path: Path) -> None:
        proto = onnx.load(str(good))
        change(proto)
        path.write_bytes(proto.SerializeToString())

    return make


def odd_metadata() -> Iterator[tuple[str, Make]]:
    """Metadata that are missing, or odd in one field."""
    yield "no-metadata", edit(lambda proto: proto.ClearField("metadata_props"))
    for name, text in {
        "empty": "",
        "null": "null",
        "list": "[]",
        "number": "1",
        "cut": '{"challenge": "wheat", "recipe"',
        "deep": "[" * 100_000,
        "digits": '{"challenge": ' + "9" * 5000 + "}",
        "surrogate": '{"challenge": "\\ud800", "recipe": {}, "classes": []}',
    }.items():
        yield f"metadata-{name}", edit(lambda proto, text=text: _set_text(proto, text))
    for number, (field, value) in enumerate(ODD_FIELDS):
        yield f"{field}-{number}", edit(lambda proto, field=field, value=value: _set_field(proto, field, value))
    for number, (field, value) in enumerate(ODD_SETTINGS):
        yield (
            f"recipe-{field}-{number}",
            edit(lambda proto, field=field, value=value: _set_setting(proto, field, value)),
        )


ODD_FIELDS: list[tuple[str, object]] = [
    ("challenge", "barley"),
    ("challenge", 3),
    ("challenge", None),
    ("challenge", ["wheat"]),
    ("challenge", "food"),
    ("challenge", "upcalls"),
    ("challenge", "../wheat"),
    ("recipe", None),
    ("recipe", "tiny"),
    ("recipe", []),
    ("classes", None),
    ("classes", 5),
    ("classes", "wheat"),
    ("classes", [1, 2]),
    ("classes", ["a", "b", "c"]),
    ("classes", ["a", "a"]),
    ("classes", [["a"]]),
    ("facts", 3),
    ("facts", []),
    ("recall_curve", 3),
    ("recall_curve", {"hours": "many"}),
    ("event_seconds", "long"),
    ("event_seconds", -1),
    ("scale", 3),
    ("scale", {"longer_sides": "all"}),
    ("scale", {"longer_sides": [0]}),
    ("scale", {"longer_sides": [1000], "pixel_scale": "large"}),
    ("scale", {"objects": {"size": 3}}),
    ("scale", {"objects": {"size": None, "spread": 1, "confidence": 1}}),
    ("scale", {"longer_sides": [50], "pixel_scale": 1.0, "gsd": 0}),
    ("counts", 3),
    ("counts", {"score_threshold": 0.5}),
    ("counts", {"threshold": 0.5}),
    (
        "counts",
        {
            "score_threshold": "high",
            "class_thresholds": "",
            "items": 1,
            "objects": 1,
            "quantile": 1,
            "dispersion": 1,
        },
    ),
    (
        "counts",
        {
            "score_threshold": 0.5,
            "class_thresholds": "",
            "items": 1,
            "objects": 1,
            "quantile": "x",
            "dispersion": None,
        },
    ),
]
ODD_SETTINGS: list[tuple[str, object]] = [
    ("task", "masks"),
    ("task", "events"),
    ("task", ["boxes"]),
    ("stride", 8),
    ("stride", {}),
    ("image_size", 10**12),
    ("image_size", -5),
    ("image_size", None),
    ("score_threshold", "nan"),
    ("class_thresholds", "barley 0.5"),
    ("head_groups", "barley"),
    ("tta", 3),
    ("voxel_size", 1),
]


def _set_text(proto: onnx.ModelProto, text: str) -> None:
    del proto.metadata_props[:]
    proto.metadata_props.append(onnx.StringStringEntryProto(key=KEY, value=text))


def _stated(proto: onnx.ModelProto) -> dict[str, Any]:
    stated: dict[str, Any] = json.loads(next(one.value for one in proto.metadata_props if one.key == KEY))
    return stated


def _set_field(proto: onnx.ModelProto, field: str, value: object) -> None:
    _set_text(proto, json.dumps(_stated(proto) | {field: value}))


def _set_setting(proto: onnx.ModelProto, field: str, value: object) -> None:
    stated = _stated(proto)
    stated["recipe"][field] = value
    _set_text(proto, json.dumps(stated))
