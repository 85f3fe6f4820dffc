"""Clips for review: which are chosen, and what is written."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import cv2
import numpy as np
import polars as pl
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from tallymark.api import data as api_data
from tallymark.data.annotations import Annotations
from tallymark.drawing.spectrograms import draw_spectrogram
from tallymark.geometry import Events
from tallymark.modalities.audio.spectrogram import SpectrogramConfig, spectrogram
from tallymark.reporting.clips import CONTEXT, _spectrograms_around, choose_clips, write_clips
from tests.browser import OpenPage

RATE = 2000


def test_clips_have_the_highest_borderline_and_lowest_scores() -> None:
    score = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.35, 0.3, 0.1])
    chosen = [(clip.row, clip.why) for clip in choose_clips(score, 0.4, 2)]
    assert chosen == [
        (0, "strongest"), (1, "strongest"), (5, "borderline"), (6, "borderline"), (4, "weakest"), (3, "weakest"),
    ]  # fmt: skip


def test_candidates_on_one_side_of_the_threshold_fill_in_for_the_other() -> None:
    assert [clip.row for clip in choose_clips(np.array([0.9, 0.3, 0.2, 0.1]), 0.5, 2)] == [0, 1, 2]
    assert [clip.why for clip in choose_clips(np.array([0.9, 0.8, 0.7, 0.6]), 0.5, 1)] == [
        "strongest", "borderline", "weakest",
    ]  # fmt: skip
    assert choose_clips(np.empty(0), 0.5, 3) == []


def test_few_calls_are_divided_among_the_kinds() -> None:
    score = np.array([0.9, 0.8, 0.7, 0.6, 0.55, 0.52, *np.linspace(0.4, 0.1, 20)])
    clips = choose_clips(score, 0.5, 10)
    rows = {why: [clip.row for clip in clips if clip.why == why] for why in ("strongest", "borderline", "weakest")}
    assert rows == {"strongest": [0, 1], "borderline": [4, 5, *range(6, 14)], "weakest": [3, 2]}
    many = choose_clips(np.linspace(1, 0, 200), 0.5, 10)
    assert [clip.row for clip in many if clip.why == "borderline"] == list(range(95, 105))


@given(st.lists(st.floats(0, 1), max_size=40), st.integers(1, 8), st.floats(0, 1))
def test_no_candidate_is_chosen_twice_and_kinds_respect_the_threshold(
    score: list[float], each: int, score_threshold: float
) -> None:
    values = np.array(score)
    clips = choose_clips(values, score_threshold, each)
    rows = [clip.row for clip in clips]
    assert len(set(rows)) == len(rows)
    for why in ("strongest", "borderline", "weakest"):
        own = [values[clip.row] for clip in clips if clip.why == why]
        assert len(own) <= each
        assert why == "borderline" or all(value >= score_threshold for value in own)
    if (values >= score_threshold).any():
        assert values[rows[0]] == values.max()


def write_recordings(folder: Path) -> None:
    """Noise, with a second of a tone at 20 s in the first."""
    time = np.arange(40 * RATE) / RATE
    noise = 0.02 * np.random.default_rng(0).standard_normal(len(time))
    tone = 0.2 * np.sin(2 * np.pi * 200 * time) * (np.abs(time - 20) < 0.5)
    soundfile.write(folder / "a.wav", noise + tone, RATE)
    soundfile.write(folder / "b.wav", noise, RATE)


def test_sounds_spectrograms_and_list_are_written(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_recordings(tmp_path / "in")
    catalog = api_data.read("upcalls", tmp_path / "in")
    item = np.array([0, 0, 1, 1])
    time = np.array([20.0, 1.0, 39.5, 10.0])
    score = np.array([0.9, 0.6, 0.42, 0.2])
    candidates = Annotations.from_rows(catalog.items, item, Events(time), score=score)
    listed = write_clips(catalog, candidates, 0.4, SpectrogramConfig(), tmp_path / "out", each=1, challenge="upcalls")
    assert listed.select("recording", "timestamp", "score", "why").rows() == [
        ("a.wav", 20.0, 0.9, "strongest"),
        ("b.wav", 39.5, 0.42, "borderline"),
        ("a.wav", 1.0, 0.6, "weakest"),
    ]
    assert pl.read_csv(tmp_path / "out" / "index.csv").equals(listed)
    names = [Path(name).stem for name in listed["file"]]
    written = {f"{name}{suffix}" for name in names for suffix in (".wav", ".png")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"index.csv", "index.html", *written}
    sound, rate = soundfile.read(tmp_path / "out" / f"{names[0]}.wav")
    assert (rate, len(sound)) == (RATE, 2 * CONTEXT * RATE)
    whole = soundfile.read(tmp_path / "in" / "a.wav")[0]
    assert np.abs(sound - whole[16 * RATE : 24 * RATE]).max() < 1e-4
    assert len(soundfile.read(tmp_path / "out" / f"{names[1]}.wav")[0]) == 4.5 * RATE  # to the end of the recording
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count('class="verdicts"') == 3
    assert 'data-item="a.wav" data-number="1" data-shape="[20.0]" data-score="0.9" data-start="16.0"' in page
    assert 'data-challenge="upcalls" data-geometry="events"' in page
    assert not re.findall(r"\son\w+=", page)  # handlers are in the script, which a content policy allows by its hash
    shown = cv2.imread(str(tmp_path / "out" / f"{names[0]}.png")).astype(int).sum(axis=2)[25:290, 45:705]
    down, across = np.unravel_index(cv2.blur(shown.astype(np.float32), (15, 9)).argmax(), shown.shape)
    assert abs(across / shown.shape[1] - 0.5) < 0.08  # the tone is in the centre, at 200 Hz of 40 to 411 Hz
    assert abs(1 - down / shown.shape[0] - (200 - 40) / 371) < 0.06


def test_the_page_plays_every_clip(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_recordings(tmp_path / "in")
    (tmp_path / "in" / "a.wav").rename(tmp_path / "in" / "<a> #1.wav")
    catalog = api_data.read("upcalls", tmp_path / "in")
    candidates = Annotations.from_rows(
        catalog.items, np.array([0, 1]), Events(np.array([20.0, 6])), score=np.array([0.9, 0.3])
    )
    listed = write_clips(catalog, candidates, 0.4, SpectrogramConfig(), tmp_path / "out", each=1)
    page = (tmp_path / "out" / "index.html").read_text()
    played = [unquote(html.unescape(source)) for source in re.findall(r'<audio [^>]*src="([^"]*)"', page)]
    assert played == listed["file"].to_list()
    assert all((tmp_path / "out" / name).is_file() for name in played)
    assert "<a>" not in page
    assert [page.count(f'id="{why}"') for why in ("strongest", "borderline", "weakest")] == [1, 1, 0]


def test_spectrograms_are_written_where_opencv_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on systems whose code page lacks a letter of the path. The frequency axis is that of the model's bins."""
    axes = []

    def draw(*args: Any, **options: Any) -> np.ndarray:
        axes.append((options["fmin"], args[2]))
        return draw_spectrogram(*args, **options)

    monkeypatch.setattr(cv2, "imwrite", lambda *_: False)
    monkeypatch.setattr("tallymark.reporting.clips.draw_spectrogram", draw)
    (tmp_path / "in").mkdir()
    write_recordings(tmp_path / "in")
    catalog = api_data.read("upcalls", tmp_path / "in")
    candidates = Annotations.from_rows(catalog.items, np.array([0]), Events(np.array([20.0])), score=np.array([0.9]))
    config = SpectrogramConfig(fmin=50, n_bins=64)
    (name,) = write_clips(catalog, candidates, 0.4, config, tmp_path / "out")["file"]
    assert cv2.imread(str(tmp_path / "out" / name.replace(".wav", ".png"))) is not None
    assert axes == [(13 / config.window_seconds, 76 / config.window_seconds)]


def test_clips_show_the_spectrogram_of_the_model(tmp_path: Path) -> None:
    write_recordings(tmp_path)
    config = SpectrogramConfig()
    whole = np.concatenate(list(spectrogram(tmp_path / "a.wav", config)), axis=1)
    middle, edge = _spectrograms_around(tmp_path / "a.wav", config, [20.0, 0.5])
    half = round(CONTEXT / config.hop_seconds)
    assert (middle == whole[:, 625 - half : 625 + half]).all()
    start = round(0.5 / config.hop_seconds) - half
    assert (edge[:, -start:] == whole[:, : start + 2 * half]).all()
    assert (edge[:, :-start] == edge.min()).all()


def test_floats_in_another_unit_are_not_cut_off(tmp_path: Path) -> None:
    """Recorders write raw counts or pascals as floats; in a clip, full scale is 1."""
    (tmp_path / "in").mkdir()
    write_recordings(tmp_path / "in")
    samples, _ = soundfile.read(tmp_path / "in" / "a.wav", dtype="float32")
    counts = 32768 * samples
    counts[int(4.5 * RATE)] = np.inf
    soundfile.write(tmp_path / "in" / "a.wav", counts, RATE, subtype="FLOAT")
    catalog = api_data.read("upcalls", tmp_path / "in")
    call = Annotations.from_rows(catalog.items, np.array([0]), Events(np.array([5.0])), score=np.array([0.8]))
    [name] = write_clips(catalog, call, 0.4, SpectrogramConfig(), tmp_path / "out", each=1)["file"]
    clip, _ = soundfile.read(tmp_path / "out" / name)
    own = samples[RATE : 9 * RATE].copy()
    own[int(3.5 * RATE)] = 0
    assert clip == pytest.approx(own / np.abs(own).max(), abs=1e-4)


def test_unreadable_recordings_have_no_clips(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_recordings(tmp_path / "in")
    catalog = api_data.read("upcalls", tmp_path / "in")
    (tmp_path / "in" / "b.wav").write_bytes(b"RIFF")
    candidates = Annotations.from_rows(
        catalog.items, np.array([0, 1]), Events(np.array([5.0, 6])), score=np.array([0.8, 0.9])
    )
    listed = write_clips(catalog, candidates, 0.4, SpectrogramConfig(), tmp_path / "out", each=2)
    assert listed["recording"].to_list() == ["a.wav"]


def test_a_damaged_recording_has_clips_up_to_the_damage(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_recordings(tmp_path / "in")
    samples, _ = soundfile.read(tmp_path / "in" / "b.wav")
    soundfile.write(tmp_path / "in" / "c.flac", samples, RATE)
    data = (tmp_path / "in" / "c.flac").read_bytes()
    (tmp_path / "in" / "c.flac").write_bytes(data[: len(data) // 2])  # at about 20 s
    catalog = api_data.read("upcalls", tmp_path / "in")
    time = np.array([18.0, 30, 10])
    score = np.array([0.9, 0.8, 0.7])
    candidates = Annotations.from_rows(catalog.items, np.full(3, 2), Events(time), score=score)
    listed = write_clips(catalog, candidates, 0.4, SpectrogramConfig(), tmp_path / "out", each=3)
    assert listed["timestamp"].to_list() == [10]


def test_calls_are_marked_and_saved_in_a_browser(browser: OpenPage, sets: Path, tmp_path: Path) -> None:
    catalog = api_data.read("upcalls", sets / "upcalls").in_split("test")
    times = np.array([5.0, 9.0, 14.0])
    calls = Annotations.from_rows(catalog.items, np.zeros(3, int), Events(times), score=np.array([0.9, 0.6, 0.4]))
    folder = tmp_path / "clips"
    write_clips(catalog, calls, 0.5, SpectrogramConfig(), folder, each=3, challenge="upcalls")
    page = browser(folder / "index.html")
    page.locator(".tile").first.focus()
    page.keyboard.press("w")
    page.locator(".tile").nth(1).get_by_role("button", name="right").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save corrections.json").click()
    [saved] = json.loads(Path(download.value.path()).read_text())["items"].values()
    assert sorted(mark["verdict"] for mark in saved["predictions"]) == ["right", "wrong"]
