"""Every command under faults of the system: nothing is damaged, nothing half written, and the next run succeeds."""

from __future__ import annotations

import errno
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.cases import DATA, MODELS, TABLES
from tests.faults.harness import ERRORS, Fault, Mode, Sweep, Verbs, running

CASES = {**TABLES, **DATA, **MODELS}
LONG = ("train", "kit")
"""These take ten seconds and more."""
SLOW = pytest.mark.slow
FAULTS = os.environ.get("FAULTS", "")
EVERY = pytest.mark.skipif(not FAULTS, reason="takes hours: set FAULTS=all, or FAULTS=50 for a spread, to run it")
AT_MOST = int(FAULTS) if FAULTS.isdigit() else sys.maxsize
"""Operations that are tried of a case at most, for each kind of fault."""


@pytest.fixture(scope="session")
def verbs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verbs]:
    with running(tmp_path_factory.mktemp("verbs")) as made:
        yield made


@pytest.fixture
def sweep(verbs: Verbs, tmp_path: Path) -> Callable[[str], Sweep]:
    return lambda name: Sweep(CASES[name], verbs, tmp_path)


def spread(count: int, number: int) -> list[int]:
    """The first, the last and some operations between, the same in each run."""
    if count <= max(number, 2):
        return list(range(1, count + 1))
    return [1, *sorted(random.Random(count).sample(range(2, count), number - 2)), count]


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW if name in LONG else ()) for name in CASES])
def test_faults_damage_nothing(name: str, sweep: Callable[[str], Sweep]) -> None:
    """Some operations that fail once, a disk that becomes full and stays so, and a kill in the middle of a write."""
    made = sweep(name)
    faults = [Fault(at, ERRORS[k % 4]) for k, at in enumerate(spread(made.operations, made.case.tries + 1))]
    for at in spread(made.writes, made.case.tries)[1:2]:
        faults.append(Fault(at, errno.ENOSPC, Mode.LASTING, only_writes=True))
        faults.append(Fault(at, errno.EIO, Mode.KILL, only_writes=True))
    assert [wrong for fault in faults for wrong in made.disturb(fault)] == []


@EVERY
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
def test_every_operation_fails_once(name: str, error: int, sweep: Callable[[str], Sweep]) -> None:
    made = sweep(name)
    only_writes = error == errno.ENOSPC  # nothing else needs space
    count = made.writes if only_writes else made.operations
    faults = [Fault(at, error, only_writes=only_writes) for at in [*spread(count, AT_MOST), count + 1]]
    assert [wrong for fault in faults for wrong in made.disturb(fault)] == []


@EVERY
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", [Mode.LASTING, Mode.KILL])
def test_every_write_is_the_last(name: str, mode: Mode, sweep: Callable[[str], Sweep]) -> None:
    """The disk becomes full there, or the process is killed."""
    made = sweep(name)
    faults = [Fault(at, errno.ENOSPC, mode, only_writes=True) for at in spread(made.writes, AT_MOST)]
    assert [wrong for fault in faults for wrong in made.disturb(fault)] == []
