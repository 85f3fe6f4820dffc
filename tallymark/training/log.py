"""The log of a training: a line of JSON for each evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tallymark.core.outputs import write_text
from tallymark.core.problems import Problems
from tallymark.io.json_text import BadJson, parse_json
from tallymark.io.texts import read_lines

LOG = "log.jsonl"


class TrainingLog:
    """log.jsonl in the folder of a model. It is written anew with every line, so that it has whole lines only."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG
        self.lines = dict[int, str]()

    def resume(self, step: int) -> None:
        """Keep the lines up to a step: what was logged after the last checkpoint will be logged again."""
        for _, text in (read_lines(self.path, Problems()) if self.path.exists() else None) or ():
            try:
                line = parse_json(text)
            except BadJson:  # cut by a full disk, or by a kill
                continue
            number = line.get("step") if isinstance(line, dict) else None
            if isinstance(number, int) and number <= step:
                self.lines[number] = text

    def add(self, step: int, line: Mapping[str, object]) -> None:
        self.lines[step] = json.dumps(line)
        write_text(self.path, "".join(f"{text}\n" for text in self.lines.values()))
