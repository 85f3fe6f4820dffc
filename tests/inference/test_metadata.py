"""Metadata of models: written and read as text, with errors that name the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallymark.core.problems import BadInput
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.recall_curve import COLUMNS
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.lidar.recipe import LidarRecipe

CURVE = {"hours": 2.0, **{name: [1.0, 0.5] for name in COLUMNS}}
PATH = Path("folder") / "model.onnx"


@pytest.mark.parametrize(
    "metadata",
    [
        ModelMetadata("wheat", ImageRecipe()),
        ModelMetadata("ships", ImageRecipe().replace(task="masks", tta=8), ("ship",), {"score": 0.5, "data": "小麦"}),
        ModelMetadata("upcalls", AudioRecipe(), ("call",), {}, CURVE, 1.25),
        ModelMetadata("lyft", LidarRecipe().replace(bev_encoder="pillars"), ("car", "bus")),
    ],
)
def test_metadata_is_read_as_it_was_written(metadata: ModelMetadata) -> None:
    read = ModelMetadata.read(metadata.text(), PATH)
    assert read == metadata
    assert type(read.recipe) is type(metadata.recipe)


def test_optional_entries_have_defaults() -> None:
    read = ModelMetadata.read('{"challenge": "wheat", "recipe": {"task": "boxes"}, "classes": []}', PATH)
    assert read == ModelMetadata("wheat", ImageRecipe())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "no metadata"),
        ("{", "metadata that cannot be read"),
        ("[]", "metadata that cannot be read"),
        ("null", "metadata that cannot be read"),
        ("{}", "metadata without 'challenge'"),
        ('{"challenge": "wheat"}', "metadata without 'recipe'"),
        ('{"challenge": "wheat", "recipe": {}}', "metadata without 'classes'"),
        ('{"challenge": "wheat", "recipe": {"task": "voxels"}, "classes": []}', "metadata with task=voxels"),
        ('{"challenge": "wheat", "recipe": {"nms_iou": 2}, "classes": []}', "metadata with nms_iou=2"),
        ('{"challenge": "wheat", "recipe": {"nmsiou": 0.5}, "classes": []}', "metadata with 'nmsiou'"),
        ('{"challenge": "wheat", "recipe": 3, "classes": []}', "metadata with recipe: 3 in place of named values"),
    ],
)
def test_invalid_metadata_is_refused(text: str, found: str) -> None:
    with pytest.raises(BadInput) as caught:
        ModelMetadata.read(text, PATH)
    (problem,) = caught.value.problems
    assert (problem.kind, problem.file) == ("bad_model", str(PATH))
    assert problem.found == found
    assert problem.remedy == "use a model.onnx that training wrote"


def test_fields_of_newer_versions_are_refused_by_name() -> None:
    stated = json.loads(ModelMetadata("wheat", ImageRecipe()).text())
    stated["recipe"]["quantum"] = 1
    with pytest.raises(BadInput, match="quantum"):
        ModelMetadata.read(json.dumps(stated), PATH)
