"""Loading and scoring: ours, other implementations and the floor, each in a process of its own.

    python -m benchmarks.score [CHALLENGE ...] [--repeat N] [--out FOLDER]

Times are the best of N calls or more in one warm process; the machine's speed cancels out of the ratios.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
from pathlib import Path

from benchmarks.harness import Timed, best_of_runs, run_apart, time_calls

PEERS = {
    "wheat": ["numpy_loop", "numpy_loop_tuned_here", "pycocotools_ap", "faster_coco_eval_ap"],
    "ships": ["pycocotools_rle", "faster_coco_eval_rle"],
    "lyft": ["shapely_vectorised"],
    "upcalls": ["pandas_script"],
    "food": ["pandas_merge", "plain_loop"],
}


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
    """The challenge's files, written once."""
    folder = out / challenge
    listing = folder / "files.json"
    if not listing.exists():
        folder.mkdir(parents=True, exist_ok=True)
        from benchmarks import files

        listing.write_text(json.dumps([str(path) for path in getattr(files, challenge)(folder)]))
    return json.loads(listing.read_text())


def compare(challenge: str, files: list[str], repeat: int) -> None:
    """Print a row for each contender."""

    def run(contender: str) -> Timed:
        return run_apart("benchmarks.score", "--repeat", str(repeat), "--one", challenge, contender, *files)

    results = best_of_runs(["floor", "ours", *PEERS[challenge]], run)
    floor, ours = results["floor"]["seconds"], results["ours"]["seconds"]
    for contender, result in results.items():
        seconds, score = result["seconds"], result["value"]
        if score is not None and not math.isclose(score, results["ours"]["value"], abs_tol=1e-9):
            raise SystemExit(f"{challenge}: {contender} scores {score}, ours {results['ours']['value']}")
        faster = "" if contender in ("ours", "floor") else f"{seconds / ours:.1f}x"
        number = "-" if score is None else f"{score:.6f}"
        row = (challenge, contender, f"{seconds:.3f}", f"{seconds / floor:.1f}x", faster, result["peak_mb"], number)
        print("|", " | ".join(map(str, row)), "|", flush=True)


def run_one(challenge: str, contender: str, truth: str, submission: str, repeat: int) -> Timed:
    """Time one contender in this process."""
    if contender == "ours":
        import tallymark

        def call(truth: str, submission: str) -> float:
            return tallymark.score(challenge, truth, submission).value
    else:
        call = getattr(importlib.import_module(f"benchmarks.peers.{challenge}"), contender)
    timed = time_calls(lambda: call(truth, submission), repeat)
    return timed | {"value": None if math.isnan(timed["value"]) else timed["value"]}


if __name__ == "__main__":
    main()
