"""Golden outputs: the files and JSON of every verb, recorded before a refactoring and compared after it.

    python tools/golden.py record before.json [--photographs FOLDER]
    python tools/golden.py compare before.json after.json [--renamed old=new,…]

`record` runs the command line on synthetic sets of all challenges with one thread and fixed seeds, so that two records
of the same code are equal. To record another checkout, set PYTHONPATH to it; `--spelling ours=theirs,…` gives the names
that its command line has for our options. `compare` lists every difference other than a renamed key or column, and
exits with 1 if there is any.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SETS = {
    "wheat": ["--items", "16", "size=256"],
    "upcalls": ["--items", "10", "seconds=30", "calls=240"],
    "food": ["--items", "40", "size=64", "classes=5"],
    "lyft": ["--items", "10", "samples_per_scene=2", "cameras=none", "columns=512"],
    "ships": ["--items", "24", "size=256", "empty=0.3"],
}
RULE = {"ships": ["--rule", "shape=256x256"]}
FORMS = {"lyft": "nuscenes", "food": "kaggle"}
EXPORTS = {"upcalls": ["--days", "days.csv", "--raven", "raven", "--audacity", "audacity"]}
VOLATILE = {"seconds", "steps_per_second", "begun", "ended", "started", "finished", "data", "packages", "out", "run"}
"""Keys of values that differ from run to run, or name a folder."""
PROSE = {"found", "expected", "remedy", "what", "message", "notes", "rule", "values", "title", "hint"}
"""Keys of sentences."""


class Recorder:
    def __init__(self, folder: Path, spelling: dict[str, str]) -> None:
        self.folder, self.spelling = folder, spelling
        self.steps: dict[str, Any] = {}

    def run(self, step: str, *arguments: str, outputs: tuple[str, ...] = ()) -> None:
        """Run one command in the folder; keep its exit code, its JSON and the named outputs."""
        spelled = [self._spelled(word) for word in arguments]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "120"}
        done = subprocess.run(
            [sys.executable, "-m", "tallymark", *spelled], cwd=self.folder, capture_output=True, text=True,
            env=environment, check=False,
        )  # fmt: skip
        if "Traceback" in done.stderr or (done.returncode not in (0, 2)):
            print(f"{step}: {' '.join(spelled)}\n{done.stderr[-3000:]}", file=sys.stderr)
        kept: dict[str, Any] = {"exit": done.returncode}
        if "--json" in arguments:
            kept["json"] = json.loads(done.stdout) if done.stdout.strip() else None
        for name in outputs:
            for path in sorted(self._files(name)):
                kept[path.relative_to(self.folder).as_posix()] = content(path)
        self.steps[step] = kept
        print(f"{step}: exit {done.returncode}", file=sys.stderr, flush=True)

    def _spelled(self, word: str) -> str:
        key, equals, value = word.partition("=")
        return self.spelling.get(key, key) + equals + value

    def _files(self, name: str) -> Iterator[Path]:
        path = self.folder / name
        yield from (one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]


def content(path: Path) -> Any:
    """What is compared of a file: rows of text, values of JSON, tensors of weights, else the bytes."""
    if not path.exists():
        return None
    if path.suffix in (".csv", ".txt"):
        return {"rows": path.read_text().splitlines()}
    if path.suffix == ".json":
        return {"json": json.loads(path.read_text())}
    if path.suffix == ".jsonl":
        return {"json": [json.loads(line) for line in path.read_text().splitlines()]}
    if path.suffix == ".html":
        return {"there": path.stat().st_size > 1000}
    if path.name in ("weights.pt",):
        import torch

        state = torch.load(path, weights_only=True)
        return {"tensors": sorted(hashlib.sha256(value.numpy().tobytes()).hexdigest() for value in state.values())}
    if path.suffix in (".onnx", ".pt", ".toml"):
        return {"there": True}
    return {"bytes": hashlib.sha256(path.read_bytes()).hexdigest()}


def record(folder: Path, spelling: dict[str, str], photographs: Path | None) -> dict[str, Any]:
    recorder = Recorder(folder, spelling)
    recorder.run("list", "list", "--json")
    for name in SETS:
        _challenge(recorder, name)
    if photographs is not None:
        arguments = ("predict", "wheat", str(photographs), "--out", "photographs.csv", "--json")
        recorder.run("photographs", *arguments, outputs=("photographs.csv",))
    return recorder.steps


def _challenge(recorder: Recorder, name: str) -> None:
    run, rule, home = recorder.run, RULE.get(name, []), recorder.folder
    run(f"{name} synth", "synth", name, name, *SETS[name], outputs=(name,))
    run(f"{name} check folder", "check", name, name, *rule, "--json")
    run(f"{name} explore", "explore", name, name, "--out", f"{name}.html", *rule, outputs=(f"{name}.html",))
    folds = f"{name}-folds.csv"
    run(f"{name} folds", "folds", name, name, "--folds", "3", "--out", folds, *rule, "--json", outputs=(folds,))
    _example(recorder, name)
    out, trained = home / f"{name}-run", f"{name}-run"
    train = ("train", name, name, "--preset", "tiny", "--out", trained, "epochs=3", *rule, "--json")
    logs = [f"{out.name}/{file}" for file in ("score.json", "tuning.csv", "log.jsonl", "trained_on.csv", "weights.pt")]
    run(f"{name} train", *train, outputs=tuple(logs))
    sent, counts, objects = (f"{name}-{what}.csv" for what in ("sent", "counts", "objects"))
    extra = [f"{name}-{word}" if not word.startswith("-") else word for word in EXPORTS.get(name, [])]
    tables = (*([] if name == "food" else ["--counts", counts]), "--objects", objects, *extra)  # labels: no counts
    outputs = (sent, counts, objects, *(word for word in extra if not word.startswith("-")))
    low = ["score_threshold=0.1"] if name != "food" else []
    more = [*rule, *low, "--out", sent, "--json"]
    run(f"{name} predict", "predict", trained, name, *more, *tables, outputs=outputs)
    run(f"{name} predict train split", "predict", trained, name, *more, "--split", "train", outputs=(sent,))
    if name != "upcalls":
        run(f"{name} predict tta", "predict", trained, name, *more, "tta=4", outputs=(sent,))
    for number in (1, 2):
        journal = ("--journal", f"{name}-journal")
        run(f"{name} predict journal {number}", "predict", trained, name, *more, *journal, outputs=(sent,))
    solution = f"{name}/solution.csv" if (home / name / "solution.csv").exists() else name
    run(f"{name} score of run", "score", name, solution, sent, *rule, "--json")
    if name == "lyft":
        far = ("--by-distance", name, "--json")
        run("lyft by distance", "score", name, solution, sent, *far)


def _example(recorder: Recorder, name: str) -> None:
    """Score, compare, break, check and repair the challenge's own example."""
    import tallymark

    example = Path(tallymark.__file__).parent / "challenges" / name / "example"
    truth, sent, broken = str(example / "truth.csv"), str(example / "submission.csv"), f"{name}-broken.csv"
    lines = (example / "submission.csv").read_text().splitlines()
    damaged = [lines[0], lines[1] + " 7", *lines[3:], lines[-1]]
    (recorder.folder / broken).write_text("\n".join(damaged) + "\n")
    items, pairs, repaired = (f"{name}-{what}.csv" for what in ("items", "pairs", "mended"))
    run = recorder.run
    tables = ("--per-item", items, "--pairs", pairs, "--json")
    run(f"{name} score", "score", name, truth, sent, *tables, outputs=(items, pairs))
    run(f"{name} check broken", "check", name, broken, "--against", sent, "--json")
    run(f"{name} repair", "repair", name, broken, "--against", sent, "--out", repaired, "--json", outputs=(repaired,))
    run(f"{name} compare", "compare", name, truth, repaired, sent, "--json")
    if name in FORMS:
        out = f"{name}-converted" + (".json" if name == "lyft" else ".csv")
        run(f"{name} convert", "convert", name, sent, "--out", out, "--form", FORMS[name], outputs=(out,))


def plain(value: Any, renamed: dict[str, str]) -> Any:
    """A record without volatile values and prose, with the new names of keys and columns."""
    if isinstance(value, dict):
        if set(value) == {"rows"}:
            return [_columns(value["rows"], renamed)]
        kept = {renamed.get(key, key): item for key, item in value.items()}
        return {key: plain(item, renamed) for key, item in kept.items() if key not in VOLATILE | PROSE}
    if isinstance(value, list):
        return [plain(item, renamed) for item in value]
    return renamed.get(value, value) if isinstance(value, str) else value


def _columns(rows: list[str], renamed: dict[str, str]) -> list[str]:
    if not rows:
        return rows
    header = next(csv.reader(io.StringIO(rows[0])))
    return [",".join(renamed.get(name, name) for name in header), *rows[1:]]


def differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            if key not in before or key not in after:
                yield f"{place}/{key}: only {'before' if key in before else 'after'}"
            else:
                yield from differences(before[key], after[key], f"{place}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    elif before != after:
        yield f"{place}: {str(before)[:200]} -> {str(after)[:200]}"


def words(pairs: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in filter(None, pairs.split(",")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("record")
    one.add_argument("out", type=Path)
    one.add_argument("--photographs", type=Path)
    one.add_argument("--spelling", default="", help="ours=theirs,… (write --spelling=… where a word begins with -)")
    two = verbs.add_parser("compare")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    two.add_argument("--renamed", default="", help="before=after,…")
    given = parser.parse_args()
    if given.verb == "record":
        with tempfile.TemporaryDirectory() as folder:
            steps = record(Path(folder), words(given.spelling), given.photographs and given.photographs.resolve())
        given.out.write_text(json.dumps(steps))
        return 0
    renamed = words(given.renamed)
    before, after = (plain(json.loads(path.read_text()), renamed) for path in (given.before, given.after))
    found = list(differences(before, after))
    print("\n".join(found) or f"no difference in {len(before)} steps")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
