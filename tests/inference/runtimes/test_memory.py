"""The memory of choices: where it is, and what its files stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallymark.inference.runtimes import memory
from tallymark.inference.runtimes.memory import Remembered, path_for, recall, remember

KNOWN = Remembered("openvino", "1.8 times as fast here as onnxruntime 1.0")


def test_a_user_without_a_home_has_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError

    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setattr(Path, "home", no_home)
    assert path_for(b"", ()) is None
    remember(None, KNOWN)
    assert recall(None, ["openvino"]) is None


def test_a_file_stands_for_a_model_a_cpu_and_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = path_for(b"model", ["openvino"])
    assert path == path_for(b"model", ["openvino"])
    assert path is not None
    assert path.is_relative_to(tmp_path / "tallymark")
    others = [path_for(b"other", ["openvino"]), path_for(b"model", [])]
    monkeypatch.setattr(memory, "version_of", lambda name: "another")
    others.append(path_for(b"model", ["openvino"]))
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cpu = tmp_path / "cpuinfo"
    cpu.write_text("model name: another\nflags: avx2\n\nmodel name: the second core\n")
    monkeypatch.setattr(memory, "CPUINFO", cpu)
    others.append(path_for(b"model", ["openvino"]))
    assert len({path, *others}) == 5


def test_what_was_remembered_is_recalled_where_it_is_still_installed(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    assert recall(path, ["openvino"]) is None
    remember(path, KNOWN)
    assert recall(path, ["onnxruntime", "openvino"]) == KNOWN
    assert recall(path, ["onnxruntime"]) is None


def test_a_reason_that_no_comparison_gave_is_not_printed(tmp_path: Path) -> None:
    for reason in ("x" * 10_000, "a\x1b[31mcolour"):
        remember(tmp_path / "a.json", Remembered("openvino", reason))
        assert recall(tmp_path / "a.json", ["openvino"]) is None
