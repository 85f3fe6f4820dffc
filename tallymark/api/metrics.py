"""The scoring script of a challenge, as a file of its own."""

from __future__ import annotations

from pathlib import Path

from tallymark.core.outputs import write_bytes
from tallymark.core.problems import BadInput, Problem
from tallymark.core.registry import challenge

PathLike = str | Path


def export_metrics(name: str, path: PathLike | None = None) -> Path:
    """Write the scoring script that the organisers of a challenge ask for; it needs Python and nothing else.

    Parameters
    ----------
    name: the challenge.
    path: the file to write; by default the script's own name, in the current folder.

    Returns
    -------
    The path of the script.
    """
    what = challenge(name)
    script = what.script
    if script is None:
        remedy = f"score with tallymark score {name}"
        raise BadInput(Problem("no_script", name, "none", "a challenge that asks for a scoring script", remedy))
    out = Path(script.name if path is None else path)
    if out.is_dir():
        out = out / script.name
    write_bytes(out, script.read_bytes())
    return out
