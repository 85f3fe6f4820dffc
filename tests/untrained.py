"""Models with random weights, for tests of what happens around a prediction."""

from __future__ import annotations

from pathlib import Path

from tallymark.api.models import find_preset
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.core.recipe import head_groups_of
from tallymark.inference.metadata import ModelMetadata
from tallymark.training.export import export
from tallymark.training.network import make_network

SMALL: dict[str, dict[str, object]] = {
    "wheat": {"image_size": 64},
    "upcalls": {},
    "food": {"image_size": 64},
    "lyft": {"bev_range": 16, "voxel_size": 0.5},
    "ships": {"image_size": 64},
}
NAMES = {"food": ("0", "1", "2", "3"), "lyft": CLASSES}


def untrained(name: str, path: Path, *, half: bool = False, **changes: object) -> Path:
    """Write a model of a challenge that was never trained. half: with weights in half precision."""
    recipe = find_preset(name, "tiny").replace(width=4, neck=8, tta=1, weights="none", **(SMALL[name] | changes))
    classes = NAMES.get(name, ())
    network = make_network(recipe, max(len(classes), 1), head_groups_of(recipe, classes)).eval()
    export(network, ModelMetadata(name, recipe, classes, {}), path, half=half)
    return path
