"""Load and score: ours, the peers and the floor side by side, each in a process of its own.

    python -m benchmarks.score [CHALLENGE ...] [--repeat N] [--out FOLDER]

Times are the best of N calls or more in one warm process; the machine's speed cancels out of the ratios.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

PEERS = {
    "wheat": ["numpy_loop", "numpy_loop_tuned_here", "pycocotools_ap", "faster_coco_eval_ap"],
    "ships": ["pycocotools_rle", "faster_coco_eval_rle"],
    "lyft": ["shapely_vectorised"],
    "upcalls": ["pandas_script"],
    "food": ["pandas_merge", "plain_loop"],
}
SLOW = 5.0
"""A contender that takes longer than this many seconds is called once only."""
LONG_ENOUGH = 3.0
"""A quick one is called for at least this many seconds, because machines have bad moments."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("challenges", nargs="*", default=list(PEERS), metavar="CHALLENGE")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    parser.add_argument(
        "--one", nargs=4, metavar=("CHALLENGE", "CONTENDER", "TRUTH", "SUBMISSION"), help=argparse.SUPPRESS
    )
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run_one(*arguments.one, arguments.repeat)))
        return
    print("| rule | contender | seconds | of the floor | ours is faster by | peak MB | score |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for challenge in arguments.challenges:
        compare(challenge, make_files(challenge, arguments.out), arguments.repeat)


def make_files(challenge: str, out: Path) -> list[str]:
    """The challenge's files, made once."""
    folder = out / challenge
    listing = folder / "files.json"
    if not listing.exists():
        folder.mkdir(parents=True, exist_ok=True)
        from benchmarks import files

        listing.write_text(json.dumps([str(path) for path in getattr(files, challenge)(folder)]))
    return json.loads(listing.read_text())


def compare(challenge: str, files: list[str], repeat: int) -> None:
    """Print a row for each contender. Floor and ours run twice, before and after the peers, and keep their best."""
    contenders = ["floor", "ours", *PEERS[challenge], "floor", "ours"]
    results: dict[str, dict[str, float | None]] = {}
    for contender in contenders:
        result = run_apart(challenge, contender, files, repeat)
        if contender not in results or result["seconds"] < results[contender]["seconds"]:
            results[contender] = result
    floor, ours = results["floor"]["seconds"], results["ours"]["seconds"]
    for contender, result in results.items():
        seconds, score = result["seconds"], result["score"]
        if score is not None and not math.isclose(score, results["ours"]["score"], abs_tol=1e-9):
            raise SystemExit(f"{challenge}: {contender} scores {score}, ours {results['ours']['score']}")
        faster = "" if contender in ("ours", "floor") else f"{seconds / ours:.1f}x"
        number = "-" if score is None else f"{score:.6f}"
        row = (challenge, contender, f"{seconds:.3f}", f"{seconds / floor:.1f}x", faster, result["peak_mb"], number)
        print("|", " | ".join(map(str, row)), "|", flush=True)


def run_apart(challenge: str, contender: str, files: list[str], repeat: int) -> dict[str, float | None]:
    """Run one contender in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.score", "--repeat", str(repeat), "--one", challenge, contender, *files]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    printed = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
    return json.loads(printed.stdout)


def run_one(challenge: str, contender: str, truth: str, submission: str, repeat: int) -> dict[str, float | None]:
    """Time one contender in this process."""
    if contender == "ours":
        import tallymark

        def call(truth: str, submission: str) -> float:
            return tallymark.score(challenge, truth, submission).value
    else:
        call = getattr(importlib.import_module(f"benchmarks.peers.{challenge}"), contender)
    best, score, spent, calls = math.inf, math.nan, 0.0, 0
    while not calls or (best <= SLOW and (calls < repeat or spent < LONG_ENOUGH)):
        start = time.perf_counter()
        score = call(truth, submission)
        took = time.perf_counter() - start
        best, spent, calls = min(best, took), spent + took, calls + 1
    return {"seconds": best, "score": None if math.isnan(score) else score, "peak_mb": peak_memory()}


def peak_memory() -> int:
    """The most memory that this process has had, in MB (Linux; getrusage would count the parent's too)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


if __name__ == "__main__":
    main()
