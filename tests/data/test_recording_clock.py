"""Recorder and start of recordings by their file names."""

from __future__ import annotations

import datetime

import pytest

from tallymark.core.problems import BadInput
from tallymark.data.recording_clock import EPOCH, RecordingClock

parse_recording_name = RecordingClock().parse


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
        ("5100.210401120000.wav", "5100", "2021-04-01T12:00:00"),
        ("5100.200401120000.wav", "5100", "2020-04-01T12:00:00"),
        ("5100.190401120000.wav", "5100", "2019-04-01T12:00:00"),
        ("230401-120000.wav", "", "2023-04-01T12:00:00"),
        ("H3_200401_120000.wav", "H3", "2020-04-01T12:00:00"),
        ("H3_201001_120000.d100.x.wav", "H3", "2020-10-01T12:00:00"),
        ("A.1.202104011200.wav", "A.1", "2021-04-01T12:00:00"),
        ("H3_230401_120000.wav", "H3", "2023-04-01T12:00:00"),
        ("SMM07921_20190401$120000.wav", "SMM07921", "2019-04-01T12:00:00"),
        ("S4A00123_0+1_20190401_120000.wav", "S4A00123_0+1", "2019-04-01T12:00:00"),
        ("deck/5BF1C2A8.WAV", "deck", "2018-11-18T19:51:04"),
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
    assert parse_recording_name(name) == (name, None, False, None)


@pytest.mark.parametrize("name", ["A_20090328.wav", "A_2009-03-28_dive7.wav", "A_20090328_250000.wav"])
def test_names_with_a_date_and_no_time(name: str) -> None:
    start = datetime.datetime(2009, 3, 28, tzinfo=datetime.UTC).timestamp()
    assert parse_recording_name(name) == ("A", start, False, None)


def shown(clock: RecordingClock, name: str) -> str:
    start = clock.parse(name).start
    assert start is not None
    return f"{EPOCH + datetime.timedelta(seconds=start)}"


def test_a_pattern_replaces_the_known_forms() -> None:
    clock = RecordingClock("%d%m%Y-%H%M")
    clock.validate()
    assert shown(clock, "pier_01042023-1230_x.wav") == "2023-04-01 12:30:00"
    assert clock.parse("pier_01042023-1230_x.wav").recorder == "pier"
    assert clock.parse("20230401_120000.wav").start is None


def test_time_zones() -> None:
    local = RecordingClock(zone="+02:00")
    assert shown(local, "a_20230401_120000.wav") == "2023-04-01 12:00:00"
    assert shown(local, "a_20230401T120000Z.wav") == "2023-04-01 14:00:00"
    assert (
        local.parse("a_20230401_120000.wav").utc == datetime.datetime(2023, 4, 1, 10, tzinfo=datetime.UTC).timestamp()
    )
    both = RecordingClock(zone="UTC,America/Halifax")
    assert shown(both, "a_20230401_020000.wav") == "2023-03-31 23:00:00"
    assert both.day("a_20230401_020000.wav") == "2023-03-31"
    assert RecordingClock().parse("a_20230401_120000.wav").utc is None


@pytest.mark.parametrize(
    ("name", "seconds", "changes"),
    [
        ("a_20090308_053000.wav", 1800, []),
        ("a_20090308_053000.wav", 1801, [(1800, "2009-03-08 03:00:00")]),
        ("a_20091101_043000.wav", 86400, [(1800, "2009-11-01 01:00:00")]),
        ("a_20090308_060000.wav", 86400 * 30, []),
        ("a_20090307_060000.wav", 86400 * 30, [(86400, "2009-03-08 03:00:00")]),
    ],
)
def test_clocks_are_put_forward_and_back_within_recordings(
    name: str, seconds: float, changes: list[tuple[float, str]]
) -> None:
    clock = RecordingClock(zone="UTC,America/Halifax")
    found = clock.changes(clock.parse(name), seconds)
    assert [(at, f"{EPOCH + datetime.timedelta(seconds=start)}") for at, start in found] == changes


@pytest.mark.parametrize("clock", [RecordingClock("%H%M"), RecordingClock("%Q"), RecordingClock(zone="Mars/Base")])
def test_bad_patterns_and_zones_are_refused(clock: RecordingClock) -> None:
    with pytest.raises(BadInput, match="bad_option"):
        clock.validate()
