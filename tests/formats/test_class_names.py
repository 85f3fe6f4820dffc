"""Class names of YOLO data sets, from YAML and text files."""

from __future__ import annotations

from pathlib import Path

import pytest

import tallymark
from tallymark.core.problems import Problems
from tallymark.formats import read_boxes
from tallymark.formats.class_names import read_class_names
from tests.formats.files import listing, only, put, put_image
from tests.formats.test_yolo import boxes


@pytest.mark.parametrize(
    "yaml",
    [
        "names: ['head', \"leaf, green\"]\n",
        "train: x\nnames: [head, 'leaf, green']  # two\nnc: 2\n",
        "names:\n  - head\n  - 'leaf, green'\nnc: 2\n",
        'names:\n- head\n- "leaf, green"  # the other\n',
        "names:\n  0: head\n  1: 'leaf, green'\n",
        "names:\n  # of the field\n  0: head\n\n  # of the plant\n  1: 'leaf, green'\n# end\nnc: 2\n",
        "names: {0: head, 1: 'leaf, green'}\n",
        "names: [head,\n  'leaf, green'\n]\nnc: [3]\n",
    ],
)
def test_class_names_of_yaml(tmp_path: Path, yaml: str) -> None:
    put_image(tmp_path / "images" / "a.jpg")
    put(tmp_path / "labels" / "a.txt", "1 0.5 0.5 0.2 0.4\n")
    put(tmp_path / "data.yaml", yaml)
    truth = tallymark.read("wheat", tmp_path).truth
    assert truth is not None
    assert truth.classes == ("head", "leaf, green")
    assert truth.labels.tolist() == [1]


@pytest.mark.parametrize(
    ("yaml", "line"),
    [
        ("names: [head, !!python/object:os.system]\n", 1),
        ("names:\n  0: head\n  2: leaf\n", 3),
        ("names:\n  - head\n  - {a: b}\n", 3),
        ("names:\n  - head\n  - 'leaf\n", 3),
    ],
)
def test_invalid_class_names_are_problems(tmp_path: Path, yaml: str, line: int) -> None:
    put_image(tmp_path / "images" / "a.jpg")
    put(tmp_path / "labels" / "a.txt", "1 0.5 0.5 0.2 0.4\n")
    put(tmp_path / "data.yaml", yaml)
    problems = Problems()
    catalog = read_boxes(listing(tmp_path), problems)
    assert only(problems, "bad_class").line == line
    assert len(boxes(catalog)) == 1


def names_in(folder: Path, yaml: str) -> tuple[str, ...]:
    """The class names of a data.yaml without problems."""
    put(folder / "data.yaml", yaml)
    problems = Problems()
    names = read_class_names(listing(folder), problems)
    assert not problems, list(problems)
    return names


@pytest.mark.parametrize(
    ("yaml", "names"),
    [
        ("names: ['ear: green', \"it's\", head]\n", ("ear: green", "it's", "head")),
        ("names:\n  - 'ear: green'\n  - \"caf\\u00e9\"\n  - a:b\n", ("ear: green", "café", "a:b")),
        ("names:\n  - >-\n    winter\n    wheat\n  - |-\n    rye\n", ("winter wheat", "rye")),
        ("names:\n  - 'quote '' inside'\n  - \"a \\\"b\\\"\"\n", ("quote ' inside", 'a "b"')),
        ("names: {1: leaf, 0: head}\n", ("head", "leaf")),
        ("names:\n  1: leaf\n  0: head\n", ("head", "leaf")),
        ("names:\n  '0': head\n  '1': leaf\n", ("head", "leaf")),
        ("names: [no, 1e3, 007, 2019-05-01, true]\n", ("no", "1e3", "007", "2019-05-01", "true")),
        ("# set\n---\npath: ../x\nnames: &all [head]\nothers: *all\n", ("head",)),
        ('{"train": "images/train", "nc": 2, "names": ["head", "leaf"]}\n', ("head", "leaf")),
        ("names: []\n", ()),
        ("names:\n", ()),
        ("model:\n  names: [head]\n", ()),
        ("just a text about names: of wheat\n", ()),
    ],
)
def test_yaml_syntax(tmp_path: Path, yaml: str, names: tuple[str, ...]) -> None:
    assert names_in(tmp_path, yaml) == names


def test_files_without_the_key_are_not_parsed(tmp_path: Path) -> None:
    put(tmp_path / "a.yaml", "{{ template }}: [\n")
    put(tmp_path / "sub" / "data.yml", "names: [head]\n")
    assert names_in(tmp_path, "nc: 1\n") == ("head",)


def test_text_files_have_one_name_per_line(tmp_path: Path) -> None:
    put(tmp_path / "classes.txt", "head\r\n\r\n leaf: green \r\n")
    assert names_in(tmp_path, "nc: 2\n") == ("head", "leaf: green")


@pytest.mark.parametrize(
    ("yaml", "line", "found"),
    [
        ("names: head\n", 1, "'head'"),
        ("nc: 2\nnames:\n  0: head\n  0: leaf\n", 4, "'0'"),
        ("names:\n  0: head\n  one: leaf\n", 3, "'one'"),
        ("names:\n  0: head\n  -1: leaf\n", 3, "'-1'"),
        ("names:\n  - head\n  - [a, b]\n", 3, "'[a, b]'"),
        ("names:\n  - head\n  -\n", 3, "''"),
        ("names: [head, ''\n  , leaf]\n", 1, "\"''\""),
        ("names: [head, ~]\n", 1, "'~'"),
    ],
)
def test_an_invalid_entry_is_a_problem_with_its_line(tmp_path: Path, yaml: str, line: int, found: str) -> None:
    path = put(tmp_path / "data.yaml", yaml)
    problems = Problems()
    read_class_names(listing(tmp_path), problems)
    problem = only(problems, "bad_class")
    assert (problem.file, problem.line, problem.found) == (str(path), line, found)
    assert problem.remedy


@pytest.mark.parametrize(
    ("yaml", "line"),
    [
        ("nc: 2\nnames: [head\n", 2),
        ("names: {head\n", 1),
        ("nc: 2\nnames:\n\t- head\n", 3),
        ("names:\n  - head\n leaf\n", 3),
        ("names: ear: green\n", 1),
        ("nc: 1\nnames: [he\x07ad]\n", 2),
        ("names: [a]\n---\nnames: [b]\n", 2),
        ("names: *unknown\n", 1),
        ("names: [%]\n", 1),
    ],
)
def test_text_that_is_not_yaml_is_a_problem_with_its_line(tmp_path: Path, yaml: str, line: int) -> None:
    path = put(tmp_path / "data.yaml", yaml)
    problems = Problems()
    assert read_class_names(listing(tmp_path), problems) == ()
    problem = only(problems, "bad_class")
    assert (problem.file, problem.line) == (str(path), line)
    assert problem.found
    assert problem.remedy


def test_deep_nesting_is_a_problem(tmp_path: Path) -> None:
    put(tmp_path / "data.yaml", "names: " + "[" * 100_000)
    problems = Problems()
    assert read_class_names(listing(tmp_path), problems) == ()
    only(problems, "bad_class")


def test_aliases_do_not_multiply(tmp_path: Path) -> None:
    levels = "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 30))
    put(tmp_path / "data.yaml", f"a0: &a0 [x]\n{levels}names: [head, *a29]\n")
    problems = Problems()
    assert read_class_names(listing(tmp_path), problems) == ("head", "1")
    only(problems, "bad_class")


def test_utf16_is_read(tmp_path: Path) -> None:
    (tmp_path / "data.yaml").write_bytes("names: [épi, b]".encode("utf-16"))
    assert read_class_names(listing(tmp_path), Problems()) == ("épi", "b")


@pytest.mark.parametrize("data", ["names: [a]".encode("utf-16")[:-1], b"names: [a\0b]"])
def test_other_encodings_are_problems(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "data.yaml").write_bytes(data)
    problems = Problems()
    assert read_class_names(listing(tmp_path), problems) == ()
    only(problems, "encoding")
