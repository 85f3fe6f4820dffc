"""Fuzzed and malformed files: a list of problems or a result, never another exception, never a lost row."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import tallymark
from tallymark.cli.main import app
from tests.made import NAMES

GOOD = {
    "wheat": (
        'image_id,width,height,bbox,source\na,1024,1024,"[0, 0, 100, 100]",s\nb,1024,1024,"[5, 5, 10.5, 20]",t\n',
        "image_id,PredictionString\na,0.9 0 0 100 100 0.5 10 10 30 30\nb,0.25 5 5 10 20\n",
    ),
    "upcalls": (
        "filename,timestamp,label\na.wav,10.5,up\nb.wav,3,up\n",
        "filename,timestamp\na.wav,10\nb.wav,33.25\n",
    ),
    "food": ("image_name,label\na,1\nb,2\n", "image_name,pred1,pred2,pred3\na,1,2,3\nb,0,5,210\n"),
    "lyft": (
        "Id,PredictionString\na,0 0 0 2 4 2 0.5 car 9 9 0 2 4 2 0 bus\nb,\n",
        "Id,PredictionString\na,0.9 0 0 0 2 4 2 0.5 car\nb,0.1 5 5 0 1 1 2 0 pedestrian\n",
    ),
    "ships": ("ImageId,EncodedPixels\na.jpg,1 3 10 5\nb.jpg,\n", "ImageId,EncodedPixels\na.jpg,1 3 10 5\nb.jpg,7 2\n"),
}
TOKENS = [
    b"1e308", b"-1e308", b"1e400", b"nan", b"inf", b"-0", b"1000000000000000000", b"9223372036854775807",
    b"-9223372036854775808", b"99999999999999999999999999", b"1_0", b"0x1", b"", b" ", b"\t", b",", b'"', b"\n", b"\r",
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\x1d", "\u00a0".encode(), "１".encode(), "é".encode(), b"car", b"-1", b"0",
    b"589825", b"3.0",
]  # fmt: skip
HEALTH_CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
"""Examples overwrite the files of earlier ones, and a busy machine may be slow."""
edits_of_bytes = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(TOKENS)), min_size=1, max_size=4
)


def corrupt(text: str, edits: list[tuple[float, int, bytes]]) -> bytes:
    """Replace bytes by tokens: each edit has a relative position, a number of bytes, and a token."""
    data = text.encode()
    for place, length, token in edits:
        at = int(place * len(data))
        data = data[:at] + token + data[at + length :]
    return data


def outcome(name: str, truth: bytes, submission: bytes, folder: Path) -> list[str]:
    """Score files with these bytes; returns the kinds of problems, empty if there is a score."""
    (folder / "truth.csv").write_bytes(truth)
    (folder / "submission.csv").write_bytes(submission)
    try:
        score = tallymark.score(name, folder / "truth.csv", folder / "submission.csv")
    except tallymark.BadInput as bad:
        assert bad.problems.total > 0
        for problem in bad.problems:
            assert problem.file in (str(folder / "truth.csv"), str(folder / "submission.csv"))
            assert problem.found
            assert problem.expected
            assert problem.remedy
        return list(bad.problems.counts)
    json.dumps(score.as_dict(), allow_nan=False)
    return []


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150, suppress_health_check=HEALTH_CHECKS)
@given(edits=edits_of_bytes, which=st.integers(0, 1))
def test_any_corruption_is_reported(
    name: str, edits: list[tuple[float, int, bytes]], which: int, tmp_path: Path
) -> None:
    files = [text.encode() for text in GOOD[name]]
    files[which] = corrupt(GOOD[name][which], edits)
    outcome(name, files[0], files[1], tmp_path)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, suppress_health_check=HEALTH_CHECKS)
@given(edits=edits_of_bytes)
def test_a_valid_file_has_lost_no_values(name: str, edits: list[tuple[float, int, bytes]], tmp_path: Path) -> None:
    """A file that the check accepts has as many rows, and as many values, as were written."""
    path = tmp_path / "submission.csv"
    path.write_bytes(corrupt(GOOD[name][1], edits))
    checked = tallymark.check(name, path)
    if checked.problems:
        return
    rows = [line for line in path.read_bytes().decode("utf-8-sig").split("\n")[1:] if line.strip()]
    widths = {"wheat": 5, "lyft": 9, "food": 1}
    if name in widths and not any('"' in row for row in rows):
        values = sum(len(row.split(",", 1)[1].replace(",", " ").split()) for row in rows)
        assert checked.objects * widths[name] == values
    elif name == "upcalls":
        assert checked.objects == len(rows)


@pytest.mark.parametrize("name", NAMES)
def test_every_truncation_is_reported(name: str, tmp_path: Path) -> None:
    truth, submission = (text.encode() for text in GOOD[name])
    for end in range(len(submission)):
        outcome(name, truth, submission[:end], tmp_path)
    for end in range(len(truth)):
        outcome(name, truth[:end], submission, tmp_path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "cp037"])
def test_other_encodings_are_rejected(name: str, encoding: str, tmp_path: Path) -> None:
    truth, submission = GOOD[name]
    kinds = outcome(name, truth.encode(), submission.encode(encoding), tmp_path)
    assert set(kinds) & {"encoding", "nul_byte", "bad_header"}


@pytest.mark.parametrize("name", NAMES)
def test_bom_and_crlf_change_nothing(name: str, tmp_path: Path) -> None:
    truth, submission = GOOD[name]
    encoded = [b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() for text in (truth, submission)]
    assert outcome(name, *encoded, tmp_path) == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", ["truth", "submission"])
@pytest.mark.parametrize("content", [None, "folder", b"", b"\n\n", b"\0" * 10])
def test_missing_and_empty_files_are_reported(
    name: str, target: str, content: bytes | str | None, tmp_path: Path
) -> None:
    for file, text in zip(("truth", "submission"), GOOD[name], strict=True):
        path = tmp_path / f"{file}.csv"
        if file != target:
            path.write_text(text)
        elif content == "folder":
            path.mkdir()
        elif isinstance(content, bytes):
            path.write_bytes(content)
    result = CliRunner().invoke(app, ["score", name, str(tmp_path / "truth.csv"), str(tmp_path / "submission.csv")])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert "problem" in result.output


ROWS = {
    "wheat": "image_id,PredictionString\na,{}\n",
    "lyft": "Id,PredictionString\na,{}\n",
    "ships": "ImageId,EncodedPixels\na,{}\n",
    "food": "image_name,labels\na,{}\n",
    "upcalls": "filename,timestamp\na,{}\n",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("token", ["1", "x", "7 7", '"'])
def test_a_row_of_a_million_values(name: str, token: str, tmp_path: Path) -> None:
    path = tmp_path / "submission.csv"
    path.write_text(ROWS[name].format(" ".join([token] * 1_000_000)))
    checked = tallymark.check(name, path)
    if name == "wheat" and token in ("1", "7 7"):
        assert checked.objects == len(token.split()) * 200_000
        assert not checked.problems
    else:
        assert checked.problems
        assert all(len(str(problem)) < 1_000 for problem in checked.problems)


HUGE = {
    "wheat": ["0.5 0 0 1e18 1e18", "1e308 1e308 1e308 1e308 1e308"],
    "lyft": ["0.5 1e18 1e18 1e18 1e18 1e18 1e18 1e18 car"],
    "ships": ["1 1000000000000000000", "1000000000000000000 1", "1 9223372036854775807", f"1 {10**40}", "1 589824"],
    "food": ["0 1 1000000000000000000"],
    "upcalls": ["1e18", "1e308"],
}


@pytest.mark.parametrize(("name", "cell"), [(name, cell) for name, cells in HUGE.items() for cell in cells])
def test_memory_does_not_grow_with_a_number(name: str, cell: str, tmp_path: Path) -> None:
    path = tmp_path / "submission.csv"
    path.write_text(ROWS[name].format(cell))
    tallymark.check(name, path)
    truth = tmp_path / "truth.csv"
    truth.write_text(GOOD[name][0])
    relaxed = {} if name == "upcalls" else {"missing": "empty", "extra": "ignore"}
    tracemalloc.start()
    try:
        tallymark.score(name, truth, path, **relaxed)
    except tallymark.BadInput:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 20e6


def test_all_problems_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "submission.csv"
    path.write_text("image_id,PredictionString\na,1 2 3\nb,1 0 0 x 1\nc,1 0 0 -1 1\na,\n,1 0 0 1 1\nd\nzz,\n")
    sample = tmp_path / "sample.csv"
    sample.write_text("image_id,PredictionString\n" + "".join(f"{name},\n" for name in "abcde"))
    checked = tallymark.check("wheat", path, against=sample)
    assert [(problem.kind, problem.line) for problem in checked.problems] == [
        ("missing_id", None),
        ("missing_id", None),
        ("token_count", 2),
        ("not_a_number", 3),
        ("negative_size", 4),
        ("duplicate_id", 5),
        ("empty_id", 6),
        ("field_count", 7),
        ("unknown_id", 8),
    ]


@pytest.mark.parametrize("blank", ["\u00a0", "\u2009", "\x85", "\x1d"])
@pytest.mark.parametrize(
    ("name", "row", "kind"),
    [
        ("wheat", "a,0.9 10{} 10 30 30", "not_a_number"),
        ("wheat", "a,0.9 10 10 30 30{}", "not_a_number"),
        ("lyft", "a,0.9 0{} 0 0 2 4 2 0.5 car", "not_a_number"),
        ("ships", "a,1{}3 3", "not_an_integer"),
    ],
)
def test_whitespace_that_does_not_separate_is_shown(name: str, row: str, kind: str, blank: str, tmp_path: Path) -> None:
    """Such characters come from web pages and word processors."""
    path = tmp_path / "submission.csv"
    path.write_text(GOOD[name][1].split("\n")[0] + "\n" + row.format(blank) + "\n", "utf-8")
    [problem] = tallymark.check(name, path).problems
    assert (problem.kind, problem.line) == (kind, 2)
    assert repr(blank)[1:-1] in problem.found


@pytest.mark.parametrize(("mark", "word"), [(";", "semicolons"), ("\t", "tabs")])
@pytest.mark.parametrize("name", NAMES)
def test_other_separators_are_named(name: str, mark: str, word: str, tmp_path: Path) -> None:
    path = tmp_path / "submission.csv"
    path.write_text(GOOD[name][1].replace(",", mark))
    [problem] = tallymark.check(name, path).problems
    assert problem.kind == "bad_header"
    assert f"by commas, not by {word}" in problem.remedy


def test_the_message_about_a_missing_header_is_short(tmp_path: Path) -> None:
    path = tmp_path / "submission.csv"
    path.write_text("a," + "0.9 0 0 100 100 " * 500 + "\n")
    [problem] = tallymark.check("wheat", path).problems
    assert problem.kind == "bad_header"
    assert len(str(problem)) < 500
