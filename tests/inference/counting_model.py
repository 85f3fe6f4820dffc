"""A model that counts its calls and can be interrupted, and images for it, for the tests of journals."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.api.models import open_model
from tallymark.inference import infer_catalog
from tallymark.inference.predictor import PredictionResult, Predictor
from tallymark.inference.session import Session

SMALL = {"tta": 1, "tta_scales": 1, "image_size": 64}


class CountingModel:
    """The pretrained wheat model, which counts its calls, and is interrupted after `limit` of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.model: Predictor = open_model("wheat", threads=1)
        self.calls = 0
        self.limit = 1000
        run = Session.__call__

        def counted(session: Session, inputs: np.ndarray) -> Any:
            if self.calls == self.limit:
                raise KeyboardInterrupt
            self.calls += 1
            return run(session, inputs)

        monkeypatch.setattr(Session, "__call__", counted)

    def predict(self, folder: Path, cache: Path | None, **changes: Any) -> tuple[PredictionResult, int]:
        """The result, and the number of inferred images."""
        before = self.calls
        return tallymark.predict(self.model, folder, journal=cache, **{**SMALL, **changes}), self.calls - before


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> CountingModel:
    monkeypatch.setattr(infer_catalog, "FIRST_SHARD", 2)
    monkeypatch.setattr(infer_catalog, "SHARD_SECONDS", 0.0)
    return CountingModel(monkeypatch)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in "abcde":
        cv2.imwrite(str(folder / f"{name}.png"), rng.integers(0, 255, (64, 64, 3), np.uint8))
    return folder


def assert_same(one: Any, other: Any) -> None:
    """Compare every column of candidates or annotations."""
    for part in fields(one):
        own, its = getattr(one, part.name), getattr(other, part.name)
        if part.name in ("objects", "shapes"):
            assert_same(own, its)
        elif isinstance(own, np.ndarray):
            np.testing.assert_array_equal(own, its)
        elif part.name not in ("items", "number", "line"):
            assert own == its
