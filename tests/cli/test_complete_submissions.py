"""Submissions have every id of the sample, and nothing else has items that were never read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.running import run
from tests.sets import copy_of, make_once
from tests.untrained import untrained

RULE = {"ships": ("--rule", "shape=768x768")}
IDS = {"wheat": "image_id", "food": "image_name", "lyft": "Id", "ships": "ImageId"}


@pytest.fixture(scope="session")
def model_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A model with random weights for each challenge."""

    def make(folder: Path) -> None:
        folder.mkdir()
        untrained(folder.name.removeprefix("untrained-"), folder / "model.onnx")

    return lambda name: make_once(tmp_path_factory, f"untrained-{name}", make) / "model.onnx"


def sample_of(folder: Path) -> Path:
    [path] = folder.glob("sample_submission*.csv")
    return path


def media_of(folder: Path) -> list[Path]:
    """The files of the test split: images, recordings or sweeps."""
    suffixes = {".jpg", ".wav", ".bin"}
    return sorted(path for path in folder.glob("test*/**/*") if path.suffix in suffixes)


def predicted(*words: object, code: int = 0) -> dict[str, object]:
    printed = run("predict", *words, "--json", code=code)
    answer: dict[str, object] = json.loads(printed[printed.index("{") :])
    return answer


@pytest.mark.parametrize("name", IDS)
def test_every_id_of_the_sample_has_a_row(
    name: str, model_of: Callable[[str], Path], sets: Path, tmp_path: Path
) -> None:
    """One test file is missing, one is damaged, and the sample is in another order and names one more."""
    folder = copy_of(sets, name, tmp_path)
    sample, out = sample_of(folder), tmp_path / "submission.csv"
    rows = pl.read_csv(sample, infer_schema=False).unique(IDS[name], maintain_order=True).reverse()
    rows = pl.concat([rows, rows.tail(1).with_columns(pl.lit("unheard-of").alias(IDS[name]))])
    rows.write_csv(sample)
    media = media_of(folder)
    media[0].unlink()
    media[-1].write_bytes(b"no such medium")
    others = media_of(folder)
    answer = predicted(model_of(name), folder, "--out", out, *RULE.get(name, ()), code=2)
    written = pl.read_csv(out, infer_schema=False)[IDS[name]]
    assert written.unique(maintain_order=True).to_list() == rows[IDS[name]].to_list()
    assert answer["items"] == len(others) - 1
    assert answer["counts"]["missing_media"] == min(len(media), 2)  # of lyft there is one file, which is damaged
    assert "unheard-of" in {problem.get("item") for problem in answer["problems"]}
    unread = len(rows) - len(others) + 1
    assert any(note.startswith(f"{unread} of {len(rows)} rows ") for note in answer["notes"])
    assert "valid" in run("check", name, out, "--against", sample, *RULE.get(name, ()))


def test_a_missing_dish_gets_the_most_common_labels(
    model_of: Callable[[str], Path], sets: Path, tmp_path: Path
) -> None:
    folder = copy_of(sets, "food", tmp_path)
    gone = media_of(folder)[0]
    gone.unlink()
    answer = predicted(model_of("food"), folder, "--out", tmp_path / "submission.csv")
    row = pl.read_csv(tmp_path / "submission.csv", infer_schema=False).filter(image_name=gone.name).row(0)
    assert any(f"the labels {' '.join(row[1:])}, the most probable ones" in note for note in answer["notes"])


def test_many_missing_ids_are_one_row(model_of: Callable[[str], Path], sets: Path, tmp_path: Path) -> None:
    """Also of a sample that is given, with ids as file names; and never as predictions of the training images."""
    folder = copy_of(sets, "wheat", tmp_path)
    sample, given, out = sample_of(folder), tmp_path / "list.csv", tmp_path / "submission.csv"
    known = pl.read_csv(sample)["image_id"].to_list()
    ids = [f"none{at}" for at in range(30)] + [f"{name}.JPG" for name in known]
    pl.DataFrame({"image_id": ids, "PredictionString": ""}).write_csv(given)
    answer = predicted(model_of("wheat"), folder, "--out", out, "--sample", given)
    assert pl.read_csv(out, infer_schema=False)["image_id"].to_list() == ids
    assert answer["counts"] == {"missing_media": 1}
    assert answer["items"] == len(known)
    sample.unlink()
    given.rename(folder / "sample_submission_v2.csv")
    for image in media_of(folder):
        image.unlink()
    refused = run("predict", model_of("wheat"), folder, "--out", tmp_path / "other.csv", code=2)
    assert "none of the 33 images of sample_submission_v2.csv" in refused
    assert "--split train" in refused
    assert predicted(model_of("wheat"), folder, "--out", out, "--force", "--split", "train")["items"] == 12


def test_a_sample_beside_the_test_folder_counts(model_of: Callable[[str], Path], sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    gone = media_of(folder)[0]
    gone.unlink()
    out = tmp_path / "submission.csv"
    predicted(model_of("wheat"), folder / "test", "--out", out)
    assert gone.stem in set(pl.read_csv(out, infer_schema=False)["image_id"])


def test_recordings_need_no_sample(model_of: Callable[[str], Path], sets: Path, tmp_path: Path) -> None:
    sample = sets / "upcalls" / "sample_submission.csv"
    words = (model_of("upcalls"), sets / "upcalls", "--out", tmp_path / "submission.csv", "--sample", sample)
    assert "leave it out" in run("predict", *words, code=2)


def test_only_what_was_heard_has_a_table(model_of: Callable[[str], Path], sets: Path, tmp_path: Path) -> None:
    """An empty table of a recording that nobody heard would be read as "no calls"."""
    folder = copy_of(sets, "upcalls", tmp_path)
    damaged, *others = media_of(folder)
    damaged.write_bytes(damaged.read_bytes()[:20])
    raven, audacity, objects = tmp_path / "raven", tmp_path / "audacity", tmp_path / "calls.csv"
    words = ("--raven", raven, "--audacity", audacity, "--objects", objects, "score_threshold=0.01")
    answer = predicted(model_of("upcalls"), folder, *words, code=2)
    assert answer["items"] == len(others)
    assert answer["total"] == 1
    for written in (raven, audacity):
        names = {path.name.split(".")[0] for path in written.rglob("*.txt")}
        assert damaged.stem not in names
        assert {path.stem for path in others} <= names


def test_only_images_that_were_seen_are_counted(model_of: Callable[[str], Path], sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    damaged, *others = media_of(folder)
    damaged.write_bytes(b"")
    answer = predicted(model_of("wheat"), folder, "--counts", tmp_path / "counts.csv", code=2)
    assert answer["items"] == len(others)
    assert damaged.stem not in (tmp_path / "counts.csv").read_text()
