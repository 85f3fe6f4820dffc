"""Texts and JSON of any origin: a value, or a problem with its line; never another exception."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallymark.core.problems import Problems
from tallymark.io import texts
from tallymark.io.json_text import BadJson, lone_surrogates, parse_json, read_json, show
from tallymark.io.texts import beginning, first_line, read_lines, read_text

DEEP = 100_000
BAD = {
    "nested lists": ("[" * DEEP + "]" * DEEP, "nested too deep", 1),
    "nested objects": ('{"a":' * DEEP + "1" + "}" * DEEP, "nested too deep", 1),
    "a long integer": ("[1,\n2,\n" + "9" * 4301 + "]", "more than 4,300 digits", 3),
    "a lone surrogate": ('["a",\n"\\ud800"]', "half a character, \\ud800", 2),
    "half a pair": ('["\\ud83d\\u0041"]', "half a character, \\ud83d", 1),
    "the wrong half": ('["\\udc00"]', "half a character, \\udc00", 1),
    "a key twice": ('[1,\n{"a": 1, "a": 2}]', "the key 'a' twice", 1),
    "nothing": ("", "an empty file", 1),
    "blanks": (" \n ", "an empty file", 2),
    "a cut list": ('{"a": [1,\n 2', "delimiter", 2),
    "two values": ("{}\n{}", "extra data", 2),
    "no JSON": ("hello", "expecting value", 1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_json_is_one_kind_of_error_with_its_line(name: str) -> None:
    text, found, line = BAD[name]
    with pytest.raises(BadJson, match=found.replace("\\", r"\\")) as raised:
        parse_json(text)
    assert raised.value.line == line


@pytest.mark.parametrize(
    ("text", "value"),
    [("[1e999]", [float("inf")]), ('"\\ud83d\\ude00"', "😀"), ('"\\\\ud800"', "\\ud800"), (" \r\n[] \t", [])],
)
def test_other_json_is_read(text: str, value: object) -> None:
    assert parse_json(text) == value


def test_pairs_of_surrogates_are_told_from_lone_ones() -> None:
    text = r'"\ud83d\ude00 \ud83d \\ud800 \ude00 \ud83d\n\ud83d\ud83d\ude00"'
    assert [text[at : at + 6] for at in lone_surrogates(text)] == [r"\ud83d", r"\ude00", r"\ud83d", r"\ud83d"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-be"])
def test_texts_are_read_in_every_encoding_that_is_certain(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes((b"\xfe\xff" if encoding == "utf-16-be" else b"") + '["é\U0001f600",\n1]'.encode(encoding))
    problems = Problems()
    assert read_json(path, problems) == ["é\U0001f600", 1]
    assert first_line(path) == '["é\U0001f600",'
    assert not problems


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "bad_json"),
        (b"null", "bad_json"),
        (b'["\xe9"]', "encoding"),
        (b"[1, 2]\0", "encoding"),
        ("[]".encode("utf-16")[:-1], "encoding"),
        (b'["\\ud800"]', "encoding"),
        (b"\x89PNG\r\n\x1a\n\0\0", "encoding"),
    ],
)
def test_what_is_no_json_is_a_problem(data: bytes, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(data)
    problems = Problems()
    read_json(path, problems)
    assert problems.counts == {kind: 1}


def test_files_that_cannot_be_read_are_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problems = Problems()
    assert read_text(tmp_path / "none.txt", problems) is None
    assert read_text(tmp_path, problems) is None
    assert beginning(tmp_path / "none.txt") is None
    monkeypatch.setattr(texts, "LARGEST_TEXT", 3)
    (tmp_path / "long.txt").write_text("1234")
    assert read_lines(tmp_path / "long.txt", problems, item="long") is None
    assert problems.counts == {"unreadable": 2, "too_large": 1}


def test_any_value_can_be_shown() -> None:
    deep: list[object] = []
    for _ in range(DEEP):
        deep = [deep]
    assert "nested" in show(deep)
    assert "long" in show(10**5000)
    assert show({"a": "\n" * 100}).startswith('"{')
    while deep:  # or its destruction recurses
        deep = deep.pop()
