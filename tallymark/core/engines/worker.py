"""A worker process of the local engine: opens a job, then works on the shards that it is sent.

    python -m tallymark.core.engines.worker DESCRIPTOR

The descriptor is one end of a pipe whose other end only the engine has, so that what comes from it can be trusted. A
worker ends when the engine is gone, at the latest after the item that it is working on.
"""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from tallymark.core.engines.job_server import JobServer, Kind, Message


def main(descriptor: int) -> None:
    """Serve an engine until it closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine ends its workers
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing that a library prints belongs into our output
    with Connection(descriptor) as engine:
        try:
            serve(engine)
        except (EOFError, OSError):  # the engine is gone
            return


def serve(engine: Connection[Message, Any]) -> None:
    """Open the job that is sent first, and answer each shard with its result."""

    def advance() -> None:
        try:
            engine.send(Message(Kind.ADVANCE))
        except OSError:
            os._exit(1)  # the engine is gone, and nobody needs the rest of the shard

    server = JobServer()
    engine.send(server.open(engine.recv))
    while True:
        engine.send(server.work(engine.recv(), advance))


if __name__ == "__main__":
    main(int(sys.argv[1]))
