"""Tiny sets in foreign formats, written by the tests themselves."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tallymark.core.problems import Problem, Problems
from tallymark.io.folders import open_folder


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="")
    return path


def put_picture(path: Path, width: int = 100, height: int = 50) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (width, height)).save(path)
    return path


def put_recording(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(2000)
        file.writeframes(bytes(4000))
    return path


def put_sweep(path: Path, points: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(points.astype("<f4").tobytes())
    return path


def coco(images: list[Any], annotations: list[Any], categories: list[Any]) -> str:
    """A COCO file with an object a line: the images begin on line 2."""
    lists = {"images": images, "annotations": annotations, "categories": categories}
    rows = [f'"{name}": [\n' + ",\n".join(map(json.dumps, values)) + "\n]" for name, values in lists.items()]
    return "{" + ",\n".join(rows) + "}"


def listing(folder: Path) -> Any:
    return open_folder(folder, Problems())


def only(problems: Problems, kind: str) -> Problem:
    """The one problem there is, of this kind."""
    found = list(problems)
    assert [problem.kind for problem in found] == [kind], found
    return found[0]
