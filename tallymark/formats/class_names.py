"""Names of classes as YOLO sets have them: classes.txt, or `names:` in a .yaml file. Nothing in it is evaluated."""

from __future__ import annotations

import re
from pathlib import Path

from tallymark.core.problems import Problem, Problems, clip
from tallymark.formats.entries import read_lines
from tallymark.io.folders import Folder

PLAIN = ("classes.txt", "obj.names", "predefined_classes.txt")
QUOTED = r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\[\"\\])*\""
ENTRY = re.compile(rf"\s*(?:(\d+)\s*:\s+)?({QUOTED}|[^\s,'\"\[\]{{}}#&*!|>%@`:][^,\[\]{{}}#:]*?)\s*")
"""A name, perhaps after its number: quoted, or plain."""


def read_names(listed: Folder, problems: Problems) -> tuple[str, ...]:
    """The names of the classes, counted from 0; none if no file has them."""
    for path in sorted(listed.ending({".yaml", ".yml"}), key=lambda path: (len(path.parts), path)):
        lines = read_lines(path, problems) or []
        start = next((at for at, (_, text) in enumerate(lines) if text.startswith("names:")), None)
        if start is not None:
            return _from_yaml(path, lines[start:], problems)
    for path in listed.named(*PLAIN):
        return tuple(text.strip() for _, text in read_lines(path, problems) or [])
    return ()


def _from_yaml(path: Path, lines: list[tuple[int, str]], problems: Problems) -> tuple[str, ...]:
    """The names after `names:`: a list or a numbered map, in brackets or one to a line."""
    entries = _in_brackets(lines) if "[" in lines[0][1] or "{" in lines[0][1] else _one_a_line(lines[1:])
    names: list[str] = []
    for line, text in entries:
        match = ENTRY.fullmatch(text)
        if match is None or match[1] not in (None, str(len(names))):
            expected = f"the name of class {len(names)}, plain or in quotes"
            remedy = "list the names of the classes in order, from 0 on"
            problems.add(Problem("bad_class", str(path), clip(text.strip()), expected, remedy, line=line))
            names.append(text.strip())
        else:
            names.append(_unquoted(match[2]))
    return tuple(names)


def _in_brackets(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The entries of `[a, b]` or `{0: a, 1: b}`, which may go on over lines."""
    entries: list[tuple[int, str]] = []
    depth = 0
    for line, text in lines:
        body = text.removeprefix("names:").strip()
        for token in re.findall(rf"(?:{QUOTED}|[^,\[\]{{}}'\"#])+|[\[\]{{}}#]|['\"].*", body):
            if token == "#":
                break
            if token in "[{":
                depth += 1
            elif token in "]}":
                return entries
            elif token.strip() and depth:
                entries.append((line, token))
    return entries


def _one_a_line(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The entries of `- a` or `  0: a`, up to the next key."""
    entries = []
    for line, text in lines:
        row = re.sub(r"(^|\s+)#.*$", "", text)
        if not row:
            continue
        item = re.match(r"\s*-\s+", row)
        if item is None and not row.startswith((" ", "\t")):
            break
        entries.append((line, row[item.end() :] if item else row))
    return entries


def _unquoted(text: str) -> str:
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text.strip()
