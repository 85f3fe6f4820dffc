"""The review of a report in a real browser: marks, missed objects of every geometry, and the corrections file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.browser import OpenPage
from tests.reporting.report_data import boxes, cuboids, events, labels, masks
from tests.reporting.report_pages import close, corrections, on_screen, write


def test_marks_of_boxes_are_exported_and_loaded(browser: OpenPage, tmp_path: Path) -> None:
    data = boxes()
    path = write(tmp_path, data)
    page = browser(path, fragment="#item=field_000")
    page.keyboard.press("j")  # a missed truth
    page.keyboard.press("w")
    page.locator(".objects button", has_text="hit").first.focus()
    page.keyboard.press("r")
    page.keyboard.press("a")
    stage = page.locator(".stage").bounding_box()
    assert stage is not None
    middle = (stage["x"] + stage["width"] / 2, stage["y"] + stage["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 80, middle[1] + 40)
    page.mouse.up()
    page.locator(".objects").get_by_text("added in review").wait_for()
    page.keyboard.press("c")
    close(page)
    assert "✓ complete · 3 marks" in page.locator('[data-key="field_000"]').inner_text()
    written = corrections(page)
    objects = data["scenes"][0]["objects"]
    best = max((one for one in objects if one["outcome"] == "hit"), key=lambda one: one["score"])
    missed = next(one for one in objects if one["outcome"] == "missed" or one["number"] == 0)
    assert {key: written[key] for key in ("tallymark", "version", "challenge", "geometry")} == {
        "tallymark": "corrections",
        "version": 1,
        "challenge": "wheat",
        "geometry": "boxes",
    }
    item = written["items"].pop("field_000")
    assert written["items"] == {}
    added = item.pop("missed")
    assert item == {
        "complete": True,
        "windows": [],
        "predictions": [
            {"number": 3, "verdict": "right", "shape": best["shape"], "label": "head", "score": best["score"]}
        ],
        "truths": [{"number": 0, "verdict": "wrong", "shape": missed["shape"], "label": "head"}],
    }
    scale = 640 / min(stage["width"], stage["height"])
    assert added[0]["label"] == "head"
    assert added[0]["shape"] == pytest.approx([320, 320, 80 * scale, 40 * scale], abs=1.5)

    other = browser(path)
    assert other.get_by_text("0 of 6 images complete · 0 marks").is_visible()
    file = tmp_path / "corrections.json"
    file.write_text(json.dumps({**written, "items": {"field_000": {**item, "missed": added}}}))
    other.set_input_files("input[type=file]", file)
    other.get_by_text("Marks of 1 image are loaded.").wait_for()
    assert corrections(other)["items"]["field_000"] == {**item, "missed": added}
    file.write_text("{}")
    other.set_input_files("input[type=file]", file)
    other.get_by_text("This is not a corrections file.").wait_for()


def test_marks_last_until_they_are_forgotten(browser: OpenPage, tmp_path: Path) -> None:
    page = browser(write(tmp_path, boxes()), fragment="#item=field_000")
    page.keyboard.press("c")
    page.reload()
    close(page)
    page.get_by_text("1 of 6 images complete").wait_for()
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Really forget all marks?").click()
    page.get_by_text("0 of 6 images complete").wait_for()


def test_missed_calls_are_added_at_a_time(browser: OpenPage, tmp_path: Path) -> None:
    page = browser(write(tmp_path, events()), fragment="#item=rec1.aif%40100")
    page.keyboard.press("a")
    page.mouse.click(*on_screen(page, 480, 100))
    page.keyboard.press("c")
    close(page)
    item = corrections(page)["items"]["rec1.aif"]
    assert item["missed"][0]["shape"] == pytest.approx([112.0], abs=0.05)
    assert item["missed"][0]["label"] is None
    assert item["windows"] == [[100.0, 116.0]]
    assert item["complete"] is False


def test_missed_cuboids_are_like_the_nearest_of_their_class(browser: OpenPage, tmp_path: Path) -> None:
    page = browser(write(tmp_path, cuboids()), fragment="#item=sweep1")
    page.get_by_label("class of the added one").select_option("truck")
    page.get_by_role("button", name="add missed").click()
    page.mouse.click(*on_screen(page, 80, 240))
    close(page)
    added = corrections(page)["items"]["sweep1"]["missed"][0]
    assert added["label"] == "truck"
    assert added["shape"] == pytest.approx([980, 480, 20.0, 1.9, 4.6, 1.6, 0.0], abs=0.3)


def test_missed_masks_are_rectangles_in_run_lengths(browser: OpenPage, tmp_path: Path) -> None:
    page = browser(write(tmp_path, masks()), fragment="#item=chip1.jpg")
    page.keyboard.press("a")
    page.mouse.move(*on_screen(page, 50, 60))
    page.mouse.down()
    page.mouse.move(*on_screen(page, 60, 65))
    page.mouse.up()
    close(page)
    runs = [int(number) for number in corrections(page)["items"]["chip1.jpg"]["missed"][0]["shape"].split()]
    start, length = np.array(runs[::2]) - 1, np.array(runs[1::2])
    columns, rows = start // 768, start % 768
    assert columns.tolist() == list(range(columns[0], columns[0] + len(columns)))
    assert abs(columns[0] - 120) <= 1
    assert abs(len(columns) - 24) <= 2
    assert abs(rows[0] - 144) <= 1
    assert abs(length[0] - 12) <= 2
    assert len(set(rows.tolist())) == len(set(length.tolist())) == 1


def test_the_right_label_is_chosen(browser: OpenPage, tmp_path: Path) -> None:
    page = browser(write(tmp_path, labels()), fragment="#item=dish0.jpg")
    page.keyboard.press("2")
    page.keyboard.press("n")
    page.get_by_label("the right class").select_option("dumplings")
    page.keyboard.press("n")
    page.get_by_role("button", name="truth").focus()
    page.keyboard.press("r")
    page.keyboard.press("n")
    page.keyboard.press("w")
    close(page)
    items = corrections(page)["items"]
    assert items["dish0.jpg"]["label"] == {"verdict": "wrong", "label": "beef tartare"}
    assert items["dish1.jpg"]["label"] == {"verdict": "wrong", "label": "dumplings"}
    assert items["dish2.jpg"]["label"] == {"verdict": "right", "label": "carrot cake"}
    assert items["dish3.jpg"]["label"] == {"verdict": "wrong", "label": None}
