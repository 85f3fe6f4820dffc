"""A review from the page to a training: what is marked in the browser is what a model is trained on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tallymark
from tests.api.test_report import noisy
from tests.browser import OpenPage
from tests.cli.running import run
from tests.sets import copy_of

QUICK = ("--preset", "tiny", "epochs=1", "evaluations=1", "tta=1", "image_size=64", "crop_size=64", "--json")


@pytest.mark.slow
def test_marks_of_the_page_are_trained_on(sets: Path, browser: OpenPage, tmp_path: Path) -> None:
    folder = copy_of(sets, "wheat", tmp_path)
    truth = tallymark.read("wheat", folder).with_truth().truth
    tallymark.write("wheat", noisy(truth), tmp_path / "submission.csv")
    run("report", "wheat", tmp_path / "submission.csv", "--media", folder, "--out", tmp_path / "report.html")
    page = browser(tmp_path / "report.html")
    page.locator(".scene").first.click()
    page.wait_for_selector("dialog.viewer[open]")
    for key in ("j", "w", "j", "r", "c"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download corrections").click()
    review = tmp_path / "corrections.json"
    download.value.save_as(review)
    [(item, marked)] = json.loads(review.read_text())["items"].items()
    assert marked["complete"]
    assert sorted(mark["verdict"] for mark in [*marked["truths"], *marked["predictions"]]) == ["right", "wrong"]
    printed = run("train", "wheat", folder, *QUICK, "--corrections", review, "--out", tmp_path / "run")
    remarks = json.loads(printed[printed.index("{") :])["remarks"]
    assert any("correct" in remark for remark in remarks), remarks
    [recorded] = json.loads((tmp_path / "run" / "environment.json").read_text())["corrections"]
    assert recorded["items"] == 1
    assert item in set(truth.items.ids)
    assert (tmp_path / "run" / "report.html").is_file()
