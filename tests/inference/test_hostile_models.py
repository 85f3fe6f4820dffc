"""Damaged and foreign model files: each is a problem with the file's name and a remedy, before any item is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tallymark.cli.main import app
from tallymark.core.problems import BadInput
from tallymark.inference import onnx_file
from tallymark.inference.onnx_file import read_model
from tallymark.inference.session import Session
from tests.inference.hostile_models import hostile_models
from tests.untrained import SMALL, untrained

MODELS = hostile_models()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained("wheat", tmp_path_factory.mktemp("good") / "model.onnx")


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_hostile_model_is_a_problem(name: str, good: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "photographs").mkdir()  # the model is looked at first
    MODELS[name](good, run / "model.onnx")
    result = CliRunner().invoke(app, ["predict", str(run), str(tmp_path / "photographs"), "--json"])
    assert result.exit_code == 2, result.output
    problems = json.loads(result.stdout)["problems"]
    assert [problem["kind"] for problem in problems] in (["bad_model"], ["no_model"])
    assert all(problem["file"] in (str(run), str(run / "model.onnx")) for problem in problems)
    assert all(problem["remedy"] and len(problem["found"]) < 300 for problem in problems)
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", sorted(SMALL))
def test_good_models_are_opened(name: str, tmp_path: Path) -> None:
    assert Session(untrained(name, tmp_path / "model.onnx"), threads=1).metadata.challenge == name


def test_outputs_that_are_no_numbers_are_refused_in_the_middle_of_a_prediction(good: Path) -> None:
    session = Session(good, threads=1)
    inside = session._run

    def overflowing(inputs: np.ndarray) -> dict[str, np.ndarray]:
        outputs = inside(inputs)
        outputs["heat"][..., -1, -1] = np.nan
        return outputs

    session._run = overflowing
    with pytest.raises(BadInput, match="the output heat is not a number"):
        session(np.zeros((1, 64, 64, 3), np.uint8))


def test_a_runtime_that_fails_is_a_problem_of_the_model(good: Path) -> None:
    with pytest.raises(BadInput, match="bad_model"):
        Session(good, threads=1)(np.zeros((1, 64, 64, 5), np.uint8))


def test_a_model_is_never_larger_than_its_format_allows(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lower limit stands for that of 2 GB: a test that fails should not take all memory."""
    assert onnx_file.MAX_BYTES == 2 << 30
    monkeypatch.setattr(onnx_file, "MAX_BYTES", good.stat().st_size)
    assert read_model(good)
    monkeypatch.setattr(onnx_file, "MAX_BYTES", good.stat().st_size - 1)
    with pytest.raises(BadInput, match="more than 2 GB"):
        read_model(good)


@pytest.mark.parametrize("cut", [lambda data: data[:-1], lambda data: data + b"\x0f", lambda data: b"\xff" * 20])
def test_bytes_that_are_no_model_are_noticed_without_a_runtime(
    cut: Callable[[bytes], bytes], good: Path, tmp_path: Path
) -> None:
    assert read_model(good) == good.read_bytes()
    path = tmp_path / "model.onnx"
    path.write_bytes(cut(good.read_bytes()))
    with pytest.raises(BadInput, match="not a model"):
        read_model(path)


def field(number: int, content: bytes | int) -> bytes:
    """A field of a protobuf message: bytes of less than 128, or a small number."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content


def graph(content: bytes) -> bytes:
    """A model with a graph of this content."""
    return field(7, content)


def single(value: float) -> bytes:
    """A tensor of one number in single precision, in the graph of a model."""
    return graph(field(5, field(2, 1) + field(9, np.float32(value).tobytes())))


def nested(levels: int) -> bytes:
    """Graphs in attributes of nodes of graphs, without a head: what counts is the depth."""
    content = b""
    for _ in range(levels):
        content = field(1, field(5, field(6, content)))
    return graph(content)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (single(np.nan), "finite"),
        (single(-np.inf), "finite"),
        (graph(field(5, field(13, field(1, b"location")))), "another file"),
        (graph(field(5, field(14, 1))), "another file"),
        (graph(field(1, field(4, b"Loop"))), "for ever"),
        (field(1, 8), "no network in it"),
        (nested(4), "deeper than"),
        (graph(field(3, 1) * 30), "more than 20 entries"),
    ],
)
def test_what_no_runtime_refuses_is_refused_before(
    content: bytes, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_file, "MAX_DEPTH", 10)
    monkeypatch.setattr(onnx_file, "MAX_FIELDS", 20)
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=found):
        read_model(path)
    path.write_bytes(single(1.5) + nested(2))
    assert read_model(path)


def test_samples_of_any_size_cost_no_more_than_themselves(tmp_path: Path) -> None:
    """Their power is not finite in single precision, and a network would give no numbers for the whole recording."""
    import soundfile

    seconds = np.arange(0, 30, 1 / 2000)
    call = 0.1 * np.sin(300 * seconds)
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name, samples in {"call": call, "huge": 1e30 * call, "partly": np.where(seconds < 15, call, 3e38)}.items():
        soundfile.write(folder / f"{name}.wav", samples.astype(np.float32), 2000, subtype="FLOAT")
    model = untrained("upcalls", tmp_path / "model.onnx")
    result = CliRunner().invoke(app, ["predict", str(model), str(folder), "--json"])
    assert result.exit_code == 0, result.output
    checked = CliRunner().invoke(app, ["check", "upcalls", str(folder), "--json"])
    assert json.loads(checked.stdout)["counts"]["not_finite"] == 2
