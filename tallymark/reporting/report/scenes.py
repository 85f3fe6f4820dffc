"""The pictures of a report: each chosen item or window with its objects, as plain data for the page."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallymark.core.humanize import clock
from tallymark.core.parallel import in_threads
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Events
from tallymark.io.media import BadMedia
from tallymark.modalities.gallery import select_item
from tallymark.modalities.scene import Scene, Window, quantize_points
from tallymark.reporting.blocks import data_uri
from tallymark.reporting.report.selection import Shown
from tallymark.reporting.report.subject import Subject
from tallymark.scoring.outcomes import PREDICTION_OUTCOMES, TRUTH_OUTCOMES

Json = dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """An item, or a window of a recording in seconds, and the reasons why it is shown."""

    item: int
    tags: tuple[str, ...]
    window: Window | None = None


def pictures(subject: Subject, shown: Sequence[Shown]) -> list[Picture]:
    """The items to draw, each once; events that are close to each other are in one window."""
    catalog, renderer = subject.catalog, subject.renderer
    found: dict[int, list[Shown]] = {}
    for one in shown:
        found.setdefault(one.item, []).append(one)
    drawn = []
    for item, reasons in found.items():
        times = np.array([one.time for one in reasons if one.time is not None])
        row = int(subject.rows[item])
        windows: Sequence[Window | None] = [None]
        if catalog is not None and renderer is not None and row >= 0 and len(times):
            events = Annotations.from_rows(Items.of([""]), np.zeros(len(times), np.int64), Events(times))
            with suppress(BadMedia):  # it is said when the item is drawn
                windows = renderer.windows(catalog, row, events, most=len(times))
        for window in windows:
            own = reasons if window is None else [one for one in reasons if _inside(one.time, window)]
            drawn.append(Picture(item, _unique(one.tag for one in own), window))
    return drawn


def _inside(time: float | None, window: Window) -> bool:
    return time is not None and window[0] <= time <= window[1]


def _unique(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tags))


def draw_scenes(subject: Subject, drawn: Sequence[Picture], problems: Problems) -> list[Json]:
    """The scenes of the page. Files that cannot be read have no image, and are problems."""
    found = in_threads(lambda picture: _draw(subject, picture), drawn, "drawing")
    catalog = subject.catalog
    scenes = []
    for picture, (scene, bad) in zip(drawn, found, strict=True):
        if bad is not None and catalog is not None:
            problems.add(catalog.unread(int(subject.rows[picture.item]), bad))
        scenes.append(scene)
    return scenes


def _draw(subject: Subject, picture: Picture) -> tuple[Json, BadMedia | None]:
    """One scene, and why it has no image."""
    item = picture.item
    row = int(subject.rows[item])
    scene, bad = None, None
    if subject.catalog is not None and subject.renderer is not None and row >= 0:
        try:
            scene = subject.renderer.scene(
                subject.catalog, row, picture.window, around=select_item(subject.official, item)
            )
        except BadMedia as error:
            bad = error
    name = str(subject.items.ids[item])
    key = name if picture.window is None else f"{name}@{picture.window[0]:.1f}"
    plain: Json = {
        "item": item,
        "key": key,
        "facts": _facts(subject, picture),
        "tags": list(picture.tags),
        "window": picture.window,
        "image": None if scene is None else data_uri(scene.image),
        "width": 0 if scene is None else scene.image.shape[1],
        "height": 0 if scene is None else scene.image.shape[0],
        "toItem": None if scene is None else scene.svg_matrix,
        "objects": scene_objects(subject, picture, scene),
        "sound": None,
        "points": None,
        "cameras": [],
        "ranking": _ranking(subject, item),
    }
    if scene is not None:
        plain |= _media(subject, picture, scene)
    return plain, bad


def _media(subject: Subject, picture: Picture, scene: Scene) -> Json:
    """What a scene has beside its image: sound, points, images of cameras."""
    media: Json = {}
    if scene.sound is not None:
        wav = base64.b64encode(scene.sound.wav()).decode()
        media["sound"] = {"wav": f"data:audio/wav;base64,{wav}", "rate": scene.sound.rate}
    if scene.points is not None:
        quantized = quantize_points(scene.points)
        media["points"] = {"xyz": encode(quantized.xyz), "step": quantized.step, "origin": list(quantized.origin)}
    if scene.cameras:
        parts = [shown for _, shown, _ in _objects_of(subject, picture)]
        media["cameras"] = [
            {
                "name": camera.name,
                "image": data_uri(camera.image),
                "width": camera.image.shape[1],
                "height": camera.image.shape[0],
                "paths": _numbered([camera.paths(shown) for shown in parts]),
            }
            for camera in scene.cameras
        ]
    return media


def _numbered(parts: Sequence[Sequence[str]]) -> list[Json]:
    """Paths with the number of their object; those that are not in view have none."""
    paths = [path for part in parts for path in part]
    return [{"object": at, "path": path} for at, path in enumerate(paths) if path]


def _objects_of(subject: Subject, picture: Picture) -> list[tuple[str, Annotations[Any], np.ndarray]]:
    """Role, annotations and their rows, of the truth and of the predictions that are in a picture."""
    parts = []
    for role, side in (("truth", subject.truth), ("prediction", subject.predicted)):
        if side is None:
            continue
        rows = np.arange(side.offsets[picture.item], side.offsets[picture.item + 1])
        if picture.window is not None:
            start, stop = picture.window
            time = side.shapes.time[rows]
            rows = rows[(time >= start) & (time <= stop)]
        chosen = np.zeros(len(side), bool)
        chosen[rows] = True
        parts.append((role, side.filter(chosen), rows))
    return parts


def scene_objects(subject: Subject, picture: Picture, scene: Scene | None) -> list[Json]:
    """The objects in a picture: first those of the truth, then the predictions."""
    place: dict[int, int] = {}
    objects: list[Json] = []
    for role, shown, rows in _objects_of(subject, picture):
        drawn = _draw_objects(subject, shown, scene)
        numbers = shown.numbers.tolist()
        for at, (row, outcome) in enumerate(zip(rows.tolist(), _outcomes(subject, role, rows), strict=True)):
            plain: Json = {
                "role": role,
                "number": numbers[at],
                "outcome": outcome,
                "score": None if shown.score is None else float(shown.score[at]),
                "label": None if shown.label is None else int(shown.label[at]),
                **drawn[at],
            }
            if role == "truth":
                place[row] = len(objects)
            elif subject.outcomes is not None:
                partner = int(subject.outcomes.partner[row])
                plain |= {"partner": place.get(partner), "iou": _known(subject.outcomes.iou[row])}
            objects.append(plain)
    return objects


def _outcomes(subject: Subject, role: str, rows: np.ndarray) -> list[str]:
    """The outcome of each object; unknown without truth."""
    outcomes = subject.outcomes
    if outcomes is None:
        return ["unknown"] * len(rows)
    if role == "truth":
        return [TRUTH_OUTCOMES[code] for code in outcomes.truth[rows]]
    return [PREDICTION_OUTCOMES[code] for code in outcomes.prediction[rows]]


def _draw_objects(subject: Subject, shown: Annotations[Any], scene: Scene | None) -> list[Json]:
    """Path, shape and cuboid of each object."""
    shapes = shown.shapes.as_json()
    if scene is None or subject.renderer is None:
        return [{"path": "", "shape": shape} for shape in shapes]
    paths = subject.renderer.paths(scene, shown)
    drawn: list[Json] = [{"path": path, "shape": shape} for path, shape in zip(paths, shapes, strict=True)]
    for plain, cuboid in zip(drawn, subject.renderer.cuboids(scene, shown).tolist(), strict=False):
        plain["cuboid"] = [round(value, 3) for value in cuboid]
    return drawn


def _known(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None


def _facts(subject: Subject, picture: Picture) -> list[str]:
    facts = []
    if subject.group is not None and subject.group[picture.item]:
        facts.append(str(subject.group[picture.item]))
    if picture.window is not None:
        facts.append(f"{clock(picture.window[0])} to {clock(picture.window[1])}")
    if subject.score is not None and subject.score.items["score"][picture.item] is None:
        facts.append("not counted")
    return facts


def _ranking(subject: Subject, item: int) -> list[Json] | None:
    """The predicted labels of a whole item, the most probable first; None where objects have a place."""
    predicted = subject.predicted
    if predicted.shapes.localized:
        return None
    ranked = select_item(predicted, item)
    right = None if subject.truth is None else set(select_item(subject.truth, item).shapes.label.tolist())
    names = predicted.classes
    return [
        {
            "label": label,
            "name": names[label] if label < len(names) else str(label),
            "probability": None if ranked.score is None else float(ranked.score[at]),
            "right": right is not None and label in right,
        }
        for at, label in enumerate(ranked.shapes.label.tolist())
    ]


def encode(values: np.ndarray) -> str:
    """An array as the page reads it: base64 of little-endian numbers."""
    return base64.b64encode(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()).decode()
