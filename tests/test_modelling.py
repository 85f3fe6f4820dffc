"""Which model is meant, and which outputs cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallymark.modelling import find_models, refuse_paths
from tallymark.problems import BadInput
from tallymark.registry import challenge


def test_data_in_a_folder_named_like_a_challenge_are_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = challenge("wheat").folder / "model.onnx"
    assert find_models("wheat") == [own]
    (tmp_path / "wheat").mkdir()
    assert find_models("wheat") == [own]
    (tmp_path / "wheat" / "model.onnx").touch()
    assert find_models("wheat") == [Path("wheat/model.onnx")]
    (tmp_path / "fields").mkdir()
    with pytest.raises(BadInput, match=r"no model\.onnx"):
        find_models("fields")
    with pytest.raises(BadInput, match="nothing of that name"):
        find_models("nosuch")


def test_outputs_need_a_folder(tmp_path: Path) -> None:
    refuse_paths([tmp_path / "new.csv", Path("here.csv")])
    with pytest.raises(BadInput) as caught:
        refuse_paths([tmp_path, tmp_path / "no" / "such" / "x.csv"])
    assert sorted(problem.found for problem in caught.value.problems) == ["a folder", f"no folder {tmp_path}/no/such"]
