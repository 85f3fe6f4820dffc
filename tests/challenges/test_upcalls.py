"""Upcalls: the rule, the file formats, the data set and the synthetic recordings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.challenges.upcalls import dialect, read, synth
from tallymark.challenges.upcalls.rule import RuleOptions, rates, score
from tallymark.core.problems import BadInput, Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.geometry import Events
from tests.challenges.files import Notes, kinds, parse, put, rows_of
from tests.formats.files import put_recording
from tests.made import annotations

OPTIONS = RuleOptions()


def events(*per_recording: list[float]) -> Annotations[Events]:
    """Events at these times in seconds, of recordings a, b, …"""
    item = np.repeat(np.arange(len(per_recording)), [len(times) for times in per_recording])
    times = np.array([time for times in per_recording for time in times], float)
    return Annotations.from_rows(Items.of(list("abcdefgh"[: len(per_recording)])), item, Events(times))


def test_rates_are_0_without_a_denominator() -> None:
    assert rates(0, 0, 0) == (0, 0, 0)
    assert rates(0, 3, 0) == (0, 0, 0)
    assert rates(3, 1, 1) == (0.75, 0.75, 0.75)


@pytest.mark.parametrize(("time", "hit"), [(10.0, True), (11.5, True), (8.5, True), (11.501, False), (8.499, False)])
def test_a_detection_within_the_buffer_is_a_hit(time: float, hit: bool) -> None:
    details = score(events([10]), events([time]), OPTIONS).details
    assert (details["tp"], details["fp"], details["fn"]) == ((1, 0, 0) if hit else (0, 1, 1))


def test_the_buffer_is_an_option() -> None:
    assert score(events([10]), events([12]), OPTIONS).value == 0
    assert score(events([10]), events([12]), RuleOptions(buffer_s=2)).value == 1


def test_duplicates_are_free_and_one_detection_can_hit_two_calls() -> None:
    """As in the published script; the one-to-one F1 is reported beside it."""
    details = score(events([10, 12, 50]), events([11, 50, 50.5]), OPTIONS).details
    assert (details["tp"], details["fp"], details["fn"]) == (3, 0, 0)
    assert details["f1"] == 1
    assert details["one_to_one_f1"] == pytest.approx(2 / 3)


def test_recordings_are_pooled_and_hours_count() -> None:
    result = score(events([10, 20], [30]), events([10, 100, 200], []), RuleOptions(hours=0.5))
    assert (result.details["tp"], result.details["fp"], result.details["fn"]) == (1, 2, 2)
    assert result.details["precision"] == pytest.approx(1 / 3)
    assert result.details["recall"] == pytest.approx(1 / 3)
    assert result.value == result.details["f1"] == pytest.approx(1 / 3)
    assert result.details["fp_per_hour"] == 4
    assert any("0.5 h" in line for line in result.lines)


def test_calls_of_another_recording_do_not_match() -> None:
    assert score(events([10], []), events([], [10]), OPTIONS).value == 0


def test_truth_of_both_schemas(tmp_path: Path) -> None:
    times = put(tmp_path / "t.csv", "filename,timestamp,label\na.wav,10.5,up\na.wav,3,up\n")
    spans = put(tmp_path / "s.csv", "filename,start,end,label\na.wav,10,11,up\na.wav,2.5,3.5,up\n")
    points, _ = parse(dialect.read_truth, times, OPTIONS)
    events_with_length, _ = parse(dialect.read_truth, spans, OPTIONS)
    assert points.shapes.time.tolist() == events_with_length.shapes.time.tolist() == [10.5, 3]
    assert points.shapes.length is None
    assert events_with_length.shapes.length is not None
    assert events_with_length.shapes.length.tolist() == [1, 1]


def test_faults_of_the_truth_have_their_line(tmp_path: Path) -> None:
    path = put(tmp_path / "s.csv", "filename,start,end,label\na.wav,1,2,up\na.wav,x,2,up\na.wav,5,4,up\n,1,2,up\n")
    truth, problems = parse(dialect.read_truth, path, OPTIONS)
    assert kinds(problems) == [("not_a_number", 3), ("negative_duration", 4), ("empty_id", 5)]
    assert 1.5 in truth.shapes.time


@pytest.mark.parametrize("form", [None, "scored"])
def test_probabilities_of_clips_are_not_written_as_times(form: str | None, tmp_path: Path) -> None:
    path = put(tmp_path / "s.csv", "clip_name,probability\na.wav,0.9\n")
    with pytest.raises(BadInput) as caught:
        tallymark.convert("upcalls", path, tmp_path / "out.csv", form=form)
    assert [problem.kind for problem in caught.value.problems] == ["no_times"]
    assert not (tmp_path / "out.csv").exists()
    tallymark.convert("upcalls", path, tmp_path / "out.csv", form="clips")
    assert (tmp_path / "out.csv").read_text() == path.read_text()


def test_a_submission_round_trips_and_other_columns_are_ignored(tmp_path: Path) -> None:
    dialect.write(events([10, 20.25], []), tmp_path / "s.csv", "official")
    assert (tmp_path / "s.csv").read_text() == "filename,timestamp\na,10\na,20.25\n"
    path = put(tmp_path / "more.csv", "confidence,timestamp,filename\n0.5,10,a\n0.25,20.25,a\n")
    for file in (tmp_path / "s.csv", path):
        back, problems = parse(dialect.read, file, OPTIONS)
        assert not problems
        assert back.items.ids.to_list() == ["a"]
        assert back.shapes.time.tolist() == [10, 20.25]


def test_scores_are_written_on_request(tmp_path: Path) -> None:
    events_without_score = annotations("upcalls", 2)
    scored = replace(events_without_score, score=np.linspace(0, 1, len(events_without_score)))
    tallymark.write("upcalls", scored, tmp_path / "d.csv")
    assert pl.read_csv(tmp_path / "d.csv").columns == ["filename", "timestamp"]
    tallymark.write("upcalls", scored, tmp_path / "d.csv", form="scored")
    written = pl.read_csv(tmp_path / "d.csv")
    assert written.columns == ["filename", "timestamp", "score"]
    assert written["score"].to_list() == scored.scores.tolist()


def test_repair_drops_unreadable_times() -> None:
    notes = Notes()
    rows = rows_of({"filename": "a", "timestamp": "1.5"}, {"filename": "a", "timestamp": "nan"})
    assert dialect.repair(rows, OPTIONS, notes) == [{"timestamp": "1.5"}]
    assert notes == [(3, "dropped an unreadable timestamp")]
    assert dialect.filler(["filename", "timestamp"], OPTIONS) is None
    assert dialect.columns(["timestamp", "filename", "x"], OPTIONS) == ["filename", "timestamp"]


def test_ids_of_a_folder_are_names_and_paths(tmp_path: Path) -> None:
    put_recording(tmp_path / "test" / "day" / "a.wav")
    put_recording(tmp_path / "test" / "b.wav")
    put_recording(tmp_path / "train" / "c.wav")
    assert dialect.folder_ids(tmp_path, Problems()) == ["b.wav", "a.wav", "day/a.wav"]


def test_the_official_layout_is_read(tmp_path: Path) -> None:
    put_recording(tmp_path / "train" / "20090328" / "a.wav")
    put_recording(tmp_path / "train" / "20090329" / "b.wav")
    put_recording(tmp_path / "test" / "c.wav")
    put(tmp_path / "annotations_train.csv", "filename,start,end,label\na.wav,0.25,0.75,up\n")
    put(tmp_path / "sample_submission.csv", "filename,timestamp\n")
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    assert catalog.truth is not None
    assert len(catalog.truth) == 1
    splits = {Path(file).name: split for file, split in zip(catalog.files, catalog.split, strict=True)}
    assert splits == {"a.wav": "train", "b.wav": "train", "c.wav": "test"}
    groups = {Path(file).name: group for file, group in zip(catalog.files, catalog.group, strict=True)}
    assert groups["a.wav"] != groups["b.wav"]


def test_tables_with_other_columns_are_noted(tmp_path: Path) -> None:
    put_recording(tmp_path / "a.wav")
    path = put(tmp_path / "notes.csv", "file,seconds\na.wav,1\n")
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    assert catalog.truth is None
    assert [(note.kind, note.file) for note in catalog.notes] == [("unused_table", str(path))]


def test_synthetic_recordings_are_read_back(tmp_path: Path) -> None:
    synth.write(tmp_path, 5, 3, synth.SceneOptions(seconds=30, test_rate=2000, calls=600, quiet=0, clear=1))
    catalog, problems = parse(read.read, tmp_path, OPTIONS)
    assert not problems
    assert sorted(catalog.split) == ["test", *["train"] * 4]
    assert catalog.truth is not None
    assert catalog.truth.shapes.length is not None
    assert (catalog.truth.shapes.length > 0.3).all()
