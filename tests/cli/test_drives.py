"""Commands on sweeps: KITTI folders, maps and camera images."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.io.images import read_image
from tests.cli.running import run
from tests.formats.files import put, put_sweep
from tests.formats.test_kitti import CALIBRATION, CAR, DONT_CARE
from tests.sets import copy_of

MISC = CAR.replace("Car", "Misc")


def test_a_correct_kitti_folder_is_valid(tmp_path: Path) -> None:
    training = tmp_path / "training"
    put_sweep(training / "velodyne" / "000000.bin", np.ones((3, 4)))
    put_sweep(training / "velodyne_reduced" / "000000.bin", np.ones((2, 4)))
    put(training / "calib" / "000000.txt", CALIBRATION)
    put(training / "label_2" / "000000.txt", f"{CAR}\n{DONT_CARE}\n{DONT_CARE}\n{MISC}\n")
    printed = run("check", "lyft", tmp_path)
    assert printed.startswith("valid: 1 item, 1 object")
    assert "excluded labels of classes that the challenge does not have: 2 DontCare, 1 Misc" in printed
    assert "1 frame with two sweeps: the one in velodyne_reduced was read" in printed
    report = json.loads(run("check", "lyft", tmp_path, "--json"))
    assert report["valid"]
    assert len(report["remarks"]) == 2


SMALLEST = ("bev_range=16", "voxel_size=0.5", "height_bins=4", "width=4", "neck=8", "epochs=1", "evaluations=1")


@pytest.fixture(scope="module")
def painted_run(sets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a model that is given the map and the camera image besides the points."""
    out = tmp_path_factory.mktemp("painted") / "run"
    run("train", "lyft", sets / "lyft", "--preset", "tiny", "--out", out, *SMALLEST, "folds=2", "point_painting=both")
    return out


def test_predictions_are_drawn_from_above_and_in_camera_images(painted_run: Path, sets: Path, tmp_path: Path) -> None:
    words = ("predict", painted_run, sets / "lyft", "--split", "train", "score_threshold=0.01")
    printed = run(*words, "--draw", tmp_path / "drawn")
    assert f"written to {tmp_path / 'drawn'}" in printed
    assert "expect a lower score" not in printed
    ids = tallymark.read("lyft", sets / "lyft").in_split("train").items.ids.to_list()
    names = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert names == {f"{name}{view}.jpg" for name in ids for view in ("", "_CAM_FRONT")}
    assert read_image(tmp_path / "drawn" / f"{ids[0]}.jpg").shape == (960, 960, 3)
    assert "not_empty" in run(*words, "--draw", tmp_path / "drawn", code=2)


def test_photographs_are_drawn_in_their_own_size(sets: Path, tmp_path: Path) -> None:
    photograph = sorted((sets / "wheat" / "train").iterdir())[0]
    (tmp_path / "field").mkdir()
    shutil.copy(photograph, tmp_path / "field")
    run("predict", "wheat", tmp_path / "field", "--draw", tmp_path / "drawn")
    (drawn,) = (tmp_path / "drawn").iterdir()
    assert drawn.name == f"{photograph.stem}.jpg"
    assert read_image(drawn).shape == read_image(photograph).shape


def test_a_model_says_what_it_lacks(painted_run: Path, sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    for path in folder.glob("*_maps/*.png"):
        path.unlink()
    assert "no map: map_raster_palo_alto.png not found" in run("check", "lyft", folder)
    printed = run("predict", painted_run, folder, "--split", "train")
    assert "the recipe asks for a map, which 7 of 7 sweeps lack: expect a lower score" in printed
    refused = run("train", "lyft", folder, "--out", tmp_path / "run", *SMALLEST, "point_painting=map", code=2)
    assert "missing_input" in refused


def test_explore_shows_the_map_and_cuboids_in_camera_images(sets: Path, tmp_path: Path) -> None:
    run("explore", "lyft", sets / "lyft", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Camera images" in page
    assert "CAM_FRONT" in page
    assert "sidewalks are green" in page


def test_a_damaged_map_is_a_problem_but_sweeps_are_drawn(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    (folder / "train_maps" / "map_raster_palo_alto.png").write_bytes(b"not an image")
    printed = run("check", "lyft", folder, code=2)
    assert "a map that can be read" in " ".join(printed.split())
    run("explore", "lyft", folder, "--out", tmp_path / "page.html")
