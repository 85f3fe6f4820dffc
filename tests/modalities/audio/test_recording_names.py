"""Recorder and start of recordings by their file names."""

from __future__ import annotations

import datetime

import pytest

from tallymark.modalities.audio.recording_names import EPOCH, parse_recording_name


@pytest.mark.parametrize(
    ("name", "recorder", "start"),
    [
        ("NOPP6_EST_20090328/NOPP6_EST_20090328_001500.wav", "NOPP6_EST", "2009-03-28T00:15:00"),
        ("GSC_2000-05-19_00-30-00.flac", "GSC", "2000-05-19T00:30:00"),
        ("SITE.20210102T030405Z.wav", "SITE", "2021-01-02T03:04:05"),
        ("pier/20210102_030405.WAV", "pier", "2021-01-02T03:04:05"),
        ("20210102/20210102_030405.WAV", "", "2021-01-02T03:04:05"),
        ("pier/2021-01-02/20210102_030405.WAV", "pier", "2021-01-02T03:04:05"),
        ("A_202101020304.wav", "A", "2021-01-02T03:04:00"),
        ("5_2021-01-02 03.04.05_x.wav", "5", "2021-01-02T03:04:05"),
    ],
)
def test_date_and_time_are_read_from_names(name: str, recorder: str, start: str) -> None:
    parsed = parse_recording_name(name)
    assert parsed.recorder == recorder
    assert parsed.has_time
    assert parsed.start is not None
    assert EPOCH + datetime.timedelta(seconds=parsed.start) == datetime.datetime.fromisoformat(start)


@pytest.mark.parametrize("name", ["B_cont_23.wav", "A_20090231_000000.wav", "x120090328_000000.wav"])
def test_names_without_a_date(name: str) -> None:
    assert parse_recording_name(name) == (name, None, False)


@pytest.mark.parametrize("name", ["A_20090328.wav", "A_2009-03-28_dive7.wav", "A_20090328_250000.wav"])
def test_names_with_a_date_and_no_time(name: str) -> None:
    assert parse_recording_name(name) == ("A", datetime.datetime(2009, 3, 28, tzinfo=datetime.UTC).timestamp(), False)
