"""Small files of foreign formats that tests write, and helpers to read them."""

from __future__ import annotations

import json
import wave
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tallymark.core.problems import Problem, Problems
from tallymark.io.folders import Folder, open_folder


def put(path: Path, text: str) -> Path:
    """A text file; its folders are created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="")
    return path


def put_image(path: Path, width: int = 100, height: int = 50) -> Path:
    """A black image."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (width, height)).save(path)
    return path


def put_recording(path: Path) -> Path:
    """One second of silence at 2 kHz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(2000)
        file.writeframes(bytes(4000))
    return path


def put_sweep(path: Path, points: np.ndarray) -> Path:
    """A lidar sweep of float32 columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(points.astype("<f4").tobytes())
    return path


def coco(images: Sequence[object], annotations: Sequence[object], categories: Sequence[object]) -> str:
    """A COCO file with one object per line: the images begin on line 2."""
    lists = {"images": images, "annotations": annotations, "categories": categories}
    rows = [f'"{name}": [\n' + ",\n".join(map(json.dumps, values)) + "\n]" for name, values in lists.items()]
    return "{" + ",\n".join(rows) + "}"


def listing(path: Path) -> Folder:
    """The files of a folder that exists."""
    folder = open_folder(path, Problems())
    assert folder is not None
    return folder


def only(problems: Problems, kind: str) -> Problem:
    """The only problem, which must be of this kind."""
    found = list(problems)
    assert [problem.kind for problem in found] == [kind], found
    return found[0]
