"""Write a submission on a machine without internet access, with what is in the folder of this file.

    python predict.py DATA [--out FILE] [--minutes N] [further options of `tallymark predict`]

It installs the packages in wheels/ if they are not there yet, and predicts with model/. Needs Python and pip only.
--minutes: the time limit for all of it, installation included.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

KIT = Path(__file__).resolve().parent


def main() -> None:
    started = time.monotonic()
    kit = settings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", help="the data set, or a folder with the test items")
    parser.add_argument("--out", default=kit["submission"], help="the submission to write (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=kit["minutes"], help="time limit (default: %(default)s)")
    given, more = parser.parse_known_args()
    install(kit["requirements"])
    command = [sys.executable, "-m", "tallymark", "predict", str(KIT / "model"), given.data, "--out", given.out]
    if given.minutes is not None:
        left = given.minutes - (time.monotonic() - started) / 60
        command += ["--minutes", f"{max(left, 0.01):.3f}"]
    sys.exit(subprocess.run([*command, *more], check=False).returncode)


def settings() -> dict[str, Any]:
    """What kit.json says."""
    try:
        kit = json.loads((KIT / "kit.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        kit = None
    if not isinstance(kit, dict) or not {"submission", "minutes", "requirements"} <= kit.keys():
        sys.exit(f"{KIT / 'kit.json'} is missing or damaged: copy the kit again")
    return kit


def install(requirements: list[str]) -> None:
    """Install packages from the kit, unless exactly these are there."""
    if all(installed(requirement) for requirement in requirements):
        return
    options = ["--no-index", "--find-links", str(KIT / "wheels"), "--quiet", "--no-compile"]
    command = [sys.executable, "-m", "pip", "install", *options, *requirements]
    done = subprocess.run(command, check=False)
    if done.returncode:
        sys.exit(f"the packages in {KIT / 'wheels'} do not fit this Python {sys.version.split()[0]}: see README.md")


def installed(requirement: str) -> bool:
    name, _, version = requirement.partition("==")
    try:
        return importlib.metadata.version(name) == version
    except importlib.metadata.PackageNotFoundError:
        return False


if __name__ == "__main__":
    main()
