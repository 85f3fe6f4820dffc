"""Sweeps: what is learned from them, what the network is shown, and that findings come back to where things are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tallymark
from tallymark.core.problems import EVERY, BadInput, Problems
from tallymark.core.recipe import head_groups_of
from tallymark.data.catalog import Catalog
from tallymark.detector.coders import CODERS
from tallymark.detector.network import CenterDetector, make_network
from tallymark.geometry.points_in_boxes import points_inside
from tallymark.geometry.poses import Poses
from tallymark.inference.metadata import Metadata
from tallymark.inference.pipeline import Maps, Model, infer, mean_maps
from tallymark.inference.predictor import Predictor
from tallymark.inference.session import Session
from tallymark.modalities.lidar.dataset import LidarDataset
from tallymark.modalities.lidar.recipe import LidarRecipe
from tallymark.modalities.lidar.sweeps import Scan, bev_input, estimate_ground_height, in_field_of_view, read_scan
from tallymark.training.adapter import as_model
from tallymark.training.batches import center_targets
from tallymark.training.export import export
from tests.formats.files import put, put_sweep
from tests.sets import copy_of

GROUPS = "car | bus, truck, other_vehicle | pedestrian, animal"
RECIPE = LidarRecipe().replace(
    width=4, neck=8, bev_range=32, voxel_size=0.5, height_bins=6, head_groups=GROUPS, max_points=4000
)
STILL = RECIPE.replace(rotate_degrees=0, scale_jitter=1, hflip=0, vflip=0, point_dropout=0, gt_paste=0, class_balance=0)
READERS = pytest.mark.parametrize("bev_encoder", ["bins", "pillars"])


@pytest.fixture(scope="module")
def catalog(sets: Path) -> Catalog:
    return tallymark.read("lyft", sets / "lyft").in_split("train")


def kitti(folder: Path) -> Catalog:
    """One sweep of a road 1.7 m below the lidar, with a car ahead and another one behind, which nobody labelled."""
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


@READERS
def test_volumes_are_where_the_network_sees_points(catalog: Catalog, reader: str) -> None:
    source = LidarDataset(catalog, RECIPE.replace(bev_encoder=reader, point_dropout=0))
    for number in range(6):
        window = source.window(np.random.default_rng(number), number % len(source), False)
        volumes: Any = window.shapes
        assert window.extent == (128, 128)
        assert window.picture.dtype == np.float32
        if reader == "bins":
            assert window.picture.shape == (128, 128, 10)
            row, column = np.nonzero(window.picture[..., -2])
        else:
            assert window.picture.shape == (4000, 1, 6)
            listed = window.picture[:, 0, 0]
            row, column = np.divmod(listed[listed >= 0].astype(int), 128)
        ground = volumes.ground
        inside = (ground.x > 2) & (ground.x < 126) & (ground.y > 2) & (ground.y < 126)
        nearest = np.hypot(ground.x[:, None] - column - 0.5, ground.y[:, None] - row - 0.5).min(axis=1)
        half = np.hypot(ground.length, ground.width) / 2 + 1
        assert (nearest <= half)[inside].all()


def test_what_has_no_point_is_not_learned(catalog: Catalog) -> None:
    source = LidarDataset(catalog, STILL)
    truth = catalog.truth
    assert truth is not None
    learned = sum(len(source.load(item).volumes) for item in range(len(catalog)))
    hidden = 0
    for item in range(len(catalog)):
        cloud = source.load(item)
        assert (points_inside(cloud.points, cloud.volumes) > 0).all()
        scan = read_scan(catalog, item)
        rows = np.arange(truth.offsets[item], truth.offsets[item + 1])
        own = catalog.drive.volumes(item, truth.shapes.take(rows), "ego")  # type: ignore[union-attr]
        hidden += int((points_inside(scan.points, own) == 0).sum())
    assert learned + hidden == len(truth)
    assert learned > hidden


def test_rare_classes_are_seen_more_often(catalog: Catalog) -> None:
    truth = catalog.truth
    assert truth is not None
    rare = np.arange(len(truth)) == truth.offsets[2]  # one bus, in the third sample
    changed = replace(catalog, truth=replace(truth, label=np.where(rare, 2, 0)))

    def seen(balance: float) -> float:
        source = LidarDataset(changed, STILL.replace(class_balance=balance))
        source.load = lambda item: drawn.append(item) or type(source).load(source, item)  # type: ignore[method-assign, func-returns-value]
        drawn: list[int] = []
        for number in range(60):
            source.window(np.random.default_rng(number), number % len(source), True)
        return float(np.mean(np.array(drawn) == 2))

    assert seen(0) == pytest.approx(1 / len(catalog), abs=0.01)
    assert seen(1) > 0.4


def test_a_sweep_that_cannot_be_read_is_noted_and_passed_over(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    damaged = tallymark.read("lyft", folder).in_split("train")
    path = damaged.path(0)
    assert path is not None
    path.write_bytes(path.read_bytes()[:-3])
    source = LidarDataset(damaged, STILL)
    assert len(source.load(0).points) == len(source.load(1).points)
    source.load(0)
    (problem,) = source.problems
    assert (problem.kind, problem.item) == ("ragged_sweep", damaged.items.ids[0])
    for item in range(len(damaged)):
        damaged.path(item).write_bytes(b"")  # type: ignore[union-attr]
    with pytest.raises(BadInput):
        LidarDataset(damaged, STILL).load(0)


def test_what_cannot_be_trained_is_refused(catalog: Catalog) -> None:
    with pytest.raises(BadInput, match="no_truth"):
        LidarDataset(replace(catalog, truth=None), RECIPE)
    for wrong in ({"voxel_size": 0.3}, {"bev_range": 30}, {"z_min": 5}):
        with pytest.raises(BadInput, match="bad_option"):
            LidarDataset(catalog, RECIPE.replace(**wrong))
    with pytest.raises(BadInput, match="mini_resnet"):
        make_network(RECIPE.replace(backbone="efficientnet_lite0"), 9)


def perfect(recipe: LidarRecipe, scans: Sequence[Any], classes: int, groups: list[int]) -> Model:
    """A model that tells the truth of one sample after another, and nonsense in the maps of other groups."""
    code, given = CODERS["cuboids"], iter(scans)

    def tell(seen: np.ndarray) -> Maps:
        window = next(given)
        assert (seen[0] == window.picture).all()
        truth = center_targets([window], code, classes, recipe.stride)
        count, (height, width) = max(groups) + 1, truth.heat.shape[2:]
        values = np.full((1, count, code.values, height, width), 77.0)
        quality = np.full((1, count, height, width), 0.01)
        group = np.array(groups)[truth.label.numpy()]
        values[0, group, :, truth.y, truth.x] = truth.values.numpy()
        quality[0, group, truth.y, truth.x] = 0.9
        flat = values.reshape(1, -1, height, width)
        return {"heat": truth.heat.numpy(), "values": flat, "quality": quality, "presence": np.ones(1)}

    return tell


@READERS
def test_what_a_perfect_model_tells_is_the_truth_in_the_world(catalog: Catalog, reader: str) -> None:
    recipe, truth = STILL.replace(bev_encoder=reader, max_points=40000, stride=4), catalog.truth
    assert truth is not None
    source, groups = LidarDataset(catalog, recipe), head_groups_of(recipe, truth.classes)
    scans = [source.window(np.random.default_rng(0), item, True) for item in range(len(catalog))]
    model = perfect(recipe, scans, len(truth.classes), groups)
    raw = infer(catalog, [model], recipe, Problems(EVERY), classes=truth.classes)
    found = raw.found
    assert found is not None
    assert found.classes == truth.classes
    sure = found.filter(found.scores > 0.5)
    assert len(sure) > 20
    pairs = sure.shapes.pairs(truth.shapes, sure.item * 100 + sure.kind, truth.item * 100 + truth.labels, 0.99)
    assert len(np.unique(pairs.first)) == len(sure)


def test_kitti_is_seen_from_its_ground(tmp_path: Path) -> None:
    catalog = kitti(tmp_path)
    scan = read_scan(catalog, 0)
    assert scan.points.shape == (4600, 5)
    assert scan.stand.translation[0, 2] == pytest.approx(-1.7, abs=0.02)
    assert catalog.truth is not None
    recipe = STILL.replace(fov_degrees=45, head_groups="")
    source = LidarDataset(catalog, recipe)
    cloud = source.load(0)
    assert points_inside(cloud.points, cloud.volumes).tolist() == [300]
    assert cloud.points[:, 0].min() >= 0
    window = source.window(np.random.default_rng(0), 0, True)
    model = perfect(recipe, [window], 9, [0] * 9)
    found = infer(catalog, [model], recipe, Problems(EVERY), classes=catalog.truth.classes).found
    assert found is not None
    best = found.filter(found.scores > 0.5)
    shared, union = best.shapes.overlap(catalog.truth.shapes, np.zeros(1, int), np.zeros(1, int))
    assert shared / union > 0.99


def test_the_ground_is_found_below_what_stands_on_it() -> None:
    rng = np.random.default_rng(0)
    road = np.column_stack([rng.uniform(-20, 20, (3000, 2)), rng.normal(-1.9, 0.02, 3000)])
    roof = np.column_stack([rng.uniform(-1, 1, (9000, 2)), np.full(9000, 0.4)])  # its own, seen by most of the beams
    assert estimate_ground_height(np.concatenate([road, roof])) == pytest.approx(-1.9, abs=0.1)
    assert estimate_ground_height(np.empty((0, 4))) == 0


def test_only_the_front_is_seen() -> None:
    points = np.array([[10, 0, 0, 0, 0], [0, 10, 0, 0, 0], [-10, 0.1, 0, 0, 0], [5, -5.1, 0, 0, 0]], np.float32)
    assert in_field_of_view(points, 45).tolist() == [True, False, False, False]
    assert in_field_of_view(points, 180).all()
    assert np.count_nonzero(bev_input(points, RECIPE.replace(fov_degrees=45))[..., -2]) == 1
    assert np.count_nonzero(bev_input(points, RECIPE)[..., -2]) == 4


def test_a_cell_is_described_by_the_strongest_of_its_points() -> None:
    network = make_network(
        RECIPE.replace(bev_encoder="pillars"), 9, head_groups_of(RECIPE.replace(head_groups=""), ["a"] * 9)
    )
    assert isinstance(network, CenterDetector)
    two, another, none = (
        [[3, 0.1, 0.2, 0.5, 0, 0.1], [3, -0.4, 0, 0.9, 0, 0.1]],
        [200, 0, 0, 0.2, 0, 0.5],
        [-1] + [0] * 5,
    )
    listed = torch.tensor([*two, another, none]).T[None, ..., None]
    grid = network.reader(listed)
    alone = [network.reader(listed[:, :, number : number + 1]) for number in range(3)]
    assert grid.shape == (1, 4, 128, 128)
    torch.testing.assert_close(grid[0, :, 0, 3], torch.maximum(alone[0], alone[1])[0, :, 0, 3])
    torch.testing.assert_close(grid[0, :, 1, 72], alone[2][0, :, 1, 72])
    assert int((grid != 0).any(1).sum()) == 2  # what is no point is nowhere


@READERS
def test_the_file_says_what_the_network_says(reader: str, catalog: Catalog, tmp_path: Path) -> None:
    recipe, truth = RECIPE.replace(bev_encoder=reader), catalog.truth
    assert truth is not None
    network = make_network(recipe, 9, head_groups_of(recipe, truth.classes)).eval()
    export(network, Metadata("lyft", recipe, truth.classes), tmp_path / "model.onnx")
    session, model = Session(tmp_path / "model.onnx"), as_model(network)
    source = LidarDataset(catalog, recipe)
    seen = np.stack([source.window(np.random.default_rng(k), k, False).picture for k in range(3)])
    told, file = model(seen), session(seen)
    assert told["values"].shape == (3, 4 * CODERS["cuboids"].values, 32, 32)
    assert told["quality"].shape == (3, 4, 32, 32)
    for name, part in told.items():
        np.testing.assert_allclose(file[name], part, atol=2e-4)
    one = infer(catalog, [model], recipe.replace(tta=8), Problems(EVERY), classes=truth.classes).found
    other = infer(catalog, [session], recipe.replace(tta=8), Problems(EVERY), classes=truth.classes).found
    assert one is not None
    assert other is not None
    assert abs(len(one) - len(other)) <= 0.02 * len(one)


@READERS
def test_every_view_shows_the_same_scan(reader: str) -> None:
    """Of eight views of a single point, each has it in a place of its own."""
    recipe = RECIPE.replace(bev_encoder=reader, max_points=64)
    points = np.zeros((1, 5), np.float32)
    points[0, :3] = (10.2, 5.3, 1)
    scan = Scan(points, Poses.of([1, 0, 0, 0], [0, 0, 0]))
    grid = bev_input(scan.points, recipe)
    shown: list[np.ndarray] = []

    def model(seen: np.ndarray) -> Maps:
        shown.append(seen[0])
        return {name: np.zeros((1, size, 32, 32)) for name, size in (("heat", 9), ("values", 40), ("quality", 4))} | {
            "presence": np.zeros(1)
        }

    mean_maps(grid, [model], recipe.replace(tta=8))
    cells = set()
    for one in shown:
        if reader == "bins":
            (row,), (column,) = np.nonzero(one[..., -2])
        else:
            row, column = divmod(int(one[0, 0, 0]), 128)
        cells.add((int(row), int(column)))
    row, column = (int((value + 32) / 0.5) for value in (5.3, 10.2))
    places = {(a, b) for a in (row, 127 - row) for b in (column, 127 - column)}
    assert cells == places | {(b, a) for a, b in places}


def test_models_that_see_another_ground_do_not_go_together(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.onnx" for number in range(3)]
    for path, recipe in zip(
        paths, (RECIPE, RECIPE.replace(voxel_size=0.25, bev_range=16), RECIPE.replace(head_groups="")), strict=True
    ):
        export(make_network(recipe, 2).eval(), Metadata("lyft", recipe, ("car", "bus")), path)
    for other in paths[1:]:
        with pytest.raises(BadInput, match="other_model"):
            Predictor([paths[0], other])
