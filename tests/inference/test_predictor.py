"""Predictors and sessions, with the pretrained wheat model."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import tallymark
from tallymark.api.models import find_models
from tallymark.core import resources
from tallymark.core.engines.choice import EngineChoice
from tallymark.core.problems import BadInput, Problem
from tallymark.data.catalog import Catalog
from tallymark.inference import session as session_module
from tallymark.inference.execution import plan_execution
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.predictor import Predictor
from tallymark.inference.runtimes.base import OpenModel
from tallymark.inference.runtimes.choice import RUNTIMES, Choice
from tallymark.inference.session import Session
from tests.inference.runtimes.fakes import FakeRuntime

SMALL: dict[str, Any] = {"tta": 1, "image_size": 64}


@pytest.fixture(scope="module")
def model() -> Path:
    [path] = find_models("wheat")
    return path


@pytest.fixture(scope="module")
def predictor(model: Path) -> Predictor:
    return Predictor([model], threads=1)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    rng = np.random.default_rng(0)
    for name in "ab":
        cv2.imwrite(str(tmp_path / f"{name}.png"), rng.integers(0, 255, (64, 48, 3), np.uint8))
    (tmp_path / "c.png").write_bytes(b"not an image")
    return tallymark.read("wheat", tmp_path)


def problem_of(act: Any, *arguments: Any, **named: Any) -> Problem:
    with pytest.raises(BadInput) as caught:
        act(*arguments, **named)
    (problem,) = caught.value.problems
    return problem


def test_the_result_has_predictions_candidates_and_problems(predictor: Predictor, catalog: Catalog) -> None:
    result = predictor.predict(catalog, score_threshold=0.1, **SMALL)
    assert result.catalog is catalog
    assert result.metadata is predictor.metadata
    assert result.recipe.score_threshold == 0.1
    assert result.predictions.classes == predictor.metadata.classes
    assert (result.predictions.scores >= 0.1).all()
    assert len(result.predictions) <= len(result.candidates.load().objects)
    assert result.predictions.items.ids.to_list() == ["a", "b", "c"]
    assert result.candidates.readable.tolist() == [True, True, False]
    assert [problem.item for problem in result.problems] == ["c"]
    assert result.notes == ()


def test_one_threshold_replaces_those_of_all_classes(predictor: Predictor, catalog: Catalog) -> None:
    assert predictor.predict(catalog, score_threshold=0.4, **SMALL).recipe.class_thresholds == ""


def test_another_threshold_does_not_change_how_images_are_shown(predictor: Predictor, catalog: Catalog) -> None:
    results = [predictor.predict(catalog, tta=1, score_threshold=threshold) for threshold in (0.05, 0.9)]
    first, second = (result.candidates.load().objects for result in results)
    assert np.array_equal(first.scores, second.scores)
    [note] = results[0].notes
    assert note.startswith("2 images of 48 x 64 px: shown to the network at ")


def test_changes_are_validated_before_inference(predictor: Predictor, catalog: Catalog) -> None:
    assert problem_of(predictor.predict, catalog, tta=3).found == "tta=3"
    assert problem_of(predictor.predict, catalog, ttaa=2).kind == "unknown_option"
    assert problem_of(predictor.predict, catalog, image_size=1 << 20).found == f"image_size={1 << 20}"
    problem = problem_of(predictor.predict, catalog, epochs=3)
    assert (problem.kind, problem.found) == ("bad_option", "epochs=3")


def test_only_events_have_an_operating_point(predictor: Predictor) -> None:
    problem = problem_of(predictor.operating_point, 1.0)
    assert (problem.kind, problem.file, problem.found) == ("bad_option", "fp_per_hour", "a model of wheat")


def test_models_of_different_classes_are_no_ensemble(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = iter([("ear",), ("awn",)])
    read = ModelMetadata.read

    def other_classes(text: str, path: Path) -> ModelMetadata:
        stated = read(text, path)
        return ModelMetadata(stated.challenge, stated.recipe, next(metadata))

    monkeypatch.setattr(ModelMetadata, "read", other_classes)
    problem = problem_of(Predictor, [model, model], threads=1)
    assert (problem.kind, problem.file) == ("other_model", str(model))
    assert "awn" in problem.found
    assert "ear" in problem.expected


def test_all_models_of_an_ensemble_are_run_by_the_runtime_of_the_first(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    choose = session_module.choose

    def recording(name: str, *arguments: Any) -> Choice:
        asked.append(name)
        return choose(name, *arguments)

    monkeypatch.setattr(session_module, "choose", recording)
    Predictor([model, model], threads=1)
    assert asked == ["auto", "onnxruntime"]


def test_a_session_takes_the_free_cores_unless_threads_are_given(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "observe_cores", lambda: lambda: 12)
    assert Session(model).execution == plan_execution(12)
    assert Session(model, threads=1).execution == plan_execution(1)
    assert (Session(model).cores, Session(model, threads=1).cores) == (12, 1)


def test_cores_are_counted_when_they_are_needed(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when the file is opened: the machine has to be observed for longer than that takes."""
    counted: list[int] = []
    monkeypatch.setattr(session_module, "observe_cores", lambda: lambda: counted.append(1) or 4)
    session = Session(model, "onnxruntime")
    assert not counted
    assert (session.execution, session.cores, counted) == (plan_execution(4), 4, [1])


def test_the_machine_is_observed_once(model: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the session: workers are planned by what it has seen."""
    monkeypatch.setattr(session_module, "observe_cores", lambda: lambda: 1)
    monkeypatch.setattr(resources, "observe_cores", None)
    assert len(Predictor([model]).predict(catalog, **SMALL).candidates.items) == 3


def test_finite_outputs_whose_sum_is_not_are_outputs(model: Path) -> None:
    session = Session(model, threads=1)
    session._run = lambda inputs: {"heat": np.full((1, 8), 3e38, np.float32)}
    assert session(np.zeros((1, 64, 64, 3), np.uint8))["heat"].max() == np.float32(3e38)


def test_a_session_is_safe_to_call_from_several_threads(model: Path) -> None:
    session = Session(model, threads=1)
    inputs = [np.random.default_rng(k).integers(0, 255, (1, 64, 64, 3), np.uint8) for k in range(6)]
    expected = [session(one)["heat"] for one in inputs]
    with ThreadPoolExecutor(3) as pool:
        for own, outputs in zip(expected, pool.map(session, inputs), strict=True):
            np.testing.assert_allclose(outputs["heat"], own, atol=1e-6)


def test_a_missing_runtime_is_a_problem(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    problem = problem_of(Session, model, "openvino", threads=1)
    assert (problem.kind, problem.file) == ("no_runtime", "runtime=openvino")
    assert "tallymark[fast]" in problem.remedy


@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_a_file_that_is_not_a_model_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    if content is not None:
        path.write_bytes(content)
    problem = problem_of(Session, path, threads=1)
    assert (problem.kind, problem.file) == ("bad_model", str(path))
    assert "\n" not in problem.found


def test_a_model_that_was_checked_is_opened_by_its_own_runtime_only(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = np.zeros((1, 64, 64, 3), np.uint8)
    expected = Session(model, "onnxruntime", 1)(shown)
    found = Session(model, "onnxruntime", 1, checked=True)(shown)
    assert {name: part.tobytes() for name, part in found.items()} == {
        name: part.tobytes() for name, part in expected.items()
    }
    monkeypatch.setattr(session_module, "open_session", None)
    monkeypatch.setitem(RUNTIMES, "openvino", FakeRuntime("openvino"))
    assert Session(model, "openvino", 1, checked=True).runtime_id == "openvino 1.0"


def test_sessions_expect_the_size_that_is_shown(model: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[tuple[int, ...]] = []
    opened = OpenModel(Session(model, "onnxruntime", 1), "fake 1.0", expected.append)
    monkeypatch.setattr(session_module, "choose", lambda *_: Choice("onnxruntime", opened))
    predictor = Predictor([model], threads=1)
    for resolution in (0.5, 0.25):
        predictor.predict(catalog, tta=1, resolution=resolution, engine=EngineChoice(workers=1))
    assert expected == [(256, 256, 3), (128, 128, 3)]
