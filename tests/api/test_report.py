"""Reports: pages about predictions of every challenge, whose slider gives the score of the official rule."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

import tallymark
from tallymark.api.report import export_report
from tallymark.cli.main import app
from tallymark.core.problems import BadInput, Problems
from tallymark.core.registry import challenge
from tallymark.data.annotations import Annotations
from tallymark.geometry import Boxes
from tallymark.inference.candidates import Candidates
from tallymark.inference.counting import CountCalibration
from tallymark.inference.metadata import ModelMetadata
from tallymark.inference.predictor import PredictionResult
from tallymark.modalities.image.recipe import ImageRecipe
from tallymark.reporting.figures import has_fonts
from tallymark.reporting.report.subject import Subject
from tallymark.reporting.report.write import write_report
from tests.browser import OpenPage, until
from tests.sets import copy_of

NAMES = ("wheat", "upcalls", "food", "lyft", "ships")
POSITIONS = (0.0, 0.15, 0.4, 0.73, 0.99)
HOSTILE = '"><img src=x onerror=document.title="hacked">'


def noisy(truth: Annotations[Any], seed: int = 0) -> Annotations[Any]:
    """Most of the truth, and some of it in wrong items, with random scores."""
    rng = np.random.default_rng(seed)
    kept = np.flatnonzero(rng.random(len(truth)) < 0.7)
    moved = rng.choice(len(truth), len(truth) // 3, replace=False)
    item = np.concatenate([truth.item[kept], rng.permutation(truth.item[moved])])
    rows = np.concatenate([kept, moved])
    score = rng.random(len(rows)).round(2)
    if not truth.shapes.localized:  # a ranking: one row for each item, and the highest score first
        rows = rng.permutation(len(truth))
        shapes, labels = truth.shapes.take(rows), truth.labels[rows]
        return replace(truth, shapes=shapes, label=labels, score=rng.random(len(rows)).round(2), line=None, number=None)
    label = None if truth.label is None else truth.labels[rows]
    order = np.lexsort((-score, item))
    return Annotations.from_rows(
        truth.items,
        item[order],
        truth.shapes.take(rows[order]),
        label=None if label is None else label[order],
        score=score[order],
        classes=truth.classes,
    )


def subject_of(name: str, folder: Path, **changes: Any) -> Subject:
    what = challenge(name)
    catalog = tallymark.read(name, folder).with_truth()
    options = what.parse_rule_options({}, folder, catalog.truth.classes)
    rule = what.rule_on(catalog, options, {})
    return replace(Subject(what, f"{name} report", noisy(catalog.truth), catalog.truth, rule, catalog, 0.4), **changes)


@pytest.mark.parametrize("name", NAMES)
def test_the_slider_of_the_page_gives_the_score_of_the_rule(
    name: str, sets: Path, browser: OpenPage, tmp_path: Path
) -> None:
    subject = subject_of(name, sets / name)
    problems = write_report(subject, tmp_path / "report.html", scenes=6)
    assert not problems
    page = browser(tmp_path / "report.html")
    truth, predicted = subject.truth, subject.predicted
    assert truth is not None
    for position in POSITIONS:
        page.evaluate("t => window.tallymark.setThreshold(t)", position)
        kept = predicted.scores >= position
        if predicted.shapes.localized:
            expected = subject.rule(truth, predicted.filter(kept)).value
        else:
            ranking = subject.rule(truth, predicted).ranking
            assert ranking is not None
            expected = ranking.score_at(ranking.k, position)
        assert page.evaluate("window.tallymark.score()") == pytest.approx(expected, abs=1e-9, nan_ok=True)
    page.locator(".scene").first.wait_for()
    assert page.locator(".scene img").count() > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_page_without_truth_says_so(name: str, sets: Path, browser: OpenPage, tmp_path: Path) -> None:
    subject = subject_of(name, sets / name, truth=None)
    write_report(subject, tmp_path / "report.html", scenes=4)
    text = (tmp_path / "report.html").read_text()
    assert "nothing is scored" in text
    page = browser(tmp_path / "report.html")
    page.locator(".scene").first.wait_for()


def write_submission(sets: Path, name: str, path: Path, form: str | None = None) -> Annotations[Any]:
    truth = tallymark.read(name, sets / name).with_truth().truth
    predicted = noisy(truth)
    tallymark.write(name, predicted, path, form=form)
    return predicted


def test_a_submission_is_reported_with_the_truth_of_its_folder(sets: Path, tmp_path: Path) -> None:
    write_submission(sets, "wheat", tmp_path / "submission.csv")
    out = tmp_path / "report.html"
    assert not tallymark.report("wheat", tmp_path / "submission.csv", out, media=sets / "wheat", scenes=4)
    text = out.read_text()
    score = tallymark.score("wheat", sets / "wheat", tmp_path / "submission.csv")
    assert f"<b>{score.value:.4f}</b>" in text
    for heading in ("Causes of error", "Score threshold", "Counts", "Calibration", "Recall by size"):
        assert heading in text
    assert not re.search(r"https?://(?!www\.w3\.org/)", text), "nothing is loaded"


def test_a_submission_without_scores_has_a_score_and_no_slider(sets: Path, browser: OpenPage, tmp_path: Path) -> None:
    truth = tallymark.read("ships", sets / "ships").with_truth().truth
    found = truth.filter(np.arange(len(truth)) % 3 > 0)
    tallymark.write("ships", found, tmp_path / "ships.csv")
    tallymark.report("ships", tmp_path / "ships.csv", tmp_path / "report.html", media=sets / "ships", scenes=2)
    page = browser(tmp_path / "report.html")
    score = tallymark.score("ships", sets / "ships", tmp_path / "ships.csv")
    assert 0 < score.value < 1
    assert page.evaluate("window.tallymark.score()") == pytest.approx(score.value, abs=1e-9)
    assert page.locator(".score-panel input[type=range]:visible, .live input[type=range]:visible").count() == 0


def test_scores_of_calls_move_the_slider(sets: Path, tmp_path: Path) -> None:
    write_submission(sets, "upcalls", tmp_path / "calls.csv", form="scored")
    tallymark.report("upcalls", tmp_path / "calls.csv", tmp_path / "report.html", media=sets / "upcalls", scenes=3)
    text = (tmp_path / "report.html").read_text()
    assert '"hasScores":true' in text
    assert "Recall by signal-to-noise ratio" in text
    assert "false positives per hour" in text


DETECTIONS = [(10.0, 0.9), (10.5, 0.6), (9.4, 0.3), (20.0, 0.8), (50.0, 0.5), (101.0, 0.7), (300.0, 0.4)]
"""Three within the window of the first call, one for the second, one for two calls at once, and two false alarms."""


def report_on_calls(folder: Path) -> Path:
    calls = "".join(f"a.wav,{time},up\n" for time in (10, 20, 100, 102))
    (folder / "truth.csv").write_text(f"filename,timestamp,label\n{calls}")
    found = "".join(f"a.wav,{time},{score}\n" for time, score in DETECTIONS)
    (folder / "found.csv").write_text(f"filename,timestamp,score\n{found}")
    tallymark.report("upcalls", folder / "found.csv", folder / "report.html", truth=folder / "truth.csv")
    return folder / "report.html"


def test_every_prediction_is_counted_whatever_its_outcome(browser: OpenPage, tmp_path: Path) -> None:
    """By the rule, a call that is found three times is one hit, and a detection of two calls is two."""
    path = report_on_calls(tmp_path)
    assert "<b>7</b><span>predicted events</span>" in re.sub(r">\s+<", "><", path.read_text())
    page = browser(path)
    for threshold in (0.3, 0.55, 0.85, 0.95):
        page.evaluate("t => window.tallymark.setThreshold(t)", threshold)
        expected = sum(score >= threshold for _, score in DETECTIONS)
        assert page.locator(".live-facts").inner_text().split()[-3] == str(expected)


def test_precision_against_recall_follows_the_falling_threshold(tmp_path: Path) -> None:
    """At one recall, false alarms only lower the precision: the line goes down there, never up."""
    text = report_on_calls(tmp_path).read_text()
    drawn = text[text.index("Precision against recall") :]
    points = re.findall(r"([\d.]+),([\d.]+)", re.findall(r'points="(.*?)"', drawn)[0])
    assert len(points) == 5, "the scores of hits and of false alarms"
    for (left, up), (right, down) in itertools.pairwise(points):
        assert float(left) <= float(right)
        if left == right:
            assert float(down) >= float(up), "y grows downwards"


@pytest.mark.parametrize(("rows", "score"), [("a,1 0 0 50 50\nb,1 40 40 50 50\n", 0.5), ("a,\nb,\n", 0.0)])
def test_predictions_of_one_score_or_none_have_a_curve(
    rows: str, score: float, browser: OpenPage, tmp_path: Path
) -> None:
    """The score is the same at every threshold; an axis of no height would be an error in the console."""
    boxes = "".join(f'{name},100,100,"[0, 0, 50, 50]",x\n' for name in "ab")
    (tmp_path / "truth.csv").write_text(f"image_id,width,height,bbox,source\n{boxes}")
    (tmp_path / "s.csv").write_text(f"image_id,PredictionString\n{rows}")
    for truth in (tmp_path / "truth.csv", None):
        tallymark.report("wheat", tmp_path / "s.csv", tmp_path / "report.html", truth=truth)
        page = browser(tmp_path / "report.html")
        until(page, lambda page=page: page.locator("svg.curve text").count() > 2)
        levels = page.eval_on_selector_all("svg.curve g text", "all => all.map(one => one.textContent)")
        assert levels[0] in {"0", "0.0"}
        assert len(max(levels, key=len)) <= 4
        if truth is not None:
            assert page.evaluate("window.tallymark.score()") == pytest.approx(score)


def test_predictions_of_a_part_are_scored_on_that_part(sets: Path, tmp_path: Path) -> None:
    truth = tallymark.read("wheat", sets / "wheat").with_truth().truth
    part = truth.reindex(tallymark.Items(truth.items.ids[:4]))
    tallymark.write("wheat", noisy(part), tmp_path / "part.csv")
    tallymark.report("wheat", tmp_path / "part.csv", tmp_path / "report.html", truth=sets / "wheat" / "train.csv")
    assert re.search(r"The score is that of \d of \d+ items", (tmp_path / "report.html").read_text())
    (tmp_path / "other.csv").write_text("image_id,PredictionString\nzzz,1 1 2 3 4\n")
    with pytest.raises(BadInput, match="no_common_id"):
        tallymark.report("wheat", tmp_path / "other.csv", tmp_path / "none.html", truth=sets / "wheat" / "train.csv")
    assert not (tmp_path / "none.html").exists()


def test_damaged_and_missing_media_cost_their_picture_only(sets: Path, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    write_submission(sets, "wheat", tmp_path / "submission.csv")
    damaged, missing = sorted((folder / "train").glob("*.jpg"))[:2]
    damaged.write_bytes(damaged.read_bytes()[:400])
    missing.unlink()
    problems = tallymark.report("wheat", tmp_path / "submission.csv", tmp_path / "report.html", media=folder, scenes=50)
    assert [problem.item for problem in problems] == [damaged.stem]
    text = (tmp_path / "report.html").read_text()
    assert "Not drawn" in text
    assert missing.stem in text, "its score is there all the same"


def test_names_from_files_run_no_script(browser: OpenPage, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    name = HOSTILE.replace("/", "")
    cv2.imwrite(str(folder / "a.jpg"), np.zeros((60, 80, 3), np.uint8))
    (folder / "a.jpg").rename(folder / f"{name}.jpg")
    result = prediction(folder)
    hostile = replace(result, notes=(HOSTILE,))
    export_report(hostile, tmp_path / "report.html")
    page = browser(tmp_path / "report.html")
    assert page.title() != "hacked"
    assert page.locator("img[src=x]").count() == 0
    assert HOSTILE not in (tmp_path / "report.html").read_text()


def prediction(folder: Path) -> PredictionResult:
    """Three boxes with scores of 0.9, 0.6 and 0.3 in the first image of a folder."""
    catalog = tallymark.read("wheat", folder)
    shapes = Boxes.of(np.array([[1, 1, 20, 30], [40, 5, 20, 10], [10, 35, 9, 9]]))
    objects = Annotations.from_rows(catalog.items, np.zeros(3, int), shapes, score=np.array([0.9, 0.6, 0.3]))
    size = np.tile([80.0, 60.0], (len(catalog), 1))
    recipe = ImageRecipe().replace(score_threshold=0.5)
    metadata = ModelMetadata("wheat", recipe)
    candidates = Candidates(objects, size, np.ones(len(catalog)))
    return PredictionResult(objects.filter(objects.scores >= 0.5), candidates, recipe, Problems(), catalog, metadata)


def test_a_prediction_is_reported_below_its_threshold_too(browser: OpenPage, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    cv2.imwrite(str(folder / "a.jpg"), np.full((60, 80, 3), 90, np.uint8))
    export_report(prediction(folder), tmp_path / "report.html")
    page = browser(tmp_path / "report.html")
    for threshold, shown in ((0.5, 2), (0.2, 3), (0.95, 0)):
        page.evaluate("t => window.tallymark.setThreshold(t)", threshold)
        assert page.evaluate("window.tallymark.counts().predictions") == shown


def test_counts_at_another_threshold_are_stated(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    cv2.imwrite(str(folder / "a.jpg"), np.full((60, 80, 3), 90, np.uint8))
    counting = CountCalibration(0.25, "", items=20, objects=100, quantile=1.0, dispersion=1.0)
    export_report(replace(prediction(folder), counting=counting), tmp_path / "report.html")
    assert "Tables of counts have 3 boxes, at score threshold 0.25" in (tmp_path / "report.html").read_text()
    boxes = 'a,80,60,"[1, 1, 20, 30]",x\na,80,60,"[40, 5, 20, 10]",x\n'
    (folder / "train.csv").write_text(f"image_id,width,height,bbox,source\n{boxes}")
    export_report(replace(prediction(folder), counting=counting), tmp_path / "scored.html")
    text = (tmp_path / "scored.html").read_text()
    assert "Scored by the rule" in text
    assert "Tables of counts have 3 boxes, at score threshold 0.25" in text


def test_annotations_without_any_object_are_stated(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    cv2.imwrite(str(folder / "a.jpg"), np.full((60, 80, 3), 90, np.uint8))
    (folder / "train.csv").write_text("image_id,width,height,bbox,source\n")
    export_report(prediction(folder), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "annotations have no boxes at all: every prediction counts as wrong" in text


@pytest.mark.skipif(not has_fonts(), reason="this system has no font: apt-get install fonts-dejavu-core")
def test_figures_are_written_as_svg_and_png(sets: Path, tmp_path: Path) -> None:
    write_submission(sets, "wheat", tmp_path / "submission.csv")
    out, figures = tmp_path / "report.html", tmp_path / "figures"
    command = ["report", "wheat", str(tmp_path / "submission.csv"), "--media", str(sets / "wheat"), "--scenes", "0"]
    result = CliRunner().invoke(app, [*command, "--out", str(out), "--figures", str(figures)])
    assert result.exit_code == 0, result.output
    drawn = sorted(path.stem for path in figures.glob("*.svg"))
    assert "score-precision-and-recall" in drawn
    assert drawn == sorted(path.stem for path in figures.glob("*.png"))
    image = cv2.imread(str(figures / "score-precision-and-recall.png"))
    assert image is not None
    assert image.std() > 10
    again = CliRunner().invoke(app, [*command, "--out", str(out)])
    assert again.exit_code == 2, "an existing page is not overwritten"


def test_explore_shows_predictions_beside_the_truth(sets: Path, browser: OpenPage, tmp_path: Path) -> None:
    write_submission(sets, "wheat", tmp_path / "submission.csv")
    out = tmp_path / "explore.html"
    command = ["explore", "wheat", str(sets / "wheat"), "--predictions", str(tmp_path / "submission.csv")]
    result = CliRunner().invoke(app, [*command, "--out", str(out)])
    assert result.exit_code == 0, result.output
    page = browser(out)
    page.locator(".scene").first.wait_for()
    assert "Splits" in out.read_text()
