"""The wheel has everything that a user needs: built, installed into an empty environment, used outside the checkout.

It is installed by the script of a kit, from the folder of the kit alone.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pip
import pytest
from typer.testing import CliRunner

from tallymark.api.wheels import pack
from tallymark.cli.main import app
from tests.sets import make_once

ROOT = Path(__file__).parent.parent
CHALLENGES = sorted(path.parent.name for path in (ROOT / "tallymark" / "challenges").glob("*/rule.py"))
pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints, in an environment that does not know the checkout."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def build(folder: Path) -> None:
        folder.mkdir()
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)

    [path] = make_once(tmp_path_factory, "wheel", build).glob("*.whl")
    return path


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_once(tmp_path_factory, "kit", lambda folder: check_call("kit", "wheat", "--out", folder))


@pytest.fixture(scope="session")
def installed(wheel: Path, kit: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which the script of a kit, with the built wheel, wrote a submission."""

    def install(folder: Path) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=ROOT)
        [site] = folder.glob("lib/*/site-packages")
        (site / "pip").symlink_to(Path(pip.__file__).parent)  # sooner than to install it
        check_call("synth", "wheat", folder / "field", "--items", 10, "size=256")
        shutil.copy(wheel, kit / "wheels")
        run(folder / "bin" / "python", kit / "predict.py", folder / "field", "--minutes", "9", cwd=folder)

    return make_once(tmp_path_factory, "clean", install) / "bin"


def check_call(*words: object) -> None:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output


def test_the_script_of_a_kit_installs_and_predicts(installed: Path, tmp_path: Path) -> None:
    folder = installed.parent
    files = (folder / "submission.csv", "--against", folder / "field", "--json")
    checked = json.loads(run(installed / "tallymark", "check", "wheat", *files, cwd=tmp_path))
    assert checked["valid"]
    assert checked["objects"] > 0


def test_the_wheel_in_a_kit_is_that_of_a_build(wheel: Path, kit: Path, tmp_path: Path) -> None:
    """Apart from the order of files, and the licence and metadata beside the package."""
    packed = pack(importlib.metadata.distribution("tallymark"), ROOT / "tallymark", tmp_path)
    assert packed.name == wheel.name
    assert (kit / "wheels" / packed.name).exists()
    with zipfile.ZipFile(wheel) as ours, zipfile.ZipFile(packed) as theirs:
        names = [name for name in ours.namelist() if name.startswith("tallymark/")]
        assert sorted(names) == sorted(name for name in theirs.namelist() if name.startswith("tallymark/"))
        assert all(ours.read(name) == theirs.read(name) for name in names)


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("tallymark/")}
    files = (path for path in (ROOT / "tallymark").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert packed == {path.relative_to(ROOT).as_posix() for path in files}
    own = ("card.md", "example/truth.csv", "example/submission.csv")
    assert {f"tallymark/challenges/{name}/{file}" for name in CHALLENGES for file in own} <= packed
    assert {"tallymark/challenges/wheat/model.onnx", "tallymark/py.typed"} <= packed


def test_the_environment_is_clean(installed: Path, tmp_path: Path) -> None:
    code = """
import importlib.util, tallymark
print(tallymark.__file__)
print([name for name in ("torch", "pytest", "pandas") if importlib.util.find_spec(name)])
"""
    place, heavy = run(installed / "python", "-c", code, cwd=tmp_path).splitlines()
    assert Path(place).is_relative_to(installed.parent)
    assert heavy == "[]"


@pytest.mark.parametrize("name", CHALLENGES)
def test_check_and_score(name: str, installed: Path, tmp_path: Path) -> None:
    [example] = installed.parent.glob(f"lib/*/site-packages/tallymark/challenges/{name}/example")
    files = (example / "truth.csv", example / "submission.csv")
    checked = json.loads(run(installed / "tallymark", "check", name, files[1], "--json", cwd=tmp_path))
    assert checked["valid"]
    scored = json.loads(run(installed / "tallymark", "score", name, *files, "--json", cwd=tmp_path))
    assert 0 <= scored["score"] <= 1


def test_the_pretrained_model_predicts(installed: Path, tmp_path: Path) -> None:
    program = installed / "tallymark"
    run(program, "synth", "wheat", "field", "--items", "5", "size=512", cwd=tmp_path)
    run(program, "explore", "wheat", "field", "--out", "field.html", cwd=tmp_path)
    assert "<img" in (tmp_path / "field.html").read_text()
    run(program, "predict", "wheat", "field", "--split", "all", "--out", "heads.csv", cwd=tmp_path)
    rows = (tmp_path / "heads.csv").read_text().splitlines()[1:]
    assert len(rows) == 5
    assert any(len(row.split()) >= 5 for row in rows), "no head was detected"
    checked = json.loads(run(program, "check", "wheat", "heads.csv", "--json", cwd=tmp_path))
    assert checked["valid"]
