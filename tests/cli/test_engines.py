"""`predict` on several workers: the same files, whatever the engine and however many of the items are bad."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tallymark
from tallymark.api.exports import Exports
from tallymark.core.engines.choice import EngineChoice
from tallymark.core.engines.contract import Advance, Done, Failed, Job
from tallymark.core.engines.local import LocalEngine
from tallymark.core.locks import FolderLock
from tests.cli.running import run

ITEMS = 40
SMALL = ("image_size=64", "tta=1", "score_threshold=0.1")


@pytest.fixture
def photographs(tmp_path: Path, sets: Path) -> Path:
    """A folder of forty photographs."""
    folder = tmp_path / "photographs"
    folder.mkdir()
    sources = sorted((sets / "wheat").rglob("*.jpg"))
    for number in range(ITEMS):
        shutil.copy(sources[number % len(sources)], folder / f"{number:03}.jpg")
    return folder


def predict(folder: Path, out: Path, *words: object, code: int = 0) -> dict[str, Any]:
    return json.loads(run("predict", "wheat", folder, "--out", out, *SMALL, "--json", *words, code=code))


def test_workers_find_what_one_finds_and_list_what_is_damaged(photographs: Path, tmp_path: Path) -> None:
    for name in ("007", "027"):
        (photographs / f"{name}.jpg").write_bytes(b"not an image")
    alone = predict(photographs, tmp_path / "alone.csv", "--workers", 1, code=2)
    shared = predict(photographs, tmp_path / "shared.csv", "--workers", 2, code=2)
    assert (shared["items"], shared["counts"]) == (ITEMS - 2, {"corrupt_media": 2})
    assert [problem["item"] for problem in shared["problems"]] == ["007", "027"]
    assert shared["problems"] == alone["problems"]
    assert shared["count"] == alone["count"] > 0
    assert (tmp_path / "shared.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()


def test_an_item_that_ends_its_workers_is_listed_and_the_others_are_done(
    photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fragile(LocalEngine):
        """Gives up on one item, as after deaths of its workers."""

        def run(self, job: Job[Any, Any], shards: Iterator[Any], advance: Advance) -> Iterator[Done | Failed]:
            for shard in shards:
                while len(shard) > 1:
                    first, shard = shard.split()
                    yield from super().run(job, iter([first]), advance)
                if shard.catalog.items.ids[0] == "007":
                    yield Failed(shard, "its worker died (SIGSEGV)")
                else:
                    yield from super().run(job, iter([shard]), advance)

    monkeypatch.setattr(EngineChoice, "make", lambda *_, **__: Fragile(1))
    for path in sorted(photographs.iterdir())[8:]:
        path.unlink()
    found = predict(photographs, tmp_path / "out.csv", code=2)
    (problem,) = found["problems"]
    assert (problem["kind"], problem["item"]) == ("worker_died", "007")
    assert "SIGSEGV" in problem["found"]
    assert found["items"] == 7


def test_a_journal_in_use_is_refused(photographs: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    predict(photographs, tmp_path / "a.csv", "--journal", journal)
    (pages,) = [path for path in journal.iterdir() if path.is_dir()]
    lock = FolderLock(pages)
    refused = predict(photographs, tmp_path / "b.csv", "--journal", journal, code=2)
    (problem,) = refused["problems"]
    assert problem["kind"] == "in_use"
    assert "by process" in problem["found"]
    lock.release()
    predict(photographs, tmp_path / "b.csv", "--journal", journal)


def test_outputs_of_an_interrupted_command_are_replaced_by_the_same_one(
    photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --force, since they are its own; files of others are not."""
    words = ("--objects", tmp_path / "objects.csv")
    predict(photographs, tmp_path / "expected.csv")
    with monkeypatch.context() as interrupted:

        def kill(*_: object) -> None:
            raise KeyboardInterrupt

        interrupted.setattr(Exports, "write", kill)
        run("predict", "wheat", photographs, "--out", tmp_path / "out.csv", *SMALL, *words, code=130)
    assert (tmp_path / "out.csv").exists()
    predict(photographs, tmp_path / "out.csv", *words)
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
    assert (tmp_path / "objects.csv").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    refused = predict(photographs, tmp_path / "out.csv", *words, code=2)
    assert refused["counts"] == {"exists": 2}


def test_an_engine_that_is_not_known_is_refused(photographs: Path, tmp_path: Path) -> None:
    assert "ray" in run("predict", "wheat", photographs, "--out", tmp_path / "a.csv", "--engine", "rays", code=2)


def test_an_engine_may_be_chosen_in_python(photographs: Path) -> None:
    result = tallymark.predict("wheat", photographs, engine=EngineChoice(workers=2), image_size=64, tta=1)
    assert len(result.predictions.items) == ITEMS
