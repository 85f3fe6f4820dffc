"""Archives: peak memory of `tallymark predict` against the number of items, and what an item costs the driver.

    python -m benchmarks.archive [--items 400 4000] [--workers 1 2]
    python -m benchmarks.archive --driver 20000
    python -m benchmarks.archive --rows 10000 100000 1000000

The first predicts folders of small synthetic photographs with the pretrained wheat model, each by a process of its own.
The second measures what the process that hands out shards does for each item, without any inference. The third measures
the peak memory of writing submissions of so many rows, beside the size of the files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.harness import peak_memory, run_apart

SOURCES = 40
"""Different photographs; the others are links to them."""
MEGABYTE = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[400, 4000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--driver", type=int, metavar="ITEMS")
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if given.only is not None:
            print(json.dumps(write_rows(given.only, Path(temporary) / "submission.csv")))
        elif given.rows:
            print_submissions(given.rows)
        elif given.driver:
            print_driver(given.driver, Path(temporary))
        else:
            print_peaks(given.items, given.workers, Path(temporary))


def print_peaks(sizes: list[int], workers: list[int], folder: Path) -> None:
    print("| items | workers | seconds | driver, peak MB | of the first | worker, peak MB | of the first |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for count in workers:
        first: tuple[float, float] | None = None
        for items in sizes:
            data = make_photographs(folder / f"{items}", items)
            started = time.monotonic()
            driver, worker = peaks_of_prediction(data, folder / f"out-{count}-{items}.csv", count)
            seconds = time.monotonic() - started
            first = first or (driver, worker)
            pairs = zip((driver, worker), first, strict=True)
            shares = [f"{peak:.0f} | {peak / before:.2f}" if before else "- | -" for peak, before in pairs]
            print(f"| {items} | {count} | {seconds:.0f} | {' | '.join(shares)} |", flush=True)


def make_photographs(folder: Path, items: int) -> Path:
    """A folder of small photographs."""
    from tallymark.api import data as api_data

    if folder.exists():
        return folder
    source = folder.with_name("source")
    if not source.exists():
        api_data.synth("wheat", source, items=SOURCES, size=192)
    photographs = sorted(source.rglob("*.jpg"))
    folder.mkdir()
    for number in range(items):
        os.link(photographs[number % len(photographs)], folder / f"{number:07}.jpg")
    return folder


def peaks_of_prediction(data: Path, out: Path, workers: int) -> tuple[float, float]:
    """Peak memory in MB of the process that is started, and of the largest of its workers."""
    words = ["predict", "wheat", data, "--out", out, "--workers", workers, "image_size=128", "tta=1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tallymark", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    driver = worker = 0.0
    while process.poll() is None:
        driver = max(driver, peak_of(process.pid))
        worker = max([worker, *map(peak_of, children_of(process.pid))])
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"predict ended with {process.returncode}")
    return driver, worker


def children_of(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def peak_of(process: int) -> float:
    """Peak memory of a process in MB; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError):
        return 0.0


def print_driver(items: int, folder: Path) -> None:
    """What the driver does for each item: time of the processor in microseconds, and memory in bytes."""
    from tallymark import read
    from tallymark.api.models import open_model
    from tallymark.data.items import Items
    from tallymark.inference.infer_catalog import Shards
    from tallymark.inference.item_keys import item_key
    from tallymark.inference.journal import Journal
    from tallymark.inference.journal_folder import JournalFolder
    from tallymark.inference.journal_pages import write_page
    from tallymark.inference.pipeline import unread_candidates
    from tallymark.modalities.base import InputPlan

    data = make_photographs(folder / "data", items)
    model = open_model("wheat")
    recipe = model.metadata.recipe
    plan = InputPlan()
    costs: list[tuple[str, float, float]] = []

    def measure(what: str, call: Callable[[], object]) -> object:
        before, memory = time.process_time(), resident()
        value = call()
        costs.append((what, 1e6 * (time.process_time() - before) / items, (resident() - memory) / items))
        return value

    catalog = measure("list the folder", lambda: read("wheat", data).with_media())
    keys = measure("keys of the items", lambda: [item_key(catalog, item, recipe, plan) for item in range(items)])
    place = JournalFolder(folder / "journal")
    journal = Journal(place, model.sessions, recipe)
    shards = measure(
        "make shards", lambda: [len(shard) for shard in Shards(catalog, plan, keys, keys, np.arange(items), 100)]
    )
    size, presence = np.ones((items, 2)), np.ones(items)
    measure("note what is done", lambda: journal.note("0.page", keys, size, presence))
    journal.close()
    page = 1000
    for start in range(0, items, page):
        write_page(
            journal.folder / f"{start}.page", unread_candidates(Items.of(keys[start : start + page]), recipe, ())
        )
    again = measure("open the journal again", lambda: Journal(place, model.sessions, recipe))
    measure("look up what is done", lambda: again.candidates(catalog.items, keys))
    again.close()
    print("| what the driver does | µs of an item | bytes of an item |")
    print("| --- | --- | --- |")
    for what, microseconds, memory in costs:
        print(f"| {what} | {microseconds:.1f} | {max(memory, 0):.0f} |")
    print(f"| all | {sum(cost[1] for cost in costs):.1f} | {sum(max(cost[2], 0) for cost in costs):.0f} |")
    print(f"{items} items, {len(shards)} shards for 100 workers")


def resident() -> int:
    """Memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def print_submissions(sizes: list[int]) -> None:
    print("| rows | file MB | peak MB | above the smallest, of the file |")
    print("| --- | --- | --- | --- |")
    first: dict[str, float] | None = None
    for rows in sizes:
        found = run_apart("benchmarks.archive", "--only", str(rows))
        first = first or found
        grown = found["peak_mb"] - first["peak_mb"]
        share = "" if found is first else f"{grown / (found['file_mb'] - first['file_mb']):.1f}"
        print(f"| {rows} | {found['file_mb']:.1f} | {found['peak_mb']:.0f} | {share} |", flush=True)


def write_rows(rows: int, path: Path) -> dict[str, float]:
    """Write a wheat submission of so many rows, each with five boxes; its size and the peak memory of this process."""
    from tallymark.api.score import write
    from tallymark.data.annotations import Annotations
    from tallymark.data.items import Items
    from tallymark.geometry import Boxes

    rng = np.random.default_rng(0)
    boxes = np.concatenate([rng.integers(0, 900, (5 * rows, 2)), rng.integers(1, 100, (5 * rows, 2))], 1)
    items = Items.of([f"{number:09x}" for number in range(rows)])
    predictions = Annotations.from_rows(
        items, np.repeat(np.arange(rows), 5), Boxes.of(boxes), score=rng.random(5 * rows)
    )
    held = peak_memory()
    write("wheat", predictions, path)
    return {"file_mb": path.stat().st_size / MEGABYTE, "held_mb": held, "peak_mb": peak_memory()}


if __name__ == "__main__":
    main()
