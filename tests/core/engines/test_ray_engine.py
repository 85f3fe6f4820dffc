"""The Ray engine: what is said where there is no Ray, or no cluster."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tallymark.core.engines.job_server import Kind
from tallymark.core.engines.ray_engine import RayEngine, _Server
from tallymark.core.problems import BadInput
from tests.core.engines.jobs import Numbers, Square


def refused(engine: RayEngine, folder: Path) -> str:
    with pytest.raises(BadInput) as caught:
        list(engine.run(Square(folder), iter([Numbers([1])]), lambda: None))
    return str(caught.value)


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = refused(RayEngine(), tmp_path)
    assert "not_installed" in said
    assert "tallymark[ray]" in said


def test_an_address_without_a_cluster_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    said = refused(RayEngine(address="127.0.0.1:9"), tmp_path)
    assert "no_cluster" in said
    assert "127.0.0.1:9" in said


def test_a_folder_that_a_machine_does_not_see_is_named(tmp_path: Path) -> None:
    message = _Server().open(Square(tmp_path), tmp_path / "elsewhere")
    assert message.kind is Kind.BAD_INPUT
    (problem,) = message.value
    assert (problem.kind, problem.file) == ("not_shared", str(tmp_path / "elsewhere"))


@pytest.mark.slow
def test_it_ends_the_cluster_that_it_started(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    (outcome,) = RayEngine(1).run(Square(tmp_path), iter([Numbers([3])]), lambda: None)
    assert outcome.result == [9]
    assert not ray.is_initialized()
