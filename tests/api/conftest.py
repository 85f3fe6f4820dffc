"""A folder to watch, with a model that was never trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallymark.api.models import open_model
from tallymark.inference.predictor import Predictor
from tests.api.camera import Camera
from tests.untrained import untrained


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return open_model(untrained("wheat", tmp_path_factory.mktemp("model") / "model.onnx"))


@pytest.fixture
def camera(tmp_path: Path, model: Predictor) -> Camera:
    return Camera(tmp_path, model)
