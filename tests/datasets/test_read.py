"""Reading data sets: official layouts, nested folders, folders without tables; and round trips through the score."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest
import soundfile

import tallymark
from tallymark.geometry import Boxes, Cuboids, Events, Labels, Masks
from tallymark.geometry.poses import Poses
from tallymark.io import nuscenes_tables as relations
from tallymark.io.media import BadMedia
from tests.made import NAMES
from tests.sets import SMALL, copy_of

KINDS = {"wheat": Boxes, "upcalls": Events, "food": Labels, "lyft": Cuboids, "ships": Masks}
ANSWERS = {
    "wheat": "train.csv",
    "upcalls": "annotations_train.csv",
    "food": "train_labels.csv",
    "lyft": "train.csv",
    "ships": "train_ship_segmentations_v2.csv",
}


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_read(name: str, sets: Path) -> None:
    catalog = tallymark.read(name, sets / name)
    assert len(catalog) == SMALL[name]["items"]
    assert catalog.files.null_count() == 0
    assert catalog.truth is not None
    assert isinstance(catalog.truth.shapes, KINDS[name])
    assert len(catalog.truth) == len(tallymark.read_truth(name, sets / name / ANSWERS[name])) + (
        len(tallymark.read_truth(name, sets / name / "val_labels.csv")) if name == "food" else 0
    )
    test = catalog.in_split("test")
    assert len(test) == len(catalog) // 5
    assert not test.labelled.any()
    assert catalog.in_split("train").labelled.all()
    assert not catalog.notes


def test_images_of_another_size_need_a_rule_option(tmp_path: Path) -> None:
    needed = tallymark.synth("ships", tmp_path / "chips", items=6, size=128)
    with pytest.raises(tallymark.BadInput) as refused:
        tallymark.read("ships", tmp_path / "chips")
    (problem,) = [problem for problem in refused.value.problems if problem.kind == "other_shape"]
    assert problem.remedy == "give --rule shape=128x128"
    assert needed == {"shape": "128x128"}
    assert len(tallymark.read("ships", tmp_path / "chips", **needed)) == 6


@pytest.mark.parametrize("name", NAMES)
def test_truth_written_as_a_submission_scores_best(name: str, sets: Path, tmp_path: Path) -> None:
    train = tallymark.read(name, sets / name).in_split("train")
    assert train.truth is not None
    truth = train.truth
    if name == "food":  # a submission has three labels: the right one, then two others
        right = truth.shapes.label
        ranked = np.stack([right, (right + 1) % 4, (right + 2) % 4], axis=1)
        truth = tallymark.Annotations.from_rows(
            truth.items, np.repeat(np.arange(len(right)), 3), tallymark.Labels(ranked.ravel())
        )
    tallymark.write(name, truth, tmp_path / "submission.csv")
    submission = tmp_path / "submission.csv"
    listed = submission if name == "wheat" else None  # photographs without heads are in no row of the truth
    score = tallymark.score(name, sets / name / ANSWERS[name], submission, images=listed)
    best = 0.0 if name == "food" else 1.0
    assert (score.details["f1"] if name == "upcalls" else score.value) == best


@pytest.mark.parametrize("name", NAMES)
def test_solution_fits_the_test_split(name: str, sets: Path) -> None:
    test = tallymark.read(name, sets / name).in_split("test")
    truth = tallymark.read_truth(name, sets / name / "solution.csv")
    assert set(truth.items.ids) <= set(test.items.ids)
    if name != "upcalls":  # recordings without a call have no row there
        assert set(truth.items.ids) == set(test.items.ids)


def test_groups_are_sources_days_and_logs(sets: Path) -> None:
    assert set(tallymark.read("wheat", sets / "wheat").in_split("train").group) - {"(none)"}
    days = tallymark.read("upcalls", sets / "upcalls").in_split("train").group
    assert all(day.startswith("NOPP6_EST_2009") for day in days)
    assert days.n_unique() == 7
    assert tallymark.read("lyft", sets / "lyft").in_split("train").group.n_unique() > 1
    assert tallymark.read("food", sets / "food").items.group is None


def test_nested_as_people_unzip(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    (folder / "deep").mkdir()
    (folder / "train").rename(folder / "deep" / "train_images")
    (folder / "train.csv").rename(folder / "deep" / "train.csv")
    before, after = tallymark.read("wheat", sets / "wheat"), tallymark.read("wheat", folder)
    assert before.items.ids.to_list() == after.items.ids.to_list()
    assert after.files.null_count() == 0
    assert (before.split == after.split).all()


def test_another_set_inside_is_left_alone(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    shutil.copytree(sets / "wheat", folder / "half")
    assert len(tallymark.read("wheat", folder)) == SMALL["wheat"]["items"]


def test_two_tables_are_ambiguous(sets: Path, tmp_path: Path) -> None:
    for part in "ab":
        shutil.copytree(sets / "ships", tmp_path / part)
    with pytest.raises(tallymark.BadInput, match="ambiguous_table"):
        tallymark.read("ships", tmp_path)


def test_bare_folders_have_no_truth(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((20, 30, 3), np.uint8))
    soundfile.write(tmp_path / "b.flac", np.zeros(100), 8000)
    np.zeros((7, 5), np.float32).tofile(tmp_path / "c.bin")
    ids = {"wheat": "a", "ships": "a.png", "food": "a.png", "upcalls": "b.flac", "lyft": "c"}
    for name in NAMES:
        catalog = tallymark.read(name, tmp_path)
        assert catalog.items.ids.to_list() == [ids[name]]
        assert catalog.truth is None
        assert catalog.split.to_list() == ["test"]


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_or_absent_folder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(tallymark.BadInput, match="empty_folder"):
        tallymark.read(name, tmp_path)
    with pytest.raises(tallymark.BadInput, match="no_folder"):
        tallymark.read(name, tmp_path / "absent")


def test_recordings_are_joined_by_bare_name_only_where_that_is_clear(tmp_path: Path) -> None:
    for day in ("20090328", "20090329"):
        (tmp_path / day).mkdir()
        soundfile.write(tmp_path / day / "same.wav", np.zeros(100), 8000)
    soundfile.write(tmp_path / "20090328" / "one.wav", np.zeros(100), 8000)
    (tmp_path / "calls.csv").write_text("filename,timestamp,label\none.wav,0.001,up\nsame.wav,0.002,up\n")
    catalog = tallymark.read("upcalls", tmp_path)
    [note] = catalog.notes
    assert (note.kind, note.item) == ("ambiguous_file", "same.wav")
    assert catalog.files[catalog.items.ids.index_of("one.wav")] == "20090328/one.wav"
    assert catalog.files[catalog.items.ids.index_of("same.wav")] is None
    labelled = dict(zip(catalog.items.ids, catalog.labelled.tolist(), strict=True))
    assert not labelled["20090328/same.wav"]  # one of the two has the call
    assert not labelled["20090329/same.wav"]
    (tmp_path / "calls.csv").write_text("filename,timestamp,label\n20090329/same.wav,0.002,up\n")
    catalog = tallymark.read("upcalls", tmp_path)
    assert not catalog.notes
    assert catalog.files[0] == "20090329/same.wav"
    assert catalog.group[0] == "20090329"
    assert catalog.labelled.all()


def test_recordings_of_a_table_that_is_not_used_are_unlabelled(tmp_path: Path) -> None:
    for name in "abcd":
        soundfile.write(tmp_path / f"{name}.wav", np.zeros(100), 8000)
    (tmp_path / "first.csv").write_text("filename,timestamp,label\na.wav,0.001,up\nb.wav,0.002,up\n")
    (tmp_path / "second.csv").write_text("filename,timestamp,label\nb.wav,0.003,up\nc.wav,0.004,up\n")
    catalog = tallymark.read("upcalls", tmp_path)
    assert catalog.notes.counts == {"unused_table": 1}
    labelled = dict(zip(catalog.items.ids, catalog.labelled.tolist(), strict=True))
    assert labelled == {"a.wav": True, "b.wav": True, "c.wav": False, "d.wav": True}


def test_a_recording_in_two_splits_is_ambiguous(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / part).mkdir()
        soundfile.write(tmp_path / part / "same.wav", np.zeros(100), 8000)
    (tmp_path / "calls.csv").write_text("filename,timestamp,label\nsame.wav,0.002,up\n")
    catalog = tallymark.read("upcalls", tmp_path)
    assert catalog.notes.counts == {"ambiguous_file": 1}
    (tmp_path / "calls.csv").write_text("filename,timestamp,label\ntest\\SAME.wav,0.002,up\n")
    catalog = tallymark.read("upcalls", tmp_path)
    assert not catalog.notes
    assert catalog.files[0] == "test/same.wav"


def test_calls_keep_their_length(sets: Path) -> None:
    truth = tallymark.read("upcalls", sets / "upcalls").truth
    assert truth is not None
    assert ((truth.shapes.length > 0.3) & (truth.shapes.length < 3)).all()


def test_food_without_a_list_of_classes(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "food", tmp_path)
    (folder / "class_list.txt").unlink()
    for part in ("train", "val"):
        (folder / f"{part}_labels.csv").rename(folder / f"{part}_info.csv")
    truth = tallymark.read("food", folder).truth
    assert truth is not None
    assert truth.classes == ("0", "1", "2", "3")


def test_a_typing_error_in_a_label_makes_no_classes(tmp_path: Path) -> None:
    """Without a list of classes there is none for each number below it."""
    (tmp_path / "train_labels.csv").write_text("image_name,label\na.jpg,2\nb.jpg,999999999999\n")
    with pytest.raises(tallymark.BadInput) as caught:
        tallymark.read("food", tmp_path)
    [problem] = caught.value.problems
    assert (problem.kind, problem.line, problem.found) == ("label_range", 3, "'999999999999'")
    assert "class_list.txt" in problem.remedy


def test_lyft_truth_from_the_tables_is_that_of_the_file(sets: Path, tmp_path: Path) -> None:
    stated = tallymark.read("lyft", sets / "lyft").in_split("train").truth
    folder = copy_of(sets, "lyft", tmp_path)
    (folder / "train.csv").unlink()
    from_tables = tallymark.read("lyft", folder).in_split("train").truth
    assert stated is not None
    assert from_tables is not None
    for item, name in enumerate(stated.items.ids):
        other = from_tables.items.ids.index_of(name)
        rows = [np.array(sorted(zip(*(c[a.offsets[k] : a.offsets[k + 1]] for c in a.shapes.columns), strict=True)))
                for a, k in ((stated, item), (from_tables, other))]  # fmt: skip
        np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)


def test_lyft_points_in_every_frame(sets: Path) -> None:
    catalog = tallymark.read("lyft", sets / "lyft").in_split("train")
    drive = catalog.drive
    assert drive is not None
    scene = drive.sample_data["scene"][drive.samples]
    item = int(np.flatnonzero((scene == scene.shift(1)).fill_null(False).to_numpy())[0])  # the second of a scene
    own, world = drive.points(item), drive.points(item, frame="world")
    np.testing.assert_allclose(drive.pose(item).apply(own[:, :3].astype(float)), world[:, :3], atol=1e-3)
    stacked = drive.points(item, sweeps=3)
    assert len(stacked) > 1.5 * len(own)
    assert np.isclose(np.unique(stacked[:, 4])[:, None], [0, 0.2, 0.4], atol=0.01).any(axis=1).all()
    assert (stacked[:, 4] == 0).sum() == len(own)
    # Still things lie in the same place in the earlier sweep, once it is carried over.
    earlier = stacked[stacked[:, 4] > 0.1, :3]
    near = own[np.linalg.norm(own[:, :2], axis=1) < 30, :3][::20]
    away = np.array([np.linalg.norm(earlier - point, axis=1).min() for point in near])
    assert np.median(away) < 0.5


def test_points_far_from_the_origin_of_the_world_keep_their_places(sets: Path) -> None:
    drive = tallymark.read("lyft", sets / "lyft").in_split("train").drive
    assert drive is not None
    origin = np.array([500_000, 4_400_000, 0])
    far = replace(drive, vehicle=Poses(drive.vehicle.rotation, drive.vehicle.translation + origin))
    own, world = (one.points(0, frame="world")[:, :3] for one in (drive, far))
    np.testing.assert_allclose(world - origin, own, atol=1e-3)


def test_a_damaged_sweep_costs_its_own_sample_only(sets: Path, tmp_path: Path) -> None:
    catalog = tallymark.read("lyft", copy_of(sets, "lyft", tmp_path)).in_split("train")
    drive = catalog.drive
    assert drive is not None
    item = next(item for item in range(len(catalog)) if len(drive.sweep_rows(item, 2)) == 2)
    damaged = Path(drive.sample_data["file"][drive.sweep_rows(item, 2)[1]])
    damaged.write_bytes(damaged.read_bytes()[:-7])
    np.testing.assert_array_equal(drive.points(item, sweeps=2), drive.points(item))
    path = catalog.path(item)
    assert path is not None
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(BadMedia, match="not divisible by 5"):
        drive.points(item, sweeps=2)


def test_cameras_and_maps_are_those_of_the_sample(sets: Path) -> None:
    catalog = tallymark.read("lyft", sets / "lyft").in_split("train")
    assert catalog.drive is not None
    rows = catalog.drive.cameras(0)
    assert len(rows) == 1
    assert (catalog.drive.intrinsic[rows][:, 0, 0] > 0).all()
    for part in ("train", "test"):
        drive = tallymark.read("lyft", sets / "lyft").in_split(part).drive
        assert drive is not None
        area = drive.map_of(0)
        assert area is not None
        assert area.parent.name == f"{part}_maps"


def test_selected_samples_carry_the_sensor_data_of_their_scenes_only(sets: Path) -> None:
    catalog = tallymark.read("lyft", sets / "lyft").in_split("train")
    drive = catalog.drive
    assert drive is not None
    scene = drive.sample_data["scene"][drive.samples]
    index = np.flatnonzero((scene == scene[-1]).to_numpy())[::-1]
    chosen = drive.select(index)
    assert set(chosen.sample_data["scene"]) == {scene[-1]} < set(drive.sample_data["scene"])
    for at, item in enumerate(index.tolist()):
        np.testing.assert_array_equal(chosen.points(at, 3, "world"), drive.points(item, 3, "world"))
        files = [one.sample_data["file"][one.cameras(own)].to_list() for one, own in ((chosen, at), (drive, item))]
        assert files[0] == files[1] != []
    without = replace(drive, samples=np.where(np.arange(len(drive.samples)) == index[0], -1, drive.samples))
    assert without.select(index).samples[0] == -1
    assert len(without.select(index).cameras(0)) == 1


def test_tables_are_read_in_chunks_and_in_any_layout(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_of(sets, "lyft", tmp_path)
    before = tallymark.read("lyft", folder)
    for path in (folder / "train_data").glob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    monkeypatch.setattr(relations, "CHUNK", 1000)
    after = tallymark.read("lyft", folder)
    assert before.drive is not None
    assert after.drive is not None
    assert before.drive.sample_data.drop("file").equals(after.drive.sample_data.drop("file"))
    np.testing.assert_array_equal(before.drive.vehicle.rotation, after.drive.vehicle.rotation)


def test_select_keeps_everything_together(sets: Path) -> None:
    catalog = tallymark.read("ships", sets / "ships")
    chosen = catalog.select(np.array([3, 1]))
    assert chosen.items.ids.to_list() == [catalog.items.ids[3], catalog.items.ids[1]]
    assert chosen.path(0) == catalog.path(3)
    assert chosen.truth is not None
    assert catalog.truth is not None
    assert chosen.truth.counts.tolist() == catalog.truth.counts[[3, 1]].tolist()
    assert chosen.split.dtype == pl.String
