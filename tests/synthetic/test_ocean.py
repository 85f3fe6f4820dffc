"""Synthetic recordings: reproducible, in the official layout, with calls at the stated times."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
import soundfile

import tallymark
from tallymark.challenges.upcalls.synth import SceneOptions, write
from tallymark.core.problems import BadInput
from tallymark.synthetic.ocean.calls import sweep, upcalls
from tallymark.synthetic.ocean.recordings import BAY, GULF, Waters, record
from tallymark.synthetic.streams import stream
from tests.sets import contents

SHORT = SceneOptions(seconds=61.5, test_rate=8000, calls=400, quiet=0)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(tmp_path / name, 6, seed, SHORT)
    first, again, other = (contents(tmp_path / name) for name in "abc")
    assert first == again
    same = {name for name in first if name in other and first[name] == other[name]}
    assert same == {"sample_submission.csv"}


def test_an_item_does_not_depend_on_the_number_of_items(tmp_path: Path) -> None:
    write(tmp_path / "few", 5, 1, SHORT)
    write(tmp_path / "more", 12, 1, SHORT)
    few, more = contents(tmp_path / "few"), contents(tmp_path / "more")
    assert all(more[name] == few[name] for name in few if name.endswith(".wav"))


def test_the_layout_is_the_official_one(tmp_path: Path) -> None:
    write(tmp_path, 10, 3, SHORT)
    train = tallymark.read_truth("upcalls", tmp_path / "annotations_train.csv")
    test = tallymark.read_truth("upcalls", tmp_path / "solution.csv")
    assert len(train) > 10
    assert len(test) > 2
    assert all((tmp_path / "train" / name).is_file() for name in train.items.ids)
    assert all((tmp_path / "test" / name).is_file() for name in test.items.ids)
    assert len(list((tmp_path / "train").iterdir())) == 7
    info = soundfile.info(tmp_path / "test" / "B_cont_0.wav")
    assert (info.samplerate, info.frames, info.channels, info.subtype) == (8000, 492000, 1, "PCM_16")
    checked = tallymark.check("upcalls", tmp_path / "sample_submission.csv", against=tmp_path)
    assert not checked.problems


@pytest.mark.parametrize(("waters", "rate"), [(BAY, 2000), (GULF, 11025)])
def test_calls_are_audible_at_the_stated_times(waters: Waters, rate: int) -> None:
    calm = dataclasses.replace(waters, ships=0, sources={})
    samples, calls = record(stream(6), calm, 300, rate, 400, clear=1)
    assert len(calls) > 10
    hertz = np.fft.rfftfreq(len(samples), 1 / rate)
    band = np.fft.irfft(np.fft.rfft(samples) * ((hertz > 60) & (hertz < 300)), len(samples)) ** 2

    def loudness(start: float, end: float) -> float:
        return float(band[round(start * rate) : round(end * rate)].mean())

    alone = calls[1:-1][(calls[1:-1, 0] - calls[:-2, 1] > 1) & (calls[2:, 0] - calls[1:-1, 1] > 1)]
    ratio = [loudness(start, end) / loudness(start - 0.6, start - 0.05) for start, end in alone]
    assert np.median(ratio) > 2
    assert np.mean(np.array(ratio) > 1.1) > 0.9


def test_a_sweep_follows_its_frequencies() -> None:
    wave = sweep([90, 120, 210], 1.0, 0.5, (1.0,))
    parts = [np.argmax(np.abs(np.fft.rfft(part * np.hanning(500)))) * 4 for part in np.split(wave, 4)]
    assert parts == sorted(parts)
    assert 85 <= parts[0] <= 115
    assert 160 <= parts[-1] <= 210


def test_the_number_length_and_strength_of_calls() -> None:
    recordings = [upcalls(stream(7, number), 900, 60, 0.5) for number in range(60)]
    assert 9 < np.mean([len(calls) for calls in recordings]) < 21
    length = np.array([call.end - call.start for calls in recordings for call in calls])
    strength = np.array([call.sound.strength for calls in recordings for call in calls])
    assert 0.8 < np.median(length) < 1.3
    assert length.min() >= 0.4
    assert 0.3 < np.mean(strength > -2) < 0.75
    assert all(later.start - call.start > 0.8 for calls in recordings for call, later in itertools.pairwise(calls))


def test_recordings_too_short_for_a_call_have_none(tmp_path: Path) -> None:
    write(tmp_path, 2, 1, SceneOptions(seconds=0.3, test_rate=2000))
    assert (tmp_path / "annotations_train.csv").read_text() == "filename,start,end,label\n"


def test_impossible_recordings_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        write(tmp_path, 2, 1, SceneOptions(seconds=1e9, rate=10))
    assert caught.value.problems.total == 2
