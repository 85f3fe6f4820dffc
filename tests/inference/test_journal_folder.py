"""Where journals are: folders that are refused, locked, full, kept or removed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallymark.core.outputs import cannot_write
from tallymark.core.problems import BadInput, Problem
from tallymark.inference import job
from tallymark.inference.candidates import Candidates
from tallymark.inference.journal_pages import write_page
from tallymark.inference.session import Session
from tests.inference.counting_model import CountingModel, assert_same, counting, images

__all__ = ["counting", "images"]


def test_a_folder_that_cannot_be_written_to_is_refused_first(
    counting: CountingModel, images: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "journal", Path("/proc/journal")):
        with pytest.raises(BadInput) as caught:
            counting.predict(images, folder)
        assert str(folder) in str(caught.value)
    assert counting.calls == 0


def test_a_journal_must_be_a_folder(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput) as caught:
        counting.predict(images, tmp_path / "file")
    (problem,) = caught.value.problems
    assert (problem.kind, problem.file, problem.found) == ("bad_path", str(tmp_path / "file"), "a file")
    assert "a folder" in problem.expected


def test_a_full_disk_ends_the_run_and_the_same_command_resumes(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = counting.predict(images, None, score_threshold=0.0)
    pages = 0

    def full_later(path: Path, candidates: Candidates) -> None:
        nonlocal pages
        pages += 1
        if pages == 3:
            raise BadInput(cannot_write(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
        write_page(path, candidates)

    with monkeypatch.context() as changed:
        changed.setattr(job, "write_page", full_later)
        with pytest.raises(BadInput) as caught:
            counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    (problem,) = caught.value.problems
    assert (problem.kind, problem.found) == ("cannot_write", "no space left on device")
    assert str(tmp_path / "journal") in problem.file
    assert "run the same command again" in problem.remedy
    found, inferred = counting.predict(images, tmp_path / "journal", score_threshold=0.0)
    assert inferred == 2  # the pages before have two images and one
    assert_same(found.candidates.load(), expected.candidates.load())


def test_a_journal_is_used_by_one_process_at_a_time(counting: CountingModel, images: Path, tmp_path: Path) -> None:
    work = Session.__call__
    refused = list[Problem]()
    with pytest.MonkeyPatch.context() as patched:

        def begin_another(session: Session, inputs: np.ndarray) -> Any:
            if not refused:
                with pytest.raises(BadInput) as caught:
                    counting.predict(images, tmp_path / "journal")
                refused.extend(caught.value.problems)
            return work(session, inputs)

        patched.setattr(Session, "__call__", begin_another)
        counting.predict(images, tmp_path / "journal")
    (problem,) = refused
    assert problem.kind == "in_use"
    assert f"by process {os.getpid()} on " in problem.found
    assert counting.predict(images, tmp_path / "journal")[1] == 0, "a journal is free again after its use"


def test_a_journal_beside_the_output_is_removed_when_that_is_written(
    counting: CountingModel, images: Path, tmp_path: Path
) -> None:
    out = tmp_path / "submission.csv"
    counting.limit = 3
    with pytest.raises(KeyboardInterrupt):
        counting.predict(images, None, out=out)
    assert [path.name for path in tmp_path.iterdir() if path != images] == [".submission.csv.journal"]
    counting.limit = 1000
    result, inferred = counting.predict(images, None, out=out)
    assert inferred == 2, "it resumes from there"
    assert len(result.candidates.load().items) == 5, "what was predicted can be read as long as the result is there"
    del result
    assert [path.name for path in tmp_path.iterdir() if path != images] == ["submission.csv"]


def test_a_temporary_journal_is_removed_with_the_last_result_that_uses_it(
    counting: CountingModel, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result, _ = counting.predict(images, None)
    some = result.candidates.select(np.arange(2))
    del result
    assert len(some.load().items) == 2
    del some
    assert [path.name for path in tmp_path.iterdir()] == ["images"]
