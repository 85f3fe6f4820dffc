"""Where a journal is, and how long it stays."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path

from tallymark.core.outputs import is_special

SUFFIX = ".journal"


class JournalFolder:
    """The folder of a journal: kept, or removed once nobody needs what is in it any more.

    Candidates on its pages hold on to it, so that it is there as long as they are.
    outputs: what its command is going to write from them.
    """

    def __init__(self, path: Path, *, kept: bool = True) -> None:
        self.path = path
        self.kept = kept
        self.outputs: Sequence[Path] = ()

    @classmethod
    def beside(cls, output: Path) -> JournalFolder:
        """A hidden folder beside an output, to resume from until that is written."""
        return cls(output.absolute().with_name(f".{output.name[:100]}{SUFFIX}"), kept=False)

    @classmethod
    def temporary(cls) -> JournalFolder:
        """A new folder, removed when the candidates in it are not used any more."""
        folder = cls(Path(tempfile.mkdtemp(prefix="tallymark-", suffix=SUFFIX)), kept=False)
        folder.complete()
        return folder

    def complete(self) -> None:
        """Note that there is nothing to resume any more: a folder that is not kept is removed after its last use."""
        if not self.kept:
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def journal_place(given: Path | None, outputs: Iterable[Path | None], *, limited: bool = False) -> JournalFolder:
    """Where a command keeps candidates: where the user says, beside its first output, or in a temporary folder.

    limited: by a time limit, under which items are predicted less well, so that nothing is kept for another run.
    """
    written = [path for path in outputs if path is not None and not is_special(path)]
    if given is not None:
        place = JournalFolder(given)
    elif limited or not written:
        place = JournalFolder.temporary()
    else:
        place = JournalFolder.beside(written[0])
    place.outputs = written
    return place
