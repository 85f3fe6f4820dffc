"""Files that only grow: what a kill leaves is cut off, and nothing that the ledger knows is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallymark.core.problems import BadInput
from tallymark.io.growing_files import GrowingFiles, Rows

NAMES = ("a.csv", "b.csv")


def grown(folder: Path) -> tuple[GrowingFiles, list[str]]:
    files = GrowingFiles(folder, "ledger.jsonl", NAMES)
    return files, [line["file"] for line in files.recover()]


def add(files: GrowingFiles, *names: str) -> None:
    files.append([({"a.csv": Rows(b"name\n", f"{name}\n".encode())}, {"file": name}) for name in names])


def test_rows_follow_one_header_and_the_ledger_counts_them(tmp_path: Path) -> None:
    files, known = grown(tmp_path)
    assert known == []
    add(files, "one", "two")
    files.append([({"b.csv": Rows(b"", b"feature\n")}, {"file": "three"})])
    assert (tmp_path / "a.csv").read_text() == "name\none\ntwo\n"
    assert (tmp_path / "b.csv").read_text() == "feature\n"
    assert grown(tmp_path)[1] == ["one", "two", "three"]


def test_whatever_a_kill_leaves_the_ledger_and_the_rows_agree(tmp_path: Path) -> None:
    files, _ = grown(tmp_path)
    add(files, "one", "two")
    add(files, "three")
    rows, ledger = (tmp_path / "a.csv").read_bytes(), (tmp_path / "ledger.jsonl").read_bytes()
    for length in range(0, len(ledger) + 1, 7):
        (tmp_path / "a.csv").write_bytes(rows + b"half a r")
        (tmp_path / "ledger.jsonl").write_bytes(ledger[:length])
        again, known = grown(tmp_path)
        assert known == ["one", "two", "three"][: ledger[:length].count(b"\n")]
        assert (tmp_path / "a.csv").read_text().split()[1:] == known
        add(again, "four")
        assert (tmp_path / "a.csv").read_text() == "\n".join(["name", *known, "four", ""])


def test_a_table_that_somebody_changed_is_refused(tmp_path: Path) -> None:
    files, _ = grown(tmp_path)
    add(files, "one")
    (tmp_path / "a.csv").write_text("nam\n")
    for use in (lambda: grown(tmp_path), lambda: add(files, "two")):
        with pytest.raises(BadInput, match="changed_output: found 4 bytes, expected the 9 bytes"):
            use()
    (tmp_path / "a.csv").unlink()
    with pytest.raises(BadInput, match="changed_output: found no file"):
        grown(tmp_path)


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"ends": {"c.csv": 1}}', '{"ends": 3}', '{"ends": {"a.csv": "9"}}', "[" * 100_000]
)
def test_a_damaged_ledger_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "ledger.jsonl").write_text(f"{json.dumps({'file': 'one'})}\n{line}\n")
    with pytest.raises(BadInput, match=r"ledger.jsonl:2: bad_ledger"):
        grown(tmp_path)
