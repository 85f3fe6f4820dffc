"""What all modalities have in common: opened items, fingerprints, validation and notes."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import soundfile

import tallymark
from tallymark.api.models import find_preset
from tallymark.core.problems import BadInput, Problem
from tallymark.core.recipe import Recipe
from tallymark.data.catalog import Catalog
from tallymark.detector.strides import BLOCK
from tallymark.detector.tta import TTATransform
from tallymark.geometry.poses import Poses
from tallymark.io.media import BadMedia
from tallymark.modalities import modality, modality_of
from tallymark.modalities.audio.modality import AudioModality
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.modalities.base import InputPlan, ProbedObjects, fingerprint_file, path_of
from tallymark.modalities.image.modality import ImageModality
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.modalities.image.resize import MAX_SIZE
from tallymark.modalities.lidar.modality import LidarModality
from tallymark.modalities.lidar.recipe import LidarRecipe
from tests.sets import copy_of

CHALLENGES = ["wheat", "ships", "food", "upcalls", "lyft"]
EACH = pytest.mark.parametrize("name", CHALLENGES)


def problem_of(recipe: Recipe) -> Problem:
    with pytest.raises(BadInput) as caught:
        modality_of(recipe).validate(recipe)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("name", "kind"), [("image", ImageModality), ("audio", AudioModality), ("lidar", LidarModality)]
)
def test_modalities_are_known_by_name(name: str, kind: type) -> None:
    found = modality(name)
    assert isinstance(found, kind)
    assert found.name == found.recipe_type.modality == name


@EACH
def test_an_opened_item_has_tiles_that_a_network_can_take(name: str, sets: Path) -> None:
    catalog = tallymark.read(name, sets / name)
    recipe = find_preset(name, "tiny")
    own = modality_of(recipe)
    own.validate(recipe)
    assert own.name == catalog.medium.modality
    opened = own.open(catalog, 0, recipe)
    tiles = list(opened.tiles)
    assert tiles
    assert opened.size[0] > 0
    assert opened.scale > 0
    rasterize = own.rasterizer(recipe)
    for tile in tiles:
        grid = rasterize(tile.data)
        assert grid.ndim == 3
        assert not any(side % BLOCK for side in grid.shape[:2])
        left, top, right, bottom = tile.inside
        assert 0 <= left < right <= grid.shape[1]
        assert 0 <= top < bottom <= grid.shape[0]
        np.testing.assert_array_equal(own.apply_tta(grid, TTATransform(), recipe), grid)
    assert own.peak_distance(recipe) >= 1


def test_only_sweeps_have_a_pose(sets: Path) -> None:
    for name in CHALLENGES:
        catalog = tallymark.read(name, sets / name)
        recipe = find_preset(name, "tiny")
        opened = modality_of(recipe).open(catalog, 0, recipe)
        list(opened.tiles)
        assert (opened.pose is not None) == (name == "lyft")


@pytest.mark.parametrize("name", ["wheat", "upcalls"])
def test_a_missing_file_cannot_be_opened(name: str, sets: Path) -> None:
    catalog = tallymark.read(name, sets / name)
    missing = replace(catalog, files=pl.Series([None] * len(catalog), dtype=pl.String))
    recipe = find_preset(name, "tiny")
    with pytest.raises(BadMedia) as caught:
        modality_of(recipe).open(missing, 0, recipe)
    assert caught.value.kind == "missing_media"
    assert path_of(catalog, 0) == catalog.path(0)


def file_of(catalog: Catalog, item: int) -> Path:
    """A file that the item is read from."""
    if catalog.drive is not None:
        return Path(catalog.drive.sample_data["file"][catalog.drive.sweep_rows(item, 1)[0]])
    path = catalog.path(item)
    assert path is not None
    return path


@EACH
def test_the_fingerprint_changes_with_the_file(name: str, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, name, tmp_path)
    recipe = find_preset(name, "tiny")
    own = modality_of(recipe)
    catalog = tallymark.read(name, folder)

    def fingerprint(item: int) -> list[object]:
        return own.fingerprint(catalog, item, recipe)

    first, second = fingerprint(0), fingerprint(1)
    assert first != second
    assert fingerprint(0) == first
    path = file_of(catalog, 0)
    os.utime(path, (1e9, 1e9))
    later = fingerprint(0)
    assert later != first
    path.write_bytes(path.read_bytes() + b"\0")
    os.utime(path, (1e9, 1e9))
    larger = fingerprint(0)
    assert larger not in (first, later)
    path.unlink()
    with pytest.raises(BadMedia, match="no such file"):
        fingerprint(0)
    assert fingerprint(1) == second


def test_the_fingerprint_of_a_file_is_its_path_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    assert fingerprint_file(None) == ["None"]
    with pytest.raises(BadMedia, match="no such file"):
        fingerprint_file(path)
    path.write_bytes(b"abc")
    assert fingerprint_file(path) == [str(path.resolve()), 3, path.stat().st_mtime_ns]


def test_the_fingerprint_of_a_sample_depends_on_the_poses_and_files_of_its_sweeps(sets: Path) -> None:
    catalog = tallymark.read("lyft", sets / "lyft")
    recipe = find_preset("lyft", "small")
    own = modality_of(recipe)
    drive = catalog.drive
    assert drive is not None
    vehicle = Poses(drive.vehicle.rotation, drive.vehicle.translation + 1e-3)
    moved = replace(catalog, drive=replace(drive, vehicle=vehicle))
    fingerprints = [own.fingerprint(one, 0, recipe) for one in (catalog, moved, catalog)]
    assert fingerprints[0] == fingerprints[2] != fingerprints[1]
    counts = [len(drive.sweep_rows(item, sweeps=3)) for item in range(len(catalog))]
    stacked = int(np.argmax(counts))
    fingerprint = own.fingerprint(catalog, stacked, recipe.replace(sweeps=3))
    assert len(str(fingerprint).split(".bin")) == counts[stacked] + 1 > 2


@pytest.mark.parametrize("size", [MAX_SIZE + 1, 1 << 20])
def test_images_cannot_be_resized_without_limit(size: int) -> None:
    with pytest.raises(BadInput, match=f"bad_option: found image_size={size}"):
        ImageRecipe().replace(image_size=size)
    ImageModality().validate(ImageRecipe().replace(image_size=MAX_SIZE))


@pytest.mark.parametrize(("size", "near"), [(100, 96), (10, 32), (385, 384)])
def test_crops_must_be_whole_blocks(size: int, near: int) -> None:
    problem = problem_of(ImageRecipe().replace(crop_size=size))
    assert (problem.kind, problem.found) == ("bad_option", f"crop_size={size}")
    assert problem.remedy == f"give e.g. {near}"
    ImageModality().validate(ImageRecipe().replace(crop_size=near))


@pytest.mark.parametrize("tta", [2, 4, 8])
def test_recordings_have_no_test_time_augmentation(tta: int) -> None:
    problem = problem_of(AudioRecipe().replace(tta=tta))
    assert (problem.kind, problem.found) == ("bad_option", f"tta={tta}")
    assert problem.expected.startswith("tta=1")


def test_the_spectrogram_of_a_recipe_is_checked() -> None:
    assert problem_of(AudioRecipe().replace(n_bins=90)).found == "n_bins=90"


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"z_min": 4.0, "z_max": 4.0}, "z_min=4 z_max=4"),
        ({"bev_range": 63.0}, "bev_range=63 voxel_size=0.25"),
        ({"voxel_size": 0.3}, "bev_range=64 voxel_size=0.3"),
    ],
)
def test_the_grid_of_a_lidar_recipe_is_checked(changes: dict[str, Any], found: str) -> None:
    problem = problem_of(LidarRecipe().replace(**changes))
    assert (problem.kind, problem.found) == ("bad_option", found)


def test_recordings_and_sweeps_are_shown_at_one_scale(sets: Path) -> None:
    for name, own, recipe in (("upcalls", AudioModality(), AudioRecipe()), ("lyft", LidarModality(), LidarRecipe())):
        catalog = tallymark.read(name, sets / name).with_truth()
        assert own.training_scale(catalog, recipe, np.ones(3), None) == {}
        assert own.plan_inputs(catalog, recipe, {}, lambda image: ProbedObjects(image, image), None) == InputPlan()


@pytest.mark.parametrize(("seconds", "threads"), [(60, [0]), (600, [0, 1, 1])])
def test_a_thread_makes_the_tiles_of_a_recording_after_the_first(
    seconds: int, threads: list[int], tmp_path: Path
) -> None:
    rate = 1000
    soundfile.write(tmp_path / "a.wav", np.zeros(seconds * rate, np.int16), rate)
    catalog = tallymark.read("upcalls", tmp_path)
    before = threading.active_count()
    opened = AudioModality().open(catalog, 0, AudioRecipe())
    assert [threading.active_count() - before for _ in opened.tiles] == threads
    assert threading.active_count() == before


def test_the_rasterizer_of_sweeps_keeps_nothing_of_the_sweep_before(sets: Path) -> None:
    """A canvas is cleared and used again: results must not depend on what was drawn before."""
    catalog = tallymark.read("lyft", sets / "lyft")
    recipe = find_preset("lyft", "tiny")
    own = modality_of(recipe)
    first, second = (next(iter(own.open(catalog, item, recipe).tiles)).data for item in (0, 1))
    rasterize = own.rasterizer(recipe)
    before = rasterize(first).copy()
    assert (rasterize(second) != before).any()
    np.testing.assert_array_equal(rasterize(first), before)
