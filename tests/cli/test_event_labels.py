"""Labels of calls: what counts as an upcall, by default and with --labels; and the organisers' scoring script."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tallymark.challenges.upcalls.script.metrics import is_upcall
from tests.cli.running import run
from tests.formats.files import put

TRUTH = """filename,start,end,label
a.wav,1,2,up
a.wav,3,4,uncertain
a.wav,5,6,uncertain
b.wav,1,2,humpback
b.wav,7,8,
"""
REMARK = "excluded labels that are not upcalls: 2 uncertain, 1 humpback"


@pytest.mark.parametrize("label", ["", "up", "UP", "Upcall", "up-call", "NARW upcall", "RWUpcall_2", "call", "1", "Eg"])
def test_labels_of_upcalls(label: str) -> None:
    assert is_upcall(label)


@pytest.mark.parametrize(
    "label", ["uncertain", "up?", "possible upcall", "humpback", "right whale gunshot", "Bp20Hz", "0", "noise", "Wal ä"]
)
def test_labels_of_something_else(label: str) -> None:
    assert not is_upcall(label)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "set").mkdir()
    for seed, name in enumerate(("a.wav", "b.wav")):
        samples = np.random.default_rng(seed).normal(0, 0.1, 20000)
        soundfile.write(tmp_path / "set" / name, samples, 2000)
    return tmp_path / "set"


def checked(folder: Path, *words: object) -> tuple[int, list[str]]:
    """The number of calls in a data folder, and the remarks on it."""
    printed = json.loads(run("check", "upcalls", folder, *words, "--json"))
    return printed["objects"], printed["remarks"]


def test_a_table_of_calls_with_other_labels(folder: Path) -> None:
    table = put(folder / "annotations.csv", TRUTH)
    calls, [remark] = checked(folder)
    assert calls == 2
    assert remark.startswith(REMARK)
    assert checked(folder, "--labels", "up,Uncertain") == (3, [])
    assert checked(folder, "--labels", "all") == (5, [])
    detections = put(folder.parent / "d.csv", "filename,timestamp\na.wav,1.5\na.wav,3.5\n")
    for truth in (table, folder):
        printed = json.loads(run("score", "upcalls", truth, detections, "--json"))
        assert (printed["tp"], printed["fp"], printed["fn"]) == (1, 1, 1)
        assert printed["remarks"] == [remark]
        assert REMARK in run("score", "upcalls", truth, detections)
        both = ("upcalls", truth, detections, detections)
        assert json.loads(run("compare", *both, "--json"))["remarks"] == [remark]
        assert REMARK in run("compare", *both)
        assert REMARK in run("fuse", "upcalls", detections, detections, "--truth", truth)
    printed = json.loads(run("score", "upcalls", table, detections, "--labels", "up,uncertain", "--json"))
    assert (printed["tp"], printed["fp"], printed["fn"]) == (2, 0, 1)
    assert "remarks" not in printed


def test_a_table_without_any_upcall_is_refused(folder: Path) -> None:
    put(folder / "annotations.csv", ",filename,label,timestamp\n0,a.wav,BmA,3\n1,a.wav,Bp20Hz,4\n")
    text = run("check", "upcalls", folder, code=2)
    assert "other_labels" in text
    assert "1 BmA, 1 Bp20Hz" in text
    assert "--labels" in text
    assert checked(folder, "--labels", "BmA") == (1, [])


def test_raven_tables_with_labels_of_other_species(folder: Path) -> None:
    header = "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tSpecies\tAnnotation\n"
    rows = ["1\tS\t1\t1\t2\tNARW\tupcall", "2\tS\t1\t3\t4\tHumpback\tupcall", "3\tS\t1\t5\t6\t\t"]
    put(folder / "a.Table.1.selections.txt", header + "\n".join(rows) + "\n")
    put(folder / "b.Table.1.selections.txt", header)
    calls, [remark] = checked(folder)
    assert calls == 2
    assert "1 Humpback upcall" in remark
    assert checked(folder, "--labels", "humpback") == (1, [])


def test_audacity_tracks_with_labels_of_other_species(folder: Path) -> None:
    put(folder / "a.txt", "1\t2\tcall\n3\t4\tup?\n5\t6\t\n")
    put(folder / "b.txt", "")
    calls, [remark] = checked(folder)
    assert calls == 2
    assert "1 up?" in remark


def test_other_commands_take_labels(folder: Path) -> None:
    put(folder / "annotations.csv", TRUTH)
    run("folds", "upcalls", folder, "--labels", "all", "--folds", 2, "--out", folder.parent / "folds.csv")
    objects = [int(row.split(",")[3]) for row in (folder.parent / "folds.csv").read_text().splitlines()[1:]]
    assert sorted(objects) == [2, 3]
    assert "--labels" in run("train", "upcalls", "--help")
    assert "--labels" not in run("train", "wheat", "--help")


def test_the_organisers_command_prints_what_score_prints(tmp_path: Path) -> None:
    rng = random.Random(0)
    script = tmp_path / "metrics.py"
    assert f"written to {script}" in run("export-metrics", "upcalls", "--out", script)
    (tmp_path / "annotations").mkdir()
    for schema in ("timestamp", "start,end"):
        columns = schema.count(",") + 1
        truth, detections = tmp_path / "annotations" / "annotations_test.csv", tmp_path / "detections.csv"
        times = [round(rng.uniform(0, 300), 1) for _ in range(150)]
        labels = [rng.choice(["up", "up", "uncertain"]) for _ in times]
        rows = [
            f"{rng.choice('abc')}.wav,{','.join(str(time + k) for k in range(columns))},{label}"
            for time, label in zip(times, labels, strict=True)
        ]
        truth.write_text("\n".join([f"filename,{schema},label", *rows, ""]))
        found = [f"{rng.choice('abcd')}.wav,{round(rng.uniform(0, 300), 1)},0.5" for _ in range(100)]
        detections.write_text("\n".join(["filename,timestamp,score", *found, ""]))
        command = [sys.executable, "-I", "metrics.py", "annotations/annotations_test.csv", "detections.csv"]
        printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        lines = run("score", "upcalls", truth, detections).splitlines()
        assert printed.splitlines() == lines[:6]
        assert not printed.startswith("True Positives (TP): 0")


def test_the_script_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    run("export-metrics", "upcalls", "--out", tmp_path / "metrics.py")
    good = put(tmp_path / "good.csv", "filename,timestamp\na.wav,1\n")
    bad = put(tmp_path / "bad.csv", "filename,timestamp\na.wav,0:41\n")
    other = put(tmp_path / "other.csv", "file,time\n")
    for words, message in (
        ((good, bad), "bad.csv, line 2"),
        ((good, other), "expected the columns filename,timestamp"),
        ((good, tmp_path / "none.csv"), "No such file"),
        ((good,), "usage"),
    ):
        command = [sys.executable, "-I", tmp_path / "metrics.py", *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_challenges_without_a_script_say_so(tmp_path: Path) -> None:
    assert "no_script" in run("export-metrics", "wheat", "--out", tmp_path / "metrics.py", code=2)
