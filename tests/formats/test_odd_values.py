"""Odd values in every field of every format: problems that can be printed, or all objects; never an exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tallymark.api import kit_predict
from tallymark.challenges.lyft.dialect import CLASSES
from tallymark.core.problems import BadInput, Problems
from tallymark.formats import read_boxes, read_masks, read_nuscenes
from tallymark.formats.class_names import read_class_names
from tallymark.io.folders import Folder
from tallymark.io.nuscenes_tables import COLUMNS, read_tables, sample_tokens
from tallymark.modalities import read_recipe
from tests.cli.running import run
from tests.formats.files import listing, put
from tests.formats.test_nuscenes import detection
from tests.odd_values import DAMAGE, DEEP, ODD, variants

BOX = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 30, 20], "iscrowd": 0, "area": 600}
POLYGON = BOX | {"segmentation": [[1, 2, 31, 2, 31, 22]]}
RLE = BOX | {"id": 2, "image_id": 2, "segmentation": {"size": [50, 100], "counts": [10, 20, 4970]}}
COCO = {
    "info": {"year": 2020},
    "images": [
        {"id": 1, "file_name": "a.jpg", "width": 100, "height": 50},
        {"id": 2, "file_name": "b.jpg", "width": 100, "height": 50},
    ],
    "annotations": [POLYGON, RLE],
    "categories": [{"id": 1, "name": "head"}],
}
RESULTS = {"meta": {"use_lidar": True}, "results": {"s": [detection(), detection()], "empty": []}}
UNLABELLED = ("annotations=null", "annotations=list", "annotations missing")
"""COCO files without objects; each is valid."""
TABLE_VALUES = ["null", "true", "zero", "huge", "infinite", "NaN", "digits", "word", "surrogate", "list", "object"]
"""Odd values for tables."""


def printable(problems: Problems) -> int:
    """The number of problems, each of which can be printed as text and as JSON."""
    for problem in problems:
        assert str(problem).encode()
        assert problem.found
        assert problem.expected
    assert json.dumps(problems.as_dict(), ensure_ascii=False, allow_nan=False).encode()
    return problems.total


@pytest.mark.parametrize("kind", ["boxes", "polygons", "RLE"])
def test_coco(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "instances.json"
    listed = Folder(tmp_path, (path,))
    document = COCO | {"annotations": [RLE, POLYGON] if kind == "RLE" else [POLYGON, RLE]}
    for name, text in variants(document, below=("annotations", 0, "segmentation") if kind != "boxes" else ()):
        path.write_text(text)
        problems = Problems()
        catalog = read_boxes(listed, problems) if kind == "boxes" else read_masks(listed, (50, 100), problems)
        said = printable(problems) + (0 if catalog is None else printable(catalog.notes))
        whole = catalog is not None and catalog.truth is not None and catalog.truth.counts.tolist() == [1, 1]
        renamed = name.startswith("images/0/file_name") and catalog is not None
        assert said or whole or renamed or name in ("=object", "=other object", *UNLABELLED), name


def test_nuscenes_results(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for name, text in variants(RESULTS):
        path.write_text(text)
        problems = Problems()
        read = read_nuscenes(path, CLASSES, problems)
        emptied = name.startswith(("results/s=list", "results/empty", "results/s missing", "results=object"))
        assert printable(problems) or emptied or (read is not None and len(read) == 2), name


def test_nuscenes_tables(tmp_path: Path) -> None:
    values: dict[Any, Any] = {"rotation": [1, 0, 0, 0], "translation": [1, 2, 3], "size": [1, 2, 3], "timestamp": 1.0}
    values |= {"is_key_frame": True, "camera_intrinsic": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
    values |= {"log_tokens": ["l"], "attribute_tokens": ["a"]}
    for table in ("sample_data", "calibrated_sensor", "map"):
        rows = [{"token": token} | {name: values.get(name, "x") for name in COLUMNS[table]} for token in "ab"]
        path = tmp_path / f"{table}.json"
        for name, text in variants(rows, {name: ODD[name] for name in (*TABLE_VALUES, "deep list", "list of null")}):
            path.write_text(text)
            problems = Problems()
            tables = read_tables(tmp_path, problems, annotated=True)
            own = [problem for problem in problems if problem.kind != "missing_table"]
            printable(problems)
            assert own or tables[table].height == 2 or name == "=list", (table, name)
        path.unlink()


@pytest.mark.parametrize("name", DAMAGE)
def test_files_that_are_no_such_document(name: str, tmp_path: Path) -> None:
    (tmp_path / "sample.json").write_bytes(DAMAGE[name])
    problems = Problems()
    assert sample_tokens(tmp_path, problems) == []
    assert printable(problems) or name == "list"
    assert read_nuscenes(tmp_path / "sample.json", CLASSES, problems := Problems()) is None
    assert printable(problems)
    read_tables(tmp_path, problems := Problems(), annotated=True)
    assert printable(problems)


def test_a_sample_without_a_token_costs_itself_only(tmp_path: Path) -> None:
    put(tmp_path / "sample.json", '[{"token": "a"}, {"token": 5}, null, {"token": "b"}]')
    problems = Problems()
    assert sample_tokens(tmp_path, problems) == ["a", "b"]
    assert problems.counts == {"bad_json": 2}


YAML = {
    "nested": "names: " + "[" * DEEP + "]" * DEEP,
    "nested rows": "names:\n" + "- " * DEEP + "a",
    "an alias in itself": "names: &a [*a]",
    "many aliases": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{new}: &{new} [{','.join(9 * [f'*{old}'])}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True))
    + "names: *i",
    "a Python name": "names: [!!python/name:os.system a]",
    "a long number": f"names: {{{'9' * 5000}: a}}",
    "a date as key": "names: {2020-01-01: a}",
    "a list as key": "? [names]\n: [a]\nnames: 5",
    "too much": "names: [a]" + " " * (1 << 22),
    "a character": 'names: ["\\ud800"]',
    "a control character": "names: [\x07]",
}


@pytest.mark.parametrize("name", YAML)
def test_yaml(name: str, tmp_path: Path) -> None:
    put(tmp_path / "data.yaml", YAML[name])
    problems = Problems()
    names = read_class_names(listing(tmp_path), problems)
    assert printable(problems), names


XML = {
    "nested": "<annotation>" + "<a>" * DEEP,
    "entities": '<!DOCTYPE a [<!ENTITY a "aaaa">]>\n<annotation>&a;</annotation>',
    "a file": '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n<annotation>&a;</annotation>',
    "cut": "<annotation><object><name>head",
    "another encoding": '<?xml version="1.0" encoding="ebcdic"?><annotation></annotation>',
    "another root": "<!-- <annotation> --><other/>",
    "a long number": f"<annotation><object><bndbox><xmin>{'9' * 5000}</xmin></bndbox></object></annotation>",
}


@pytest.mark.parametrize("name", XML)
def test_xml(name: str, tmp_path: Path) -> None:
    Image.fromarray(np.zeros((50, 100, 3), np.uint8)).save(tmp_path / "a.png")
    put(tmp_path / "a.xml", XML[name])
    problems = Problems()
    read_boxes(listing(tmp_path), problems)
    assert printable(problems)


TOML = {
    "nested": "task = " + "[" * DEEP,
    "a long number": f"epochs = {'9' * 5000}",
    "many digits": f"epochs = {'9' * 4000}",
    "another type": "epochs = [1, 2]",
    "a table": "[epochs]\na = 1",
    "a date": "epochs = 2020-01-01",
    "an unknown task": 'task = "x"',
    "infinite": "learning_rate = inf",
    "cut": 'task = "bo',
    "bytes": "task = \x00",
}


@pytest.mark.parametrize("name", TOML)
def test_toml(name: str, tmp_path: Path) -> None:
    path = put(tmp_path / "recipe.toml", TOML[name])
    with pytest.raises(BadInput) as raised:
        read_recipe(path)
    assert printable(raised.value.problems)


@pytest.mark.parametrize("value", ["digits", "surrogate", "deep list"])
def test_commands_that_read_json_exit_with_2(value: str, tmp_path: Path) -> None:
    """The same through the command line: no traceback, whichever argument the file is."""
    good = put(tmp_path / "good.json", json.dumps(RESULTS))
    odd = tmp_path / "odd.json"
    text = json.dumps(RESULTS | {"results": {"s": [detection(detection_score="@")], "empty": []}})
    put(odd, text.replace('"@"', ODD[value]))
    put(tmp_path / "data" / "sample.json", json.dumps([{"token": "@"}]).replace('"@"', ODD[value]))
    run("check", "lyft", odd, code=2)
    run("check", "lyft", good, "--against", tmp_path / "data", code=2)
    run("score", "lyft", good, odd, "--json", code=2)
    run("score", "lyft", odd, good, code=2)
    run("convert", "lyft", odd, "--out", tmp_path / "out.csv", code=2)
    run("check", "lyft", tmp_path / "data", "--json", code=2)


@pytest.mark.parametrize("name", DAMAGE)
def test_the_settings_of_a_kit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kit.json").write_bytes(DAMAGE[name])
    monkeypatch.setattr(kit_predict, "KIT", tmp_path)
    with pytest.raises(SystemExit, match="missing or damaged"):
        kit_predict.settings()
