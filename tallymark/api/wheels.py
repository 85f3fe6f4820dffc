"""Wheels: this package and plugins of it packed from where they are installed, and what they need, by pip."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path

from tallymark.core.outputs import replacing
from tallymark.core.problems import BadInput, Problem
from tallymark.io.regular import files_below

TAG = "py3-none-any"
LINUX = [f"manylinux_2_{minor}_x86_64" for minor in range(28, 16, -1)] + ["manylinux2014_x86_64", "linux_x86_64"]
"""The platforms whose wheels a Linux notebook can use; pip does not conclude the older ones from the newest."""


def pack(distribution: Distribution, package: Path, folder: Path) -> Path:
    """The wheel of a pure Python package, however it is installed: as a wheel, or from a checkout."""
    name, version = distribution.name.replace("-", "_"), distribution.version
    about = f"{name}-{version}.dist-info"
    texts = {
        "METADATA": distribution.read_text("METADATA") or f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "entry_points.txt": distribution.read_text("entry_points.txt") or "",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: tallymark\nRoot-Is-Purelib: true\nTag: {TAG}\n",
    }
    files = [path for path in files_below(package) if "__pycache__" not in path.parts]
    content = {path.relative_to(package.parent).as_posix(): path.read_bytes() for path in files}
    content |= {f"{about}/{file}": text.encode() for file, text in texts.items() if text}
    record = [f"{file},sha256={_digest(data)},{len(data)}" for file, data in content.items()]
    content[f"{about}/RECORD"] = "\n".join([*record, f"{about}/RECORD,,", ""]).encode()
    path = folder / f"{name}-{version}-{TAG}.whl"
    with replacing(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, data in content.items():
            wheel.writestr(zipfile.ZipInfo(file), data, zipfile.ZIP_DEFLATED)  # without times: the same bytes each time
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def download(wheels: list[Path], folder: Path, python: str | None) -> None:
    """Everything that some wheels need, in the versions that are installed here, as wheels in a folder.

    python: the version on the machine that they are for, a Linux one with x86-64; by default they are for this machine.
    """
    if find_spec("pip") is None:
        raise BadInput(Problem("not_installed", "kit", "no pip", "pip, to fetch packages", "python -m ensurepip"))
    target = ["--python-version", python, *(f"--platform={platform}" for platform in LINUX)] if python else []
    pins = [f"{one.name}=={one.version}\n" for one in distributions() if one.name and "+" not in one.version]
    own = {path.name.partition("-")[0] for path in wheels}
    with tempfile.TemporaryDirectory() as temporary:
        constraints = Path(temporary, "constraints.txt")
        constraints.write_text("".join(sorted(pin for pin in set(pins) if pin.partition("==")[0] not in own)))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--only-binary", ":all:", "--constraint", str(constraints), "--dest", str(folder), *target]
        done = subprocess.run([*command, *map(str, wheels)], check=False, capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        found = " ".join(errors or done.stderr.splitlines()[-1:])[:300]
        remedy = "connect to the internet or set PIP_FIND_LINKS, or choose another --python"
        raise BadInput(Problem("no_packages", "pip download", found, "wheels of all packages", remedy))
