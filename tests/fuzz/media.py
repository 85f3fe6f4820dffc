"""Damaged images, recordings and sweeps among good ones, and damaged archives: checked, and predicted."""

from __future__ import annotations

import zipfile
from pathlib import Path
from random import Random

import numpy as np
import soundfile
from PIL import Image

from tests.fuzz.annotations import FORMATS
from tests.fuzz.case import Case, Oracle, Result, link_tree, replace_file, run
from tests.fuzz.mutations import BYTES, mutate

LEAST_CUT = 64
"""Bytes: a file that lacks more than these at its end is cut, whatever its last bytes are for."""
UNNOTICED_CUTS = {".bin", ".mp3"}
"""Kinds of files that can end anywhere, or nearly so."""
IMAGES = ("x.jpg", "x.png", "x.tif", "x-lzw.tif", "x.webp", "x.bmp", "x-gray16.png")
SOUNDS = ("x.wav", "x-24.wav", "x-float.wav", "x-rf64.wav", "x.flac", "x.ogg", "x.mp3", "x.aiff", "x.opus")
GOOD = ("good-1", "good-2")
PREDICTED = {"images": (".jpg", "wheat"), "sounds": (".flac", "upcalls.onnx")}
"""Kinds of media that are predicted: the suffix of the good ones, and the model."""
QUICK = {"images": ("image_size=64", "tta=1", "score_threshold=0.01"), "sounds": ("score_threshold=0.01",)}


def _write_images(folder: Path) -> None:
    folder.mkdir()
    noise = np.random.default_rng(1)
    coarse = Image.fromarray(noise.integers(0, 255, (12, 16, 3), np.uint8)).resize((160, 120))
    for name in IMAGES:
        if "gray16" in name:
            Image.fromarray(noise.integers(0, 60000, (60, 80)).astype(np.uint16)).save(folder / name)
        else:
            coarse.save(folder / name, **({"compression": "tiff_lzw"} if "lzw" in name else {}))


def _write_sounds(folder: Path) -> None:
    folder.mkdir()
    noise = np.random.default_rng(1)
    wave = 0.1 * noise.standard_normal(12_000)
    for name in SOUNDS:
        options = (
            {"format": "RF64"} if "rf64" in name else {"format": "OGG", "subtype": "OPUS"} if "opus" in name else {}
        )
        if "24" in name:
            options["subtype"] = "PCM_24"
        elif "float" in name:
            options["subtype"] = "FLOAT"
        rate = 8000 if name.endswith((".opus", ".mp3")) else 4000
        soundfile.write(str(folder / name), wave, rate, **options)


def _write_sweeps(folder: Path) -> None:
    (folder / "velodyne").mkdir(parents=True)
    points = np.random.default_rng(1).uniform(-20, 20, (500, 4)).astype("<f4")
    (folder / "velodyne" / "x.bin").write_bytes(points.tobytes())


def noticed(damaged: Path, original: bytes, items: int) -> Oracle:
    """Every file is an item or named by a problem; a file that was cut is always named."""

    def oracle(result: Result) -> str | None:
        if result.printed.get("items") not in (items, None) and not result.names(damaged):
            return f"{result.printed['items']} items instead of {items}"
        data = damaged.read_bytes()
        was_cut = original.startswith(data) and len(data) < len(original) - LEAST_CUT
        if was_cut and damaged.suffix not in UNNOTICED_CUTS and not result.names(damaged):
            return f"cut to {len(data)} of {len(original)} bytes, and not named"
        return None

    return oracle


def same_rows(out: Path, expected: dict[str, str]) -> Oracle:
    """The predictions of good files are what they are without the damaged one."""

    def oracle(result: Result) -> str | None:
        if not out.exists():
            return "no submission" if result.accepted else None
        found = _rows(out)
        changed = [name for name, row in expected.items() if found.get(name) != row]
        return f"other predictions for {changed}" if changed else None

    return oracle


def _rows(submission: Path) -> dict[str, str]:
    """The text of the rows of each item."""
    rows: dict[str, str] = {}
    for line in submission.read_text().splitlines()[1:]:
        name, _, cells = line.partition(",")
        rows[name] = rows.get(name, "") + cells + "\n"
    return rows


def _predict(base: Path, kind: str, data: Path, out: Path) -> list[str]:
    model = PREDICTED[kind][1]
    named = str(base / model) if model.endswith(".onnx") else model
    return ["predict", named, str(data), "--out", str(out), *QUICK[kind]]


class Media:
    """A damaged file beside two good ones."""

    def make_base(self, base: Path) -> None:
        from tests.untrained import untrained  # PyTorch, which only the base needs

        _write_images(base / "images")
        _write_sounds(base / "sounds")
        _write_sweeps(base / "sweeps")
        for kind, (suffix, model) in PREDICTED.items():
            good = base / f"good-{kind}"
            good.mkdir()
            for name in GOOD:
                (good / f"{name}{suffix}").write_bytes((base / kind / f"x{suffix}").read_bytes())
            if model.endswith(".onnx"):
                untrained("upcalls", base / model)
            done = run(_predict(base, kind, good, base / f"{kind}.csv"))
            assert done.accepted, done.output
            assert all(row.strip() for row in _rows(base / f"{kind}.csv").values()), "nothing to compare"

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        kind = rng.choice(("images", "images", "sounds", "sounds", "sweeps"))
        source = rng.choice(sorted(path for path in (base / kind).rglob("*") if path.is_file()))
        original = source.read_bytes()
        data = folder / "data"
        damaged = data / source.relative_to(base / kind)
        damaged.parent.mkdir(parents=True)
        for name in GOOD:
            other = rng.choice([path for path in source.parent.iterdir() if path.suffix != ".bin"] or [source])
            damaged.with_name(f"{name}{other.suffix}").write_bytes(other.read_bytes())
        damaged.write_bytes(mutate(original, rng, BYTES))
        challenge = {"images": "wheat", "sounds": "upcalls", "sweeps": "lyft"}[kind]
        commands = [(["check", challenge, str(data), "--json"], noticed(damaged, original, 3))]
        if kind in PREDICTED and rng.random() < 0.4:
            for path in data.glob("good-*"):
                path.unlink()
            link_tree(base / f"good-{kind}", data)
            out = folder / "submission.csv"
            commands.append((_predict(base, kind, data, out), same_rows(out, _rows(base / f"{kind}.csv"))))
        return Case(f"{kind}: {source.name}", commands)


def _readable(archive: Path) -> bool:
    """Whether the standard library reads every file in an archive; entries of folders have nothing to lose."""
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                if not member.is_dir():
                    _read(opened, member)
    except Exception:  # of which it has many
        return False
    return True


def _read(opened: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Read a file that is known by its name in the list, whatever it is called in front of its content."""
    try:
        opened.read(member)
    except zipfile.BadZipFile as error:
        if "differ" not in str(error):
            raise


class Archives:
    """A damaged zip archive of a data set."""

    def make_base(self, base: Path) -> None:
        for name in ("yolo", "wheat", "raven", "coco"):
            FORMATS[name].write(base / name)
            for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                with zipfile.ZipFile(base / f"{name}-{compression}.zip", "w", compression) as archive:
                    for path in sorted((base / name).rglob("*")):
                        archive.write(path, path.relative_to(base / name).as_posix())

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        source = rng.choice(sorted(base.glob("*.zip")))
        form = FORMATS[source.stem.split("-")[0]]
        inside = rng.random() < 0.5
        data = folder / "data" if inside else folder / "data.zip"
        damaged = data / "set.zip" if inside else data
        damaged.parent.mkdir(exist_ok=True)
        replace_file(damaged, mutate(source.read_bytes(), rng, BYTES))
        files = list((base / source.stem.split("-")[0]).rglob(form.pattern))
        objects = sum(form.count(path.read_bytes()) for path in files)

        def oracle(result: Result) -> str | None:
            if not result.accepted:
                return None if result.problems else "refused without a problem"
            if not _readable(damaged):
                return "accepted, but the archive is damaged"
            with zipfile.ZipFile(damaged) as archive:
                if len(archive.namelist()) != len(set(archive.namelist())) or len(archive.namelist()) < len(files) + 3:
                    return None  # a member was renamed, or is no longer listed
            found = result.printed["objects"]
            return None if found == objects else f"{found} objects instead of {objects}"

        return Case(f"archive {source.name}", [(["check", form.challenge, str(data), "--json"], oracle)])
