"""Hand-made page data of reports, for every geometry, and the score at a threshold, computed plainly."""

from __future__ import annotations

import base64
import io
import math
import wave
from typing import Any

import numpy as np

from tallymark.reporting.blocks import data_uri
from tallymark.reporting.report_page import packed

HOSTILE = "</script><img src=x onerror=\"document.title='hacked'\">"
LEVELS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
Json = dict[str, Any]


def picture(width: int, height: int, seed: int) -> str:
    """A soft random picture, greenish like a field."""
    rng = np.random.default_rng(seed)
    coarse = rng.random((height // 16 + 1, width // 16 + 1))
    fine = np.kron(coarse, np.ones((16, 16)))[:height, :width] * 0.6 + rng.random((height, width)) * 0.4
    return data_uri(np.stack([fine * 120 + 40, fine * 130 + 60, fine * 70 + 20], axis=2).astype(np.uint8))


def entries(item: np.ndarray, score: np.ndarray, levels: np.ndarray) -> Json:
    return {"item": packed(item, "i4"), "score": packed(score, "f8"), "levels": packed(levels, "u4")}


def live_counts(items: int, each: int, levels: list[float], formula: Json, seed: int = 0, **more: Any) -> Json:
    """Random matches: of `each` predictions of an item about 60 % are hits up to some level, with ties of scores."""
    rng = np.random.default_rng(seed)
    count = items * each
    item = np.repeat(np.arange(items), each)
    score = np.round(rng.random(count), 3)
    reached = np.where(rng.random(count) < 0.6, rng.integers(1, len(levels) + 1, count), 0)
    everything = (1 << len(levels)) - 1
    hit = (1 << reached) - 1
    tp, fp = hit > 0, hit < everything
    truths = np.bincount(item[tp], minlength=items) + rng.integers(0, 4, items)
    truths[: items // 10] = np.bincount(item[tp], minlength=items)[: items // 10]
    return {
        "kind": "counts",
        "levels": levels,
        "formula": formula,
        "truths": packed(truths, "i4"),
        "tp": entries(item[tp], score[tp], hit[tp]),
        "fp": entries(item[fp], score[fp], (everything - hit)[fp]),
        "unit": "IoU",
        "hours": None,
        **more,
    }


def unpacked(text: str, dtype: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), f"<{dtype}")


def counts_at(live: Json, threshold: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """tp, fp and fn, (items, levels), of what is not below the threshold."""
    truths = unpacked(live["truths"], "i4")
    levels = len(live["levels"])
    found = []
    for kind in ("tp", "fp"):
        counts = np.zeros((len(truths), levels), int)
        kept = unpacked(live[kind]["score"], "f8") >= threshold
        bits = (unpacked(live[kind]["levels"], "u4")[kept, None] >> np.arange(levels)) & 1
        np.add.at(counts, unpacked(live[kind]["item"], "i4")[kept], bits)
        found.append(counts)
    return found[0], found[1], truths[:, None] - found[0]


def score_at(live: Json, threshold: float) -> float:
    """The score at a threshold: nothing is sorted or kept, unlike in the page."""
    tp, fp, fn = counts_at(live, threshold)
    formula = live["formula"]
    if formula["pooled"]:
        tp, fp, fn = (counts.sum(axis=0, keepdims=True) for counts in (tp, fp, fn))
    gain = formula["tp"] * tp
    whole = gain + formula["fp"] * fp + formula["fn"] * fn
    empty = math.nan if formula["empty"] is None else formula["empty"]
    values = np.where(whole > 0, gain / np.maximum(whole, 1), empty).mean(axis=1)
    return float(values[~np.isnan(values)].mean())


def box_path(x: float, y: float, w: float, h: float) -> str:
    return f"M{x:g} {y:g}h{w:g}v{h:g}h{-w:g}Z"


def thing(role: str, number: int, outcome: str, path: str, shape: object, **more: Any) -> Json:
    made = {"role": role, "number": number, "outcome": outcome, "path": path, "shape": shape}
    return {**made, "score": None, "label": None, "partner": None, "iou": None, **more}


def scene(item: int, key: str, objects: list[Json], **more: Any) -> Json:
    made: Json = {"item": item, "key": key, "facts": [], "tags": ["random"], "window": None, "image": None}
    made |= {"width": 320, "height": 320, "toItem": [2, 0, 0, 2, 0, 0], "objects": objects}
    return {**made, "sound": None, "points": None, "cameras": [], "ranking": None, **more}


def page_data(**more: Any) -> Json:
    made: Json = {"version": 1, "challenge": "wheat", "title": "Report", "medium": "image", "noun": ["box", "boxes"]}
    made |= {"geometry": "boxes", "classes": ["head"], "better": "higher", "scoreName": "score", "threshold": 0.4}
    return {**made, "hasTruth": True, "hasScores": True, **more}


def boxes(items: int = 12, each: int = 20, scenes: int = 6, name: str = "field") -> Json:
    """Boxes with every outcome in each scene: hits, a duplicate, a badly placed one, false alarms and misses."""
    rng = np.random.default_rng(3)
    formula = {"tp": 1, "fp": 1, "fn": 1, "empty": None, "pooled": False}
    live = live_counts(items, each, LEVELS, formula)
    shown = []
    for at in range(scenes):
        objects = list[Json]()
        for number in range(7):
            x, y = (float(value) for value in rng.integers(10, 250, 2))
            w, h = (float(value) for value in rng.integers(30, 60, 2))
            hit = number < 4
            truth = thing(
                "truth",
                number,
                "found" if hit else "missed",
                box_path(x, y, w, h),
                [2 * x, 2 * y, 2 * w, 2 * h],
                label=0,
            )
            objects.append(truth)
            if hit:
                score = round(0.35 + 0.15 * number, 3)
                more = {"score": score, "label": 0, "partner": len(objects) - 1, "iou": 0.7}
                objects.append(
                    thing(
                        "prediction",
                        number,
                        "hit",
                        box_path(x + 3, y + 2, w, h),
                        [2 * x + 6, 2 * y + 4, 2 * w, 2 * h],
                        **more,
                    )
                )
        for number, outcome in enumerate(
            ["duplicate", "localisation", "background", "background"][: 1 + at % 4 + 1], 10
        ):
            x, y = (float(value) for value in rng.integers(10, 250, 2))
            more = {"score": round(0.2 + 0.1 * (number - 9) + 0.03 * at, 3), "label": 0}
            objects.append(thing("prediction", number, outcome, box_path(x, y, 40, 36), [2 * x, 2 * y, 80, 72], **more))
        tags = [["worst"], ["best"], ["typical", "random"]][at % 3]
        facts = [f"source {name} {at % 3}", f"{each} predicted"]
        made = scene(at, f"{name}_{at:03d}", objects, image=picture(320, 320, at), tags=tags, facts=facts)
        if at == scenes - 1:  # its file cannot be read
            made |= {"image": None, "width": 0, "height": 0, "toItem": None}
            made["objects"] = [{**one, "path": ""} for one in objects]
        shown.append(made)
    tp, fp, fn = counts_at(live, 0.4)
    values = (tp / np.maximum(tp + fp + fn, 1)).mean(axis=1)
    listed = {
        "id": [f"{name}_{at:03d}" for at in range(items)],
        "group": [f"{name} {at % 3}" for at in range(items)],
        "score": [float(value) for value in values],
        "truths": [int(count) for count in unpacked(live["truths"], "i4")],
        "predictions": [each] * items,
    }
    return page_data(title="Wheat heads, fold 0", live=live, items=listed, scenes=shown)


def masks() -> Json:
    """Ships: F2, empty items count as 1, masks as run lengths."""
    formula = {"tp": 5, "fp": 1, "fn": 4, "empty": 1, "pooled": False}
    live = live_counts(8, 4, LEVELS, formula, seed=5)
    truth = thing("truth", 0, "missed", "M20 20h40v12h-40Z", "7721 12 8489 12")
    wrong = thing("prediction", 0, "background", "M200 100h50v20h-50Z", "153701 20", score=0.7)
    shown = [
        scene(
            at,
            f"chip{at}.jpg",
            [dict(truth), dict(wrong)],
            image=picture(320, 320, 40 + at),
            toItem=[2.4, 0, 0, 2.4, 0, 0],
        )
        for at in range(3)
    ]
    listed = {
        "id": [f"chip{at}.jpg" for at in range(8)],
        "group": None,
        "score": [0.5] * 8,
        "truths": [2] * 8,
        "predictions": [4] * 8,
    }
    return page_data(
        challenge="ships",
        geometry="masks",
        noun=["ship", "ships"],
        classes=["ship"],
        live=live,
        items=listed,
        scenes=shown,
    )


def events() -> Json:
    """Calls in two recordings: pooled F1, windows with sound."""
    formula = {"tp": 2, "fp": 1, "fn": 1, "empty": 0, "pooled": True}
    live = live_counts(2, 40, [1.5], formula, seed=7, unit="s", hours=2.5)
    shown = []
    for at in range(4):
        start = 100.0 * at
        objects = [
            thing("truth", at, "found", "M120 20V230M114 20h12M114 230h12", [start + 3.0], partner=1),
            thing(
                "prediction",
                at,
                "hit",
                "M130 20V230M124 20h12M124 230h12",
                [start + 3.25],
                score=0.8,
                partner=0,
                iou=0.25,
            ),
            thing("prediction", 10 + at, "background", "M300 20V230M294 20h12M294 230h12", [start + 7.5], score=0.45),
        ]
        window = [start, start + 16.0]
        more = {"window": window, "image": picture(640, 250, 20 + at), "width": 640, "height": 250, "sound": tone()}
        name = f"rec{at % 2}.aif"
        shown.append(
            scene(at % 2, f"{name}@{start:g}", objects, toItem=[16 / 640, 0, 0, -1000 / 250, start, 1000], **more)
        )
    listed = {
        "id": ["rec0.aif", "rec1.aif"],
        "group": ["Monday", "Tuesday"],
        "score": [None, None],
        "truths": [30, 28],
        "predictions": [40, 40],
    }
    words = {
        "challenge": "upcalls",
        "geometry": "events",
        "noun": ["call", "calls"],
        "medium": "recording",
        "classes": [],
    }
    return page_data(**words, scoreName="F1", live=live, items=listed, scenes=shown)


def tone() -> Json:
    """One second of a rising tone."""
    time = np.arange(2000) / 2000
    samples = (np.sin(2 * np.pi * (100 + 50 * time) * time) * 8000).astype("<i2")
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(2000)
        file.writeframes(samples.tobytes())
    return {"wav": "data:audio/wav;base64," + base64.b64encode(made.getvalue()).decode(), "rate": 2000}


def cuboids() -> Json:
    """Lidar: world coordinates, points, one camera."""
    formula = {"tp": 1, "fp": 1, "fn": 1, "empty": None, "pooled": False}
    live = live_counts(5, 12, LEVELS, formula, seed=9)
    rng = np.random.default_rng(1)
    cloud = np.concatenate([rng.uniform(-40, 40, (3000, 2)), rng.uniform(-1.8, 0.5, (3000, 1))], axis=1)
    points = {"xyz": packed(np.round(cloud / 0.01), "i2"), "step": 0.01, "origin": [0, 0, 0]}
    shown = []
    for at in range(3):

        def car(x: float, y: float, role: str, number: int, outcome: str, **more: Any) -> Json:
            px, py = (x - 1000) * 4 + 160, 160 - (y - 500) * 4
            path = f"M{px - 9:g} {py - 4:g}h18v8h-18Z"
            cuboid = [x - 1000, y - 500, -0.8, 4.6, 1.9, 1.6, 0.0]
            return thing(role, number, outcome, path, [x, y, 20.0, 1.9, 4.6, 1.6, 0.0], cuboid=cuboid, **more)

        objects = [
            car(1010, 505, "truth", 0, "found", label=0, partner=1),
            car(1010.4, 505, "prediction", 0, "hit", label=0, score=0.9, partner=0, iou=0.8),
            car(990, 490, "truth", 1, "missed", label=1),
            car(985, 515, "prediction", 1, "background", label=0, score=0.55),
            car(1020, 480, "truth", 2, "missed", label=1),
            car(1020, 480.2, "prediction", 2, "class", label=0, score=0.6, partner=4, iou=0.75),
        ]
        camera = {"name": "CAM_FRONT", "image": picture(320, 180, 60), "width": 320, "height": 180}
        camera["paths"] = [{"object": 1, "path": "M100 60h60v40h-60Z"}, {"object": 3, "path": "M220 70h30v25h-30Z"}]
        more = {"image": picture(320, 320, 50 + at), "points": points, "cameras": [camera]}
        shown.append(scene(at, f"sweep{at}", objects, toItem=[0.25, 0, 0, -0.25, 960, 540], **more))
    listed = {
        "id": [f"sweep{at}" for at in range(5)],
        "group": None,
        "score": [0.4] * 5,
        "truths": [9] * 5,
        "predictions": [12] * 5,
    }
    words = {
        "challenge": "lyft",
        "geometry": "cuboids",
        "noun": ["box", "boxes"],
        "medium": "sweep",
        "classes": ["car", "truck"],
    }
    return page_data(**words, live=live, items=listed, scenes=shown)


def labels(items: int = 40) -> Json:
    """Dishes: top-3 error, with probabilities."""
    rng = np.random.default_rng(11)
    rank, probability = rng.integers(0, 4, items), np.round(rng.random(items), 3)
    live = {"kind": "labels", "k": 3, "rank": packed(rank, "i4"), "probability": packed(probability, "f8")}
    classes = ["apple pie", "beef tartare", "carrot cake", "dumplings", "edamame"]
    shown = []
    for at in range(6):
        ranking = [
            {"label": n, "name": classes[n], "probability": [0.55, 0.3, 0.1][n], "right": rank[at] == n + 1}
            for n in range(3)
        ]
        if rank[at] == 0:
            ranking.append({"label": 4, "name": classes[4], "probability": None, "right": True})
        ranking = [{**one, "right": bool(one["right"])} for one in ranking]
        shown.append(
            scene(at, f"dish{at}.jpg", [], image=picture(320, 240, 70 + at), width=320, height=240, ranking=ranking)
        )
    listed = {
        "id": [f"dish{at}.jpg" for at in range(items)],
        "group": None,
        "score": [None] * items,
        "truths": [1] * items,
        "predictions": [3] * items,
    }
    words = {
        "challenge": "food",
        "geometry": "labels",
        "noun": ["label", "labels"],
        "classes": classes,
        "better": "lower",
    }
    return page_data(**words, threshold=0, scoreName="top-3 error", live=live, items=listed, scenes=shown)


def without_truth() -> Json:
    """Predictions only: no score, outcomes or partners, and the scores of all predictions as `live`."""
    made = boxes()
    score = np.round(np.random.default_rng(2).random(240), 3)
    made |= {"hasTruth": False, "live": {"kind": "scores", "score": packed(score, "f8")}}
    for one in made["scenes"]:
        found = [thing for thing in one["objects"] if thing["role"] == "prediction"]
        kept = ("role", "number", "score", "label", "path", "shape")
        one["objects"] = [{"outcome": "unknown"} | {key: thing[key] for key in kept} for thing in found]
    made["items"] |= {"score": None, "truths": None}
    return made
