"""Truth and submission tables of the five challenges, and nuScenes results: checked, scored and repaired."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.case import Case, Oracle, Result, no_oracle
from tests.fuzz.mutations import JSON, mutate, texts
from tests.fuzz.slow_scores import SCORES
from tests.fuzz.slow_tables import SUBMISSION, TRUTH, Line, Unsure, by_item, read_cells, read_results
from tests.made import NAMES

TEXT = texts(", \t[]")
CLASSES = ("car", "bus", "pedestrian")


def _box(rng: Random) -> str:
    return f"{rng.randrange(60)} {rng.randrange(60)} {rng.randrange(1, 60)} {rng.choice((20, 20.5, 33))}"


def _cuboid(rng: Random) -> str:
    center = f"{rng.randrange(6)} {rng.randrange(4)} {rng.choice((0, 0.25))}"
    return f"{center} 2 {rng.choice((4, 4.5))} 1.5 {rng.choice((0, 0.1, -3.1))} {rng.choice(CLASSES)}"


def _runs(rng: Random, column: int) -> str:
    start = column * 768 + rng.randrange(1, 20)
    return f"{start} {rng.randrange(1, 9)} {start + 30} {rng.randrange(1, 9)}"


def _csv(header: str, rows: list[str]) -> bytes:
    return "\n".join([header, *rows, ""]).encode()


def make_tables(name: str, rng: Random) -> tuple[bytes, bytes]:
    """A small truth and submission that are valid and fit to each other."""
    ids = [f"i{number}" for number in range(rng.randrange(1, 5))]
    several = range(rng.randrange(4))

    def score() -> str:
        return rng.choice(("0.9", "0.5", "0.25", "1"))

    if name == "wheat":
        boxes = [f'{key},1024,1024,"[{_box(rng).replace(" ", ", ")}]",s' for key in ids for _ in (0, *several)]
        found = [f"{key},{' '.join(f'{score()} {_box(rng)}' for _ in several)}" for key in ids]
        return _csv("image_id,width,height,bbox,source", boxes), _csv("image_id,PredictionString", found)
    if name == "lyft":
        truth = [f"{key},{' '.join(_cuboid(rng) for _ in (0, *several))}" for key in ids]
        found = [f"{key},{' '.join(f'{score()} {_cuboid(rng)}' for _ in several)}" for key in ids]
        return _csv("Id,PredictionString", truth), _csv("Id,PredictionString", found)
    if name == "ships":
        truth = [f"{key}.jpg,{_runs(rng, column)}" for key in ids for column in several] or ["i0.jpg,"]
        listed = dict.fromkeys(row.split(",")[0] for row in truth)
        found = [f"{key},{_runs(rng, column)}" for key in listed for column in (0, *several)]
        return _csv("ImageId,EncodedPixels", truth), _csv("ImageId,EncodedPixels", found)
    if name == "food":
        truth = [f"{key},{rng.randrange(6)}" for key in ids]
        one_cell = rng.random() < 0.4
        found = [f"{key},{(' ' if one_cell else ',').join(map(str, rng.sample(range(8), 3)))}" for key in ids]
        return _csv("image_name,label", truth), _csv(
            f"image_name,{'labels' if one_cell else 'pred1,pred2,pred3'}", found
        )
    calls = [f"{key}.wav,{rng.randrange(20)},{rng.choice(('up', '', 'up'))}" for key in ids for _ in (0, *several)]
    found = [f"{key}.wav,{rng.randrange(40) / 2}" for key in ids for _ in several]
    return _csv("filename,timestamp,label", calls), _csv("filename,timestamp", found or ["i0.wav,3"])


def make_results(rng: Random) -> bytes:
    """A nuScenes results file."""

    def detection(token: str) -> dict[str, object]:
        return {
            "sample_token": token, "translation": [rng.randrange(6), 1.5, 0], "size": [2, 4, 1.5],
            "rotation": [1, 0, 0, 0], "velocity": [0, 0], "detection_name": rng.choice(CLASSES),
            "detection_score": 0.5, "attribute_name": "",
        }  # fmt: skip

    results = {f"i{at}": [detection(f"i{at}") for _ in range(rng.randrange(3))] for at in range(3)}
    return json.dumps({"meta": {}, "results": results}, indent=rng.choice((None, 0))).encode()


def counted(data: bytes, read: Callable[[bytes], list[Line]]) -> Oracle:
    """An accepted file has as many items and objects as the slow reader finds.

    Of a refused one, no line is lost that no problem is about.
    """

    def oracle(result: Result) -> str | None:
        try:
            lines = read(data)
        except Unsure:
            return None
        except (ValueError, LookupError, StopIteration, TypeError, AttributeError, RecursionError) as error:
            return f"accepted, but the slow reader fails: {error!r}" if result.accepted else None
        if not result.accepted:
            named = {problem.get("line") for problem in result.problems}
            kept = sum(len(line.objects) for line in lines if line.line not in named)
            whole = {"nul_byte", "encoding"} & set(result.printed["counts"])  # one such byte, and nothing is read
            listed = result.printed["total"] == len(result.problems) and None not in named
            lost = listed and not whole and result.printed["objects"] < kept
            return f"{result.printed['objects']} objects of at least {kept}" if lost else None
        found = result.printed["items"], result.printed["objects"]
        expected = len(by_item(lines)), sum(len(line.objects) for line in lines)
        return None if found == expected else f"{found} items and objects instead of {expected}"

    return oracle


def scored(name: str, truth: bytes, submission: bytes) -> Oracle:
    """A score is that of the slow scorer."""

    def oracle(result: Result) -> str | None:
        if not result.accepted:
            return None if result.problems else "refused without a problem"
        try:
            answers, found = by_item(TRUTH[name](truth)), by_item(SUBMISSION[name](submission))
            if name != "upcalls" and not set(found) <= set(answers):
                return None  # an id is written with and without a suffix, or ignored
            expected = SCORES[name](answers, found)
        except Unsure:
            return None
        score = result.printed["score"]
        same = score == expected or (None not in (score, expected) and abs(score - expected) < 1e-9)
        return None if same else f"score {score} instead of {expected}"

    return oracle


def repaired(name: str, data: bytes, out: Path) -> Oracle:
    """The repaired file has every object of the lines that no change is about."""

    def oracle(result: Result) -> str | None:
        if not result.accepted:
            return "a file that was not repaired is there" if out.exists() else None
        changes = result.printed["changes"]
        if any(change["line"] is None for change in changes):
            return None
        changed = {change["line"] for change in changes}
        header, rows = read_cells(data)
        whole = [",".join(header).encode()]
        kept: Counter[object] = Counter()
        for line, fields in rows:
            if line not in changed and len(fields) == len(header):
                try:
                    [one] = SUBMISSION[name](b"\n".join([*whole, _quoted(fields)]))
                except Unsure:
                    return None
                except (ValueError, KeyError) as error:
                    return f"line {line} is kept, but the slow reader fails: {error!r}"
                kept.update((one.id, *record) for record in one.objects)
        written = Counter((line.id, *record) for line in SUBMISSION[name](out.read_bytes()) for record in line.objects)
        if name == "upcalls":  # the repaired file has no labels
            kept = Counter({key[:2]: count for key, count in kept.items()})
            written = Counter({key[:2]: count for key, count in written.items()})
        lost = kept - written
        return f"lost in the repair: {dict(lost)}" if lost else None

    return oracle


def _quoted(fields: list[str]) -> bytes:
    return ",".join('"' + field.replace('"', '""') + '"' for field in fields).encode()


def must_be_valid(result: Result) -> str | None:
    return None if result.accepted else "a repaired file is not valid"


class Tables:
    """Cases in which one of the two files is damaged."""

    def __init__(self, damaged: str) -> None:
        self.damaged = damaged

    def make_base(self, base: Path) -> None:
        """Nothing is shared."""

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        name = rng.choice(NAMES)
        truth, submission = make_tables(name, rng)
        if self.damaged == "truth":
            truth = mutate(truth, rng, TEXT)
        else:
            submission = mutate(submission, rng, TEXT)
        (folder / "truth.csv").write_bytes(truth)
        path = folder / "submission.csv"
        path.write_bytes(submission)
        relaxed = [] if name == "upcalls" or rng.random() < 0.5 else ["-r", "missing=empty", "-r", "extra=ignore"]
        score = ["score", name, str(folder / "truth.csv"), str(path), "--json", *relaxed]
        commands = [(score, scored(name, truth, submission))]
        if self.damaged == "submission":
            out = folder / "repaired.csv"
            commands.insert(0, (["check", name, str(path), "--json"], counted(submission, SUBMISSION[name])))
            commands.append((["repair", name, str(path), "--out", str(out), "--json"], repaired(name, submission, out)))
            commands.append((["check", name, str(out), "--json"], lambda _: must_be_valid(_) if out.exists() else None))
        return Case(f"{self.damaged} of {name}", commands)


class Results:
    """Damaged nuScenes results files."""

    def make_base(self, base: Path) -> None:
        """Nothing is shared."""

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        data = mutate(make_results(rng), rng, JSON)
        path = folder / "results.json"
        path.write_bytes(data)
        truth, _ = make_tables("lyft", rng)
        (folder / "truth.csv").write_bytes(truth)
        relaxed = ["-r", "missing=empty", "-r", "extra=ignore"]
        return Case(
            "nuScenes results",
            [
                (["check", "lyft", str(path), "--json"], counted(data, read_results)),
                (["score", "lyft", str(folder / "truth.csv"), str(path), "--json", *relaxed], no_oracle),
                (["convert", "lyft", str(path), "--form", "official", "--out", str(folder / "out.csv")], no_oracle),
            ],
        )
