"""Memory of which runtime was chosen for a model on this machine: small JSON files in the user's cache folder.

They may be deleted at any time. One that is damaged, or that cannot be written, is as if there were none.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tallymark.core.outputs import make_folder, write_json
from tallymark.core.problems import BadInput
from tallymark.core.stored import a_mapping, a_text
from tallymark.core.versions import version_of
from tallymark.io.json_text import parse_json
from tallymark.io.regular import read_regular

MAX_REASON = 500
"""Letters of a reason; no comparison gives as many."""
CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Remembered:
    """runtime: its name. reason: why it was chosen, for people."""

    runtime: str
    reason: str


def path_for(data: bytes, packages: Sequence[str]) -> Path | None:
    """The file for a model, this CPU and the versions of the packages; None where the user has no cache folder.

    The number of threads does not count: the outputs of a command should not depend on how busy a machine is.
    """
    folder = _cache_folder()
    if folder is None:
        return None
    versions = {name: version_of(name) for name in packages}
    known = [hashlib.sha256(data).hexdigest(), _cpu(), versions, version_of("tallymark")]
    digest = hashlib.sha256(json.dumps(known).encode()).hexdigest()
    return folder / "tallymark" / "runtimes" / f"{digest[:32]}.json"


def recall(path: Path | None, names: Sequence[str]) -> Remembered | None:
    """What was chosen, if that is one of these runtimes."""
    if path is None:
        return None
    try:
        stated = a_mapping(parse_json(read_regular(path).decode()), ("runtime", "reason"))
        known = Remembered(a_text(stated["runtime"]), a_text(stated["reason"]))
    except (OSError, ValueError):
        return None
    return known if known.runtime in names and len(known.reason) <= MAX_REASON else None


def remember(path: Path | None, chosen: Remembered) -> None:
    """Write down what was chosen, if that is possible."""
    if path is not None:
        with suppress(BadInput):
            make_folder(path.parent)
            write_json(path, asdict(chosen))


def _cache_folder() -> Path | None:
    stated = os.environ.get("XDG_CACHE_HOME", "")
    if Path(stated).is_absolute():
        return Path(stated)
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None


def _cpu() -> list[str]:
    """What identifies this CPU: its name and its instructions, where the system lists them."""
    try:
        lines = CPUINFO.read_text().partition("\n\n")[0].splitlines()
    except (OSError, ValueError):
        lines = []
    return [
        platform.machine(),
        platform.processor(),
        *(one for one in lines if one.startswith(("model name", "flags"))),
    ]
