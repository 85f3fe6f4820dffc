"""Data folders with damaged annotations: official tables, COCO, YOLO, Pascal VOC, KITTI, Raven, Audacity, clips."""

from __future__ import annotations

import json
import wave
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image

from tests.fuzz import slow_annotations as slow
from tests.fuzz.case import Case, Oracle, Result, link_tree, no_oracle, replace_file
from tests.fuzz.mutations import BYTES, JSON, Mutation, mutate, texts
from tests.fuzz.slow_tables import Unsure

SIZE = (64, 48)
STEMS = ("20090328_a", "20090329_b", "20090330_c")
TABLES, TABS, SPACES, XML = texts(", []"), texts("\t"), texts(" "), (*texts("<>/ "), *texts(">"))


@dataclass(frozen=True)
class Format:
    """A folder of annotated media. write: makes it. pattern: its annotation files. count: the objects in one."""

    challenge: str
    write: Callable[[Path], None]
    pattern: str
    count: Callable[[bytes], int]
    mutations: Sequence[Mutation]
    options: tuple[str, ...] = ()


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _images(folder: Path, suffix: str = ".png") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(0)
    for stem in STEMS:
        Image.fromarray(noise.integers(0, 255, (SIZE[1], SIZE[0], 3), np.uint8)).save(folder / f"{stem}{suffix}")


def _recordings(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(0)
    for stem in STEMS:
        with wave.open(str(folder / f"{stem}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(2000)
            file.writeframes(noise.integers(-999, 999, 8000).astype("<i2").tobytes())


def _coco(folder: Path, *, masks: bool) -> None:
    _images(folder)
    images = [
        {"id": at, "file_name": f"{stem}.png", "width": SIZE[0], "height": SIZE[1]} for at, stem in enumerate(STEMS)
    ]
    categories = [{"id": 1, "name": "head"}, {"id": 2, "name": "leaf"}]
    annotations = []
    for at in range(5):
        x, y = 3 + 11 * at, 5 + 6 * at
        polygon = [x, y, x + 8, y, x + 8, y + 6, x, y + 6]
        shape = {"segmentation": [polygon]} if masks else {}
        annotations.append(
            {"id": at, "image_id": at % 2, "category_id": 1, "bbox": [x, y, 8, 6], "area": 48, "iscrowd": 0, **shape}
        )
    document = {"images": images, "annotations": annotations, "categories": categories}
    _put(folder / "instances.json", json.dumps(document))


def _yolo(folder: Path) -> None:
    _images(folder / "images")
    rows = ["0 0.5 0.5 0.2 0.25", "0 0.2 0.25 0.125 0.2", "0 0.8 0.75 0.9 0.75 0.9 0.9"]
    for at, stem in enumerate(STEMS):
        _put(folder / "labels" / f"{stem}.txt", "".join(f"{row}\n" for row in rows[: 3 - at]))


def _voc(folder: Path) -> None:
    _images(folder)
    for at, stem in enumerate(STEMS):
        corners = [(3 + 9 * k, 4 + 5 * k) for k in range(at + 1)]
        objects = "".join(
            f"<object><name>head</name><difficult>0</difficult>\n<bndbox><xmin>{x}</xmin><ymin>{y}</ymin>"
            f"<xmax>{x + 8}</xmax><ymax>{y + 6}</ymax></bndbox></object>\n"
            for x, y in corners
        )
        size = f"<size><width>{SIZE[0]}</width><height>{SIZE[1]}</height><depth>3</depth></size>"
        _put(folder / f"{stem}.xml", f"<annotation>\n<filename>{stem}.png</filename>\n{size}\n{objects}</annotation>\n")


def _kitti(folder: Path) -> None:
    noise = np.random.default_rng(0)
    for stem in STEMS:
        (folder / "velodyne").mkdir(parents=True, exist_ok=True)
        points = noise.uniform((5, -10, -2, 0), (40, 10, 1, 1), (600, 4)).astype("<f4")
        (folder / "velodyne" / f"{stem}.bin").write_bytes(points.tobytes())
        rows = [
            "Car 0.00 0 -1.5 10 10 50 50 1.5 1.6 3.9 1.0 1.5 20.0 -1.5",
            "Pedestrian 0.00 0 0.1 10 10 50 50 1.7 0.6 0.8 -2.0 1.6 12.0 0.2",
            "DontCare -1 -1 -10 1 1 5 5 -1 -1 -1 -1000 -1000 -1000 -10",
        ]
        _put(folder / "label_2" / f"{stem}.txt", "\n".join(rows) + "\n")
        matrix = "R0_rect: 1 0 0 0 1 0 0 0 1\nTr_velo_to_cam: 0 -1 0 0 0 0 -1 0 1 0 0 0\n"
        _put(folder / "calib" / f"{stem}.txt", matrix)


def _raven(folder: Path) -> None:
    _recordings(folder)
    header = "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tBegin File\tFile Offset (s)\tAnnotation"
    for at, stem in enumerate(STEMS):
        rows = [
            f"{k + 1}\tSpectrogram 1\t1\t{k}.25\t{k}.75\t{stem}.wav\t{k}.25\t{('upcall', 'humpback', '')[k]}"
            for k in range(3 - at)
        ]
        _put(folder / f"{stem}.Table.1.selections.txt", "\n".join([header, *rows, ""]))


def _audacity(folder: Path) -> None:
    _recordings(folder)
    for at, stem in enumerate(STEMS):
        rows = [f"{k}.25\t{k}.75\t{('upcall', 'humpback', '')[k]}\n\\\t100.0\t200.0\n" for k in range(3 - at)]
        _put(folder / f"{stem}.txt", "".join(rows))


def _events(folder: Path) -> None:
    _recordings(folder / "train")
    rows = [f"{stem}.wav,{k}.25,{k}.75,{('upcall', '')[k % 2]}" for at, stem in enumerate(STEMS) for k in range(3 - at)]
    _put(folder / "train_annotations.csv", "\n".join(["filename,start,end,label", *rows, ""]))


def _clips(folder: Path) -> None:
    _recordings(folder / "train")
    rows = [f"{stem}.wav,{at % 2}" for at, stem in enumerate(STEMS)]
    _put(folder / "labels.csv", "\n".join(["clip_name,label", *rows, ""]))


def _wheat(folder: Path) -> None:
    _images(folder / "train", ".jpg")
    rows = [f'{stem},64,48,"[{3 + 9 * k}, {4.5 + 5 * k}, 8, 6]",s' for stem in STEMS for k in range(2)]
    _put(folder / "train.csv", "\n".join(["image_id,width,height,bbox,source", *rows, ""]))


def _food(folder: Path) -> None:
    _images(folder / "train_set", ".jpg")
    rows = [f"{stem}.jpg,{at}" for at, stem in enumerate(STEMS)]
    _put(folder / "train_labels.csv", "\n".join(["img_name,label", *rows, ""]))


def _ships(folder: Path) -> None:
    _images(folder / "train", ".jpg")
    rows = [f"{stem}.jpg,{1 + 48 * k} 9 {49 + 48 * k} 9" for stem in STEMS[:2] for k in (3, 9)]
    _put(folder / "train_ship_segmentations.csv", "\n".join(["ImageId,EncodedPixels", *rows, f"{STEMS[2]}.jpg,", ""]))


SHAPE = ("-r", f"shape={SIZE[1]}x{SIZE[0]}")
FORMATS = {
    "coco": Format("wheat", lambda folder: _coco(folder, masks=False), "*.json", slow.coco, JSON),
    "coco-masks": Format("ships", lambda folder: _coco(folder, masks=True), "*.json", slow.coco, JSON, SHAPE),
    "yolo": Format("wheat", _yolo, "labels/*.txt", slow.yolo, SPACES),
    "voc": Format("wheat", _voc, "*.xml", slow.voc, XML),
    "kitti": Format("lyft", _kitti, "label_2/*.txt", slow.kitti, SPACES),
    "raven": Format("upcalls", _raven, "*.txt", slow.raven, TABS),
    "audacity": Format("upcalls", _audacity, "*.txt", slow.audacity, TABS),
    "events": Format("upcalls", _events, "*.csv", slow.events, TABLES),
    "clips": Format("upcalls", _clips, "*.csv", slow.clips, TABLES),
    "wheat": Format("wheat", _wheat, "*.csv", slow.rows_of("wheat"), TABLES),
    "food": Format("food", _food, "*.csv", slow.rows_of("food"), TABLES),
    "ships": Format("ships", _ships, "*.csv", slow.rows_of("ships"), TABLES, SHAPE),
}


def counted(form: Format, damaged: Path, others: int) -> Oracle:
    """Where no problem names the damaged file, its objects are all there, beside those of the other files."""

    def oracle(result: Result) -> str | None:
        if not result.accepted and (not result.problems or result.names(damaged)):
            return None if result.problems else "refused without a problem"
        try:
            expected = others + form.count(damaged.read_bytes())
        except Unsure:
            return None
        except (ValueError, LookupError, TypeError, RecursionError, SyntaxError, StopIteration) as error:
            return f"nothing names {damaged.name}, but the slow reader fails: {error!r}"[:300]
        found = result.printed["objects"]
        return None if found == expected else f"{found} objects instead of {expected}, and nothing names {damaged.name}"

    return oracle


class Folders:
    """Data folders of each format, one annotation file of which is damaged."""

    def make_base(self, base: Path) -> None:
        for name, form in FORMATS.items():
            form.write(base / name)

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        name = rng.choice(list(FORMATS))
        form = FORMATS[name]
        data = folder / "data"
        link_tree(base / name, data)
        files = sorted(data.glob(form.pattern))
        damaged = rng.choice(files)
        others = sum(form.count(path.read_bytes()) for path in files if path != damaged)
        old = damaged.read_bytes()
        new = rng.randbytes(200) if rng.random() < 0.03 else mutate(old, rng, form.mutations)
        replace_file(damaged, new)
        if name == "kitti" and rng.random() < 0.3:
            replace_file(damaged, old)
            calibration = data / "calib" / damaged.name
            replace_file(calibration, mutate(calibration.read_bytes(), rng, BYTES))
            damaged = calibration
        check = ["check", form.challenge, str(data), "--json", *form.options]
        oracle = no_oracle if damaged.parent.name == "calib" else counted(form, damaged, others)
        commands: list[tuple[list[str], Oracle]] = [(check, oracle)]
        more = rng.random()
        if more < 0.2:
            out = ["--out", str(folder / "folds.csv"), "--folds", "2"]
            commands.append((["folds", form.challenge, str(data), "--json", *out, *form.options], no_oracle))
        elif more < 0.23:
            out = ["--out", str(folder / "page.html")]
            commands.append((["explore", form.challenge, str(data), *out, *form.options], no_oracle))
        return Case(f"{name}: {damaged.name}", commands)
