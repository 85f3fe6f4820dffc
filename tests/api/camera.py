"""A folder that photographs arrive in, for the tests of watching it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl

from tallymark.api.watch import watch
from tallymark.inference.predictor import Predictor

THRESHOLD = {"score_threshold": 0.1}


def photograph(path: Path, seed: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 255, (64, 64, 3), np.uint8)
    path.write_bytes(cv2.imencode(path.suffix, pixels)[1].tobytes())
    return path


class Camera:
    """A folder that photographs arrive in, and the output of watching it."""

    def __init__(self, folder: Path, model: Predictor) -> None:
        self.folder, self.out, self.model = folder / "camera", folder / "out", model
        self.folder.mkdir()
        self.told: list[str] = []

    def take(self, name: str, seed: int = 0) -> Path:
        return photograph(self.folder / name, seed)

    def watch(self, **options: Any) -> dict[str, int]:
        options = {"once": True, "settle": 0, **THRESHOLD} | options
        return watch(self.model, self.folder, self.out, tell=self.told.append, **options)

    def table(self, name: str) -> pl.DataFrame:
        return pl.read_csv(self.out / name)

    @property
    def versions(self) -> list[tuple[str, int]]:
        return self.table("counts.csv").select("item", "version").rows()

    @property
    def ledger(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / "state.jsonl").read_text().splitlines()][1:]
