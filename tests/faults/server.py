"""Runs commands in forked copies of a process in which everything is imported already: a run costs what it does.

Started with the shim by `harness.Verbs`. Each line of its input is a command as JSON, each line of its output a result.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import select
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

NO_TIME = 124
"""Exit code of a command that was still running at the end of its time."""


def serve() -> None:
    """Answer requests until the input ends."""
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    shim.what_failed.restype = ctypes.c_char_p
    shim.counted.restype = shim.counted_writes.restype = ctypes.c_long
    for line in sys.stdin:
        request = json.loads(line)
        answer = _answer(request, shim)
        print(json.dumps(answer), flush=True)


def _answer(request: dict[str, Any], shim: ctypes.CDLL) -> dict[str, Any]:
    printed = Path(request["printed"])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _run(request, shim, printed, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        report, code = _wait(child, pipe, request["seconds"])
    facts = json.loads(report) if report else {"operations": 0, "writes": 0, "failed": "", "modules": []}
    for module in facts.pop("modules"):  # the next command need not import them
        with suppress(ImportError):
            importlib.import_module(module)
    return {"code": code, "printed": printed.read_text(errors="replace"), **facts}


def _run(request: dict[str, Any], shim: ctypes.CDLL, printed: Path, writer: int) -> None:
    """The command, in the child; its last act."""
    code = 1
    known = set(sys.modules)
    try:
        with printed.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(request["folder"])
        for limit, value in request["limits"].items():
            resource.setrlimit(getattr(resource, limit), (value, value))
        sys.argv = ["tallymark", *request["words"]]
        from tallymark.cli.main import main

        for name in request["without"]:
            module, function = name.rsplit(".", 1)
            setattr(importlib.import_module(module), function, lambda *given, **named: None)
        fault = request["fault"]
        if fault is not None:
            shim.arm(
                request["folder"].encode(),
                ctypes.c_long(fault["at"]),
                fault["error"],
                fault["mode"],
                fault["only_writes"],
            )
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        shim.disarm()
        sys.stderr.flush()
        failed = shim.what_failed().decode(errors="replace")
        modules = [] if failed else [name for name in sys.modules if name not in known and name != "__main__"]
        counts = {"operations": shim.counted(), "writes": shim.counted_writes()}
        with os.fdopen(writer, "w") as pipe:
            json.dump({**counts, "failed": failed, "modules": modules}, pipe)
        os._exit(code)


def _wait(child: int, pipe: BinaryIO, seconds: float) -> tuple[bytes, int]:
    """The report and the exit code; minus the number of the signal that killed it."""
    ready, _, _ = select.select([pipe], [], [], seconds)
    if not ready:
        os.kill(child, signal.SIGKILL)
    report = pipe.read()
    _, status = os.waitpid(child, 0)
    return report, os.waitstatus_to_exitcode(status) if ready else NO_TIME


if __name__ == "__main__":
    serve()
