"""Standard output and error that never end a command: closed, full, or with an encoding that lacks letters.

What cannot be written to them is dropped, and the command goes on: its files, and its exit code, are worth more than
its last lines. A reader that stops early, as `head` does, is no error; any other failure of standard output is told on
standard error, and the exit code is 2 then instead of 0.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress

CANNOT_WRITE = 2
NAMES = ("stdin", "stdout", "stderr")


class Output(io.FileIO):
    """An open file that takes whatever is written to it; after the first error it is dropped."""

    error: OSError | None = None

    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override]  # any buffer
        if self.error is None:
            try:
                return super().write(data)
            except OSError as error:
                self.error = error
        return len(data)


def open_streams() -> Output | None:
    """Replace standard output and error by ones that take whatever is written; returns the first."""
    if os.name != "posix":  # a console of Windows is not a file
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        return None
    for number, name in enumerate(NAMES):
        if getattr(sys, name) is None:
            _fill(number)
    sys.stdout, output = _text(sys.stdout, 1)
    sys.stderr, _ = _text(sys.stderr, 2)
    return output


def final_code(code: object, output: Output | None) -> object:
    """The exit code of a command that ended with `code`, after its last lines are written."""
    if output is None:
        return code
    sys.stdout.flush()
    if output.error is None or output.error.errno == errno.EPIPE:
        return code
    print(f"cannot write to standard output: {(output.error.strerror or '').lower()}", file=sys.stderr)
    return code or CANNOT_WRITE


def _fill(number: int) -> None:
    """Open a closed number, which the next file would get otherwise: messages of a library would be written to it."""
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, os.O_RDWR)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)


def _text(stream: object, number: int) -> tuple[io.TextIOWrapper, Output]:
    """A text stream like the given one, in which letters that its encoding lacks are escaped."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    with suppress(OSError, AttributeError):
        stream.flush()  # type: ignore[attr-defined]  # whatever stands in for a stream
    output = Output(number, "wb", closefd=False)
    line_buffering = number == 2 or output.isatty()
    buffer = io.BufferedWriter(output)  # type: ignore[type-var]  # because of the type of `write`
    return io.TextIOWrapper(buffer, encoding, errors="backslashreplace", line_buffering=line_buffering), output
