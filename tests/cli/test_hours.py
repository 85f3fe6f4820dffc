"""`tallymark score upcalls`: the official lines, and the hours that false positives are counted by."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import soundfile

from tests.cli.running import run

GOLDEN = (0.5770114942528736, 0.21694036300777875, 0.31532663316582915)


def test_upcalls_prints_the_official_lines(tmp_path: Path) -> None:
    """The published baseline: TP 251, FP 184, FN 906."""
    truth, detections = tmp_path / "truth.csv", tmp_path / "detections.csv"
    truth.write_text("filename,timestamp,label\n" + "".join(f"a.wav,{10 * k},up\n" for k in range(1157)))
    hits = [10 * k for k in range(251)] + [10 * k + 5 for k in range(2000, 2184)]
    detections.write_text("filename,timestamp\n" + "".join(f"a.wav,{at}\n" for at in hits))
    lines = run("score", "upcalls", truth, detections, "--hours", 25).splitlines()
    precision, recall, f1 = GOLDEN
    assert lines[:6] == [
        "True Positives (TP): 251",
        "False Positives (FP): 184",
        "False Negatives (FN): 906",
        f"Precision: {precision}",
        f"Recall: {recall}",
        f"F1 Score: {f1}",
    ]
    assert lines[6] == "False positives per hour: 7.36 (25.0 h)"
    assert lines[7].startswith("One-to-one F1: 0.3153")


def test_hours_are_known_for_the_official_test_recordings_only(tmp_path: Path) -> None:
    truth, detections = tmp_path / "truth.csv", tmp_path / "detections.csv"
    official = [f"B_cont_{k}.wav" for k in range(50) if k not in (13, 17, 20, 35, 43, 47)]
    detections.write_text("filename,timestamp\nB_cont_0.wav,50\n")
    for names, rate in ((official, 1 / 25), (official[1:], None), ([*official, "a.wav"], None), (["a.wav"], None)):
        truth.write_text("filename,timestamp,label\n" + "".join(f"{name},10,up\n" for name in names))
        printed = json.loads(run("score", "upcalls", truth, detections, "--json"))
        assert printed["fp_per_hour"] == rate
        assert printed["rule_options"]["hours"] == (None if rate is None else 25)
    text = run("score", "upcalls", truth, detections)
    assert "False positives per hour: unknown; give --hours NUMBER or --audio FOLDER" in text
    assert "hours=none" in text


def test_hours_come_from_audio_headers(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    for name in ("a.wav", "day/b.flac"):
        soundfile.write(tmp_path / name, np.zeros(2000 * 90), 2000)
    truth, detections = tmp_path / "truth.csv", tmp_path / "detections.csv"
    truth.write_text("filename,timestamp,label\na.wav,10,up\n")
    detections.write_text("filename,timestamp\na.wav,10\na.wav,50\n")
    printed = json.loads(run("score", "upcalls", truth, detections, "--audio", tmp_path, "--json"))
    assert printed["rule_options"]["hours"] == 0.05
    assert printed["fp_per_hour"] == 20
    both = ("--audio", tmp_path, "--hours", 2, "--json")
    assert "bad_option" in run("score", "upcalls", truth, detections, *both, code=2)
    truth.write_text("filename,timestamp,label\nc.wav,10,up\n")
    assert "missing_audio" in run("score", "upcalls", truth, detections, "--audio", tmp_path, code=2)
    (tmp_path / "a.wav").write_bytes(b"not audio")
    assert "corrupt_audio" in run("score", "upcalls", truth, detections, "--audio", tmp_path, code=2)


def test_hours_of_a_data_folder_are_those_of_its_labelled_recordings(tmp_path: Path) -> None:
    folder, detections = tmp_path / "set", tmp_path / "detections.csv"
    (folder / "test").mkdir(parents=True)
    for name in ("a.wav", "b.wav", "test/c.wav"):  # the last one is unlabelled
        soundfile.write(folder / name, np.zeros(2000 * 90), 2000)
    (folder / "annotations.csv").write_text("filename,timestamp\na.wav,10\n")
    detections.write_text("filename,timestamp\na.wav,50\n")
    printed = json.loads(run("score", "upcalls", folder, detections, "--json"))
    assert printed["fp_per_hour"] == 20
    assert json.loads(run("score", "upcalls", folder, detections, "--hours", 2, "--json"))["fp_per_hour"] == 0.5


def test_hours_are_those_of_the_named_recordings(tmp_path: Path) -> None:
    """Whichever way slashes lean and however letters are capitalised; not of others with the same file name."""
    folder, detections = tmp_path / "set", tmp_path / "detections.csv"
    for day in ("20130401", "test/20130402"):
        (folder / day).mkdir(parents=True)
    for name in ("20130401/a.WAV", "20130401/b.wav", "test/20130402/b.wav"):
        soundfile.write(folder / name, np.zeros(2000 * 90), 2000, format="WAV")
    (folder / "annotations.csv").write_text("filename,timestamp\n20130401\\a.wav,10\n20130401/b.wav,10\n")
    detections.write_text("filename,timestamp\n20130401/b.wav,50\n")
    printed = json.loads(run("score", "upcalls", folder, detections, "--json"))
    assert printed["rule_options"]["hours"] == 0.05
    table = folder / "annotations.csv"
    printed = json.loads(run("score", "upcalls", table, detections, "--audio", folder, "--json"))
    assert printed["rule_options"]["hours"] == 0.075


def test_hours_of_a_fold_or_list_are_those_of_its_recordings(tmp_path: Path) -> None:
    for name in "abc":
        soundfile.write(tmp_path / f"{name}.wav", np.zeros(2000 * 90), 2000)
    truth, detections, folds = (tmp_path / f"{name}.csv" for name in ("truth", "detections", "folds"))
    truth.write_text("filename,timestamp,label\na.wav,10,up\nb.wav,10,up\n")
    detections.write_text("filename,timestamp\na.wav,50\nc.wav,50\n")
    folds.write_text("id,group,fold,objects\na.wav,a,0,1\nb.wav,b,1,1\nc.wav,c,0,0\n")
    words = ("score", "upcalls", truth, detections, "--audio", tmp_path, "--json")
    printed = json.loads(run(*words, "--folds", folds, "--fold", 0))
    assert (printed["rule_options"]["hours"], printed["fp_per_hour"]) == (0.05, 40)
    printed = json.loads(run(*words, "--images", detections))
    assert (printed["rule_options"]["hours"], printed["fp_per_hour"]) == (0.05, 40)
    assert json.loads(run(*words))["rule_options"]["hours"] == 0.075


def test_upcalls_of_a_listed_set_only(tmp_path: Path) -> None:
    truth, detections, images = (tmp_path / f"{name}.csv" for name in ("truth", "detections", "images"))
    truth.write_text("filename,timestamp,label\na.wav,10,up\nb.wav,10,up\n")
    detections.write_text("filename,timestamp\na.wav,10\n")
    images.write_text("filename,timestamp\na.wav,0\n")
    printed = json.loads(run("score", "upcalls", truth, detections, "--images", images, "--json"))
    assert (printed["tp"], printed["fp"], printed["fn"]) == (1, 0, 0)
    detections.write_text("filename,timestamp\na.wav,10\nb.wav,10\n")
    assert "unknown_id" in run("score", "upcalls", truth, detections, "--images", images, code=2)
