"""nuScenes results: round trip, and faults with their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.cli.main import app
from tallymark.core.problems import Problems
from tallymark.data.annotations import Annotations
from tallymark.data.items import Items
from tallymark.formats import read_nuscenes, write_nuscenes
from tallymark.geometry import Cuboids
from tests.formats.files import only, put
from tests.made import annotations


def detection(**changes: Any) -> dict[str, Any]:
    """A car that faces north."""
    half = 0.5**0.5
    car = {
        "sample_token": "s",
        "translation": [1.0, 2.0, 3.0],
        "size": [1.8, 4.5, 1.5],
        "rotation": [half, 0.0, 0.0, half],
        "velocity": [0.0, 0.0],
        "detection_name": "car",
        "detection_score": 0.75,
        "attribute_name": "",
    }
    return {key: value for key, value in (car | changes).items() if value != "removed"}


def results(*detections: Any) -> str:
    return json.dumps({"meta": {"use_lidar": True}, "results": {"s": list(detections), "empty": []}})


def read(path: Path, **options: Any) -> tuple[Annotations[Cuboids] | None, Problems]:
    problems = Problems()
    return read_nuscenes(path, CLASSES, problems, **options), problems


def test_the_layout_is_that_of_the_detection_task(tmp_path: Path) -> None:
    shapes = Cuboids.of(np.array([[1, 2, 3, 1.8, 4.5, 1.5, np.pi / 2]]))
    found = Annotations.from_rows(
        Items.of(["s", "empty"]), np.array([0]), shapes, label=np.array([0]), score=np.array([0.75]), classes=CLASSES
    )
    write_nuscenes(found, tmp_path / "r.json")
    written = json.loads((tmp_path / "r.json").read_text())
    assert written["meta"]["use_lidar"] is True
    assert set(written["meta"]) == {f"use_{name}" for name in ("camera", "lidar", "radar", "map", "external")}
    assert list(written["results"]) == ["s", "empty"]
    [row] = written["results"]["s"]
    assert list(row) == list(detection())
    assert np.allclose(row.pop("rotation"), [0.5**0.5, 0, 0, 0.5**0.5])
    assert row == detection(rotation="removed")
    assert written["results"]["empty"] == []


@pytest.mark.parametrize("seed", range(8))
def test_round_trip(seed: int, tmp_path: Path) -> None:
    predictions = annotations("lyft", seed)
    tallymark.write("lyft", predictions, tmp_path / "r.json", form="nuscenes")
    got = tallymark.read_submission("lyft", tmp_path / "r.json")
    assert got.items.ids.to_list() == predictions.items.ids.to_list()
    assert got.offsets.tolist() == predictions.offsets.tolist()
    assert all(map(np.array_equal, got.shapes.columns[:6], predictions.shapes.columns[:6]))
    np.testing.assert_allclose(np.exp(1j * got.shapes.yaw), np.exp(1j * predictions.shapes.yaw), atol=1e-12)
    assert np.array_equal(got.label, predictions.labels)
    assert np.array_equal(got.scores, predictions.scores)
    assert got.classes == CLASSES


def test_a_tilted_cuboid_keeps_its_yaw(tmp_path: Path) -> None:
    path = put(tmp_path / "r.json", results(detection(rotation=[2.0, 0.1, 0.0, 2.0])))
    found, problems = read(path)
    assert not problems
    assert found is not None
    assert found.shapes.yaw[0] == pytest.approx(np.pi / 2, abs=0.01)


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (detection(size="removed"), "bad_record"),
        (detection(size=[1.0, 2.0]), "bad_record"),
        (detection(translation=[1.0, 2.0, 3.0, 4.0], size=[1.0, 2.0]), "bad_record"),
        (detection(detection_score="high"), "bad_record"),
        (detection(detection_score=True), "bad_record"),
        (detection(detection_name=3), "bad_record"),
        (detection(translation=[1, 2, 10**400]), "bad_record"),
        ("car", "bad_record"),
        (None, "bad_record"),
        (detection(translation=[1.0, 2.0, float("nan")]), "not_a_number"),
        (detection(rotation=[0.0, 0.0, 0.0, 0.0]), "not_a_number"),
        (detection(size=[1.0, 0.0, 2.0]), "nonpositive_size"),
        (detection(detection_name="cars"), "unknown_class"),
    ],
)
def test_a_bad_detection_is_a_problem_and_the_others_are_read(bad: Any, kind: str, tmp_path: Path) -> None:
    path = put(tmp_path / "r.json", results(detection(), bad, detection(detection_name="bus")))
    found, problems = read(path)
    problem = only(problems, kind)
    assert (problem.item, problem.number, problem.file) == ("s", 2, str(path))
    assert problem.remedy
    assert found is not None
    assert [found.classes[k] for k in found.labels] == ["car", "bus"]


def test_the_nearest_class_of_a_name_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("tallymark.formats.nuscenes.nearest", lambda name, known: asked.append(name) or f"not {name}")
    rows = [detection(detection_name=name) for name in ("cars", "van", "cars", "car", "van")]
    _, problems = read(put(tmp_path / "r.json", results(*rows, detection(size=[0, 1, 1]))))
    assert [problem.remedy for problem in problems] == [
        *("not cars", "not van", "not cars", "not van"),
        "correct or remove the 3D box",
    ]
    assert sorted(asked) == ["cars", "van"]


def test_unknown_classes_can_be_kept(tmp_path: Path) -> None:
    path = put(tmp_path / "r.json", results(detection(detection_name="barrier"), detection()))
    assert tallymark.check("lyft", path).problems.counts == {"unknown_class": 1}
    found = tallymark.read_submission("lyft", path, unknown_class="keep")
    assert [found.classes[k] for k in found.labels] == ["barrier", "car"]


@pytest.mark.parametrize(
    "text", ['{"results": {"s": [}', "{}", '{"results": []}', '{"results": {"s": {}}}', "{" * 9999]
)
def test_other_json_is_a_problem(text: str, tmp_path: Path) -> None:
    assert tallymark.check("lyft", put(tmp_path / "r.json", text)).problems.counts == {"bad_json": 1}


def test_a_repeated_sample_is_a_problem(tmp_path: Path) -> None:
    rows = json.dumps([detection()])
    found, problems = read(put(tmp_path / "r.json", f'{{"results": {{"s": {rows}, "t": [], "s": {rows}}}}}'))
    assert only(problems, "duplicate_id").item == "s"
    assert found is not None
    assert found.counts.tolist() == [1, 0]


def test_a_list_is_not_a_results_file(tmp_path: Path) -> None:
    found, problems = read(put(tmp_path / "r.json", "[1, 2]"))
    assert found is None
    only(problems, "bad_json")


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.output


def test_a_submission_is_converted_and_scores_the_same(tmp_path: Path) -> None:
    example = tallymark.challenge("lyft").folder / "example"
    truth, submission = example / "truth.csv", example / "submission.csv"
    run("convert", "lyft", submission, "--out", tmp_path / "r.json", "--form", "nuscenes")
    assert "valid" in run("check", "lyft", tmp_path / "r.json", "--against", submission)
    run("convert", "lyft", tmp_path / "r.json", "--out", tmp_path / "back.csv")
    scores = [tallymark.score("lyft", truth, path).value for path in (submission, tmp_path / "r.json")]
    assert scores[0] == pytest.approx(scores[1], abs=1e-12)
    assert (tmp_path / "back.csv").read_text().splitlines()[0] == submission.read_text().splitlines()[0]
    assert "official or nuscenes" in run("convert", "lyft", submission, "-o", tmp_path / "x", "--form", "xml", code=2)
    assert not (tmp_path / "x").exists()
