"""Leave one group out: a model without each group, scored on it at thresholds tuned on the others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tallymark
from tallymark.core.problems import BadInput
from tallymark.data.folds import make_folds
from tallymark.inference.run import FOLDS, GROUPS
from tests.cli.running import run

QUICK: dict[str, Any] = {"width": 4, "neck": 8, "image_size": 64, "crop_size": 64, "epochs": 1, "batch_size": 4}


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs of three sources, two of each, and one without a head, whose source is not known."""
    folder = tmp_path_factory.mktemp("field")
    tallymark.synth("wheat", folder, items=9, seed=3, size=96, empty=0.0)
    table = pl.read_csv(folder / "train.csv")
    names = table["image_id"].unique(maintain_order=True).to_list()
    source = {name: f"farm_{number // 2}" for number, name in enumerate(names[:6])}
    kept = table.filter(pl.col("image_id").is_in(names[:6]))
    kept.with_columns(source=pl.col("image_id").replace_strict(source)).write_csv(folder / "train.csv")
    for name in names[7:]:
        (folder / "train" / f"{name}.jpg").unlink()
    return folder


@pytest.fixture(scope="module")
def trained(field: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("trained") / "run"
    return tallymark.train("wheat", field, out, preset="tiny", leave_one_out=True, **QUICK)


def test_the_table_has_every_group_and_all_of_them(trained: Any) -> None:
    table = trained.groups
    assert table["group"].to_list() == ["farm_0", "farm_1", "farm_2", "no group", "all"]
    assert table["items"].to_list() == [2, 2, 2, 1, 7]
    assert table["objects"].to_list()[-1] == sum(table["objects"].to_list()[:-1])
    assert table["score"][-1] == trained.score.value
    assert table["baseline"].to_list()[:3] == [0.0, 0.0, 0.0]
    assert (trained.tuning.recipe.train_folds, trained.tuning.recipe.evaluations) == (3, 1)


def test_no_model_has_seen_the_group_that_it_is_scored_on(trained: Any, field: Path) -> None:
    source = dict(pl.read_csv(field / "train.csv").select("image_id", "source").iter_rows())
    for fold in range(3):
        known = pl.read_csv(trained.run.folder / f"fold-{fold}" / "trained_on.csv")["item"]
        assert {source[name] for name in known if name in source} == {"farm_0", "farm_1", "farm_2"} - {f"farm_{fold}"}


def test_groups_are_scored_as_the_rule_scores_them(trained: Any) -> None:
    by_source = dict(trained.score.groups.select("group", "score").iter_rows())
    for name, score in trained.groups.select("group", "score").rows()[:3]:
        assert score == pytest.approx(by_source[name])


def test_the_table_is_written_printed_and_on_the_page(trained: Any) -> None:
    folder = trained.run.folder
    assert pl.read_csv(folder / GROUPS)["items"].to_list() == trained.groups["items"].to_list()
    stored = json.loads((folder / "score.json").read_text())["held_out_groups"]
    assert [row["group"] for row in stored["rows"]] == trained.groups["group"].to_list()
    assert stored["thresholds"] == "tuned on the other groups"
    assert "held-out groups, each at thresholds tuned on the other groups" in str(trained.score)
    assert "held-out groups" in (folder / "report.html").read_text()


def test_tuning_again_keeps_the_table(trained: Any) -> None:
    folder = trained.run.folder
    assert (folder / FOLDS).exists()
    tuned = tallymark.tune(folder, write=True, fusion="soft_nms")
    stored = json.loads((folder / "score.json").read_text())["held_out_groups"]
    assert stored["rows"][-1]["score"] == tuned.held_out.score.value
    assert folder / GROUPS in tuned.written


def test_the_command_ends_with_the_table(field: Path, tmp_path: Path) -> None:
    settings = [f"{name}={value}" for name, value in QUICK.items()]
    words = ["train", "wheat", field, "--preset", "tiny", "--leave-one-out", "train_folds=2", *settings]
    printed = run(*words, "--out", tmp_path / "run")
    table = printed[printed.index("held-out groups") :]
    assert [name for name in ("farm_0", "farm_1", "farm_2", "all") if name in table] == ["farm_0", "farm_1", "all"]
    stated = run(*words, "--out", tmp_path / "again", "--json")
    stated = json.loads(stated[stated.index("{") :])  # after the progress
    assert [row["group"] for row in stated["held_out_groups"]["rows"]] == ["farm_0", "farm_1", "no group", "all"]


def test_what_cannot_be_left_out_is_refused(field: Path, tmp_path: Path) -> None:
    table = tmp_path / "folds.csv"
    tallymark.folds("wheat", field, folds=2).save(table)
    for name, value in {"train_folds": 1, "fold_by": "items", "fold_table": table}.items():
        with pytest.raises(BadInput, match="bad_option"):
            tallymark.train("wheat", field, tmp_path / "run", preset="tiny", leave_one_out=True, **{name: value})
    assert not (tmp_path / "run").exists()


def test_sites_are_folders(sets: Path, tmp_path: Path) -> None:
    """Recordings of three folders: the files of each are held out together, whatever their days are."""
    catalog = tallymark.read("upcalls", sets / "upcalls").with_media().in_split("train")
    sites = pl.Series([f"site_{number % 3}/{number}.wav" for number in range(len(catalog))])
    folds = make_folds(replace(catalog, files=sites), leave_one_out=True, by="folders")
    assert folds.group.unique(maintain_order=True).to_list() == ["site_0", "site_1", "site_2"]
    assert np.array_equal(folds.fold, np.arange(len(catalog)) % 3)
