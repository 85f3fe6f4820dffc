"""The choice of a runtime: by name, by the environment, or by a comparison that is remembered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tallymark.cli.main import app
from tallymark.core.problems import BadInput
from tallymark.inference.runtimes import choice, comparison
from tallymark.inference.runtimes.choice import AUTO, VARIABLE, Choice, choose
from tests.inference.runtimes.fakes import CLOCK, INPUTS, MODEL, FakeRuntime, one_thread
from tests.untrained import untrained

Pair = tuple[FakeRuntime, FakeRuntime]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, without anything in it; nothing else decides on the runtime."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Pair:
    """Two runtimes that are installed, the second of which is faster."""
    runtimes = FakeRuntime("slow", 0.02), FakeRuntime("fast", 0.01)
    monkeypatch.setattr(comparison, "time", CLOCK)
    monkeypatch.setattr(choice, "REFERENCE", runtimes[0])
    monkeypatch.setattr(choice, "AUTOMATIC", runtimes)
    monkeypatch.setattr(choice, "RUNTIMES", {one.name: one for one in runtimes})
    return runtimes


def chosen(name: str = AUTO) -> Choice:
    return choose(name, MODEL, one_thread, lambda: INPUTS)


def test_the_fastest_is_chosen_and_remembered(cache: Path, pair: Pair) -> None:
    first = chosen()
    assert first.name == "fast"
    assert first.note.startswith("run by fast 1.0: ")
    slow, fast = pair
    assert (slow.opens, fast.opens) == (1, 1)
    again = chosen()
    assert (again.name, again.note) == (first.name, first.note)
    assert (slow.opens, fast.opens) == (1, 2)  # it is not compared again


def test_another_model_is_compared_anew(cache: Path, pair: Pair) -> None:
    chosen()
    choose(AUTO, MODEL._replace(data=b"other"), one_thread, lambda: INPUTS)
    assert pair[0].opens == 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"runtime": "other", "reason": ""}',
        b'{"runtime": "fast"}',
        b'{"runtime": 1, "reason": 1}',
    ],
)
def test_a_damaged_memory_is_ignored_and_replaced(content: bytes, cache: Path, pair: Pair) -> None:
    chosen()
    [path] = cache.rglob("*.json")
    path.write_bytes(content)
    assert chosen().name == "fast"
    assert pair[0].opens == 2
    assert json.loads(path.read_text())["runtime"] == "fast"


def test_a_memory_that_cannot_be_written_is_no_problem(cache: Path, pair: Pair) -> None:
    cache.write_text("a file in place of the folder")
    assert [chosen().name, chosen().name] == ["fast", "fast"]
    assert pair[0].opens == 2


def test_a_remembered_runtime_that_fails_is_left_out(cache: Path, pair: Pair) -> None:
    chosen()
    pair[1].fails = "its library is gone"
    again = chosen()
    assert again.name == "slow"
    assert "its library is gone" in again.note


def test_nothing_is_compared_where_one_runtime_is_installed(cache: Path, pair: Pair) -> None:
    pair[1].package = "no_such_package"  # type: ignore[misc]
    assert chosen()[::2] == ("slow", "")
    assert not cache.exists()


def test_a_runtime_that_is_asked_for_is_used_as_it_is(cache: Path, pair: Pair) -> None:
    assert chosen("slow")[::2] == ("slow", "")
    assert not cache.exists()
    with pytest.raises(BadInput, match="bad_option"):
        chosen("fats")


def test_the_environment_decides_in_place_of_auto(cache: Path, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "slow")
    assert chosen().name == "slow"
    assert chosen("fast").name == "fast"
    assert not cache.exists()


def test_predict_says_which_runtime_it_used(cache: Path, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    import cv2
    import numpy as np

    model = untrained("wheat", tmp_path / "model.onnx")
    (tmp_path / "photographs").mkdir()
    cv2.imwrite(str(tmp_path / "photographs" / "a.png"), np.zeros((64, 64, 3), np.uint8))
    words = ["predict", str(model), str(tmp_path / "photographs"), "--json", "--threads", "1"]
    for more, count in ((), 1), (("--runtime", "onnxruntime"), 0):
        result = CliRunner().invoke(app, [*words, *more])
        assert result.exit_code == 0, result.output
        notes = [note for note in json.loads(result.stdout)["notes"] if note.startswith("run by ")]
        assert len(notes) == count
    assert len(list(cache.rglob("*.json"))) == 1


def test_an_unknown_runtime_is_a_problem(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["predict", "wheat", str(tmp_path), "--runtime", "openvinno", "--json"])
    assert result.exit_code == 2
    [problem] = json.loads(result.stdout)["problems"]
    assert "openvino" in problem["remedy"]
