"""Clips with a yes or no as training samples: how they are joined, and where their calls are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

import tallymark
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.geometry import Events
from tallymark.modalities import modality_of
from tallymark.modalities.audio.clip_dataset import ClipDataset
from tallymark.modalities.audio.dataset import AudioDataset
from tallymark.modalities.audio.recipe import AudioRecipe

RATE = 2000
RECIPE = AudioRecipe().replace(
    clip_seconds=4.096, call_mix=0, reversed_negatives=0, pitch_shift=0, spectral_tilt_db=0, spec_augment=0
)
WIDTH = 128


def write(folder: Path, seconds: float, count: int = 12) -> Catalog:
    """Clips of noise; every other one has a loud tone of 0.2 s at a third of its length, and the label 1."""
    folder.mkdir()
    time = np.arange(round(seconds * RATE)) / RATE
    rows = ["clip_name,label"]
    for number in range(count):
        samples = 0.02 * np.random.default_rng(number).standard_normal(len(time))
        if number % 2:
            samples += 0.5 * np.sin(2 * np.pi * 150 * time) * (np.abs(time - seconds / 3) < 0.1)
        soundfile.write(folder / f"clip{number}.wav", samples, RATE)
        rows.append(f"clip{number}.wav,{number % 2}")
    (folder / "train.csv").write_text("\n".join(rows) + "\n")
    return tallymark.read("upcalls", folder)


@pytest.fixture
def clips(tmp_path: Path) -> ClipDataset:
    return ClipDataset(write(tmp_path / "clips", 2.0), RECIPE)


def found(clips: ClipDataset, time: list[float], score: list[float], item: list[int]) -> Annotations[Events]:
    return Annotations.from_rows(clips.catalog.items, np.array(item), Events(np.array(time)), score=np.array(score))


def test_weak_labels_have_a_dataset_of_their_own(clips: ClipDataset, sets: Path) -> None:
    assert isinstance(modality_of(RECIPE).dataset(clips.catalog, RECIPE), ClipDataset)
    timed = tallymark.read("upcalls", sets / "upcalls").in_split("train")
    assert type(modality_of(RECIPE).dataset(timed, RECIPE)) is AudioDataset


def test_training_clips_are_joined_without_padding(clips: ClipDataset) -> None:
    assert len(clips) == 12 * 63 // WIDTH
    for number in range(20):
        sample = clips.sample(np.random.default_rng(number), 0, mix=True)
        assert sample.data.shape == (96, WIDTH, 1)
        assert (np.abs(sample.data).max(axis=(0, 2)) > 0).all()
        assert ((sample.shapes.time >= 0) & (sample.shapes.time < WIDTH)).all()


def test_calls_are_where_the_network_found_them(clips: ClipDataset) -> None:
    assert clips.frame.tolist() == [31.5] * 6  # the middle of 63 frames
    items = {name: item for item, name in enumerate(clips.catalog.items.ids)}
    yes, other, no = items["clip1.wav"], items["clip3.wav"], items["clip0.wav"]
    strongest = found(clips, [0.2, 0.64, 1.9, 0.3, 1.2], [0.2, 0.9, 0.4, 0.05, 0.8], [yes, yes, yes, other, no])
    clips.mine_hard_negatives(lambda catalog: strongest)
    frame = dict(zip(clips.item.tolist(), clips.frame.tolist(), strict=True))
    assert frame[yes] == pytest.approx(0.64 / RECIPE.hop_seconds)
    assert frame[other] == 31.5  # too faint to be sure
    assert clips.hard_negatives.tolist() == [[no, 1.2 / RECIPE.hop_seconds]]
    kept, located = clips.state, clips.frame
    clips.state = [[], [0.0] * 6]
    assert not len(clips.hard_negatives)
    clips.state = kept
    assert np.array_equal(clips.frame, located)
    assert len(clips.hard_negatives) == 1


@pytest.mark.parametrize("seconds", [0.9, 2.0, 12.0])
def test_a_call_stays_with_its_sound(tmp_path: Path, seconds: float) -> None:
    clips = ClipDataset(write(tmp_path / "clips", seconds), RECIPE.replace(positive_crops=1))
    times = np.full(6, seconds / 3)
    clips.mine_hard_negatives(lambda catalog: found(clips, times.tolist(), [0.9] * 6, clips.item.tolist()))
    calls = 0
    for number in range(20):
        sample = clips.sample(np.random.default_rng(number), 0, mix=True)
        assert sample.data.shape == (96, WIDTH, 1)
        tone = sample.data[round(110 * RECIPE.window_seconds), :, 0]
        for time in sample.shapes.time:
            calls += 1
            assert tone[max(int(time) - 2, 0) : int(time) + 3].max() > 3
    assert calls >= 20


def test_calls_of_clips_can_be_mixed_into_others(tmp_path: Path) -> None:
    plain = ClipDataset(write(tmp_path / "clips", 2.0), RECIPE.replace(positive_crops=0))
    mixed = ClipDataset(plain.catalog, RECIPE.replace(positive_crops=0, call_mix=1))
    calls = [
        sum(len(one.sample(np.random.default_rng(k), 0, mix=True).shapes) for k in range(20)) for one in (plain, mixed)
    ]
    assert calls[1] > calls[0]
