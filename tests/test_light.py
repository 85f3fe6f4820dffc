"""Importing the package, `--help`, `check` and `score` load no heavy library; workers load only what they need."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "matplotlib", "fastapi", "starlette", "uvicorn", "flask", "django", "pandas", "scipy", "cv2", "ray")


def modules_after(code: str) -> set[str]:
    printed = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"],
        capture_output=True,
        check=True,
        text=True,
    )
    return set(printed.stdout.splitlines())


def test_import_loads_only_the_package() -> None:
    loaded = modules_after("import tallymark")
    assert not loaded & {*HEAVY, "numpy", "polars", "typer", "rich"}


def test_help_loads_no_tables() -> None:
    loaded = modules_after(
        "import contextlib\nfrom tallymark.cli.main import app\nwith contextlib.suppress(SystemExit): app(['--help'])"
    )
    assert "typer" in loaded
    assert not loaded & {*HEAVY, "numpy", "polars"}


@pytest.mark.parametrize("verb", ["check", "score"])
def test_check_and_score_stay_light(verb: str) -> None:
    files = "folder / 'truth.csv', folder / 'submission.csv'" if verb == "score" else "folder / 'submission.csv'"
    loaded = modules_after(
        "import tallymark\nfolder = tallymark.challenge('wheat').folder / 'example'\n"
        f"tallymark.{verb}('wheat', {files})"
    )
    assert "polars" in loaded
    assert not loaded & {*HEAVY, "soundfile", "rich"}


def test_predictions_and_their_workers_start_without_what_they_may_not_need() -> None:
    loaded = modules_after("import tallymark.api.export, tallymark.api.exports, tallymark.api.predict")
    assert "tallymark.inference.job" in loaded
    assert not loaded & {"torch", "scipy", "soundfile", "onnxruntime", "openvino", "ray"}


def test_workers_load_neither_folds_nor_tuning_nor_checks() -> None:
    loaded = modules_after("import tallymark.inference.job")
    assert not loaded & {"tallymark.data.folds", "tallymark.data.checks", "tallymark.inference.tuning", "PIL"}
