"""Comparison of runtimes: one that agrees and is faster is used."""

from __future__ import annotations

import numpy as np
import pytest

from tallymark.inference.runtimes import comparison
from tallymark.inference.runtimes.comparison import compare
from tests.inference.runtimes.fakes import CLOCK, INPUTS, MODEL, Change, FakeRuntime, one_thread

SLOW, FAST = 0.02, 0.004


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "time", CLOCK)


def test_the_fastest_runtime_that_agrees_is_used() -> None:
    verdict = compare(MODEL, one_thread, [FakeRuntime("slow", SLOW), FakeRuntime("fast", FAST)], INPUTS)
    assert (verdict.name, verdict.model.runtime_id) == ("fast", "fast 1.0")
    assert verdict.reason == "5.0 times as fast here as slow 1.0"


def test_the_reference_stays_unless_another_is_clearly_faster() -> None:
    for seconds in (FAST, 0.95 * SLOW, 2 * SLOW):
        runtimes = [FakeRuntime("reference", SLOW), FakeRuntime("other", seconds)]
        assert compare(MODEL, one_thread, runtimes, INPUTS).name == ("other" if seconds == FAST else "reference")


def one_wrong(outputs: np.ndarray) -> np.ndarray:
    outputs = np.array(outputs)
    outputs[..., 0, 0, 0] = 1
    return outputs


@pytest.mark.parametrize(
    "change",
    [lambda outputs: 0 * outputs, lambda outputs: outputs * np.nan, lambda outputs: outputs[:, 1:], one_wrong],
)
def test_a_runtime_with_other_outputs_is_left_out(change: Change) -> None:
    runtimes = [FakeRuntime("slow", FAST), FakeRuntime("wrong", FAST / 2, change)]
    verdict = compare(MODEL, one_thread, runtimes, INPUTS)
    assert (verdict.name, verdict.reason) == ("slow", "the outputs of wrong 1.0 differ")


def test_outputs_may_differ_as_much_as_those_of_another_precision() -> None:
    coarse = FakeRuntime("coarse", FAST / 2, lambda outputs: outputs * 1.03)
    assert compare(MODEL, one_thread, [FakeRuntime("slow", FAST), coarse], INPUTS).name == "coarse"


def test_a_runtime_that_fails_is_left_out() -> None:
    broken = FakeRuntime("broken", fails="no such operator\nand more")
    verdict = compare(MODEL, one_thread, [FakeRuntime("slow"), broken], INPUTS)
    assert (verdict.name, verdict.reason) == ("slow", "broken cannot run the model (no such operator)")


def test_a_slow_model_is_timed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MAX_SECONDS", 0.0)
    calls = 0

    def count(outputs: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return outputs

    compare(MODEL, one_thread, [FakeRuntime("a", SLOW), FakeRuntime("b", SLOW, change=count)], INPUTS)
    assert calls == len(MODEL.outputs) * (len(INPUTS) + 1)
