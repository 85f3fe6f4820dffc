"""Standard output and error that are closed, full or stopped, and ids that a terminal must not get."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tallymark.core.problems import BadInput, Problem, as_json, printable
from tests.cli.running import run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells of POSIX only")
EXAMPLE = Path(__file__).parents[2] / "tallymark" / "challenges" / "wheat" / "example"
ESCAPE = "\x1b[31mred"
TURNED = "h\u00e9\u202ex"


@pytest.fixture
def invalid(tmp_path: Path) -> Path:
    """A submission with an escape sequence and a mark of direction in its ids, and a problem in each row."""
    path = tmp_path / "submission.csv"
    path.write_text(f"image_id,PredictionString\n{TURNED},0.5 1 2 x 4\n{ESCAPE},0.5 1 2 3 y\n", "utf-8")
    return path


def shell(words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = f'"{sys.executable}" -m tallymark {words}'
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, env={**os.environ, **environment}, check=False, timeout=120
    )


@pytest.mark.parametrize(
    ("redirected", "code"),
    [
        (">&-", 2),
        ("2>&-", 2),
        (">&- 2>&- <&-", 2),
        (">/dev/full", 2),
        ("2>/dev/full", 2),
        ("--json | head -1", 0),  # the code is that of the reader
    ],
)
def test_no_traceback_whatever_the_streams_are(redirected: str, code: int, invalid: Path) -> None:
    ended = shell(f"check wheat {invalid} {redirected}")
    assert ended.returncode == code
    assert b"Traceback" not in ended.stderr
    assert b"Error" not in ended.stderr


@pytest.mark.parametrize(
    ("redirected", "code", "told"),
    [
        (">&-", 0, b""),
        (">/dev/full", 2, b"cannot write to standard output: no space left on device\n"),
        ("2>&-", 0, b""),
    ],
)
def test_exit_codes_of_a_command_that_succeeds(redirected: str, code: int, told: bytes) -> None:
    ended = shell(f"check wheat {EXAMPLE / 'submission.csv'} {redirected}")
    assert (ended.returncode, ended.stderr) == (code, told)


def test_a_reader_that_stops_does_not_change_the_exit_code(invalid: Path) -> None:
    command = [sys.executable, "-m", "tallymark", "check", "wheat", str(invalid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        told = running.stderr.read()
        assert (running.wait(timeout=120), told) == (2, b"")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_ids_outside_the_encoding_of_the_output(encoding: str, invalid: Path) -> None:
    ended = shell(f"check wheat {invalid} --json", PYTHONIOENCODING=encoding)
    assert ended.returncode == 2
    assert ended.stdout.isascii()
    assert [one["item"] for one in json.loads(ended.stdout)["problems"]] == [TURNED, ESCAPE]
    ended = shell(f"check wheat {invalid}", PYTHONIOENCODING=encoding)
    assert (ended.returncode, ended.stderr) == (2, b"")
    assert b"\\u202e" in ended.stdout


def test_an_argument_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tallymark", "check", "wheat", os.fsencode(tmp_path) + b"/caf\xe9"],
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (ended.returncode, ended.stderr) == (2, b"")
    assert b"caf\\xe9" in ended.stdout


def test_unprintable_ids_are_escaped(invalid: Path) -> None:
    printed = run("check", "wheat", invalid, code=2)
    assert "\\x1b[31mred" in printed
    assert "\\u202e" in printed
    assert printed.replace("\n", "").isprintable()
    found = run("check", "wheat", invalid, "--json", code=2)
    assert found.replace("\n", "").isprintable()
    assert [one["item"] for one in json.loads(found)["problems"]] == [TURNED, ESCAPE]


def test_texts_of_problems_are_printable() -> None:
    bad = BadInput(Problem("kind", "a\nb\udce9", "\x9b2J", "x", item="\u2066"))
    assert str(bad) == "a\\nb\\xe9 [\\u2066]: kind: found \\x9b2J, expected x"
    assert printable("plain \u00e9 \u65e5") == "plain \u00e9 \u65e5"


def test_json_is_valid_utf8_whatever_is_in_it() -> None:
    value = {"a": "caf\udce9", "b": "\x7f\x9b\u2028", "c": "\u00e9\U0001f600"}
    expected = value | {"a": "caf\\xe9"}
    for ensure_ascii in (False, True):
        text = as_json(value, ensure_ascii=ensure_ascii)
        assert text.replace("\n", "").isprintable()
        assert text.isascii() or not ensure_ascii
        assert json.loads(text.encode()) == expected
