"""Every command and snippet in the documentation runs, and prints what the page shows.

In `console` blocks a line `...` stands for any lines. In `python` blocks the lines that begin with `# ` are the output.
Pages are slow if they train a model, or use a trained one of `demo/`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from tallymark.cli.demo import MARK
from tallymark.cli.main import app
from tallymark.core.registry import challenge, challenge_names

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("[RC]*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("tallymark/challenges/*/*.md")])
NOT_RUN = ("make ", ". .venv", ".venv/")
"""Commands that set up the machine; the tests run inside what they set up."""


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    return re.findall(r"^```(console|python)\n(.*?)^```$", page.read_text(), re.M | re.S)


def commands(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines that are shown below it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line.rstrip())
    return found


def run(command: str, code: int) -> list[str]:
    if command.startswith("tallymark "):
        result = CliRunner().invoke(app, shlex.split(command)[1:], env={"COLUMNS": "100"})
        assert result.exit_code == code, f"{command}\n{result.output}"
        output = result.output
    else:
        output = subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout
    return [line.rstrip() for line in output.rstrip("\n").split("\n")]


def code_of(shown: list[str]) -> int:
    """The exit code that a reader expects: 2 only where problems are shown."""
    return 2 if any(re.match(r'\d+ problems? in |  "valid": false', line) for line in shown) else 0


def matches(shown: list[str], printed: list[str]) -> bool:
    pattern = "".join("(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in shown)
    return re.fullmatch(pattern, "\n".join(printed) + "\n") is not None


def demo_parts(page: Path) -> dict[str, bool]:
    """The challenges whose folder in `demo/` a page uses; whether it uses more than the example files there."""
    code = "\n".join(text for _, text in blocks(page))
    parts: dict[str, bool] = {}
    for name, file in re.findall(rf"\bdemo/({'|'.join(challenge_names())})\b/?([\w./-]*)", code):
        parts[name] = parts.get(name, False) or file not in ("truth.csv", "submission.csv")
    return parts


def is_slow(page: Path) -> bool:
    """Whether a model is trained for a page, or by it."""
    trains = any(re.search(r"tallymark[ .](train|demo)\b", text) for _, text in blocks(page))
    return trains or any(demo_parts(page).values())


def pages_by_speed() -> list[Any]:
    """Every page as a parameter."""
    marks = {True: [pytest.mark.slow], False: []}
    return [pytest.param(page, marks=marks[is_slow(page)], id=str(page.relative_to(ROOT))) for page in PAGES]


@pytest.fixture
def in_demo(page: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page uses of the folder that `make demo` writes; large files are linked, since no page changes them."""
    monkeypatch.chdir(tmp_path)
    Path("demo").mkdir()
    Path("demo", MARK).touch()
    for name, trained in demo_parts(page).items():
        demo_of: Callable[[str], Path] | None = request.getfixturevalue("demo_of") if trained else None
        source = challenge(name).folder / "example" if demo_of is None else demo_of(name)
        shutil.copytree(source, Path("demo", name), copy_function=copy_or_link)


def copy_or_link(old: str, new: str) -> None:
    (os.link if "/data/" in old else shutil.copy)(old, new)


@pytest.mark.usefixtures("in_demo")
@pytest.mark.parametrize("page", pages_by_speed())
def test_commands_and_snippets_print_what_the_page_shows(page: Path) -> None:
    for language, text in blocks(page):
        if language == "python":
            expected = [line[2:] for line in text.splitlines() if line.startswith("# ")]
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, str(page), "exec", dont_inherit=True), {"__name__": "snippet"})  # noqa: S102  # ours
            assert [line for line in out.getvalue().splitlines() if line] == expected
        else:
            for command, shown in commands(text):
                if not command.startswith(NOT_RUN):
                    printed = run(command, code_of(shown))
                    assert not shown or matches(shown, printed), "\n".join([command, *printed])


@pytest.mark.slow
def test_the_sixth_challenge_of_the_guide_works(tmp_path: Path) -> None:
    """The guide's files make an installed package that every verb accepts."""
    guide = (ROOT / "docs" / "extender.md").read_text()
    package, metadata = tmp_path / "bees", tmp_path / "bees-1.dist-info"
    (package / "example").mkdir(parents=True)
    metadata.mkdir()
    for file, text in re.findall(r"`bees/(\w+\.py)`:\n\n```\w+\n(.*?)^```$", guide, re.M | re.S):
        (package / file).write_text(text)
    entry_point = re.search(r"bees = \"(.*?)\"", guide)
    assert entry_point is not None
    (metadata / "entry_points.txt").write_text(f"[tallymark.challenges]\nbees = {entry_point[1]}\n")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: bees\nVersion: 1\n")
    (package / "example" / "truth.csv").write_text("frame,bees\na,0 0 10 10\nb,\n")
    (package / "example" / "submission.csv").write_text("frame,bees\na,0.9 0 0 10 10 0.5 50 50 5 5\nb,\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}

    def tallymark(*words: str) -> str:
        command = [sys.executable, "-m", "tallymark", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=tmp_path).stdout

    assert "mean over frames of F1, IoU 0.50" in tallymark("list", "bees")
    assert "Bees at the hive entrance" in tallymark("demo", "bees")
    files = ("demo/bees/truth.csv", "demo/bees/submission.csv")
    assert json.loads(tallymark("score", "bees", *files, "--json"))["score"] == pytest.approx((2 / 3 + 1) / 2)
    assert "no clear difference" in tallymark("compare", "bees", *files, files[1])
    assert "valid" in tallymark("check", "bees", files[1])
    assert "valid" in tallymark("repair", "bees", files[1], "--out", "repaired.csv")

    for seed, name in enumerate(("train/a.png", "train/b.png", "test/c.png")):
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        write_image(tmp_path / "data" / name, seed)
    (tmp_path / "data" / "train.csv").write_text("frame,bees\na.png,5 5 10 10\nb.png,8 8 10 10\n")
    assert "valid: 3 items, 2 objects" in tallymark("check", "bees", "data")
    assert "written" in tallymark("folds", "bees", "data", "--folds", "2")
    assert "written to" in tallymark("explore", "bees", "data")
    assert "written to run" in tallymark("train", "bees", "data", "--preset", "tiny", "epochs=1", "evaluations=1")
    assert "written to predicted.csv" in tallymark("predict", "run", "data", "--out", "predicted.csv")
    assert "valid: 1 item" in tallymark("check", "bees", "predicted.csv", "--against", "data")


def write_image(path: Path, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (64, 64, 3), np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        if "://" not in target:
            other = page.parent / target if target else page
            assert other.exists(), target
            assert not anchor or anchor in anchors(other), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The names by which the headings of a page are linked."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
