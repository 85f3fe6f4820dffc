"""The linear probe of a classifier."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import tallymark
from tallymark.api.acknowledgements import ACKNOWLEDGEMENTS
from tallymark.api.train import changed_preset
from tallymark.core.problems import BadInput, Problems
from tallymark.detector.network import Classifier
from tallymark.inference.pipeline import infer_outputs
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.training import train
from tallymark.training.linear_probe import PENALTIES, as_feature_extractor, choose_penalty, fit_linear, init_classifier
from tallymark.training.log import LOG
from tallymark.training.network import make_network
from tests.training.test_loop import steps_of
from tests.training.test_train import QUICK

RECIPE = ImageRecipe().replace(task="labels", width=8, image_size=64, crop_size=64, label_smoothing=0.1)


def clusters(rng: np.random.Generator, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    label = rng.integers(0, 3, count)
    features = rng.normal(0, 1, (count, 20)) + 3 * np.eye(3, 20)[label]
    return torch.from_numpy(features).float(), torch.from_numpy(label)


def test_classes_are_separated_whatever_the_scale_of_the_features() -> None:
    rng = np.random.default_rng(0)
    features, label = clusters(rng, 300)
    others, wanted = clusters(rng, 300)
    probabilities = torch.eye(3)[label]
    logits_by_scale = []
    for scale, shift in ((1.0, 0.0), (100.0, -7.0)):
        weight, bias = fit_linear(scale * features + shift, probabilities, 0.05)
        logits_by_scale.append((scale * others + shift) @ weight.T + bias)
    assert (logits_by_scale[0].argmax(1) == wanted).float().mean() > 0.85
    assert torch.allclose(logits_by_scale[0], logits_by_scale[1], atol=0.05)


def test_constant_features_do_no_harm() -> None:
    features, label = clusters(np.random.default_rng(1), 100)
    weight, bias = fit_linear(torch.cat([features, torch.ones(100, 5)], 1), torch.eye(3)[label], 0.05)
    assert torch.isfinite(weight).all()
    assert torch.isfinite(bias).all()


def test_the_penalty_is_strong_where_labels_are_noisy_and_weak_where_they_are_not() -> None:
    rng = np.random.default_rng(2)
    features, label = clusters(rng, 400)
    clean = torch.cat([features, 20 * torch.eye(3)[label]], 1)
    assert choose_penalty(clean, torch.eye(3)[label]) == PENALTIES[0]
    noise = torch.from_numpy(rng.normal(0, 1, (400, 300))).float()
    wrong = torch.from_numpy(np.where(rng.random(400) < 0.3, rng.integers(0, 3, 400), label.numpy()))
    assert choose_penalty(torch.cat([features, noise], 1), torch.eye(3)[wrong]) == PENALTIES[-1]
    assert choose_penalty(features[:3], torch.eye(3)[label[:3]]) == PENALTIES[0]  # too few to hold any out


@pytest.mark.parametrize("head_stages", [1, 3])
def test_the_last_layer_starts_better_than_random(sets: Path, head_stages: int) -> None:
    catalog = tallymark.read("food", sets / "food").in_split("train").with_truth()
    network = make_network(RECIPE.replace(head_stages=head_stages), len(catalog.truth.classes)).eval()
    assert isinstance(network, Classifier)
    features = as_feature_extractor(network, torch.float32)
    before = network.backbone.state_dict()["stages.0.0.weight"].clone()
    init_classifier(network, catalog, RECIPE)
    assert torch.equal(network.backbone.state_dict()["stages.0.0.weight"], before)
    assert network.backbone.frozen_stages == 0
    images = torch.randint(0, 256, (2, 64, 64, 3), dtype=torch.uint8)
    with torch.inference_mode():
        logits = network(images.permute(0, 3, 1, 2).float())["classes"]
        pooled = torch.from_numpy(features(images.numpy())["classes"])
        assert torch.allclose(network.head.linear(pooled), logits, atol=1e-3)
    outputs = infer_outputs(catalog, [as_feature_extractor(network, torch.float32)], RECIPE, Problems(), title="again")
    pooled = torch.from_numpy(np.stack([one["classes"] for _, one in outputs]))
    with torch.inference_mode():
        predicted = network.head.linear(pooled).log_softmax(1).numpy()
    loss = -predicted[catalog.truth.item, catalog.truth.labels].mean()
    assert loss < np.log(len(catalog.truth.classes)) - 0.1


def test_features_in_bf16_are_those_of_single_precision() -> None:
    network = make_network(RECIPE.replace(head_stages=3), 3).eval()
    assert isinstance(network, Classifier)
    images = np.random.default_rng(0).integers(0, 256, (4, 64, 64, 3), np.uint8)
    single, half = (as_feature_extractor(network, one)(images)["classes"] for one in (torch.float32, torch.bfloat16))
    assert half.dtype == single.dtype == np.float32
    assert 0 < np.abs(half - single).max() < 0.02 * np.abs(single).max()


def test_no_epoch_ends_with_the_probe(sets: Path, tmp_path: Path) -> None:
    """And it can be fine-tuned later, from a network that is a checkpoint to choose from."""
    recipe = changed_preset("food", "tiny", QUICK)
    state = make_network(recipe, 4).backbone.state_dict()
    torch.save(state, tmp_path / "backbone.pt")
    changes = QUICK | {"weights": str(tmp_path / "backbone.pt"), "epochs": 0, "mixup": 0.3, "head_stages": 2}
    expected = tallymark.dry_run("food", sets / "food", preset="tiny", **changes)
    assert expected.steps == expected.epochs_in_time == 0
    assert expected.probed == expected.items
    assert expected.seconds == pytest.approx((expected.probed + expected.held_out) * expected.item_seconds)
    assert "linear probe" in str(expected)
    probe = tallymark.train("food", sets / "food", tmp_path / "probe", preset="tiny", **changes)
    ended = torch.load(tmp_path / "probe" / "weights.pt", weights_only=True)
    assert all(torch.equal(ended[f"backbone.{name}"], value) for name, value in state.items())
    assert steps_of(tmp_path / "probe") == [0]
    methods = (tmp_path / "probe" / ACKNOWLEDGEMENTS).read_text()
    assert "label smoothing" in methods
    assert "mixup" not in methods
    changes = QUICK | {"weights": str(tmp_path / "probe"), "learning_rate": 1e-9, "epochs": 1, "head_stages": 2}
    tallymark.train("food", sets / "food", tmp_path / "tuned", preset="tiny", **changes)
    scores = [json.loads(line)["score"] for line in (tmp_path / "tuned" / LOG).read_text().splitlines()]
    assert len(scores) == QUICK["evaluations"] + 1
    assert scores[0] == probe.score.value


def test_no_epoch_needs_a_whole_network(sets: Path, tmp_path: Path) -> None:
    for name in ("food", "wheat"):
        with pytest.raises(BadInput, match="epochs=0 with weights=none"):
            tallymark.train(name, sets / name, tmp_path / "run", preset="tiny", **QUICK | {"epochs": 0})
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_only_pretrained_features_are_probed(sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probed = []
    begin = train.init_classifier
    monkeypatch.setattr(train, "init_classifier", lambda *given: probed.append(begin(*given)))
    changes = QUICK | {"epochs": 1, "evaluations": 1}
    tallymark.train("food", sets / "food", tmp_path / "first", preset="tiny", **changes)
    assert not probed
    state = torch.load(tmp_path / "first" / "weights.pt", weights_only=True)
    torch.save({name: value for name, value in state.items() if name.startswith("backbone.")}, tmp_path / "w.pt")
    changes |= {"weights": str(tmp_path / "w.pt"), "weight_interpolation": 0.5}
    tallymark.train("food", sets / "food", tmp_path / "second", preset="tiny", **changes)
    assert len(probed) == 1
    changes["weights"] = str(tmp_path / "first")  # a network of the same architecture is loaded with its last layer
    tallymark.train("food", sets / "food", tmp_path / "third", preset="tiny", **changes)
    assert len(probed) == 1
