"""Sweeps as training samples and as inputs of the network, and predictions in the world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallymark
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.core.problems import EVERY, BadInput, Problems
from tallymark.core.recipe import head_groups_of
from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.detector.outputs import Outputs
from tallymark.geometry.points_in_boxes import count_points_in_cuboids
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.pipeline import Model, ensemble, infer
from tallymark.inference.predictor import Predictor
from tallymark.inference.session import Session
from tallymark.io.lidar import read_sweep
from tallymark.modalities.lidar.augmentation import crop_cloud
from tallymark.modalities.lidar.dataset import LidarDataset
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.modalities.lidar.sweeps import bev_input, read_scan
from tallymark.training.adapter import as_model
from tallymark.training.export import export
from tallymark.training.network import make_network
from tests.formats.files import put, put_sweep
from tests.sets import copy_of

GROUPS = "car | bus, truck, other_vehicle | pedestrian, animal"
RECIPE = LidarRecipe().replace(
    width=4, neck=8, bev_range=32, voxel_size=0.5, height_bins=6, head_groups=GROUPS, max_points=4000
)
STILL = RECIPE.replace(rotate_degrees=0, scale_jitter=1, hflip=0, vflip=0, point_dropout=0, gt_paste=0, class_balance=0)
ENCODERS = pytest.mark.parametrize("encoder", ["bins", "pillars"])


@pytest.fixture(scope="module")
def catalog(sets: Path) -> Catalog:
    return tallymark.read("lyft", sets / "lyft").in_split("train")


def kitti(folder: Path) -> Catalog:
    """One sweep of a road 1.7 m below the lidar, with a car ahead and another one behind, which is not labelled."""
    rng = np.random.default_rng(0)
    road = np.column_stack([rng.uniform(-30, 30, (4000, 2)), np.full(4000, -1.7)])
    car = np.column_stack([rng.uniform(8, 12, 300), rng.uniform(1.2, 2.8, 300), rng.uniform(-1.6, -0.2, 300)])
    points = np.concatenate([road, car, car * (-1, 1, 1)])
    put_sweep(folder / "training/velodyne/000001.bin", np.column_stack([points, np.full(len(points), 0.3)]))
    # In the frame of the camera x is right, y is down and z is ahead; the turn about y is 0 to the right.
    put(folder / "training/label_2/000001.txt", "Car 0 0 0 0 0 0 0 1.5 1.7 4.2 -2 1.7 10 -1.5707963\n")
    turn, move = "1 0 0 0 1 0 0 0 1", "0 -1 0 0 0 0 -1 0 1 0 0 0"
    put(folder / "training/calib/000001.txt", f"R0_rect: {turn}\nTr_velo_to_cam: {move}\n")
    return tallymark.read("lyft", folder)


@ENCODERS
def test_cuboids_lie_where_the_points_are(catalog: Catalog, encoder: str) -> None:
    dataset = LidarDataset(catalog, RECIPE.replace(bev_encoder=encoder, point_dropout=0))
    for number in range(6):
        sample = dataset.sample(np.random.default_rng(number), number % len(dataset), mix=True)
        cuboids: Any = sample.shapes
        assert sample.extent == (128, 128)
        assert sample.data.dtype == np.float32
        if encoder == "bins":
            assert sample.data.shape == (128, 128, 10)
            row, column = np.nonzero(sample.data[..., -2])
        else:
            assert sample.data.shape == (4000, 1, 6)
            listed = sample.data[:, 0, 0]
            row, column = np.divmod(listed[listed >= 0].astype(int), 128)
        ground = cuboids.ground
        inside = (ground.x > 2) & (ground.x < 126) & (ground.y > 2) & (ground.y < 126)
        nearest = np.hypot(ground.x[:, None] - column - 0.5, ground.y[:, None] - row - 0.5).min(axis=1)
        half = np.hypot(ground.length, ground.width) / 2 + 1
        assert (nearest <= half)[inside].all()


def test_cuboids_without_points_are_dropped(catalog: Catalog) -> None:
    dataset = LidarDataset(catalog, STILL)
    truth = catalog.truth
    assert truth is not None
    kept = sum(len(dataset.load_cloud(item).cuboids) for item in range(len(catalog)))
    hidden = 0
    for item in range(len(catalog)):
        cloud = dataset.load_cloud(item)
        assert (count_points_in_cuboids(cloud.points, cloud.cuboids) > 0).all()
        scan = read_scan(catalog, item)
        rows = np.arange(truth.offsets[item], truth.offsets[item + 1])
        own = catalog.drive.to_frame(item, truth.shapes.take(rows), "ego")
        hidden += int((count_points_in_cuboids(scan.points, own) == 0).sum())
    assert kept + hidden == len(truth)
    assert kept > hidden


def test_all_round_points_straight_behind_are_kept(tmp_path: Path) -> None:
    """Their angle in single precision is above 180 degrees."""
    catalog = kitti(tmp_path)
    behind = np.array([[-10, 0, -1.7, 0.3], [-20, -1e-7, -1.7, 0.3]])
    points = np.concatenate([read_sweep(catalog.path(0))[:, :4], behind])
    put_sweep(tmp_path / "training/velodyne/000001.bin", points)
    assert len(LidarDataset(catalog, STILL).load_cloud(0).points) == len(points)


def test_class_balance_draws_rare_classes_more_often(catalog: Catalog) -> None:
    truth = catalog.truth
    assert truth is not None
    rare = np.arange(len(truth)) == truth.offsets[2]  # one bus, in the third sample
    changed = replace(catalog, truth=replace(truth, label=np.where(rare, 2, 0)))

    def share(balance: float) -> float:
        dataset = LidarDataset(changed, STILL.replace(class_balance=balance))
        dataset.load_cloud = lambda item: drawn.append(item) or type(dataset).load_cloud(dataset, item)
        drawn: list[int] = []
        for number in range(60):
            dataset.sample(np.random.default_rng(number), number % len(dataset), mix=False)
        return float(np.mean(np.array(drawn) == 2))

    assert share(0) == pytest.approx(1 / len(catalog), abs=0.01)
    assert share(1) > 0.4


def test_an_unreadable_sweep_is_skipped_and_reported(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    damaged = tallymark.read("lyft", folder).in_split("train")
    path = damaged.path(0)
    assert path is not None
    path.write_bytes(path.read_bytes()[:-3])
    dataset = LidarDataset(damaged, STILL)
    assert len(dataset.load_cloud(0).points) == len(dataset.load_cloud(1).points)
    dataset.load_cloud(0)
    (problem,) = dataset.problems
    assert (problem.kind, problem.item) == ("ragged_sweep", damaged.items.ids[0])
    for item in range(len(damaged)):
        damaged.path(item).write_bytes(b"")
    with pytest.raises(BadInput):
        LidarDataset(damaged, STILL).load_cloud(0)


def test_impossible_settings_are_refused(catalog: Catalog) -> None:
    with pytest.raises(BadInput, match="no_truth"):
        LidarDataset(replace(catalog, truth=None), RECIPE)
    for wrong in ({"voxel_size": 0.3}, {"bev_range": 30}, {"z_min": 5}):
        with pytest.raises(BadInput, match="bad_option"):
            LidarDataset(catalog, RECIPE.replace(**wrong))
    for wrong in ({"crop_size": 40}, {"crop_size": 64, "bev_encoder": "pillars"}):
        with pytest.raises(BadInput, match="crop_size"):
            make_network(RECIPE.replace(**wrong), 9)
    with pytest.raises(BadInput, match="mini_resnet"):
        make_network(RECIPE.replace(backbone="efficientnet_lite0"), 9)


def perfect(recipe: LidarRecipe, samples: Sequence[Any], classes: int, groups: list[int]) -> Model:
    """A model with the truth of one sample after another, and nonsense in the outputs of other groups."""
    coder: Any = CODERS["cuboids"]
    given = iter(samples)

    def model(inputs: np.ndarray) -> Outputs:
        sample = next(given)
        assert (inputs[0] == sample.data).all()
        truth = coder.targets([sample], classes, recipe)
        count, (height, width) = max(groups) + 1, truth.heatmap.shape[2:]
        values = np.full((1, count, coder.values, height, width), 77.0)
        quality = np.full((1, count, height, width), 0.01)
        group = np.array(groups)[truth.label.numpy()]
        values[0, group, :, truth.y, truth.x] = truth.values.numpy()
        quality[0, group, truth.y, truth.x] = 0.9
        flat = values.reshape(1, -1, height, width)
        return {"heat": truth.heatmap.numpy(), "values": flat, "quality": quality, "presence": np.ones(1)}

    return model


@ENCODERS
def test_a_perfect_model_predicts_the_truth_in_the_world(catalog: Catalog, encoder: str) -> None:
    recipe, truth = STILL.replace(bev_encoder=encoder, max_points=40000, stride=4), catalog.truth
    assert truth is not None
    dataset, groups = LidarDataset(catalog, recipe), head_groups_of(recipe, truth.classes)
    samples = [dataset.sample(np.random.default_rng(0), item, mix=False) for item in range(len(catalog))]
    model = perfect(recipe, samples, len(truth.classes), groups)
    candidates = infer(catalog, [model], recipe, Problems(EVERY), classes=truth.classes)
    found = candidates.objects
    assert found.classes == truth.classes
    confident = found.filter(found.scores > 0.5)
    assert len(confident) > 20
    pairs = confident.shapes.pairs(
        truth.shapes, confident.item * 100 + confident.labels, truth.item * 100 + truth.labels, 0.99
    )
    assert len(np.unique(pairs.first)) == len(confident)


def test_kitti_sweeps_are_placed_on_their_ground(tmp_path: Path) -> None:
    catalog = kitti(tmp_path)
    scan = read_scan(catalog, 0)
    assert scan.points.shape == (4600, 5)
    assert scan.pose.translation[0, 2] == pytest.approx(-1.7, abs=0.02)
    assert catalog.truth is not None
    recipe = STILL.replace(fov_degrees=45, head_groups="")
    dataset = LidarDataset(catalog, recipe)
    cloud = dataset.load_cloud(0)
    assert count_points_in_cuboids(cloud.points, cloud.cuboids).tolist() == [300]
    assert cloud.points[:, 0].min() >= 0
    sample = dataset.sample(np.random.default_rng(0), 0, mix=False)
    model = perfect(recipe, [sample], 9, [0] * 9)
    found = infer(catalog, [model], recipe, Problems(EVERY), classes=catalog.truth.classes).objects
    best = found.filter(found.scores > 0.5)
    shared, union = best.shapes.overlap(catalog.truth.shapes, np.zeros(1, int), np.zeros(1, int))
    assert shared / union > 0.99


@ENCODERS
def test_the_model_file_has_the_outputs_of_the_network(encoder: str, catalog: Catalog, tmp_path: Path) -> None:
    recipe, truth = RECIPE.replace(bev_encoder=encoder), catalog.truth
    assert truth is not None
    network = make_network(recipe, 9, head_groups_of(recipe, truth.classes)).eval()
    export(network, ModelMetadata("lyft", recipe, truth.classes), tmp_path / "model.onnx")
    session, model = Session(tmp_path / "model.onnx"), as_model(network)
    dataset = LidarDataset(catalog, recipe)
    inputs = np.stack([dataset.sample(np.random.default_rng(k), k, mix=True).data for k in range(3)])
    outputs, file = model(inputs), session(inputs)
    assert outputs["values"].shape == (3, 4 * CODERS["cuboids"].values, 32, 32)
    assert outputs["quality"].shape == (3, 4, 32, 32)
    for name, part in outputs.items():
        np.testing.assert_allclose(file[name], part, atol=2e-4)
    one = infer(catalog, [model], recipe.replace(tta=8), Problems(EVERY), classes=truth.classes).objects
    other = infer(catalog, [session], recipe.replace(tta=8), Problems(EVERY), classes=truth.classes).objects
    assert abs(len(one) - len(other)) <= 0.02 * len(one)


@ENCODERS
def test_every_test_time_augmentation_has_the_same_points(encoder: str) -> None:
    """Of eight transforms of a single point, each has it in a cell of its own."""
    recipe = RECIPE.replace(bev_encoder=encoder, max_points=64)
    points = np.zeros((1, 5), np.float32)
    points[0, :3] = (10.2, 5.3, 1)
    grid = bev_input(points, recipe)
    given: list[np.ndarray] = []

    def model(inputs: np.ndarray) -> Outputs:
        given.append(inputs[0])
        return {name: np.zeros((1, size, 32, 32)) for name, size in (("heat", 9), ("values", 40), ("quality", 4))} | {
            "presence": np.zeros(1)
        }

    ensemble(grid, [model], recipe.replace(tta=8))
    cells = set()
    for one in given:
        if encoder == "bins":
            (row,), (column,) = np.nonzero(one[..., -2])
        else:
            row, column = divmod(int(one[0, 0, 0]), 128)
        cells.add((int(row), int(column)))
    row, column = (int((value + 32) / 0.5) for value in (5.3, 10.2))
    places = {(a, b) for a in (row, 127 - row) for b in (column, 127 - column)}
    assert cells == places | {(b, a) for a, b in places}


@pytest.mark.parametrize("label", [None, 0])
def test_a_crop_is_placed_on_an_object(catalog: Catalog, label: int | None) -> None:
    cloud = LidarDataset(catalog, STILL).load_cloud(0)
    for seed in range(10):
        moved = crop_cloud(np.random.default_rng(seed), cloud, STILL, 8, label)
        x, y = cloud.cuboids.x[0] - moved.cuboids.x[0], cloud.cuboids.y[0] - moved.cuboids.y[0]
        assert max(abs(x), abs(y)) <= 32 - 8 + 1e-9
        inside = (np.abs(cloud.points[:, :2] - (x, y)) <= 8).all(axis=1)
        shown = (np.abs(moved.points[:, :2]) <= 8).all(axis=1)
        np.testing.assert_allclose(moved.points[shown, :2] + (x, y), cloud.points[inside, :2], atol=1e-4)
        assert np.abs(moved.points[:, :2]).max() <= 8.1
        near = np.maximum(np.abs(moved.cuboids.x), np.abs(moved.cuboids.y)) < 8
        assert (near & (True if label is None else cloud.label == label)).any()


def test_crops_are_samples_of_their_size(catalog: Catalog) -> None:
    dataset = LidarDataset(catalog, RECIPE.replace(crop_size=64))
    samples = [dataset.sample(np.random.default_rng(k), k, mix=True) for k in range(4)]
    assert {sample.data.shape for sample in samples} == {(64, 64, 10)}
    assert {sample.extent for sample in samples} == {(64, 64)}
    whole = LidarDataset(catalog, RECIPE.replace(crop_size=160)).sample(np.random.default_rng(0), 0, mix=True)
    assert whole.extent == (128, 128)
    empty = LidarDataset(catalog, STILL.replace(crop_size=64))
    nothing = replace(
        empty.load_cloud(0), cuboids=empty.load_cloud(0).cuboids.take(np.empty(0, int)), label=np.empty(0)
    )
    empty.load_cloud = lambda item: nothing
    assert not len(empty.sample(np.random.default_rng(0), 0, mix=False).shapes)


def test_models_of_different_grids_cannot_be_combined(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.onnx" for number in range(3)]
    for path, recipe in zip(
        paths, (RECIPE, RECIPE.replace(voxel_size=0.25, bev_range=16), RECIPE.replace(head_groups="")), strict=True
    ):
        network = make_network(recipe, len(CLASSES), head_groups_of(recipe, CLASSES)).eval()
        export(network, ModelMetadata("lyft", recipe, CLASSES), path)
    for other in paths[1:]:
        with pytest.raises(BadInput, match="other_model"):
            Predictor([paths[0], other])
