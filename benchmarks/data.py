"""Reading data sets, decoding media and writing synthetic ones, beside bare libraries, each in its own process.

    python -m benchmarks.data [WHAT ...] [--repeat N] [--out FOLDER]

The real wheat truth is used where the environment variable TALLYMARK_DATA names a folder that has it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import sets
from benchmarks.harness import best_of_runs, run_apart, time_calls

Call = Callable[[Path], Any]
"""Reads what is in a folder; returns a count on which all contenders must agree."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=list(CONTENDERS), metavar="WHAT")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out" / "data")
    parser.add_argument("--one", nargs=2, metavar=("WHAT", "CONTENDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        what, contender = arguments.one
        call = CONTENDERS[what][contender]
        print(json.dumps(time_calls(lambda: call(folder_of(what, arguments.out)), arguments.repeat)))
        return
    print("| what | contender | seconds | a second | of the bare library | peak MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for what in arguments.what:
        compare(what, arguments.out, arguments.repeat)


def folder_of(what: str, out: Path) -> Path:
    """The data of a benchmark, written once."""
    folder = out / what
    if not folder.exists():
        folder.mkdir(parents=True)
        if what in MAKERS:
            MAKERS[what](folder)
    return folder


def compare(what: str, out: Path, repeat: int) -> None:
    folder_of(what, out)
    contenders = list(CONTENDERS[what])

    def run(contender: str) -> dict[str, Any]:
        return run_apart("benchmarks.data", "--repeat", str(repeat), "--out", str(out), "--one", what, contender)

    results = best_of_runs(contenders, run)
    bare = results[contenders[0]]
    for contender, result in results.items():
        if result["value"] != bare["value"]:
            raise SystemExit(f"{what}: {contender} counts {result['value']}, {contenders[0]} {bare['value']}")
        speed = result["value"] / result["seconds"]
        share = bare["seconds"] / result["seconds"]
        row = (what, contender, f"{result['seconds']:.3f}", f"{speed:,.1f} {UNITS[what]}", f"{share:.2f}x")
        print("|", " | ".join(row), "|", result["peak_mb"], "|", flush=True)


def ours(name: str) -> Call:
    """Objects (or items) that `tallymark.read` returns."""

    def call(folder: Path) -> int:
        import tallymark

        catalog = tallymark.read(name, folder)
        return len(catalog) if catalog.truth is None else len(catalog.truth)

    return call


def wheat_polars(folder: Path) -> int:
    """Reading and splitting without any check: the floor."""
    import polars as pl

    cells = pl.read_csv(folder / "train.csv", infer_schema=False)["bbox"]
    numbers = cells.str.strip_chars("[]").str.split(", ").explode().cast(pl.Float64)
    return len(numbers.to_numpy().reshape(-1, 4))


def wheat_pandas(folder: Path) -> int:
    """As public notebooks do it, with a safe parser in place of eval."""
    import numpy as np
    import pandas as pd

    table = pd.read_csv(folder / "train.csv")
    return len(np.stack(table["bbox"].map(ast.literal_eval).to_list()))


def ships_polars(folder: Path) -> int:
    import polars as pl

    table = pl.read_csv(folder / "train_ship_segmentations_v2.csv", infer_schema=False)
    masks = table["EncodedPixels"].drop_nulls()
    masks.str.split(" ").explode().cast(pl.Int64).to_numpy().reshape(-1, 2)
    return len(masks)


def ships_pandas(folder: Path) -> int:
    import numpy as np
    import pandas as pd

    table = pd.read_csv(folder / "train_ship_segmentations_v2.csv")
    masks = [np.array(text.split(), int).reshape(-1, 2) for text in table["EncodedPixels"].dropna()]
    return len(masks)


def lyft_json(folder: Path) -> int:
    """All tables as Python objects, and an index of tokens for each, as development kits do."""
    tables = {path.stem: json.loads(path.read_bytes()) for path in (folder / "train_data").glob("*.json")}
    index = {name: {row["token"]: at for at, row in enumerate(rows)} for name, rows in tables.items()}
    for annotation in tables["sample_annotation"]:
        index["sample"][annotation["sample_token"]]
    return len(tables["sample_annotation"])


def headers_bare(folder: Path) -> float:
    import soundfile

    return round(sum(soundfile.info(str(path)).duration for path in folder.glob("*.wav")) / 3600, 6)


def headers_ours(folder: Path) -> float:
    from tallymark.core.problems import Problems
    from tallymark.io.audio import hours_of

    return round(hours_of(sorted(folder.glob("*.wav")), Problems()), 6)


def on_all_cores(read: Callable[[Path], Any], paths: Iterable[Path]) -> int:
    """Decode every file, as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(1 for _ in pool.map(read, paths))


def images_bare(folder: Path) -> int:
    import cv2

    return on_all_cores(lambda path: cv2.imread(str(path), cv2.IMREAD_COLOR_RGB), folder.rglob("*.jpg"))


def images_ours(folder: Path) -> int:
    from tallymark.io.images import read_image

    return on_all_cores(read_image, folder.rglob("*.jpg"))


def images_checked(folder: Path) -> int:
    """What `check` does with each image: decode to the end, size, thumbnail, digest."""
    from tallymark.io.images import inspect_image

    return on_all_cores(inspect_image, folder.rglob("*.jpg"))


def sweeps_bare(folder: Path) -> int:
    import numpy as np

    return on_all_cores(lambda path: np.fromfile(path, np.float32).reshape(-1, 5), folder.rglob("*.bin"))


def sweeps_ours(folder: Path) -> int:
    from tallymark.io.lidar import read_sweep

    return on_all_cores(lambda path: read_sweep(path, 5), folder.rglob("*.bin"))


def audio_bare(folder: Path) -> float:
    import soundfile

    on_all_cores(lambda path: soundfile.read(str(path), dtype="float32"), folder.rglob("*.wav"))
    return headers_bare_below(folder)


def audio_ours(folder: Path) -> float:
    from tallymark.io.audio import read_sound

    on_all_cores(read_sound, folder.rglob("*.wav"))
    return headers_bare_below(folder)


def headers_bare_below(folder: Path) -> float:
    import soundfile

    return round(sum(soundfile.info(str(path)).duration for path in folder.rglob("*.wav")) / 3600, 6)


def making(name: str, **options: Any) -> dict[str, Call]:
    """Write a synthetic set, and count its items; for recordings, the seconds in them."""

    def call(folder: Path) -> float:
        import tallymark

        with tempfile.TemporaryDirectory(dir=folder) as place:
            tallymark.synth(name, place, **options)
        return options["items"] * options.get("seconds", 1)

    return {"tallymark": call}


def made(name: str, **options: Any) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        import tallymark

        tallymark.synth(name, folder, **options)

    return make


READING: dict[str, dict[str, Call]] = {
    "wheat truth": {"polars alone": wheat_polars, "tallymark": ours("wheat"), "pandas": wheat_pandas},
    "ships truth": {"polars alone": ships_polars, "tallymark": ours("ships"), "pandas": ships_pandas},
    "lyft tables": {"json and dictionaries": lyft_json, "tallymark": ours("lyft")},
    "lyft tables, whole set": {"json and dictionaries": lyft_json, "tallymark": ours("lyft")},
    "audio headers": {"soundfile alone": headers_bare, "tallymark": headers_ours},
}
DECODING: dict[str, dict[str, Call]] = {
    "photographs": {"OpenCV alone": images_bare, "tallymark": images_ours, "tallymark check": images_checked},
    "chips": {"OpenCV alone": images_bare, "tallymark": images_ours, "tallymark check": images_checked},
    "sweeps": {"NumPy alone": sweeps_bare, "tallymark": sweeps_ours},
    "audio": {"soundfile alone": audio_bare, "tallymark": audio_ours},
}
MAKING: dict[str, dict[str, Call]] = {
    "making photographs": making("wheat", items=60),
    "making chips": making("ships", items=60),
    "making dishes": making("food", items=150),
    "making sweeps and images": making("lyft", items=40),
    "making sound at 2 kHz": making("upcalls", items=8, seconds=900, test_rate=2000),
    "making sound at 32 kHz": making("upcalls", items=4, seconds=300, rate=32000),
}
CONTENDERS = READING | DECODING | MAKING
MAKERS: dict[str, Callable[[Path], None]] = {
    "wheat truth": sets.wheat,
    "ships truth": sets.ships,
    "lyft tables": sets.lyft,
    "lyft tables, whole set": sets.lyft_whole,
    "audio headers": sets.upcalls,
    "photographs": made("wheat", items=100, size=1024),
    "chips": made("ships", items=150),
    "sweeps": made("lyft", items=60, cameras="none"),
    "audio": made("upcalls", items=20),
}
UNITS = {
    "wheat truth": "boxes",
    "ships truth": "masks",
    "lyft tables": "cuboids",
    "lyft tables, whole set": "cuboids",
    "audio headers": "hours",
    "photographs": "photographs of 1024 px",
    "chips": "chips of 768 px",
    "sweeps": "sweeps",
    "audio": "hours",
    "making photographs": "photographs of 512 px",
    "making chips": "chips of 768 px",
    "making dishes": "photographs of 256 px",
    "making sweeps and images": "samples, with 3 images each",
    "making sound at 2 kHz": "seconds",
    "making sound at 32 kHz": "seconds",
}

if __name__ == "__main__":
    main()
