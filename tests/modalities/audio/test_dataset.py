"""Recordings: what is learned from them, and that hours are heard as in one piece."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import tallymark
from tallymark.core.problems import BadInput
from tallymark.detector.network import make_network
from tallymark.modalities.audio.augmentation import change_levels, paste_call
from tallymark.modalities.audio.dataset import AudioDataset
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.training.adapter import as_model
from tests.sets import copy_of

RECIPE = AudioRecipe().replace(width=4, neck=8, clip_seconds=4.096)


@pytest.fixture(scope="module")
def recordings(sets: Path) -> AudioDataset:
    return AudioDataset(tallymark.read("upcalls", sets / "upcalls").in_split("train"), RECIPE)


def test_windows_hold_the_calls_of_their_time(recordings: AudioDataset) -> None:
    source = AudioDataset(
        recordings.catalog, RECIPE.replace(call_mix=0, spectral_tilt_db=0, spec_augment=0, positive_crops=1)
    )
    whole = [source._read(recording) for recording in range(len(source.catalog))]
    for number in range(20):
        window = source.window(np.random.default_rng(number), 0, False)
        assert window.picture.shape == (96, 128, 1)
        assert window.picture.dtype == np.float32
        [(recording, start)] = [
            (recording, int(start))
            for recording, level in enumerate(whole)
            for start in np.flatnonzero((level[:, :-127] == window.picture[:, 0]).all(axis=0))
            if (level[:, start : start + 128] == window.picture[..., 0]).all()
        ]
        calls = source.frame[source.item == recording] - start
        assert window.shapes.time.tolist() == calls[(calls >= 0) & (calls < 128)].tolist()
        assert len(window.shapes)  # every window was placed on a call


def test_a_damaged_recording_is_learned_from_up_to_the_damage(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "upcalls", tmp_path)
    catalog = tallymark.read("upcalls", folder).in_split("train")
    path, whole = catalog.path(0), AudioDataset(catalog, RECIPE)
    assert path is not None
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    cut = AudioDataset(catalog, RECIPE)
    assert 0.4 < cut.frames[0] / whole.frames[0] < 0.6
    assert (cut.frames[1:] == whole.frames[1:]).all()
    assert [problem.item for problem in cut.problems] == [catalog.items.ids[0]]


def test_a_pasted_call_is_listed_and_heard() -> None:
    level, call = np.zeros((96, 128), np.float32), np.full((96, 30), 5.0, np.float32)
    mixed, time = paste_call(
        np.random.default_rng(0), level, np.empty(0), call, 15.0, RECIPE.replace(mix_gain_high_db=0, mix_gain_low_db=0)
    )
    assert len(time) == 1
    heard = np.flatnonzero(mixed[0] > 4)
    assert abs(heard.mean() + 0.5 - time[0]) < 1
    again, same = paste_call(np.random.default_rng(0), mixed, time, call, 15.0, RECIPE)
    assert len(same) == 1
    assert (again == mixed).all()  # there is no room for another one


def test_a_call_that_begins_before_its_recording_is_pasted_where_its_middle_is(recordings: AudioDataset) -> None:
    source = AudioDataset(recordings.catalog, RECIPE)
    for frame in (3.0, 200.0, source.frames[source.item[0]] - 3.0):
        source.frame[0] = frame
        level, middle = source._call(0)
        whole = source._read(int(source.item[0])).astype(np.float32)
        start = int(frame - middle)
        assert 0 <= middle < level.shape[1]
        assert (whole[:, start : start + level.shape[1]] == level).all()
    silence, mark = np.zeros((96, 128), np.float32), np.zeros((96, 30), np.float32)
    mark[:, 3] = 9
    mixed, time = paste_call(
        np.random.default_rng(0), silence, np.empty(0), mark, 3.0, RECIPE.replace(mix_gain_high_db=0, mix_gain_low_db=0)
    )
    assert mixed[0].argmax() == time[0]


def test_nothing_is_changed_that_is_switched_off() -> None:
    level = np.random.default_rng(0).standard_normal((96, 128)).astype(np.float32)
    still = RECIPE.replace(spectral_tilt_db=0, spec_augment=0)
    assert (change_levels(np.random.default_rng(1), level, still) == level).all()
    assert (change_levels(np.random.default_rng(1), level, still.replace(spec_augment=1)) != level).any()
    tilted = change_levels(np.random.default_rng(1), level, still.replace(spectral_tilt_db=12)) - level
    assert np.allclose(np.diff(tilted, n=2, axis=0), 0, atol=1e-4)


def test_false_alarms_are_remembered(sets: Path) -> None:
    recordings = AudioDataset(tallymark.read("upcalls", sets / "upcalls").in_split("train"), RECIPE)
    network = make_network(RECIPE, 1).eval()
    torch.nn.init.constant_(network.head.heat.bias, 3.0)  # it hears something everywhere
    torch.nn.init.constant_(network.head.values.bias, 3.0)
    recordings.mine_hard_negatives(as_model(network))
    assert len(recordings.alarms)
    for recording, frame in recordings.alarms:
        calls = recordings.frame[recordings.item == recording]
        assert not len(calls) or np.abs(calls - frame).min() * RECIPE.hop_seconds > 2.9
    found, kept = recordings.alarms, recordings.state
    recordings.state = []
    assert not len(recordings.alarms)
    recordings.state = kept
    assert np.array_equal(recordings.alarms, found)


def test_no_truth_is_refused(sets: Path) -> None:
    catalog = tallymark.read("upcalls", sets / "upcalls")
    with pytest.raises(BadInput, match="no_truth"):
        AudioDataset(catalog.select(np.zeros(len(catalog), bool)), RECIPE)
    with pytest.raises(BadInput, match="stride"):
        make_network(RECIPE.replace(task="boxes"), 1)
    with pytest.raises(BadInput, match="mini_resnet"):
        make_network(RECIPE.replace(backbone="efficientnet_lite0"), 1)


@pytest.mark.parametrize("tta", [2, 4, 8])
def test_time_is_seen_from_one_side_only(tta_transforms: int) -> None:
    with pytest.raises(BadInput, match=f"tta={tta_transforms}, expected tta=1"):
        make_network(RECIPE.replace(tta=tta_transforms), 1)


@pytest.mark.parametrize(("clip_seconds", "near"), [(8.0, "8.192"), (10.0, "10.24"), (0.01, "0.512")])
def test_windows_that_cannot_be_halved_are_refused(recordings: AudioDataset, seconds: float, near: str) -> None:
    with pytest.raises(BadInput, match=f"clip_seconds={seconds:g}, .* give e.g. {near}"):
        AudioDataset(recordings.catalog, RECIPE.replace(clip_seconds=seconds))
    recipe = RECIPE.replace(clip_seconds=near)
    width = round(recipe.clip_seconds / recipe.hop_seconds)
    assert make_network(recipe, 1).eval()(torch.zeros(1, 1, 96, width))["heat"].shape[-1] == width // recipe.stride
