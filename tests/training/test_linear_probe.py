"""The first guess of classes, and what stays of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import tallymark
from tallymark.detector.network import Classifier, make_network
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.training import linear_probe as probe
from tallymark.training import train
from tallymark.training.optimizer import EMA
from tests.training.test_train import QUICK

RECIPE = ImageRecipe().replace(task="labels", width=8, image_size=64, crop_size=64, label_smoothing=0.1)


def clusters(rng: np.random.Generator, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    label = rng.integers(0, 3, count)
    features = rng.normal(0, 1, (count, 20)) + 3 * np.eye(3, 20)[label]
    return torch.from_numpy(features).float(), torch.from_numpy(label)


def test_a_layer_tells_classes_apart_whatever_the_scale() -> None:
    rng = np.random.default_rng(0)
    features, label = clusters(rng, 300)
    others, wanted = clusters(rng, 300)
    chances = torch.eye(3)[label]
    told = []
    for scale, shift in ((1.0, 0.0), (100.0, -7.0)):
        weight, bias = probe.fit_linear(scale * features + shift, chances)
        told.append((scale * others + shift) @ weight.T + bias)
    assert (told[0].argmax(1) == wanted).float().mean() > 0.85
    assert torch.allclose(told[0], told[1], atol=0.05)


def test_features_that_never_change_are_no_harm() -> None:
    features, label = clusters(np.random.default_rng(1), 100)
    weight, bias = probe.fit_linear(torch.cat([features, torch.ones(100, 5)], 1), torch.eye(3)[label])
    assert torch.isfinite(weight).all()
    assert torch.isfinite(bias).all()


def test_the_last_layer_begins_better_than_by_chance(sets: Path) -> None:
    catalog = tallymark.read("food", sets / "food").in_split("train")
    assert catalog.truth is not None
    network = make_network(RECIPE, len(catalog.truth.classes)).eval()
    assert isinstance(network, Classifier)
    features = probe.as_features(network)
    before = network.backbone.state_dict()["stages.0.0.weight"].clone()
    probe.init_classifier(network, catalog, RECIPE)
    assert torch.equal(network.backbone.state_dict()["stages.0.0.weight"], before)
    assert network.backbone.frozen == 0
    seen = torch.randint(0, 256, (2, 64, 64, 3), dtype=torch.uint8)
    with torch.inference_mode():
        logits = network(seen.permute(0, 3, 1, 2).float())["classes"]
        pooled = torch.from_numpy(features(seen.numpy())["classes"])
        assert torch.allclose(network.head.linear(pooled), logits, atol=1e-3)
    raw = probe.infer(catalog, [probe.as_features(network)], RECIPE, probe.Problems(), "again")
    with torch.inference_mode():
        told = network.head.linear(torch.from_numpy(raw.chances).float()).log_softmax(1).numpy()
    loss = -told[catalog.truth.item, catalog.truth.labels].mean()
    assert loss < np.log(len(catalog.truth.classes)) - 0.1


def test_it_is_made_where_features_were_learned_elsewhere(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    begin = train.init_classifier
    monkeypatch.setattr(train, "begin_classes", lambda *given: made.append(begin(*given)))
    changes = QUICK | {"epochs": 1, "evaluations": 1}
    tallymark.train("food", sets / "food", tmp_path / "first", preset="tiny", **changes)
    assert not made
    state = torch.load(tmp_path / "first" / "weights.pt", weights_only=True)
    torch.save({name: value for name, value in state.items() if name.startswith("backbone.")}, tmp_path / "w.pt")
    changes |= {"weights": str(tmp_path / "w.pt"), "weight_interpolation": 0.5}
    tallymark.train("food", sets / "food", tmp_path / "second", preset="tiny", **changes)
    assert len(made) == 1
    changes["weights"] = str(tmp_path / "first")  # all of a network of the same kind, its last layer too
    tallymark.train("food", sets / "food", tmp_path / "third", preset="tiny", **changes)
    assert len(made) == 1


@pytest.mark.parametrize("weight_interpolation", [0.0, 0.3])
def test_some_of_the_first_weights_stays(anchor: float) -> None:
    network = make_network(RECIPE, 3)
    average = EMA(network, 0.9, anchor)
    average.begin(network)
    weight = network.head.linear.weight
    first = weight.detach().clone()
    with torch.no_grad():
        weight.add_(1)
    for _ in range(300):
        average.follow(network)
    assert torch.allclose(average.network.state_dict()["head.linear.weight"], first + 1 - anchor, atol=1e-4)
