"""Runs commands in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from tallymark.cli.main import app


def run(*words: object, code: int = 0) -> str:
    """What a command prints; its exit code must be this one."""
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "250"})
    assert result.exit_code == code, result.output
    return result.output
