"""Damaged models, run folders and journals: predicted with, and resumed."""

from __future__ import annotations

import hashlib
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tallymark.core import locks
from tallymark.inference.journal_pages import MARK, PAGE
from tests.fuzz.annotations import FORMATS
from tests.fuzz.case import Case, Oracle, Result, link_tree, replace_file, run
from tests.fuzz.mutations import BYTES, JSON, cut, mutate, texts

DATA = {"wheat": "yolo", "food": "food", "upcalls": "raven"}
"""The folder of media that a model of each challenge is run on."""
QUICK = ("image_size=64", "tta=1", "score_threshold=0.01")
TRAINING = ("--preset", "tiny", "epochs=1", "image_size=64", "width=4", "neck=8")


def valid_or_refused(name: str, out: Path, expected: bytes | None = None) -> Oracle:
    """A submission that is written is valid, and exactly as expected where that is known."""

    def oracle(result: Result) -> str | None:
        if not result.accepted:
            return f"refused: {result.output[-300:]}" if expected is not None else None
        checked = run(["check", name, str(out), "--json"])
        if not checked.accepted:
            return f"an invalid submission: {checked.output[:300]}"
        return None if expected in (None, out.read_bytes()) else "another submission than without the damage"

    return oracle


def _predict(model: str, data: Path, out: Path, *more: str) -> list[str]:
    return ["predict", model, str(data), "--out", str(out), *more]


class Models:
    """Model files with other bytes, or other metadata."""

    def make_base(self, base: Path) -> None:
        from tests.untrained import untrained

        for name, form in DATA.items():
            FORMATS[form].write(base / form)
            untrained(name, base / f"{name}.onnx")

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        import onnx

        name = rng.choice(list(DATA))
        source, damaged = base / f"{name}.onnx", folder / "model.onnx"
        if rng.random() < 0.7:
            model = onnx.load(source)
            [entry] = [entry for entry in model.metadata_props if entry.key == "tallymark"]
            entry.value = mutate(entry.value.encode(), rng, JSON).decode("utf-8", "replace")
            what = "metadata"
            onnx.save(model, damaged)
        else:
            what = "bytes"
            damaged.write_bytes(mutate(source.read_bytes(), rng, BYTES))
        out = folder / "submission.csv"
        argv = _predict(str(damaged), base / DATA[name], out)
        return Case(f"{what} of a model of {name}", [(argv, valid_or_refused(name, out))])


class Runs:
    """Run folders, one of whose files is damaged or missing."""

    def make_base(self, base: Path) -> None:
        for argv in (
            ["synth", "wheat", str(base / "field"), "--items", "8", "size=96"],
            ["train", "wheat", str(base / "field"), "--out", str(base / "run"), *TRAINING],
        ):
            done = run(argv)
            assert done.accepted, done.output

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        own = folder / "run"
        link_tree(base / "run", own)
        damaged = rng.choice(sorted(path for path in own.iterdir() if path.suffix != ".md"))
        kinds = {".json": JSON, ".jsonl": (*JSON, *texts(", ")), ".toml": texts(" ="), ".csv": texts(",")}
        data = damaged.read_bytes()
        if rng.random() < 0.1:
            damaged.unlink()
        else:
            empty = rng.random() < 0.1
            replace_file(damaged, b"" if empty else mutate(data, rng, kinds.get(damaged.suffix, BYTES)))
        out = folder / "submission.csv"
        oracle = valid_or_refused("wheat", out)
        if damaged.name == "model.onnx" or rng.random() < 0.2:
            return Case(f"run: {damaged.name}", [(_predict(str(own), base / "field", out), oracle)])
        resume = ["train", "wheat", str(base / "field"), "--out", str(own), "--resume", *TRAINING]
        for name in ("model.onnx", "score.json", "tuning.csv"):  # as if it had been interrupted
            if name != damaged.name:
                (own / name).unlink()

        def resumed(result: Result) -> str | None:
            if result.accepted and not (own / "model.onnx").exists():
                return "no model"
            return None

        return Case(f"resumed run: {damaged.name}", [(resume, resumed)])


def _change_columns(page: Path, rng: Random) -> None:
    """A page of the journal with a right checksum, but with other columns, or columns of other kinds."""
    data = page.read_bytes()
    start = len(MARK) + 32
    with np.load(BytesIO(data[start:])) as stored:
        columns: dict[str, Any] = dict(stored)
    name = rng.choice(list(columns))
    kind = rng.randrange(5)
    if kind == 0:
        del columns[name]
    elif kind == 1:
        columns[name] = columns[name].astype(str)
    elif kind == 2:
        columns[name] = columns[name][..., None]
    elif kind == 3:
        columns[name] = np.array(rng.choice(("", "x", "nan")))
    else:
        columns[name] = np.concatenate([np.atleast_1d(columns[name])] * 2)
    content = BytesIO()
    np.savez(content, **columns)
    checksum = hashlib.sha256(page.parent.name.encode() + content.getvalue()).digest()
    replace_file(page, MARK + checksum + content.getvalue())


class Journals:
    """Journals with a damaged page: the prediction is what it is without a journal."""

    def make_base(self, base: Path) -> None:
        FORMATS["yolo"].write(base / "data")
        argv = _predict("wheat", base / "data", base / "submission.csv", "--journal", str(base / "journal"))
        done = run([*argv, *QUICK])
        assert done.accepted, done.output

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        journal = folder / "journal"
        link_tree(base / "journal", journal)
        for lock in journal.rglob(locks.NAME):
            lock.unlink()  # as a link, it would be locked for all workers
        page = rng.choice(sorted(journal.rglob(f"*{PAGE}")))
        if rng.random() < 0.3:
            _change_columns(page, rng)
        else:
            data = page.read_bytes()
            replace_file(page, cut(data, rng) if rng.random() < 0.3 else mutate(data, rng, BYTES))
        out = folder / "submission.csv"
        argv = _predict("wheat", base / "data", out, "--journal", str(journal), *QUICK)
        oracle = valid_or_refused("wheat", out, (base / "submission.csv").read_bytes())
        return Case("a page of a journal", [(argv, oracle)])
