"""Lists beside the data: exclusions, sample submissions, class names; and values of options."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.fuzz.annotations import FORMATS, STEMS
from tests.fuzz.case import Case, Oracle, Result, link_tree, no_oracle, replace_file
from tests.fuzz.mutations import TOKENS, Mutation, mutate, texts
from tests.fuzz.slow_tables import SUBMISSION, Unsure, read_cells
from tests.fuzz.tables import make_tables
from tests.made import NAMES

YAML = (
    "&a [*a, *a]", "!!python/object/apply:os.getcwd []", "[" * 3000 + "]" * 3000, "{? [a]: b}", "0x1F", "1e5", "~",
    "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
    "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\nnames: [*d,*d,*d,*d,*d,*d,*d,*d,*d]", "2001-01-01", "- - -", "|", "%x", "? ",
)  # fmt: skip


def _insert_yaml(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    lines.insert(
        rng.randrange(len(lines) + 1), rng.choice(("", "names: ", "  0: ")).encode() + rng.choice(YAML).encode()
    )
    return b"\n".join(lines)


YAML_TEXT: tuple[Mutation, ...] = (*texts(": []"), *(_insert_yaml,) * 6)


def excluded(data: bytes, items: int, objects: int) -> Oracle:
    """An accepted list excludes what it names, and nothing else."""

    def oracle(result: Result) -> str | None:
        if not result.accepted:
            return None if result.problems else "refused without a problem"
        try:
            header, rows = read_cells(data)
        except (Unsure, ValueError):
            return None
        if "number" in header and any(
            fields[header.index("number")] for _, fields in rows if len(fields) == len(header)
        ):
            return None  # single objects are in tests of their own
        names = {fields[header.index("item")] for _, fields in rows}
        gone = sum(stem in names for stem in STEMS)
        found = result.printed["items"], result.printed["objects"]
        expected = items - gone, objects - gone * objects // items
        return None if found == expected else f"{found} items and objects instead of {expected}"

    return oracle


def expected_ids(submission: bytes, sample: bytes) -> Oracle:
    """Against an accepted sample, the submission has exactly its ids."""

    def oracle(result: Result) -> str | None:
        if not result.accepted:
            return None if result.problems else "refused without a problem"
        header, rows = read_cells(sample)
        ids = {fields[header.index("image_id")] for _, fields in rows}
        own = {line.id for line in SUBMISSION["wheat"](submission)}
        return None if ids == own else f"accepted, but {sorted(ids ^ own)} are not in both"

    return oracle


class Lists:
    """A damaged list beside good data."""

    def make_base(self, base: Path) -> None:
        for name in ("wheat", "yolo", "food"):
            FORMATS[name].write(base / name)

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        kind = rng.choice(("exclude", "sample", "yaml", "classes", "class_list"))
        file = folder / "list.csv"
        if kind == "sample":
            _, submission = make_tables("wheat", rng)
            (folder / "submission.csv").write_bytes(submission)
            sample = mutate(submission, rng, texts(", "))
            file.write_bytes(sample)
            check = ["check", "wheat", str(folder / "submission.csv"), "--against", str(file), "--json"]
            return Case(kind, [(check, expected_ids(submission, sample))])
        name = {"exclude": "wheat", "class_list": "food"}.get(kind, "yolo")
        form = FORMATS[name]
        data = folder / "data"
        link_tree(base / name, data)
        if kind == "exclude":
            rows = f"kind,item,number\ngiant_box,{rng.choice(STEMS)},\nx,{rng.choice(STEMS)},\n".encode()
            rows = mutate(rows, rng, texts(","))
            file.write_bytes(rows)
            check = ["check", form.challenge, str(data), "--exclude", str(file), "--json"]
            return Case(kind, [(check, excluded(rows, 3, 6))])
        listed = {"yaml": "data.yaml", "classes": "classes.txt", "class_list": "class_list.txt"}[kind]
        text = {
            "yaml": "train: images\nnc: 2\nnames:\n  0: head\n  1: leaf\n",
            "classes": "head\nleaf\n",
            "class_list": "0 apple pie\n1 soup\n2 cake\n",
        }[kind]
        replace_file(data / listed, mutate(text.encode(), rng, YAML_TEXT if kind == "yaml" else texts(" ")))
        objects = sum(form.count(path.read_bytes()) for path in data.glob(form.pattern))

        def oracle(result: Result) -> str | None:
            if not result.accepted:
                return None if result.problems else "refused without a problem"
            found = result.printed["objects"]
            return None if found == objects else f"{found} objects instead of {objects}"

        return Case(listed, [(["check", form.challenge, str(data), "--json"], oracle)])


RULES = {
    "wheat": ("missing", "iou_comparison", "match", "empty_image"),
    "upcalls": ("buffer_s", "hours", "labels"),
    "food": ("k", "num_classes", "duplicates"),
    "lyft": ("metric", "class_mode", "unknown_class"),
    "ships": ("shape", "match"),
}
VALUES = (
    *TOKENS, "999999999", "1e18", "0x0", "1x1", "999999999x999999999", "-1x5", "0", "1", "2", "2.5", "all", "empty",
)  # fmt: skip
"""Besides the nasty ones, some that make sense, and some that are large."""
PREDICTION = ("score_threshold", "image_size", "nms_iou", "tta", "max_detections", "fusion", "x", "batch_size")
SYNTH = ("size", "empty", "foreign", "seconds", "calls", "test_rate", "classes", "beams", "columns", "noise")


class Options:
    """Odd values of rule options and other options."""

    def make_base(self, base: Path) -> None:
        FORMATS["yolo"].write(base / "yolo")

    def make(self, rng: Random, base: Path, folder: Path) -> Case:
        name = rng.choice(NAMES)
        value = rng.choice(VALUES).replace("\0", "")  # which no command line can have
        verb = rng.choice(("score", "compare", "check", "repair", "folds", "predict", "synth"))
        for file, text in zip(("truth.csv", "submission.csv"), make_tables(name, rng), strict=True):
            (folder / file).write_bytes(text)
        truth, submission = str(folder / "truth.csv"), str(folder / "submission.csv")
        rule = ["-r", f"{rng.choice(RULES[name])}={value}"]
        out = ["--out", str(folder / "out.csv")]
        argv = {
            "score": ["score", name, truth, submission, "--json", *rule],
            "compare": ["compare", name, truth, submission, submission, "--json", "--resamples", "20", *rule],
            "check": ["check", name, submission, "--json", *rule],
            "repair": ["repair", name, submission, *out, "--json", *rule],
            "folds": ["folds", "wheat", str(base / "yolo"), *out, rng.choice(("--folds", "--seed")), value],
            "predict": ["predict", "wheat", str(base / "yolo"), *out, f"{rng.choice(PREDICTION)}={value}"],
            "synth": ["synth", name, str(folder / "made"), "--items", "1", f"{rng.choice(SYNTH)}={value}"],
        }[verb]
        return Case(f"{verb} {name} with {value[:40]!r}", [(argv, no_oracle)])
