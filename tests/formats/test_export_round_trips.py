"""Predictions in every format of other tools: read back by us, and by the format's own library, they score the same."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import soundfile
import yaml
from PIL import Image

import tallymark
from tallymark.core.problems import BadInput
from tallymark.data.annotations import Annotations
from tallymark.data.catalog import Catalog
from tallymark.data.items import Items
from tallymark.formats.coco_segmentation import rasterize, union
from tallymark.geometry import Boxes, Cuboids, Events, Masks


def noisy(catalog: Catalog, seed: int = 0) -> Annotations[Any]:
    """Predictions: the truth with errors, scores in no order, some missing, some twice, a few items empty."""
    truth = catalog.truth
    assert truth is not None
    rng = np.random.default_rng(seed)
    kept = np.flatnonzero((rng.random(len(truth)) < 0.8) & (truth.item % 4 != 3))
    rows = np.sort(np.concatenate([kept, kept[::5]]))
    shapes = truth.shapes.take(rows)
    if isinstance(shapes, Boxes):
        moved = np.column_stack(shapes.columns) + rng.integers(-1, 2, (len(rows), 4))
        moved[:, 2:] = np.maximum(moved[:, 2:], 2)
        shapes = Boxes.of(moved)
    elif isinstance(shapes, Cuboids):
        values = np.column_stack(shapes.columns)
        values[:, :2] += rng.normal(0, 0.3, (len(rows), 2))
        values[:, 6] += rng.normal(0, 0.1, len(rows))
        shapes = Cuboids.of(values)
    elif isinstance(shapes, Events):
        shapes = Events((shapes.time + rng.normal(0, 2, len(rows))).clip(0).round(3))
    elif isinstance(shapes, Masks):
        rows = kept
        shifted = [np.roll(truth.shapes.bitmap(int(at)), 2, 0) for at in kept]
        shapes = Masks.of(shifted, truth.shapes.shape)
    label = None if truth.label is None else truth.label[rows]
    score = rng.permutation(len(rows)) / max(1, len(rows))
    return Annotations.from_rows(truth.items, truth.item[rows], shapes, label=label, score=score, classes=truth.classes)


def labelled(name: str, sets: Path) -> Catalog:
    return tallymark.read(name, sets / name, **synthetic_options(name)).with_truth()


def synthetic_options(name: str) -> dict[str, Any]:
    return {"shape": "768x768"} if name == "ships" else {}


def submitted(name: str, predictions: Annotations[Any], path: Path, form: str | None = None) -> Path:
    tallymark.write(name, predictions, path, form=form, **synthetic_options(name))
    return path


def score_of(name: str, truth: Annotations[Any], predicted: Annotations[Any]) -> float:
    what = tallymark.challenge(name)
    options = what.parse_rule_options(synthetic_options(name))
    predicted = predicted.reindex(truth.items)
    return float(what.score(truth, predicted, options).value)


def with_media(catalog: Catalog, folder: Path) -> Path:
    """A folder of the images only, as the tools have them."""
    for file in catalog.files.drop_nulls():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(catalog.root / file, folder / file)
    return folder


def renamed(read: Catalog, catalog: Catalog) -> Annotations[Any]:
    """What was read back, under the ids of the original data set, found by the names of files."""
    ids = dict(zip((Path(file).name for file in catalog.files), catalog.items.ids, strict=True))
    assert read.truth is not None
    names = [ids.get(Path(one).name, one) for one in read.items.ids]
    return replace(read.truth, items=Items.of(names))


@pytest.mark.parametrize("to", ["coco", "yolo", "voc"])
def test_boxes_score_the_same_after_a_round_trip(to: str, sets: Path, tmp_path: Path) -> None:
    catalog = labelled("wheat", sets)
    predictions = noisy(catalog).clip(np.full((len(catalog), 2), 192.0))  # as a model does
    path = submitted("wheat", predictions, tmp_path / "submission.csv")
    folder = with_media(catalog, tmp_path / "photographs")
    out = folder / "predicted.json" if to == "coco" else tmp_path / to
    assert tallymark.convert("wheat", path, out, to=to, media=sets / "wheat") == ()
    read = tallymark.read("wheat", folder if to == "coco" else out)
    assert not read.notes
    assert catalog.truth is not None
    expected = score_of("wheat", catalog.truth, tallymark.read_submission("wheat", path))
    assert 0.2 < expected < 0.9
    assert score_of("wheat", catalog.truth, renamed(read, catalog)) == expected


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pycocotools
def test_coco_is_read_by_its_own_library(sets: Path, tmp_path: Path) -> None:
    coco = pytest.importorskip("pycocotools.coco")
    catalog = labelled("ships", sets)
    tallymark.convert("ships", submitted("ships", noisy(catalog), tmp_path / "s.csv"), tmp_path / "c.json", to="coco",
                      media=sets / "ships")  # fmt: skip
    predictions = tallymark.read_submission("ships", tmp_path / "s.csv")
    read = coco.COCO(str(tmp_path / "c.json"))
    images = {image["file_name"]: image for image in read.loadImgs(read.getImgIds())}
    assert set(images) == set(catalog.files)
    assert {image["width"] for image in images.values()} == {768}
    for item, file in enumerate(catalog.files):
        own = read.loadAnns(read.getAnnIds(images[file]["id"]))
        index = predictions.items.find(catalog.items.ids)[item]
        bitmaps = [predictions.shapes.bitmap(at) for at in range(*predictions.offsets[index : index + 2].tolist())]
        assert len(own) == len(bitmaps)
        for row, bitmap in zip(own, bitmaps, strict=True):
            assert (read.annToMask(row).astype(bool) == bitmap).all()
            assert row["area"] == bitmap.sum()
            assert len(row["rotated_bbox"]) == 5


@pytest.mark.parametrize("to", ["coco", "yolo"])
def test_masks_score_the_same_after_a_round_trip(to: str, sets: Path, tmp_path: Path) -> None:
    catalog = labelled("ships", sets)
    path = submitted("ships", noisy(catalog), tmp_path / "submission.csv")
    folder = with_media(catalog, tmp_path / "chips")
    out = folder / "predicted.json" if to == "coco" else tmp_path / "yolo"
    tallymark.convert("ships", path, out, to=to, media=sets / "ships")
    read = tallymark.read("ships", folder if to == "coco" else out)
    assert catalog.truth is not None
    expected = score_of("ships", catalog.truth, tallymark.read_submission("ships", path))
    assert 0 < expected < 1
    assert score_of("ships", catalog.truth, renamed(read, catalog)) == expected


def parse_yolo(folder: Path) -> dict[str, list[list[float]]]:
    """A data set as its tools document it: lists in data.yaml; labels where `images` in a path is `labels`."""
    data = yaml.safe_load((folder / "data.yaml").read_text())
    assert sorted(data["names"]) == list(range(len(data["names"])))
    found = {}
    for split in {data["train"], data["val"], data.get("test", data["train"])}:
        for line in (folder / split).read_text().splitlines():
            image = folder / line.removeprefix("./")
            assert cv2.imread(str(image)) is not None, image
            before, after = str(image).rsplit("/images/", 1)
            label = Path(f"{before}/labels/{after.rsplit('.', 1)[0]}.txt")
            found[line] = [[float(word) for word in row.split()] for row in label.read_text().splitlines()]
    return found


def test_yolo_masks_are_polygons_that_fill_the_same_pixels(sets: Path, tmp_path: Path) -> None:
    catalog = labelled("ships", sets)
    tallymark.convert("ships", sets / "ships", tmp_path / "yolo", to="yolo")
    found = parse_yolo(tmp_path / "yolo")
    truth = catalog.truth
    assert truth is not None
    assert len(found) == len(catalog)
    for item, file in enumerate(catalog.files):
        rows = found[f"./images/{file}"]
        own = range(*truth.offsets[item : item + 2].tolist())
        assert len(rows) == len(own)
        for row, at in zip(rows, own, strict=True):
            start, length = union([rasterize(np.reshape(row[1:], (-1, 2)) * 768, (768, 768))])
            filled = Masks(start, length, np.array([0, len(start)]), (768, 768)).bitmap(0)
            assert (filled == truth.shapes.bitmap(at)).all()


def test_voc_is_plain_xml(sets: Path, tmp_path: Path) -> None:
    catalog = labelled("wheat", sets)
    tallymark.convert("wheat", sets / "wheat", tmp_path / "voc", to="voc")
    files = sorted((tmp_path / "voc" / "Annotations").rglob("*.xml"))
    assert len(files) == len(catalog)
    boxes = [box for file in files for box in ET.parse(file).getroot().iter("bndbox")]
    assert catalog.truth is not None
    assert len(boxes) == len(catalog.truth)
    root = ET.parse(files[0]).getroot()
    assert (root.findtext("size/width"), root.findtext("size/height")) == ("192", "192")
    listed = (tmp_path / "voc" / "ImageSets" / "Main" / "train.txt").read_text().split()
    assert listed[0] == Path(catalog.files[0]).with_suffix("").as_posix()


@pytest.mark.parametrize("to", ["raven", "combined", "audacity"])
def test_events_score_the_same_after_a_round_trip(to: str, sets: Path, tmp_path: Path) -> None:
    catalog = labelled("upcalls", sets)
    predictions = noisy(catalog)
    path = submitted("upcalls", predictions, tmp_path / "submission.csv")
    folder = with_media(catalog, tmp_path / "recordings")
    out = folder / ("calls.selections.txt" if to == "combined" else "tables")
    format_name = "raven" if to == "combined" else to
    tallymark.convert("upcalls", path, out, to=format_name, media=sets / "upcalls")
    if to == "combined":
        rows = [line.split("\t") for line in out.read_text().splitlines()]
        begin, file, offset = (rows[0].index(name) for name in ("Begin Time (s)", "Begin File", "File Offset (s)"))
        later = next(row for row in rows[1:] if row[file] != rows[1][file])
        assert float(later[begin]) > float(later[offset]) + 1  # after the recordings before it
    read = tallymark.read("upcalls", folder)
    assert catalog.truth is not None
    expected = score_of("upcalls", catalog.truth, tallymark.read_submission("upcalls", path))
    assert 0.1 < expected < 1
    assert score_of("upcalls", catalog.truth, renamed(read, catalog)) == expected


@pytest.mark.parametrize("to", ["kitti", "nuscenes"])
def test_cuboids_score_the_same_after_a_round_trip(to: str, sets: Path, tmp_path: Path) -> None:
    catalog = labelled("lyft", sets)
    path = submitted("lyft", noisy(catalog), tmp_path / "submission.csv")
    assert catalog.truth is not None
    expected = score_of("lyft", catalog.truth, tallymark.read_submission("lyft", path))
    assert 0.02 < expected < 0.9
    out = tmp_path / ("results.json" if to == "nuscenes" else to)
    tallymark.convert("lyft", path, out, to=to, media=sets / "lyft")
    if to == "nuscenes":
        assert score_of("lyft", catalog.truth, tallymark.read_submission("lyft", out)) == expected
        return
    tallymark.convert("lyft", sets / "lyft", tmp_path / "truth", to="kitti")
    truth, predicted = tallymark.read("lyft", tmp_path / "truth").truth, tallymark.read("lyft", out).truth
    assert truth is not None
    assert predicted is not None
    # boxes stay upright in the frame of a lidar that is tilted by a degree
    assert score_of("lyft", truth, predicted) == pytest.approx(expected, abs=0.01)
    rows = [line.split() for file in (out / "label_2").iterdir() for line in file.read_text().splitlines()]
    assert {len(row) for row in rows} == {16}


def test_kitti_labels_are_named_like_their_frames(sets: Path, tmp_path: Path) -> None:
    tallymark.convert("lyft", sets / "lyft", tmp_path / "first", to="kitti")
    (tmp_path / "first" / "velodyne").mkdir()
    for label in (tmp_path / "first" / "label_2").iterdir():
        np.ones((5, 4), np.float32).tofile(tmp_path / "first" / "velodyne" / f"{label.stem}.bin")
    both = tmp_path / "both"
    for part in ("training", "testing"):  # in KITTI, each numbers its frames from 0 on
        shutil.copytree(tmp_path / "first", both / part)
    catalog = tallymark.read("lyft", both)
    own = catalog.in_split("train")
    assert own.truth is not None
    frames = {path.name for path in (tmp_path / "first" / "label_2").iterdir()}
    for chosen, expected in (
        (own, frames),
        (catalog, {f"{part}_{frame}" for part in ("training", "testing") for frame in frames}),
    ):
        assert chosen.truth is not None
        submission = tmp_path / f"{len(chosen)}.csv"
        tallymark.write("lyft", chosen.truth, submission)
        out = tmp_path / f"out{len(chosen)}"
        tallymark.convert("lyft", submission, out, to="kitti", media=both)
        assert {path.name for path in (out / "label_2").iterdir()} == expected


def test_kitti_keeps_the_calibration_of_its_source(sets: Path, tmp_path: Path) -> None:
    tallymark.convert("lyft", sets / "lyft", tmp_path / "first", to="kitti")
    calibration = next((tmp_path / "first" / "calib").iterdir())
    calibration.write_text(calibration.read_text() + "note: 1\n")
    tallymark.convert("lyft", tmp_path / "first", tmp_path / "second", to="kitti")
    assert (tmp_path / "second" / "calib" / calibration.name).read_text().endswith("note: 1\n")
    first, second = (tallymark.read("lyft", tmp_path / name).truth for name in ("first", "second"))
    assert first is not None
    assert second is not None
    assert len(first) > 0
    for before, after in zip(first.shapes.columns, second.shapes.columns, strict=True):
        np.testing.assert_allclose(after, before, atol=1e-5)


HOSTILE = ("field 1/a b#?.JPG", "field 2/a b#?.JPG", "é ü/α.png", "é ü/α.jpg", "images/x.png", "100%/.&<x>'\".tif")


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, list[str]]:
    """Images of different sizes under names that are hard to write, with one box each, in a COCO file."""
    folder = tmp_path / "mess"
    images, objects = [], []
    for at, name in enumerate(HOSTILE):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        size = 40 + 10 * at, 30 + 5 * at
        suffix = Path(name).suffix
        (folder / name).write_bytes(cv2.imencode(suffix, np.full((size[1], size[0], 3), 90, np.uint8))[1].tobytes())
        images.append({"id": at, "file_name": name, "width": size[0], "height": size[1]})
        objects.append({"id": at, "image_id": at, "category_id": at % 3, "bbox": [1, 2, 3 + at, 4], "area": 1})
    names = ["no", "a: b #c\t'\"", "<b>&é"]
    categories = [{"id": at, "name": name} for at, name in enumerate(names)]
    document = {"images": images, "annotations": objects[:-1], "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(document))
    return folder, names


@pytest.mark.parametrize("to", ["coco", "yolo", "voc"])
@pytest.mark.parametrize("zipped", [False, True])
def test_names_sizes_and_classes_that_are_hard_to_write(
    to: str, zipped: bool, hostile: tuple[Path, list[str]], tmp_path: Path
) -> None:
    folder, _names = hostile
    if zipped:
        with zipfile.ZipFile(tmp_path / "mess.zip", "w") as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(folder))
        folder = tmp_path / "mess.zip"
    out = tmp_path / "out" / ("annotations.json" if to == "coco" else "set")
    out.parent.mkdir()
    assert tallymark.convert("wheat", folder, out, to=to) == ()
    if to == "coco":
        for path in sorted((tmp_path / "mess").rglob("*")):
            if path.suffix != ".json" and path.is_file():
                target = out.parent / path.relative_to(tmp_path / "mess")
                target.parent.mkdir(exist_ok=True)
                shutil.copy(path, target)
    read = tallymark.read("wheat", out.parent)
    before, after = tallymark.read("wheat", folder), read
    assert not after.notes
    assert after.labelled.all()
    assert before.truth is not None
    assert after.truth is not None
    key = {"coco": [*HOSTILE]}.get(to)
    if key is not None:
        assert after.items.ids.to_list() == key
    classes = lambda truth: sorted(truth.classes[label] for label in truth.labels)  # noqa: E731
    cleaned = [name.replace("\t", "_") if to == "voc" else name for name in classes(before.truth)]
    assert classes(after.truth) == sorted(cleaned)
    assert sorted(zip(*after.truth.shapes.columns, strict=True)) == sorted(
        zip(*before.truth.shapes.columns, strict=True)
    )
    assert after.truth.counts.sum() == len(HOSTILE) - 1


def test_what_cannot_be_read_is_not_written_as_empty(sets: Path, tmp_path: Path) -> None:
    catalog = labelled("wheat", sets)
    empty = Annotations.empty(catalog.items, Boxes.of(np.empty((0, 4))))
    path = submitted("wheat", empty, tmp_path / "submission.csv")
    folder = with_media(catalog, tmp_path / "photographs")
    damaged, truncated, missing = (folder / file for file in catalog.files[:3])
    damaged.write_bytes(b"nothing")
    truncated.write_bytes(truncated.read_bytes()[:900])
    missing.unlink()
    notes = tallymark.convert("wheat", path, tmp_path / "coco.json", to="coco", media=folder)
    written = json.loads((tmp_path / "coco.json").read_text())
    assert [image["file_name"] for image in written["images"]] == catalog.files[3:].to_list()
    assert written["annotations"] == []
    assert any(f"2 of {len(catalog) - 1} images could not be read" in note for note in notes)
    assert any(f"1 of {len(catalog)} images" in note and "no file" in note for note in notes)


def test_unknown_and_unfitting_formats_are_refused(sets: Path, tmp_path: Path) -> None:
    for to, found in (("cocoa", "did you mean 'coco'"), ("kitti", "choose from: coco, yolo, voc")):
        with pytest.raises(BadInput, match=found):
            tallymark.convert("wheat", sets / "wheat", tmp_path / "out", to=to)
    path = submitted("wheat", noisy(labelled("wheat", sets)), tmp_path / "submission.csv")
    with pytest.raises(BadInput, match="--media FOLDER"):
        tallymark.convert("wheat", path, tmp_path / "out.json", to="coco")
    with pytest.raises(BadInput, match="leave out one of the two"):
        tallymark.convert("wheat", path, tmp_path / "out.json", to="coco", form="official")
    with pytest.raises(BadInput, match="the images that"):
        tallymark.convert("wheat", path, tmp_path / "out.json", to="coco", media=sets / "food")
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("to", ["raven", "combined", "audacity"])
def test_recordings_of_one_name_in_two_folders(to: str, tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    for place in ("pier 1", "pier 2"):
        (folder / place).mkdir(parents=True)
        soundfile.write(folder / place / "x #1.wav", np.zeros(8000), 2000)
    names = ["pier 1/x #1.wav", "pier 2/x #1.wav"]
    calls = Annotations.from_rows(Items.of(names), np.array([0, 1, 1]), Events(np.array([1.0, 0.2, 3.0])))
    tallymark.write("upcalls", calls, tmp_path / "s.csv")
    out = folder if to == "audacity" else folder / ("all.txt" if to == "combined" else "tables")
    name = "raven" if to == "combined" else to
    tallymark.convert("upcalls", tmp_path / "s.csv", out, to=name, media=folder)
    read = tallymark.read("upcalls", folder)
    assert not list(read.notes)
    assert read.truth is not None
    found = {one: read.truth.shapes.time[read.truth.item == at].tolist() for at, one in enumerate(read.items.ids)}
    assert found == {names[0]: [1.0], names[1]: [pytest.approx(0.2), 3.0]}


def test_a_turned_photograph_has_the_size_that_it_is_shown_in(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(np.zeros((30, 40, 3), np.uint8)).save(tmp_path / "a.jpg", exif=exif)
    boxes = Annotations.from_rows(
        Items.of(["a"]), np.zeros(1, np.int64), Boxes.of([[20, 30, 10, 10]]), score=np.ones(1)
    )
    tallymark.write("wheat", boxes, tmp_path / "s.csv")
    tallymark.convert("wheat", tmp_path / "s.csv", tmp_path / "a.json", to="coco", media=tmp_path / "a.jpg")
    [image] = json.loads((tmp_path / "a.json").read_text())["images"]
    assert (image["file_name"], image["width"], image["height"]) == ("a.jpg", 30, 40)
    tallymark.convert("wheat", tmp_path / "s.csv", tmp_path / "yolo", to="yolo", media=tmp_path / "a.jpg")
    [[row]] = parse_yolo(tmp_path / "yolo").values()
    assert row == [0, pytest.approx(25 / 30), 35 / 40, pytest.approx(1 / 3), 0.25]


def test_a_format_says_which_extra_it_needs(sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallymark.api.export.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"tallymark\[geo\]"):
        tallymark.convert("wheat", sets / "wheat", tmp_path / "a.geojson", to="geojson")
