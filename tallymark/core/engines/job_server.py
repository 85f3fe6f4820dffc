"""A job in a worker, and what the worker reports to its engine."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from tallymark.core.engines.contract import Advance, Job
from tallymark.core.problems import BadInput


class Kind(Enum):
    """What a message is about; in brackets its value."""

    READY = "the job is open"
    ADVANCE = "an item is done"
    DONE = "a shard is done (its result)"
    BAD_INPUT = "the job ended with a `BadInput` (its problems)"
    ERROR = "the job ended with another exception (its traceback)"


class Message(NamedTuple):
    """What a worker reports to its engine."""

    kind: Kind
    value: Any = None


class JobServer:
    """A job in a worker. Its exceptions are messages: they are raised again where a person sees them."""

    def open(self, receive: Callable[[], Job[Any, Any]]) -> Message:
        """Receive the job, and open it."""

        def open_job() -> None:
            self._work = receive().open()

        return _attempt(Kind.READY, open_job)

    def work(self, shard: Any, advance: Advance) -> Message:
        """Work on a shard with the open job."""
        return _attempt(Kind.DONE, lambda: self._work(shard, advance))


def _attempt(kind: Kind, call: Callable[[], object]) -> Message:
    try:
        return Message(kind, call())
    except BadInput as bad:
        return Message(Kind.BAD_INPUT, bad.problems)
    except Exception:  # whatever the job did not expect
        return Message(Kind.ERROR, traceback.format_exc())
