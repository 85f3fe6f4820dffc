"""Unknown options: what to type instead is named. Existing files, interruptions and shell completion."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tallymark.cli.main import app
from tests.cli.running import run
from tests.formats.files import put, put_image


def refusal(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "300"})
    assert result.exit_code == 2, result.output
    return result.output


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("predict wheat photographs --cut 0.4", "give score_threshold=0.4 as an argument, without dashes"),
        ("predict run photographs --conf=0.25", "give score_threshold=0.25"),
        ("predict wheat photographs --iou 0.6", "give nms_iou=0.6"),
        ("predict wheat photographs --imgsz 640", "give image_size=640"),
        ("predict wheat photographs --part test", "give --split"),
        ("predict wheat photographs --overwrite", "give --force"),
        ("predict wheat photographs --source x", "the folder is an argument: tallymark predict [OPTIONS]"),
        ("predict wheat photographs --thread 2", "did you mean --threads?"),
        ("train upcalls data --batch 4", "give batch_size=4"),
        ("train wheat data --epochs 5", "give epochs=5"),
        ("train wheat data --learning-rat 0.1", "give learning_rate=0.1"),
        ("synth wheat folder --size 256", "give size=256 as an argument"),
        ("score wheat a.csv b.csv --match best_overall", "give --rule match=best_overall: it is a rule option"),
        ("train wheat data --device cuda", "leave it out"),
    ],
)
def test_an_unknown_option_says_what_to_type(words: str, hint: str) -> None:
    assert hint in refusal(*words.split())


def test_an_option_like_no_other_is_only_refused() -> None:
    assert "No such option: --zzz" in refusal("check", "wheat", "file.csv", "--zzz")


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    put_image(tmp_path / "photographs" / "a.jpg")
    submission = put(tmp_path / "submission.csv", "image_id,PredictionString\na,0.9 1 2 30 40\n")
    truth = put(tmp_path / "truth.csv", 'image_id,width,height,bbox,source\na,100,100,"[1, 2, 30, 40]",s\n')
    edited = put(tmp_path / "edited.csv", "by hand")
    folder = put(tmp_path / "raven" / "a.txt", "by hand").parent
    commands: list[tuple[object, ...]] = [
        ("check", "wheat", submission, "--out", edited),
        ("score", "wheat", truth, submission, "--per-item", edited),
        ("score", "wheat", truth, submission, "--pairs", edited),
        ("repair", "wheat", submission, "--out", edited),
        ("convert", "wheat", submission, "--out", edited),
        ("explore", "wheat", tmp_path / "photographs", "--out", edited),
        ("folds", "wheat", tmp_path / "photographs", "--out", edited),
        ("predict", "wheat", tmp_path / "photographs", "--out", edited),
        ("predict", "wheat", tmp_path / "photographs", "--counts", edited),
        ("predict", "upcalls", tmp_path / "photographs", "--raven", folder),
        ("export-metrics", "upcalls", "--out", edited),
    ]
    for command in commands:
        text = run(*command, code=2)
        assert "exists" in text
        assert "add --force to overwrite it" in text
    assert edited.read_text() == "by hand"
    run("repair", "wheat", submission, "--out", edited, "--force")
    assert edited.read_text().startswith("image_id,PredictionString")
    assert "same_file" in run("repair", "wheat", submission, "--out", submission, "--force", code=2)


@pytest.mark.parametrize(
    ("words", "function", "hint"),
    [
        ("train wheat data --out RUN", "tallymark.api.train.train", "to resume from the last checkpoint: tallymark"),
        ("predict wheat data", "tallymark.api.predict.predict", "with --out FILE or --journal FOLDER, the same"),
        ("predict wheat data --journal J", "tallymark.api.predict.predict", "to resume with what is done: tallymark"),
        ("check wheat data", "tallymark.api.check.check", "interrupted"),
    ],
)
def test_an_interrupted_command_says_how_to_resume(
    words: str, function: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(function, interrupt)
    monkeypatch.setattr("sys.argv", ["tallymark", *words.split()])
    result = CliRunner().invoke(app, words.split())
    assert result.exit_code == 130
    assert hint in result.output
    if words.startswith("train"):
        assert f"tallymark {words} --resume" in result.output


@pytest.mark.slow
def test_ctrl_c_ends_a_real_process_with_code_130(sets: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tallymark", "predict", "wheat", str(sets / "wheat" / "train"), "tta=8"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list(tmp_path.glob("*.journal/*/.lock")):  # then inference begins
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "interrupted; with --out FILE or --journal FOLDER" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (["tallymark", "expl"], "explore"),
        (["tallymark", "check", "wh"], "wheat"),
        (["tallymark", "predict", "wheat", "x", "--coun"], "--counts"),
        (["tallymark", "score", "sh"], "ships"),
    ],
)
def test_bash_completes_commands_challenges_and_options(typed: list[str], found: str, tmp_path: Path) -> None:
    program = put(tmp_path / "tallymark", f'#!/bin/sh\nexec "{sys.executable}" -m tallymark "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    environment["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"  # the tests need not run in a shell
    words = " ".join(typed)
    script = f"""
    eval "$(tallymark --show-completion bash)"
    complete -p tallymark >&2
    COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}
    _tallymark_completion tallymark
    echo "${{COMPREPLY[@]}}"
    """
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, timeout=60)
    assert re.search(rf"(^|\s){found}(\s|$)", result.stdout), result.stdout + result.stderr
