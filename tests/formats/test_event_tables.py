"""Raven selection tables and Audacity label tracks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tallymark
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.event_labels import LabelFilter
from tallymark.data.items import Items
from tallymark.formats import read_calls, write_audacity, write_raven
from tallymark.geometry import Events
from tests.formats.files import listing, only, put, put_recording

ANY_LABEL = LabelFilter.of("all", bool, bool, "calls")
HEADER = "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)"


def row(number: object, begin: object, end: object, *more: object, view: str = "Spectrogram 1") -> str:
    return "\t".join(map(str, (number, view, 1, begin, end, 50.0, 350.0, *more)))


def table(*rows: str, columns: tuple[str, ...] = ()) -> str:
    return "\r\n".join(["\t".join([HEADER, *columns]), *rows]) + "\r\n"


def events(catalog: Catalog | None) -> dict[str, list[tuple[float, float]]]:
    """Midpoint and duration in seconds of the events of each labelled recording."""
    assert catalog is not None
    truth = catalog.truth
    assert truth is not None
    assert truth.shapes.length is not None
    pairs = list(zip(truth.shapes.time.round(6).tolist(), truth.shapes.length.round(6).tolist(), strict=True))
    names = truth.items.ids.to_list()
    spans = zip(names, truth.offsets[:-1].tolist(), truth.offsets[1:].tolist(), catalog.labelled, strict=True)
    return {name: pairs[start:stop] for name, start, stop, known in spans if known}


@pytest.mark.parametrize("name", ["a.Table.1.selections.txt", "a.selections.txt", "a.txt", "a_selections.txt"])
def test_a_table_is_named_like_its_recording(tmp_path: Path, name: str) -> None:
    for recording in ("a.wav", "a2.wav", "b.wav"):
        put_recording(tmp_path / "20130401" / recording)
    put(tmp_path / "20130401" / name, table(row(1, 1.0, 2.0, view="Waveform 1"), row(1, 1.0, 2.0), row(2, 5, 5.5)))
    catalog = tallymark.read("upcalls", tmp_path)
    assert events(catalog) == {"a.wav": [(1.5, 1), (5.25, 0.5)]}
    assert catalog.items.ids.to_list() == ["a.wav", "a2.wav", "b.wav"]
    assert catalog.labelled.tolist() == [True, False, False]
    assert catalog.group.to_list() == ["20130401"] * 3
    assert catalog.truth is not None
    assert catalog.truth.line is not None
    assert catalog.truth.line.tolist() == [2, 4]


def test_rows_name_the_recording_and_the_offset(tmp_path: Path) -> None:
    put_recording(tmp_path / "a.wav")
    put_recording(tmp_path / "b.wav")
    rows = [
        row(1, 10, 11, "a.wav", "C:\\sea\\a.wav", 10),
        row(2, 610, 612, "b.wav", "C:\\sea\\b.wav", 10),
        row(3, 1210, 1211, "c.wav", "C:\\sea\\c.wav", 10),
    ]
    put(tmp_path / "day.txt", table(*rows, columns=("Begin File", "Begin Path", "File Offset (s)")))
    catalog = tallymark.read("upcalls", tmp_path)
    assert events(catalog) == {"a.wav": [(10.5, 1)], "b.wav": [(11, 2)], "c.wav": [(10.5, 1)]}
    assert catalog.files.to_list() == ["a.wav", "b.wav", None]


def test_a_path_names_the_recording(tmp_path: Path) -> None:
    put_recording(tmp_path / "a.wav")
    put(tmp_path / "x.txt", table(row(1, 1, 2, "D:\\sea\\a.wav"), columns=("Begin Path",)))
    assert events(tallymark.read("upcalls", tmp_path)) == {"a.wav": [(1.5, 1)]}


@pytest.mark.parametrize(
    "text",
    [
        "View\tChannel\tSelection\tEnd Time (s)\tBegin Time (s)\nSpectrogram 1\t1\t1\t2\t1\n",
        '"Selection"\t"View"\t"Begin Time (s)"\t"End Time (s)"\n"1"\t"Spectrogram 1"\t1\t2\n',
    ],
)
def test_columns_in_any_order_and_in_quotes(tmp_path: Path, text: str) -> None:
    put_recording(tmp_path / "a.wav")
    put(tmp_path / "a.txt", text)
    assert events(tallymark.read("upcalls", tmp_path)) == {"a.wav": [(1.5, 1)]}


def test_a_table_without_rows_means_no_events(tmp_path: Path) -> None:
    put_recording(tmp_path / "a.wav")
    put(tmp_path / "a.selections.txt", table())
    assert events(tallymark.read("upcalls", tmp_path)) == {"a.wav": []}


def test_two_tables_of_a_recording_are_combined(tmp_path: Path) -> None:
    put_recording(tmp_path / "a.wav")
    put(tmp_path / "a.Table.1.selections.txt", table(row(1, 1, 2)))
    put(tmp_path / "a.Table.2.selections.txt", table(row(1, 3, 4)))
    catalog = tallymark.read("upcalls", tmp_path)
    assert events(catalog) == {"a.wav": [(1.5, 1), (3.5, 1)]}
    assert "events of a.wav" in only(catalog.notes, "two_tables").found


def test_decimal_commas_are_to_be_points(tmp_path: Path) -> None:
    put_recording(tmp_path / "a.wav")
    put(tmp_path / "a.Table.1.selections.txt", table(row(1, "41,917", "43,137")))
    problems = Problems()
    read_calls(listing(tmp_path), ANY_LABEL, problems)
    assert only(problems, "not_a_number").remedy == "write decimals with a point, not with a comma"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (row(2, "x", 3), "not_a_number"),
        (row(2, 3, "inf"), "not_a_number"),
        (row(2, 4, 3), "negative_duration"),
        (row(1, 4, 5), "duplicate_selection"),
        ("2\tSpectrogram 1", "field_count"),
    ],
)
def test_a_bad_row_is_a_problem_with_its_line(tmp_path: Path, text: str, kind: str) -> None:
    put_recording(tmp_path / "a.wav")
    path = put(tmp_path / "a.txt", table(row(1, 1, 2), text, row(3, 7, 8)))
    problems = Problems()
    catalog = read_calls(listing(tmp_path), ANY_LABEL, problems)
    problem = only(problems, kind)
    assert (problem.file, problem.line) == (str(path), 3)
    assert events(catalog) == {"a.wav": [(1.5, 1), (7.5, 1)]}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (HEADER.replace("End Time (s)", "Delta Time (s)") + "\n", "bad_header"),
        (table(row(1, 1, 2, "a.wav"), row(2, 900, 901, "b.wav"), columns=("Begin File",)), "no_offset"),
    ],
)
def test_a_bad_table_is_a_problem_beside_a_good_one(tmp_path: Path, text: str, kind: str) -> None:
    put_recording(tmp_path / "a.wav")
    put(tmp_path / "a.selections.txt", table(row(1, 1, 2)))
    path = put(tmp_path / "x.txt", text)
    problems = Problems()
    catalog = read_calls(listing(tmp_path), ANY_LABEL, problems)
    assert only(problems, kind).file == str(path)
    assert events(catalog) == {"a.wav": [(1.5, 1)]}


def test_a_table_of_a_missing_recording_has_no_file(tmp_path: Path) -> None:
    put_recording(tmp_path / "a.wav")
    put(tmp_path / "a.selections.txt", table(row(1, 1, 2)))
    path = put(tmp_path / "x.y.Table.1.selections.txt", table(row(1, 3, 4)))
    catalog = tallymark.read("upcalls", tmp_path)
    assert events(catalog) == {"a.wav": [(1.5, 1)], "x.y": [(3.5, 1)]}
    assert catalog.files.to_list() == ["a.wav", None]
    assert only(catalog.notes, "unknown_recording").file == str(path)


def test_audacity_labels(tmp_path: Path) -> None:
    for name in ("a.wav", "b.flac.wav", "c.wav", "d.wav"):
        put_recording(tmp_path / name)
    put(tmp_path / "a.txt", "1.000000\t2.000000\tupcall\n\\\t100.0\t200.0\n5.5\t5.5\t\n")
    put(tmp_path / "b.flac.txt", "1,25\t1,75\tupcall\n")
    put(tmp_path / "c.txt", "")
    put(tmp_path / "README.txt", "What the sea sounds like.\n")
    catalog = tallymark.read("upcalls", tmp_path)
    assert events(catalog) == {"a.wav": [(1.5, 1), (5.5, 0)], "b.flac.wav": [(1.5, 0.5)], "c.wav": []}


@pytest.mark.parametrize(
    ("text", "kind"), [("3\tx\tcall", "not_a_number"), ("4\t3\tcall", "negative_duration"), ("call", "not_a_number")]
)
def test_a_bad_label_is_a_problem_with_its_line(tmp_path: Path, text: str, kind: str) -> None:
    put_recording(tmp_path / "a.wav")
    path = put(tmp_path / "a.txt", f"1\t2\tcall\n{text}\n7\t8\tcall\n")
    problems = Problems()
    catalog = read_calls(listing(tmp_path), ANY_LABEL, problems)
    problem = only(problems, kind)
    assert (problem.file, problem.line) == (str(path), 2)
    assert events(catalog) == {"a.wav": [(1.5, 1), (7.5, 1)]}


def test_other_text_files_are_ignored(tmp_path: Path) -> None:
    put_recording(tmp_path / "a.wav")
    put(tmp_path / "a.txt", "recorded off Cape Cod\n")
    assert read_calls(listing(tmp_path), ANY_LABEL, problems := Problems()) is None
    assert not problems


@pytest.mark.parametrize("form", ["raven", "audacity"])
def test_events_round_trip(tmp_path: Path, form: str) -> None:
    names = ["20130401/a.wav", "b.wav", "c.wav"]
    for name in names:
        put_recording(tmp_path / name)
    calls = Events(np.array([0.25, 1.5, 900.123456]), np.array([np.nan, 0.75, 1.5]))
    truth = Annotations.from_rows(Items.of(names), np.array([0, 0, 2]), calls)
    written = write_raven(truth, tmp_path, (50, 350)) if form == "raven" else write_audacity(truth, tmp_path)
    assert [path.parent.name for path in written] == ["20130401", tmp_path.name, tmp_path.name]
    first = (0.25, 0.5 if form == "raven" else 0)  # a length of 1 s would begin before the recording
    expected = {"a.wav": [first, (1.5, 0.75)], "b.wav": [], "c.wav": [(900.123456, 1.5)]}
    assert events(tallymark.read("upcalls", tmp_path)) == expected


@pytest.mark.parametrize("form", ["raven", "audacity"])
def test_recordings_that_share_a_stem_have_separate_tables(tmp_path: Path, form: str) -> None:
    names = ["a.wav", "a.flac", "b.wav"]
    for name in names:
        put_recording(tmp_path / name)
    truth = Annotations.from_rows(Items.of(names), np.arange(3), Events(np.array([1.0, 2, 3]), np.ones(3)))
    written = write_raven(truth, tmp_path, (50, 350)) if form == "raven" else write_audacity(truth, tmp_path)
    ending = ".Table.1.selections.txt" if form == "raven" else ".txt"
    assert [path.name for path in written] == [f"a.wav{ending}", f"a.flac{ending}", f"b{ending}"]
    assert events(tallymark.read("upcalls", tmp_path)) == {"a.wav": [(1, 1)], "a.flac": [(2, 1)], "b.wav": [(3, 1)]}


def test_nothing_is_written_outside_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "here"
    truth = Annotations.empty(Items.of(["../../a.wav", "/b.wav", "C:\\sea\\c.wav"]), Events(np.empty(0)))
    for path in (*write_raven(truth, folder, (50, 350)), *write_audacity(truth, folder)):
        assert path.resolve().is_relative_to(folder.resolve())
        assert ":" not in str(path.relative_to(folder))
