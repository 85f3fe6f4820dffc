"""Recordings as training samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import tallymark
from tallymark.core.problems import BadInput
from tallymark.modalities.audio.augmentation import augment_spectrogram, paste_call, shift_pitch
from tallymark.modalities.audio.dataset import AudioDataset
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.training.adapter import as_detector
from tallymark.training.network import make_network
from tests.sets import copy_of

RECIPE = AudioRecipe().replace(width=4, neck=8, clip_seconds=4.096)
STILL = RECIPE.replace(call_mix=0, spectral_tilt_db=0, spec_augment=0, pitch_shift=0, reversed_negatives=0)


@pytest.fixture(scope="module")
def recordings(sets: Path) -> AudioDataset:
    return AudioDataset(tallymark.read("upcalls", sets / "upcalls").in_split("train"), RECIPE)


def test_clips_hold_the_calls_of_their_time(recordings: AudioDataset) -> None:
    source = AudioDataset(recordings.catalog, STILL.replace(positive_crops=1))
    whole = [source.load_spectrogram(recording) for recording in range(len(source.catalog))]
    for number in range(20):
        clip = source.sample(np.random.default_rng(number), 0, mix=True)
        assert clip.data.shape == (96, 128, 1)
        assert clip.data.dtype == np.float32
        [(recording, start)] = [
            (recording, int(start))
            for recording, level in enumerate(whole)
            for start in np.flatnonzero((level[:, :-127] == clip.data[:, 0]).all(axis=0))
            if (level[:, start : start + 128] == clip.data[..., 0]).all()
        ]
        calls = source.frame[source.item == recording] - start
        assert clip.shapes.time.tolist() == calls[(calls >= 0) & (calls < 128)].tolist()
        assert len(clip.shapes)  # every clip was placed on a call


def test_a_damaged_recording_is_used_up_to_the_damage(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "upcalls", tmp_path)
    catalog = tallymark.read("upcalls", folder).in_split("train")
    path, whole = catalog.path(0), AudioDataset(catalog, RECIPE)
    assert path is not None
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    damaged = AudioDataset(catalog, RECIPE)
    assert 0.4 < damaged.frames[0] / whole.frames[0] < 0.6
    assert (damaged.frames[1:] == whole.frames[1:]).all()
    assert [problem.item for problem in damaged.problems] == [catalog.items.ids[0]]


def test_a_pasted_call_is_in_the_clip_and_in_its_truth() -> None:
    level, call = np.zeros((96, 128), np.float32), np.full((96, 30), 5.0, np.float32)
    mixed, time = paste_call(
        np.random.default_rng(0), level, np.empty(0), call, 15.0, RECIPE.replace(mix_gain_high_db=0, mix_gain_low_db=0)
    )
    assert len(time) == 1
    louder = np.flatnonzero(mixed[0] > 4)
    assert abs(louder.mean() + 0.5 - time[0]) < 1
    again, same = paste_call(np.random.default_rng(0), mixed, time, call, 15.0, RECIPE)
    assert len(same) == 1
    assert (again == mixed).all()  # there is no room for another one


def test_a_call_that_is_cut_off_is_pasted_by_its_center(recordings: AudioDataset) -> None:
    source = AudioDataset(recordings.catalog, RECIPE)
    for frame in (3.0, 200.0, source.frames[source.item[0]] - 3.0):
        source.frame[0] = frame
        level, middle = source.call(0)
        whole = source.load_spectrogram(int(source.item[0])).astype(np.float32)
        start = int(frame - middle)
        assert 0 <= middle < level.shape[1]
        assert (whole[:, start : start + level.shape[1]] == level).all()
    silence, mark = np.zeros((96, 128), np.float32), np.zeros((96, 30), np.float32)
    mark[:, 3] = 9
    mixed, time = paste_call(
        np.random.default_rng(0), silence, np.empty(0), mark, 3.0, RECIPE.replace(mix_gain_high_db=0, mix_gain_low_db=0)
    )
    assert mixed[0].argmax() == time[0]


def test_only_what_stands_out_of_the_noise_is_pasted() -> None:
    call = np.full((96, 30), -1.0, np.float32)
    call[40:44] = 5
    still = RECIPE.replace(mix_gain_high_db=0, mix_gain_low_db=0)
    mixed, time = paste_call(
        np.random.default_rng(0), np.full((96, 128), -2.0, np.float32), np.empty(0), call, 15.0, still
    )
    assert len(time) == 1
    assert sorted(np.unique(mixed)) == [-2, 5]
    assert (mixed == 5).sum() == 4 * 30


def test_a_clip_played_backwards_has_no_calls(recordings: AudioDataset) -> None:
    forwards, backwards = (
        AudioDataset(recordings.catalog, STILL.replace(positive_crops=1, reversed_negatives=share)).sample(
            np.random.default_rng(3), 0, mix=True
        )
        for share in (0, 1)
    )
    assert len(forwards.shapes)
    assert not len(backwards.shapes)
    assert (backwards.data[:, ::-1] == forwards.data).all()


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.07])
def test_a_shift_of_pitch_moves_a_tone(factor: float) -> None:
    level = np.zeros((96, 16), np.float32)
    tone = 200.0

    def bin_of(hertz: float) -> int:
        return round((hertz - RECIPE.fmin) * RECIPE.window_seconds)

    level[bin_of(tone) - 1 : bin_of(tone) + 2] = 5
    shifted = shift_pitch(level, factor, RECIPE)
    assert shifted.shape == level.shape
    assert shifted[bin_of(tone * factor), 0] == 5
    assert 2 <= (shifted[:, 0] == 5).sum() <= 4


def test_augmentations_can_be_switched_off() -> None:
    level = np.random.default_rng(0).standard_normal((96, 128)).astype(np.float32)
    assert (augment_spectrogram(np.random.default_rng(1), level, STILL) == level).all()
    assert (augment_spectrogram(np.random.default_rng(1), level, STILL.replace(spec_augment=1)) != level).any()
    tilted = augment_spectrogram(np.random.default_rng(1), level, STILL.replace(spectral_tilt_db=12)) - level
    assert np.allclose(np.diff(tilted, n=2, axis=0), 0, atol=1e-4)


def test_false_positives_become_hard_negatives(sets: Path) -> None:
    recordings = AudioDataset(tallymark.read("upcalls", sets / "upcalls").in_split("train"), RECIPE)
    network = make_network(RECIPE, 1).eval()
    torch.nn.init.constant_(network.head.heatmap.bias, 3.0)  # it detects something everywhere
    torch.nn.init.constant_(network.head.regression.bias, 3.0)
    recordings.mine_hard_negatives(as_detector(network, RECIPE))
    assert len(recordings.hard_negatives)
    for recording, frame in recordings.hard_negatives:
        calls = recordings.frame[recordings.item == recording]
        assert not len(calls) or np.abs(calls - frame).min() * RECIPE.hop_seconds > 2.9
    found, kept = recordings.hard_negatives, recordings.state
    recordings.state = []
    assert not len(recordings.hard_negatives)
    recordings.state = kept
    assert np.array_equal(recordings.hard_negatives, found)


def test_no_truth_is_refused(sets: Path) -> None:
    catalog = tallymark.read("upcalls", sets / "upcalls")
    with pytest.raises(BadInput, match="no_truth"):
        AudioDataset(catalog.select(np.zeros(len(catalog), bool)), RECIPE)
    with pytest.raises(BadInput, match="stride"):
        make_network(RECIPE.replace(task="boxes"), 1)
    with pytest.raises(BadInput, match="mini_resnet"):
        make_network(RECIPE.replace(backbone="efficientnet_lite0"), 1)


@pytest.mark.parametrize("tta", [2, 4, 8])
def test_recordings_have_no_test_time_augmentation(tta: int) -> None:
    with pytest.raises(BadInput, match=f"tta={tta}, expected tta=1"):
        make_network(RECIPE.replace(tta=tta), 1)


@pytest.mark.parametrize(("seconds", "near"), [(8.0, "8.192"), (10.0, "10.24"), (0.01, "0.512")])
def test_clips_that_the_network_cannot_halve_are_refused(recordings: AudioDataset, seconds: float, near: str) -> None:
    with pytest.raises(BadInput, match=f"clip_seconds={seconds:g}, .* give e.g. {near}"):
        AudioDataset(recordings.catalog, RECIPE.replace(clip_seconds=seconds))
    recipe = RECIPE.replace(clip_seconds=near)
    width = round(recipe.clip_seconds / recipe.hop_seconds)
    assert make_network(recipe, 1).eval()(torch.zeros(1, 1, 96, width))["heat"].shape[-1] == width // recipe.stride
